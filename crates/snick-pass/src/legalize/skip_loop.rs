//! skip-loop: removes a Loop that is known not to iterate. Its states become their initial values, and its
//! concatenated outputs become empty tensors.
//!
//! The rule is needed because the OpenVINO runtime returns empty states for a Loop whose condition is
//! initially false.

use snick_ir::ops::control::port_map::PortLink;
use snick_ir::ops::control::subgraph::SubGraphKind;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError, OpTraits, Value};
use snick_tensor::Tensor;

/// Replaces a Loop without iterations, unless it is stateful.
pub const RULE: Rule = Rule::exact("skip-loop", |patch| {
    let (Op::SubGraph(op), false) = (patch.node().op(), patch.node().op().has(OpTraits::STATEFUL)) else {
        return Ok(RewriteResult::NoMatch);
    };
    let is_zero = |port| -> Result<bool, OpError> {
        let number = patch.fact(patch.input(port)?)?.ints();
        Ok(number.is_some_and(|number| number.first() == Some(&0)))
    };
    if op.kind != SubGraphKind::Loop || !(is_zero(0)? || is_zero(1)?) {
        return Ok(RewriteResult::NoMatch);
    }
    let op = op.clone();
    let mut values = vec![None; op.outputs()];
    let map = op.maps.first();
    for link in map.iter().flat_map(|map| &map.outputs) {
        let Some(port) = link.external else { continue };
        let value = match link.cut {
            Some(_) => nothing(patch, port)?,
            None => map.and_then(|map| {
                let &(_, parameter) = map.back_edges.iter().find(|(result, _)| *result == link.internal)?;
                let is_fed = |link: &&PortLink| link.internal == parameter && link.cut.is_none();
                patch.try_input(map.inputs.iter().find(is_fed)?.external?)
            }),
        };
        match value {
            Some(value) => values[port] = Some(value),
            None => return Ok(RewriteResult::declined(format!("output {port} of no iteration"))),
        }
    }
    Ok(RewriteResult::Replaced(values))
});

/// An empty tensor for an output that concatenates one part per iteration, if its shape is known.
fn nothing(patch: &mut Patch, port: usize) -> Result<Option<Value>, OpError> {
    let fact = patch.node().outputs().nth(port);
    let known = fact.and_then(|fact| Some((fact.element_type, fact.shape.as_static()?)));
    let Some((element_type, dims)) = known.filter(|(_, dims)| dims.contains(&0)) else { return Ok(None) };
    patch.constant(Tensor::zeros(element_type, &dims)?).map(Some)
}
