//! How the codes of weights become floats.

use crate::kernels::vectors::{Instructions, Vector, Vectorised};
use crate::{ElementType, Storage, Tensor};

/// What the codes of a type stand for.
#[derive(Debug)]
pub(super) enum Decoding {
    /// Codes of 4 bits, two in a byte, the first of them in its low half: elements of the table.
    Nibbles([f32; 16]),
    /// Bytes that are integers, 0 or more.
    Unsigned,
    /// Bytes that are integers with a sign.
    Signed,
    /// Bytes: elements of the table.
    Bytes(Box<[f32; 256]>),
}

impl Decoding {
    /// The decoding of codes of 4 or 8 bits that are converted to the type `through`.
    pub fn new(codes: ElementType, through: ElementType) -> Option<Self> {
        let bits = codes.bit_width()?;
        // Of 4 bits, the first code in a byte is the byte.
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

    /// The codes, if they are integers.
    pub fn integers(&self) -> Option<Integers> {
        let (bits, is_signed) = match self {
            Self::Nibbles(table) => {
                let is = |integer: fn(i8) -> i8| (0..16).map(|code| f32::from(integer(code))).eq(*table);
                (
                    4,
                    if is(|code| code) {
                        false
                    } else if is(|code| code << 4 >> 4) {
                        true
                    } else {
                        return None;
                    },
                )
            }
            Self::Unsigned => (8, false),
            Self::Signed => (8, true),
            Self::Bytes(_) => return None,
        };
        Some(Integers { bits, is_signed })
    }
}

/// Codes that are integers.
#[derive(Copy, Clone, Debug)]
pub(super) struct Integers {
    bits: u32,
    is_signed: bool,
}

impl Integers {
    /// Codes in a byte.
    pub fn per_byte(self) -> usize {
        (u8::BITS / self.bits) as usize
    }

    /// The bits of a code that turn when what is added makes it 0 or more.
    pub fn flipped(self) -> u8 {
        if self.is_signed { 1 << (self.bits - 1) } else { 0 }
    }

    /// What is to be added to all codes for them to be 0 or more.
    pub fn offset(self) -> u32 {
        if self.is_signed { 1 << (self.bits - 1) } else { 0 }
    }
}

/// A byte as an integer with a sign.
#[inline(always)]
fn signed(byte: u8) -> f32 {
    f32::from(byte.cast_signed())
}

/// Unpacks a row: the floats of its codes, without the zero and times the scale of their group.
pub(super) struct UnpackRow<'a> {
    pub decoding: &'a Decoding,
    pub bytes: &'a [u8],
    /// Codes in a group.
    pub group: usize,
    /// By group.
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
    /// Calls `unpack` with the bytes, the zero, the scale and the floats of each group.
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

/// The elements of the table that codes of 4 bits name.
#[inline(always)]
fn nibbles<I: Instructions>(table: &[f32; 16], bytes: &[u8], out: &mut [f32]) {
    /// Bytes that are unpacked at a time.
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

/// Writes the two codes of 4 bits of each byte, a byte each.
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
