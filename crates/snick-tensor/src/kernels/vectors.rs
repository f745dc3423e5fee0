//! Compiles kernels for several instruction sets and chooses the best at run time.
//!
//! A kernel is a type that implements [`Vectorised`]: loops generic over [`Instructions`]. Most are plain
//! loops that the compiler vectorises; where it does so poorly, kernels use [`Vector`]s, which are registers.
//! Each kernel is compiled once per instruction set: the architecture's baseline, AVX2 and AVX-512.
//!
//! | call | runs a kernel with |
//! |---|---|
//! | [`dispatch_best`] | the best instruction set of this machine |
//! | [`dispatch_on`] | the instruction set that its operands were packed for |
//! | [`dispatch_int8_dot`] | AVX-512 VNNI if this machine has it, otherwise the baseline |
//! | [`run_baseline`] | the baseline, compiled once: for rare kernels |
//!
//! Soundness: only the module `x86` can name the types whose instructions a processor may lack. Kernels
//! receive them as type parameters, from the unsafe functions `x86::avx512`, `x86::avx512_vnni` and
//! `x86::avx2`, which enable the instructions. [`dispatch_on`] and [`dispatch_int8_dot`] call them only if
//! the processor supports the instructions.
#![allow(unsafe_code)]

#[cfg(feature = "kernels")]
mod aligned;
mod base;

#[cfg(feature = "kernels")]
pub(crate) use aligned::Aligned;
use base::Baseline;

/// An instruction set that kernels are compiled for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Isa {
    /// The baseline of the architecture.
    Baseline,
    /// AVX2 and fused multiply-add.
    #[cfg(all(target_arch = "x86_64", feature = "kernels"))]
    Avx2,
    /// AVX-512 and fused multiply-add.
    #[cfg(all(target_arch = "x86_64", feature = "kernels"))]
    Avx512,
}

impl Isa {
    /// The best instruction set of this machine.
    pub fn best() -> Self {
        #[cfg(all(target_arch = "x86_64", feature = "kernels"))]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx512f") && has!("avx512dq") && has!("avx512bw") && has!("avx512vl") && has!("fma") {
                return Self::Avx512;
            }
            if has!("avx2") && has!("fma") {
                return Self::Avx2;
            }
        }
        Self::Baseline
    }
}

/// An instruction set as a type.
pub(crate) trait Instructions {
    /// A vector of `f32`.
    type F32: Vector<f32>;
    /// A vector of `f64`.
    type F64: Vector<f64>;
    /// A vector of [`I8x4Dot`], with as many lanes as [`Instructions::F32`].
    type I8x4Dots: Vector<I8x4Dot>;
    /// The instruction set.
    const ISA: Isa;
    /// Whether [`f32::mul_add`] is one instruction.
    const FUSED: bool;
    /// A mask that selects lanes of a vector of `f32`.
    type Mask: Copy;

    /// The mask that selects the lanes whose bits are set. The lowest bit is the first lane.
    fn mask(bits: u16) -> Self::Mask;

    /// Copies `from` to cache lines of the same total size, with streaming stores if the instruction set has
    /// them. Other threads see the result once the fence is dropped.
    ///
    /// # Panics
    /// If the sizes differ.
    fn stream(from: &[u8], to: &mut [CacheLine], fence: &Fence);

    /// Looks up one code per lane, bits `SHIFT..SHIFT + 4` of its byte, in a table. Returns zeros if there
    /// are fewer codes than lanes.
    fn lookup<const SHIFT: u32>(table: &[f32; 16], codes: &[u8]) -> Self::F32;

    /// Converts one byte per lane to `f32`. Returns zeros if there are fewer bytes than lanes.
    fn bytes_to_f32<const SIGNED: bool>(bytes: &[u8]) -> Self::F32;

