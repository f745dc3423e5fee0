//! Folds steps that do not depend on the inputs of a run.

use std::collections::HashMap;

use snick_ir::{Graph, NodeId, Op, OpTraits};
use snick_tensor::Tensor;
use snick_tensor::kernels::without_subnormals;

use crate::facts::{SymbolBindings, check_values};
use crate::half_precision::HalfPrecision;
use crate::plan::{Operand, Plan, Step, StepKind};

/// Bytes that the outputs of a folded step may take in addition to [`GROWTH`] times the size of its inputs.
const SMALL: usize = 1 << 20;

/// How many times larger than its inputs the outputs of a folded step may be. For example, 4-bit weights grow
/// when they are converted to floats.
const GROWTH: usize = 8;

/// Memory in bytes that all folded values together may take, in addition to [`GROWTH`] times the memory of
/// the stored constants. Without this limit, a chain of layers that each repeat their input would be
/// evaluated at planning time, where the limits of a run do not apply. Steps beyond the limit are left to the
/// run.
const FOLDED: usize = 1 << 28;

/// If the outputs of a step are the same in every run, replaces the step with constants of the plan. A step
/// that fails or contradicts inference is kept, so that it fails in the run.
pub(super) fn fold(plan: &mut Plan, graph: &Graph, half_precision: &HalfPrecision) {
    let mut known: Vec<Option<Tensor>> = vec![None; plan.slots];
    let stored = graph.ids().filter_map(|id| match graph.node(id).op() {
        op @ Op::Const(_) => Some(op.eval(&[]).ok()?.first()?.storage().len()),
        _ => None,
    });
    let mut budget = stored.fold(FOLDED, |sum, bytes| sum.saturating_add(bytes.saturating_mul(GROWTH)));
    let mut readers = plan.readers();
    plan.steps.retain(|step| {
        let Some(values) = fixed_outputs(graph, step, &known, half_precision, &mut budget) else {
            return true;
        };
        for slot in step.operands.iter().filter_map(|operand| operand.slot()) {
            read_once(&mut readers, &mut known, slot);
        }
        for (slot, value) in (step.first..step.first + step.outs).zip(values) {
            known[slot] = Some(value).filter(|_| readers[slot] > 0);
        }
        false
    });
    // A slot gets a separate constant for each element type that it is read as, and for reads by
    // contractions.
    let mut numbers = HashMap::new();
    for step in &mut plan.steps {
        let op = graph.node(step.node).op();
        for operand in &mut step.operands {
            let Some(slot) = operand.slot() else { continue };
            let Some(value) = &known[slot] else { continue };
            // For contractions, flushes subnormal elements to zero in advance.
            let is_factor = op.has(OpTraits::CONTRACTION);
            let key = (slot, half_precision.read_as(op, slot), is_factor);
            let number = *numbers.entry(key).or_insert_with(|| {
                let read = half_precision.read(op, slot, value.clone()).unwrap_or_else(|_| value.clone());
                let flushed = is_factor.then(|| without_subnormals(&read)).flatten();
                plan.constants.push(flushed.unwrap_or(read).kept());
                plan.folded.push(slot);
                plan.constants.len() - 1
            });
            *operand = Operand::Constant(number);
            read_once(&mut readers, &mut known, slot);
        }
    }
}

/// Counts a read of a slot, and drops the value of the slot after its last read.
fn read_once(readers: &mut [usize], known: &mut [Option<Tensor>], slot: usize) {
    readers[slot] = readers[slot].saturating_sub(1);
    if readers[slot] == 0 {
        known[slot] = None;
    }
}

