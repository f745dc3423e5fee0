//! Element-wise layers one after the other are one step of a plan: one pass over memory, and in place where nobody else
//! reads what it begins with.
//!
//! A value that only the next layer reads need not come to be. Which layers follow each other so is known from what was
//! inferred. That the sizes of a run allow one pass is seen in the run; where they do not, the layers are evaluated one
//! by one.

use smallvec::SmallVec;
use snick_ir::{Graph, NodeId};
use snick_tensor::kernels::{BinaryOp, ElementFunction, Stage, StageOperand, UnaryOp};
use snick_tensor::{ElementType, Tensor, TensorError};

use crate::plan::{Operand, Plan, Step};

/// A layer of a chain.
pub(crate) struct FusedStage {
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

impl FusedStage {
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
    pub(crate) fn link<'t>(&self, operands: &'t [Tensor]) -> Stage<'t> {
        match self.function {
            Function::Of(function) => Stage::Unary(function),
            Function::With(function, n) => Stage::Binary(function, StageOperand::Right(&operands[n])),
            Function::From(function, n) => Stage::Binary(function, StageOperand::Left(&operands[n])),
            Function::Squared(function) => Stage::Binary(function, StageOperand::Same),
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
    chain.push(FusedStage { node: step.node, slot: step.first, function });
    Step { operands: operands.into(), chain, ..step }
}

#[cfg(test)]
mod tests {
    use snick_ir::{infer, text};

    use crate::{Options, Session};

    use super::*;

    /// The number of layers in each chain of a graph, which as a whole gives what its layers give one by one.
    fn chains(parameters: &[(&str, &[usize])], layers: &str) -> Vec<usize> {
        let declared = |(i, (shape, _)): (usize, &(&str, &[usize]))| {
            format!("  %p{i} = Parameter-1 {{element_type: f32, shape: \"{shape}\"}}\n")
        };
        let declared: String = parameters.iter().enumerate().map(declared).collect();
        let mut graph =
            text::parse(&format!("snick 1\ngraph \"g\" {{\n{declared}{layers}}}\n"), None).unwrap();
        assert!(infer(&mut graph).is_empty());
        let inputs = parameters.iter().map(|(_, dims)| {
            let len: usize = dims.iter().product();
            Tensor::from_vec(dims, (0..len).map(|i| i as f32 / 4.0 - 1.0).collect()).unwrap()
        });
        let inputs: Vec<Tensor> = inputs.collect();
        let session = Session::new(&graph).unwrap();
        let expected = Session::without_folding(&graph).unwrap().run(&inputs, Options::default());
        let checked = Options { check_facts: true, ..Options::default() };
        for options in [Options::default(), checked, Options::default()] {
            let found = session.run(&inputs, options);
            assert_eq!(found.values, expected.values);
            let texts =
                |errors: &[snick_ir::Located]| errors.iter().map(|e| e.layer.clone()).collect::<Vec<_>>();
            assert_eq!(texts(&found.errors), texts(&expected.errors));
        }
        session.plan.steps.iter().map(|step| step.chain.len()).filter(|&len| len > 0).collect()
    }

    #[test]
    fn layers_that_follow_each_other_are_a_chain() {
        let layers = "  %b = Const-1 f32[3, 1] <1, -2, 3>\n  %a = Add-1(%b, %p0) {auto_broadcast: numpy}\n  \
                      %r = ReLU-1(%a)\n  %s = Subtract-1(%p1, %r) {auto_broadcast: numpy}\n  \
                      %q = Multiply-1(%s, %s) {auto_broadcast: numpy}\n  %y = Result-1(%q)\n";
        assert_eq!(chains(&[("N,3,4", &[2, 3, 4]), ("N,3,4", &[2, 3, 4])], layers), [4]);
    }

    #[test]
    fn a_value_that_others_read_ends_a_chain() {
        let layers = "  %a = Exp-1(%p0)\n  %r = ReLU-1(%a)\n  %t = Tanh-1(%a)\n  \
                      %m = Multiply-1(%r, %t) {auto_broadcast: numpy}\n  %y = Result-1(%m)\n  %z = Result-1(%a)\n";
        assert_eq!(chains(&[("2..3", &[2])], layers), [1, 1, 2]);
    }

    #[test]
    fn what_makes_a_value_larger_begins_anew() {
        let layers = "  %a = Exp-1(%p0)\n  %m = Multiply-1(%a, %p1) {auto_broadcast: numpy}\n  %n = Negative-1(%m)\n  \
                      %y = Result-1(%n)\n";
        assert_eq!(chains(&[("1,4", &[1, 4]), ("3,1", &[3, 1])], layers), [1, 1]);
        assert_eq!(chains(&[("1,4", &[1, 4]), ("3,4", &[3, 4])], layers), [1, 2]);
    }

    #[test]
    fn sizes_that_a_run_alone_knows_are_looked_at_there() {
        let layers = "  %a = Exp-1(%p0)\n  %m = Add-1(%a, %p1) {auto_broadcast: numpy}\n  %n = Negative-1(%m)\n  \
                      %y = Result-1(%n)\n";
        for dims in [[2, 4], [1, 4], [2, 1], [1, 1]] {
            chains(&[("?,?", &[2, 4]), ("?,?", &dims)], layers);
            chains(&[("?,?", &dims), ("?,?", &[2, 4])], layers);
        }
        // The layer that fails is the one that is told.
        chains(&[("?,?", &[2, 4]), ("?,?", &[2, 3])], layers);
    }

    #[test]
    fn integers_and_remainders_are_no_chains() {
        let layers = "  %a = Mod-1(%p0, %p0) {auto_broadcast: numpy}\n  %s = Sin-1(%a)\n  \
                      %c = Convert-1(%s) {destination_type: i32}\n  %n = Negative-1(%c)\n  %y = Result-1(%n)\n";
        assert_eq!(chains(&[("2,2", &[2, 2])], layers), []);
    }
}
