//! The attribute type for masks of StridedSlice.

use std::borrow::Cow;

use crate::{AttrField, AttrValue, OpError, RawNode};

/// A list of 0 and 1. Missing bits are 0.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Mask {
    bits: u64,
    len: u8,
}

impl Mask {
    /// The maximum number of bits, which exceeds any rank.
    pub const MAX_LEN: usize = 64;

    /// Bit `i`.
    pub fn get(self, i: usize) -> bool {
        i < Self::MAX_LEN && self.bits >> i & 1 == 1
    }

    /// Number of bits, including zeros.
    pub fn len(self) -> usize {
        self.len.into()
    }

    /// Whether the mask has no bits.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Number of bits that are 1.
    pub fn count_ones(self) -> u32 {
        self.bits.count_ones()
    }
}

/// Ignores bits after the 64th, since no entry has them.
impl FromIterator<u8> for Mask {
    fn from_iter<I: IntoIterator<Item = u8>>(bits: I) -> Self {
        let set = |mask: Self, bit: u8| Self {
            bits: mask.bits | u64::from(bit != 0) << mask.len,
            len: mask.len + 1,
        };
        bits.into_iter().take(Self::MAX_LEN).fold(Self::default(), set)
    }
}

impl AttrField for Mask {
    fn kind() -> Cow<'static, str> {
        "list of 0 and 1".into()
    }

    fn parse(raw: &RawNode, name: &'static str) -> Result<Option<Self>, OpError> {
        let Some(bits) = raw.attrs.ints(name)? else { return Ok(None) };
        if bits.len() > Self::MAX_LEN || bits.iter().any(|bit| !(0..=1).contains(bit)) {
            return Err(raw.attrs.bad(name, "at most 64 of 0 and 1"));
        }
        Ok(Some(bits.iter().map(|&bit| u8::from(bit == 1)).collect()))
    }

    fn value(&self) -> Option<AttrValue<'static>> {
        Some(AttrValue::Ints((0..self.len()).map(|i| i64::from(self.get(i))).collect()))
    }
}
