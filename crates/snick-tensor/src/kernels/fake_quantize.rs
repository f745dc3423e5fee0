//! Reals forced onto a few levels, still as reals.

use crate::kernels::broadcast::{Strided, for_each_run};
use crate::tensor::{filled, stored_bytes};
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
        fn $name(x: $t, [input_low, input_high, output_low, output_high]: [$t; 4], steps: $t) -> $t {
            if x <= input_low.min(input_high) {
                return output_low;
            }
            if x > input_low.max(input_high) {
                return output_high;
            }
            let level = ((x - input_low) / (input_high - input_low) * steps).round_ties_even();
            level / steps * (output_high - output_low) + output_low
        }
    };
}

one!(one_f32, f32);
one!(one_f64, f64);

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
    let mut out = filled(data.len(), T::default())?;
    let mut next = 0;
    let [a, b, c, d] = stretched.as_slice() else {
        return Err(TensorError::argument("FakeQuantize", "four ranges are needed"));
    };
    let layouts = [&x.layout, &a.layout, &b.layout, &c.layout, &d.layout];
    for_each_run(layouts, |at, steps, len| {
        let x = x.run(at[0], steps[0]);
        let (a, b) = (a.run(at[1], steps[1]), b.run(at[2], steps[2]));
        let (c, d) = (c.run(at[3], steps[3]), d.run(at[4], steps[4]));
        for (i, to) in out[next..next + len].iter_mut().enumerate() {
            *to = f(x.get(i), [a.get(i), b.get(i), c.get(i), d.get(i)]);
        }
        next += len;
    });
    Tensor::from_vec(dims, out)
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
