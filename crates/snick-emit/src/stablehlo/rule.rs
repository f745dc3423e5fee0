//! The ways in which a layer becomes operations of StableHLO.

use super::emitter::{Emitter, Result};

/// How an op is written.
#[derive(Copy, Clone)]
pub(super) enum EmitRule {
    /// The operation of this name on one value.
    Unary(&'static str),
    /// The same for floats; integers stay as they are.
    IdentityOnInt(&'static str),
    /// The operation of this name on two values, which are broadcast.
    Binary(&'static str),
    /// A comparison of two values, which are broadcast.
    Compare(&'static str),
    /// Whatever the function writes.
    Custom(fn(&mut Emitter) -> Result),
}

/// A row of the table.
pub(super) type OpRow = crate::table::OpRow<EmitRule>;
