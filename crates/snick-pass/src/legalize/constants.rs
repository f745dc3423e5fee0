//! Folds conversions of constants whose element type the target does not support.
//!
//! Low-bit weights are stored packed, and layers convert them before they are used. If a target does not
//! support the packed type, these layers are replaced by converted constants. Constants of supported types
//! stay packed.

use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{EvalOp, Graph, NodeId, Op, OpError};
use snick_tensor::ElementType;

pub(super) const RULE: Rule = Rule::exact("convert-constant", converted);

/// Whether a layer converts a constant of a type that the target does not support.
pub(super) fn is_of_other_type(graph: &Graph, id: NodeId, has_type: &dyn Fn(ElementType) -> bool) -> bool {
    let input = graph.inputs(id).first().copied().flatten().and_then(|value| graph.fact(value));
    matches!(graph.node(id).op(), Op::Convert(_))
        && input.is_some_and(|fact| fact.as_tensor().is_some() && !has_type(fact.element_type))
}

fn converted(p: &mut Patch) -> Result<RewriteResult, OpError> {
    let Op::Convert(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let Some(tensor) = p.fact(p.input(0)?)?.as_tensor().cloned() else { return Ok(RewriteResult::NoMatch) };
    let Some(converted) = op.eval(&[(*tensor).clone()])?.pop() else { return Ok(RewriteResult::NoMatch) };
    p.constant(converted).map(RewriteResult::one)
}
