//! Reductions along axes.

mod vector_reduce;

use crate::ElementType::Boolean;
use crate::kernels::dispatch::{widen, with_number};
use crate::kernels::rows::{Rows, reduced_dims};
use crate::layout::checked_len;
use crate::tensor::stored_bytes;
use crate::{ElementType, PodElement, Tensor, TensorError};

/// The reduction of the elements along the reduced axes.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum ReduceOp {
    /// The sum; of no elements, 0.
    Sum,
    /// The mean; of no elements, 0. Integers truncate.
    Mean,
    /// The product; of no elements, 1.
    Prod,
    /// The maximum; of no elements, the smallest finite value of the type.
    Max,
    /// The minimum; of no elements, infinity or the largest integer.
    Min,
    /// The sum of absolute values.
    L1,
    /// The root of the sum of squares.
    L2,
    /// Whether all are true (booleans only).
    LogicalAnd,
    /// Whether any is true (booleans only).
    LogicalOr,
}

use ReduceOp::*;

impl ReduceOp {
    /// Reduces along `axes`, which stay with size 1 if `keep_dims`. Without axes every element is reduced alone.
    ///
    /// `f32` sums and products are accumulated in `f64`, in row-major order; integers wrap in their own type.
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
        // Without an axis of size 0 the other dims may be too large.
        stored_bytes(input.element_type(), &dims)?;
        let count = checked_len(&dims).unwrap_or(0);
        let out = match rows.width() {
            0 => crate::buffer::filled(count, reduce(&[]))?,
            width => values.chunks_exact(width).map(reduce).collect(),
        };
        Tensor::from_units(input.element_type(), &dims, out)
    }
}

fn greatest<T: PodElement>(row: &[T]) -> Option<T> {
    row.iter().copied().reduce(|m, x| if m < x { x } else { m })
}

fn least<T: PodElement>(row: &[T]) -> Option<T> {
    row.iter().copied().reduce(|m, x| if x < m { x } else { m })
}

trait Reduce: PodElement {
    fn reduce(op: ReduceOp, row: &[Self]) -> Self;
}

macro_rules! real {
    ($($t:ident)*) => {$(
        impl Reduce for $t {
            fn reduce(op: ReduceOp, row: &[$t]) -> $t {
                let wide = || row.iter().map(|&x| f64::from(x));
                match op {
                    Mean => (wide().sum::<f64>() / row.len().max(1) as f64) as $t,
                    Prod => wide().product::<f64>() as $t,
                    Max => greatest(row).unwrap_or($t::MIN),
                    Min => least(row).unwrap_or($t::INFINITY),
                    L1 => wide().map(f64::abs).sum::<f64>() as $t,
                    L2 => wide().map(|x| x * x).sum::<f64>().sqrt() as $t,
                    // The sum of no floats would be -0.
                    _ => wide().fold(0.0, |sum, x| sum + x) as $t,
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
                    // In a type that holds any such sum.
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
    }

    #[test]
    fn booleans() {
        let t = Tensor::from_bools(&[2, 2], &[true, false, true, true]).unwrap();
        let of = |op: ReduceOp| op.apply(&t, &[1], false).unwrap().to_bools().unwrap();
        assert_eq!(of(LogicalAnd), [false, true]);
        assert_eq!(of(LogicalOr), [true, true]);
    }
}
