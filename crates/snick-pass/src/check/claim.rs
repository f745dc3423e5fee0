//! A claim that pairs of values are equal, which a check verifies.

use snick_ir::rewrite::{Proposal, Tolerance};
use snick_ir::{Graph, NodeId, Value};

/// Pairs of values in one graph that are claimed to be equal within a tolerance.
pub(super) struct Claim<'a> {
    /// The graph, with old and new layers.
    pub(super) graph: &'a Graph,
    /// The name of the rule or pass.
    pub(super) rule: &'a str,
    /// The name of the replaced layer, or the name of the graph.
    pub(super) place: &'a str,
    /// The tolerance; `None` requires bitwise equality.
    pub(super) tolerance: Option<Tolerance>,
    /// The pairs of old and new values.
    pub(super) pairs: Vec<Pair>,
    /// The new layers.
    pub(super) added: &'a [NodeId],
    /// Whether f16 and bf16 values are computed in f32.
    pub(super) widens: bool,
}

/// A value and its replacement.
pub(super) struct Pair {
    /// The name of the pair in the report, such as `output 0`.
    pub(super) name: String,
    /// The replaced value.
    pub(super) old: Value,
    /// The new value.
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
