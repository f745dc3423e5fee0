//! Evaluates values of a graph on a sample.

use std::collections::HashMap;

use snick_ir::rewrite::decomposed;
use snick_ir::{Code, Custom, Graph, NodeId, Op, OpError, Value};
use snick_tensor::{ElementType, SplitMix, Tensor};

use super::claim::Claim;

/// The reason why a value cannot be computed.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// The value depends on a layer that cannot be executed for any input.
    CannotRun(OpError),
    /// The value depends on a layer that fails for these inputs.
    Fails(OpError),
}

impl From<OpError> for Failure {
    fn from(error: OpError) -> Self {
        match Code::from(&error) {
            // There is no implementation, or the memory limit was reached.
            Code::CannotRun | Code::Limit => Self::CannotRun(error),
            _ => Self::Fails(error),
        }
    }
}

/// An evaluation of a graph, which computes each value once.
pub(super) struct Evaluation<'a> {
    graph: &'a Graph,
    values: HashMap<Value, Tensor>,
    /// Whether f16 and bf16 values are computed in f32, as in a session.
    widens: bool,
    /// Generates the directions of rounding; `None` if values are not perturbed.
    perturbed: Option<SplitMix>,
    /// The number of elements computed so far.
    elements: usize,
}

impl<'a> Evaluation<'a> {
    /// Creates an evaluation of a graph, given the tensors of some values.
    fn new(graph: &'a Graph, values: HashMap<Value, Tensor>) -> Self {
        Self { graph, values, widens: false, perturbed: None, elements: 0 }
    }

    /// Creates an evaluation of a claim, given the tensors of the leaves of its region.
    pub(super) fn of(claim: &Claim<'a>, leaves: &HashMap<Value, Tensor>) -> Self {
        let wide = |(value, tensor): (&Value, &Tensor)| {
            (*value, if claim.widens { widened(tensor) } else { tensor.clone() })
        };
        let values = leaves.iter().map(wide).collect();
        Self { widens: claim.widens, ..Self::new(claim.graph, values) }
    }

    /// Creates an evaluation in which every float of the inputs and of computed values is changed by one unit
    /// in the last place. The change of the result estimates the effect of rounding in a different order
    /// (Parker's Monte Carlo arithmetic, 1997).
    pub(super) fn perturbed(claim: &Claim<'a>, leaves: &HashMap<Value, Tensor>, seed: u64) -> Self {
        let mut random = SplitMix::new(seed);
        let mut evaluation = Self::of(claim, leaves);
        let mut sorted: Vec<_> = evaluation.values.iter_mut().collect();
        sorted.sort_by_key(|(value, _)| **value);
        sorted.into_iter().for_each(|(_, tensor)| *tensor = perturb(tensor, &mut random));
        Self { perturbed: Some(random), ..evaluation }
    }

    /// The number of elements computed.
    pub(super) fn elements(&self) -> usize {
        self.elements
    }

    /// The tensor of a value.
    pub(super) fn value(&mut self, value: Value) -> Result<Tensor, Failure> {
        let missing = || Failure::Fails(OpError::ForeignValue);
        let mut todo = vec![value];
        while let Some(&next) = todo.last() {
            if self.values.contains_key(&next) {
                todo.pop();
                continue;
            }
            let waiting = todo.len();
            let mut inputs = Vec::new();
            for input in self.graph.inputs(next.node) {
                let input = input.ok_or_else(missing)?;
                match self.values.get(&input) {
                    Some(tensor) => inputs.push(tensor.clone()),
                    None => todo.push(input),
                }
            }
            if todo.len() > waiting {
                continue;
            }
            todo.pop();
            self.compute(next.node, &inputs)?;
            if !self.values.contains_key(&next) {
                return Err(missing());
            }
        }
        self.values.get(&value).cloned().ok_or_else(missing)
    }

    /// Whether the first input of a layer is a constant.
    fn is_of_constant(&self, node: NodeId) -> bool {
        let input = self.graph.node(node).input(0).and_then(|input| self.graph.fact(input));
        input.is_some_and(|fact| fact.as_tensor().is_some())
    }

