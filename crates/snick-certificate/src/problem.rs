//! Problems, and the proofs that solve them.

use std::collections::HashSet;

use crate::answer::{Answer, Recorded};
use crate::equalities::Equalities;
use crate::graph::{Graph, Value};

/// Two graphs in one, and what is claimed about them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Problem {
    /// The graph.
    pub graph: Graph,
    /// Pairs of values, before and after a change, that are claimed to be equal.
    pub claims: Vec<(Value, Value)>,
    /// Pairs of bodies that may be equal, by the numbers in [`Node::bodies`](crate::Node::bodies).
    pub bodies: Vec<BodyProblem>,
}

/// Two bodies, and the problem whose claims make them equal.
#[derive(Clone, PartialEq, Debug)]
pub struct BodyProblem {
    /// The number of the body before the change.
    pub before: usize,
    /// The number of the body after the change.
    pub after: usize,
    /// What must be proved: that the bodies have equal results for equal inputs.
    pub problem: Problem,
}

/// A proof of claims of a problem.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Proof {
    /// Equalities, in the order in which they are proved.
    pub lemmas: Vec<Lemma>,
    /// Numbers of bodies of the problem, and the proofs that they are equal.
    pub bodies: Vec<(usize, Proof)>,
    /// The numbers of the proved claims.
    pub claims: Vec<usize>,
}

/// A proved equality.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lemma {
    /// The value before a change.
    pub before: Value,
    /// The value after it.
    pub after: Value,
    /// The answers to the questions of the checker, in order.
    pub answers: Vec<Answer>,
}

/// Largest nesting depth of bodies.
const MAX_DEPTH: usize = 16;

impl Problem {
    /// The nodes of the first graph that the claims depend on. Only values of these nodes are known to exist, so
    /// each [`Lemma::before`] must be one of them.
    pub fn nodes_before(&self) -> HashSet<usize> {
        let mut nodes = HashSet::new();
        let mut todo: Vec<usize> = self.claims.iter().map(|(before, _)| before.node).collect();
        while let Some(number) = todo.pop() {
            if nodes.insert(number)
                && let Some(node) = self.graph.nodes.get(number)
            {
                todo.extend(node.inputs.iter().flatten().map(|input| input.node));
            }
        }
        nodes
    }
}

impl Proof {
    /// Checks that the proof proves its claims of the problem.
    ///
    /// # Errors
    /// The step that fails, and why.
    pub fn check(&self, problem: &Problem) -> Result<(), String> {
        self.check_at(problem, 0)
    }

    fn check_at(&self, problem: &Problem, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err("bodies are nested too deeply".to_string());
        }
        let mut pairs = Vec::new();
        for (number, proof) in &self.bodies {
            let body =
                problem.bodies.get(*number).ok_or_else(|| format!("there is no pair of bodies {number}"))?;
            proof
                .check_at(&body.problem, depth + 1)
                .map_err(|reason| format!("bodies {number}: {reason}"))?;
            if proof.claims.iter().copied().ne(0..body.problem.claims.len()) {
                return Err(format!("bodies {number}: not all results are proved"));
            }
            pairs.push((body.before, body.after));
        }
        let mut equalities = Equalities::new(&problem.graph, pairs);
        let first_graph = problem.nodes_before();
        for (number, lemma) in self.lemmas.iter().enumerate() {
            // An equality of a value and itself only states how far nodes are compared.
            if lemma.before != lemma.after && !first_graph.contains(&lemma.before.node) {
                return Err(format!("lemma {number}: the first value does not belong to the first graph"));
            }
            let mut guide = Recorded::new(&lemma.answers);
            equalities
                .prove(lemma.before, lemma.after, &mut guide)
                .map_err(|reason| format!("lemma {number}: {reason}"))?;
            if !guide.is_used_up() {
                return Err(format!("lemma {number}: there are too many answers"));
            }
        }
        equalities.advance(problem.graph.nodes.len());
        for &claim in &self.claims {
            let pair = problem.claims.get(claim).ok_or_else(|| format!("there is no claim {claim}"))?;
            if equalities.first(pair.0) != equalities.first(pair.1) {
                return Err(format!("claim {claim} is not proved"));
            }
        }
        Ok(())
    }
}