    /// Loads the selected lanes from a row. Returns zeros if the row is shorter than the row that `lanes` was
    /// built for.
    fn load_masked<const N: usize>(lanes: &LaneMasks<Self::Mask, N>, line: &[f32]) -> [Self::F32; N];

    /// A bit for each lane, from the lowest, that is set unless the sign bit of the lane is.
    fn positive_lanes(values: Self::F32) -> u32;

    /// Stores the first `to.len()` lanes, or all lanes if `to` is longer.
    fn store_first(values: Self::F32, to: &mut [f32]);

    /// Lanes 0, 2, 4 and so on of `low`, then of `high`.
    fn even_lanes(low: Self::F32, high: Self::F32) -> Self::F32;

    /// Converts the integer sums of dot products to floats.
    #[inline(always)]
    fn dots_to_f32(sums: Self::I8x4Dots) -> Self::F32 {
        let (mut integers, mut floats) = ([I8x4Dot::default(); 16], [0.0; 16]);
        sums.store(&mut integers);
        for (float, integer) in floats.iter_mut().zip(integers) {
            *float = integer.sum() as f32;
        }
        Self::F32::load(&floats)
    }

    /// Rounds to integers, ties to even. Values must fit in 30 bits.
    #[inline(always)]
    fn round_to_i32(values: Self::F32) -> Self::I8x4Dots {
        let (mut floats, mut integers) = ([0.0f32; 16], [I8x4Dot::default(); 16]);
        values.store(&mut floats);
        for (integer, float) in integers.iter_mut().zip(floats) {
            *integer = I8x4Dot((float.round_ties_even() as i32).cast_unsigned());
        }
        Self::I8x4Dots::load(&integers)
    }

    /// `x - round(x)`, ties to even.
    #[inline(always)]
    fn round_residual(values: Self::F32) -> Self::F32 {
        let mut floats = [0.0f32; 16];
        values.store(&mut floats);
        Self::F32::load(&floats.map(|float| float - float.round_ties_even()))
    }

    /// The lane-wise minimum and maximum.
    #[inline(always)]
    fn min_max(a: Self::F32, b: Self::F32) -> [Self::F32; 2] {
        let (mut less, mut greater) = ([0.0f32; 16], [0.0f32; 16]);
        a.store(&mut less);
        b.store(&mut greater);
        for (less, greater) in less.iter_mut().zip(&mut greater) {
            (*less, *greater) = if *less < *greater { (*less, *greater) } else { (*greater, *less) };
        }
        [Self::F32::load(&less), Self::F32::load(&greater)]
    }

    /// Clamps signed integers to bytes and packs them. In each group of four lanes, lane `l` receives the
    /// four bytes of `integers[l]`.
    #[inline(always)]
    fn saturate_to_u8(integers: [Self::I8x4Dots; 4]) -> Self::I8x4Dots {
        let mut lanes = [I8x4Dot::default(); 16];
        for (i, vector) in integers.into_iter().enumerate() {
            let mut integers = [I8x4Dot::default(); 16];
            vector.store(&mut integers);
            for (lanes, integers) in lanes.as_chunks_mut::<4>().0.iter_mut().zip(integers.as_chunks::<4>().0)
            {
                lanes[i] =
                    I8x4Dot(u32::from_le_bytes(integers.map(|integer| integer.sum().clamp(0, 255) as u8)));
            }
        }
        Self::I8x4Dots::load(&lanes)
    }

    /// Unpacks one code from each byte: `(byte >> SHIFT ^ flipped) & MASK`. Returns zeros if there are fewer
    /// bytes than in a vector.
    #[inline(always)]
    fn unpack_codes<const SHIFT: u32, const MASK: u8>(
        bytes: &[u8],
        flipped: Self::I8x4Dots,
    ) -> Self::I8x4Dots {
        let (mut dots, mut codes) = ([I8x4Dot::default(); 16], [I8x4Dot::default(); 16]);
        flipped.store(&mut dots);
        for ((code, quad), bytes) in codes.iter_mut().zip(dots).zip(bytes.as_chunks().0) {
            *code = I8x4Dot((u32::from_le_bytes(*bytes) >> SHIFT ^ quad.0) & u32::from_ne_bytes([MASK; 4]));
        }
        Self::I8x4Dots::load(&codes)
    }

