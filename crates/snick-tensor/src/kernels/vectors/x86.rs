//! Optional instructions of x86-64 processors.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::base::ArrayVector;
use super::{CacheLine, Fence, I8x4Dot, Instructions, Isa, LaneMasks, Vector, Vectorised};

macro_rules! vector {
    ($name:ident($register:ident) of $lanes:literal $t:ident: $splat:ident $load:ident $store:ident $fma:ident $add:ident) => {
        /// A register. Only the instruction sets below use this private type, so its instructions are
        /// available.
        #[derive(Copy, Clone)]
        #[repr(transparent)]
        struct $name($register);

        impl Vector<$t> for $name {
            const LANES: usize = $lanes;

            #[inline(always)]
            fn splat(x: $t) -> Self {
                // SAFETY: only code that runs with the instruction set can name this private type.
                Self(unsafe { $splat(x) })
            }

            #[inline(always)]
            fn load(from: &[$t]) -> Self {
                match from.first_chunk::<$lanes>() {
                    // SAFETY: as for `splat`; the load is unaligned and stays within the chunk.
                    Some(chunk) => Self(unsafe { $load(chunk.as_ptr()) }),
                    None => Self::splat(0.0),
                }
            }

            #[inline(always)]
            fn store(self, to: &mut [$t]) {
                if let Some(chunk) = to.first_chunk_mut::<$lanes>() {
                    // SAFETY: as for `splat`; the store is unaligned and stays within the chunk.
                    unsafe { $store(chunk.as_mut_ptr(), self.0) }
                }
            }

            #[inline(always)]
            fn multiply_add(self, b: Self, c: Self) -> Self {
                // SAFETY: as for `splat`.
                Self(unsafe { $fma(self.0, b.0, c.0) })
            }

            #[inline(always)]
            fn plus(self, b: Self) -> Self {
                // SAFETY: as for `splat`.
                Self(unsafe { $add(self.0, b.0) })
            }
        }
    };
}

vector!(F32x16(__m512) of 16 f32: _mm512_set1_ps _mm512_loadu_ps _mm512_storeu_ps _mm512_fmadd_ps _mm512_add_ps);
vector!(F64x8(__m512d) of 8 f64: _mm512_set1_pd _mm512_loadu_pd _mm512_storeu_pd _mm512_fmadd_pd _mm512_add_pd);
vector!(F32x8(__m256) of 8 f32: _mm256_set1_ps _mm256_loadu_ps _mm256_storeu_ps _mm256_fmadd_ps _mm256_add_ps);
vector!(F64x4(__m256d) of 4 f64: _mm256_set1_pd _mm256_loadu_pd _mm256_storeu_pd _mm256_fmadd_pd _mm256_add_pd);

macro_rules! streaming {
    ($bytes:literal: $load:ident $store:ident, $from:expr, $to:expr) => {{
        let (from, rest) = $from.as_chunks::<$bytes>();
        let to = bytemuck::cast_slice_mut::<CacheLine, [u8; $bytes]>($to);
        assert!(rest.is_empty() && from.len() == to.len(), "as many bytes as lines hold");
        for (from, to) in from.iter().zip(to) {
            // SAFETY: only code that runs with the instruction set can name the private type of this function.
            // Loads and stores stay within the chunks, and stores are aligned: each chunk is an aligned part of
            // a cache line.
            unsafe { $store(to.as_mut_ptr().cast(), $load(from.as_ptr().cast())) }
        }
    }};
}

