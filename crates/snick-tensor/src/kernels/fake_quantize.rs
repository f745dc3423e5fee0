//! Reals forced onto a few levels, still as reals.

use crate::buffer::Buffer;
use crate::kernels::broadcast::{Strided, for_each_run};
use crate::kernels::quotient::Divisor;
use crate::kernels::vectors::{Instructions, Vectorised, widest};
use crate::tensor::stored_bytes;
use crate::{Element, ElementType, Tensor, TensorError};

/// The nearest of `levels` equidistant values between `input_low` and `input_high`, moved to between `output_low`
/// and `output_high`; what lies outside becomes an end. `ranges` are these four, in this order; they stretch to the
/// dims of `data` by numpy's rule and have its type.
///
/// # Errors
/// [`TensorError::Argument`] for fewer than two levels, [`TensorError::TypeMismatch`],
/// [`TensorError::UnsupportedType`] for booleans and strings, [`TensorError::ShapeMismatch`].
pub fn fake_quantize(data: &Tensor, ranges: [&Tensor; 4], levels: usize) -> Result<Tensor, TensorError> {
    if levels < 2 {
        return Err(TensorError::argument("FakeQuantize", format!("{levels} levels, at least 2 are needed")));
    }
    let et = data.element_type();
    if !et.is_float() && !et.is_integer() {
        return Err(TensorError::UnsupportedType { op: "FakeQuantize", element_type: et });
    }
    for range in ranges {
        range.expect(et)?;
    }
    let compute = if et.is_float() && et != ElementType::F64 { ElementType::F32 } else { ElementType::F64 };
    let data = data.cast(compute)?;
    let mut wide = Vec::with_capacity(4);
    for range in ranges {
        wide.push(range.cast(compute)?);
    }
    let steps = (levels - 1) as f64;
    let quantized = match compute {
        ElementType::F32 => run(&data, &wide, steps as f32)?,
        _ => run(&data, &wide, steps)?,
    };
    quantized.cast(et)
}

/// A type that elements are quantized in.
trait Quantize: Element {
    /// One element. `ranges` are the ends of input and output.
    fn quantize(self, ranges: [Self; 4], steps: Self) -> Self;

    /// The elements of a line, which have one range.
    #[inline(always)]
    fn quantize_line<I: Instructions>(line: Line<Self>) {
        for (to, &x) in line.to.iter_mut().zip(line.x) {
            *to = x.quantize(line.ranges, line.steps);
        }
    }
}

macro_rules! ends {
    ($x:expr, $ranges:expr, $inside:expr) => {{
        let [input_low, input_high, output_low, output_high] = $ranges;
        if $x <= input_low.min(input_high) {
            output_low
        } else if $x > input_low.max(input_high) {
            output_high
        } else {
            $inside
        }
    }};
}

macro_rules! quantize {
    () => {
        #[inline(always)]
        fn quantize(self, ranges: [Self; 4], steps: Self) -> Self {
            let [input_low, input_high, output_low, output_high] = ranges;
            let level = ((self - input_low) / (input_high - input_low) * steps).round_ties_even();
            ends!(self, ranges, level / steps * (output_high - output_low) + output_low)
        }
    };
}

impl Quantize for f64 {
    quantize!();
}

impl Quantize for f32 {
    quantize!();

    /// The divisors are the same all along, and division is what takes the time.
    #[inline(always)]
    fn quantize_line<I: Instructions>(Line { x, to, ranges, steps }: Line<Self>) {
        let [input_low, input_high, output_low, output_high] = ranges;
        let divisors = Divisor::new::<I>(input_high - input_low).zip(Divisor::new::<I>(steps));
        for (to, &x) in to.iter_mut().zip(x) {
            *to = match divisors {
                Some((span, all)) => {
                    let level = (span.divide(x - input_low) * steps).round_ties_even();
                    ends!(x, ranges, all.divide(level) * (output_high - output_low) + output_low)
                }
                None => x.quantize(ranges, steps),
            };
        }
    }
}

/// The elements of a run that have one range.
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
        T::quantize_line::<I>(self);
    }
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
        return Err(TensorError::argument("FakeQuantize", "four ranges are needed"));
    };
    let layouts = [&x.layout, &a.layout, &b.layout, &c.layout, &d.layout];
    for_each_run(layouts, |at, apart, len| {
        let x = x.run(at[0], apart[0]);
        let (a, b) = (a.run(at[1], apart[1]), b.run(at[2], apart[2]));
        let (c, d) = (c.run(at[3], apart[3]), d.run(at[4], apart[4]));
        let to = &mut out[next..next + len];
        next += len;
        // One range for the whole run: as a rule, and in vectors.
        let ranges = [a.constant(), b.constant(), c.constant(), d.constant()];
        match (x.slice(len), ranges) {
            (Some(x), [Some(a), Some(b), Some(c), Some(d)]) => {
                widest(Line { x, to, ranges: [a, b, c, d], steps });
            }
            _ => {
                for (i, to) in to.iter_mut().enumerate() {
                    *to = x.get(i).quantize([a.get(i), b.get(i), c.get(i), d.get(i)], steps);
                }
            }
        }
    });
    Tensor::from_buffer(T::TYPE, dims, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_ends() {
        let x = Tensor::from_vec(&[5], vec![-1f32, 0.2, 0.5, 0.9, 7.0]).unwrap();
        let [zero, one, low, high] = [0f32, 1.0, 10.0, 12.0].map(Tensor::scalar);
        let out = fake_quantize(&x, [&zero, &one, &low, &high], 3).unwrap();
        assert_eq!(out.to_f32_vec().unwrap(), [10.0, 10.0, 11.0, 12.0, 12.0]);
        assert!(fake_quantize(&x, [&zero, &one, &low, &high], 1).is_err());
        let fine = Tensor::from_vec(&[4096], (0..4096).map(|i| i as f32 * 0.000_7 - 1.3).collect()).unwrap();
        let [low, high] = [-1.1f32, 1.37].map(Tensor::scalar);
        let out = fake_quantize(&fine, [&low, &high, &high, &low], 256).unwrap();
        let expected =
            fine.to_f32_vec().unwrap().into_iter().map(|x| x.quantize([-1.1, 1.37, 1.37, -1.1], 255.0));
        assert_eq!(out.to_f32_vec().unwrap(), expected.collect::<Vec<_>>());
        let wide = Tensor::full(&[2, 5], 0f32).unwrap();
        assert!(fake_quantize(&x, [&wide, &one, &low, &high], 3).is_err());
    }
}
