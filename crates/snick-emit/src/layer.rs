//! One layer as the emitters of all formats see it: the operation, and the facts of its inputs.

use snick_ir::ops::nn::transposed_convolution::TransposedSliding;
use snick_ir::{Fact, Graph, NodeId, NodeRef, OpError, Value};
use snick_shape::SymExpr;
use snick_tensor::Tensor;

/// A layer with all inputs connected.
pub(crate) struct Layer<'g> {
    /// The graph that contains the layer.
    pub(crate) graph: &'g Graph,
    pub(crate) id: NodeId,
    pub(crate) node: NodeRef<'g>,
    pub(crate) inputs: Vec<Value>,
}

impl<'g> Layer<'g> {
    pub(crate) fn new(graph: &'g Graph, id: NodeId) -> Result<Self, OpError> {
        let inputs = graph.inputs(id).into_iter().enumerate();
        let inputs = inputs.map(|(port, value)| value.ok_or(OpError::NotConnected { port }));
        let inputs = inputs.collect::<Result<_, _>>()?;
        let node = graph.node(id);
        Ok(Self { graph, id, node, inputs })
    }

    /// The number of inputs.
    pub(crate) fn len(&self) -> usize {
        self.inputs.len()
    }

    /// The fact of input `i`.
    pub(crate) fn fact(&self, i: usize) -> Result<&'g Fact, OpError> {
        let fact = self.inputs.get(i).and_then(|&value| self.graph.fact(value));
        fact.ok_or(OpError::NotConnected { port: i })
    }

    /// The element type of input `i`.
    #[cfg(feature = "onnx")]
    pub(crate) fn element_type(&self, i: usize) -> Result<snick_tensor::ElementType, OpError> {
        Ok(self.fact(i)?.element_type)
    }

    /// The value of input `i`, if it is a constant.
    pub(crate) fn tensor(&self, i: usize) -> Option<&'g Tensor> {
        self.fact(i).ok()?.as_tensor().map(|tensor| &**tensor)
    }

    /// The integers of input `i`, if they are known.
    pub(crate) fn known(&self, i: usize) -> Option<Vec<i64>> {
        self.fact(i).ok()?.ints().map(|ints| ints.to_vec())
    }

    /// If input `i` is a constant whose elements are all equal, their value.
    pub(crate) fn known_float(&self, i: usize) -> Option<f64> {
        let numbers = self.tensor(i)?.to_f64_vec().ok()?;
        numbers.first().copied().filter(|first| numbers.iter().all(|number| number == first))
    }

    /// The integers of input `i` as expressions over sizes, if known.
    pub(crate) fn elements(&self, i: usize) -> Option<Vec<SymExpr>> {
        self.fact(i).ok()?.elements()
    }

    /// The integers of input `i`, which must be known because the format stores them in an attribute.
    pub(crate) fn fixed(&self, i: usize, what: &str) -> Result<Vec<i64>, OpError> {
        self.known(i).ok_or_else(|| at_run_time(what))
    }

    /// The single integer of input `i`, which must be known because the format stores it in an attribute.
    #[cfg(feature = "onnx")]
    pub(crate) fn fixed_one(&self, i: usize, what: &str) -> Result<i64, OpError> {
        let first = self.fixed(i, what)?.first().copied();
        first.ok_or_else(|| OpError::mismatch(what, "an empty list", "a number"))
    }

    /// The single float of input `i`, which must be known because the format stores it in an attribute.
    #[cfg(feature = "onnx")]
    pub(crate) fn fixed_float(&self, i: usize, what: &str) -> Result<f64, OpError> {
        self.known_float(i).ok_or_else(|| at_run_time(what))
    }

    /// The number of elements to crop along each spatial axis from the full result of a transposed
    /// convolution with an output shape (input 2). `None` if the numbers are not known statically.
    pub(crate) fn excess(&self, transposed: &TransposedSliding, kernel: &[usize]) -> Option<Vec<i128>> {
        let data = self.fact(0).ok()?.shape.dims()?.get(2..)?;
        let wanted = self.node.outs().first()?.fact.shape.dims()?.get(2..)?;
        let axes = data.iter().zip(wanted).zip(kernel).enumerate();
        axes.map(|(i, ((size, wanted), &kernel))| {
            let excess = transposed.excess(self.graph.symbols(), i, size, kernel, wanted)?;
            excess.as_const().map(i128::from)
        })
        .collect()
    }

    /// Whether the first input is of a float type.
    pub(crate) fn is_float(&self) -> bool {
        self.fact(0).is_ok_and(|fact| fact.element_type.is_float())
    }

    /// Whether the first input is of a signed integer type. The output formats round quotients of such
    /// integers towards zero.
    pub(crate) fn is_signed_integer(&self) -> bool {
        self.fact(0).is_ok_and(|fact| fact.element_type.is_signed() && !fact.element_type.is_float())
    }

    /// Whether any layer reads output `port`.
    pub(crate) fn is_used(&self, port: u32) -> bool {
        !self.graph.uses(Value { node: self.id, port }).is_empty()
    }

    /// Whether all inputs are constants and the layer is deterministic.
    pub(crate) fn is_constant(&self) -> bool {
        let is_known = |i| self.tensor(i).is_some();
        self.len() > 0 && self.node.op().traits().is_foldable() && (0..self.len()).all(is_known)
    }

    /// The outputs, evaluated at export time; `None` unless all inputs are constants.
    pub(crate) fn evaluated(&self) -> Option<Vec<Tensor>> {
        if !self.is_constant() {
            return None;
        }
        let inputs: Option<Vec<Tensor>> = (0..self.len()).map(|i| self.tensor(i).cloned()).collect();
        let specialized = self.graph.specialized(self.id);
        specialized.as_ref().unwrap_or(self.node.op()).eval_constants(&inputs?).ok()
    }
}

fn at_run_time(what: &str) -> OpError {
    OpError::unsupported(format!("{what} known only at run time"))
}
