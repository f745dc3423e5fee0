//! Checks rules that declare a tolerance a second time, on the same layers with other constants.
//!
//! The constants of a model can hide a mistake in a rule that folds them. For example, a forgotten epsilon
//! has no effect if it is added to a variance of 1. Constants of many magnitudes reveal such a mistake.

use std::slice;

use snick_ir::ops::source::constant::Constant;
use snick_ir::rewrite::{self, Check, DriverOptions, Proposal};
use snick_ir::{Graph, Known, NodeId, Op, Value};
use snick_tensor::{SplitMix, Tensor};

use super::claim::Claim;
use super::region::{Reach, Region};
use super::report::as_test;
use super::sample::{Fill, Sample, Samples, random_tensor};

/// The number of times that a rule is applied with different constants.
const ROUNDS: u64 = 3;

/// Verifies a claim; the error reports why it is wrong.
type Decide<'a> = dyn FnMut(&Claim) -> Result<(), String> + 'a;

/// Applies the rule of a correct replacement again with other constants, and reports the first failure. Only
/// needed if the replacement has a tolerance and folds float constants.
pub(super) fn check_with_others(
    proposal: &Proposal,
    claim: &Claim,
    seed: u64,
    decide: &mut Decide<'_>,
) -> Result<(), String> {
    let folded = folded(proposal.graph, proposal.added);
    if proposal.rule.is_exact() || folded.is_empty() {
        return Ok(());
    }
    let Some(region) = Region::of(claim, Reach::Near) else { return Ok(()) };
    let is_full = |sample: &Sample| sample.tensors.values().all(|tensor| !tensor.is_empty());
    let Some(mut sample) = Samples::of(claim, &region, false, seed).find(is_full) else {
        return Ok(());
    };
    for round in 0..ROUNDS {
        let mut random = SplitMix::new(seed.wrapping_add(round));
        for &leaf in region.leaves.iter().filter(|leaf| is_float_constant(proposal.graph, **leaf)) {
            let Some(tensor) = sample.tensors.get_mut(&leaf) else { continue };
            let (element_type, len) = (tensor.element_type(), tensor.len());
            let other = random_tensor(element_type, tensor.dims(), len, Fill::Positive, &mut random);
            *tensor = other.unwrap_or_else(|| tensor.clone());
        }
        let mut test = as_test(claim, &region, &sample);
        let mut again = Again { decide: &mut *decide, folded: &folded };
        let options =
            DriverOptions { check: Some(&mut again), stop_after: Some(1), ..DriverOptions::default() };
        let trace = rewrite::apply(&mut test, slice::from_ref(proposal.rule), options);
        if let Some(failure) = trace.check_failures.into_iter().next() {
            return Err(failure.report);
        }
    }
    Ok(())
}

/// Checks the replacements that the rule makes in a test graph.
struct Again<'a, 'd> {
    decide: &'a mut Decide<'d>,
    /// The constants that the rule folded in the model.
    folded: &'a [Tensor],
}

impl Check for Again<'_, '_> {
    fn check(&mut self, proposal: &Proposal) -> Result<(), String> {
        // If the rule adds the same constants again, they come from the model that the rule was written for,
        // not from the layers. Such a rule is only valid for this model.
        if folded(proposal.graph, proposal.added) == self.folded {
            return Ok(());
        }
        (self.decide)(&Claim::of(proposal))
    }
}

/// The float constants among these nodes.
fn folded(graph: &Graph, added: &[NodeId]) -> Vec<Tensor> {
    let constant = |&id: &NodeId| match graph.node(id).op() {
        Op::Const(Constant::Here(tensor)) if tensor.element_type().is_float() => Some(Tensor::clone(tensor)),
        _ => None,
    };
    added.iter().filter_map(constant).collect()
}

/// Whether a value is a float constant, possibly converted or reshaped.
fn is_float_constant(graph: &Graph, value: Value) -> bool {
    let fact = graph.fact(value);
    fact.is_some_and(|fact| fact.element_type.is_float() && matches!(fact.known, Some(Known::Tensor(_))))
}
