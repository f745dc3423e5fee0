//! Element-wise layers one after the other are one step of a plan: one pass over memory, and in place where nobody else
//! reads what it begins with.
//!
//! A value that only the next layer reads need not come to be. Which layers follow each other so is known from what was
//! inferred. That the sizes of a run allow one pass is seen in the run; where they do not, the layers are evaluated one
//! by one.

use smallvec::SmallVec;
use snick_ir::{Graph, NodeId};
use snick_tensor::kernels::{BinaryOp, ElementFunction, Link, Second, UnaryOp};
use snick_tensor::{ElementType, Tensor, TensorError};

use crate::plan::{Operand, Plan, Step};

/// A layer of a chain.
pub(crate) struct ChainLink {
    pub(crate) node: NodeId,
    /// Slot of its output.
    pub(crate) slot: usize,
    function: Function,
}

/// What a layer does with the value of the layer before it, and with an operand of the step.
#[derive(Copy, Clone)]
enum Function {
    Of(UnaryOp),
    /// The operand is its second input.
    With(BinaryOp, usize),
    /// The operand is its first input.
    From(BinaryOp, usize),
    /// Both inputs are the value.
    Squared(BinaryOp),
}

impl ChainLink {
    /// What the layer gives of `value` by itself.
    pub(crate) fn apply(&self, value: &Tensor, operands: &[Tensor]) -> Result<Tensor, TensorError> {
        match self.function {
            Function::Of(function) => function.apply(value),
            Function::With(function, n) => function.apply(value, &operands[n]),
            Function::From(function, n) => function.apply(&operands[n], value),
            Function::Squared(function) => function.apply(value, value),
        }
    }

    /// The layer as a part of one pass.
    pub(crate) fn link<'t>(&self, operands: &'t [Tensor]) -> Link<'t> {
        match self.function {
            Function::Of(function) => Link::Unary(function),
            Function::With(function, n) => Link::Binary(function, Second::Right(&operands[n])),
            Function::From(function, n) => Link::Binary(function, Second::Left(&operands[n])),
            Function::Squared(function) => Link::Binary(function, Second::Same),
        }
    }
}

/// Makes chains of the element-wise steps of a plan. A chain reads the value that it begins with last, before that all
/// others in the order of its layers.
pub(crate) fn join(plan: &mut Plan, graph: &Graph) {
    let readers = readers(plan);
    // By slot: where the chain is that ends with it.
    let mut ends: Vec<Option<usize>> = vec![None; plan.slots];
    let mut steps: Vec<Option<Step>> = Vec::with_capacity(plan.steps.len());
    for mut step in std::mem::take(&mut plan.steps) {
        if let Some((function, ports)) = element_wise(graph, &step) {
            // The one port, or both, at which the layer reads what a chain gives that nobody else reads.
            let continued = ports.iter().find_map(|&port| {
                let slot = slot_of(step.operands[port])?;
                let own = step.operands.iter().filter(|operand| slot_of(**operand) == Some(slot)).count();
                let before = ends[slot].filter(|_| readers[slot] == own)?;
                Some((port, before))
            });
            let (port, before) = match continued {
                Some((port, before)) => (port, steps[before].take()),
                None => (ports[0], None),
            };
            step = continued_by(before, step, function, port);
            ends[step.first] = Some(steps.len());
        }
        steps.push(Some(step));
    }
    plan.steps = steps.into_iter().flatten().collect();
}

/// How often each slot is read.
fn readers(plan: &Plan) -> Vec<usize> {
    let mut readers = vec![0; plan.slots];
    for slot in plan.steps.iter().flat_map(|step| &step.operands).filter_map(|operand| slot_of(*operand)) {
        readers[slot] += 1;
    }
    readers
}

fn slot_of(operand: Operand) -> Option<usize> {
    match operand {
        Operand::Slot { slot, .. } => Some(slot),
        _ => None,
    }
}

/// The function of a step and the ports at which it may read what gives its result the shape, if it is one of real
/// numbers that a chain may have.
fn element_wise(graph: &Graph, step: &Step) -> Option<(ElementFunction, SmallVec<[usize; 2]>)> {
    let is_real = |et: ElementType| et == ElementType::F32 || et.is_half();
    let inputs: Option<SmallVec<[_; 2]>> =
        graph.inputs(step.node).into_iter().map(|input| Some(&graph.output(input?)?.fact)).collect();
    let (inputs, output) = (inputs?, &graph.node(step.node).outs.first()?.fact);
    if step.op.is_some() || !is_real(output.element_type) {
        return None;
    }
    let function = graph.node(step.node).op.element_function(&inputs).filter(|function| function.chains())?;
    let ports = match function {
        ElementFunction::Unary(_) => 0..1,
        ElementFunction::Binary(_) => 0..2,
    };
    let are_real = ports.clone().all(|port| is_real(inputs[port].element_type));
    let ports: SmallVec<[usize; 2]> = ports
        .filter(|&port| slot_of(step.operands[port]).is_some() && inputs[port].shape == output.shape)
        .collect();
    (are_real && !ports.is_empty()).then_some((function, ports))
}

/// The chain that `before` is, or none, continued by a layer whose step is `step`, which reads what that gives at
/// `port`.
fn continued_by(before: Option<Step>, step: Step, function: ElementFunction, port: usize) -> Step {
    let value = step.operands[port];
    let (mut chain, mut operands, first) = match before {
        Some(before) => {
            let mut operands = before.operands.into_vec();
            let first = operands.pop();
            (before.chain, operands, first.unwrap_or(value))
        }
        None => (Vec::new(), Vec::new(), value),
    };
    let function = match function {
        ElementFunction::Unary(function) => Function::Of(function),
        ElementFunction::Binary(function) if slot_of(step.operands[1 - port]) == slot_of(value) => {
            Function::Squared(function)
        }
        ElementFunction::Binary(function) => {
            operands.push(step.operands[1 - port]);
            match port {
                0 => Function::With(function, operands.len() - 1),
                _ => Function::From(function, operands.len() - 1),
            }
        }
    };
    operands.push(first);
    chain.push(ChainLink { node: step.node, slot: step.first, function });
    Step { operands: operands.into(), chain, ..step }
}
