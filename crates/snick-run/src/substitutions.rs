//! Adds the optimized steps of a session to its graph, next to the layers that they replace, so that a check
//! can execute both and compare their values.
//!
//! Each step that does more than evaluate the op of its node becomes a custom op that runs the step. A claim
//! ([`Substitution`]) states that the outputs of this op equal the values of the replaced layers. Each folded
//! constant gets a claim as well.
//!
//! Where possible, a custom op reads the values that the original layers compute, not the outputs of other
//! optimized steps, so that each step is checked separately. If a step reads quantized codes, they are
//! computed from the original values.

use std::collections::HashMap;
use std::sync::Arc;

use snick_ir::ops::source::constant::Constant;
use snick_ir::rewrite::{Substitution, Tolerance};
use snick_ir::{
    Arity, Custom, CustomOp, Fact, Facts, Graph, Infer, Node, NodeId, Op, OpError, Value, exactly,
};
use snick_tensor::Tensor;
use snick_tensor::kernels::Quantizer;

use crate::plan::{Operand, Step, StepKind, slots};
use crate::quantized_step::moved_inputs;
use crate::session::Session;

/// The graph of a session, extended by the layers that replace some of its layers in a run.
///
/// ```
/// use std::sync::Arc;
/// use snick::{infer, ElementType, GraphBuilder};
/// use snick_run::{Session, Substitutions};
///
/// let b = GraphBuilder::new("g");
/// let x = b.parameter("x", ElementType::F32, "N")?;
/// let sum = b.add(x, x)?;
/// let relu = b.relu(sum)?;
/// b.result("y", relu)?;
/// let mut graph = b.finish()?;
/// assert!(infer(&mut graph).is_empty());
/// let session = Arc::new(Session::new(graph)?);
/// let all = Substitutions::of(&session);
/// // One pass computes the sum and the ReLU.
/// assert_eq!((all[0].claims.len(), all[0].claims[0].by), (1, "fuse-elementwise"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Substitutions {
    /// The graph, which contains the layers of the model and the substitutes.
    pub graph: Graph,
    /// The values that are claimed to be equal.
    pub claims: Vec<Substitution>,
}

impl Substitutions {
    /// The substitutions of a session and of the sessions of its bodies.
    pub fn of(session: &Arc<Session>) -> Vec<Self> {
        let mut all = vec![Builder::new(session).build()];
        all.extend(session.bodies.sessions().flat_map(Self::of));
        all
    }
}

/// An op that computes the same values as some layers.
#[derive(Clone)]
enum Substitute {
    /// The step with this index.
    Step(Arc<Session>, usize),
    /// Converts values to codes.
    Quantize(Arc<Quantizer>),
    /// Converts codes to values.
    Dequantize(Arc<Quantizer>),
}

impl std::fmt::Debug for Substitute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Step(_, number) => write!(f, "step {number}"),
            Self::Quantize(_) => f.write_str("quantize"),
            Self::Dequantize(_) => f.write_str("dequantize"),
        }
    }
}

impl CustomOp for Substitute {
    fn arity(&self) -> Arity {
        Arity::at_least(0)
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<Facts, OpError> {
        let count = match self {
            Self::Step(session, number) => session.plan.steps[*number].outs,
            Self::Quantize(_) | Self::Dequantize(_) => 1,
        };
        Ok(std::iter::repeat_n(Fact::unknown(), count).collect())
    }

    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let converted = match self {
            Self::Step(session, number) => {
                return session.evaluate_alone(&session.plan.steps[*number], inputs);
            }
            Self::Quantize(quantizer) => quantizer.quantize(exactly::<1>(inputs).map(|[values]| values)?)?,
            Self::Dequantize(quantizer) => {
                quantizer.dequantize(exactly::<1>(inputs).map(|[codes]| codes)?)?
            }
        };
        Ok(vec![converted])
    }
}

/// Adds the substitutes of a session to its graph.
struct Builder<'s> {
    session: &'s Arc<Session>,
    graph: Graph,
    claims: Vec<Substitution>,
    /// For each slot that holds a value of the model: the value.
    values: Vec<Value>,
    /// For each slot whose content is not a value of the model (quantised codes, for example): the value that
    /// was added to the graph for this slot, and the values of the model from which the added value is
    /// computed.
    made: HashMap<usize, (Value, Vec<Value>)>,
}

impl<'s> Builder<'s> {
    fn new(session: &'s Arc<Session>) -> Self {
        let graph = Graph::clone(&session.graph);
        let order = graph.order().unwrap_or_default();
        let (first, count) = slots(&graph, &order);
        let mut values = Vec::with_capacity(count);
        for id in order {
            let end = values.len() + graph.node(id).outs().len().max(1);
            values.extend((first[id.index()]..end).zip(0..).map(|(_, port)| Value { node: id, port }));
        }
        Self { session, graph, claims: Vec::new(), values, made: HashMap::new() }
    }

