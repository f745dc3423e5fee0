//! Tests polynomials by their values at random points.

use proptest::prelude::*;
use snick_certificate::{AtomId, Combination, Monomial, Poly, TooLarge, gcd};

const ATOMS: AtomId = 4;

fn poly() -> impl Strategy<Value = Poly> {
    let monomial = prop::collection::vec(0..ATOMS, 0..=2);
    prop::collection::vec((monomial, -20_i128..=20), 0..6).prop_map(|terms| {
        terms.iter().fold(Poly::default(), |sum, (monomial, coefficient)| {
            let atoms = monomial.iter().map(|&atom| Poly::atom(atom));
            let product = atoms.fold(Poly::constant(1), |product, atom| product.times(&atom).unwrap());
            sum.plus(*coefficient, &product).unwrap()
        })
    })
}

fn point() -> impl Strategy<Value = [i128; ATOMS as usize]> {
    prop::array::uniform4(-9_i128..=9)
}

fn value(poly: &Poly, point: &[i128]) -> i128 {
    let product = |monomial: &Monomial| monomial.iter().map(|&atom| point[atom as usize]).product::<i128>();
    poly.terms().map(|(monomial, coefficient)| coefficient * product(monomial)).sum()
}

proptest! {
    #[test]
    fn arithmetic_agrees_with_that_of_values(
        a in poly(), b in poly(), factor in -9_i128..=9, point in point()
    ) {
        let [x, y] = [&a, &b].map(|poly| value(poly, &point));
        prop_assert_eq!(value(&a.plus(factor, &b).unwrap(), &point), x + factor * y);
        prop_assert_eq!(value(&a.times(&b).unwrap(), &point), x * y);
        prop_assert_eq!(value(&a.times_constant(factor).unwrap(), &point), x * factor);
        prop_assert_eq!(value(&a.plus_constant(factor).unwrap(), &point), x + factor);
        prop_assert_eq!(value(&a.negated().unwrap(), &point), -1 - x);
    }

    #[test]
    fn equal_polynomials_are_equal_values(a in poly(), b in poly(), c in poly()) {
        let plus = |a: &Poly, b: &Poly| a.plus(1, b).unwrap();
        let times = |a: &Poly, b: &Poly| a.times(b).unwrap();
        prop_assert_eq!(plus(&a, &b), plus(&b, &a));
        prop_assert_eq!(plus(&plus(&a, &b), &c), plus(&a, &plus(&b, &c)));
        prop_assert_eq!(times(&a, &b), times(&b, &a));
        prop_assert_eq!(times(&plus(&a, &b), &c), plus(&times(&a, &c), &times(&b, &c)));
        prop_assert_eq!(a.plus(-1, &a).unwrap(), Poly::default());
        prop_assert_eq!(times(&a, &Poly::constant(1)), a.clone());
        prop_assert_eq!(times(&a, &Poly::default()), Poly::default());
        prop_assert_eq!(a.negated().unwrap().negated().unwrap(), a);
    }

    #[test]
    fn terms_are_sorted_and_not_0(a in poly(), b in poly()) {
        let product = a.times(&b).unwrap();
        let terms: Vec<_> = product.terms().collect();
        prop_assert!(terms.is_sorted_by(|(a, _), (b, _)| a < b));
        prop_assert!(terms.iter().all(|(monomial, coefficient)| monomial.is_sorted() && *coefficient != 0));
        let constant_term = terms.iter().find(|(monomial, _)| monomial.is_empty());
        let constant = constant_term.map_or(0, |&(_, constant)| constant);
        prop_assert_eq!(product.constant_term(), constant);
        let is_constant = terms.iter().all(|(monomial, _)| monomial.is_empty());
        prop_assert_eq!(product.as_constant(), is_constant.then_some(constant));
    }

    #[test]
    fn tightened_polynomials_keep_their_sign(
        a in poly(), factor in 1_i128..=6, constant in -9_i128..=9, point in point()
    ) {
        let scaled = a.times_constant(factor).unwrap().plus_constant(constant).unwrap();
        let tightened = scaled.clone().tightened();
        prop_assert_eq!(value(&scaled, &point) >= 0, value(&tightened, &point) >= 0);
        let variable = tightened.terms().filter(|(monomial, _)| !monomial.is_empty());
        prop_assert!(variable.fold(0, |divisor, (_, coefficient)| gcd(divisor, coefficient)) <= 1);
    }

    #[test]
    fn common_divisors_are_the_greatest(a in -99_i128..=99, b in -99_i128..=99) {
        let divides = |divisor: i128| a % divisor == 0 && b % divisor == 0;
        let greatest = (1..=99).rev().find(|&divisor| divides(divisor)).unwrap_or(1);
        prop_assert_eq!(gcd(a, b), if (a, b) == (0, 0) { 0 } else { greatest });
    }

    #[test]
    fn sums_that_contradict_are_negative_at_every_point(
        a in poly(), b in poly(), factors in prop::array::uniform2(-2_i64..=5), constant in -3_i128..=3,
        point in point()
    ) {
        // The last premise cancels the others up to a constant.
        let sum = a.times(&b).unwrap().times_constant(factors[0].into()).unwrap().plus(factors[1].into(), &a).unwrap();
        let premises = [a, b, Poly::constant(constant).plus(-1, &sum).unwrap()];
        let terms = [(factors[0], vec![0, 1]), (factors[1], vec![0]), (1, vec![2])];
        let positive: Vec<_> = terms.iter().filter(|(factor, _)| *factor != 0).cloned().collect();
        let is_proof = factors.iter().all(|factor| *factor >= 0) && constant < 0;
        prop_assert_eq!(Combination(positive.clone()).contradicts(&premises), is_proof);
        if is_proof {
            let values = premises.map(|premise| value(&premise, &point));
            let product = |factors: &[usize]| factors.iter().map(|&factor| values[factor]).product::<i128>();
            prop_assert_eq!(positive.iter().map(|(factor, factors)| i128::from(*factor) * product(factors)).sum::<i128>(), constant);
        }
    }
}

