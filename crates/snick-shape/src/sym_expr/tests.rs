//! Tests, with enumerated and random expressions, that simplification does not change values.

use super::*;
use crate::interval::Interval;
use crate::symbols::{Origin, Symbols};

fn of(lo: i64, hi: i64) -> Interval {
    Interval::new(lo, hi).unwrap()
}

/// A table with `N`, `H` and `W` in these intervals.
fn table(n: Interval, h: Interval, w: Interval) -> (Symbols, [SymExpr; 3]) {
    let mut symbols = Symbols::default();
    let exprs = [("N", n), ("H", h), ("W", w)]
        .map(|(name, interval)| symbols.named(name, interval, Origin::default()).unwrap());
    (symbols, exprs)
}

fn dims() -> (Symbols, [SymExpr; 3]) {
    let some = of(1, i64::MAX);
    table(some, some, some)
}

fn c(value: i64) -> SymExpr {
    SymExpr::Const(value)
}

#[test]
fn expressions_are_small_and_ordered() {
    assert!(size_of::<SymExpr>() <= 16);
    let (s, [n, h, _]) = dims();
    let sum = s.add(&s.mul(&h, &c(2)).unwrap(), &n).unwrap();
    assert_eq!(sum.symbols(), vec![s.id_at(0), s.id_at(1)]);
    assert!(sum.mentions(s.id_at(1)) && !sum.mentions(s.id_at(2)));
}

#[test]
fn like_terms_collect_and_products_distribute() {
    let (s, [n, h, w]) = dims();
    let sum = s.add(&n, &s.sub(&h, &n).unwrap()).unwrap();
    assert_eq!(sum, h);
    assert_eq!(s.sub(&w, &w), Some(c(0)));
    let plus = s.add(&n, &c(1)).unwrap();
    let minus = s.sub(&n, &c(1)).unwrap();
    assert_eq!(s.display(&s.mul(&plus, &minus).unwrap()).to_string(), "N*N-1");
    let area = s.mul(&s.mul(&n, &h).unwrap(), &c(2)).unwrap();
    assert_eq!(area, s.mul(&h, &s.mul(&c(2), &n).unwrap()).unwrap());
    assert_eq!(s.display(&area).to_string(), "2*N*H");
}

#[test]
fn expressions_read_well() {
    let (s, [n, h, w]) = table(of(1, i64::MAX), Interval::DIM, Interval::DIM);
    let show = |e: Option<SymExpr>| s.display(&e.unwrap()).to_string();
    let less = s.sub(&w, &c(1)).unwrap();
    assert_eq!(show(Some(less.clone())), "W-1");
    assert_eq!(show(s.max(&less, &c(0))), "max(W-1,0)");
    assert_eq!(show(s.ceil_div(&h, &c(2))), "(H+1)/2");
    assert_eq!(show(s.min(&w, &c(5))), "min(W,5)");
    assert_eq!(show(s.sub(&c(5), &w)), "5-W");
    assert_eq!(show(s.neg(&s.floor_div(&w, &c(2)).unwrap())), "-(W/2)");
    assert_eq!(show(s.sub(&h, &s.floor_div(&w, &c(2)).unwrap())), "H-W/2");
    assert_eq!(show(s.mul(&h, &s.floor_div(&w, &c(2)).unwrap())), "H*(W/2)");
    assert_eq!(show(s.floor_div(&h, &s.mul(&n, &c(2)).unwrap())), "H/(2*N)");
    assert_eq!(show(s.floor_div(&h, &n)), "H/N");
    assert_eq!(show(Some(c(-3))), "-3");
}

