//! What a check decides: values that are claimed to be equal.

use snick_ir::rewrite::{Proposal, Tolerance};
use snick_ir::{Graph, NodeId, Value};

/// Pairs of values of one graph that are claimed to be equal, up to a tolerance.
pub(super) struct Claim<'a> {
    /// The graph, with old and new layers.
    pub(super) graph: &'a Graph,
    /// The rule or the pass.
    pub(super) rule: &'a str,
    /// The replaced layer, or the graph.
    pub(super) place: &'a str,
    /// `None` if all bits are equal.
    pub(super) tolerance: Option<Tolerance>,
    /// Old and new values.
    pub(super) pairs: Vec<Pair>,
    /// The new layers.
    pub(super) added: &'a [NodeId],
    /// Whether values of f16 and bf16 are computed in f32.
    pub(super) widens: bool,
}

/// A value, and what replaces it.
pub(super) struct Pair {
    /// What the report calls it: `output 0`.
    pub(super) name: String,
    /// The replaced value.
    pub(super) old: Value,
    /// The new one.
    pub(super) new: Value,
}

impl<'a> Claim<'a> {
    /// The claim that a replacement makes.
    pub(super) fn of(proposal: &Proposal<'a>) -> Self {
        let pairs = (0..).zip(proposal.values).filter_map(|(port, &new)| {
            let old = Value { node: proposal.root, port };
            Some(Pair { name: format!("output {port}"), old, new: new? })
        });
        Self {
            graph: proposal.graph,
            rule: proposal.rule.name(),
            place: proposal.graph.node(proposal.root).name(),
            tolerance: proposal.rule.tolerance(),
            pairs: pairs.collect(),
            added: proposal.added,
            widens: false,
        }
    }
}
