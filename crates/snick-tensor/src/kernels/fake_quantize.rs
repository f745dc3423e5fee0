//! Reals forced onto a few levels, still as reals.

use crate::buffer::Buffer;
use crate::kernels::broadcast::{Strided, for_each_run};
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
        ElementType::F32 => run(&data, &wide, |x, r| one_f32(x, r, steps as f32))?,
        _ => run(&data, &wide, |x, r| one_f64(x, r, steps))?,
    };
    quantized.cast(et)
}

macro_rules! one {
    ($name:ident, $t:ty) => {
        #[inline(always)]
        fn $name(x: $t, [input_low, input_high, output_low, output_high]: [$t; 4], steps: $t) -> $t {
            let level = ((x - input_low) / (input_high - input_low) * steps).round_ties_even();
            let inside = level / steps * (output_high - output_low) + output_low;
            if x <= input_low.min(input_high) {
                output_low
            } else if x > input_low.max(input_high) {
                output_high
            } else {
                inside
            }
        }
    };
}

one!(one_f32, f32);
one!(one_f64, f64);

/// The elements of a run that have one range.
struct Run<'a, T, F> {
    x: &'a [T],
    to: &'a mut [T],
    f: F,
}

impl<T: Copy, F: Fn(T) -> T> Vectorised for Run<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        for (to, &x) in self.to.iter_mut().zip(self.x) {
            *to = (self.f)(x);
        }
    }
}

fn run<T: Element>(
    data: &Tensor,
    ranges: &[Tensor],
    f: impl Fn(T, [T; 4]) -> T,
) -> Result<Tensor, TensorError> {
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
    for_each_run(layouts, |at, steps, len| {
        let x = x.run(at[0], steps[0]);
        let (a, b) = (a.run(at[1], steps[1]), b.run(at[2], steps[2]));
        let (c, d) = (c.run(at[3], steps[3]), d.run(at[4], steps[4]));
        let to = &mut out[next..next + len];
        next += len;
        // One range for the whole run: as a rule, and in vectors.
        let ranges = [a.constant(), b.constant(), c.constant(), d.constant()];
        match (x.slice(len), ranges) {
            (Some(x), [Some(a), Some(b), Some(c), Some(d)]) => {
                widest(Run { x, to, f: |x| f(x, [a, b, c, d]) });
            }
            _ => {
                for (i, to) in to.iter_mut().enumerate() {
                    *to = f(x.get(i), [a.get(i), b.get(i), c.get(i), d.get(i)]);
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
        let wide = Tensor::full(&[2, 5], 0f32).unwrap();
        assert!(fake_quantize(&x, [&wide, &one, &low, &high], 3).is_err());
    }
}
