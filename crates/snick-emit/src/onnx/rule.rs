//! The ways in which a layer becomes nodes of ONNX.

use super::emitter::{Emitter, Result};

/// How an op is written.
#[derive(Copy, Clone)]
pub(super) enum EmitRule {
    /// The operator of this name, with the same inputs and no attributes.
    Rename(&'static str),
    /// The same for floats; integers stay as they are.
    IdentityOnInt(&'static str),
    /// Whatever the function writes.
    Custom(fn(&mut Emitter) -> Result),
}

/// A row of the table.
pub(super) type OpRow = crate::table::OpRow<EmitRule>;