    /// Transposes the 4x4 bytes of each group of four lanes.
    #[inline(always)]
    fn transpose_bytes(rows: Self::I8x4Dots) -> Self::I8x4Dots {
        let mut lanes = [I8x4Dot::default(); 16];
        rows.store(&mut lanes);
        for four in lanes.as_chunks_mut::<4>().0 {
            let bytes = four.map(|row| row.0.to_le_bytes());
            *four = std::array::from_fn(|b| I8x4Dot(u32::from_le_bytes(bytes.map(|lane| lane[b]))));
        }
        Self::I8x4Dots::load(&lanes)
    }

    /// Copies the first element of each pair.
    #[inline(always)]
    fn copy_even(pairs: &[[[u8; 4]; 2]], to: &mut [[u8; 4]]) {
        for (to, [first, _]) in to.iter_mut().zip(pairs) {
            *to = *first;
        }
    }
}

/// Selects the lanes of `N` vectors that are inside a row; other lanes load zeros. Vector `i` begins at
/// element `first + i` of the row: the operands of the taps of a convolution.
#[derive(Copy, Clone)]
pub(crate) struct LaneMasks<M, const N: usize> {
    /// The row element in the first lane of the first vector; negative before the row.
    first: isize,
    /// The lanes inside the row.
    masks: [M; N],
    /// Elements in the row.
    len: usize,
}

impl<M, const N: usize> LaneMasks<M, N> {
    /// The masks for a row of `len` elements, from element `first` on.
    pub fn new<I: Instructions<Mask = M>>(first: isize, len: usize) -> Self {
        let is_inside = |at: isize| usize::try_from(at).is_ok_and(|at| at < len);
        let bit = |at: usize, lane: u32| {
            u16::from(is_inside(first.saturating_add(at as isize + lane as isize))) << lane
        };
        let masks = std::array::from_fn(|i| I::mask((0..u16::BITS).map(|lane| bit(i, lane)).sum()));
        LaneMasks { first, masks, len }
    }
}

/// A cache line.
#[derive(Copy, Clone, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
pub(crate) struct CacheLine([u8; 64]);

impl Default for CacheLine {
    fn default() -> Self {
        CacheLine([0; 64])
    }
}

/// A store fence. Dropping it makes all preceding streaming stores visible before any later store.
#[derive(Debug)]
pub(crate) struct Fence;

impl Drop for Fence {
    fn drop(&mut self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instruction is part of SSE, which every x86-64 processor supports.
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
    }
}

/// An operand or the result of an int8 dot product: four bytes, or the `i32` sum of their products.
///
/// [`Vector::multiply_add`] is `vpdpbusd`: it multiplies the four signed bytes of `self` by the four unsigned
/// bytes of `b` and adds the products to the integer `c`, wrapping.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub(crate) struct I8x4Dot(pub u32);

impl I8x4Dot {
    /// `dot(self, b) + c`.
    #[inline(always)]
    fn multiply_add(self, b: I8x4Dot, c: I8x4Dot) -> I8x4Dot {
        let products = self.0.to_le_bytes().into_iter().zip(b.0.to_le_bytes());
        let products = products.map(|(a, b)| i32::from(a.cast_signed()) * i32::from(b));
        I8x4Dot(products.sum::<i32>().cast_unsigned().wrapping_add(c.0))
    }

    /// The integer.
    #[inline(always)]
    pub fn sum(self) -> i32 {
        self.0.cast_signed()
    }
}

/// A vector register. The compiler vectorises plain loops, too, but does not reliably keep two dozen sums in
/// registers.
pub(crate) trait Vector<T>: Copy {
    /// The number of elements.
    const LANES: usize;

