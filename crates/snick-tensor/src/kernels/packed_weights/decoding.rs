//! Decodes weights of 4 or 8 bits to floats.
//!
//! **Loop nest** of a row, outer to inner: groups; vectors of codes. 4-bit codes look up their float in a
//! register that holds the scaled table of their group.

use crate::kernels::vectors::{Instructions, Vector, Vectorised};
use crate::{ElementType, Storage, Tensor};

/// How codes are decoded to values.
#[derive(Debug)]
pub(super) enum Decoding {
    /// 4-bit indices into a table. Two share a byte, the first in the low half.
    Nibbles([f32; 16]),
    /// Bytes as unsigned integers.
    Unsigned,
    /// Bytes as signed integers.
    Signed,
    /// Bytes as indices into a table.
    Bytes(Box<[f32; 256]>),
}

impl Decoding {
    /// The decoding of codes of 4 or 8 bits that are converted to the type `through`.
    pub fn new(codes: ElementType, through: ElementType) -> Option<Self> {
        let bits = codes.bit_width()?;
        // Bytes below 16 hold a 4-bit code in the low half; the 0 in the high half is skipped.
        let (bytes, step) = if bits == 4 { (0..=15, 2) } else { (0..=u8::MAX, 1) };
        let bytes: Vec<u8> = bytes.collect();
        let all = Tensor::new(codes, &[bytes.len() * step], Storage::heap(bytes)).ok()?;
        let floats = all.cast(through).ok()?.cast(ElementType::F32).ok()?.to_f32_vec().ok()?;
        let floats: Vec<f32> = floats.into_iter().step_by(step).collect();
        if bits == 4 {
            return Some(Self::Nibbles(floats.try_into().ok()?));
        }
        let is = |integer: fn(u8) -> f32| (0..=u8::MAX).map(integer).eq(floats.iter().copied());
        Some(if is(f32::from) {
            Self::Unsigned
        } else if is(signed) {
            Self::Signed
        } else {
            Self::Bytes(floats.try_into().ok()?)
        })
    }

    /// Codes in a byte.
    pub fn per_byte(&self) -> usize {
        if matches!(self, Self::Nibbles(_)) { 2 } else { 1 }
    }

    /// Whether codes become floats without a table in memory.
    pub fn is_in_registers(&self) -> bool {
        !matches!(self, Self::Bytes(_))
    }

    /// The format of the codes, if they are integers.
    pub fn integers(&self) -> Option<IntegerCodes> {
        let (bits, is_signed) = match self {
            Self::Nibbles(table) => {
                let is = |integer: fn(i8) -> i8| (0..16).map(|code| f32::from(integer(code))).eq(*table);
                if is(|code| code) {
                    (4, false)
                } else if is(|code| code << 4 >> 4) {
                    (4, true)
                } else {
                    return None;
                }
            }
            Self::Unsigned => (8, false),
            Self::Signed => (8, true),
            Self::Bytes(_) => return None,
        };
        Some(IntegerCodes { bits, is_signed })
    }
}

/// The format of integer codes.
#[derive(Copy, Clone, Debug)]
pub(super) struct IntegerCodes {
    bits: u32,
    is_signed: bool,
}

impl IntegerCodes {
    /// Codes in a byte.
    pub fn per_byte(self) -> usize {
        (u8::BITS / self.bits) as usize
    }

    /// The offset that makes all codes unsigned. It is a single bit, so flipping the bit adds the offset.
    pub fn offset(self) -> u8 {
        if self.is_signed { 1 << (self.bits - 1) } else { 0 }
    }
}

/// A byte as a signed integer.
#[inline(always)]
fn signed(byte: u8) -> f32 {
    f32::from(byte.cast_signed())
}

/// Decodes a row to `(code - zero) * scale`.
pub(super) struct UnpackRow<'a> {
    pub decoding: &'a Decoding,
    pub bytes: &'a [u8],
    /// Codes in a group.
    pub group: usize,
    /// The zero points of the groups of this row. `scales` has the same layout.
    pub zeros: &'a [f32],
    pub scales: &'a [f32],
    pub out: &'a mut [f32],
}

impl Vectorised for UnpackRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        match self.decoding {
            Decoding::Nibbles(table) => self.groups(2, |bytes, zero, scale, out| {
                nibbles::<I>(&table.map(|x| (x - zero) * scale), bytes, out);
            }),
            Decoding::Unsigned => self.groups(1, |bytes, zero, scale, out| {
                each(bytes, out, |byte| (f32::from(byte) - zero) * scale);
            }),
            Decoding::Signed => self.groups(1, |bytes, zero, scale, out| {
                each(bytes, out, |byte| (signed(byte) - zero) * scale);
            }),
            Decoding::Bytes(table) => self.groups(1, |bytes, zero, scale, out| {
                each(bytes, out, |byte| (table[usize::from(byte)] - zero) * scale);
            }),
        }
    }
}

impl UnpackRow<'_> {
    /// Calls `unpack` with the bytes, the zero point, the scale and the floats of each group.
    #[inline(always)]
    fn groups(self, per_byte: usize, unpack: impl Fn(&[u8], f32, f32, &mut [f32])) {
        let bytes = self.bytes.chunks_exact(self.group / per_byte);
        let groups = bytes.zip(self.out.chunks_exact_mut(self.group)).zip(self.zeros).zip(self.scales);
        for (((bytes, out), &zero), &scale) in groups {
            unpack(bytes, zero, scale, out);
        }
    }
}

#[inline(always)]
fn each(bytes: &[u8], out: &mut [f32], float: impl Fn(u8) -> f32) {
    for (out, &byte) in out.iter_mut().zip(bytes) {
        *out = float(byte);
    }
}

/// Looks up codes of 4 bits in a table.
#[inline(always)]
fn nibbles<I: Instructions>(table: &[f32; 16], bytes: &[u8], out: &mut [f32]) {
    /// Bytes per pass.
    const BYTES: usize = 64;
    let lanes = I::F32::LANES;
    let mut codes = [0; 2 * BYTES];
    for (bytes, out) in bytes.chunks(BYTES).zip(out.chunks_mut(2 * BYTES)) {
        spread(bytes, &mut codes);
        let whole = out.len() - out.len() % lanes;
        let (vectors, rest) = out.split_at_mut(whole);
        for (codes, out) in codes.chunks_exact(lanes).zip(vectors.chunks_exact_mut(lanes)) {
            I::lookup::<0>(table, codes).store(out);
        }
        for (&code, out) in codes[whole..].iter().zip(rest) {
            *out = table[usize::from(code & 15)];
        }
    }
}

/// Splits each byte into its two codes of 4 bits.
#[inline(always)]
fn spread(bytes: &[u8], codes: &mut [u8]) {
    let (words, rest) = bytes.as_chunks::<4>();
    let (spread_words, spread_rest) = codes.split_at_mut(8 * words.len());
    for (word, codes) in words.iter().zip(spread_words.as_chunks_mut::<8>().0) {
        let mut bits = u64::from(u32::from_le_bytes(*word));
        bits = (bits | bits << 16) & 0x0000_ffff_0000_ffff;
        bits = (bits | bits << 8) & 0x00ff_00ff_00ff_00ff;
        bits = (bits | bits << 4) & 0x0f0f_0f0f_0f0f_0f0f;
        *codes = bits.to_le_bytes();
    }
    for (byte, codes) in rest.iter().zip(spread_rest.as_chunks_mut::<2>().0) {
        *codes = [byte & 15, byte >> 4];
    }
}
