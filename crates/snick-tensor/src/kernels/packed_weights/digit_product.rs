//! One row of floats times packed weights with integer codes, computed with int8 dot products.
//!
//! **Source.** The bit slicing of fixed-point arithmetic. Each element of the row is rounded to a multiple of
//! its group's unit, a power of 2 at most 23 bits below the largest element of the group. The multiple is
//! written as three digits in base 256, each a signed byte. Products of digits and codes are summed exactly,
//! four per lane and instruction, so codes are never converted to floats. Only converting the sums of a group
//! rounds again.
//!
//! **Loop nest**, outer to inner: four rows of weights; spans of codes (one group, or one block of whole
//! groups); blocks of 64 bytes; rows; digits.
//!
//! **Layout.** A block of codes is 64 bytes as stored. With 4-bit codes, the digits of even elements (low
//! halves of bytes) and odd elements (high halves) are separate vectors. Codes must be unsigned: signed codes
//! get an offset, and sums start with the product that cancels it.
//!
//! **Threads.** All threads share the digits. Each computes some blocks of weight rows.

use super::decoding::IntegerCodes;
use crate::kernels::matmul::algorithm::{DIGIT_BLOCK as BLOCK, DIGIT_LANES as LANES};
use crate::kernels::matmul::dot_products::sum_of_lanes;
use crate::kernels::vectors::{
    Aligned, I8x4Dot, Instructions, Vector, Vectorised, dispatch_int8_dot, prefetch,
};

/// Digits per integer.
const DIGITS: usize = 3;

/// The largest integer that [`DIGITS`] signed digits can hold.
const LARGEST: f32 = (127 * (1 + (1 << 8) + (1 << 16))) as f32;

/// The allowed range of the magnitudes of scales, zero points and the largest element of a group. In this
/// range, products neither overflow nor underflow. 0 is also allowed.
const BOUNDS: [f32; 2] = [1.0 / (1u64 << 40) as f32, (1u64 << 40) as f32];

/// Weight rows that share each load of digits.
const ROWS: usize = 4;

/// The prefetch distance of codes in bytes. Without prefetching, weights that do not fit in a cache take 1.2
/// to 1.6 times as long.
const AHEAD: usize = 1 << 13;

/// One number per lane.
type Lanes<T> = Aligned<[T; LANES]>;

/// Whether a scale or zero point is 0 or within [`BOUNDS`].
pub(super) fn is_bounded(x: f32) -> bool {
    x == 0.0 || (BOUNDS[0]..=BOUNDS[1]).contains(&x.abs())
}

/// The digits of a row of floats.
pub(super) struct Digits {
    /// Per block of codes: the digits for the low halves of bytes, then for the high halves.
    blocks: Vec<[Lanes<I8x4Dot>; DIGITS]>,
    spans: Vec<Span>,
    /// Groups in a span.
    parts: usize,
}

/// Constants of a span of codes.
#[derive(Default)]
struct Span {
    /// The initial value of each digit's sum of products: `-offset * sum`, where `sum` is the sum of the
    /// digits. It cancels the offset of the codes.
    starts: [Lanes<I8x4Dot>; DIGITS],
    /// The negated sum of each digit, to be multiplied by the zero points.
    sums: [Lanes<f32>; DIGITS],
    /// The place value of each digit, a power of 2.
    units: [Lanes<f32>; DIGITS],
}

impl Digits {
    /// Splits a row into digits. `None` if the largest element of a group is not finite or is out of
    /// [`BOUNDS`].
    pub fn new(x: &[f32], integers: IntegerCodes, group: usize) -> Option<Self> {
        dispatch_int8_dot(SplitDigits { x, integers, group })
    }
}

struct SplitDigits<'a> {
    x: &'a [f32],
    integers: IntegerCodes,
    group: usize,
}

