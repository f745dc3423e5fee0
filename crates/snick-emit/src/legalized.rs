//! A graph made ready for a format, and what it remembers for messages.

use snick_ir::rewrite::{MissedRewrite, apply_throughout};
use snick_ir::{Graph, Located, NodeId, Op, OpError, infer};
use snick_pass::legalize::{Target, for_target, inline_if, skip_loop};
use snick_pass::states::make_stateless;

use crate::decompression;

/// Words the refusals of a format.
#[derive(Default)]
pub(crate) struct Refusals {
    format: &'static str,
    declined: Vec<MissedRewrite>,
    /// Whether variables can become inputs and outputs: none is in a body.
    can_be_stateless: bool,
}

impl Refusals {
    /// Decomposes what the format has no operator for; an If that is known to take a branch becomes that branch, and a Loop
    /// without iterations its initial values; weights are decompressed in the type that they are used in.
    ///
    /// # Errors
    /// What inference says of the first layer that cannot run: what is known around it may contradict itself.
    pub(crate) fn legalize(
        graph: &mut Graph,
        target: &Target,
        format: &'static str,
    ) -> Result<Self, Box<Located>> {
        if let Some(error) = infer(&mut graph.clone()).into_iter().next() {
            return Err(error.into());
        }
        let has_variables = graph.ids().any(|id| is_variable(graph.node(id).op()));
        let can_be_stateless = has_variables && make_stateless(&mut graph.clone()).is_ok();
        apply_throughout(graph, &[inline_if::RULE, inline_if::HALVES, skip_loop::RULE, decompression::RULE])?;
        Ok(Self { format, declined: for_target(graph, target), can_be_stateless })
    }

    /// The error of a layer, with its place, and with the reason why it was not decomposed.
    pub(crate) fn located(&self, graph: &Graph, id: NodeId, error: OpError) -> Box<Located> {
        let OpError::Unsupported { what } = error else { return graph.located(id, error).into() };
        let node = graph.node(id);
        let declined =
            |missed: &&MissedRewrite| *missed.layer == *node.name() && missed.op == node.op().type_name();
        let what = match self.declined.iter().find(declined) {
            // Users word these reasons.
            Some(missed) if matches!(node.op(), Op::Custom(_)) => format!("{what} ({})", missed.reason),
            Some(missed) if what == NO_OPERATOR => missed.reason.clone(),
            _ if what == VARIABLE && self.can_be_stateless => {
                format!("{what} (--stateless makes it an input and an output)")
            }
            _ => what,
        };
        graph.located(id, OpError::CannotWrite { what, format: self.format }).into()
    }
}

const VARIABLE: &str = "a variable";

fn is_variable(op: &Op) -> bool {
    matches!(op, Op::ReadValue(_) | Op::Assign(_))
}

/// What cannot be written where a table has no row and no decomposition applies.
pub(crate) const NO_OPERATOR: &str = "this operation";

/// The error of an emitter that finds no row for a layer.
pub(crate) fn no_operator(op: &Op) -> OpError {
    OpError::unsupported(if is_variable(op) { VARIABLE } else { NO_OPERATOR })
}
