//! Logic and shifts on the bits of integers.

use super::zip::zip;
use crate::ElementType::{Boolean, I64, U64};
use crate::kernels::vectors::Number;
use crate::{PodElement, Tensor, TensorError};

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
        let et = a.element_type();
        b.expect(et)?;
        integral(a)?;
        let out = match et {
            U64 => self.run::<u64>(a, b)?,
            _ => self.run::<i64>(&a.cast(I64)?, &b.cast(I64)?)?,
        };
        out.cast(et)
    }

    fn run<T: Bits>(self, a: &Tensor, b: &Tensor) -> Result<Tensor, TensorError> {
        let f: fn(T, T) -> T = match self {
            BitwiseOp::And => |x, y| x & y,
            BitwiseOp::Or => |x, y| x | y,
            BitwiseOp::Xor => |x, y| x ^ y,
            BitwiseOp::LeftShift => |x, y| x.shift_left(y),
            BitwiseOp::RightShift => |x, y| x.shift_right(y),
        };
        zip(T::TYPE, a, b, f)
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
    // Narrowing keeps the low bits, which are the bits of the type.
    let wide = input.cast(I64)?;
    let turned = wide.values::<i64>()?.iter().map(|x| !x).collect();
    Tensor::from_vec(input.dims(), turned)?.cast(input.element_type())
}

fn integral(input: &Tensor) -> Result<(), TensorError> {
    let element_type = input.element_type();
    if element_type.is_integer() || element_type == Boolean {
        return Ok(());
    }
    Err(TensorError::UnsupportedType { element_type })
}

trait Bits:
    PodElement
    + Number
    + std::ops::BitAnd<Output = Self>
    + std::ops::BitOr<Output = Self>
    + std::ops::BitXor<Output = Self>
{
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
        assert!(!bitwise_not(&Tensor::from_bools(&[], &[true]).unwrap()).unwrap().to_bools().unwrap()[0]);
    }
}
