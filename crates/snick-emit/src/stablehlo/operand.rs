//! A value of the output.

use super::types::Type;

/// A value of the output: its name, with the `%`, and its type.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) name: String,
    pub(super) ty: Type,
}
