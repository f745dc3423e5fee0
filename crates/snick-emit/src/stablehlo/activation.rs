//! Activation functions. For accuracy near 0, they use functions that the IR lacks, such as `exp(x) - 1`.

use snick_ir::Op;
use snick_tensor::kernels::UnaryOp;

use super::emitter::{Emitter, Operand, Result};
use super::row::OpRow;
use super::unary::activate;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::Elu(op) => OpRow::new(|e| elu(e, op.alpha)),
        Op::Unary(op) if op.function == UnaryOp::SoftPlus => OpRow::new(|e| activate(e, soft_plus)),
        _ => return None,
    })
}

/// Computes `alpha * (exp(x) - 1)` below 0, and `x` above.
fn elu(e: &mut Emitter, alpha: f64) -> Result {
    activate(e, |e, x| {
        let (zero, alpha) = (e.full(0.0, &x.ty)?, e.full(alpha, &x.ty)?);
        // Clamps x to at most 0 first, because exp(x) may overflow for large x.
        let below = e.same("minimum", &[x, &zero]);
        let grown = e.same("exponential_minus_one", &[&below]);
        let scaled = e.same("multiply", &[&alpha, &grown]);
        let above = e.compare("GT", x, &zero);
        Ok(e.select(&above, x, &scaled))
    })
}

/// `log(1 + exp(x))`, without overflow: `max(x, 0) + log(1 + exp(-|x|))`.
fn soft_plus(e: &mut Emitter, x: &Operand) -> Result<Operand> {
    let zero = e.full(0.0, &x.ty)?;
    let size = e.same("abs", &[x]);
    let below = e.same("negate", &[&size]);
    let grown = e.same("exponential", &[&below]);
    let bend = e.same("log_plus_one", &[&grown]);
    let above = e.same("maximum", &[x, &zero]);
    Ok(e.same("add", &[&above, &bend]))
}
