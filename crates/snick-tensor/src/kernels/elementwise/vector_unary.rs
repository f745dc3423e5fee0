//! Functions of one `f32`, several elements at a time.

use super::unary_op::UnaryOp::{self, *};
use crate::kernels::extremum::clamp;
use crate::kernels::math;
use crate::kernels::vectors::{Instructions, Vectorised, dispatch_best};

/// Writes the function of each element of `from` to `to`, a slice of the same length. Returns `false` and
/// writes nothing if the function has no vector form.
pub(super) fn apply(op: UnaryOp, from: &[f32], to: &mut [f32]) -> bool {
    dispatch_best(Apply { op, elements: (from, to) })
}

/// Input elements and the place for their results.
pub(super) trait Elements {
    /// Applies `f` to each element.
    fn each(self, f: impl Fn(f32) -> f32);
}

/// From one slice to another of the same length.
impl Elements for (&[f32], &mut [f32]) {
    #[inline(always)]
    fn each(self, f: impl Fn(f32) -> f32) {
        let (from, to) = self;
        for (to, &x) in to.iter_mut().zip(from) {
            *to = f(x);
        }
    }
}

/// In place.
impl Elements for &mut [f32] {
    #[inline(always)]
    fn each(self, f: impl Fn(f32) -> f32) {
        for x in self {
            *x = f(*x);
        }
    }
}

/// Applies `op` to each element. Returns `false` and writes nothing if it has no vector form.
pub(super) struct Apply<E> {
    pub op: UnaryOp,
    pub elements: E,
}

impl<E: Elements> Vectorised for Apply<E> {
    type Output = bool;

    #[inline(always)]
    fn run<I: Instructions>(self) -> bool {
        let Self { op, elements } = self;
        match op {
            Abs => elements.each(f32::abs),
            Ceiling => elements.each(f32::ceil),
            Erf => elements.each(math::erf::<I>),
            Exp => elements.each(math::exp::<I>),
            Floor => elements.each(f32::floor),
            Log => elements.each(math::ln::<I>),
            Negative => elements.each(|x| -x),
            Relu => elements.each(|x| if x < 0.0 { 0.0 } else { x }),
            Sigmoid => elements.each(math::sigmoid::<I>),
            SoftPlus => elements.each(math::soft_plus::<I>),
            SoftSign => elements.each(|x| x / (1.0 + x.abs())),
            Sqrt => elements.each(f32::sqrt),
            Tanh => elements.each(math::tanh::<I>),
            HSigmoid => elements.each(math::h_sigmoid),
            HSwish => elements.each(math::h_swish),
            Mish => elements.each(math::mish::<I>),
            RoundHalfToEven => elements.each(f32::round_ties_even),
            GeluErf => elements.each(math::gelu_erf::<I>),
            GeluTanh => elements.each(math::gelu_tanh::<I>),
            Swish { beta } => {
                let beta = beta as f32;
                elements.each(|x| x * math::sigmoid::<I>(beta * x));
            }
            Elu { alpha } => {
                let alpha = alpha as f32;
                elements.each(|x| if x < 0.0 { alpha * math::exp_m1::<I>(x) } else { x });
            }
            Selu { alpha, lambda } => {
                let (alpha, lambda) = (alpha as f32, lambda as f32);
                elements.each(|x| lambda * if x > 0.0 { x } else { alpha * math::exp_m1::<I>(x) });
            }
            HardSigmoid { alpha, beta } => {
                let (alpha, beta) = (alpha as f32, beta as f32);
                elements.each(|x| clamp(alpha * x + beta, 0.0, 1.0));
            }
            Clamp { min, max } => {
                let (min, max) = (min as f32, max as f32);
                elements.each(|x| clamp(x, min, max));
            }
            _ => return false,
        }
        true
    }
}
