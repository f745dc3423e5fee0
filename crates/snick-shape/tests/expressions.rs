//! Tests that random expressions parse back from their text, and that proved relations hold for random
//! values.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use proptest::prelude::*;
use snick_shape::{Interval, Origin, SymExpr, SymbolId, Symbols};

/// A tree of operations from which an expression is built.
#[derive(Clone, Debug)]
enum Recipe {
    Const(i64),
    Symbol(usize),
    Binary(usize, Box<[Recipe; 2]>),
}

/// Recipes with small constants and the `large` ones.
fn recipe(large: [i64; 2]) -> impl Strategy<Value = Recipe> {
    let leaf = prop_oneof![
        1 => prop_oneof![4 => -40_i64..40, 1 => prop::sample::select(large.to_vec())].prop_map(Recipe::Const),
        2 => (0_usize..4).prop_map(Recipe::Symbol),
    ];
    leaf.prop_recursive(6, 40, 2, |inner| {
        (0_usize..8, inner.clone(), inner).prop_map(|(op, a, b)| Recipe::Binary(op, Box::new([a, b])))
    })
}

const INTERVALS: [(i64, i64); 4] = [(0, i64::MAX), (1, i64::MAX), (2, 9), (-3, 5)];

const EXTREMES: [i64; 2] = [i64::MIN, i64::MAX];

/// Two symbols whose names are words, one with another name, and one without a name.
fn table() -> (Symbols, [SymExpr; 4]) {
    let mut symbols = Symbols::default();
    let names = [Some("N"), Some("past + 1"), Some("W.0"), None];
    let exprs = std::array::from_fn(|index| {
        let interval = Interval::new(INTERVALS[index].0, INTERVALS[index].1).unwrap();
        match names[index] {
            Some(name) => symbols.named(name, interval, Origin::default()).unwrap(),
            None => symbols.fresh(interval, Origin::default()),
        }
    });
    (symbols, exprs)
}

/// Builds the expression of a recipe; `None` if an operation fails.
fn build(symbols: &Symbols, leaves: &[SymExpr], recipe: &Recipe) -> Option<SymExpr> {
    let Recipe::Binary(op, operands) = recipe else {
        return Some(match recipe {
            Recipe::Const(value) => SymExpr::Const(*value),
            Recipe::Symbol(index) => leaves[*index].clone(),
            Recipe::Binary(..) => unreachable!(),
        });
    };
    let [a, b] = [&operands[0], &operands[1]].map(|operand| build(symbols, leaves, operand));
    let (a, b) = (a?, b?);
    match op {
        0 => symbols.add(&a, &b),
        1 => symbols.sub(&a, &b),
        2 => symbols.mul(&a, &b),
        3 => symbols.floor_div(&a, &b),
        4 => symbols.ceil_div(&a, &b),
        5 => symbols.modulo(&a, &b),
        6 => symbols.min(&a, &b),
        _ => symbols.max(&a, &b),
    }
}