    /// The same element in all lanes.
    fn splat(x: T) -> Self;

    /// Loads the first elements of `from`, or zeros if there are fewer elements than lanes.
    fn load(from: &[T]) -> Self;

    /// Stores all lanes at the start of `to`. Does nothing if `to` is too short.
    fn store(self, to: &mut [T]);

    /// `self * b + c`.
    fn multiply_add(self, b: Self, c: Self) -> Self;

    /// `self + b`.
    fn plus(self, b: Self) -> Self;
}

/// A kernel that is compiled for several instruction sets. [`Vectorised::run`] and all functions that its
/// inner loops call must be `#[inline(always)]`, because only inlined code uses the instruction set.
pub(crate) trait Vectorised {
    /// The result.
    type Output;

    /// Runs the kernel.
    fn run<I: Instructions>(self) -> Self::Output;
}

/// Fetches the cache line at `at` into the L2 cache. Any address is allowed.
#[inline(always)]
pub(crate) fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is part of SSE, which every x86-64 processor supports, and a prefetch never
    // faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Transposes a 4x4 matrix.
#[inline(always)]
pub(crate) fn transpose_4x4<T: bytemuck::Pod>(rows: [[T; 4]; 4]) -> [[T; 4]; 4] {
    #[cfg(target_arch = "x86_64")]
    if size_of::<T>() == 4 {
        use std::arch::x86_64::{
            __m128i, _mm_unpackhi_epi32, _mm_unpackhi_epi64, _mm_unpacklo_epi32, _mm_unpacklo_epi64,
        };
        let [p, q, r, s] = rows.map(bytemuck::cast::<[T; 4], __m128i>);
        // SAFETY: the instructions are part of SSE2, which every x86-64 processor supports.
        let columns = unsafe {
            let [left, right] = [_mm_unpacklo_epi32(p, q), _mm_unpackhi_epi32(p, q)];
            let [left_below, right_below] = [_mm_unpacklo_epi32(r, s), _mm_unpackhi_epi32(r, s)];
            [
                _mm_unpacklo_epi64(left, left_below),
                _mm_unpackhi_epi64(left, left_below),
                _mm_unpacklo_epi64(right, right_below),
                _mm_unpackhi_epi64(right, right_below),
            ]
        };
        return columns.map(bytemuck::cast);
    }
    std::array::from_fn(|column| rows.map(|row| row[column]))
}

/// Runs a kernel with the best instruction set of this machine.
pub(crate) fn dispatch_best<W: Vectorised>(work: W) -> W::Output {
    dispatch_on(Isa::best(), work)
}

/// Runs a kernel with the baseline, so that a rarely used kernel is compiled only once.
pub(crate) fn run_baseline<W: Vectorised>(work: W) -> W::Output {
    work.run::<Baseline>()
}

/// Runs a kernel with the instruction set `isa`, which is [`Isa::best`] or [`Isa::Baseline`].
pub(crate) fn dispatch_on<W: Vectorised>(isa: Isa, work: W) -> W::Output {
    #[cfg(all(target_arch = "x86_64", feature = "kernels"))]
    if isa == Isa::best() {
        return match isa {
            // SAFETY: `Isa::best` has detected AVX-512 F, DQ, BW, VL and FMA.
            Isa::Avx512 => unsafe { x86::avx512(work) },
            // SAFETY: `Isa::best` has detected AVX2 and FMA.
            Isa::Avx2 => unsafe { x86::avx2(work) },
            Isa::Baseline => work.run::<Baseline>(),
        };
    }
    debug_assert!(isa == Isa::Baseline, "this machine does not have {isa:?}");
    work.run::<Baseline>()
}

