//! What every machine has: vectors that are arrays.

use super::{Fence, I8x4Dot, Instructions, Isa, LaneMasks, Line, Vector};

/// A vector for other machines.
#[derive(Copy, Clone)]
pub(super) struct Plain<T, const N: usize>([T; N]);

macro_rules! plain {
    ($($t:ident: $lanes:literal),*) => {$(
        impl Vector<$t> for Plain<$t, $lanes> {
            const LANES: usize = $lanes;

            #[inline(always)]
            fn splat(x: $t) -> Self {
                Plain([x; $lanes])
            }

            #[inline(always)]
            fn load(from: &[$t]) -> Self {
                Plain(from.first_chunk().copied().unwrap_or_default())
            }

            #[inline(always)]
            fn store(self, to: &mut [$t]) {
                if let Some(to) = to.first_chunk_mut() {
                    *to = self.0;
                }
            }

            #[inline(always)]
            fn multiply_add(self, b: Self, c: Self) -> Self {
                let one = |i: usize| match Base::FUSED {
                    true => self.0[i].mul_add(b.0[i], c.0[i]),
                    false => self.0[i] * b.0[i] + c.0[i],
                };
                Plain(std::array::from_fn(one))
            }

            #[inline(always)]
            fn plus(self, b: Self) -> Self {
                Plain(std::array::from_fn(|i| self.0[i] + b.0[i]))
            }
        }
    )*};
}

plain!(f32: 4, f64: 2);

impl<const N: usize> Vector<I8x4Dot> for Plain<I8x4Dot, N> {
    const LANES: usize = N;

    #[inline(always)]
    fn splat(x: I8x4Dot) -> Self {
        Plain([x; N])
    }

    #[inline(always)]
    fn load(from: &[I8x4Dot]) -> Self {
        Plain(from.first_chunk().copied().unwrap_or([I8x4Dot::default(); N]))
    }

    #[inline(always)]
    fn store(self, to: &mut [I8x4Dot]) {
        if let Some(to) = to.first_chunk_mut() {
            *to = self.0;
        }
    }

    #[inline(always)]
    fn multiply_add(self, b: Self, c: Self) -> Self {
        Plain(std::array::from_fn(|i| self.0[i].multiply_add(b.0[i], c.0[i])))
    }

    #[inline(always)]
    fn plus(self, b: Self) -> Self {
        Plain(std::array::from_fn(|i| I8x4Dot(self.0[i].0.wrapping_add(b.0[i].0))))
    }
}

/// The baseline of the architecture.
pub(super) struct Base;

impl Instructions for Base {
    type F32 = Plain<f32, 4>;
    type F64 = Plain<f64, 2>;
    type I8x4Dots = Plain<I8x4Dot, 4>;
    const ISA: Isa = Isa::Baseline;
    // On other architectures every machine has the instruction.
    const FUSED: bool = cfg!(target_arch = "aarch64");
    type Mask = u16;

    #[inline(always)]
    fn mask(bits: u16) -> u16 {
        bits
    }

    #[inline(always)]
    fn stream(from: &[u8], to: &mut [Line], _: &Fence) {
        bytemuck::cast_slice_mut(to).copy_from_slice(from);
    }

    #[inline(always)]
    fn load_masked<const N: usize>(lanes: &LaneMasks<Self::Mask, N>, line: &[f32]) -> [Self::F32; N] {
        let line = line.get(..lanes.len).unwrap_or_default();
        std::array::from_fn(|i| {
            let place = |lane: usize| lanes.first.wrapping_add_unsigned(i + lane).cast_unsigned();
            let element = |lane| line.get(place(lane)).copied().unwrap_or_default();
            let has = |lane: usize| lanes.masks[i] >> lane & 1 == 1;
            Plain(std::array::from_fn(|lane| if has(lane) { element(lane) } else { 0.0 }))
        })
    }

    #[inline(always)]
    fn all_negative(values: Self::F32) -> bool {
        values.0.iter().all(|value| value.is_sign_negative())
    }

    #[inline(always)]
    fn store_first(values: Self::F32, to: &mut [f32]) {
        to.iter_mut().zip(values.0).for_each(|(to, x)| *to = x);
    }

    #[inline(always)]
    fn even_lanes(low: Self::F32, high: Self::F32) -> Self::F32 {
        Plain([low.0[0], low.0[2], high.0[0], high.0[2]])
    }

    #[inline(always)]
    fn bytes_to_f32<const SIGNED: bool>(bytes: &[u8]) -> Self::F32 {
        let integer = |byte: u8| if SIGNED { f32::from(byte.cast_signed()) } else { f32::from(byte) };
        Plain(bytes.first_chunk::<4>().map_or([0.0; 4], |bytes| bytes.map(integer)))
    }

    #[inline(always)]
    fn lookup<const SHIFT: u32>(table: &[f32; 16], codes: &[u8]) -> Self::F32 {
        let codes = codes.first_chunk::<4>();
        Plain(codes.map_or([0.0; 4], |codes| codes.map(|code| table[usize::from(code >> SHIFT & 15)])))
    }
}
