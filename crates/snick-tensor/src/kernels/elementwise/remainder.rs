//! Float remainders without the bit-by-bit loop of the general case.

/// Whether [`near`] is exact for every element of `a` with every element of `b`: see [`MOST`].
pub(super) fn are_near(a: &[f32], b: &[f32]) -> bool {
    // Without the sign bit, bit patterns compare like the magnitudes, and non-finite values are largest.
    let size = |x: &f32| x.to_bits() & (u32::MAX >> 1);
    let largest = a.iter().map(size).fold(0, u32::max);
    let least = b.iter().map(size).fold(u32::MAX, u32::min);
    let most = b.iter().map(size).fold(0, u32::max);
    let quotient = f64::from(f32::from_bits(largest)) / f64::from(f32::from_bits(least));
    f32::from_bits(most).is_finite() && quotient < MOST
}

/// Up to this quotient, a rounded quotient is at most 1 from the integer below the exact one, and the difference
/// of `a` and its product with `b` is an `f32`.
const MOST: f64 = (1 << 23) as f64;

/// The remainder with the sign of `a`. Slow, but as exact, without an instruction for fused multiply-add.
#[inline(always)]
pub(super) fn near(a: f32, b: f32) -> f32 {
    let (size, divisor) = (a.abs(), b.abs());
    let rest = (size / divisor).trunc().mul_add(-divisor, size);
    // A quotient just below an integer may have been rounded to it.
    let rest = if rest < 0.0 { rest + divisor } else { rest };
    rest.copysign(a)
}

/// The remainder with the sign of `b`.
#[inline(always)]
pub(super) fn floor_near(a: f32, b: f32) -> f32 {
    let rest = near(a, b);
    if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bits_as_the_general_case() {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state
        };
        let mut tried = 0;
        for _ in 0..200_000 {
            let [a, b] = [0; 2].map(|_| f32::from_bits(next() & 0xffff_f000 | next() >> 24));
            for (a, b) in [(a, b), (b * (next() >> 12) as f32, b)] {
                if are_near(&[a], &[b]) {
                    tried += 1;
                    assert_eq!(near(a, b).to_bits(), (a % b).to_bits(), "{a:e} by {b:e}");
                }
            }
        }
        assert!(tried > 200_000);
        for (a, b) in [(1.0, 0.0), (1.0, f32::INFINITY), (f32::NAN, 1.0), (1.0, f32::NAN), (1e30, 1.0)] {
            assert!(!are_near(&[a], &[b]), "{a} by {b}");
        }
        assert_eq!(near(-6.0, 3.0).to_bits(), (-0.0f32).to_bits());
        assert_eq!([floor_near(-7.0, 3.0), floor_near(7.0, -3.0), floor_near(-6.0, 3.0)], [2.0, -2.0, 0.0]);
    }
}
