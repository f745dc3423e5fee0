//! Legalizes a graph for a format and keeps the reasons why layers were not decomposed, for error messages.

use snick_ir::rewrite::{MissedRewrite, apply_throughout};
use snick_ir::{Graph, Located, NodeId, Op, OpError, infer};
use snick_pass::legalize::{Target, for_target, inline_if, skip_loop};
use snick_pass::states::make_stateless;

use crate::decompression;

/// Builds the error messages of a format.
#[derive(Default)]
pub(crate) struct Refusals {
    format: &'static str,
    /// The layers that were not decomposed, with the reasons.
    pub(crate) declined: Vec<MissedRewrite>,
    /// Whether there are variables, and `--stateless` can turn all of them into inputs and outputs. It cannot
    /// if a body contains a variable.
    can_be_stateless: bool,
}

impl Refusals {
    /// Decomposes operations that the format lacks. Replaces an If with one of its branches if the condition
    /// is known, and a Loop without iterations with its initial values. Decompresses weights directly to the
    /// type in which they are used.
    ///
    /// # Errors
    /// The first error of inference, for example if known values contradict each other.
    pub(crate) fn legalize(
        graph: &mut Graph,
        target: &Target,
        format: &'static str,
    ) -> Result<Self, Box<Located>> {
        if let Some(error) = infer(&mut graph.clone()).into_iter().next() {
            return Err(error.into());
        }
        let can_be_stateless = can_be_stateless(graph);
        apply_throughout(graph, &[inline_if::RULE, inline_if::HALVES, skip_loop::RULE, decompression::RULE])?;
        Ok(Self { format, declined: for_target(graph, target), can_be_stateless })
    }

    /// The error of a layer, with its location and the reason why it was not decomposed.
    pub(crate) fn located(&self, graph: &Graph, id: NodeId, error: OpError) -> Box<Located> {
        let OpError::Unsupported { what } = error else { return graph.located(id, error).into() };
        let what = self.explained(graph, id, what);
        graph.located(id, OpError::CannotWrite { what, format: self.format }).into()
    }

    /// What cannot be written, with the reason why the layer was not decomposed.
    pub(crate) fn explained(&self, graph: &Graph, id: NodeId, what: String) -> String {
        let node = graph.node(id);
        let declined =
            |missed: &&MissedRewrite| *missed.layer == *node.name() && missed.op == node.op().type_name();
        match self.declined.iter().find(declined) {
            // The reason was written by the author of the custom op, so it is only appended.
            Some(missed) if matches!(node.op(), Op::Custom(_)) => format!("{what} ({})", missed.reason),
            Some(missed) if what == NO_OPERATOR => missed.reason.clone(),
            _ if what == VARIABLE && self.can_be_stateless => {
                format!("{what} ({STATELESS})")
            }
            _ => what,
        }
    }
}

const VARIABLE: &str = "a variable";

/// What to do about a variable.
pub(crate) const STATELESS: &str = "--stateless makes it an input and an output";

/// Whether there are variables, and `--stateless` can turn all of them into inputs and outputs.
pub(crate) fn can_be_stateless(graph: &Graph) -> bool {
    let has_variables = graph.ids().any(|id| is_variable(graph.node(id).op()));
    has_variables && make_stateless(&mut graph.clone()).is_ok()
}

pub(crate) fn is_variable(op: &Op) -> bool {
    matches!(op, Op::ReadValue(_) | Op::Assign(_))
}

/// Reported for a layer that has neither a row in the table nor a decomposition.
pub(crate) const NO_OPERATOR: &str = "this operation";

/// The error for a layer without a row in the table.
pub(crate) fn no_operator(op: &Op) -> OpError {
    OpError::unsupported(if is_variable(op) { VARIABLE } else { NO_OPERATOR })
}
