//! Fake quantisation: rounds floats to a few levels.

use crate::buffer::Buffer;
use crate::kernels::broadcast::{Strided, for_each_run};
use crate::kernels::dispatch::with_real;
use crate::kernels::sharing;
use crate::kernels::vectors::{Instructions, Vectorised, dispatch_best};
use crate::tensor::stored_bytes;
use crate::{ElementType, PodElement, Tensor, TensorError};

/// Rounds elements to the nearest of `levels` equidistant values between `input_low` and `input_high`, and
/// maps these to `output_low..=output_high`. Values out of range are clamped. `ranges` holds the four ends in
/// this order; they broadcast to the dims of `data` by numpy's rule and have its type.
///
/// The order of operations matters for elements halfway between two levels. It follows the OpenVINO runtime
/// for constant ranges: `round(x * scale + shift) * step + output_low`, with a precomputed scale and shift, a
/// final fused multiply-add, and ties to even. NaN maps to the lowest level.
///
/// # Errors
/// [`TensorError::Argument`] for fewer than two levels, [`TensorError::TypeMismatch`],
/// [`TensorError::UnsupportedType`] for booleans and strings, [`TensorError::ShapeMismatch`].
pub fn fake_quantize(data: &Tensor, ranges: [&Tensor; 4], levels: usize) -> Result<Tensor, TensorError> {
    if levels < 2 {
        return Err(TensorError::argument(format!("has {levels} levels, expected at least 2")));
    }
    let et = data.element_type();
    if !et.is_float() && !et.is_integer() {
        return Err(TensorError::UnsupportedType { element_type: et });
    }
    for range in ranges {
        range.expect(et)?;
    }
    let compute = if et.is_float() && et != ElementType::F64 { ElementType::F32 } else { ElementType::F64 };
    let steps = (levels - 1) as f64;
    let is_one = ranges.iter().all(|range| range.len() == 1 && range.rank() <= data.rank());
    if is_one && compute == et && data.is_contiguous() {
        return with_real!(et, T => of_one_range::<T>(data, ranges, steps as T));
    }
    let data = data.cast(compute)?;
    let mut wide = Vec::with_capacity(4);
    for range in ranges {
        wide.push(range.cast(compute)?);
    }
    let quantized = match compute {
        ElementType::F32 => run(&data, &wide, steps as f32)?,
        _ => run(&data, &wide, steps)?,
    };
    quantized.cast(et)
}

/// An element type that can be quantised. Here, a range means the four ends of an input range and an output
/// range.
trait Quantize: PodElement {
    /// The precomputed [`Rule`] for a range. `None` unless the lower input end is below the upper end and
    /// both scale and shift are finite.
    fn rule(ranges: [Self; 4], steps: Self) -> Option<Rule<Self>>;

    /// Quantises an element by a rule.
    fn by_rule(self, rule: Rule<Self>) -> Self;

    /// Quantises an element with any range, by the definition of the operation.
    fn by_definition(self, ranges: [Self; 4], steps: Self) -> Self;
}

/// A range as precomputed factors and summands.
#[derive(Copy, Clone, Debug)]
pub(super) struct Rule<T> {
    pub low: T,
    pub high: T,
    pub scale: T,
    pub shift: T,
    pub step: T,
    pub output_low: T,
}

impl Rule<f32> {
    /// The rule of a range, if [`fake_quantize`] uses rules for it.
    pub fn new(ranges: [f32; 4], steps: f32) -> Option<Self> {
        f32::rule(ranges, steps)
    }

    /// Whether the rounding errors of [`Rule::level`] and [`Rule::value`] are far below one level.
    pub fn is_moderate(&self) -> bool {
        self.shift.abs() <= MOST_SHIFT && self.step.is_finite() && self.output_low.is_finite()
    }

    /// The code of an element: the index of its level. Requires at most 256 levels and [`Rule::is_moderate`].
    #[inline(always)]
    pub fn level(self, x: f32) -> u32 {
        // NaN maps to the lowest level.
        let x = if x > self.low { x } else { self.low };
        let x = if x < self.high { x } else { self.high };
        (x * self.scale + self.shift + INTEGERS).to_bits() & 0xff
    }

