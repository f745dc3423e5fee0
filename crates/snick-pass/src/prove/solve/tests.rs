use snick_certificate::{Combination, Poly};

use super::contradiction;
use super::obligations::{Obligation, linear, nonlinear};

/// The sum of coefficients times atoms, and a constant.
fn poly(terms: &[(i128, u32)], constant: i128) -> Poly {
    let sum = |sum: Poly, &(factor, atom): &(i128, u32)| sum.plus(factor, &Poly::atom(atom)).unwrap();
    terms.iter().fold(Poly::constant(constant), sum)
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
fn a_negative_constant_contradicts() {
    let premises = [poly(&[(1, 0)], 0), poly(&[], -1)];
    assert_eq!(contradiction(&premises), Some(Combination(vec![(1, vec![1])])));
    assert_eq!(contradiction(&premises[..1]), None);
    assert_eq!(contradiction(&[]), None);
}

#[test]
fn statements_with_known_steps_are_proved() {
    check(&linear());
}

#[test]
fn statements_with_products_are_proved() {
    check(&nonlinear());
}
