//! Searches the answers that proofs consist of.

use snick_certificate::{Answer, Guide, Poly};

use super::solve::contradiction;

/// A guide that decides questions, and records its answers.
#[derive(Default)]
pub(super) struct Search {
    pub(super) answers: Vec<Answer>,
    /// The number of questions that may still be asked.
    questions: usize,
}

/// Maximum number of questions in a proof.
const MAX_QUESTIONS: usize = 4_000;

impl Search {
    pub(super) fn new() -> Self {
        Self { answers: Vec::new(), questions: MAX_QUESTIONS }
    }

    fn decide(&mut self, premises: &[Poly], polynomial: &Poly, must_decide: bool) -> Option<Answer> {
        self.questions = self.questions.checked_sub(1)?;
        let with = |poly: &Poly| [premises, std::slice::from_ref(poly)].concat();
        if let Some(combination) = contradiction(&with(&polynomial.negated()?)) {
            return Some(Answer::Holds(combination));
        }
        if must_decide && let Some(combination) = contradiction(&with(polynomial)) {
            return Some(Answer::Fails(combination));
        }
        must_decide.then_some(Answer::Split)
    }
}

impl Guide for Search {
    fn answer(&mut self, premises: &[Poly], polynomial: &Poly, must_decide: bool) -> Answer {
        let answer = self.decide(premises, polynomial, must_decide).unwrap_or(Answer::Unknown);
        self.answers.push(answer.clone());
        answer
    }
}
