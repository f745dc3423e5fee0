//! One row of floats times packed weights that are decoded in registers and never stored.
//!
//! **Source.** A row-wise matrix-vector product (GEMV) with fused decoding, as in language-model runtimes.
//! Results are bit-identical to a product with decoded weights: lanes are summed in the same order.
//!
//! **Loop nest**, outer to inner: rows of weights; groups; pairs of vectors. Rows are read one at a time: a
//! single stream is prefetched best, and the processor can overlap consecutive rows, because their sums are
//! independent.
//!
//! **Layout.** Codes are read as stored. For 4-bit codes the row is reordered once per block: first the even
//! elements, which multiply the low halves of bytes.
//!
//! **Threads.** All threads share the row. Each computes some blocks of weight rows.

use super::decoding::Decoding;
use crate::kernels::matmul::dot_products::sum_of_lanes;
use crate::kernels::vectors::{Instructions, Vector, Vectorised, prefetch};

/// The products of a row with some rows of weights.
pub(super) struct RowProduct<'a> {
    pub x: &'a [f32],
    pub decoding: &'a Decoding,
    /// The codes of one weight row per element of `out`.
    pub bytes: &'a [u8],
    /// Codes in a group.
    pub group: usize,
    /// The zero points of all groups, row after row. `scales` has the same layout.
    pub zeros: &'a [f32],
    pub scales: &'a [f32],
    pub out: &'a mut [f32],
}

impl Vectorised for RowProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        match self.decoding {
            // `select` excludes the short vectors of the baseline, and tables in memory.
            _ if I::F32::LANES < 8 => {}
            Decoding::Bytes(_) => {}
            Decoding::Nibbles(table) => {
                let x = even_then_odd(self.x, 2 * I::F32::LANES);
                self.rows::<I, _>(&Nibbles(table), &x);
            }
            Decoding::Unsigned => {
                let x = self.x;
                self.rows::<I, _>(&Bytes::<false>, x);
            }
            Decoding::Signed => {
                let x = self.x;
                self.rows::<I, _>(&Bytes::<true>, x);
            }
        }
    }
}

/// Reorders each block: the even elements, then the odd ones.
fn even_then_odd(x: &[f32], block: usize) -> Vec<f32> {
    let mut reordered = vec![0.0; x.len()];
    for (from, to) in x.chunks_exact(block).zip(reordered.chunks_exact_mut(block)) {
        let (even, odd) = to.split_at_mut(block / 2);
        for (&[x, y], (even, odd)) in from.as_chunks().0.iter().zip(even.iter_mut().zip(odd)) {
            (*even, *odd) = (x, y);
        }
    }
    reordered
}

impl RowProduct<'_> {
    /// Multiplies a row with the weights. The elements of `x` are in the order in which `codes` decodes.
    #[inline(always)]
    fn rows<I: Instructions, C: Codes>(self, codes: &C, x: &[f32]) {
        let Self { bytes, group, zeros, scales, out, .. } = self;
        let (lanes, groups) = (I::F32::LANES, x.len() / group);
        let rows = bytes.chunks_exact(x.len() / C::PER_BYTE);
        let scaling = zeros.chunks_exact(groups).zip(scales.chunks_exact(groups));
        for ((out, row), (zeros, scales)) in out.iter_mut().zip(rows).zip(scaling) {
            let mut sums = [I::F32::splat(0.0); 2];
            let bytes = row.chunks_exact(group / C::PER_BYTE);
            let groups = x.chunks_exact(group).zip(bytes).zip(zeros.iter().zip(scales));
            for ((x, bytes), (&zero, &scale)) in groups {
                let scaled = codes.scaled::<I>(zero, scale);
                let bytes = bytes.chunks_exact(2 * lanes / C::PER_BYTE);
                for (x, bytes) in x.chunks_exact(2 * lanes).zip(bytes) {
                    prefetch(bytes.as_ptr().wrapping_add(AHEAD));
                    let [low, high] = codes.floats::<I>(&scaled, bytes);
                    sums[0] = I::F32::load(x).multiply_add(low, sums[0]);
                    sums[1] = I::F32::load(&x[lanes..]).multiply_add(high, sums[1]);
                }
            }
            *out = sum_of_lanes(C::lanes::<I>(sums));
        }
    }
}

