//! Logic and shifts on the bits of integers.

use super::compare::LogicalOp;
use super::zip::zip;
use crate::ElementType::{Boolean, I64, U64};
use crate::kernels::dispatch::{moving, with_unit};
use crate::kernels::vectors::Number;
use crate::{Element, PodElement, Tensor, TensorError};

/// A function of the bits of two integers; booleans count as one bit.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)] // The names explain themselves.
pub enum BitwiseOp {
    And,
    Or,
    Xor,
    /// Drops bits that are shifted out of the type.
    LeftShift,
    /// Fills with the sign bit, or with 0 for unsigned types.
    RightShift,
}

impl BitwiseOp {
    /// Applies the function to every pair of elements, with broadcasting.
    ///
    /// # Errors
    /// [`TensorError::TypeMismatch`] if the types differ, [`TensorError::UnsupportedType`] unless they are
    /// integers or boolean, [`TensorError::ShapeMismatch`].
    pub fn apply(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, TensorError> {
        integral(a)?;
        b.expect(a.element_type())?;
        let logical = match self {
            BitwiseOp::And => LogicalOp::And,
            BitwiseOp::Or => LogicalOp::Or,
            BitwiseOp::Xor => LogicalOp::Xor,
            BitwiseOp::LeftShift | BitwiseOp::RightShift => return self.shift(a, b),
        };
        if a.element_type() == Boolean {
            return logical.apply(a, b);
        }
        moving(&[a, b], |units| {
            with_unit!(units[0].element_type(), T => match logical {
                LogicalOp::And => zip(T::TYPE, &units[0], &units[1], |x: T, y| x & y),
                LogicalOp::Or => zip(T::TYPE, &units[0], &units[1], |x: T, y| x | y),
                LogicalOp::Xor => zip(T::TYPE, &units[0], &units[1], |x: T, y| x ^ y),
            })
        })
    }

    fn shift(self, a: &Tensor, b: &Tensor) -> Result<Tensor, TensorError> {
        fn run<T: Bits>(left: bool, a: &Tensor, b: &Tensor) -> Result<Tensor, TensorError> {
            match left {
                true => zip(T::TYPE, a, b, T::shift_left),
                false => zip(T::TYPE, a, b, T::shift_right),
            }
        }
        let left = self == BitwiseOp::LeftShift;
        match a.element_type() {
            U64 => run::<u64>(left, a, b),
            et => run::<i64>(left, &a.cast(I64)?, &b.cast(I64)?)?.cast(et),
        }
    }
}

/// Inverts every bit of an integer; negates booleans.
///
/// # Errors
/// [`TensorError::UnsupportedType`] unless the elements are integers or boolean.
pub fn bitwise_not(input: &Tensor) -> Result<Tensor, TensorError> {
    integral(input)?;
    if input.element_type() == Boolean {
        return super::logical_not(input);
    }
    moving(&[input], |units| {
        with_unit!(units[0].element_type(), T => {
            Tensor::from_vec(input.dims(), units[0].units::<T>().iter().map(|x| !x).collect())
        })
    })
}

fn integral(input: &Tensor) -> Result<(), TensorError> {
    let element_type = input.element_type();
    if element_type.is_integer() || element_type == Boolean {
        return Ok(());
    }
    Err(TensorError::UnsupportedType { element_type })
}

trait Bits: PodElement + Number {
    fn shift_left(self, by: Self) -> Self;
    fn shift_right(self, by: Self) -> Self;
}

impl Bits for i64 {
    fn shift_left(self, by: Self) -> Self {
        u32::try_from(by).ok().and_then(|by| self.checked_shl(by)).unwrap_or(0)
    }
    fn shift_right(self, by: Self) -> Self {
        self >> by.clamp(0, 63)
    }
}

impl Bits for u64 {
    fn shift_left(self, by: Self) -> Self {
        u32::try_from(by).ok().and_then(|by| self.checked_shl(by)).unwrap_or(0)
    }
    fn shift_right(self, by: Self) -> Self {
        u32::try_from(by).ok().and_then(|by| self.checked_shr(by)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ElementType;

    #[test]
    fn bits_of_every_width() {
        let a = Tensor::from_vec(&[3], vec![0b1100u8, 0xff, 1]).unwrap();
        let b = Tensor::from_vec(&[1], vec![0b1010u8]).unwrap();
        let of = |op: BitwiseOp| op.apply(&a, &b).unwrap().to_i64_vec().unwrap();
        assert_eq!(of(BitwiseOp::And), [0b1000, 0b1010, 0]);
        assert_eq!(of(BitwiseOp::Xor), [0b0110, 0xf5, 0b1011]);
        assert_eq!(of(BitwiseOp::LeftShift), [0, 0, 0]);
        assert_eq!(bitwise_not(&a).unwrap().to_i64_vec().unwrap(), [0xf3, 0, 0xfe]);
        let negative = Tensor::scalar(-8i32);
        let shifted = BitwiseOp::RightShift.apply(&negative, &Tensor::scalar(1i32)).unwrap();
        assert_eq!(shifted.to_i64_vec().unwrap(), [-4]);
        let big = Tensor::scalar(u64::MAX);
        let shifted = BitwiseOp::RightShift.apply(&big, &Tensor::scalar(63u64)).unwrap();
        assert_eq!(shifted.values::<u64>().unwrap()[..], [1]);
        assert!(bitwise_not(&Tensor::scalar(1f32)).is_err());
        let narrow =
            Tensor::from_vec(&[3], vec![0b0101i32, 0b0011, 0]).unwrap().cast(ElementType::U3).unwrap();
        assert_eq!(bitwise_not(&narrow).unwrap().to_i64_vec().unwrap(), [0b010, 0b100, 0b111]);
        let flipped = BitwiseOp::Xor.apply(&narrow, &bitwise_not(&narrow).unwrap()).unwrap();
        assert_eq!(flipped.to_i64_vec().unwrap(), [7; 3]);
        assert!(!bitwise_not(&Tensor::from_bools(&[], &[true]).unwrap()).unwrap().to_bools().unwrap()[0]);
    }
}