#[test]
fn maxima_and_minima_have_one_form() {
    let (s, [n, h, w]) = dims();
    let less = s.sub(&w, &c(1)).unwrap();
    assert_eq!(s.max(&less, &c(0)), Some(less.clone()));
    let a = s.max(&w, &c(4)).unwrap();
    let b = s.add(&s.max(&s.sub(&w, &c(4)).unwrap(), &c(0)).unwrap(), &c(4)).unwrap();
    assert_eq!(a, b);
    assert_eq!(s.display(&a).to_string(), "max(W,4)");
    let nested = s.max(&s.max(&n, &h).unwrap(), &s.max(&w, &n).unwrap()).unwrap();
    assert_eq!(s.display(&nested).to_string(), "max(N,H,W)");
    assert_eq!(s.min(&s.min(&w, &c(9)).unwrap(), &c(5)), s.min(&w, &c(5)));
    assert_eq!(s.min(&w, &s.mul(&w, &c(2)).unwrap()), Some(w.clone()));
    assert_eq!(s.max(&s.min(&n, &h).unwrap(), &n), Some(n.clone()));
    let shifted = s.add(&s.min(&w, &c(5)).unwrap(), &n).unwrap();
    let other = s.min(&s.add(&w, &n).unwrap(), &s.add(&n, &c(5)).unwrap()).unwrap();
    assert_eq!(shifted, other);
    let negated = s.max(&s.neg(&n).unwrap(), &s.neg(&h).unwrap()).unwrap();
    assert_eq!(s.neg(&negated), s.min(&n, &h));
    let lone = "min(W-max(N,H),max(N,H))";
    assert_eq!(s.display(&s.parse(lone).unwrap()).to_string(), lone);
}

#[test]
fn pieces_of_an_axis_add_up() {
    let (s, [n, h, w]) = table(Interval::DIM, Interval::DIM, Interval::DIM);
    let over = |k: i64| s.max(&s.sub(&w, &c(k)).unwrap(), &c(0)).unwrap();
    let head = s.min(&w, &c(2)).unwrap();
    let middle = s.min(&over(2), &c(3)).unwrap();
    let both = s.add(&head, &over(2)).unwrap();
    assert_eq!(both, w);
    let all = s.add(&s.add(&head, &middle).unwrap(), &over(5)).unwrap();
    assert_eq!(all, w);
    assert_eq!(s.sub(&w, &head), Some(over(2)));
    assert_eq!(s.sub(&w, &over(2)), Some(head.clone()));
    let short = s.max(&s.sub(&c(2), &w).unwrap(), &c(0)).unwrap();
    assert_eq!(s.add(&short, &head), Some(c(2)));
    let area = s.add(&s.mul(&n, &head).unwrap(), &s.mul(&n, &over(2)).unwrap()).unwrap();
    assert_eq!(area, s.mul(&n, &w).unwrap());
    let total = s.add(&s.min(&n, &h).unwrap(), &s.max(&n, &h).unwrap()).unwrap();
    assert_eq!(total, s.add(&n, &h).unwrap());
}

#[test]
fn divisions_have_one_form() {
    let (s, [n, h, w]) = dims();
    let twice = s.mul(&w, &c(2)).unwrap();
    let odd = s.add(&twice, &c(3)).unwrap();
    assert_eq!(s.floor_div(&odd, &c(2)), s.add(&w, &c(1)));
    assert_eq!(s.floor_div(&twice, &c(2)), Some(w.clone()));
    let half = s.floor_div(&w, &c(2)).unwrap();
    assert_eq!(s.floor_div(&half, &c(2)), s.floor_div(&w, &c(4)));
    assert_eq!(s.floor_div(&odd, &c(4)), s.floor_div(&s.add(&w, &c(1)).unwrap(), &c(2)));
    let area = s.mul(&n, &h).unwrap();
    assert_eq!(s.floor_div(&area, &n), Some(h.clone()));
    let more = s.add(&area, &n).unwrap();
    assert_eq!(s.floor_div(&more, &n), s.add(&h, &c(1)));
    assert_eq!(s.floor_div(&s.mul(&more, &w).unwrap(), &more), Some(w.clone()));
    assert_eq!(s.floor_div(&s.sub(&area, &c(1)).unwrap(), &n), s.sub(&h, &c(1)));
    assert_eq!(s.floor_div(&w, &s.sub(&n, &c(1)).unwrap()), None);
    assert_eq!(s.floor_div(&w, &c(0)), None);
    assert_eq!(s.floor_div(&area, &s.neg(&n).unwrap()), s.neg(&h));
    let ceil = s.ceil_div(&s.sub(&w, &c(1)).unwrap(), &c(2)).unwrap();
    assert_eq!(ceil, half);
    assert_eq!(
        s.floor_div(&s.sub(&c(5), &w).unwrap(), &c(2)).map(|e| s.display(&e).to_string()).as_deref(),
        Some("2-W/2")
    );
}

