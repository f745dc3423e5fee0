//! Float functions of integers: computes in f64, rounds half to even, and converts back. NaN becomes the
//! smallest number of the type.

use snick_ir::Op;
use snick_ir::ops::{IsNaN, Round, elementwise::clamp::Clamp};
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_tensor::ElementType;
use snick_tensor::kernels::UnaryOp;

use super::helpers::{Result, is_integer};

pub(crate) const RULE: Rule =
    Rule::exact("float-function-of-integers", function_of_integers).may_round_within(1e-5, 0.0);

fn function_of_integers(p: &mut Patch) -> Result<RewriteResult> {
    use UnaryOp::{Abs, Ceiling, Floor, Negative, Relu, Sign};
    use UnaryOp::{Acos, Acosh, Asin, Atanh, ErfInv, Log, Sqrt};
    use UnaryOp::{Cos, Erf, HSigmoid, Sigmoid, Sin, SoftSign, Tanh};
    let op = p.node().op().clone();
    let (has_integer_form, is_within_one, is_partial) = match &op {
        Op::Unary(op) => (
            matches!(op.function, Abs | Ceiling | Floor | Negative | Relu | Sign),
            matches!(op.function, Cos | Erf | HSigmoid | Sigmoid | Sin | SoftSign | Tanh),
            matches!(op.function, Acos | Acosh | Asin | Atanh | ErfInv | Log | Sqrt),
        ),
        _ => (true, false, false),
    };
    if has_integer_form || !is_integer(p)? {
        return Ok(RewriteResult::NoMatch);
    }
    let x = p.input(0)?;
    let own = p.element_type(x)?;
    let wide = p.convert(x, ElementType::F64)?;
    let mut y = p.add_op(op, &[wide])?;
    if let (true, Some((least, _))) = (is_partial, own.integer_range_f64()) {
        // NaN is replaced before clamping, because runtimes differ in how they clamp and convert it.
        let is_nan = p.add_op(IsNaN, &[y])?;
        y = p.select(is_nan, least, y)?;
    }
    let whole = p.add_op(Round::default(), &[y])?;
    let near = match own.integer_range_f64() {
        // The function saturates, whereas a conversion would wrap numbers outside of the range of the type.
        Some((min, max)) if !is_within_one => {
            let within = p.add_op(Clamp { min, max }, &[whole])?;
            p.convert(within, own)?
        }
        _ => p.convert(whole, own)?,
    };
    if own.is_signed() {
        return Ok(RewriteResult::one(near));
    }
    // For unsigned types, numbers above the range saturate, but negative numbers wrap.
    let signed = p.convert(whole, ElementType::I64)?;
    let wrapped = p.convert(signed, own)?;
    let is_below = p.less(whole, 0.0)?;
    p.select(is_below, wrapped, near).map(RewriteResult::one)
}
