//! Compares slices of one axis with a reference that loops over the indices.

use super::bound::SliceBound;
use super::hull::length_interval;
use super::symbolic::length;
use super::*;
use crate::interval::Interval;
use crate::sym_expr::{SymExpr, SymbolId};
use crate::symbols::{Origin, Symbols};

const EXTREMES: [i64; 8] = [
    i64::MIN,
    i64::MIN + 1,
    i32::MIN as i64,
    -(i32::MAX as i64),
    i32::MAX as i64,
    u32::MAX as i64,
    i64::MAX - 1,
    i64::MAX,
];

fn bounds() -> Vec<Option<i64>> {
    (-9..=9).chain(EXTREMES).map(Some).chain([None]).collect()
}

/// Reference implementation that visits one index at a time.
fn naive(dim: i64, start: Option<i64>, stop: Option<i64>, step: i64) -> Vec<i64> {
    let d = i128::from(dim);
    let from_end = |v: i64| if v < 0 { i128::from(v) + d } else { i128::from(v) };
    let forward = step > 0;
    let mut at = match start {
        None if forward => 0,
        None => d - 1,
        Some(v) => from_end(v),
    };
    let stop = match stop {
        None if forward => d,
        None => -1,
        Some(v) => from_end(v).max(-1),
    };
    at = at.max(0);
    if !forward {
        at = at.min(d - 1);
    }
    let mut indices = Vec::new();
    while if forward { at < stop && at < d } else { at > stop && at >= 0 } {
        indices.push(at as i64);
        at += i128::from(step);
    }
    indices
}

#[test]
fn resolve_walks_the_same_indices_as_the_rule() {
    let steps: Vec<i64> = (-4..=4).chain(EXTREMES).filter(|step| *step != 0).collect();
    for dim in 0..=6 {
        for start in bounds() {
            for stop in bounds() {
                for &step in &steps {
                    let slice = AxisSlice::resolve(dim, start, stop, step).unwrap();
                    let indices: Vec<i64> = slice.indices().collect();
                    let case = format!("{dim} {start:?}:{stop:?}:{step}");
                    assert_eq!(indices, naive(dim, start, stop, step), "{case}");
                    assert!(slice.step != 0, "{case}");
                    assert!(slice.len > 1 || slice.step == 1, "{case}");
                    assert!(slice.len > 0 || slice.start == 0, "{case}");
                    let all = indices.iter().copied().eq(0..dim);
                    assert_eq!(slice.is_whole(dim), all, "{case}");
                }
            }
        }
    }
}

#[test]
fn resolve_survives_every_extreme() {
    for dim in [0, 1, i64::MAX - 1, i64::MAX] {
        for start in bounds() {
            for stop in bounds() {
                for step in EXTREMES.into_iter().chain([-1, 1]) {
                    let slice = AxisSlice::resolve(dim, start, stop, step).unwrap();
                    assert!((0..=dim).contains(&slice.len) && slice.start >= 0);
                }
            }
        }
    }
    assert_eq!(AxisSlice::resolve(3, None, None, 0), Err(SliceError::ZeroStep));
    assert_eq!(AxisSlice::resolve(-1, None, None, 1), Err(SliceError::NegativeDim(-1)));
}

#[test]
fn composition_selects_what_both_select() {
    let slices = |dim: i64| {
        (-4..=4).filter(|step| *step != 0).flat_map(move |step| {
            let bounds = [None, Some(-2), Some(-1), Some(0), Some(1), Some(3)];
            bounds
                .into_iter()
                .flat_map(move |start| bounds.map(|stop| AxisSlice::resolve(dim, start, stop, step).unwrap()))
        })
    };
    for outer in slices(6) {
        let picked: Vec<i64> = outer.indices().collect();
        for inner in slices(outer.len) {
            let both = outer.then(&inner);
            let expected = inner.indices().map(|k| picked[k as usize]);
            assert!(both.indices().eq(expected), "{outer:?} {inner:?}");
            assert!(both.len > 1 || both.step == 1, "{outer:?} {inner:?}");
            assert!(both.len > 0 || both.start == 0, "{outer:?} {inner:?}");
        }
    }
}

fn len(dim: i64, start: Option<i64>, stop: Option<i64>, step: i64) -> i64 {
    AxisSlice::resolve(dim, start, stop, step).unwrap().len
}

fn of(lo: i64, hi: i64) -> Interval {
    Interval::new(lo, hi).unwrap()
}

