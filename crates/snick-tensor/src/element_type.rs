//! The element types of OpenVINO, their names and their sizes.

use std::fmt;
use std::str::FromStr;

/// The element type of a tensor, equivalent to OpenVINO's `ov::element::Type`.
///
/// ```
/// use snick::ElementType;
///
/// let half: ElementType = "f16".parse()?;
/// assert!(half.is_float() && half.is_half());
/// assert_eq!(half.name(), "f16");
/// assert_eq!(ElementType::from_ir_precision("FP32"), Some(ElementType::F32));
/// # Ok::<(), snick::UnknownElementType>(())
/// ```
// Exhaustive, so that a new variant breaks every match in the sibling crates.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum ElementType {
    /// Not known yet; no tensor has this type.
    Dynamic,
    /// One byte, 0 or 1.
    Boolean,
    /// One bit, most significant bit of a byte first.
    U1,
    /// Two bits, low bits of a byte first.
    U2,
    /// Three bits. Eight elements share three bytes: the first two bytes hold the two low bits of each
    /// element, the third byte the high bits.
    U3,
    /// Four bits, low nibble first.
    U4,
    /// Six bits. Four elements share three bytes: the first two bytes hold the four low bits of each element,
    /// the third byte the high bits.
    U6,
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// Two's complement, four bits, low nibble first.
    I4,
    /// Signed, 8 bits.
    I8,
    /// Signed, 16 bits.
    I16,
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits.
    I64,
    /// IEEE 754 binary16.
    F16,
    /// bfloat16: the upper half of a binary32.
    BF16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// The 4-bit normal float of QLoRA: an index into a table of sixteen values, low nibble first.
    NF4,
    /// 8-bit float, 4 exponent and 3 mantissa bits, no infinities (OCP E4M3).
    F8E4M3,
    /// 8-bit float, 5 exponent and 2 mantissa bits (OCP E5M2).
    F8E5M2,
    /// 8-bit power of two: an exponent with bias 127 (OCP E8M0).
    F8E8M0,
    /// 4-bit float, 2 exponent and 1 mantissa bit (OCP E2M1), low nibble first.
    F4E2M1,
    /// UTF-8 text.
    String,
}

/// Text that is not the name of an [`ElementType`].
///
/// ```
/// assert!("float33".parse::<snick::ElementType>().is_err());
/// ```
#[derive(thiserror::Error, Debug, Clone, PartialEq, Eq)]
#[error("unknown element type `{0}`")]
pub struct UnknownElementType(pub std::string::String);

use ElementType::*;

/// One row per type: OpenVINO name, IR v10 `precision`, bits (0 if not fixed).
const TABLE: [(ElementType, &str, &str, u32); 26] = [
    (Dynamic, "dynamic", "UNSPECIFIED", 0),
    (Boolean, "boolean", "BOOL", 8),
    (U1, "u1", "U1", 1),
    (U2, "u2", "U2", 2),
    (U3, "u3", "U3", 3),
    (U4, "u4", "U4", 4),
    (U6, "u6", "U6", 6),
    (U8, "u8", "U8", 8),
    (U16, "u16", "U16", 16),
    (U32, "u32", "U32", 32),
    (U64, "u64", "U64", 64),
    (I4, "i4", "I4", 4),
    (I8, "i8", "I8", 8),
    (I16, "i16", "I16", 16),
    (I32, "i32", "I32", 32),
    (I64, "i64", "I64", 64),
    (F16, "f16", "FP16", 16),
    (BF16, "bf16", "BF16", 16),
    (F32, "f32", "FP32", 32),
    (F64, "f64", "FP64", 64),
    (NF4, "nf4", "NF4", 4),
    (F8E4M3, "f8e4m3", "F8E4M3", 8),
    (F8E5M2, "f8e5m2", "F8E5M2", 8),
    (F8E8M0, "f8e8m0", "F8E8M0", 8),
    (F4E2M1, "f4e2m1", "F4E2M1", 4),
    (String, "string", "STRING", 0),
];

impl ElementType {
    /// Every element type, in declaration order.
    pub const ALL: [ElementType; 26] = {
        let mut all = [Dynamic; 26];
        let mut i = 0;
        while i < all.len() {
            all[i] = TABLE[i].0;
            i += 1;
        }
        all
    };

