//! Minimum, maximum and clamping of elements.

/// The greater element; `NaN` if either is.
#[inline(always)]
pub fn greatest<T: Copy + PartialOrd>(a: T, b: T) -> T {
    let greater = if a > b { a } else { b };
    if is_nan(a) { a } else { greater }
}

/// The lesser element; `NaN` if either is.
#[inline(always)]
pub fn least<T: Copy + PartialOrd>(a: T, b: T) -> T {
    let less = if a < b { a } else { b };
    if is_nan(a) { a } else { less }
}

/// Whether `a` is greater than `b`, where `NaN` counts as the greatest number.
#[inline(always)]
pub fn exceeds<T: Copy + PartialOrd>(a: T, b: T) -> bool {
    (a > b) | (is_nan(a) & !is_nan(b))
}

/// Clamps an element; `NaN` stays. If the bounds cross, the upper one wins.
#[inline(always)]
pub(crate) fn clamp<T: PartialOrd>(x: T, low: T, high: T) -> T {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

#[allow(clippy::eq_op, reason = "only NaN differs from itself")]
#[inline(always)]
fn is_nan<T: Copy + PartialOrd>(x: T) -> bool {
    x != x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_stays() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        for (a, b) in [(nan, 1.0), (1.0, nan), (nan, nan), (-nan, inf), (-inf, -nan)] {
            assert!(greatest(a, b).is_nan() && least(a, b).is_nan(), "{a} {b}");
        }
        for (a, b) in [(1.0, 2.0), (-inf, inf), (-1.0, 0.0)] {
            assert_eq!([greatest(a, b), greatest(b, a), least(a, b), least(b, a)], [b, b, a, a]);
        }
        assert_eq!((greatest(3u8, 200), least(i64::MIN, 0)), (200, i64::MIN));
        assert!(clamp(nan, 0.0, 1.0).is_nan());
        assert_eq!([clamp(-inf, 0.0, 1.0), clamp(inf, 0.0, 1.0), clamp(0.5, 0.0, 1.0)], [0.0, 1.0, 0.5]);
        assert_eq!(clamp(0.0, 2.0, 1.0), 1.0);
    }
}
