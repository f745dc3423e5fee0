//! Certificates that two graphs compute the same for all sizes, and their checker.

mod poly;

pub use poly::{AtomId, Monomial, Poly};

/// A proof that some premises contradict each other: a sum of products of premises, each with a positive
/// coefficient, that equals a negative constant. Every premise is a polynomial that is at least 0.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Combination(pub Vec<(i128, Vec<usize>)>);

impl Combination {
    /// Whether the sum is a negative constant.
    pub fn contradicts(&self, premises: &[Poly]) -> bool {
        let sum = self.0.iter().try_fold(Poly::default(), |sum, (factor, product)| {
            let product = product.iter().try_fold(Poly::constant(1), |product, &premise| {
                product.times(premises.get(premise)?)
            })?;
            if *factor <= 0 { None } else { sum.plus(*factor, &product) }
        });
        sum.and_then(|sum| sum.as_constant()).is_some_and(|constant| constant < 0)
    }
}
