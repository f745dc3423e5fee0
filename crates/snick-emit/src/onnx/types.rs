//! Element types that operators of ONNX lack in operator set 21, and the wider types that give the same result.

use snick_tensor::ElementType::{self, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};

use crate::table::TypeGap;

pub(super) const SMALL_INTEGERS: &[ElementType] = &[I8, U8, I16, U16];
pub(super) const LARGE_UNSIGNED: &[ElementType] = &[U32, U64];

/// Integers are rounded or wrapped in ways of their own.
const NO_INTEGERS: TypeGap = (&[I8, U8, I16, U16, I32, U32, I64, U64], None);

/// ONNX Runtime computes nothing in bf16, though ONNX has it: operators that only move or convert elements have it.
pub(super) const BF16_IN_F32: &[TypeGap] = &[(&[BF16], Some(F32))];

/// The operator has no integers.
pub(super) const FLOATS: &[TypeGap] = &[NO_INTEGERS];

/// The operator has no integers of 8 and 16 bits.
pub(super) const SMALL_IN_I32: &[TypeGap] = &[(SMALL_INTEGERS, Some(I32))];

/// The operator has no integers of 16 bits.
pub(super) const SHORT_IN_I32: &[TypeGap] = &[(&[I16, U16], Some(I32))];

/// The operator has only floats and integers of 8 bits.
pub(super) const OF_MAX_POOL: &[TypeGap] = &[(&[I16, U16, I32], Some(F64)), (&[I64, U32, U64], None)];