    /// The value of a level.
    #[inline(always)]
    pub fn value(self, level: f32) -> f32 {
        level.mul_add(self.step, self.output_low)
    }
}

/// The largest shift for which [`Rule::is_moderate`] holds.
const MOST_SHIFT: f32 = 8192.0;

/// Adding this to a float in `0..2^23` rounds it to the nearest integer, ties to even, and leaves the integer
/// in the low bits of the sum.
const INTEGERS: f32 = (1 << 23) as f32;

macro_rules! quantize {
    ($t:ty) => {
        impl Quantize for $t {
            #[inline(always)]
            fn rule([low, high, output_low, output_high]: [Self; 4], steps: Self) -> Option<Rule<Self>> {
                let scale = steps / (high - low);
                let (shift, step) = (-low * scale, (output_high - output_low) / steps);
                let is_sound = low < high && scale.is_finite() && shift.is_finite();
                is_sound.then_some(Rule { low, high, scale, shift, step, output_low })
            }

            #[inline(always)]
            fn by_rule(self, rule: Rule<Self>) -> Self {
                let level = self.max(rule.low).min(rule.high) * rule.scale + rule.shift;
                level.round_ties_even().mul_add(rule.step, rule.output_low)
            }

            #[inline(always)]
            fn by_definition(self, ranges: [Self; 4], steps: Self) -> Self {
                let [low, high, output_low, output_high] = ranges;
                if self <= low.min(high) {
                    output_low
                } else if self > low.max(high) {
                    output_high
                } else {
                    let level = ((self - low) / (high - low) * steps).round_ties_even();
                    level / steps * (output_high - output_low) + output_low
                }
            }
        }
    };
}

quantize!(f32);
quantize!(f64);

/// A run of elements with the same range.
struct Line<'a, T> {
    x: &'a [T],
    to: &'a mut [T],
    ranges: [T; 4],
    steps: T,
}

impl<T: Quantize> Vectorised for Line<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { x, to, ranges, steps } = self;
        match T::rule(ranges, steps) {
            Some(rule) => {
                for (to, &x) in to.iter_mut().zip(x) {
                    *to = x.by_rule(rule);
                }
            }
            None => {
                for (to, &x) in to.iter_mut().zip(x) {
                    *to = x.by_definition(ranges, steps);
                }
            }
        }
    }
}

/// Quantises packed data with a single range, as most layers do. Many of these are small, so this function
/// avoids the overhead of broadcasting.
fn of_one_range<T: Quantize>(data: &Tensor, ranges: [&Tensor; 4], steps: T) -> Result<Tensor, TensorError> {
    let (x, ranges) = (data.units::<T>(), ranges.map(|range| range.units::<T>()[0]));
    let mut out = Buffer::any(x.len())?;
    sharing::in_parts(&mut out, 1, sharing::ELEMENTS, |first, to| {
        dispatch_best(Line { x: &x[first..][..to.len()], to, ranges, steps });
    });
    Tensor::from_buffer(T::TYPE, data.dims(), out)
}