/// The part of [`Instructions`] that is the same with and without VNNI.
macro_rules! avx512_instructions {
    () => {
        type F32 = F32x16;
        type F64 = F64x8;
        const ISA: Isa = Isa::Avx512;
        const FUSED: bool = true;
        type Mask = __mmask16;

        #[inline(always)]
        fn mask(bits: u16) -> __mmask16 {
            bits
        }

        #[inline(always)]
        fn stream(from: &[u8], to: &mut [CacheLine], _: &Fence) {
            streaming!(64: _mm512_loadu_si512 _mm512_stream_si512, from, to);
        }

        #[inline(always)]
        fn load_masked<const N: usize>(lanes: &LaneMasks<Self::Mask, N>, line: &[f32]) -> [F32x16; N] {
            if line.len() < lanes.len {
                return [F32x16::splat(0.0); N];
            }
            std::array::from_fn(|i| {
                let at = line.as_ptr().wrapping_offset(lanes.first).wrapping_add(i);
                // SAFETY: as for `F32x16::splat`; only lanes set in the mask are read, and they are within the
                // line.
                F32x16(unsafe { _mm512_maskz_loadu_ps(lanes.masks[i], at) })
            })
        }

        #[inline(always)]
        fn positive_lanes(values: F32x16) -> u32 {
            // SAFETY: as for `F32x16::splat`.
            u32::from(!unsafe { _mm512_movepi32_mask(_mm512_castps_si512(values.0)) })
        }

        #[inline(always)]
        fn store_first(values: F32x16, to: &mut [f32]) {
            // SAFETY: as for `F32x16::splat`; only lanes set in the mask are written, and they are within `to`.
            unsafe { _mm512_mask_storeu_ps(to.as_mut_ptr(), first_bits(to.len()), values.0) }
        }

        #[inline(always)]
        fn even_lanes(low: F32x16, high: F32x16) -> F32x16 {
            // SAFETY: as for `F32x16::splat`.
            unsafe {
                let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
                F32x16(_mm512_permutex2var_ps(low.0, even, high.0))
            }
        }

        // A plain loop does not read the second element of the last pair, so the compiler copies the last pairs
        // one by one.
        #[inline(always)]
        fn copy_even(pairs: &[[[u8; 4]; 2]], to: &mut [[u8; 4]]) {
            let (pairs, rest) = pairs.as_chunks::<16>();
            let (to, ends) = to.as_chunks_mut::<16>();
            for (to, pairs) in to.iter_mut().zip(pairs) {
                // SAFETY: as for `F32x16::splat`; loads and stores are unaligned and stay within the chunks.
                unsafe {
                    let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
                    let from: *const __m512i = pairs.as_ptr().cast();
                    let (low, high) = (_mm512_loadu_si512(from), _mm512_loadu_si512(from.add(1)));
                    _mm512_storeu_si512(to.as_mut_ptr().cast(), _mm512_permutex2var_epi32(low, even, high));
                }
            }
            for (to, [first, _]) in ends.iter_mut().zip(rest) {
                *to = *first;
            }
        }

        #[inline(always)]
        fn bytes_to_f32<const SIGNED: bool>(bytes: &[u8]) -> F32x16 {
            let Some(bytes) = bytes.first_chunk::<16>() else { return F32x16::splat(0.0) };
            // SAFETY: as for `F32x16::splat`; the load is unaligned and stays within the chunk.
            unsafe {
                let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
                let integers = if SIGNED { _mm512_cvtepi8_epi32(bytes) } else { _mm512_cvtepu8_epi32(bytes) };
                F32x16(_mm512_cvtepi32_ps(integers))
            }
        }

        #[inline(always)]
        fn lookup<const SHIFT: u32>(table: &[f32; 16], codes: &[u8]) -> F32x16 {
            let Some(codes) = codes.first_chunk::<16>() else { return F32x16::splat(0.0) };
            // SAFETY: as for `F32x16::splat`; the loads are unaligned and stay within the chunk and the table.
            unsafe {
                let bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128(codes.as_ptr().cast()));
                let codes = _mm512_srli_epi32::<SHIFT>(bytes);
                F32x16(_mm512_permutexvar_ps(codes, _mm512_loadu_ps(table.as_ptr())))
            }
        }
    };
}

/// Private, so that only [`avx512`] runs kernels with it.
struct Avx512;

impl Instructions for Avx512 {
    type I8x4Dots = ArrayVector<I8x4Dot, 16, true>;

    avx512_instructions!();
}

/// Runs a kernel with AVX-512. Unsafe to call unless the processor has these instructions.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
pub(super) fn avx512<W: Vectorised>(work: W) -> W::Output {
    work.run::<Avx512>()
}

/// A register of [`I8x4Dot`]: four bytes or their sum per lane.
#[derive(Copy, Clone)]
#[repr(transparent)]
struct I8x4DotX16(__m512i);

impl Vector<I8x4Dot> for I8x4DotX16 {
    const LANES: usize = 16;

    #[inline(always)]
    fn splat(x: I8x4Dot) -> Self {
        // SAFETY: only kernels that run with AVX-512 VNNI name this private type.
        Self(unsafe { _mm512_set1_epi32(x.sum()) })
    }

