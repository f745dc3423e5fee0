//! Comparisons, and logical operations.

use super::zip::zip;
use crate::ElementType::{Boolean, U8};
use crate::kernels::dispatch::{widen, with_number};
use crate::{Tensor, TensorError};

/// A comparison of two elements. `NaN` is neither equal to, nor less than, nor greater than any element.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)] // The names explain themselves.
pub enum CompareOp {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl CompareOp {
    /// Compares every pair of elements, with broadcasting. Booleans compare as 0 and 1.
    ///
    /// # Errors
    /// [`TensorError::TypeMismatch`] if the types differ, [`TensorError::UnsupportedType`] for strings,
    /// [`TensorError::ShapeMismatch`].
    pub fn apply(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, TensorError> {
        b.expect(a.element_type())?;
        let [a, b] = match a.element_type() {
            Boolean => [a.cast(U8)?, b.cast(U8)?],
            _ => widen([a, b])?,
        };
        macro_rules! over {
            ($f:expr) => {
                with_number!(a.element_type(), T => {
                    let f: fn(&T, &T) -> bool = $f;
                    zip(Boolean, &a, &b, |x: T, y: T| u8::from(f(&x, &y)))
                })
            };
        }
        match self {
            CompareOp::Equal => over!(PartialEq::eq),
            CompareOp::NotEqual => over!(PartialEq::ne),
            CompareOp::Less => over!(PartialOrd::lt),
            CompareOp::LessEqual => over!(PartialOrd::le),
            CompareOp::Greater => over!(PartialOrd::gt),
            CompareOp::GreaterEqual => over!(PartialOrd::ge),
        }
    }
}

/// A function of two booleans.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)] // The names explain themselves.
pub enum LogicalOp {
    And,
    Or,
    Xor,
}

impl LogicalOp {
    /// Applies the function to every pair of booleans, with broadcasting.
    ///
    /// # Errors
    /// [`TensorError::TypeMismatch`] unless both are boolean, [`TensorError::ShapeMismatch`].
    pub fn apply(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, TensorError> {
        a.expect(Boolean)?;
        b.expect(Boolean)?;
        let f: fn(bool, bool) -> bool = match self {
            LogicalOp::And => |x, y| x && y,
            LogicalOp::Or => |x, y| x || y,
            LogicalOp::Xor => |x, y| x != y,
        };
        zip(Boolean, a, b, |x: u8, y: u8| u8::from(f(x != 0, y != 0)))
    }
}

/// The negation of every boolean.
///
/// # Errors
/// [`TensorError::TypeMismatch`] unless the input is boolean.
pub fn logical_not(input: &Tensor) -> Result<Tensor, TensorError> {
    let flipped = input.values_u8()?.iter().map(|&x| u8::from(x == 0)).collect();
    Tensor::from_units(Boolean, input.dims(), flipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_is_only_unequal() {
        let (a, nan) = (Tensor::from_vec(&[2], vec![1.0f32, 2.0]).unwrap(), Tensor::scalar(f32::NAN));
        assert_eq!(CompareOp::NotEqual.apply(&a, &nan).unwrap().to_bools().unwrap(), [true, true]);
        assert_eq!(CompareOp::LessEqual.apply(&a, &nan).unwrap().to_bools().unwrap(), [false, false]);
        let two = Tensor::scalar(2.0f32);
        assert_eq!(CompareOp::Less.apply(&a, &two).unwrap().to_bools().unwrap(), [true, false]);
        assert_eq!(CompareOp::GreaterEqual.apply(&a, &two).unwrap().to_bools().unwrap(), [false, true]);
    }

    #[test]
    fn truth_tables() {
        let a = Tensor::from_bools(&[2, 1], &[false, true]).unwrap();
        let b = Tensor::from_bools(&[2], &[false, true]).unwrap();
        let of = |op: LogicalOp| op.apply(&a, &b).unwrap().to_bools().unwrap();
        assert_eq!(of(LogicalOp::And), [false, false, false, true]);
        assert_eq!(of(LogicalOp::Or), [false, true, true, true]);
        assert_eq!(of(LogicalOp::Xor), [false, true, true, false]);
        assert_eq!(logical_not(&b).unwrap().to_bools().unwrap(), [true, false]);
        assert!(logical_not(&Tensor::scalar(1u8)).is_err());
    }
}
