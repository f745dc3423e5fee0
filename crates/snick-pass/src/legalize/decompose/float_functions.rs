//! Functions of floats, applied to integers: computed in f64, rounded to even and converted back.

use snick_ir::Op;
use snick_ir::ops::{Round, elementwise::clamp::Clamp};
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_tensor::ElementType;
use snick_tensor::kernels::UnaryOp;

use super::helpers::{Result, is_integer};

pub(crate) const RULE: Rule = Rule::rounding("float-function-of-integers", function_of_integers);

fn function_of_integers(p: &mut Patch) -> Result<RewriteResult> {
    let op = p.node().op().clone();
    let has_integer_form = match &op {
        Op::Unary(op) => {
            use UnaryOp::{Abs, Ceiling, Floor, Negative, Relu, Sign};
            matches!(op.function, Abs | Ceiling | Floor | Negative | Relu | Sign)
        }
        _ => true,
    };
    if has_integer_form || !is_integer(p)? {
        return Ok(RewriteResult::NoMatch);
    }
    let x = p.input(0)?;
    let own = p.element_type(x)?;
    let wide = p.convert(x, ElementType::F64)?;
    let y = p.add_op(op, &[wide])?;
    let whole = p.add_op(Round::default(), &[y])?;
    // A conversion would wrap what is beyond the type; the function gives the nearest number.
    let reach = 2_f64.powi(own.bit_width().unwrap_or(64) as i32 - i32::from(own.is_signed()));
    let min = if own.is_signed() { -reach } else { 0.0 };
    let within = p.add_op(Clamp { min, max: reach - 1.0 }, &[whole])?;
    let near = p.convert(within, own)?;
    if own.is_signed() {
        return Ok(RewriteResult::one(near));
    }
    // What is below 0 wraps.
    let signed = p.convert(whole, ElementType::I64)?;
    let wrapped = p.convert(signed, own)?;
    let is_below = p.less(whole, 0.0)?;
    p.select(is_below, wrapped, near).map(RewriteResult::one)
}
