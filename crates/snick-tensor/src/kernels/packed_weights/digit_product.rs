//! One row times packed weights whose codes are integers: the row becomes integers, too, of three digits, and products of
//! digits and codes are summed exactly, four by one instruction. No code becomes a float.

use super::decoding::Integers;
use crate::kernels::gemm::sum_of_lanes;
use crate::kernels::vectors::{
    Aligned, I8x4Dot, Instructions, Vector, Vectorised, dispatch_int8_dot, has_int8_dot, prefetch,
};

/// Digits of an integer.
const DIGITS: usize = 3;

/// The largest integer whose digits are bytes with a sign.
const LARGEST: f32 = (127 * (1 + (1 << 8) + (1 << 16))) as f32;

/// Lanes of a vector.
pub(super) const LANES: usize = 16;

/// Bytes of codes that are multiplied together.
const BLOCK: usize = 4 * LANES;

/// The largest elements of a group, and the scales and zeros of weights, are between these or 0: then no product of them is
/// too large for a float or too small.
const BOUNDS: [f32; 2] = [1.0 / (1u64 << 40) as f32, (1u64 << 40) as f32];

/// Longer groups could have larger sums of digits than 32 bits have.
const LONGEST: usize = 1 << 19;

/// Rows of weights that are multiplied together.
const ROWS: usize = 4;

/// So many bytes before they are multiplied, codes are fetched into the cache.
const AHEAD: usize = 1 << 13;

/// A number for each lane, which begin with a cache line.
type Lanes<T> = Aligned<[T; LANES]>;

/// Whether a number is within the bounds.
pub(super) fn is_bounded(x: f32) -> bool {
    x == 0.0 || (BOUNDS[0]..=BOUNDS[1]).contains(&x.abs())
}

/// Whether weights of rows of `depth` codes can be multiplied so: each group is whole blocks, or each block whole groups.
pub(super) fn fits(integers: Integers, depth: usize, group: usize) -> bool {
    let block = BLOCK * integers.per_byte();
    let is_whole = group.is_multiple_of(block) && group <= LONGEST;
    let is_part = integers.per_byte() == 2 && block.is_multiple_of(group) && group >= block / LANES;
    has_int8_dot() && depth.is_multiple_of(block) && (is_whole || is_part)
}

/// A row of floats as integers.
pub(super) struct Digits {
    /// By block of codes: all digits of those in the low halves of bytes, and those of the high ones.
    blocks: Vec<[Lanes<I8x4Dot>; DIGITS]>,
    spans: Vec<Span>,
    /// Groups in a span.
    parts: usize,
}

/// The elements of a group of codes, or of as many groups as a block has.
#[derive(Default)]
struct Span {
    /// What the sums of the products of each digit begin with: what codes have too much, times the digits.
    starts: [Lanes<I8x4Dot>; DIGITS],
    /// The sums of each digit, with the other sign.
    sums: [Lanes<f32>; DIGITS],
    /// What each digit stands for: a power of 2.
    units: [Lanes<f32>; DIGITS],
}

impl Digits {
    /// The elements of a row, rounded to 23 bits of the largest one of their group. `None` if one is not finite or out of
    /// bounds.
    pub fn new(x: &[f32], integers: Integers, group: usize) -> Option<Self> {
        dispatch_int8_dot(ToDigits { x, integers, group })
    }
}

/// From a row to digits.
struct ToDigits<'a> {
    x: &'a [f32],
    integers: Integers,
    group: usize,
}

impl Vectorised for ToDigits<'_> {
    type Output = Option<Digits>;

    #[inline(always)]
    fn run<I: Instructions>(self) -> Option<Digits> {
        // Does not fit.
        if I::I8x4Dots::LANES != LANES {
            return None;
        }
        let Self { x, integers, group } = self;
        let halves = integers.per_byte();
        let len = group.max(BLOCK * halves);
        let parts = len / group;
        let mut blocks = Vec::with_capacity(x.len() / BLOCK);
        let mut spans = Vec::with_capacity(x.len() / len);
        for x in x.chunks_exact(len) {
            let mut units = Lanes::default();
            for (units, x) in units.chunks_exact_mut(LANES / parts).zip(x.chunks_exact(group)) {
                units.fill(unit(x)?);
            }
            let first = blocks.len();
            for x in x.chunks_exact(BLOCK * halves) {
                for half in 0..halves {
                    let mut block = Aligned([0.0; BLOCK]);
                    block.iter_mut().zip(x[half..].iter().step_by(halves)).for_each(|(to, &x)| *to = x);
                    blocks.push(digits(&block, &units));
                }
            }
            spans.push(Span::new::<I>(&blocks[first..], units, integers.offset()));
        }
        Some(Digits { blocks, spans, parts })
    }
}