    fn compute(&mut self, node: NodeId, inputs: &[Tensor]) -> Result<(), Failure> {
        let specialized = self.graph.specialized(node);
        let op = specialized.as_ref().unwrap_or(self.graph.node(node).op());
        let outputs = match op {
            Op::Custom(op) => evaluate_custom(op, inputs, self.graph.node(node).outs().len())?,
            Op::SubGraph(op) => op.execute(inputs, &mut |number, arguments| {
                let missing = || OpError::mismatch("the number of bodies", op.bodies.len(), number + 1);
                outputs_of(op.bodies.get(number).ok_or_else(missing)?, arguments)
            })?,
            // If half floats are computed in f32, a Convert to a half float must not round. Only constants
            // are rounded, as in a session.
            Op::Convert(op) if self.widens && op.destination_type.is_half() && !self.is_of_constant(node) => {
                inputs
                    .iter()
                    .map(|input| input.cast(ElementType::F32))
                    .collect::<Result<_, _>>()
                    .map_err(OpError::from)?
            }
            op => op.eval(inputs)?,
        };
        for (port, mut tensor) in (0..).zip(outputs) {
            if self.widens {
                tensor = widened(&tensor);
            }
            self.elements = self.elements.saturating_add(tensor.len());
            if let Some(random) = &mut self.perturbed {
                tensor = perturb(&tensor, random);
            }
            self.values.insert(Value { node, port }, tensor);
        }
        Ok(())
    }
}

/// The outputs of a custom op, computed by its implementation or its decomposition.
fn evaluate_custom(op: &Custom, inputs: &[Tensor], outputs: usize) -> Result<Vec<Tensor>, Failure> {
    op.definition().arity().check(inputs.len())?;
    match op.eval(inputs) {
        Err(OpError::NoImplementation { .. }) => {}
        computed => return Ok(computed?),
    }
    Ok(outputs_of(&decomposed(op, inputs, outputs)?, inputs)?)
}

/// The values of a graph's Results for given values of its Parameters.
fn outputs_of(graph: &Graph, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
    let leaves =
        graph.parameters().zip(inputs).map(|(node, tensor)| (Value { node, port: 0 }, tensor.clone()));
    let mut evaluation = Evaluation::new(graph, leaves.collect());
    let results = graph.results().map(|result| {
        let value = graph.node(result).input(0).ok_or(OpError::NotConnected { port: 0 })?;
        evaluation.value(value).map_err(|failure| match failure {
            Failure::CannotRun(error) | Failure::Fails(error) => error,
        })
    });
    results.collect()
}

/// Converts tensors of f16 or bf16 to f32 and leaves others unchanged.
fn widened(tensor: &Tensor) -> Tensor {
    let wide = tensor.element_type().is_half().then(|| tensor.cast(ElementType::F32).ok());
    wide.flatten().unwrap_or_else(|| tensor.clone())
}

/// Moves every element of a float tensor by about one unit in the last place, up or down.
fn perturb(tensor: &Tensor, random: &mut SplitMix) -> Tensor {
    let unit = match tensor.element_type() {
        ElementType::F64 => f64::EPSILON,
        ElementType::F32 => f64::from(f32::EPSILON),
        ElementType::F16 => 2f64.powi(-10),
        ElementType::BF16 => 2f64.powi(-7),
        _ => return tensor.clone(),
    };
    let moved = |x: f64, random: &mut SplitMix| x + if random.below(2) == 0 { unit * x } else { -unit * x };
    let perturbed = tensor.to_f64_vec().ok().and_then(|elements| {
        let elements: Vec<f64> = elements.into_iter().map(|x| moved(x, random)).collect();
        Tensor::from_vec(tensor.dims(), elements).ok()?.cast(tensor.element_type()).ok()
    });
    perturbed.unwrap_or_else(|| tensor.clone())
}
