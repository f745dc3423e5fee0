//! Element types that operators of ONNX or ONNX Runtime lack in operator set 21, and wider types that give
//! the same result. Half floats are not listed: ONNX Runtime computes them in f32 anyway.

use snick_tensor::ElementType::{
    self, BF16, Boolean, F8E4M3, F8E5M2, F16, F32, F64, I4, I8, I16, I32, I64, U4, U8, U16, U32, U64,
};

use crate::table::TypeGap;

const SMALL_INTEGERS: &[ElementType] = &[I8, U8, I16, U16];
const LARGE_UNSIGNED: &[ElementType] = &[U32, U64];

/// Integers would round or wrap differently in a float type.
const NO_INTEGERS: TypeGap = (&[Boolean, I8, U8, I16, U16, I32, U32, I64, U64], None);

const NO_BOOLEANS: TypeGap = (&[Boolean], None);

/// f64 is not supported, and there is no wider type to compute it in.
const NO_F64: TypeGap = (&[F64], None);

/// ONNX can only store and convert 8-bit floats. By default, a Cast to such a type replaces infinity with the
/// largest finite number.
const NO_SMALL_FLOATS: TypeGap = (&[F8E4M3, F8E5M2], None);

const INT4_IN_I32: TypeGap = (&[I4, U4], Some(I32));

/// The gaps of most operators. ONNX has bf16, but ONNX Runtime only moves and converts it. ONNX can only
/// store and convert 4-bit types and 8-bit floats.
pub(super) const COMMON: &[TypeGap] = &[(&[BF16], Some(F32)), (&[I4, U4], None), NO_SMALL_FLOATS];

/// The operator does not support integers.
pub(super) const FLOATS: &[TypeGap] = &[NO_INTEGERS];

/// The operator supports neither integers nor f64.
pub(super) const FLOATS_TO_32_BITS: &[TypeGap] = &[NO_INTEGERS, NO_F64];

/// The operator moves elements of at least 8 bits, except 8-bit floats.
pub(super) const MOVED: &[TypeGap] = &[INT4_IN_I32, NO_SMALL_FLOATS];

/// The operator moves elements of at least 8 bits, including 8-bit floats.
pub(super) const MOVED_BYTES: &[TypeGap] = &[INT4_IN_I32];

/// The operator moves elements of 8, 32 and 64 bits.
pub(super) const PADDED: &[TypeGap] = &[(&[I16, U16], Some(I32)), INT4_IN_I32, NO_SMALL_FLOATS];

/// The operator selects and clamps numbers of 8, 32 and 64 bits, except u64.
pub(super) const SELECTED: &[TypeGap] = &[(&[I16, U16], Some(I32)), (&[U64], Some(I64))];

/// The comparison does not support 16-bit integers.
pub(super) const SHORT_IN_I32: &[TypeGap] = &[(&[I16, U16], Some(I32))];

/// The operator supports neither bf16 nor 8-bit floats, nor integers of 4 and 16 bits.
pub(super) const CLAMPED: &[TypeGap] =
    &[(&[BF16], Some(F32)), (&[I16, U16], Some(I32)), (&[I4, U4], None), NO_SMALL_FLOATS];

/// The operator moves elements of at least 8 bits and combines numbers of 32 and 64 bits.
pub(super) const COMBINED: &[TypeGap] =
    &[(&[F16], Some(F32)), (&[Boolean], Some(I32)), INT4_IN_I32, NO_SMALL_FLOATS];

/// The operator does not support integers of 8 and 16 bits.
pub(super) const SMALL_IN_I32: &[TypeGap] = &[(SMALL_INTEGERS, Some(I32)), NO_BOOLEANS];

/// The operator supports signed integers of 32 and 64 bits. In sums and products, unsigned integers wrap like
/// signed integers.
pub(super) const IN_SIGNED: &[TypeGap] =
    &[(SMALL_INTEGERS, Some(I32)), (LARGE_UNSIGNED, Some(I64)), NO_BOOLEANS];

/// The operator supports signed integers of 32 and 64 bits, but computes some results in floats.
pub(super) const REDUCED: &[TypeGap] =
    &[(SMALL_INTEGERS, Some(I32)), (&[U32], Some(I64)), (&[U64], None), NO_BOOLEANS];

/// The operator compares numbers of 8 bits, and signed numbers of 32 and 64 bits.
pub(super) const EXTREMES: &[TypeGap] =
    &[(&[I16, U16], Some(I32)), (&[U32], Some(I64)), (&[Boolean, U64], None)];

/// The operator only supports signed integers. Unsigned integers wrap like signed integers.
pub(super) const NEGATED: &[TypeGap] = &[(&[U8, U16], Some(I32)), (LARGE_UNSIGNED, Some(I64))];

/// The operator supports only f32, f64, i8, i64 and strings.
pub(super) const OF_UNIQUE: &[TypeGap] = &[(&[U8, I16, U16, I32, U32], Some(I64)), (&[Boolean, U64], None)];

/// The operator supports only floats and 8-bit integers.
pub(super) const OF_BLOCKS: &[TypeGap] = &[(&[Boolean, I16, U16, I32, U32, I64, U64], None)];

/// The operator supports only floats and 8-bit integers.
pub(super) const OF_MAX_POOL: &[TypeGap] =
    &[(&[I16, U16, I32], Some(F64)), (&[Boolean, I64, U32, U64], None)];

/// The operator supports only f32, i32 and 8-bit integers.
pub(super) const OF_RESIZE: &[TypeGap] = &[(&[Boolean, I16, U16, U32, I64, U64], None), NO_F64];
