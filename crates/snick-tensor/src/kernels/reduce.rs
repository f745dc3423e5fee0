//! Reductions along axes.

mod vector_reduce;

use crate::ElementType::Boolean;
use crate::kernels::dispatch::{widen, with_number};
use crate::kernels::extremum::{greatest, least};
use crate::kernels::rows::{Rows, reduced_dims};
use crate::layout::checked_len;
use crate::tensor::stored_bytes;
use crate::{ElementType, PodElement, Tensor, TensorError};

/// A function of the elements along the reduced axes.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum ReduceOp {
    /// The sum; 0 without elements.
    Sum,
    /// The mean; 0 without elements, as in the OpenVINO runtime and ONNX Runtime. Integers truncate.
    Mean,
    /// The product; 1 without elements.
    Prod,
    /// The maximum; `NaN` if any element is. Without elements, minus infinity or the least integer.
    Max,
    /// The minimum; `NaN` if any element is. Without elements, infinity or the greatest integer.
    Min,
    /// The sum of absolute values.
    L1,
    /// The root of the sum of squares.
    L2,
    /// Whether all elements are true (booleans only).
    LogicalAnd,
    /// Whether any element is true (booleans only).
    LogicalOr,
}

use ReduceOp::*;

impl ReduceOp {
    /// Reduces along `axes`, which keep size 1 with `keep_dims`. Without axes, every element is its own
    /// group.
    ///
    /// Sums and products of floats are accumulated in `f64`, in an order that depends only on dims and axes.
    /// Sums and products of integers wrap.
    ///
    /// # Errors
    /// [`TensorError::AxisOutOfRange`], [`TensorError::UnsupportedType`].
    pub fn apply(&self, input: &Tensor, axes: &[usize], keep_dims: bool) -> Result<Tensor, TensorError> {
        let et = input.element_type();
        if matches!(self, LogicalAnd | LogicalOr) {
            input.expect(Boolean)?;
            return self.over_rows(input, axes, keep_dims, |row: &[u8]| match self {
                LogicalAnd => u8::from(row.iter().all(|&x| x != 0)),
                _ => u8::from(row.iter().any(|&x| x != 0)),
            });
        }
        let [wide] = widen([input])?;
        if wide.element_type() == ElementType::F32
            && let Some(reduced) = vector_reduce::apply(*self, &wide, axes, keep_dims)?
        {
            return reduced.cast(et);
        }
        with_number!(wide.element_type(), T => {
            self.over_rows(&wide, axes, keep_dims, |row: &[T]| T::reduce(*self, row))
        })?
        .cast(et)
    }

    fn over_rows<T: bytemuck::Pod + Send + Sync>(
        self,
        input: &Tensor,
        axes: &[usize],
        keep_dims: bool,
        reduce: impl Fn(&[T]) -> T,
    ) -> Result<Tensor, TensorError> {
        let rows = Rows::new(input, axes)?;
        let dims = reduced_dims(input.dims(), axes, keep_dims);
        let values = rows.tensor.units::<T>();
        // If an axis of size 0 is reduced, the product of the other dims may be too large.
        stored_bytes(input.element_type(), &dims)?;
        let count = checked_len(&dims).unwrap_or(0);
        let out = match rows.width() {
            0 => crate::buffer::filled(count, reduce(&[]))?,
            width => values.chunks_exact(width).map(reduce).collect(),
        };
        Tensor::from_units(input.element_type(), &dims, out)
    }
}

trait Reduce: PodElement {
    fn reduce(op: ReduceOp, row: &[Self]) -> Self;
}

/// The sum, which is 0 without elements; the standard library returns -0.
fn sum(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(0.0, |sum, x| sum + x)
}

macro_rules! real {
    ($($t:ident)*) => {$(
        impl Reduce for $t {
            fn reduce(op: ReduceOp, row: &[$t]) -> $t {
                let wide = || row.iter().map(|&x| f64::from(x));
                match op {
                    Mean => (sum(wide()) / row.len().max(1) as f64) as $t,
                    Prod => wide().product::<f64>() as $t,
                    Max => row.iter().copied().fold($t::NEG_INFINITY, greatest),
                    Min => row.iter().copied().fold($t::INFINITY, least),
                    L1 => sum(wide().map(f64::abs)) as $t,
                    L2 => sum(wide().map(|x| x * x)).sqrt() as $t,
                    _ => sum(wide()) as $t,
                }
            }
        }
    )*};
}

real!(f32 f64);

macro_rules! integer {
    ($($t:ident: $abs:expr),* $(,)?) => {$(
        impl Reduce for $t {
            fn reduce(op: ReduceOp, row: &[$t]) -> $t {
                let sum = || row.iter().fold(0 as $t, |sum, &x| sum.wrapping_add(x));
                match op {
                    // `i128` holds every such sum.
                    Mean => (row.iter().map(|&x| x as i128).sum::<i128>() / row.len().max(1) as i128) as $t,
                    Prod => row.iter().fold(1 as $t, |product, &x| product.wrapping_mul(x)),
                    Max => row.iter().copied().max().unwrap_or($t::MIN),
                    Min => row.iter().copied().min().unwrap_or($t::MAX),
                    L1 => row.iter().fold(0 as $t, |sum, &x| sum.wrapping_add($abs(x))),
                    L2 => row.iter().map(|&x| (x as f64) * (x as f64)).sum::<f64>().sqrt() as $t,
                    _ => sum(),
                }
            }
        }
    )*};
}