    #[inline(always)]
    fn load(from: &[I8x4Dot]) -> Self {
        match from.first_chunk::<16>() {
            // SAFETY: as for `I8x4DotX16::splat`; the load is unaligned and stays within the chunk.
            Some(chunk) => Self(unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) }),
            None => Self::splat(I8x4Dot::default()),
        }
    }

    #[inline(always)]
    fn store(self, to: &mut [I8x4Dot]) {
        if let Some(chunk) = to.first_chunk_mut::<16>() {
            // SAFETY: as for `I8x4DotX16::splat`; the store is unaligned and stays within the chunk.
            unsafe { _mm512_storeu_si512(chunk.as_mut_ptr().cast(), self.0) }
        }
    }

    #[inline(always)]
    fn multiply_add(self, b: Self, c: Self) -> Self {
        // SAFETY: as for `I8x4DotX16::splat`.
        Self(unsafe { _mm512_dpbusd_epi32(c.0, b.0, self.0) })
    }

    #[inline(always)]
    fn plus(self, b: Self) -> Self {
        // SAFETY: as for `I8x4DotX16::splat`.
        Self(unsafe { _mm512_add_epi32(self.0, b.0) })
    }
}

/// Private, so that only [`avx512_vnni`] runs kernels with it.
struct Avx512Vnni;

impl Instructions for Avx512Vnni {
    type I8x4Dots = I8x4DotX16;

    avx512_instructions!();

    #[inline(always)]
    fn dots_to_f32(sums: I8x4DotX16) -> F32x16 {
        // SAFETY: as for `I8x4DotX16::splat`.
        F32x16(unsafe { _mm512_cvtepi32_ps(sums.0) })
    }

    #[inline(always)]
    fn round_to_i32(values: F32x16) -> I8x4DotX16 {
        // SAFETY: as for `I8x4DotX16::splat`.
        I8x4DotX16(unsafe { _mm512_cvtps_epi32(values.0) })
    }

    #[inline(always)]
    fn round_residual(values: F32x16) -> F32x16 {
        // SAFETY: as for `I8x4DotX16::splat`.
        F32x16(unsafe { _mm512_reduce_ps::<_MM_FROUND_NO_EXC>(values.0) })
    }

    #[inline(always)]
    fn min_max(a: F32x16, b: F32x16) -> [F32x16; 2] {
        // SAFETY: as for `I8x4DotX16::splat`.
        unsafe { [F32x16(_mm512_min_ps(a.0, b.0)), F32x16(_mm512_max_ps(a.0, b.0))] }
    }

    #[inline(always)]
    fn saturate_to_u8([p, q, r, s]: [I8x4DotX16; 4]) -> I8x4DotX16 {
        // SAFETY: as for `I8x4DotX16::splat`.
        unsafe {
            let (low, high) = (_mm512_packs_epi32(p.0, q.0), _mm512_packs_epi32(r.0, s.0));
            I8x4DotX16(_mm512_packus_epi16(low, high))
        }
    }

    #[inline(always)]
    fn unpack_codes<const SHIFT: u32, const MASK: u8>(bytes: &[u8], flipped: I8x4DotX16) -> I8x4DotX16 {
        let Some(bytes) = bytes.first_chunk::<64>() else { return I8x4DotX16::splat(I8x4Dot::default()) };
        // SAFETY: as for `I8x4DotX16::splat`; the load is unaligned and stays within the chunk.
        unsafe {
            let bits = _mm512_srli_epi32::<SHIFT>(_mm512_loadu_si512(bytes.as_ptr().cast()));
            I8x4DotX16(_mm512_and_si512(_mm512_xor_si512(bits, flipped.0), _mm512_set1_epi8(MASK as i8)))
        }
    }

    #[inline(always)]
    fn transpose_bytes(quads: I8x4DotX16) -> I8x4DotX16 {
        // SAFETY: as for `I8x4DotX16::splat`.
        unsafe {
            let columns = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
            I8x4DotX16(_mm512_shuffle_epi8(quads.0, _mm512_broadcast_i32x4(columns)))
        }
    }
}

/// Runs a kernel with AVX-512 VNNI. Unsafe to call unless the processor has these instructions.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512vnni,avx2,fma")]
pub(super) fn avx512_vnni<W: Vectorised>(work: W) -> W::Output {
    work.run::<Avx512Vnni>()
}