/// The power of 2 that some floats are rounded to multiples of, at most 23 bits below the largest. `None` if that is not finite or
/// out of bounds.
#[inline(always)]
fn unit(x: &[f32]) -> Option<f32> {
    /// The bits of the exponent.
    const EXPONENT: u32 = 0x7f80_0000;
    // The order of floats without a sign is that of their bits.
    let largest = f32::from_bits(x.iter().fold(0, |largest, x| x.abs().to_bits().max(largest)));
    if largest == 0.0 {
        return Some(1.0);
    }
    let unit = f32::from_bits(largest.to_bits() & EXPONENT) / (1 << 22) as f32;
    is_bounded(largest).then_some(if largest > LARGEST * unit { 2.0 * unit } else { unit })
}

/// The digits of the nearest multiples of the units of their lanes; the lowest digits first.
#[inline(always)]
fn digits(x: &[f32; BLOCK], units: &Lanes<f32>) -> [Lanes<I8x4Dot>; DIGITS] {
    let mut digits = [[0; BLOCK]; DIGITS];
    let [low, middle, high] = &mut digits;
    let inverse = units.map(|unit| 1.0 / unit);
    for i in 0..BLOCK {
        let integer = nearest(x[i] * inverse[i / 4]);
        // Each is the lowest byte of what the lower ones leave.
        low[i] = integer as u8;
        middle[i] = ((integer + 0x80) >> 8) as u8;
        high[i] = ((integer + 0x8080) >> 16) as u8;
    }
    digits.map(|digits| Aligned(bytemuck::cast(digits)))
}

/// The integer nearest to a number of at most 23 bits. It is plain arithmetic, which the compiler vectorises.
#[inline(always)]
fn nearest(x: f32) -> i32 {
    /// What is added to it, a number of at most 22 bits is rounded to an integer, which its lowest bits are.
    const SHIFT: f32 = (3 << 22) as f32;
    let integer = |shifted: f32| shifted.to_bits().cast_signed() - SHIFT.to_bits().cast_signed();
    let high = x * (1.0 / 256.0) + SHIFT;
    let low = x - 256.0 * (high - SHIFT);
    (integer(high) << 8) + integer(low + SHIFT)
}

impl Span {
    #[inline(always)]
    fn new<I: Instructions>(blocks: &[[Lanes<I8x4Dot>; DIGITS]], units: Lanes<f32>, offset: u32) -> Self {
        let each = I::I8x4Dots::splat(I8x4Dot(0x0101_0101));
        let mut span = Span::default();
        for digit in 0..DIGITS {
            let add = |sums, block: &[Lanes<I8x4Dot>; DIGITS]| {
                I::I8x4Dots::load(&block[digit][..]).multiply_add(each, sums)
            };
            let mut sums = Lanes::<I8x4Dot>::default();
            blocks.iter().fold(I::I8x4Dots::splat(I8x4Dot::default()), add).store(&mut sums[..]);
            span.starts[digit] = Aligned(sums.map(|sum| I8x4Dot(sum.0.wrapping_mul(offset).wrapping_neg())));
            span.sums[digit] = Aligned(sums.map(|sum| -(sum.sum() as f32)));
            span.units[digit] = Aligned(units.map(|unit| unit * (1 << (8 * digit)) as f32));
        }
        span
    }

    /// What the sums of each digit begin with.
    #[inline(always)]
    fn starts<I: Instructions>(&self) -> [I::I8x4Dots; DIGITS] {
        let [low, middle, high] = &self.starts;
        [I::I8x4Dots::load(&low[..]), I::I8x4Dots::load(&middle[..]), I::I8x4Dots::load(&high[..])]
    }

    /// What the sums of each digit stand for, without the products of zeros. These are subtracted digit by digit: so far,
    /// nothing is rounded.
    #[inline(always)]
    fn values<I: Instructions>(&self, sums: [I::I8x4Dots; DIGITS], zeros: Option<I::F32>) -> I::F32 {
        let mut values = I::F32::splat(0.0);
        for (sums, (of_digits, units)) in sums.into_iter().zip(self.sums.iter().zip(&self.units)) {
            let sums = match zeros {
                Some(zeros) => I::F32::load(&of_digits[..]).multiply_add(zeros, I::dots_to_f32(sums)),
                None => I::dots_to_f32(sums),
            };
            values = sums.multiply_add(I::F32::load(&units[..]), values);
        }
        values
    }
}

/// The number of each lane's group.
#[inline(always)]
fn by_lane<I: Instructions, const IN_PARTS: bool>(of_groups: &[f32], part_of_lane: &[u8; LANES]) -> I::F32 {
    match IN_PARTS {
        true => I::lookup::<0>(of_groups.first_chunk().unwrap_or(&[0.0; LANES]), part_of_lane),
        false => I::F32::splat(of_groups[0]),
    }
}

