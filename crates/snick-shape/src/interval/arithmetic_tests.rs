//! Compares interval arithmetic with arithmetic on the numbers in the intervals.

use super::*;

/// Every interval with ends in `-r..=r`.
fn small(r: i64) -> Vec<Interval> {
    (-r..=r).flat_map(|lo| (lo..=r).filter_map(move |hi| Interval::new(lo, hi))).collect()
}

fn brute(a: Interval, b: Interval, op: impl Fn(i64, i64) -> Option<i64>) -> Option<Interval> {
    let mut all: Option<Interval> = None;
    for x in a.lo..=a.hi {
        for y in b.lo..=b.hi {
            if let Some(v) = op(x, y) {
                let v = Interval::exact(v);
                all = Some(all.map_or(v, |i| i.hull(v)));
            }
        }
    }
    all
}

fn floor_i64(a: i64, b: i64) -> i64 {
    (a as f64 / b as f64).floor() as i64
}

#[test]
fn ring_and_lattice_operations_are_exact() {
    for a in small(4) {
        for b in small(4) {
            assert_eq!(Some(a.add(b)), brute(a, b, |x, y| Some(x + y)));
            assert_eq!(Some(a.sub(b)), brute(a, b, |x, y| Some(x - y)));
            assert_eq!(Some(a.mul(b)), brute(a, b, |x, y| Some(x * y)));
            assert_eq!(Some(a.min(b)), brute(a, b, |x, y| Some(x.min(y))));
            assert_eq!(Some(a.max(b)), brute(a, b, |x, y| Some(x.max(y))));
        }
        assert_eq!(Some(a.abs()), brute(a, a, |x, _| Some(x.abs())));
        assert_eq!(Some(a.neg()), brute(a, a, |x, _| Some(-x)));
    }
}

#[test]
fn divisions_are_exact_and_remainders_sound() {
    for a in small(7) {
        for b in small(4) {
            let floor = brute(a, b, |x, y| (y != 0).then(|| floor_i64(x, y)));
            assert_eq!(a.floor_div(b), floor.unwrap_or(Interval::ANY));
            let ceil = brute(a, b, |x, y| (y != 0).then(|| -floor_i64(-x, y)));
            assert_eq!(a.ceil_div(b), ceil.unwrap_or(Interval::ANY));
            let trunc = brute(a, b, |x, y| x.checked_div(y));
            assert_eq!(a.trunc_div(b), trunc.unwrap_or(Interval::ANY));
            let modulo = brute(a, b, |x, y| (y != 0).then(|| x - y * floor_i64(x, y)));
            assert!(a.modulo(b).covers(&modulo.unwrap_or(Interval::ANY)), "{a:?} {b:?}");
            let rem = brute(a, b, |x, y| x.checked_rem(y));
            assert!(a.trunc_mod(b).covers(&rem.unwrap_or(Interval::ANY)), "{a:?} {b:?}");
        }
    }
}

#[test]
fn remainders_within_one_block_are_tight() {
    let of = |lo, hi| Interval::between(lo, hi);
    assert_eq!(of(4, 5).modulo(of(3, 3)), of(1, 2));
    assert_eq!(of(2, 8).modulo(of(3, 3)), of(0, 2));
    assert_eq!(of(0, 2).modulo(of(3, 9)), of(0, 2));
    assert_eq!(of(-5, -4).trunc_mod(of(3, 3)), of(-2, -1));
}

#[test]
fn arithmetic_saturates_into_unboundedness() {
    let extremes = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
    for a in extremes.map(Interval::exact) {
        for b in extremes.map(Interval::exact) {
            // No operation may overflow for any ends.
            let _ = (a.add(b), a.sub(b), a.mul(b), a.floor_div(b), a.ceil_div(b));
            let _ = (a.trunc_div(b), a.modulo(b), a.trunc_mod(b), a.abs(), a.neg());
        }
    }
    assert_eq!(Interval::DIM.add(Interval::exact(-1)).lo(), -1);
    assert!(!Interval::DIM.add(Interval::exact(-1)).has_upper());
    assert_eq!(Interval::DIM.mul(Interval::exact(0)), Interval::exact(0));
    assert_eq!(Interval::DIM.floor_div(Interval::exact(i64::MAX - 1)), Interval::DIM);
    assert_eq!(Interval::DIM.neg(), Interval::between(i64::MIN, 0));
    assert_eq!(Interval::ANY.sub(Interval::ANY), Interval::ANY);
}

#[test]
fn what_is_beyond_an_extreme_is_not_that_number() {
    let [least, most] = [i64::MIN, i64::MAX].map(Interval::exact);
    for beyond in [most.add(most), most.mul(2.into()), least.sub(most), least.mul(2.into())] {
        assert_eq!(beyond.is_exact(), None, "{beyond:?}");
        assert!(!beyond.has_lower() || !beyond.has_upper(), "{beyond:?}");
    }
}