#[test]
fn remainders() {
    let (s, [n, h, w]) = table(of(0, 6), of(7, 9), Interval::DIM);
    assert_eq!(s.modulo(&n, &c(7)), Some(n.clone()));
    assert_eq!(s.modulo(&n, &h), Some(n.clone()));
    let odd = s.modulo(&w, &c(2)).unwrap();
    assert_eq!(s.interval(&odd), of(0, 1));
    let show = |e: Option<SymExpr>| s.display(&e.unwrap()).to_string();
    assert_eq!(show(Some(odd.clone())), "W%2");
    assert_eq!(show(s.sub(&odd, &n)), "W%2-N");
    assert_eq!(show(s.modulo(&s.sub(&w, &c(1)).unwrap(), &c(2))), "(W+1)%2");
    assert_eq!(show(s.add(&odd, &s.modulo(&h, &c(3)).unwrap())), "H%3+W%2");
    assert_eq!(s.modulo(&s.mul(&w, &c(6)).unwrap(), &c(3)), Some(c(0)));
}

#[test]
fn intervals_see_through_shared_symbols() {
    let (s, [n, h, w]) = table(of(0, 6), of(2, 9), Interval::DIM);
    let over = s.max(&s.sub(&w, &c(5)).unwrap(), &c(0)).unwrap();
    assert_eq!(s.interval(&s.sub(&w, &over).unwrap()), of(0, 5));
    let least = s.min(&w, &h).unwrap();
    assert_eq!(s.interval(&s.sub(&h, &least).unwrap()), of(0, 9));
    let half = s.floor_div(&n, &c(2)).unwrap();
    assert_eq!(s.interval(&s.sub(&n, &half).unwrap()), of(0, 3));
}

#[test]
fn refinements_reach_shifts_and_multiples() {
    let (mut s, [n, h, w]) = table(of(0, 6), of(0, 9), Interval::DIM);
    let difference = s.sub(&h, &n).unwrap();
    s.refine(&difference, of(0, i64::MAX));
    assert_eq!(s.interval(&difference), of(0, 9));
    let opposite = s.sub(&s.mul(&n, &c(2)).unwrap(), &s.mul(&h, &c(2)).unwrap()).unwrap();
    assert_eq!(s.interval(&s.add(&opposite, &c(1)).unwrap()), of(-17, 1));
    assert_eq!(s.min(&n, &h), Some(n.clone()));
    // A bare symbol is not refined, because it also occurs elsewhere.
    s.refine(&s.add(&w, &c(1)).unwrap(), of(3, 5));
    s.refine(&w, of(9, 9));
    assert_eq!(s.interval(&w), Interval::DIM);
    s.refine(&c(3), of(9, 9));
    let product = s.mul(&n, &h).unwrap();
    s.refine(&product, of(0, 20));
    assert_eq!(s.interval(&s.add(&product, &n).unwrap()), of(0, 26));
}

#[test]
fn products_of_what_is_never_negative_are_never_negative() {
    let (mut s, [n, h, _]) = table(Interval::DIM, Interval::DIM, Interval::DIM);
    let [fewer, lower] = [&n, &h].map(|size| s.fresh_at_most(size, Interval::DIM, Origin::default()));
    let [rows, columns] = [(&n, &fewer), (&h, &lower)].map(|(all, some)| s.sub(all, some).unwrap());
    let product = s.mul(&rows, &columns).unwrap();
    assert!(s.le(&c(0), &product));
    assert!(s.le(&c(-1), &product) && !s.le(&c(1), &product));
    assert!(!s.le(&product, &c(0)));
    let both_negative = s.mul(&s.neg(&rows).unwrap(), &s.neg(&columns).unwrap()).unwrap();
    assert!(s.le(&c(0), &both_negative));
}

#[test]
fn named_symbols_are_shared_and_exact_ones_are_constants() {
    let mut s = Symbols::default();
    let origin = Origin::default();
    let first = s.named("N", of(0, 8), origin).unwrap();
    assert_eq!(s.named("N", of(2, 9), origin), Ok(first.clone()));
    assert_eq!(s.interval(&first), of(2, 8));
    assert!(s.named("N", of(9, 9), origin).is_err());
    assert_eq!(s.named("N", of(3, 3), origin), Ok(c(3)));
    assert_eq!(s.fresh(of(4, 4), origin), c(4));
    assert_eq!(s.len(), 1);
    let anonymous = s.fresh(Interval::DIM, origin);
    assert_eq!(s.display(&anonymous).to_string(), "s1");
}

