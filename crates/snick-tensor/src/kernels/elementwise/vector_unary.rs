//! Functions of one `f32`, several elements at a time.

use super::unary_op::UnaryOp::{self, *};
use crate::kernels::math;
use crate::kernels::vectors::{Instructions, Vectorised, widest};

/// Writes the function of each element of `from` to `to`, of equal length. `false` if the function has no vector form;
/// then nothing is written.
pub(super) fn apply(op: UnaryOp, from: &[f32], to: &mut [f32]) -> bool {
    widest(Apply { op, from, to })
}

/// The work of [`apply`].
pub(super) struct Apply<'a> {
    pub op: UnaryOp,
    pub from: &'a [f32],
    pub to: &'a mut [f32],
}

impl Vectorised for Apply<'_> {
    type Output = bool;

    #[allow(clippy::manual_clamp, reason = "`clamp` keeps what is not a number, `max` does not")]
    #[inline(always)]
    fn run<I: Instructions>(self) -> bool {
        let Self { op, from, to } = self;
        let hard = |x: f32| (x + 3.0).clamp(0.0, 6.0) / 6.0;
        match op {
            Abs => each(from, to, f32::abs),
            Ceiling => each(from, to, f32::ceil),
            Erf => each(from, to, math::erf::<I>),
            Exp => each(from, to, math::exp::<I>),
            Floor => each(from, to, f32::floor),
            Negative => each(from, to, |x| -x),
            Relu => each(from, to, |x| if x < 0.0 { 0.0 } else { x }),
            Sigmoid => each(from, to, math::sigmoid::<I>),
            SoftPlus => each(from, to, math::soft_plus::<I>),
            SoftSign => each(from, to, |x| x / (1.0 + x.abs())),
            Sqrt => each(from, to, f32::sqrt),
            Tanh => each(from, to, math::tanh::<I>),
            HSigmoid => each(from, to, hard),
            HSwish => each(from, to, |x| x * hard(x)),
            Mish => each(from, to, math::mish::<I>),
            RoundHalfToEven => each(from, to, f32::round_ties_even),
            GeluErf => each(from, to, math::gelu_erf::<I>),
            GeluTanh => each(from, to, math::gelu_tanh::<I>),
            Swish { beta } => {
                let beta = beta as f32;
                each(from, to, |x| x * math::sigmoid::<I>(beta * x));
            }
            Elu { alpha } => {
                let alpha = alpha as f32;
                each(from, to, |x| if x < 0.0 { alpha * math::exp_m1::<I>(x) } else { x });
            }
            Selu { alpha, lambda } => {
                let (alpha, lambda) = (alpha as f32, lambda as f32);
                each(from, to, |x| lambda * if x > 0.0 { x } else { alpha * math::exp_m1::<I>(x) });
            }
            HardSigmoid { alpha, beta } => {
                let (alpha, beta) = (alpha as f32, beta as f32);
                each(from, to, |x| (alpha * x + beta).max(0.0).min(1.0));
            }
            Clamp { min, max } => {
                let (min, max) = (min as f32, max as f32);
                each(from, to, |x| x.max(min).min(max));
            }
            _ => return false,
        }
        true
    }
}

#[inline(always)]
fn each(from: &[f32], to: &mut [f32], f: impl Fn(f32) -> f32) {
    for (to, &x) in to.iter_mut().zip(from) {
        *to = f(x);
    }
}