/// Whether this machine has int8 dot products.
#[cfg(feature = "kernels")]
pub(crate) fn has_int8_dot() -> bool {
    #[cfg(target_arch = "x86_64")]
    return Isa::best() == Isa::Avx512 && std::arch::is_x86_feature_detected!("avx512vnni");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Runs a kernel of [`I8x4Dot`] products with AVX-512 VNNI if this machine has it, and otherwise with the
/// baseline.
#[cfg(feature = "kernels")]
pub(crate) fn dispatch_int8_dot<W: Vectorised>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if has_int8_dot() {
        // SAFETY: `has_int8_dot` has found AVX-512 VNNI and the instructions that `x86::avx512` needs.
        return unsafe { x86::avx512_vnni(work) };
    }
    work.run::<Baseline>()
}

/// Runs a kernel on [`base::Portable16`], the portable version of AVX-512 VNNI, with bit-identical results.
#[cfg(all(test, feature = "kernels"))]
pub(crate) fn run_portable<W: Vectorised>(work: W) -> W::Output {
    work.run::<base::Portable16>()
}

/// Element types of kernels that are compiled once per function, such as element-wise kernels.
pub(crate) trait Number: bytemuck::Pod + Send + Sync {
    /// Runs a kernel: with the best instruction set for types that models use heavily, and otherwise with the
    /// baseline, which saves two copies of each function.
    fn dispatch<W: Vectorised>(work: W) -> W::Output;
}

macro_rules! numbers {
    ($run:path: $($t:ty),*) => {$(
        impl Number for $t {
            fn dispatch<W: Vectorised>(work: W) -> W::Output {
                $run(work)
            }
        }
    )*};
}

numbers!(dispatch_best: f32, i32, i64, u8);
numbers!(run_baseline: f64, i8, i16, u16, u32, u64);

#[cfg(all(target_arch = "x86_64", feature = "kernels"))]
mod x86;