/// The prefetch distance of codes in bytes. Without prefetching, weights that do not fit in a cache take 1.1
/// to 1.3 times as long.
const AHEAD: usize = 1 << 13;

/// Decodes two vectors of codes at a time.
trait Codes {
    /// Codes in a byte.
    const PER_BYTE: usize;
    /// Values that are computed once per group.
    type Scaled;

    fn scaled<I: Instructions>(&self, zero: f32, scale: f32) -> Self::Scaled;

    /// Decodes as many codes as two vectors have lanes.
    fn floats<I: Instructions>(&self, scaled: &Self::Scaled, bytes: &[u8]) -> [I::F32; 2];

    /// Reduces two vectors of sums to one. The sums of codes `i` and `i + LANES` of each block are added in
    /// lane `i`, where `LANES` is the length of a vector. The remaining lanes are 0.
    fn lanes<I: Instructions>(sums: [I::F32; 2]) -> [f32; 16];
}

/// `(code - zero) * scale`.
#[inline(always)]
fn scaled<I: Instructions>(codes: I::F32, zero: f32, scale: f32) -> I::F32 {
    // Adding -0 does not change the product.
    codes.plus(I::F32::splat(-zero)).multiply_add(I::F32::splat(scale), I::F32::splat(-0.0))
}

/// 4-bit codes: the even ones, then the odd ones.
struct Nibbles<'a>(&'a [f32; 16]);

impl Codes for Nibbles<'_> {
    const PER_BYTE: usize = 2;
    type Scaled = [f32; 16];

    #[inline(always)]
    fn scaled<I: Instructions>(&self, zero: f32, scale: f32) -> [f32; 16] {
        let (mut all, lanes) = ([0.0; 16], I::F32::LANES);
        for (x, to) in self.0.chunks_exact(lanes).zip(all.chunks_exact_mut(lanes)) {
            scaled::<I>(I::F32::load(x), zero, scale).store(to);
        }
        all
    }

    #[inline(always)]
    fn floats<I: Instructions>(&self, scaled: &[f32; 16], bytes: &[u8]) -> [I::F32; 2] {
        [I::lookup::<0>(scaled, bytes), I::lookup::<4>(scaled, bytes)]
    }

    #[inline(always)]
    fn lanes<I: Instructions>(sums: [I::F32; 2]) -> [f32; 16] {
        let half = I::F32::LANES / 2;
        let (mut stored, mut all) = ([[0.0; 16]; 2], [0.0; 16]);
        for (sums, stored) in sums.into_iter().zip(&mut stored) {
            sums.store(stored);
        }
        for i in 0..half {
            for v in 0..2 {
                all[2 * i + v] = stored[v][i] + stored[v][i + half];
            }
        }
        all
    }
}

/// Integer codes of 8 bits.
struct Bytes<const SIGNED: bool>;

impl<const SIGNED: bool> Codes for Bytes<SIGNED> {
    const PER_BYTE: usize = 1;
    type Scaled = [f32; 2];

    #[inline(always)]
    fn scaled<I: Instructions>(&self, zero: f32, scale: f32) -> [f32; 2] {
        [zero, scale]
    }

    #[inline(always)]
    fn floats<I: Instructions>(&self, &[zero, scale]: &[f32; 2], bytes: &[u8]) -> [I::F32; 2] {
        let (low, high) = bytes.split_at(I::F32::LANES);
        [
            scaled::<I>(I::bytes_to_f32::<SIGNED>(low), zero, scale),
            scaled::<I>(I::bytes_to_f32::<SIGNED>(high), zero, scale),
        ]
    }

    #[inline(always)]
    fn lanes<I: Instructions>([low, high]: [I::F32; 2]) -> [f32; 16] {
        let mut all = [0.0; 16];
        low.plus(high).store(&mut all);
        all
    }
}