fn run<T: Quantize>(data: &Tensor, ranges: &[Tensor], steps: T) -> Result<Tensor, TensorError> {
    let dims = data.dims();
    stored_bytes(T::TYPE, dims)?;
    let x = Strided::<T>::broadcast(data, dims)?;
    let mut stretched = Vec::with_capacity(4);
    for range in ranges {
        stretched.push(Strided::<T>::broadcast(range, dims)?);
    }
    let mut out = Buffer::any(data.len())?;
    let mut next = 0;
    let [a, b, c, d] = stretched.as_slice() else {
        return Err(TensorError::argument("expected four ranges"));
    };
    let layouts = [&x.layout, &a.layout, &b.layout, &c.layout, &d.layout];
    for_each_run(layouts, |at, apart, len| {
        let x = x.run(at[0], apart[0]);
        let (a, b) = (a.run(at[1], apart[1]), b.run(at[2], apart[2]));
        let (c, d) = (c.run(at[3], apart[3]), d.run(at[4], apart[4]));
        let to = &mut out[next..next + len];
        next += len;
        match (x.slice(len), [a.constant(), b.constant(), c.constant(), d.constant()]) {
            (Some(x), [Some(a), Some(b), Some(c), Some(d)]) => {
                dispatch_best(Line { x, to, ranges: [a, b, c, d], steps });
            }
            _ => {
                for (i, to) in to.iter_mut().enumerate() {
                    let (x, ranges) = (x.get(i), [a.get(i), b.get(i), c.get(i), d.get(i)]);
                    *to = match T::rule(ranges, steps) {
                        Some(rule) => x.by_rule(rule),
                        None => x.by_definition(ranges, steps),
                    };
                }
            }
        }
    });
    Tensor::from_buffer(T::TYPE, dims, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantises `x` with the same four ends for all elements.
    fn quantized(x: &[f32], ends: [f32; 4], levels: usize) -> Result<Vec<f32>, TensorError> {
        let x = Tensor::from_vec(&[x.len()], x.to_vec())?;
        let [a, b, c, d] = ends.map(Tensor::scalar);
        fake_quantize(&x, [&a, &b, &c, &d], levels)?.to_f32_vec()
    }

    #[test]
    fn levels_and_ends() {
        let x = [-1f32, 0.2, 0.5, 0.9, 7.0, f32::NAN];
        assert_eq!(quantized(&x, [0.0, 1.0, 10.0, 12.0], 3).unwrap(), [10.0, 10.0, 11.0, 12.0, 12.0, 10.0]);
        assert!(quantized(&x, [0.0, 1.0, 10.0, 12.0], 1).is_err());
        let [x, zero] = [Tensor::scalar(0f32), Tensor::full(&[2, 5], 0f32).unwrap()];
        assert!(fake_quantize(&x, [&zero, &x, &x, &x], 3).is_err());
    }

    #[test]
    fn ends_that_are_not_apart_or_not_in_order() {
        assert_eq!(quantized(&[-0.5, 0.5, 1.0], [0.5, 0.5, -1.0, 1.0], 256).unwrap(), [-1.0, -1.0, 1.0]);
        // Swapped ends reverse the levels between them, but not the values outside.
        assert_eq!(
            quantized(&[-2.0, -0.5, 0.5, 2.0], [1.0, -1.0, 0.0, 4.0], 5).unwrap(),
            [0.0, 3.0, 1.0, 4.0]
        );
    }

    /// Midpoints between two levels, with the results of the runtime. Float arithmetic decides whether a
    /// midpoint is rounded up or down, not a rule such as half to even.
    #[test]
    fn ties_between_levels_depend_on_scale_and_shift() {
        let x = [-0.430_99, -0.146_843_34, 0.279_376_66, 0.847_669_96];
        let expected = [-0.866_666_7, -0.599_999_96, -0.199_999_96, 0.333_333_4];
        assert_eq!(quantized(&x, [-0.644_1, 1.487, -1.0, 1.0], 16).unwrap(), expected);
        let x = [-1.871_800_1, -1.768_2, -1.753_400_1, -1.723_800_1];
        let expected = [-1.864_4, -1.760_8, -1.746, -1.716_4];
        assert_eq!(quantized(&x, [-1.894, 1.88, -1.894, 1.88], 256).unwrap(), expected);
    }

    #[test]
    fn ranges_per_element_give_the_same() {
        let x: Vec<f32> = (0..4096).map(|i| i as f32 * 0.000_7 - 1.3).collect();
        let ends = [-1.1f32, 1.37, 1.37, -1.1];
        let [a, b, c, d] = ends.map(|end| Tensor::from_vec(&[x.len()], vec![end; x.len()]).unwrap());
        let each = Tensor::from_vec(&[x.len()], x.clone()).unwrap();
        let each = fake_quantize(&each, [&a, &b, &c, &d], 256).unwrap();
        assert_eq!(each.to_f32_vec().unwrap(), quantized(&x, ends, 256).unwrap());
    }
}