impl Vectorised for SplitDigits<'_> {
    type Output = Option<Digits>;

    #[inline(always)]
    fn run<I: Instructions>(self) -> Option<Digits> {
        // `select` excludes machines with shorter vectors.
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
            spans.push(Span::new::<I>(&blocks[first..], units, u32::from(integers.offset())));
        }
        Some(Digits { blocks, spans, parts })
    }
}

/// The unit of a group: the smallest power of 2 for which digits can hold the largest element. `None` if that
/// element is not finite or is out of [`BOUNDS`].
#[inline(always)]
fn unit(x: &[f32]) -> Option<f32> {
    /// The exponent bits of a float.
    const EXPONENT: u32 = 0x7f80_0000;
    // Non-negative floats compare like their bits.
    let largest = f32::from_bits(x.iter().fold(0, |largest, x| x.abs().to_bits().max(largest)));
    if largest == 0.0 {
        return Some(1.0);
    }
    let unit = f32::from_bits(largest.to_bits() & EXPONENT) / (1 << 22) as f32;
    is_bounded(largest).then_some(if largest > LARGEST * unit { 2.0 * unit } else { unit })
}

/// Rounds elements to multiples of their lane's unit and splits the multiples into digits, the lowest first.
#[inline(always)]
fn digits(x: &[f32; BLOCK], units: &Lanes<f32>) -> [Lanes<I8x4Dot>; DIGITS] {
    let mut digits = [[0; BLOCK]; DIGITS];
    let [low, middle, high] = &mut digits;
    let inverse = units.map(|unit| 1.0 / unit);
    for i in 0..BLOCK {
        let integer = nearest(x[i] * inverse[i / 4]);
        // A digit of 128 or more is negative as a signed byte, so it carries 1 into the next digit.
        low[i] = integer as u8;
        middle[i] = ((integer + 0x80) >> 8) as u8;
        high[i] = ((integer + 0x8080) >> 16) as u8;
    }
    digits.map(|digits| Aligned(bytemuck::cast(digits)))
}

