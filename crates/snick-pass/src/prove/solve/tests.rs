//! Tests of the search for contradictions.

use snick_certificate::{Combination, Poly};
use snick_tensor::SplitMix;

use super::cases::Obligation;
use super::obligations::{linear, nonlinear};
use super::{LONG_PROOF, MAX_WORK, Solver};

pub(super) fn contradiction(premises: &[Poly]) -> Option<Combination> {
    Solver::default().contradiction(premises)
}

/// The sum of coefficients times atoms, and a constant.
fn poly(terms: &[(i128, u32)], constant: i128) -> Poly {
    let sum = |sum: Poly, &(factor, atom): &(i128, u32)| sum.plus(factor, &Poly::atom(atom)).unwrap();
    terms.iter().fold(Poly::constant(constant), sum)
}

/// A polynomial with small coefficients that is between 0 and 2 at a point.
fn random_premise(point: &[i128], terms: u64, degree: u64, random: &mut SplitMix) -> Poly {
    let mut sum = Poly::default();
    let mut value = 0;
    for _ in 0..=random.below(terms) {
        let mut product = Poly::constant(1);
        let coefficient = i128::from(random.below(7)) - 3;
        let mut factor = coefficient;
        for _ in 0..=random.below(degree) {
            let atom = random.below(point.len() as u64);
            product = product.times(&Poly::atom(atom as u32)).unwrap();
            factor *= point[atom as usize];
        }
        sum = sum.plus(coefficient, &product).unwrap();
        value += factor;
    }
    sum.plus_constant(i128::from(random.below(3)) - value).unwrap()
}

fn random_point(atoms: u64, random: &mut SplitMix) -> Vec<i128> {
    (0..atoms).map(|_| i128::from(random.below(21)) - 10).collect()
}

fn check(obligations: &[Obligation]) {
    let mut open = Vec::new();
    for obligation in obligations {
        for premises in obligation.leaves() {
            match contradiction(&premises) {
                Some(combination) => assert!(combination.contradicts(&premises)),
                None => open.push(format!("{}: {premises:?}", obligation.title)),
            }
        }
    }
    assert!(open.is_empty(), "{}", open.join("\n"));
}

#[test]
fn statements_with_products_are_proved_among_other_premises() {
    let mut random = SplitMix::new(4);
    for obligation in nonlinear() {
        for mut premises in obligation.leaves() {
            let last = premises.pop().unwrap();
            for atom in 0..obligation.names.len() as u32 {
                let others = [
                    poly(&[(1, atom)], 1000),
                    poly(&[(-1, atom)], 100_000),
                    poly(&[(1, atom), (-1, random.below(6) as u32)], 5000),
                    Poly::atom(atom).times(&Poly::atom(100 + atom)).unwrap(),
                    poly(&[(1, 100 + atom)], -1),
                ];
                for other in others {
                    premises.insert(random.below(premises.len() as u64 + 1) as usize, other);
                }
            }
            premises.push(last);
            let combination = contradiction(&premises).unwrap_or_else(|| panic!("{}", obligation.title));
            assert!(combination.contradicts(&premises));
        }
    }
}

#[test]
fn a_negative_constant_contradicts() {
    let premises = [poly(&[(1, 0)], 0), poly(&[], -1)];
    assert_eq!(contradiction(&premises), Some(Combination(vec![(1, vec![1])])));
    assert_eq!(contradiction(&premises[..1]), None);
    assert_eq!(contradiction(&[]), None);
}

#[test]
fn the_last_premise_may_be_opposite_to_another() {
    let premises = [poly(&[(1, 0), (-2, 1)], 3), poly(&[(1, 0)], 0), poly(&[(-1, 0), (2, 1)], -4)];
    assert_eq!(contradiction(&premises), Some(Combination(vec![(1, vec![0]), (1, vec![2])])));
    let premises = [poly(&[(1, 0), (-2, 1)], 4), poly(&[(1, 0)], 0), poly(&[(-1, 0), (2, 1)], -4)];
    assert_eq!(contradiction(&premises), None);
}

#[test]
fn multipliers_have_no_common_divisor() {
    // 3 a >= 2 b + 1, 2 b >= 3 c, c >= a
    let premises = [poly(&[(3, 0), (-2, 1)], -1), poly(&[(2, 1), (-3, 2)], 0), poly(&[(1, 2), (-1, 0)], 0)];
    let expected = vec![(1, vec![0]), (1, vec![1]), (3, vec![2])];
    assert_eq!(contradiction(&premises), Some(Combination(expected)));
}

#[test]
fn premises_unrelated_to_the_last_one_may_contradict() {
    let premises = [
        poly(&[(1, 0), (-1, 1)], 0),
        poly(&[(1, 5)], 0),
        poly(&[(1, 1), (-1, 2)], 0),
        poly(&[(-1, 5)], 9),
        poly(&[(1, 2), (-1, 0)], -1),
        poly(&[(1, 7)], 0),
    ];
    let combination = contradiction(&premises).unwrap();
    assert_eq!(combination.0.len(), 3);
    assert!(combination.contradicts(&premises));
}

