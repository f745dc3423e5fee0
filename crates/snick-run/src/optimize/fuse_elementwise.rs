//! Fuses consecutive element-wise layers.
//!
//! A fused step does not store its intermediate values, nor the output of a preceding matrix multiplication
//! or convolution. Inferred shapes decide which layers are fused. At run time, if the actual sizes do not
//! allow a single pass, the layers are evaluated one by one.

use snick_ir::ops::elementwise::prelu::PRelu;
use snick_ir::{Fact, Graph, Op, OpTraits};
use snick_shape::SymExpr;
use snick_tensor::kernels::{BinaryOp, ElementFunction, Stage};
use snick_tensor::{ElementType, SmallVector, Tensor};

use crate::fused_elementwise::{Contraction, FusedLayer, FusedLayers, FusedProduct};
use crate::plan::{Operand, Plan, Step, StepKind};

/// Fuses the element-wise steps of a plan. The last operand of a fused step is the input of its first layer;
/// the other inputs precede it, in the order of the layers.
pub(super) fn fuse_elementwise(plan: &mut Plan, graph: &Graph) {
    let readers = plan.readers();
    // For each slot: the fused step whose output it is.
    let mut ends: Vec<Option<usize>> = vec![None; plan.slots];
    let mut steps: Vec<Option<Step>> = Vec::with_capacity(plan.steps.len());
    for mut step in std::mem::take(&mut plan.steps) {
        if let Some((function, ports)) = fusable(&mut plan.constants, graph, &mut step) {
            // The port that reads the output of a fused step, if no other step reads this output.
            let continued = ports.iter().find_map(|&port| {
                let slot = step.operands[port].slot()?;
                let own = step.operands.iter().filter(|operand| operand.slot() == Some(slot)).count();
                let before = ends[slot].filter(|_| readers[slot] == own)?;
                Some((port, before))
            });
            let (port, before) = match continued {
                Some((port, before)) => (port, steps[before].take()),
                None => (ports[0], None),
            };
            step = fused(before, step, function, port);
            ends[step.first] = Some(steps.len());
        }
        steps.push(Some(step));
    }
    fuse_products(plan, graph, &readers, &mut steps);
    plan.steps = steps.into_iter().flatten().collect();
}

/// Merges each contraction into the fused step that reads its output, if there is no other reader.
fn fuse_products(plan: &Plan, graph: &Graph, readers: &[usize], steps: &mut [Option<Step>]) {
    // For each slot: the contraction that computes it.
    let mut products: Vec<Option<usize>> = vec![None; plan.slots];
    for i in 0..steps.len() {
        let Some(step) = &steps[i] else { continue };
        if is_product(graph, step) {
            products[step.first] = Some(i);
            continue;
        }
        let read = step.operands.last().and_then(|operand| operand.slot());
        let alone = read.filter(|&slot| readers[slot] == 1).and_then(|slot| products[slot]);
        if let (StepKind::Fused(_), Some(before)) = (&step.kind, alone)
            && let Some(product) = steps[before].take()
        {
            steps[i] = steps[i].take().map(|step| after(product, step));
        }
    }
}

/// Whether a step is a contraction that can be fused with the layers after it.
fn is_product(graph: &Graph, step: &Step) -> bool {
    match &step.kind {
        StepKind::Op | StepKind::Specialized(_) => {
            !step.is_checked && step.outs == 1 && step.op(graph).has(OpTraits::CONTRACTION)
        }
        StepKind::Quantized(step) => step.is_contraction(),
        _ => false,
    }
}

/// Combines a fused step with the contraction whose output its first layer reads.
fn after(product: Step, mut step: Step) -> Step {
    let Step { node, kind, operands, first: slot, .. } = product;
    if let StepKind::Fused(fused) = &mut step.kind {
        let computation = match kind {
            StepKind::Specialized(op) => Contraction::Specialized(op),
            StepKind::Quantized(step) => Contraction::Quantized(step),
            _ => Contraction::Op,
        };
        fused.product = Some(FusedProduct { node, slot, computation, inputs: operands.len() });
    }
    let others = step.operands.len() - 1;
    let operands = step.operands[..others].iter().chain(&operands).copied().collect();
    Step { operands, ..step }
}