/// The lowest `count` bits, at most 16.
#[inline(always)]
fn first_bits(count: usize) -> u16 {
    ((1u32 << count.min(16)) - 1) as u16
}

/// Private, so that only [`avx2`] runs kernels with it.
struct Avx2;

impl Instructions for Avx2 {
    type F32 = F32x8;
    type F64 = F64x4;
    type I8x4Dots = ArrayVector<I8x4Dot, 8, true>;
    const ISA: Isa = Isa::Avx2;
    const FUSED: bool = true;
    type Mask = __m256i;

    #[inline(always)]
    fn mask(bits: u16) -> __m256i {
        // SAFETY: as for `F32x8::splat`.
        unsafe {
            let each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
            _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(i32::from(bits)), each), each)
        }
    }

    #[inline(always)]
    fn stream(from: &[u8], to: &mut [CacheLine], _: &Fence) {
        streaming!(32: _mm256_loadu_si256 _mm256_stream_si256, from, to);
    }

    #[inline(always)]
    fn load_masked<const N: usize>(lanes: &LaneMasks<Self::Mask, N>, line: &[f32]) -> [F32x8; N] {
        if line.len() < lanes.len {
            return [F32x8::splat(0.0); N];
        }
        std::array::from_fn(|i| {
            let (mask, at) = (lanes.masks[i], line.as_ptr().wrapping_offset(lanes.first).wrapping_add(i));
            // SAFETY: as for `F32x8::splat`; only lanes set in the mask are read, and they are within the line.
            F32x8(unsafe { _mm256_maskload_ps(at, mask) })
        })
    }

    #[inline(always)]
    fn positive_lanes(values: F32x8) -> u32 {
        // SAFETY: as for `F32x8::splat`.
        !unsafe { _mm256_movemask_ps(values.0).cast_unsigned() } & 0xff
    }

    #[inline(always)]
    fn store_first(values: F32x8, to: &mut [f32]) {
        // SAFETY: as for `F32x8::splat`; only lanes set in the mask are written, and they are within `to`.
        unsafe { _mm256_maskstore_ps(to.as_mut_ptr(), Self::mask(first_bits(to.len())), values.0) }
    }

    #[inline(always)]
    fn even_lanes(low: F32x8, high: F32x8) -> F32x8 {
        // SAFETY: as for `F32x8::splat`.
        unsafe {
            let halves = _mm256_castps_pd(_mm256_shuffle_ps::<0b10_00_10_00>(low.0, high.0));
            F32x8(_mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(halves)))
        }
    }

    #[inline(always)]
    fn bytes_to_f32<const SIGNED: bool>(bytes: &[u8]) -> F32x8 {
        let Some(bytes) = bytes.first_chunk::<8>() else { return F32x8::splat(0.0) };
        // SAFETY: as for `F32x8::splat`; the load is unaligned and stays within the chunk.
        unsafe {
            let bytes = _mm_loadl_epi64(bytes.as_ptr().cast());
            let integers = if SIGNED { _mm256_cvtepi8_epi32(bytes) } else { _mm256_cvtepu8_epi32(bytes) };
            F32x8(_mm256_cvtepi32_ps(integers))
        }
    }

    #[inline(always)]
    fn lookup<const SHIFT: u32>(table: &[f32; 16], codes: &[u8]) -> F32x8 {
        let Some(codes) = codes.first_chunk::<8>() else { return F32x8::splat(0.0) };
        let (low, high) = (F32x8::load(&table[..8]), F32x8::load(&table[8..]));
        // SAFETY: as for `F32x8::splat`; the load is unaligned and stays within the chunk.
        unsafe {
            let bytes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(codes.as_ptr().cast()));
            let codes = _mm256_srl_epi32(bytes, _mm_cvtsi32_si128(SHIFT as i32));
            let [low, high] = [low, high].map(|half| _mm256_permutevar8x32_ps(half.0, codes));
            // The fourth bit of a code, as the sign, selects the half.
            let is_high = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(codes));
            F32x8(_mm256_blendv_ps(low, high, is_high))
        }
    }
}

/// Runs a kernel with AVX2. Unsafe to call unless the processor has these instructions.
#[inline(never)]
#[target_feature(enable = "avx2,fma")]
pub(super) fn avx2<W: Vectorised>(work: W) -> W::Output {
    work.run::<Avx2>()
}
