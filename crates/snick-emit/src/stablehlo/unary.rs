//! Unary functions, as used by other operations.

use snick_tensor::ElementType;

use super::emitter::{Emitter, Operand, Result};

/// Applies a function to the first input.
pub(super) fn activate(
    e: &mut Emitter,
    function: impl Fn(&mut Emitter, &Operand) -> Result<Operand>,
) -> Result {
    let x = e.input(0)?;
    let y = function(e, &x)?;
    e.give(0, y)
}

/// Converts elements; to booleans, any nonzero number becomes true.
pub(super) fn converted(e: &mut Emitter, x: &Operand, to: ElementType) -> Result<Operand> {
    let to = e.function.precision.computed(to);
    if to != ElementType::Boolean || x.ty.element == to {
        return Ok(e.convert(x, to));
    }
    let zero = e.full(0.0, &x.ty)?;
    Ok(e.compare("NE", x, &zero))
}
