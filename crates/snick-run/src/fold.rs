//! What does not depend on the inputs of a run is computed once.

use std::collections::HashMap;

use snick_ir::{Graph, NodeId, Op, OpTraits};
use snick_tensor::Tensor;
use snick_tensor::kernels::without_subnormals;

use crate::facts::SymbolBindings;
use crate::half_precision::HalfPrecision;
use crate::plan::{Operand, Plan, Step};

/// A folded value may take this much memory, whatever it comes from.
const SMALL: usize = 1 << 20;

/// A folded value may take so many times the memory of what it comes from: as 4-bit weights do that become floats.
const GROWTH: usize = 8;

/// The plan without the steps that give the same in every run; what they give is among the constants of the plan.
/// Steps that fail, or contradict what was inferred, stay, and fail in the run.
pub(crate) fn fold(mut plan: Plan, graph: &Graph, halves: &HalfPrecision) -> Plan {
    let mut known: Vec<Option<Tensor>> = vec![None; plan.slots];
    plan.steps.retain(|step| {
        let Some(values) = fixed(graph, step, &known, halves) else { return true };
        for (slot, value) in (step.first..step.first + step.outs).zip(values) {
            known[slot] = Some(value);
        }
        false
    });
    // A constant an element type in which a slot is read.
    let mut numbers = HashMap::new();
    for step in &mut plan.steps {
        let op = &graph.node(step.node).op;
        for operand in &mut step.operands {
            let Operand::Slot { slot, .. } = *operand else { continue };
            let Some(value) = &known[slot] else { continue };
            let key = (slot, halves.read_as(op, slot), is_multiplied(op));
            let number = *numbers.entry(key).or_insert_with(|| {
                let read = halves.read(op, slot, value.clone()).unwrap_or_else(|_| value.clone());
                let flushed = is_multiplied(op).then(|| without_subnormals(&read)).flatten();
                plan.constants.push(flushed.unwrap_or(read).kept());
                plan.constants.len() - 1
            });
            *operand = Operand::Constant(number);
        }
    }
    plan
}

/// Whether an op gives sums of products: what a factor too small for full precision adds is lost in them.
fn is_multiplied(op: &Op) -> bool {
    op.has(OpTraits::CONTRACTION)
}

/// The outputs of a step, if they are the same in every run.
fn fixed(
    graph: &Graph,
    step: &Step,
    known: &[Option<Tensor>],
    halves: &HalfPrecision,
) -> Option<Vec<Tensor>> {
    let op = &graph.node(step.node).op;
    let values = match op {
        // As large as all weights together, and what it was inferred from.
        Op::Const(_) => return op.eval(&[]).ok(),
        Op::Parameter(_) | Op::Result(_) => return None,
        Op::ShapeOf(_) => static_shape(graph, step.node)?,
        _ if op.traits().is_foldable() && !step.operands.is_empty() => {
            let inputs: Option<Vec<Tensor>> = step
                .operands
                .iter()
                .map(|operand| match *operand {
                    Operand::Slot { slot, .. } => halves.read(op, slot, known[slot].clone()?).ok(),
                    _ => None,
                })
                .collect();
            let inputs = inputs?;
            is_worth_keeping(graph, step.node, &inputs).then(|| halves.evaluate(step, op, &inputs).ok())??
        }
        _ => return None,
    };
    let rounded = halves.rounded(step.first, &values).ok()?;
    let fits =
        values.len() >= step.outs && SymbolBindings::default().check(graph, step.node, &rounded).is_ok();
    fits.then_some(values)
}

/// A shape that inference knows: the inputs of a run are held against what was inferred from it.
fn static_shape(graph: &Graph, node: NodeId) -> Option<Vec<Tensor>> {
    let fact = &graph.node(node).outs.first()?.fact;
    let sizes = fact.ints()?;
    let sizes = Tensor::from_vec(&[sizes.len()], sizes.to_vec()).ok()?;
    Some(vec![sizes.cast(fact.element_type).ok()?])
}

/// Whether the outputs are known to be not much larger than the inputs.
fn is_worth_keeping(graph: &Graph, node: NodeId, inputs: &[Tensor]) -> bool {
    let before: usize = inputs.iter().map(Tensor::size_in_bytes).sum();
    let after = graph.node(node).outs.iter().try_fold(0usize, |sum, out| {
        let dims = out.fact.shape.as_static()?;
        let count = dims.iter().try_fold(1usize, |count, &dim| count.checked_mul(dim))?;
        sum.checked_add(out.fact.element_type.byte_len(count)?)
    });
    match after {
        Some(after) => after <= before.saturating_mul(GROWTH).saturating_add(SMALL),
        None => before <= SMALL / 16,
    }
}