#[test]
fn substitution_normalises_again() {
    let (s, [n, h, w]) = dims();
    let over = s.max(&s.sub(&w, &n).unwrap(), &c(0)).unwrap();
    let expr = s.add(&s.floor_div(&over, &h).unwrap(), &s.mul(&n, &w).unwrap()).unwrap();
    let binding = |id: SymbolId| match s.name(id) {
        Some("W") => s.add(&n, &c(5)),
        Some("H") => Some(c(2)),
        _ => None,
    };
    let bound = s.substitute(&expr, &binding).unwrap();
    assert_eq!(s.display(&bound).to_string(), "5*N+N*N+2");
    assert_eq!(s.substitute(&expr, &|_| None), Some(expr.clone()));
    assert_eq!(s.substitute(&expr, &|_| Some(c(3))), Some(c(9)));
    assert_eq!(s.substitute(&expr, &|_| Some(c(0))), None);
    assert_eq!(s.find("H").map(SymExpr::from), Some(h));
    assert_eq!(s.ids().count(), s.len());
}

#[test]
fn overflow_and_size_are_refused() {
    let (s, [n, h, w]) = dims();
    assert_eq!(s.add(&c(i64::MAX), &c(1)), None);
    assert_eq!(s.neg(&c(i64::MIN)), None);
    assert_eq!(s.floor_div(&c(i64::MIN), &c(-1)), None);
    assert_eq!(s.mul(&s.mul(&n, &c(i64::MAX)).unwrap(), &c(2)), None);
    let mut grown = s.add(&s.add(&n, &h).unwrap(), &w).unwrap();
    let mut steps = 0;
    while let Some(next) = s.mul(&grown, &grown) {
        grown = next;
        steps += 1;
        assert!(steps < 8, "a power must stop growing");
    }
    let mut nested = w.clone();
    for k in 0..100 {
        let Some(next) = s.floor_div(&s.add(&s.mul(&nested, &n).unwrap(), &c(k)).unwrap(), &h) else {
            return;
        };
        nested = next;
    }
    panic!("nesting must be bounded");
}

#[test]
fn extremes_never_panic() {
    let extremes = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
    for a in extremes {
        for b in extremes {
            let (s, [n, _, w]) = table(Interval::ANY, Interval::DIM, of(a.min(b), a.max(b)));
            let w = s.add(&w, &c(0)).unwrap();
            let n = s.mul(&n, &c(b)).unwrap_or(c(b));
            for (x, y) in [(&w, &c(a)), (&w, &n), (&c(a), &w), (&n, &c(a)), (&c(a), &c(b))] {
                let all = [s.add(x, y), s.sub(x, y), s.mul(x, y), s.floor_div(x, y)];
                let more = [s.ceil_div(x, y), s.modulo(x, y), s.min(x, y), s.max(x, y)];
                for e in all.into_iter().chain(more).flatten() {
                    let _ = (s.interval(&e), s.display(&e).to_string());
                }
            }
        }
    }
}

/// A pseudo-random sequence with a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }
}

/// An expression under construction, with its value at every point.
type Sample = (SymExpr, Vec<i64>);

#[test]
fn simplification_never_changes_the_function() {
    let cubes =
        [[of(0, 4), of(1, 3), of(2, 5)], [of(-2, 2), of(0, 3), of(1, 4)], [of(1, 3), of(1, 2), of(-3, 1)]];
    let mut random = Random(7);
    let mut proved = 0;
    for round in 0..2000 {
        let intervals = cubes[round % cubes.len()];
        let (mut s, symbols) = table(intervals[0], intervals[1], intervals[2]);
        let mut points = Vec::new();
        for n in intervals[0].lo()..=intervals[0].hi() {
            for h in intervals[1].lo()..=intervals[1].hi() {
                points.extend((intervals[2].lo()..=intervals[2].hi()).map(|w| [n, h, w]));
            }
        }
        let column = |k: usize| points.iter().map(|p| p[k]).collect::<Vec<_>>();
        let mut pool: Vec<Sample> = symbols.into_iter().enumerate().map(|(k, e)| (e, column(k))).collect();
        pool.extend((-2..=4).map(|k| (c(k), vec![k; points.len()])));
        for _ in 0..40 {
            let (a, b) = (random.below(pool.len()), random.below(pool.len()));
            let Some(sample) = combine(&s, &pool[a], &pool[b], random.below(8)) else { continue };
            check(&s, &sample, &points);
            if random.below(16) == 0 {
                let other = &pool[random.below(pool.len())];
                proved += check_order(&s, &sample, other) + check_order(&s, other, &sample);
            }
            // Recording true facts must not break later simplifications.
            if random.below(4) == 0 {
                let (lo, hi) = (sample.1.iter().min().unwrap(), sample.1.iter().max().unwrap());
                s.refine(&sample.0, of(*lo, *hi));
                check(&s, &sample, &points);
            }
            pool.push(sample);
        }
    }
    assert!(proved > 1_000, "{proved}");
}

