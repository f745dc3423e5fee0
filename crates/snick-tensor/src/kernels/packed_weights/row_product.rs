//! One row times packed weights: each code becomes a float where it is multiplied, and is never stored.

use super::decoding::Decoding;
use crate::kernels::gemm::{panel_columns, sum_of_lanes};
use crate::kernels::vectors::{Instructions, Isa, Vector, Vectorised, prefetch};

/// The products of one row with some rows of weights, to the last bit those of unpacked weights.
pub(super) struct RowProduct<'a> {
    pub x: &'a [f32],
    pub decoding: &'a Decoding,
    /// The codes of the rows of weights, as many as `out` has elements.
    pub bytes: &'a [u8],
    /// Codes in a group.
    pub group: usize,
    /// By group, row after row.
    pub zeros: &'a [f32],
    pub scales: &'a [f32],
    pub out: &'a mut [f32],
}

/// Whether weights can be multiplied so: each group is whole pairs of vectors, which are longer than those of the baseline.
pub(super) fn fits(decoding: &Decoding, group: usize) -> bool {
    Isa::best() != Isa::Baseline
        && group.is_multiple_of(panel_columns::<f32>(Isa::best()))
        && !matches!(decoding, Decoding::Bytes(_))
}

impl Vectorised for RowProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        match self.decoding {
            // Does not fit.
            _ if I::ISA == Isa::Baseline => {}
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
            // Does not fit.
            Decoding::Bytes(_) => {}
        }
    }
}

/// Of each block, the elements at even places and then the others.
fn even_then_odd(x: &[f32], block: usize) -> Vec<f32> {
    let mut turned = vec![0.0; x.len()];
    for (from, to) in x.chunks_exact(block).zip(turned.chunks_exact_mut(block)) {
        let (even, odd) = to.split_at_mut(block / 2);
        for (&[x, y], (even, odd)) in from.as_chunks().0.iter().zip(even.iter_mut().zip(odd)) {
            (*even, *odd) = (x, y);
        }
    }
    turned
}

impl RowProduct<'_> {
    /// `x` has its elements in the order in which `codes` gives them. Rows of weights are read one after the other: a
    /// processor fetches ahead along one line, and the sums of the next row do not wait for those of this one.
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

/// So many bytes before they are multiplied, codes are fetched into the cache.
const AHEAD: usize = 1 << 13;

/// How two vectors of codes become floats.
trait Codes {
    /// Codes in a byte.
    const PER_BYTE: usize;
    /// What is computed once a group.
    type Scaled;

    fn scaled<I: Instructions>(&self, zero: f32, scale: f32) -> Self::Scaled;

    /// The floats of as many codes as two vectors have lanes.
    fn floats<I: Instructions>(&self, scaled: &Self::Scaled, bytes: &[u8]) -> [I::F32; 2];

    /// The sum of two vectors of sums, each element with that one vector further, in the order of the codes. Zeros are
    /// behind the lanes.
    fn lanes<I: Instructions>(sums: [I::F32; 2]) -> [f32; 16];
}

/// Codes without their zero, times their scale.
#[inline(always)]
fn scaled<I: Instructions>(codes: I::F32, zero: f32, scale: f32) -> I::F32 {
    // To add -0 changes no product.
    codes.plus(I::F32::splat(-zero)).multiply_add(I::F32::splat(scale), I::F32::splat(-0.0))
}

/// Codes of 4 bits: first those at even places, then the others.
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

/// Codes of 8 bits that are integers.
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