/// Possible values of the symbols, small and large.
fn values() -> impl Strategy<Value = [i64; 4]> {
    INTERVALS.map(|(lo, hi)| {
        let near = lo..=hi.min(lo + 12);
        let far = lo..=hi.min(1 << 20);
        prop_oneof![near, far]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_parses_back(recipe in recipe([1 << 31, -1 << 40])) {
        let (symbols, leaves) = table();
        let Some(expr) = build(&symbols, &leaves, &recipe) else { return Ok(()) };
        let text = symbols.display(&expr).to_string();
        prop_assert_eq!(symbols.parse(&text), Ok(expr), "{}", text);
        let spaced: String = text.chars().flat_map(|c| if "+-*/%(),".contains(c) { vec![' ', c, ' '] } else { vec![c] }).collect();
        prop_assert!(text.contains('`') || symbols.parse(&spaced) == symbols.parse(&text), "{}", spaced);
    }

    #[test]
    fn order_is_claimed_only_where_it_holds(a in recipe(EXTREMES), b in recipe(EXTREMES), points in prop::collection::vec(values(), 20)) {
        let (symbols, leaves) = table();
        let [a, b] = [a, b].map(|recipe| build(&symbols, &leaves, &recipe));
        let (Some(a), Some(b)) = (a, b) else { return Ok(()) };
        let (le, eq) = (symbols.le(&a, &b), symbols.always_eq(&a, &b));
        let text = format!("{} and {}", symbols.display(&a), symbols.display(&b));
        for point in points {
            let at = |expr| symbols.eval(expr, &|id: SymbolId| point.get(id.index()).copied());
            if let (Some(x), Some(y)) = (at(&a), at(&b)) {
                prop_assert!(!le || x <= y, "{} at {:?}", text, point);
                prop_assert!(!eq || x == y, "{} at {:?}", text, point);
            }
        }
        // Near the limits of i64, simplification is incomplete, but the text must denote the same function.
        let shown = symbols.display(&a).to_string();
        let parsed = symbols.parse(&shown);
        prop_assert!(parsed.is_ok(), "{}", shown);
        let at = |expr: &SymExpr| symbols.eval(expr, &|id: SymbolId| INTERVALS.get(id.index()).map(|(lo, _)| lo + 1));
        // An intermediate value may overflow in one form and not in the other.
        if let (Ok(Some(parsed)), Some(built)) = (parsed.map(|expr| at(&expr)), at(&a)) {
            prop_assert_eq!(parsed, built, "{}", shown);
        }
        prop_assert!(symbols.le(&a, &a) && symbols.always_eq(&b, &b));
    }

    #[test]
    fn no_text_panics(text in "[-+*/%(),0-9NW`. maxin]{0,40}") {
        let (mut symbols, _) = table();
        if let Ok(expr) = symbols.parse(&text) {
            let shown = symbols.display(&expr).to_string();
            prop_assert_eq!(symbols.parse(&shown), Ok(expr), "{} of {}", shown, text);
        }
        let _ = symbols.parse_or_declare(&text, Interval::DIM, Origin::default());
        let _ = snick_shape::Shape::parse(&text, &mut symbols, Origin::default());
    }
}

#[test]
fn bounds_decide_a_minimum_and_a_maximum() {
    let mut symbols = Symbols::default();
    let size = |lo| Interval::new(lo, i64::MAX).unwrap();
    let wide = symbols.named("W", size(32), Origin::default()).unwrap();
    let any = symbols.named("N", size(0), Origin::default()).unwrap();
    for (text, expected) in [
        ("max((W+31)/32-1,0)", "(W+31)/32-1"),
        ("min(W,32)", "32"),
        ("max(W-32,min(N,0))", "W-32"),
        ("max((N+31)/32-1,0)", "max((N+31)/32-1,0)"),
    ] {
        let expr = symbols.parse(text).unwrap();
        assert_eq!(symbols.display(&expr).to_string(), expected, "{text} of {wide:?} and {any:?}");
    }
}

#[test]
fn products_are_printed_as_products() {
    let mut symbols = Symbols::default();
    let mut shown = |text: &str| {
        let expr = symbols.parse_or_declare(text, Interval::DIM, Origin::default()).unwrap();
        let shown = symbols.display(&expr).to_string();
        assert_eq!(symbols.parse(&shown), Ok(expr), "{text}");
        shown
    };
    let tiles = "21*max((H+31)/32,1)*max((W+31)/32,1)";
    assert_eq!(shown(tiles), tiles);
    assert_eq!(shown("4*(A+1)*(B+1)*(C+2)-3"), "4*(A+1)*(B+1)*(C+2)-3");
    assert_eq!(shown("5-(A+B)*(C+D)"), "5-(A+B)*(C+D)");
    assert_eq!(shown("(Side+1)*(Side+1)"), "(Side+1)*(Side+1)");
    assert_eq!(shown("A*B*C+A*B*D"), "A*B*(C+D)");
    assert_eq!(shown("A*(B%2)"), "A*(B%2)");
    assert_eq!(shown("2*min(2*max(A,1)*max(B,1),25)"), "2*min(2*max(A,1)*max(B,1),25)");
    assert_eq!(shown("(2*A+2)/3"), "(2*A+2)/3");
    // A product is printed only if it is shorter than the sum of terms.
    assert_eq!(shown("2*(A+B)"), "2*A+2*B");
    assert_eq!(shown("(A+1)*(A+2)-3*A"), "A*A+2");
}