    fn build(mut self) -> Substitutions {
        let plan = &self.session.plan;
        for (number, step) in plan.steps.iter().enumerate() {
            self.step(number, step);
        }
        for (&slot, constant) in plan.folded.iter().zip(&plan.constants) {
            self.folded(slot, constant);
        }
        Substitutions { graph: self.graph, claims: self.claims }
    }

    /// Adds the claim for a step that does not simply evaluate the op of its node.
    fn step(&mut self, number: usize, step: &Step) -> Option<()> {
        let (by, rounds) = match &step.kind {
            StepKind::Op => return None,
            StepKind::Specialized(op) if self.session.graph.specialized(step.node).as_ref() == Some(op) => {
                return None;
            }
            StepKind::Specialized(_) => ("prune-outputs", false),
            StepKind::Fused(fused) => ("fuse-elementwise", fused.product.is_some()),
            StepKind::Slice(_) => ("compute-slice-numbers", false),
            StepKind::Packed(_) => ("keep-packed", true),
            StepKind::Quantized(_) => ("fuse-int8", true),
        };
        let (mut inputs, mut reads) = (Vec::new(), Vec::new());
        for operand in &step.operands {
            let slot = match *operand {
                Operand::Slot { slot, .. } => slot,
                Operand::Constant(number) => *self.session.plan.folded.get(number)?,
                Operand::Missing => return None,
            };
            let (value, read) = self.value(slot)?;
            inputs.push(value);
            reads.extend(read);
        }
        let new = self.add(Substitute::Step(self.session.clone(), number), &inputs)?;
        if step.has_outputs_of_node() {
            for port in 0..step.outs {
                if self.session.plan.is_read[step.first + port] {
                    let old = self.values[step.first + port];
                    let new = Value { port: port as u32, ..new };
                    self.claim(by, rounds, old, new, reads.clone());
                }
            }
            return Some(());
        }
        let Some((old, quantizer)) = self.session.plan.codes.get(&step.first) else {
            // These codes are only read by the next step, so there is nothing to compare them with.
            self.made.insert(step.first, (new, reads));
            return Some(());
        };
        let new = self.add(Substitute::Dequantize(quantizer.clone()), &[new])?;
        self.claim(by, rounds, *old, new, reads);
        Some(())
    }

    /// The value that represents a slot, and the values of the model from which it is computed.
    fn value(&mut self, slot: usize) -> Option<(Value, Vec<Value>)> {
        if let Some(&value) = self.values.get(slot) {
            return Some((value, vec![value]));
        }
        if let Some(made) = self.made.get(&slot) {
            return Some(made.clone());
        }
        let (encoded, quantizer) = self.session.plan.codes.get(&slot)?;
        let value = self.add(Substitute::Quantize(quantizer.clone()), &[*encoded])?;
        let made = (value, self.before_quantization(*encoded));
        self.made.insert(slot, made.clone());
        Some(made)
    }

    /// The values that FakeQuantizes round before layers move them to `encoded`.
    fn before_quantization(&self, encoded: Value) -> Vec<Value> {
        let (mut found, mut pending) = (Vec::new(), vec![encoded.node]);
        while let Some(at) = pending.pop() {
            let node = self.graph.node(at);
            match node.op() {
                Op::FakeQuantize(_) => found.extend(node.input(0)),
                op => {
                    let moved = moved_inputs(op, self.graph.inputs(at).len());
                    pending.extend(moved.filter_map(|port| Some(node.input(port)?.node)));
                }
            }
        }
        found
    }

    /// Adds the claim for a folded constant.
    fn folded(&mut self, slot: usize, constant: &Tensor) -> Option<()> {
        let old = *self.values.get(slot)?;
        if matches!(self.graph.node(old.node).op(), Op::Const(_)) {
            return None;
        }
        let constant = Constant::new(Arc::new(constant.clone()));
        let new = self.graph.add(Node::new("folded", Op::from(constant)));
        self.graph.infer_node(new).ok()?;
        self.claim("fold", false, old, Value { node: new, port: 0 }, Vec::new());
        Some(())
    }

    fn claim(&mut self, by: &'static str, rounds: bool, old: Value, new: Value, reads: Vec<Value>) {
        let tolerance = match by {
            _ if rounds => Some(Tolerance::UNDECLARED),
            // Constants that contractions read are folded with subnormal elements flushed to zero.
            "fold" => Some(Tolerance { relative: 0.0, absolute: f32::MIN_POSITIVE.into() }),
            _ => None,
        };
        let widens = self.session.half_precision.is_active();
        self.claims.push(Substitution { by, old, new, reads, tolerance, widens });
    }

    /// Adds a layer that computes a substitute.
    fn add(&mut self, substitute: Substitute, inputs: &[Value]) -> Option<Value> {
        let name = format!("{substitute:?}");
        let op = Custom::new("session", name.clone(), Arc::new(substitute));
        let node: NodeId = self.graph.add(Node::new(name, Op::from(op)));
        for (port, input) in (0..).zip(inputs) {
            self.graph.connect_new(*input, node, port).ok()?;
        }
        self.graph.infer_node(node).ok()?;
        Some(Value { node, port: 0 })
    }
}

#[cfg(test)]
mod tests;
