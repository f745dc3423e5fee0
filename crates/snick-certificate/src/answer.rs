//! The answers that a certificate consists of.

use crate::poly::Poly;

/// A proof that some premises contradict each other: a sum of products of premises, each with a positive
/// coefficient, that equals a negative constant. Every premise is a polynomial that is at least 0.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Combination(pub Vec<(i64, Vec<usize>)>);

impl Combination {
    /// Whether the sum is a negative constant.
    pub fn contradicts(&self, premises: &[Poly]) -> bool {
        let sum = self.0.iter().try_fold(Poly::ZERO, |sum, (factor, product)| {
            let product = product.iter().try_fold(Poly::constant(1), |product, &premise| {
                product.times(premises.get(premise)?).ok()
            })?;
            if *factor > 0 { sum.plus((*factor).into(), &product).ok() } else { None }
        });
        sum.and_then(|sum| sum.as_constant()).is_some_and(|constant| constant < 0)
    }
}

/// The answer to the question whether a polynomial is at least 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It is: the premises and `-1 - polynomial` contradict each other.
    Holds(Combination),
    /// It is not: the premises and the polynomial contradict each other.
    Fails(Combination),
    /// Both are possible, so the proof continues with one case after the other.
    Split,
    /// Not known.
    Unknown,
}

/// Answers questions: from a certificate, or by searching.
pub trait Guide {
    /// Whether `polynomial` is at least 0 where all `premises` are. If `must_decide`, the proof fails without
    /// a decision; otherwise, the only useful answers are [`Answer::Holds`] and [`Answer::Unknown`].
    fn answer(&mut self, premises: &[Poly], polynomial: &Poly, must_decide: bool) -> Answer;
}

/// A guide that repeats recorded answers.
#[derive(Clone, Debug)]
pub struct Recorded<'a>(std::slice::Iter<'a, Answer>);

impl<'a> Recorded<'a> {
    /// Repeats these answers.
    pub fn new(answers: &'a [Answer]) -> Self {
        Self(answers.iter())
    }

    /// Whether all answers were used.
    pub fn is_used_up(&self) -> bool {
        self.0.as_slice().is_empty()
    }
}

impl Guide for Recorded<'_> {
    fn answer(&mut self, _: &[Poly], _: &Poly, _: bool) -> Answer {
        self.0.next().cloned().unwrap_or(Answer::Unknown)
    }
}