/// Checks claims about two expressions at every point. Returns 1 if they are claimed to be ordered.
fn check_order(s: &Symbols, a: &Sample, b: &Sample) -> usize {
    let all = |holds: fn(&i64, &i64) -> bool| a.1.iter().zip(&b.1).all(|(a, b)| holds(a, b));
    let shown = || format!("{} and {}", s.display(&a.0), s.display(&b.0));
    let is_ordered = s.le(&a.0, &b.0);
    assert!(!is_ordered || all(i64::le), "{}", shown());
    assert!(!s.always_eq(&a.0, &b.0) || all(i64::eq), "{}", shown());
    usize::from(is_ordered)
}

fn combine(s: &Symbols, a: &Sample, b: &Sample, op: usize) -> Option<Sample> {
    let floor = |x: i64, y: i64| if y < 0 { (-x).div_euclid(-y) } else { x.div_euclid(y) };
    let pairs = || a.1.iter().copied().zip(b.1.iter().copied());
    let divides = pairs().all(|(_, y)| y != 0);
    let (expr, values): (_, Vec<i64>) = match op {
        0 => (s.add(&a.0, &b.0), pairs().map(|(x, y)| x + y).collect()),
        1 => (s.sub(&a.0, &b.0), pairs().map(|(x, y)| x - y).collect()),
        2 => (s.mul(&a.0, &b.0), pairs().map(|(x, y)| x.saturating_mul(y)).collect()),
        3 => (s.min(&a.0, &b.0), pairs().map(|(x, y)| x.min(y)).collect()),
        4 => (s.max(&a.0, &b.0), pairs().map(|(x, y)| x.max(y)).collect()),
        _ if !divides => (s.floor_div(&a.0, &b.0), vec![]),
        5 => (s.floor_div(&a.0, &b.0), pairs().map(|(x, y)| floor(x, y)).collect()),
        6 => (s.ceil_div(&a.0, &b.0), pairs().map(|(x, y)| -floor(-x, y)).collect()),
        _ => (s.modulo(&a.0, &b.0), pairs().map(|(x, y)| x - y * floor(x, y)).collect()),
    };
    let expr = expr?;
    assert!(!values.is_empty(), "division by a value that may be 0");
    values.iter().all(|v| v.unsigned_abs() < 1 << 40).then_some((expr, values))
}

fn check(s: &Symbols, (expr, values): &Sample, points: &[[i64; 3]]) {
    let interval = s.interval(expr);
    for (point, value) in points.iter().zip(values) {
        let got = s.eval(expr, &|id| point.get(id.index()).copied());
        let shown = s.display(expr);
        assert_eq!(got, Some(*value), "{shown} at {point:?}");
        assert!(interval.contains(*value), "{shown} at {point:?} in {interval}");
    }
    // The output parses back, unless a fact recorded since then simplifies it.
    let parsed = s.parse(&s.display(expr).to_string()).unwrap();
    assert!(s.has_refinements() || parsed == *expr, "{}", s.display(expr));
    for (point, value) in points.iter().zip(values) {
        let got = s.eval(&parsed, &|id| point.get(id.index()).copied());
        assert_eq!(got, Some(*value), "{} at {point:?}", s.display(expr));
    }
    // Adding 0 normalises again, which must not change the expression.
    assert_eq!(s.add(expr, &c(0)).as_ref(), Some(expr));
}