#[test]
fn premises_far_from_the_last_one_are_found_among_many() {
    // a0 < a1 < .. < a40 < a0, the first premises about other atoms
    let mut premises: Vec<Poly> =
        (0..500).map(|atom| poly(&[(1, 100 + atom), (-1, 101 + atom)], 5)).collect();
    premises.extend((0..40).map(|atom| poly(&[(-1, atom), (1, atom + 1)], -1)));
    premises.push(poly(&[(-1, 40), (1, 0)], -1));
    let combination = contradiction(&premises).unwrap();
    assert_eq!(combination.0.len(), 41);
    assert!(combination.contradicts(&premises));
}

#[test]
fn queries_of_long_proofs_do_less_work() {
    // a0 < a1 < .. < an < a0
    let circle = |n: u32| {
        let ascending = (0..n).map(|atom| poly(&[(-1, atom), (1, atom + 1)], -1));
        ascending.chain([poly(&[(-1, n), (1, 0)], -1)]).collect::<Vec<_>>()
    };
    let mut solver = Solver::default();
    assert!(solver.contradiction(&circle(40)).is_some());
    assert!((1..=MAX_WORK).contains(&solver.work));
    solver.work = LONG_PROOF;
    assert_eq!(solver.contradiction(&circle(40)), None);
    assert!(solver.contradiction(&circle(4)).is_some());
}

#[test]
fn premises_close_to_the_last_one_come_first() {
    // a < b < c < a
    let contradictory =
        [poly(&[(-1, 0), (1, 1)], -1), poly(&[(-1, 1), (1, 2)], -1), poly(&[(-1, 2), (1, 0)], -1)];
    let chain = (0..400).map(|atom| poly(&[(1, atom), (-1, atom + 1)], 5)).rev();
    let star = (3..400).map(|atom| poly(&[(1, 0), (1, 1), (1, 2), (1, atom)], 5));
    for others in [chain.collect::<Vec<_>>(), star.collect()] {
        let premises = [&others[..], &contradictory].concat();
        assert!(contradiction(&premises).is_some_and(|combination| combination.contradicts(&premises)));
    }
}

#[test]
fn large_coefficients_give_no_panic() {
    for large in [i128::MAX, i128::MIN, i128::MIN + 1, i128::MAX / 3] {
        let premises = [
            poly(&[(large, 0), (3, 1)], large),
            poly(&[(-7, 0), (large, 2)], -1),
            poly(&[(large, 1), (large, 2)], i128::MIN),
            poly(&[(-5, 0), (-3, 1), (11, 2)], large),
        ];
        for end in 0..=premises.len() {
            if let Some(combination) = contradiction(&premises[..end]) {
                assert!(combination.contradicts(&premises[..end]));
            }
        }
    }
}

#[test]
fn premises_with_a_solution_never_contradict() {
    let mut random = SplitMix::new(1);
    for round in 0..1000 {
        let point = random_point(2 + round % 5, &mut random);
        let degree = 1 + round % 3;
        let count = 1 + random.below(12);
        let premises: Vec<Poly> =
            (0..count).map(|_| random_premise(&point, 3, degree, &mut random).tightened()).collect();
        assert_eq!(contradiction(&premises), None, "{point:?} {premises:?}");
    }
}

#[test]
fn sums_of_premises_are_at_least_0() {
    let mut random = SplitMix::new(2);
    for round in 0..1000 {
        let point = random_point(3 + round % 8, &mut random);
        let mut premises: Vec<Poly> =
            (0..2 + random.below(20)).map(|_| random_premise(&point, 4, 1, &mut random)).collect();
        let mut sum = Poly::default();
        for _ in 0..1 + random.below(5) {
            let premise = &premises[random.below(premises.len() as u64) as usize];
            sum = sum.plus(1 + i128::from(random.below(4)), premise).unwrap();
        }
        premises.push(sum.negated().unwrap());
        let combination = contradiction(&premises).unwrap_or_else(|| panic!("{premises:?}"));
        assert!(combination.contradicts(&premises));
    }
}

#[test]
fn sums_with_a_product_of_premises_are_at_least_0() {
    let mut random = SplitMix::new(3);
    for round in 0..300 {
        let point = random_point(3 + round % 4, &mut random);
        let mut premises: Vec<Poly> =
            (0..3 + random.below(8)).map(|_| random_premise(&point, 3, 1, &mut random)).collect();
        let mut pick = || premises[random.below(premises.len() as u64) as usize].clone();
        let sum = pick().times(&pick()).and_then(|product| product.plus(2, &pick())).unwrap();
        premises.push(sum.negated().unwrap());
        let combination = contradiction(&premises).unwrap_or_else(|| panic!("{round} {premises:?}"));
        assert!(combination.contradicts(&premises));
    }
}

#[test]
fn statements_with_known_steps_are_proved() {
    check(&linear());
}

#[test]
fn statements_with_products_are_proved() {
    check(&nonlinear());
}