/// The function of a step, and the ports whose inputs have the same shape as its output, if the step can be
/// fused.
fn fusable(
    constants: &mut Vec<Tensor>,
    graph: &Graph,
    step: &mut Step,
) -> Option<(ElementFunction, SmallVector<usize, 2>)> {
    let is_float = |et: ElementType| et == ElementType::F32 || et.is_half();
    let inputs: Option<SmallVector<_, 2>> =
        graph.inputs(step.node).into_iter().map(|input| Some(&graph.output(input?)?.fact)).collect();
    let (inputs, output) = (inputs?, &graph.node(step.node).outs().first()?.fact);
    if !matches!(step.kind, StepKind::Op) || !is_float(output.element_type) {
        return None;
    }
    let function = match graph.node(step.node).op() {
        Op::PRelu(_) => prelu(constants, step, &inputs),
        op => op.element_function(&inputs).filter(|f| f.is_fusable()),
    }?;
    let ports = match function {
        ElementFunction::Unary(_) => 0..1,
        ElementFunction::Binary(_) => 0..2,
    };
    let are_float = ports.clone().all(|port| is_float(inputs[port].element_type));
    let ports: SmallVector<usize, 2> = ports
        .filter(|&port| step.operands[port].slot().is_some() && inputs[port].shape == output.shape)
        .collect();
    (are_float && !ports.is_empty()).then_some((function, ports))
}

/// The function of a PReLU with one constant slope, or one for each channel. Reshapes the latter so that they
/// broadcast to the data, because a fused step does not align them with the channels.
fn prelu(constants: &mut Vec<Tensor>, step: &mut Step, inputs: &[&Fact]) -> Option<ElementFunction> {
    let (&[data, slope], &[_, Operand::Constant(number)]) = (inputs, &*step.operands) else { return None };
    let dims = data.shape.dims()?;
    let channels = dims.get(1).and_then(SymExpr::as_const).and_then(|count| usize::try_from(count).ok());
    match *constants[number].dims() {
        _ if slope.element_type != data.element_type => return None,
        [1] => {}
        [count] if Some(count) == channels => {
            let aligned = PRelu::align(&constants[number], dims.len()).ok()?;
            step.operands[1] = Operand::Constant(constants.len());
            constants.push(aligned);
        }
        _ => return None,
    }
    Some(ElementFunction::Binary(BinaryOp::PRelu))
}

/// Fuses `step` with `before`, whose output it reads at `port`. Without `before`, turns `step` into a fused
/// step of one layer.
fn fused(before: Option<Step>, step: Step, function: ElementFunction, port: usize) -> Step {
    let value = step.operands[port];
    let (mut fused, mut operands, first) = match before {
        Some(Step { kind: StepKind::Fused(fused), operands, .. }) => {
            let mut operands = operands.into_vec();
            let first = operands.pop();
            (fused, operands, first.unwrap_or(value))
        }
        _ => (FusedLayers::default(), Vec::new(), value),
    };
    let stage = match function {
        ElementFunction::Unary(op) => Stage::Unary(op),
        ElementFunction::Binary(op) if step.operands[1 - port].slot() == value.slot() => Stage::Same(op),
        ElementFunction::Binary(op) => {
            operands.push(step.operands[1 - port]);
            match port {
                0 => Stage::Right(op, operands.len() - 1),
                _ => Stage::Left(op, operands.len() - 1),
            }
        }
    };
    operands.push(first);
    fused.layers.push(FusedLayer { node: step.node, slot: step.first, stage });
    Step { operands: operands.into(), kind: StepKind::Fused(fused), ..step }
}

#[cfg(test)]
mod tests {
    use snick_ir::{infer, text};
    use snick_tensor::Tensor;

    use crate::{Options, Session};

    use super::*;

    /// The number of layers in each fused step for a graph.
    fn fused(parameters: &[(&str, &[usize])], graph: &str) -> Vec<usize> {
        let layers = |step: &Step| match &step.kind {
            StepKind::Fused(fused) => Some(fused.layers.len()),
            _ => None,
        };
        fused_session(parameters, graph).plan.steps.iter().filter_map(layers).collect()
    }

    /// The session for a graph. Checks that it computes the same values with and without fusion.
    fn fused_session(parameters: &[(&str, &[usize])], layers: &str) -> Session {
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
        session
    }

    #[test]
    fn consecutive_layers_are_fused() {
        let layers = "  %b = Const-1 f32[3, 1] <1, -2, 3>\n  %a = Add-1(%b, %p0) {auto_broadcast: numpy}\n  \
                      %r = ReLU-1(%a)\n  %s = Subtract-1(%p1, %r) {auto_broadcast: numpy}\n  \
                      %q = Multiply-1(%s, %s) {auto_broadcast: numpy}\n  %y = Result-1(%q)\n";
        assert_eq!(fused(&[("N,3,4", &[2, 3, 4]), ("N,3,4", &[2, 3, 4])], layers), [4]);
    }