#[test]
fn tightened_polynomials_round_the_constant_down() {
    let double = Poly::atom(0).times_constant(2).unwrap();
    for (constant, expected) in [(-3, -2), (-1, -1), (0, 0), (1, 0), (3, 1)] {
        let tightened = double.plus_constant(constant).unwrap().tightened();
        assert_eq!(tightened, Poly::atom(0).plus_constant(expected).unwrap());
    }
    assert_eq!(Poly::constant(-4).tightened(), Poly::constant(-4));
}

#[test]
fn zero_has_no_terms() {
    assert_eq!(Poly::constant(0), Poly::default());
    assert_eq!(Poly::default().as_constant(), Some(0));
}

#[test]
fn overflow_is_none() {
    let large = Poly::atom(0).times_constant(i128::MAX).unwrap();
    assert_eq!(large.plus(1, &Poly::atom(0)), Err(TooLarge));
    assert_eq!(large.plus(2, &large), Err(TooLarge));
    assert_eq!(large.times_constant(2), Err(TooLarge));
    assert_eq!(large.times(&large), Err(TooLarge));
    assert_eq!(Poly::constant(i128::MAX).plus_constant(1), Err(TooLarge));
    assert_eq!(Poly::constant(i128::MAX).negated().unwrap().as_constant(), Some(i128::MIN));
    assert_eq!(gcd(i128::MIN, i128::MIN), 1);
    assert_eq!(gcd(i128::MIN, 6), 2);
    let tightened = Poly::atom(0).times_constant(i128::MIN).unwrap().tightened();
    assert_eq!(tightened, Poly::atom(0).times_constant(i128::MIN).unwrap());
}

#[test]
fn many_terms_and_factors_are_too_large() {
    let sum = |from: AtomId, count: AtomId| {
        (from..from + count).fold(Poly::default(), |sum, atom| sum.plus(1, &Poly::atom(atom)).unwrap())
    };
    assert_eq!(sum(0, 8).times(&sum(8, 8)).unwrap().terms().count(), 64);
    assert_eq!(sum(0, 8).times(&sum(8, 9)), Err(TooLarge));
    assert_eq!(sum(0, 64).plus(1, &Poly::atom(64)), Err(TooLarge));
    let power =
        |exponent: usize| (0..exponent).try_fold(Poly::constant(1), |power, _| power.times(&Poly::atom(0)));
    assert!(power(8).is_ok());
    assert_eq!(power(9), Err(TooLarge));
}

#[test]
fn no_other_combination_contradicts() {
    let premises = [Poly::atom(0), Poly::atom(0).negated().unwrap(), Poly::constant(1)];
    let contradicts = |terms: &[(i64, Vec<usize>)]| Combination(terms.to_vec()).contradicts(&premises);
    assert!(contradicts(&[(1, vec![0]), (1, vec![1])]));
    assert!(!contradicts(&[]));
    assert!(!contradicts(&[(1, vec![0]), (2, vec![1])]));
    assert!(!contradicts(&[(1, vec![0]), (1, vec![1]), (1, vec![2])]));
    assert!(!contradicts(&[(-1, vec![2])]));
    assert!(!contradicts(&[(1, vec![0]), (1, vec![1]), (0, vec![2])]));
    assert!(!contradicts(&[(1, vec![0]), (1, vec![1]), (1, vec![3])]));
    assert!(!contradicts(&[(i64::MAX, vec![1]), (i64::MAX, vec![0]), (i64::MAX, vec![1])]));
}

#[test]
fn terms_are_divided_one_by_one() {
    let poly = |terms: &[(i128, &[AtomId])]| {
        terms.iter().fold(Poly::ZERO, |sum, (coefficient, atoms)| {
            let atoms = atoms.iter().map(|atom| Poly::atom(*atom));
            let product = atoms.fold(Poly::constant(1), |product, atom| product.times(&atom).unwrap());
            sum.plus(*coefficient, &product).unwrap()
        })
    };
    let dividend = poly(&[(6, &[0, 1]), (5, &[0]), (-7, &[0, 0]), (4, &[1]), (3, &[])]);
    let divided = dividend.divided(&poly(&[(2, &[0])]));
    assert_eq!(
        divided,
        (poly(&[(3, &[1]), (2, &[]), (-4, &[0])]), poly(&[(1, &[0]), (1, &[0, 0]), (4, &[1]), (3, &[])]))
    );
    assert_eq!(dividend.divided(&Poly::constant(1)), (dividend.clone(), Poly::ZERO));
    assert_eq!(dividend.divided(&poly(&[(1, &[0]), (1, &[1])])), (Poly::ZERO, dividend.clone()));
    assert_eq!(dividend.divided(&Poly::ZERO), (Poly::ZERO, dividend));
    assert!(!TooLarge.to_string().is_empty());
}