fn values(bound: Option<Interval>) -> Vec<Option<i64>> {
    bound.map_or(vec![None], |bound| (bound.lo()..=bound.hi()).map(Some).collect())
}

fn brute(dim: Interval, start: Option<Interval>, stop: Option<Interval>, step: i64) -> Interval {
    let mut hull: Option<Interval> = None;
    for dim in dim.lo()..=dim.hi() {
        for start in values(start) {
            for stop in values(stop) {
                let length = Interval::exact(len(dim, start, stop, step));
                hull = Some(hull.map_or(length, |known| known.hull(length)));
            }
        }
    }
    hull.unwrap()
}

#[test]
fn length_interval_is_the_exact_hull() {
    let dims = [of(0, 0), of(0, 3), of(1, 6), of(2, 4), of(3, 10), of(0, 12), of(5, 5)];
    let mut ranges = vec![None];
    for lo in -7..=7 {
        for width in [1, 3, 9] {
            ranges.push(Some(of(lo, lo + width)));
        }
    }
    for dim in dims {
        for &start in &ranges {
            for &stop in &ranges {
                for step in [-3, -2, -1, 1, 2, 3] {
                    let hull = length_interval(dim, start, stop, step);
                    let expected = brute(dim, start, stop, step);
                    assert_eq!(hull, expected, "{dim} {start:?} {stop:?} {step}");
                }
            }
        }
    }
}

/// Covers all axis intervals within 0..7, all bounds from -9 to 9 or masked, and all steps from -4 to 4.
#[test]
fn length_interval_is_the_exact_hull_of_the_whole_space() {
    let starts: Vec<Option<i64>> = (-9..=9).map(Some).chain([None]).collect();
    let steps = [-4, -3, -2, -1, 1, 2, 3, 4];
    for &start in &starts {
        for &stop in &starts {
            for step in steps {
                let lengths: Vec<i64> = (0..=7).map(|dim| len(dim, start, stop, step)).collect();
                let exact = |bound: Option<i64>| bound.map(Interval::exact);
                for lo in 0..=7 {
                    let (mut least, mut most) = (lengths[lo], lengths[lo]);
                    for (hi, &at_hi) in lengths.iter().enumerate().skip(lo) {
                        (least, most) = (least.min(at_hi), most.max(at_hi));
                        let dim = of(lo as i64, hi as i64);
                        let hull = length_interval(dim, exact(start), exact(stop), step);
                        assert_eq!(hull, of(least, most), "{dim} {start:?}:{stop:?}:{step}");
                    }
                }
            }
        }
    }
}

/// If bounds depend on the axis size, the interval is the hull of the lengths that can occur.
#[test]
fn bounds_that_follow_the_axis_give_the_exact_hull() {
    let make: [fn(&Symbols, &SymExpr) -> Option<SymExpr>; 5] = [
        |s, d| s.sub(d, &3.into()),
        |s, d| s.sub(&2.into(), d),
        |s, d| s.floor_div(d, &2.into()),
        |s, d| s.sub(d, &d.clone()),
        |s, d| s.min(d, &4.into()),
    ];
    for sizes in [of(0, 6), of(2, 8)] {
        for start in make {
            for stop in make {
                for step in [-2, -1, 1, 2] {
                    let mut symbols = Symbols::default();
                    let dim = symbols.named("D", sizes, Origin::default()).unwrap();
                    let (start, stop) = (start(&symbols, &dim).unwrap(), stop(&symbols, &dim).unwrap());
                    let (a, b) = (SliceBound::At(start.clone()), SliceBound::At(stop.clone()));
                    let result = length(&mut symbols, &dim, &a, &b, Some(step), Origin::default());
                    let lengths = (sizes.lo()..=sizes.hi()).map(|d| {
                        let value = |e| symbols.eval(e, &|_| Some(d)).unwrap();
                        Interval::exact(len(d, Some(value(&start)), Some(value(&stop)), step))
                    });
                    let hull = lengths.reduce(|a, b| a.hull(b)).unwrap();
                    let shown = |e| symbols.display(e).to_string();
                    let case = format!("{sizes} {}:{}:{step}", shown(&start), shown(&stop));
                    assert_eq!(symbols.interval(&result), hull, "{case}");
                }
            }
        }
    }
}

