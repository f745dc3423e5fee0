//! Searches for proofs.

use std::collections::HashSet;

use snick_certificate::{Answer, Equalities, Guide, Lemma, Poly, Problem, Proof, Value};
use snick_ir::Monitor;

use super::solve::Solver;

/// Maximum number of questions in the proof of an equality, and in all proofs of a problem.
const MAX_QUESTIONS: usize = 4_000;
const MAX_ALL_QUESTIONS: usize = 100_000;

/// A problem, and pairs of values whose equality may help to prove the claims, in topological order of the second
/// values.
#[derive(Default)]
pub(crate) struct Task {
    pub(crate) problem: Problem,
    pub(super) candidates: Vec<(Value, Value)>,
    /// The tasks of the pairs of bodies.
    pub(super) bodies: Vec<Task>,
}

/// What a search found.
pub(crate) struct Found {
    pub(crate) proof: Proof,
    /// Why each claim was not proved; `None` if it was.
    pub(crate) reasons: Vec<Option<String>>,
    /// The contradictions that were found: lists of polynomials that are not all at least 0.
    pub(crate) leaves: Vec<Vec<Poly>>,
}

/// Searches for a proof of the claims, until the monitor stops the work. `place` is the name of the graph, for
/// reports of progress.
pub(crate) fn search(task: &Task, monitor: &mut Monitor, place: &str) -> Found {
    let mut questions = MAX_ALL_QUESTIONS;
    search_within(task, &mut questions, monitor, place)
}

fn search_within(task: &Task, questions: &mut usize, monitor: &mut Monitor, place: &str) -> Found {
    let problem = &task.problem;
    let mut proof = Proof::default();
    let mut leaves = Vec::new();
    let mut equal_bodies = Vec::new();
    for (number, (pair, body)) in problem.bodies.iter().zip(&task.bodies).enumerate() {
        let found = search_within(body, questions, monitor, place);
        if found.reasons.iter().all(Option::is_none) {
            equal_bodies.push((pair.before, pair.after));
            proof.bodies.push((number, found.proof));
            leaves.extend(found.leaves);
        }
    }
    let mut equalities = Equalities::new(&problem.graph, equal_bodies);
    let mut tried = HashSet::new();
    let mut prove = |before: Value, after: Value| -> Result<(), String> {
        equalities.advance(before.node.max(after.node) + 1);
        if equalities.first(before) == equalities.first(after) {
            return Ok(());
        }
        let mut guide = Search {
            answers: Vec::new(),
            leaves: Vec::new(),
            questions: MAX_QUESTIONS.min(*questions),
            solver: Solver::default(),
        };
        let start = guide.questions;
        let proved = equalities.prove(before, after, &mut guide);
        *questions -= start - guide.questions;
        if proved.is_ok() {
            proof.lemmas.push(Lemma { before, after, answers: guide.answers });
            leaves.extend(guide.leaves);
        }
        proved
    };
    let first_graph = problem.nodes_before();
    // A checker skips the pairs that are not proved. It finds the same equalities only if no pair reaches nodes
    // before the lemma of an earlier node is proved.
    let candidates = task.candidates.iter().map(|&pair| (pair, None));
    let claims = (0..).zip(&problem.claims).map(|(claim, &pair)| (pair, Some(claim)));
    let mut pairs: Vec<((Value, Value), Option<usize>)> = candidates.chain(claims).collect();
    pairs.sort_by_key(|((before, after), _)| before.node.max(after.node));
    let mut reasons = vec![None; problem.claims.len()];
    let count = pairs.len();
    for (done, ((before, after), claim)) in (1..).zip(pairs) {
        if monitor.is_stopped() {
            reasons.iter_mut().for_each(|reason| *reason = Some("the search was stopped".to_string()));
            break;
        }
        monitor.report(done, count, place);
        match claim {
            Some(claim) => reasons[claim] = prove(before, after).err(),
            // A candidate that is not proved may not be needed.
            None if first_graph.contains(&before.node) && tried.insert((before, after)) => {
                _ = prove(before, after);
            }
            None => {}
        }
    }
    proof.claims = (0..reasons.len()).filter(|&claim| reasons[claim].is_none()).collect();
    Found { proof, reasons, leaves }
}

/// A guide that decides questions, and records its answers.
struct Search {
    answers: Vec<Answer>,
    leaves: Vec<Vec<Poly>>,
    /// The number of questions that may still be asked.
    questions: usize,
    solver: Solver,
}

impl Search {
    fn decide(&mut self, premises: &[Poly], polynomial: &Poly, must_decide: bool) -> Option<Answer> {
        self.questions = self.questions.checked_sub(1)?;
        let negated = [premises, &[polynomial.negated().ok()?]].concat();
        if let Some(combination) = self.solver.contradiction(&negated) {
            self.leaves.push(negated);
            return Some(Answer::Holds(combination));
        }
        if !must_decide {
            return None;
        }
        let assumed = [premises, std::slice::from_ref(polynomial)].concat();
        Some(match self.solver.contradiction(&assumed) {
            Some(combination) => {
                self.leaves.push(assumed);
                Answer::Fails(combination)
            }
            None => Answer::Split,
        })
    }
}

impl Guide for Search {
    fn answer(&mut self, premises: &[Poly], polynomial: &Poly, must_decide: bool) -> Answer {
        let answer = self.decide(premises, polynomial, must_decide).unwrap_or(Answer::Unknown);
        self.answers.push(answer.clone());
        answer
    }
}
