//! Portable vectors: arrays that the compiler may keep in registers.
//!
//! [`Baseline`] has the vector length of the oldest supported processors and is the fallback. [`Portable16`]
//! has the vector length and rounding of AVX-512, so that tests on any machine can run the kernels that
//! require AVX-512 VNNI, with bit-identical results.

use super::{CacheLine, Fence, I8x4Dot, Instructions, Isa, LaneMasks, Vector};

/// A vector of `N` lanes as an array. With `FUSED`, multiply-add rounds once.
#[derive(Copy, Clone)]
pub(super) struct ArrayVector<T, const N: usize, const FUSED: bool>([T; N]);

macro_rules! array_vector {
    ($t:ty: $multiply_add:expr, $plus:expr) => {
        impl<const N: usize, const FUSED: bool> Vector<$t> for ArrayVector<$t, N, FUSED> {
            const LANES: usize = N;

            #[inline(always)]
            fn splat(x: $t) -> Self {
                ArrayVector([x; N])
            }

            #[inline(always)]
            fn load(from: &[$t]) -> Self {
                ArrayVector(from.first_chunk().copied().unwrap_or([<$t>::default(); N]))
            }

            #[inline(always)]
            fn store(self, to: &mut [$t]) {
                if let Some(to) = to.first_chunk_mut() {
                    *to = self.0;
                }
            }

            #[inline(always)]
            fn multiply_add(self, b: Self, c: Self) -> Self {
                ArrayVector(std::array::from_fn(|i| $multiply_add(FUSED, self.0[i], b.0[i], c.0[i])))
            }

            #[inline(always)]
            fn plus(self, b: Self) -> Self {
                ArrayVector(std::array::from_fn(|i| $plus(self.0[i], b.0[i])))
            }
        }
    };
}

array_vector!(f32: |fused, a: f32, b, c| if fused { a.mul_add(b, c) } else { a * b + c }, |a, b| a + b);
array_vector!(f64: |fused, a: f64, b, c| if fused { a.mul_add(b, c) } else { a * b + c }, |a, b| a + b);
array_vector!(I8x4Dot: |_, a: I8x4Dot, b, c| a.multiply_add(b, c), |a: I8x4Dot, b: I8x4Dot| I8x4Dot(a.0.wrapping_add(b.0)));

/// Vectors of `N` lanes of 32 bits, or `D` of 64.
pub(super) struct Arrays<const N: usize, const D: usize, const FUSED: bool>;

/// The baseline of the architecture. Every 64-bit ARM processor has fused multiply-add.
pub(super) type Baseline = Arrays<4, 2, { cfg!(target_arch = "aarch64") }>;

/// The portable version of AVX-512.
#[cfg(all(test, feature = "kernels"))]
pub(super) type Portable16 = Arrays<16, 8, true>;

impl<const N: usize, const D: usize, const FUSED: bool> Instructions for Arrays<N, D, FUSED> {
    type F32 = ArrayVector<f32, N, FUSED>;
    type F64 = ArrayVector<f64, D, FUSED>;
    type I8x4Dots = ArrayVector<I8x4Dot, N, FUSED>;
    const ISA: Isa = Isa::Baseline;
    const FUSED: bool = FUSED;
    type Mask = u16;

    #[inline(always)]
    fn mask(bits: u16) -> u16 {
        bits
    }

    #[inline(always)]
    fn stream(from: &[u8], to: &mut [CacheLine], _: &Fence) {
        bytemuck::cast_slice_mut(to).copy_from_slice(from);
    }

    #[inline(always)]
    fn load_masked<const V: usize>(lanes: &LaneMasks<Self::Mask, V>, line: &[f32]) -> [Self::F32; V] {
        let line = line.get(..lanes.len).unwrap_or_default();
        std::array::from_fn(|i| {
            let place = |lane: usize| lanes.first.wrapping_add_unsigned(i + lane).cast_unsigned();
            let element = |lane| line.get(place(lane)).copied().unwrap_or_default();
            let has = |lane: usize| lanes.masks[i] >> lane & 1 == 1;
            ArrayVector(std::array::from_fn(|lane| if has(lane) { element(lane) } else { 0.0 }))
        })
    }

    #[inline(always)]
    fn positive_lanes(values: Self::F32) -> u32 {
        values.0.iter().rev().fold(0, |lanes, value| lanes << 1 | u32::from(value.is_sign_positive()))
    }

    #[inline(always)]
    fn store_first(values: Self::F32, to: &mut [f32]) {
        to.iter_mut().zip(values.0).for_each(|(to, x)| *to = x);
    }

    #[inline(always)]
    fn even_lanes(low: Self::F32, high: Self::F32) -> Self::F32 {
        ArrayVector(std::array::from_fn(|i| if 2 * i < N { low.0[2 * i] } else { high.0[2 * i - N] }))
    }

    #[inline(always)]
    fn bytes_to_f32<const SIGNED: bool>(bytes: &[u8]) -> Self::F32 {
        let float = |byte: u8| if SIGNED { f32::from(byte.cast_signed()) } else { f32::from(byte) };
        ArrayVector(bytes.first_chunk::<N>().map_or([0.0; N], |bytes| bytes.map(float)))
    }

    #[inline(always)]
    fn lookup<const SHIFT: u32>(table: &[f32; 16], codes: &[u8]) -> Self::F32 {
        let codes = codes.first_chunk::<N>();
        ArrayVector(codes.map_or([0.0; N], |codes| codes.map(|code| table[usize::from(code >> SHIFT & 15)])))
    }
}