/// Exporters write 2^31-1 for the end, so an unbounded axis is assumed to have at most 2^31-1 elements. No
/// other bound has a special meaning.
#[test]
fn length_interval_on_unbounded_axes() {
    let at = |v: i64| Some(Interval::exact(v));
    let from = |lo| of(lo, i64::MAX);
    let (end, first) = (i64::from(i32::MAX), i64::from(i32::MIN));
    let cases = [
        (from(2), at(-2), at(end), 1, of(2, 2)),
        (from(10), at(first), at(-1), 3, of(3, 715_827_883)),
        (from(10), at(4_294_967_295), at(9), -3, of(0, 1_431_655_762)),
        (from(10), at(first + 1), at(4), -3, from(0)),
        (from(0), at(first), at(end), 1, of(0, end)),
        (from(0), at(0), at(i64::MAX), end, from(0)),
        (from(2), at(-5), at(2), 1, of(0, 2)),
        (from(2), at(3), at(-3), -1, of(0, 2)),
        (from(0), at(-4), at(-4), -1, of(0, 1)),
        (from(0), at(-1), at(3), 1, of(0, 1)),
        (from(2), at(-8), at(7), 1, of(0, 7)),
        (from(0), at(-5), None, -1, from(0)),
        (from(0), None, at(-5), -1, of(0, 4)),
        (from(10), at(-3), at(i64::MIN), -1, from(8)),
        (from(2), at(0), at(end), 1, of(2, end)),
        (from(2), at(0), at(i64::MAX), 1, from(2)),
        (from(1), None, None, 2, from(1)),
        (from(0), at(0), at(i64::MAX), i64::MAX, from(0)),
        (from(0), Some(Interval::ANY), None, 1, from(0)),
        (of(0, 8), Some(Interval::ANY), Some(Interval::ANY), 2, of(0, 4)),
        // 2^31-1 does not cap an axis that is bounded or always longer.
        (of(2, 8), at(0), at(end), 1, of(2, 8)),
        (of(2, 1 << 40), at(end), None, 1, of(0, (1 << 40) - end)),
        (from(1 << 40), at(end), None, 1, of((1 << 40) - end, i64::MAX)),
        (from(end), at(end), None, 1, of(0, 0)),
    ];
    for (dim, start, stop, step, expected) in cases {
        assert_eq!(length_interval(dim, start, stop, step), expected, "{dim} {start:?} {stop:?}");
    }
}

#[test]
fn length_interval_survives_every_extreme() {
    let mut dims = vec![Interval::DIM, Interval::ANY, Interval::exact(i64::MAX)];
    dims.push(of(i64::MAX - 1, i64::MAX));
    for dim in dims {
        for start in bounds() {
            for stop in bounds() {
                for step in EXTREMES.into_iter().chain([-1, 1]) {
                    let exact = |bound: Option<i64>| bound.map(Interval::exact);
                    let hull = length_interval(dim, exact(start), exact(stop), step);
                    assert!(hull.lo() >= 0);
                }
            }
        }
    }
}

/// A dimension `scale * symbol + shift` with the symbol in an interval.
fn affine(symbols: &mut Symbols, interval: Interval, scale: i64, shift: i64) -> SymExpr {
    let symbol = symbols.named("D", interval, Origin::default()).unwrap();
    let scaled = symbols.mul(&symbol, &SymExpr::Const(scale)).unwrap();
    symbols.add(&scaled, &SymExpr::Const(shift)).unwrap()
}