/// `a * b + c`, rounded once if the instruction set has fused multiply-add.
#[inline(always)]
pub(crate) fn multiply_add<I: Instructions>(a: f32, b: f32, c: f32) -> f32 {
    if I::FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// Element types of matrix products.
#[cfg(feature = "kernels")]
pub(crate) trait MultiplyAdd: bytemuck::Pod + Default {
    /// `self * b + c`: rounded once if the instruction set has fused multiply-add; integers wrap.
    fn multiply_add<I: Instructions>(self, b: Self, c: Self) -> Self;
}

#[cfg(feature = "kernels")]
macro_rules! multiply_add {
    ($($t:ty)*: |$fused:ident, $a:ident, $b:ident, $c:ident| $value:expr) => {$(
        impl MultiplyAdd for $t {
            #[inline(always)]
            fn multiply_add<I: Instructions>(self, $b: $t, $c: $t) -> $t {
                let ($fused, $a) = (I::FUSED, self);
                $value
            }
        }
    )*};
}

#[cfg(feature = "kernels")]
multiply_add!(f32 f64: |fused, a, b, c| if fused { a.mul_add(b, c) } else { a * b + c });
#[cfg(feature = "kernels")]
multiply_add!(i8 i16 i32 i64 u8 u16 u32 u64: |_fused, a, b, c| c.wrapping_add(a.wrapping_mul(b)));

#[cfg(feature = "kernels")]
#[cfg(test)]
mod tests {
    use super::*;

    struct Sum<'a>(&'a [f32]);

    impl Vectorised for Sum<'_> {
        type Output = f32;

        #[inline(always)]
        fn run<I: Instructions>(self) -> f32 {
            self.0.iter().fold(0.0, |sum, &x| multiply_add::<I>(x, x, sum))
        }
    }

    struct OfBytes<'a>(&'a [f32; 16], &'a [u8], &'a mut [[f32; 256]; 4]);

    impl Vectorised for OfBytes<'_> {
        type Output = ();

        #[inline(always)]
        fn run<I: Instructions>(self) {
            let Self(table, bytes, out) = self;
            for (i, bytes) in bytes.chunks_exact(I::F32::LANES).enumerate() {
                let floats = [
                    I::lookup::<0>(table, bytes),
                    I::lookup::<4>(table, bytes),
                    I::bytes_to_f32::<false>(bytes),
                    I::bytes_to_f32::<true>(bytes),
                ];
                for (out, floats) in out.iter_mut().zip(floats) {
                    floats.store(&mut out[i * I::F32::LANES..]);
                }
            }
        }
    }

    #[test]
    fn bytes_become_floats_by_a_table_or_as_integers() {
        let table: [f32; 16] = std::array::from_fn(|i| i as f32 * 1.5 - 7.0);
        let bytes: Vec<u8> = (0..=255).collect();
        let floats = |float: &dyn Fn(u8) -> f32| bytes.iter().map(|&byte| float(byte)).collect();
        let expected: [Vec<f32>; 4] = [
            floats(&|byte| table[usize::from(byte & 15)]),
            floats(&|byte| table[usize::from(byte >> 4)]),
            floats(&f32::from),
            floats(&|byte| f32::from(byte.cast_signed())),
        ];
        let check = |run: &dyn Fn(OfBytes)| {
            let mut out = [const { [f32::NAN; 256] }; 4];
            run(OfBytes(&table, &bytes, &mut out));
            for (out, expected) in out.iter().zip(&expected) {
                assert_eq!(out[..], expected[..]);
            }
        };
        check(&|kernel| run_baseline(kernel));
        check(&|kernel| run_portable(kernel));
        check(&|kernel| dispatch_on(Isa::best(), kernel));
        #[cfg(target_arch = "x86_64")]
        if Isa::best() != Isa::Baseline {
            // SAFETY: `Isa::best` has found FMA and either AVX2 or AVX-512, and every processor with AVX-512
            // also has AVX2.
            check(&|kernel| unsafe { x86::avx2(kernel) });
        }
    }

    /// Adds the dot products of two lists to a third.
    struct Products<'a>([&'a [I8x4Dot]; 3], &'a mut [I8x4Dot]);

    impl Vectorised for Products<'_> {
        type Output = ();

        #[inline(always)]
        fn run<I: Instructions>(self) {
            let (Self([a, b, c], out), lanes) = (self, I::I8x4Dots::LANES);
            for (at, out) in out.chunks_exact_mut(lanes).enumerate() {
                let [a, b, c] = [a, b, c].map(|dots| I::I8x4Dots::load(&dots[at * lanes..]));
                a.multiply_add(b, I::I8x4Dots::splat(I8x4Dot(7)).plus(c)).store(out);
            }
        }
    }

    #[test]
    fn products_of_bytes_are_summed_exactly() {
        let noise = |i: u32| i.wrapping_mul(2_654_435_761) ^ (i << 7);
        let dots = |from: u32| (from..from + 64).map(|i| I8x4Dot(noise(i))).collect::<Vec<_>>();
        let (mut a, mut b, c) = (dots(1), dots(100), dots(200));
        // The largest products.
        (a[3], b[3], a[5], b[5]) =
            (I8x4Dot(0x8080_8080), I8x4Dot(u32::MAX), I8x4Dot(0x7f7f_7f7f), I8x4Dot(u32::MAX));
        let expected: Vec<I8x4Dot> = (0..64)
            .map(|i| {
                let products = a[i].0.to_le_bytes().map(|a| i64::from(a.cast_signed()));
                let products = products.iter().zip(b[i].0.to_le_bytes()).map(|(a, b)| a * i64::from(b));
                I8x4Dot((products.sum::<i64>() + 7 + i64::from(c[i].0)) as u32)
            })
            .collect();
        for isa in [Isa::Baseline, Isa::best()] {
            let mut out = vec![I8x4Dot::default(); 64];
            dispatch_on(isa, Products([&a, &b, &c], &mut out));
            assert_eq!(out, expected, "{isa:?}");
        }
        let mut out = vec![I8x4Dot::default(); 64];
        dispatch_int8_dot(Products([&a, &b, &c], &mut out));
        assert_eq!(out, expected);
    }

    /// The results of all lane-wise operations.
    #[derive(PartialEq, Debug, Default)]
    struct LaneResults {
        floats: Vec<f32>,
        rounded: Vec<I8x4Dot>,
        residuals: Vec<f32>,
        min_max: [Vec<f32>; 2],
        bytes: Vec<I8x4Dot>,
        codes: [Vec<I8x4Dot>; 2],
    }

    struct Lanewise<'a>(&'a [I8x4Dot; 16], &'a [f32; 16]);

    impl Vectorised for Lanewise<'_> {
        type Output = LaneResults;

        #[inline(always)]
        fn run<I: Instructions>(self) -> LaneResults {
            fn push<T: Copy + Default, V: Vector<T>>(vector: V, to: &mut Vec<T>) {
                let mut lanes = [T::default(); 16];
                vector.store(&mut lanes);
                to.extend(&lanes[..V::LANES]);
            }
            let mut of = LaneResults::default();
            for at in (0..16).step_by(I::F32::LANES) {
                let (dots, floats) = (I::I8x4Dots::load(&self.0[at..]), I::F32::load(&self.1[at..]));
                let flipped = I::I8x4Dots::splat(I8x4Dot(0x0808_0808));
                let bytes: &[u8] = bytemuck::cast_slice(&self.0[at..]);
                push(I::dots_to_f32(dots), &mut of.floats);
                push(I::round_to_i32(floats), &mut of.rounded);
                push(I::round_residual(floats), &mut of.residuals);
                push(I::saturate_to_u8([dots, I::round_to_i32(floats), flipped, dots]), &mut of.bytes);
                push(I::unpack_codes::<0, 15>(bytes, flipped), &mut of.codes[0]);
                push(I::unpack_codes::<4, 15>(bytes, flipped), &mut of.codes[1]);
                for (some, to) in I::min_max(floats, I::dots_to_f32(dots)).into_iter().zip(&mut of.min_max) {
                    push(some, to);
                }
            }
            of
        }
    }

    #[test]
    fn lanes_are_the_same_on_all_machines() {
        let integers = std::array::from_fn(|i| I8x4Dot((i as u32).wrapping_mul(0x3b9a_ca07) >> (2 * i)));
        let floats = [
            0.0, -0.5, 0.5, 1.5, 254.5, 255.4, 256.0, -1.0, 2.25e8, -7.75, 1e-20, 3.4999998, -300.0,
            127.50001, 8e8, 100.0,
        ];
        let base = dispatch_on(Isa::Baseline, Lanewise(&integers, &floats));
        assert_eq!(base.rounded[..5], [0, 0, 0, 2, 254].map(I8x4Dot));
        assert_eq!(base.residuals[2..4], [0.5, -0.5]);
        assert_eq!(run_portable(Lanewise(&integers, &floats)), base);
        assert_eq!(dispatch_int8_dot(Lanewise(&integers, &floats)), base);
        assert_eq!(dispatch_best(Lanewise(&integers, &floats)), base);
    }

    #[test]
    fn squares_are_transposed() {
        let rows: [[u32; 4]; 4] =
            std::array::from_fn(|row| std::array::from_fn(|column| (10 * row + column) as u32));
        let columns = std::array::from_fn(|row| std::array::from_fn(|column| (10 * column + row) as u32));
        assert_eq!(transpose_4x4(rows), columns);
        assert_eq!(transpose_4x4(rows.map(|row| row.map(u64::from))), columns.map(|row| row.map(u64::from)));
    }

    #[test]
    fn every_instruction_set_gives_the_same() {
        let values = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(dispatch_best(Sum(&values)), 30.0);
        assert_eq!(dispatch_on(Isa::Baseline, Sum(&values)), 30.0);
    }
}