    const fn row(self) -> &'static (ElementType, &'static str, &'static str, u32) {
        &TABLE[self as usize]
    }

    /// OpenVINO's name: `f32`, `boolean`, `nf4`, `dynamic`...
    pub const fn name(self) -> &'static str {
        self.row().1
    }

    /// The `precision` attribute of a port in an IR file: `FP32`, `BOOL`, `UNSPECIFIED`...
    pub const fn ir_precision(self) -> &'static str {
        self.row().2
    }

    /// The type with this IR `precision`; `BIN` is an old name of `U1`.
    pub fn from_ir_precision(text: &str) -> Option<Self> {
        if text == "BIN" {
            return Some(U1);
        }
        TABLE.iter().find(|row| row.2 == text).map(|row| row.0)
    }

    /// The size of an element in bits; `None` for `dynamic` and `string`.
    pub const fn bit_width(self) -> Option<u32> {
        match self.row().3 {
            0 => None,
            bits => Some(bits),
        }
    }

    /// Whether this is a floating-point type, including `nf4` and the 8- and 4-bit types.
    pub const fn is_float(self) -> bool {
        matches!(self, F16 | BF16 | F32 | F64 | NF4 | F8E4M3 | F8E5M2 | F8E8M0 | F4E2M1)
    }

    /// Whether this is `f16` or `bf16`. Kernels compute both in `f32`.
    pub const fn is_half(self) -> bool {
        matches!(self, F16 | BF16)
    }

    /// Whether this is an integer type; `boolean` is not.
    pub const fn is_integer(self) -> bool {
        self.integer_range().is_some()
    }

    /// Whether the type has negative values (`f8e8m0` does not).
    pub const fn is_signed(self) -> bool {
        matches!(self, I4 | I8 | I16 | I32 | I64) || (self.is_float() && !matches!(self, F8E8M0))
    }

    /// The smallest and largest value of an integer type; the upper end of `u64` saturates.
    pub const fn integer_range(self) -> Option<(i64, i64)> {
        Some(match self {
            U1 => (0, 1),
            U2 => (0, 3),
            U3 => (0, 7),
            U4 => (0, 15),
            U6 => (0, 63),
            U8 => (0, u8::MAX as i64),
            U16 => (0, u16::MAX as i64),
            U32 => (0, u32::MAX as i64),
            U64 => (0, i64::MAX),
            I4 => (-8, 7),
            I8 => (i8::MIN as i64, i8::MAX as i64),
            I16 => (i16::MIN as i64, i16::MAX as i64),
            I32 => (i32::MIN as i64, i32::MAX as i64),
            I64 => (i64::MIN, i64::MAX),
            _ => return None,
        })
    }

    /// [`integer_range`](Self::integer_range) as floats, in which the upper end of `u64` does not saturate.
    /// The ends of 64-bit types are rounded.
    pub const fn integer_range_f64(self) -> Option<(f64, f64)> {
        match (self, self.integer_range()) {
            (U64, _) => Some((0.0, u64::MAX as f64)),
            (_, Some((min, max))) => Some((min as f64, max as f64)),
            (_, None) => None,
        }
    }

    /// The size of `count` packed elements in bytes; `None` for `dynamic` and `string`, and on overflow. `u3`
    /// and `u6` take whole groups of three bytes.
    pub const fn byte_len(self, count: usize) -> Option<usize> {
        match self {
            U3 => count.div_ceil(8).checked_mul(3),
            U6 => count.div_ceil(4).checked_mul(3),
            _ => match self.bit_width() {
                None => None,
                Some(bits @ 8..) => count.checked_mul(bits as usize / 8),
                Some(bits) => Some(count.div_ceil(8 / bits as usize)),
            },
        }
    }

    /// The size of an element in storage, if it is a whole number of bytes. Includes strings, which are
    /// stored as indices into a table.
    pub(crate) const fn unit_bytes(self) -> Option<usize> {
        match self {
            String => Some(4),
            _ => match self.bit_width() {
                Some(bits @ 8..) => Some(bits as usize / 8),
                _ => None,
            },
        }
    }

    /// The size of `count` elements in a [`crate::Storage`], in bytes.
    pub(crate) const fn stored_len(self, count: usize) -> Option<usize> {
        match self {
            String => count.checked_mul(4),
            _ => self.byte_len(count),
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ElementType {
    type Err = UnknownElementType;

    /// Parses an OpenVINO name as printed by [`ElementType::name`].
    fn from_str(text: &str) -> Result<Self, UnknownElementType> {
        TABLE
            .iter()
            .find(|row| row.1 == text)
            .map(|row| row.0)
            .ok_or_else(|| UnknownElementType(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_declaration_order() {
        for (i, et) in ElementType::ALL.into_iter().enumerate() {
            assert_eq!(et as usize, i);
            assert_eq!(et.name().parse(), Ok(et));
            assert_eq!(ElementType::from_ir_precision(et.ir_precision()), Some(et));
        }
        assert_eq!(ElementType::from_ir_precision("BIN"), Some(U1));
        assert!("float".parse::<ElementType>().is_err());
    }

    #[test]
    fn byte_lengths_round_up_to_whole_groups() {
        assert_eq!(U1.byte_len(9), Some(2));
        assert_eq!(U2.byte_len(5), Some(2));
        assert_eq!(U3.byte_len(9), Some(6));
        assert_eq!(U6.byte_len(4), Some(3));
        assert_eq!(I4.byte_len(3), Some(2));
        assert_eq!(F64.byte_len(2), Some(16));
        assert_eq!(F64.byte_len(usize::MAX), None);
        assert_eq!(String.byte_len(1), None);
    }
}