/// The length is correct for every size. If the size is a symbol plus a constant, the interval of the length
/// is exact, and the length is the size itself if and only if the slice keeps the size.
#[test]
fn symbolic_length_is_right_everywhere_for_constant_bounds() {
    let axes = [(of(0, 9), 1, 0), (of(2, 5), 1, 0), (of(4, 7), 1, 0), (of(1, 7), 1, -1), (of(0, 5), 2, 1)];
    let bounds: Vec<Option<i64>> = (-9..=9).map(Some).chain([None, Some(i64::MIN), Some(i64::MAX)]).collect();
    for (interval, scale, shift) in axes {
        for &start in &bounds {
            for &stop in &bounds {
                for step in [-4, -3, -2, -1, 1, 2, 3, 4] {
                    check_constant((interval, scale, shift), start, stop, step);
                }
            }
        }
    }

    fn check_constant(
        (interval, scale, shift): (Interval, i64, i64),
        start: Option<i64>,
        stop: Option<i64>,
        step: i64,
    ) {
        let mut symbols = Symbols::default();
        let dim = affine(&mut symbols, interval, scale, shift);
        let bound = |b: Option<i64>| b.map_or(SliceBound::Masked, |v| SliceBound::At(v.into()));
        let (a, b) = (bound(start), bound(stop));
        let known = symbols.len();
        let result = length(&mut symbols, &dim, &a, &b, Some(step), Origin::default());
        let shown = symbols.display(&result).to_string();
        let case = format!("{interval} {scale} {shift} {start:?}:{stop:?}:{step} = {shown}");
        assert_eq!(symbols.len(), known, "a constant bound needs no unknown: {case}");
        assert!(symbols.le(&result, &dim), "{case}");
        let claimed = symbols.interval(&result);
        let (mut keeps, mut hull) = (true, None::<Interval>);
        for v in interval.lo()..=interval.hi() {
            let size = scale * v + shift;
            let expected = len(size, start, stop, step);
            assert_eq!(symbols.eval(&result, &|_| Some(v)), Some(expected), "{case} at {v}");
            keeps &= expected == size;
            let exact = Interval::exact(expected);
            hull = Some(hull.map_or(exact, |hull| hull.hull(exact)));
        }
        let tight = hull.unwrap();
        assert!(claimed.covers(&tight), "{case} in {claimed}");
        if scale == 1 {
            assert_eq!(claimed, tight, "{case}");
            assert_eq!(result == dim, keeps, "{case}");
        }
    }
}

#[test]
fn symbolic_length_is_right_everywhere_for_symbolic_bounds() {
    type Make = fn(&Symbols, &SymExpr, &SymExpr) -> Option<SymExpr>;
    let bounds: [Make; 12] = [
        |_, _, n| Some(n.clone()),
        |s, _, n| s.neg(n),
        |_, d, _| Some(d.clone()),
        |s, d, _| s.sub(d, &1.into()),
        |s, d, _| s.sub(&2.into(), d),
        |s, d, _| s.floor_div(d, &2.into()),
        |s, d, n| s.sub(d, n),
        |s, d, n| s.min(d, n),
        |s, _, n| s.sub(&(-1).into(), n),
        // These bounds are before the first element of an axis with fewer than 5 elements.
        |_, _, _| Some((-5).into()),
        |s, _, n| s.sub(&(-5).into(), n),
        |s, d, _| s.neg(d),
    ];
    for sizes in [of(0, 6), of(1, 6), of(3, 5)] {
        for others in [of(0, 4), of(1, 3)] {
            for start in bounds {
                for stop in bounds {
                    for step in [-2, -1, 1, 2] {
                        check_symbolic(sizes, others, start, stop, step);
                    }
                }
            }
        }
    }

    fn check_symbolic(sizes: Interval, others: Interval, start: Make, stop: Make, step: i64) {
        let mut symbols = Symbols::default();
        let d = symbols.named("D", sizes, Origin::default()).unwrap();
        let n = symbols.named("N", others, Origin::default()).unwrap();
        let start = start(&symbols, &d, &n).unwrap();
        let stop = stop(&symbols, &d, &n).unwrap();
        let (a, b) = (SliceBound::At(start.clone()), SliceBound::At(stop.clone()));
        let result = length(&mut symbols, &d, &a, &b, Some(step), Origin::default());
        let shown = |e| symbols.display(e).to_string();
        let case = format!("{}:{}:{step} = {}", shown(&start), shown(&stop), shown(&result));
        assert!(symbols.le(&result, &d), "{case}");
        let fresh = result.as_symbol().is_some_and(|id| id.index() >= 2);
        for dv in sizes.lo()..=sizes.hi() {
            for nv in others.lo()..=others.hi() {
                let at = |id: SymbolId| Some(if id.index() == 0 { dv } else { nv });
                let value = |e| symbols.eval(e, &at).unwrap();
                let expected = len(dv, Some(value(&start)), Some(value(&stop)), step);
                assert!(symbols.interval(&result).contains(expected), "{case} at {dv},{nv}");
                assert!(fresh || value(&result) == expected, "{case} at {dv},{nv}");
            }
        }
    }
}