/// The outputs of a step, if they do not depend on the inputs of a run.
fn fixed_outputs(
    graph: &Graph,
    step: &Step,
    known: &[Option<Tensor>],
    half_precision: &HalfPrecision,
    budget: &mut usize,
) -> Option<Vec<Tensor>> {
    if matches!(step.kind, StepKind::Packed(_) | StepKind::Quantized(_)) {
        return None;
    }
    // Uses the op that the run would use, so that ties are broken in the same way.
    let op = step.op(graph);
    let values = match op {
        // Not checked against its fact, because inference derived the fact from this value, and scanning
        // large weights is slow.
        Op::Const(_) => return op.eval(&[]).ok(),
        Op::Parameter(_) | Op::Result(_) => return None,
        Op::ShapeOf(_) => static_shape(graph, step.node)?,
        Op::Reshape(_) if infers_rest_of_nothing(graph, step.node) => {
            let fact = &graph.node(step.node).outs().first()?.fact;
            vec![Tensor::zeros(fact.element_type, &fact.shape.as_static()?).ok()?]
        }
        _ if op.traits().is_foldable() && !step.operands.is_empty() => {
            let inputs: Option<Vec<Tensor>> = step
                .operands
                .iter()
                .map(|operand| {
                    let slot = operand.slot()?;
                    half_precision.read(op, slot, known[slot].clone()?).ok()
                })
                .collect();
            let inputs = inputs?;
            let values = is_worth_keeping(graph, step.node, &inputs, *budget)
                .then(|| half_precision.evaluate(step, op, &inputs).ok())??;
            *budget = budget.saturating_sub(values.iter().map(Tensor::size_in_bytes).sum());
            values
        }
        _ => return None,
    };
    let rounded = half_precision.rounded(step.first, &values).ok()?;
    let fits = match op {
        Op::Custom(_) => check_values(graph, step.node, &values).is_ok(),
        _ => values.len() >= step.outs,
    };
    let fits = fits && SymbolBindings::default().check(graph, step.node, &rounded).is_ok();
    fits.then_some(values)
}

/// Whether a Reshape of empty data has both -1 and 0 in its target. Evaluation rejects such a Reshape,
/// because any size could replace the -1. Inference, however, may know the output shape.
fn infers_rest_of_nothing(graph: &Graph, node: NodeId) -> bool {
    let facts: Vec<_> = graph.inputs(node).into_iter().map(|input| graph.fact(input?)).collect();
    let [Some(data), Some(target)] = facts.as_slice() else { return false };
    let is_ambiguous = target.ints().is_some_and(|sizes| sizes.contains(&-1) && sizes.contains(&0));
    is_ambiguous && data.shape.as_static().is_some_and(|dims| dims.contains(&0))
}

/// The output of a ShapeOf, if it was inferred. It is the same in every run, because runs check their inputs
/// against the inferred shapes.
fn static_shape(graph: &Graph, node: NodeId) -> Option<Vec<Tensor>> {
    let fact = &graph.node(node).outs().first()?.fact;
    let sizes = fact.ints()?;
    let sizes = Tensor::from_vec(&[sizes.len()], sizes.to_vec()).ok()?;
    Some(vec![sizes.cast(fact.element_type).ok()?])
}

/// Whether the outputs fit in the budget and are not much larger than the inputs. If their sizes are unknown,
/// the inputs must be small.
fn is_worth_keeping(graph: &Graph, node: NodeId, inputs: &[Tensor], budget: usize) -> bool {
    let before: usize = inputs.iter().map(Tensor::size_in_bytes).sum();
    let after = graph.node(node).outs().iter().try_fold(0usize, |sum, out| {
        let dims = out.fact.shape.as_static()?;
        let count = dims.iter().try_fold(1usize, |count, &dim| count.checked_mul(dim))?;
        sum.checked_add(out.fact.element_type.byte_len(count)?)
    });
    match after {
        Some(after) => after <= budget && after <= before.saturating_mul(GROWTH).saturating_add(SMALL),
        None => budget > 0 && before <= SMALL / 16,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use snick_ir::GraphBuilder;
    use snick_tensor::{ElementType, Pool, Tensor};

    use crate::Session;

    #[test]
    fn values_are_given_up_after_their_last_reader() {
        let b = GraphBuilder::new("g");
        let x = b.parameter("x", ElementType::F32, "512,512").unwrap();
        let mut value = b.constant(Tensor::zeros(ElementType::F32, &[512, 512]).unwrap()).unwrap();
        // Each of these values takes 1 MiB.
        for _ in 0..20 {
            value = b.add(value, value).unwrap();
        }
        let y = b.add(x, value).unwrap();
        b.result("y", y).unwrap();
        let graph = b.finish().unwrap();
        let session = Arc::new(Pool::default()).scope_within(4 << 20, || Session::new(&graph).unwrap());
        // The steps for the input, the sum and the result.
        assert_eq!(session.plan.steps.len(), 3);
        assert_eq!(session.plan.constants.len(), 1);
    }
}