/// Rounds a number below 2^23 in magnitude to an integer, in plain arithmetic that the compiler vectorises.
#[inline(always)]
fn nearest(x: f32) -> i32 {
    /// Adding this to a number below 2^22 in magnitude rounds it to an integer in the low bits of the sum.
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

    /// Loads the initial values of the sums.
    #[inline(always)]
    fn starts<I: Instructions>(&self) -> [I::I8x4Dots; DIGITS] {
        let [low, middle, high] = &self.starts;
        [I::I8x4Dots::load(&low[..]), I::I8x4Dots::load(&middle[..]), I::I8x4Dots::load(&high[..])]
    }

    /// The sum of all products of a span as a float. Zero points are subtracted per digit, while all sums are
    /// still exact.
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

/// The zero point or scale of each lane's group.
#[inline(always)]
fn by_lane<I: Instructions, const IN_PARTS: bool>(by_group: &[f32], part_of_lane: &[u8; LANES]) -> I::F32 {
    match IN_PARTS {
        true => I::lookup::<0>(by_group.first_chunk().unwrap_or(&[0.0; LANES]), part_of_lane),
        false => I::F32::splat(by_group[0]),
    }
}

/// The products of a row with some rows of weights.
pub(super) struct DigitProduct<'a> {
    pub digits: &'a Digits,
    pub integers: IntegerCodes,
    /// The codes of one weight row per element of `out`.
    pub bytes: &'a [u8],
    /// The zero points of all groups, row after row, followed by padding for one vector.
    pub zeros: &'a [f32],
    /// The scales of all groups, in the same layout as `zeros`.
    pub scales: &'a [f32],
    /// Whether there are zero points other than 0.
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
        // `select` excludes machines with shorter vectors.
        if I::I8x4Dots::LANES != LANES {
            return;
        }
        // Only the most frequent format has a kernel without zero points, to keep the binary small.
        match (self.integers.per_byte(), self.digits.parts, self.has_zeros) {
            (2, 1, false) => self.rows::<I, true, false, false>(),
            (2, 1, true) => self.rows::<I, true, true, false>(),
            (2, ..) => self.rows::<I, true, true, true>(),
            // `select` excludes several groups per block of 8-bit codes.
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
        let flipped = I::I8x4Dots::splat(I8x4Dot(u32::from_ne_bytes([self.integers.offset(); 4])));
        let part_of_lane: [u8; LANES] = std::array::from_fn(|lane| (lane * parts / LANES) as u8);
        let len = blocks.len() / halves;
        let len_of_span = len / spans.len();
        let bytes = bytes.as_chunks::<BLOCK>().0;
        for (i, out) in out.chunks_mut(ROWS).enumerate() {
            // An incomplete block repeats the last row.
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
                        sums[r] = add_block::<I, IN_HALVES>(&codes[r][b], flipped, blocks, sums[r]);
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

/// Adds the products of a block's digits and codes to the sum of each digit.
#[inline(always)]
fn add_block<I: Instructions, const IN_HALVES: bool>(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ElementType;
    use crate::kernels::packed_weights::decoding::Decoding;
    use crate::kernels::vectors::{has_int8_dot, run_portable};

    #[test]
    fn digits_multiply_exactly_on_every_machine() {
        use ElementType::{F32, I4, I8, U4, U8};
        let noise = |i: usize| (i.wrapping_mul(2_654_435_761) >> 13) as u8;
        for (codes, group) in [(I4, 128), (U4, 32), (I4, 16), (I8, 64), (U8, 256)] {
            let (depth, rows) = (256, 6);
            let integers = Decoding::new(codes, F32).and_then(|decoding| decoding.integers()).unwrap();
            let len = rows * depth / integers.per_byte();
            // The incomplete last block repeats its last row.
            let bytes: Vec<u8> = (0..len).map(noise).collect();
            // Integers of 23 bits, with the largest one in each group.
            let x: Vec<f32> = (0..depth)
                .map(|i| if i % group == 0 { 8_000_000.0 } else { (i * 54_321 % 7_000_000) as f32 })
                .collect();
            let groups = rows * depth / group;
            let zeros: Vec<f32> = (0..groups + LANES).map(|i| (i % 5) as f32).collect();
            let scales = vec![1.0 / 1024.0; groups + LANES];
            let code = |row: usize, i: usize| match (codes, row * depth + i) {
                (U8, at) => i64::from(bytes[at]),
                (I8, at) => i64::from(bytes[at].cast_signed()),
                (U4, at) => i64::from(bytes[at / 2] >> (4 * (at % 2)) & 15),
                (_, at) => i64::from((bytes[at / 2] << (4 - 4 * (at % 2))).cast_signed() >> 4),
            };
            let expected = |row: usize| -> f64 {
                let term = |i: usize| (code(row, i) - zeros[(row * depth + i) / group] as i64) * x[i] as i64;
                (0..depth).map(term).sum::<i64>() as f64 / 1024.0
            };
            let multiply = |digits: &Digits, run: &dyn Fn(DigitProduct)| {
                let mut out = vec![f32::NAN; rows];
                run(DigitProduct {
                    digits,
                    integers,
                    bytes: &bytes,
                    zeros: &zeros,
                    scales: &scales,
                    has_zeros: true,
                    out: &mut out,
                });
                out
            };
            let digits = run_portable(SplitDigits { x: &x, integers, group }).unwrap();
            let found = multiply(&digits, &|product| run_portable(product));
            for (row, &found) in found.iter().enumerate() {
                let (found, expected) = (f64::from(found), expected(row));
                assert!(
                    (found - expected).abs() <= expected.abs() * 1e-6 + 1.0,
                    "{codes} {group}: {found} {expected}"
                );
            }
            if has_int8_dot() {
                let digits = Digits::new(&x, integers, group).unwrap();
                assert_eq!(multiply(&digits, &|product| product.run()), found, "{codes} {group}");
            }
        }
    }
}