#[test]
fn lengths_read_well() {
    let shown = |interval: Interval, start: Option<i64>, stop: Option<i64>, step: i64| {
        let mut symbols = Symbols::default();
        let dim = symbols.named("W", interval, Origin::default()).unwrap();
        let bound = |b: Option<i64>| b.map_or(SliceBound::Masked, |v| SliceBound::At(v.into()));
        let origin = Origin::default();
        let length = length(&mut symbols, &dim, &bound(start), &bound(stop), Some(step), origin);
        symbols.display(&length).to_string()
    };
    let (any, some) = (Interval::DIM, of(1, i64::MAX));
    assert_eq!(shown(any, None, None, 1), "W");
    assert_eq!(shown(any, None, None, -1), "W");
    assert_eq!(shown(any, Some(0), Some(i64::MAX), 1), "W");
    assert_eq!(shown(any, Some(0), Some(i32::MAX as i64), 1), "min(W,2147483647)");
    assert_eq!(shown(any, Some(-2), Some(i32::MAX as i64), 1), "min(W,2)");
    assert_eq!(shown(of(0, 900), Some(0), Some(i32::MAX as i64), 1), "W");
    assert_eq!(shown(any, Some(-1), Some(i64::MIN), -1), "W");
    assert_eq!(shown(any, Some(1), None, 1), "max(W-1,0)");
    assert_eq!(shown(some, Some(1), None, 1), "W-1");
    assert_eq!(shown(some, None, Some(-1), 1), "W-1");
    assert_eq!(shown(any, None, Some(5), 1), "min(W,5)");
    assert_eq!(shown(any, Some(-2), None, 1), "min(W,2)");
    assert_eq!(shown(any, None, None, 2), "(W+1)/2");
    assert_eq!(shown(any, Some(1), None, 2), "W/2");
    assert_eq!(shown(any, None, None, -2), "(W+1)/2");
    assert_eq!(shown(of(4, 9), Some(1), Some(3), 1), "2");
    assert_eq!(shown(of(0, 9), Some(1), Some(3), 1), "min(max(W-1,0),2)");
}

#[test]
fn bounds_that_share_the_axis_are_exact() {
    let mut symbols = Symbols::default();
    let origin = Origin::default();
    let dim = symbols.named("W", Interval::DIM, origin).unwrap();
    let less = symbols.sub(&dim, &1.into()).unwrap();
    let half = symbols.floor_div(&dim, &2.into()).unwrap();
    let mut slice = |start: &SliceBound, stop: &SliceBound| {
        let length = length(&mut symbols, &dim, start, stop, Some(1), origin);
        symbols.display(&length).to_string()
    };
    assert_eq!(slice(&SliceBound::Masked, &SliceBound::At(dim.clone())), "W");
    assert_eq!(slice(&SliceBound::Masked, &SliceBound::At(less.clone())), "max(W-1,0)");
    assert_eq!(slice(&SliceBound::At(half.clone()), &SliceBound::Masked), "W-W/2");
    assert_eq!(slice(&SliceBound::Masked, &SliceBound::At(half)), "W/2");
    assert_eq!(slice(&SliceBound::At(less), &SliceBound::Masked), "min(W,1)");
}

#[test]
fn unknown_bounds_and_steps_give_a_fresh_unknown() {
    let mut symbols = Symbols::default();
    let origin = Origin { node: 7, port: 0, axis: 2 };
    let dim = symbols.named("W", of(2, 9), Origin::default()).unwrap();
    let unknown = SliceBound::Unknown;
    let part = length(&mut symbols, &dim, &unknown, &unknown, Some(2), origin);
    assert_eq!(symbols.interval(&part), of(0, 5));
    assert_eq!(symbols.origin(part.as_symbol().unwrap()), origin);
    let part = length(&mut symbols, &dim, &SliceBound::Masked, &SliceBound::Masked, None, origin);
    assert_eq!(symbols.interval(&part), of(0, 9));
    let half = symbols.ceil_div(&part, &2.into()).unwrap();
    let again = length(&mut symbols, &half, &unknown, &unknown, Some(-1), origin);
    let area = symbols.mul(&again, &part).unwrap();
    let square = symbols.mul(&dim, &dim).unwrap();
    for (a, b) in [(&part, &dim), (&half, &dim), (&half, &part), (&again, &dim), (&area, &square)] {
        assert!(symbols.le(a, b), "{} <= {}", symbols.display(a), symbols.display(b));
    }
    assert!(!symbols.le(&dim, &part) && !symbols.le(&part, &half));
    let none = length(&mut symbols, &0.into(), &unknown, &unknown, Some(1), origin);
    assert_eq!(none, SymExpr::Const(0));
}