integer! {
    i8: i8::wrapping_abs, i16: i16::wrapping_abs, i32: i32::wrapping_abs, i64: i64::wrapping_abs,
    u8: |x| x, u16: |x| x, u32: |x| x, u64: |x| x,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(op: ReduceOp, t: &Tensor, axes: &[usize]) -> Vec<f64> {
        op.apply(t, axes, false).unwrap().to_f64_vec().unwrap()
    }

    #[test]
    fn each_axis_and_both() {
        let t = Tensor::from_vec(&[2, 3], vec![1.0f32, -2.0, 3.0, 4.0, 5.0, -6.0]).unwrap();
        assert_eq!(of(Sum, &t, &[0]), [5.0, 3.0, -3.0]);
        assert_eq!(of(Mean, &t, &[1]), [2.0 / 3.0f32 as f64, 1.0].map(|x| x as f32 as f64));
        assert_eq!(of(Prod, &t, &[1, 0]), [720.0]);
        assert_eq!(of(Max, &t, &[1]), [3.0, 5.0]);
        assert_eq!(of(Min, &t, &[0, 1]), [-6.0]);
        assert_eq!(of(L1, &t, &[1]), [6.0, 15.0]);
        assert_eq!(of(L2, &t.slice(1, 0, 1, 1).unwrap(), &[0]), [(17f32.sqrt()).into()]);
        assert_eq!(of(Sum, &t, &[]), t.to_f64_vec().unwrap());
        assert_eq!(Sum.apply(&t, &[0], true).unwrap().dims(), [1, 3]);
        assert!(Sum.apply(&t, &[2], true).is_err());
    }

    #[test]
    fn no_elements_reduce_to_the_neutral_element() {
        let none = Tensor::zeros(ElementType::I32, &[2, 0]).unwrap();
        assert_eq!(of(Sum, &none, &[1]), [0.0, 0.0]);
        assert_eq!(of(Prod, &none, &[1]), [1.0, 1.0]);
        assert_eq!(of(Max, &none, &[1])[0], i32::MIN.into());
        assert!(of(Sum, &none, &[0]).is_empty());
        assert_eq!(of(Mean, &none, &[1]), [0.0, 0.0]);
        let limits = |et: ElementType| {
            let none = Tensor::zeros(et, &[1, 0]).unwrap();
            [Max, Min].map(|op| op.apply(&none, &[1], false).unwrap())
        };
        for et in [ElementType::F16, ElementType::BF16, ElementType::F32, ElementType::F64] {
            let found = limits(et).map(|limit| limit.to_f64_vec().unwrap()[0]);
            assert_eq!(found, [f64::NEG_INFINITY, f64::INFINITY], "{et}");
            for op in [Sum, Mean, L1, L2] {
                let zero = op.apply(&Tensor::zeros(et, &[1, 0]).unwrap(), &[1], false).unwrap();
                assert!(zero.to_f64_vec().unwrap()[0].is_sign_positive(), "{op:?} of {et}");
            }
        }
        assert_eq!(limits(ElementType::U64)[1], Tensor::from_vec(&[1], vec![u64::MAX]).unwrap());
        assert_eq!(limits(ElementType::I8)[0], Tensor::from_vec(&[1], vec![i8::MIN]).unwrap());
    }

    #[test]
    fn nan_anywhere_is_the_extreme() {
        // Rows and columns that do and do not fill whole vectors.
        for len in [1, 5, 16, 17, 41, 64, 100] {
            for at in [0, len / 2, len - 1] {
                let mut numbers: Vec<f32> = (0..len).map(|i| (i * 7 % 11) as f32 - 5.0).collect();
                numbers[at] = if at % 2 == 0 { f32::NAN } else { -f32::NAN };
                let row = Tensor::from_vec(&[1, len], numbers.clone()).unwrap();
                let columns: Vec<f32> = numbers.iter().flat_map(|&x| [1.0, x, -x]).collect();
                let columns = Tensor::from_vec(&[len, 3], columns).unwrap();
                for et in [ElementType::F16, ElementType::BF16, ElementType::F32, ElementType::F64] {
                    for op in [Max, Min] {
                        let case = format!("{op:?} {et} {len} {at}");
                        assert!(of(op, &row.cast(et).unwrap(), &[1])[0].is_nan(), "{case}");
                        let found = of(op, &columns.cast(et).unwrap(), &[0]);
                        assert!(found[0] == 1.0 && found[1].is_nan() && found[2].is_nan(), "{case}");
                    }
                }
            }
            let mut numbers = vec![1.0f32; len];
            (numbers[0], numbers[len - 1]) = (f32::NEG_INFINITY, f32::INFINITY);
            let infinite = Tensor::from_vec(&[len], numbers).unwrap();
            assert_eq!(of(Max, &infinite, &[0]), [f64::INFINITY]);
        }
    }

    #[test]
    fn booleans() {
        let t = Tensor::from_bools(&[2, 2], &[true, false, true, true]).unwrap();
        let of = |op: ReduceOp| op.apply(&t, &[1], false).unwrap().to_bools().unwrap();
        assert_eq!(of(LogicalAnd), [false, true]);
        assert_eq!(of(LogicalOr), [true, true]);
    }
}
