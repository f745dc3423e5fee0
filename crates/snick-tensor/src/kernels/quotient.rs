//! Many divisions by one number, without the division.

use crate::kernels::vectors::Instructions;

/// A divisor and its inverse.
#[derive(Copy, Clone)]
pub(crate) struct Divisor {
    number: f32,
    inverse: f32,
}

impl Divisor {
    /// Quotients of this divisor on such a machine; `None` where products are not fused with sums, and for divisors of
    /// which an inverse or a remainder might have too few digits.
    #[inline(always)]
    pub fn new<I: Instructions>(number: f32) -> Option<Self> {
        const MODERATE: std::ops::Range<f32> = 1e-12..1e12;
        let is_moderate = I::FUSED && MODERATE.contains(&number.abs());
        is_moderate.then_some(Self { number, inverse: 1.0 / number })
    }

    /// `a / number`, rounded as a division is, for quotients that are not tiny (from 2^-60 on), huge, or not finite.
    ///
    /// A product with the inverse is wrong by two places at most, each correction by the remainder halves the digits
    /// that are wrong; that of a neighbour of the quotient, with the nearest inverse, gives the nearest quotient
    /// (P. Markstein, IA-64 and Elementary Functions, theorem 8.2).
    #[inline(always)]
    pub fn divide(self, a: f32) -> f32 {
        let corrected = |quotient: f32| {
            let rest = (-quotient).mul_add(self.number, a);
            rest.mul_add(self.inverse, quotient)
        };
        corrected(corrected(a * self.inverse))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::vectors::{Vectorised, widest};

    /// Quotients beside what a division gives; nothing where there is no divisor.
    struct Quotients<'a>(&'a [f32], f32);

    impl Vectorised for Quotients<'_> {
        type Output = Vec<(f32, f32)>;

        #[inline(always)]
        fn run<I: Instructions>(self) -> Self::Output {
            let Some(divisor) = Divisor::new::<I>(self.1) else { return Vec::new() };
            self.0.iter().map(|&a| (divisor.divide(a), a / self.1)).collect()
        }
    }

    #[test]
    fn quotients_are_those_of_a_division() {
        let mut state = 7u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // A mantissa of any bits, sizes from 2^-8 to 2^8.
            f32::from_bits((119 + (state >> 28)) << 23 | (state >> 4 & 0x7f_ffff))
        };
        let levels: Vec<f32> = (0..=u16::MAX).map(f32::from).collect();
        let cases = [3.0, 15.0, 255.0, 65535.0].map(|steps| (levels.clone(), steps));
        let drawn = (0..300).map(|i| {
            let all_ones = f32::from_bits(0x3fff_ffff);
            ((0..500).map(|_| next()).collect(), if i == 0 { all_ones } else { next() })
        });
        for (numbers, divisor) in cases.into_iter().chain(drawn.collect::<Vec<_>>()) {
            for (i, (found, expected)) in widest(Quotients(&numbers, divisor)).into_iter().enumerate() {
                assert_eq!(found.to_bits(), expected.to_bits(), "{} by {divisor}", numbers[i]);
            }
        }
        assert!(widest(Quotients(&[1.0], 0.0)).is_empty());
        assert!(widest(Quotients(&[1.0], f32::NAN)).is_empty());
    }
}
