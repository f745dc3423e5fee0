//! Work compiled for the widest vector instructions of the machine it runs on.
//!
//! Kernels are plain loops that the compiler turns into vector code. How wide it may make them is fixed when the
//! program is built, for the oldest machine it may meet; here the same loops are compiled once for each instruction
//! set, and the best is chosen at run time. Calling them is, with the file mapping, the other thing that is unsafe.
#![allow(unsafe_code)]

/// An instruction set that kernels are compiled for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Isa {
    /// What every machine of this kind has.
    Base,
    /// AVX2 and fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 and fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Isa {
    /// The best this machine has.
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx512f") && has!("avx512dq") && has!("avx512bw") && has!("avx512vl") && has!("fma") {
                return Self::Avx512;
            }
            if has!("avx2") && has!("fma") {
                return Self::Avx2;
            }
        }
        Self::Base
    }
}

/// An instruction set as a type, for loops that are compiled for it.
pub(crate) trait Instructions {
    /// Which.
    const ISA: Isa;
    /// Whether [`f32::mul_add`] is one instruction.
    const FUSED: bool;
}

struct Base;

impl Instructions for Base {
    const ISA: Isa = Isa::Base;
    // Elsewhere every machine has the instruction.
    const FUSED: bool = cfg!(target_arch = "aarch64");
}

/// Work to be compiled for several instruction sets. [`Vectorised::run`] must be `#[inline(always)]`, and all it
/// calls in its inner loops: only what is inlined is compiled for the instruction set.
pub(crate) trait Vectorised {
    /// What it gives.
    type Output;

    /// Does the work.
    fn run<I: Instructions>(self) -> Self::Output;
}

/// Does the work with the best instructions of this machine.
pub(crate) fn widest<W: Vectorised>(work: W) -> W::Output {
    on(Isa::best(), work)
}

/// Does the work with the instructions of `isa`, which is [`Isa::best`] or [`Isa::Base`].
pub(crate) fn on<W: Vectorised>(isa: Isa, work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if isa == Isa::best() {
        return match isa {
            // SAFETY: `Isa::best` has found these instructions on this machine.
            Isa::Avx512 => unsafe { x86::avx512(work) },
            // SAFETY: as above.
            Isa::Avx2 => unsafe { x86::avx2(work) },
            Isa::Base => work.run::<Base>(),
        };
    }
    debug_assert!(isa == Isa::Base, "{isa:?} is not what this machine has");
    work.run::<Base>()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Instructions, Isa, Vectorised};

    struct Avx512;

    impl Instructions for Avx512 {
        const ISA: Isa = Isa::Avx512;
        const FUSED: bool = true;
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
    pub(super) fn avx512<W: Vectorised>(work: W) -> W::Output {
        work.run::<Avx512>()
    }

    struct Avx2;

    impl Instructions for Avx2 {
        const ISA: Isa = Isa::Avx2;
        const FUSED: bool = true;
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn avx2<W: Vectorised>(work: W) -> W::Output {
        work.run::<Avx2>()
    }
}

/// `a * b + c`: in one rounding where that is one instruction.
#[inline(always)]
pub(crate) fn multiply_add<I: Instructions>(a: f32, b: f32, c: f32) -> f32 {
    if I::FUSED { a.mul_add(b, c) } else { a * b + c }
}

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

    #[test]
    fn every_instruction_set_gives_the_same() {
        let values = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(widest(Sum(&values)), 30.0);
        assert_eq!(on(Isa::Base, Sum(&values)), 30.0);
    }
}
