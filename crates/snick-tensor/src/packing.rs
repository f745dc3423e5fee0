//! Packing of elements smaller than a byte, as in OpenVINO.
//!
//! `u1` is packed from the most significant bit down, `u2` and the 4-bit types from the least significant
//! bits up. `u3` and `u6` are split over groups of three bytes: the first two contain the low bits of each
//! element, the third the high bits, each starting at the most significant end.

use crate::ElementType::{self, *};

/// A run of bits in a byte.
struct Bits {
    byte: usize,
    shift: u32,
    mask: u8,
}

impl Bits {
    /// Field `index` of `width` bits, counted from the high end.
    fn from_high(base: usize, index: usize, width: u32) -> Self {
        let per_byte = 8 / width as usize;
        Bits {
            byte: base + index / per_byte,
            shift: 8 - width - (index % per_byte) as u32 * width,
            mask: (1 << width) - 1,
        }
    }

    /// Field `index` of `width` bits, counted from the low end.
    fn from_low(index: usize, width: u32) -> Self {
        let per_byte = 8 / width as usize;
        Bits { byte: index / per_byte, shift: (index % per_byte) as u32 * width, mask: (1 << width) - 1 }
    }

    fn get(&self, bytes: &[u8]) -> u8 {
        (bytes[self.byte] >> self.shift) & self.mask
    }

    fn set(&self, bytes: &mut [u8], value: u8) {
        let byte = &mut bytes[self.byte];
        *byte = (*byte & !(self.mask << self.shift)) | ((value & self.mask) << self.shift);
    }
}

/// The bits of element `index`: the low part and, for split types, the high part with the width of the low
/// part.
fn locate(et: ElementType, index: usize) -> (Bits, Option<(Bits, u32)>) {
    match et {
        U1 => (Bits::from_high(0, index, 1), None),
        U2 => (Bits::from_low(index, 2), None),
        U3 => {
            let (base, i) = (index / 8 * 3, index % 8);
            (Bits::from_high(base, i, 2), Some((Bits::from_high(base + 2, i, 1), 2)))
        }
        U6 => {
            let (base, i) = (index / 4 * 3, index % 4);
            (Bits::from_high(base, i, 4), Some((Bits::from_high(base + 2, i, 2), 4)))
        }
        _ => (Bits::from_low(index, 4), None),
    }
}

/// The raw bits of element `index`, not sign-extended.
pub(crate) fn get(et: ElementType, bytes: &[u8], index: usize) -> u8 {
    let (low, high) = locate(et, index);
    low.get(bytes) | high.map_or(0, |(bits, below)| bits.get(bytes) << below)
}

/// [`get`] for 4-bit types, but faster.
pub(crate) fn half_byte(bytes: &[u8], index: usize) -> u8 {
    (bytes[index / 2] >> (index % 2 * 4)) & 15
}

/// Stores the low bits of `value` as element `index`.
pub(crate) fn set(et: ElementType, bytes: &mut [u8], index: usize, value: u8) {
    let (low, high) = locate(et, index);
    low.set(bytes, value);
    if let Some((bits, below)) = high {
        bits.set(bytes, value >> below);
    }
}

/// The number of elements that share a group of whole bytes, and the number of bytes.
fn group(et: ElementType) -> (usize, usize) {
    match et {
        U3 => (8, 3),
        U6 => (4, 3),
        U1 => (8, 1),
        U2 => (4, 1),
        U4 | I4 | NF4 | F4E2M1 => (2, 1),
        _ => (1, 1),
    }
}

/// The byte where element `index` starts, if it is the first of its group.
pub(crate) fn first_byte(et: ElementType, index: usize) -> Option<usize> {
    let (elements, bytes) = group(et);
    index.is_multiple_of(elements).then_some(index / elements * bytes)
}

/// Whether the bits after the last of `len` elements are zero, as packing leaves them. A view can end inside
/// a byte that it shares with other elements.
pub(crate) fn tail_is_clear(et: ElementType, bytes: &[u8], len: usize) -> bool {
    let (elements, _) = group(et);
    (len..len.next_multiple_of(elements)).all(|i| get(et, bytes, i) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(et: ElementType, values: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; et.byte_len(values.len()).unwrap()];
        for (i, &v) in values.iter().enumerate() {
            set(et, &mut bytes, i, v);
        }
        let back: Vec<u8> = (0..values.len()).map(|i| get(et, &bytes, i)).collect();
        assert_eq!(back, values);
        bytes
    }

    #[test]
    fn each_type_has_its_order() {
        assert_eq!(packed(U1, &[1, 0, 1, 0, 0, 0, 0, 0, 1]), [0b1010_0000, 0b1000_0000]);
        assert_eq!(packed(U2, &[1, 2, 3]), [0b0011_1001]);
        assert_eq!(packed(U4, &[1, 2, 3]), [0x21, 0x03]);
        // 5 = 0b101: low 01, high 1; 2 = 0b010: low 10, high 0.
        assert_eq!(packed(U3, &[5, 2]), [0b0110_0000, 0, 0b1000_0000]);
        // 0x2a = 0b10_1010.
        assert_eq!(packed(U6, &[0x2a, 0x15]), [0xa5, 0, 0b1001_0000]);
    }
}