    #[test]
    fn a_value_read_elsewhere_ends_a_fused_step() {
        let layers = "  %a = Exp-1(%p0)\n  %r = ReLU-1(%a)\n  %t = Tanh-1(%a)\n  \
                      %m = Multiply-1(%r, %t) {auto_broadcast: numpy}\n  %y = Result-1(%m)\n  %z = Result-1(%a)\n";
        assert_eq!(fused(&[("2..3", &[2])], layers), [1, 1, 2]);
    }

    #[test]
    fn an_enlarging_layer_starts_a_new_step() {
        let layers = "  %a = Exp-1(%p0)\n  %m = Multiply-1(%a, %p1) {auto_broadcast: numpy}\n  %n = Negative-1(%m)\n  \
                      %y = Result-1(%n)\n";
        assert_eq!(fused(&[("1,4", &[1, 4]), ("3,1", &[3, 1])], layers), [1, 1]);
        assert_eq!(fused(&[("1,4", &[1, 4]), ("3,4", &[3, 4])], layers), [1, 2]);
    }

    #[test]
    fn dynamic_sizes_are_checked_by_the_run() {
        let layers = "  %a = Exp-1(%p0)\n  %m = Add-1(%a, %p1) {auto_broadcast: numpy}\n  %n = Negative-1(%m)\n  \
                      %y = Result-1(%n)\n";
        for dims in [[2, 4], [1, 4], [2, 1], [1, 1]] {
            fused(&[("?,?", &[2, 4]), ("?,?", &dims)], layers);
            fused(&[("?,?", &dims), ("?,?", &[2, 4])], layers);
        }
        // The error must name the layer that fails.
        fused(&[("?,?", &[2, 4]), ("?,?", &[2, 3])], layers);
    }

    #[test]
    fn a_product_that_nobody_else_reads_is_a_part_of_the_step() {
        let layers = |last: &str| {
            format!(
                "  %f = Const-1 f32[1, 2, 1, 1] <2, -1>\n  %b = Const-1 f32[1, 1, 1, 1] <0.5>\n  \
                 %c = Convolution-1(%p0, %f) {{strides: [1, 1], pads_begin: [0, 0], pads_end: [0, 0], \
                 dilations: [1, 1]}}\n  %a = Add-1(%c, %b) {{auto_broadcast: numpy}}\n  %r = ReLU-1(%a)\n  \
                 %y = Result-1(%r)\n{last}"
            )
        };
        let products = |layers: &str, dims: &[usize]| {
            let session = fused_session(&[("N,2,3,5", dims)], layers);
            let has_product =
                |step: &Step| matches!(&step.kind, StepKind::Fused(fused) if fused.product.is_some());
            session.plan.steps.iter().filter(|step| has_product(step)).count()
        };
        assert_eq!(products(&layers(""), &[2, 2, 3, 5]), 1);
        assert_eq!(products(&layers("  %z = Result-1(%c)\n"), &[2, 2, 3, 5]), 0);
    }

    #[test]
    fn slopes_of_channels_are_fused() {
        let layers = |slopes: &str| {
            format!(
                "  %s = Const-1 {slopes}\n  %a = Exp-1(%p0)\n  %b = Negative-1(%a)\n  %r = PReLU-1(%b, %s)\n  \
                 %n = Sqrt-1(%r)\n  %y = Result-1(%n)\n"
            )
        };
        // Also along the last axis, the slopes would have the right number.
        let images: (&str, &[usize]) = ("N,3,?,3", &[2, 3, 4, 3]);
        assert_eq!(fused(&[images], &layers("f32[3] <-0.5, -2, -1>")), [4]);
        assert_eq!(fused(&[("?,3", &[2, 3])], &layers("f32[3] <-0.5, -2, -1>")), [4]);
        assert_eq!(fused(&[images], &layers("f32[1] <-0.5>")), [4]);
        assert_eq!(fused(&[images], &layers("f16[3] <-0.5, -2, -1>")), [2, 1]);
        assert_eq!(fused(&[("?,?,?", &[2, 3, 4])], &layers("f32[3] <-0.5, -2, -1>")), [2, 1]);
    }

    #[test]
    fn integers_and_remainders_are_not_fused() {
        let layers = "  %a = Mod-1(%p0, %p0) {auto_broadcast: numpy}\n  %s = Sin-1(%a)\n  \
                      %c = Convert-1(%s) {destination_type: i32}\n  %n = Negative-1(%c)\n  %y = Result-1(%n)\n";
        assert!(fused(&[("2,2", &[2, 2])], layers).is_empty());
    }
}