/// The products of one row with some rows of weights.
pub(super) struct DigitProduct<'a> {
    pub digits: &'a Digits,
    pub integers: Integers,
    /// The codes of the rows of weights, as many as `out` has elements.
    pub bytes: &'a [u8],
    /// By group, row after row, and then as many as there are lanes.
    pub zeros: &'a [f32],
    pub scales: &'a [f32],
    /// Whether there are zeros other than 0.
    pub has_zeros: bool,
    pub out: &'a mut [f32],
}

impl DigitProduct<'_> {
    pub fn run(self) {
        dispatch_int8_dot(self);
    }
}

impl Vectorised for DigitProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        // Does not fit.
        if I::I8x4Dots::LANES != LANES {
            return;
        }
        // Only the first has no zeros: the others are rare, or take little for them.
        match (self.integers.per_byte(), self.digits.parts, self.has_zeros) {
            (2, 1, false) => self.rows::<I, true, false, false>(),
            (2, 1, true) => self.rows::<I, true, true, false>(),
            (2, ..) => self.rows::<I, true, true, true>(),
            // `fits` declines parts.
            _ => self.rows::<I, false, true, false>(),
        }
    }
}

impl DigitProduct<'_> {
    #[inline(always)]
    fn rows<I: Instructions, const IN_HALVES: bool, const HAS_ZEROS: bool, const IN_PARTS: bool>(self) {
        let Self { digits, bytes, zeros, scales, out, .. } = self;
        let Digits { blocks, spans, parts } = digits;
        let halves = if IN_HALVES { 2 } else { 1 };
        let flipped = I::I8x4Dots::splat(I8x4Dot(u32::from_ne_bytes([self.integers.flipped(); 4])));
        let part_of_lane: [u8; LANES] = std::array::from_fn(|lane| (lane * parts / LANES) as u8);
        let len = blocks.len() / halves;
        let len_of_span = len / spans.len();
        let bytes = bytes.as_chunks::<BLOCK>().0;
        for (i, out) in out.chunks_mut(ROWS).enumerate() {
            // Rows that are missing at the end are the last one again.
            let rows: [usize; ROWS] = std::array::from_fn(|r| i * ROWS + r.min(out.len() - 1));
            let mut totals = [I::F32::splat(0.0); ROWS];
            for (s, span) in spans.iter().enumerate() {
                let blocks = &blocks[s * len_of_span * halves..][..len_of_span * halves];
                let mut codes = [bytes; ROWS];
                for r in 0..ROWS {
                    codes[r] = &bytes[rows[r] * len + s * len_of_span..][..len_of_span];
                }
                let mut sums = [span.starts::<I>(); ROWS];
                for (b, blocks) in blocks.chunks_exact(halves).enumerate() {
                    for r in 0..ROWS {
                        prefetch(codes[r][b].as_ptr().wrapping_add(AHEAD));
                        sums[r] = add::<I, IN_HALVES>(&codes[r][b], flipped, blocks, sums[r]);
                    }
                }
                for r in 0..ROWS {
                    let group = (rows[r] * spans.len() + s) * parts;
                    let zeros = match HAS_ZEROS {
                        true => Some(by_lane::<I, IN_PARTS>(&zeros[group..], &part_of_lane)),
                        false => None,
                    };
                    let scales = by_lane::<I, IN_PARTS>(&scales[group..], &part_of_lane);
                    let values = span.values::<I>(sums[r], zeros);
                    totals[r] = values.multiply_add(scales, totals[r]);
                }
            }
            for (out, total) in out.iter_mut().zip(totals) {
                let mut lanes = [0.0; LANES];
                total.store(&mut lanes);
                *out = sum_of_lanes(lanes);
            }
        }
    }
}

/// Adds the products of the digits of blocks and the codes in some bytes to the sums of each digit.
#[inline(always)]
fn add<I: Instructions, const IN_HALVES: bool>(
    bytes: &[u8; BLOCK],
    flipped: I::I8x4Dots,
    blocks: &[[Lanes<I8x4Dot>; DIGITS]],
    mut sums: [I::I8x4Dots; DIGITS],
) -> [I::I8x4Dots; DIGITS] {
    if IN_HALVES {
        let [low, high] =
            [I::unpack_codes::<0, 15>(bytes, flipped), I::unpack_codes::<4, 15>(bytes, flipped)];
        for k in 0..DIGITS {
            sums[k] = I::I8x4Dots::load(&blocks[0][k][..]).multiply_add(low, sums[k]);
            sums[k] = I::I8x4Dots::load(&blocks[1][k][..]).multiply_add(high, sums[k]);
        }
    } else {
        let codes = I::unpack_codes::<0, 255>(bytes, flipped);
        for k in 0..DIGITS {
            sums[k] = I::I8x4Dots::load(&blocks[0][k][..]).multiply_add(codes, sums[k]);
        }
    }
    sums
}
