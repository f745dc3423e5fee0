//! The context of a table row: one layer, and helpers that write ONNX nodes for it.

use std::ops::Deref;

use snick_ir::{Fact, Graph, NodeId, OpError, Output, Value};
use snick_onnx::{self as onnx, kind};
use snick_tensor::{ElementType, Tensor};

use super::node_types::NodeLack;
use super::writer::Writer;
use crate::layer::Layer;

/// Writes one layer.
pub(super) struct Emitter<'g> {
    pub(super) layer: Layer<'g>,
    /// The names of the input values.
    inputs: Vec<String>,
    outputs: Vec<String>,
    /// The file being written.
    pub(super) writer: &'g mut Writer,
}

/// A result whose error defaults to [`OpError`].
pub(super) type Result<T = (), E = OpError> = std::result::Result<T, E>;

impl<'g> Deref for Emitter<'g> {
    type Target = Layer<'g>;

    fn deref(&self) -> &Layer<'g> {
        &self.layer
    }
}

impl<'g> Emitter<'g> {
    pub(super) fn new(graph: &'g Graph, id: NodeId, writer: &'g mut Writer) -> Result<Self> {
        let layer = Layer::new(graph, id)?;
        let inputs = layer.inputs.iter().map(|&value| writer.names.of(value)).collect();
        let outputs =
            (0..computed(graph, id)).map(|port| writer.names.of(Value { node: id, port })).collect();
        if writer.checked.target.is_some() {
            let values = (0..).map(|port| Value { node: id, port }).take(graph.node(id).outs().len());
            for value in layer.inputs.iter().copied().chain(values) {
                if let Some(fact) = graph.fact(value).filter(|fact| fact.element_type != ElementType::Dynamic)
                {
                    writer.checked.types.insert(writer.names.of(value), fact.element_type);
                }
            }
        }
        Ok(Self { layer, inputs, outputs, writer })
    }

    /// The name of input `i`.
    pub(super) fn input(&self, i: usize) -> Result<String> {
        self.inputs.get(i).cloned().ok_or(OpError::NotConnected { port: i })
    }

    /// The first input of this name.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.inputs.iter().position(|input| input == name)
    }

    /// The names of all inputs.
    pub(super) fn inputs(&self) -> Vec<String> {
        self.inputs.clone()
    }

    /// The rank of input `i`, which must be known.
    pub(super) fn rank(&self, i: usize) -> Result<usize> {
        let rank = self.fact(i)?.shape.rank();
        rank.ok_or_else(|| OpError::unsupported(format!("the unknown rank of input {i}")))
    }

    /// The sizes of input `i`, which must be known.
    pub(super) fn dims(&self, i: usize) -> Result<Vec<i64>> {
        let dims = self.fact(i)?.shape.as_static();
        let dims = dims.ok_or_else(|| OpError::unsupported(format!("unknown sizes of input {i}")))?;
        Ok(dims.iter().map(|&dim| dim as i64).collect())
    }

    /// The length of input `i`, which must be a vector of known length.
    pub(super) fn fixed_len(&self, i: usize) -> Result<i64> {
        match self.dims(i)?.as_slice() {
            &[len] => Ok(len),
            dims => Err(OpError::rank(format!("input {i}"), dims.len(), "1")),
        }
    }

    /// Adds a node with one output, an intermediate value.
    pub(super) fn node<S: AsRef<str>>(
        &mut self,
        op: &str,
        inputs: &[S],
        attrs: Vec<onnx::Attribute>,
    ) -> String {
        self.add_intermediate(op, owned(inputs), attrs)
    }

    // The functions below are not generic, so that there is one copy of each.

    fn add_intermediate(&mut self, op: &str, inputs: Vec<String>, attrs: Vec<onnx::Attribute>) -> String {
        let output = self.fresh(op);
        self.add(op, output.clone(), inputs, vec![output.clone()], attrs);
        output
    }

    fn add_last(&mut self, count: usize, op: &str, inputs: Vec<String>, attrs: Vec<onnx::Attribute>) {
        let outputs = self.outputs.iter().take(count).cloned().collect();
        self.add(op, self.node.name().to_string(), inputs, outputs, attrs);
    }

    fn add(
        &mut self,
        op: &str,
        name: String,
        input: Vec<String>,
        output: Vec<String>,
        attribute: Vec<onnx::Attribute>,
    ) {
        let op_type = op.to_string();
        let mut node = onnx::Node { input, output, name, op_type, attribute, ..onnx::Node::default() };
        if self.writer.checked.target.is_some()
            && let Err(error) = self.fit(&mut node)
        {
            let lack = NodeLack { what: error.to_string(), element_type: None };
            self.writer.checked.lack.get_or_insert(lack);
        }
        self.writer.node(node);
    }

    /// Adds the node that computes the outputs of the layer.
    pub(super) fn last<S: AsRef<str>>(
        &mut self,
        op: &str,
        inputs: &[S],
        attrs: Vec<onnx::Attribute>,
    ) -> Result {
        self.add_last(usize::MAX, op, owned(inputs), attrs);
        Ok(())
    }

    /// Adds the node that computes the first `count` outputs of the layer, for operators that do not compute
    /// the other outputs.
    pub(super) fn last_of<S: AsRef<str>>(
        &mut self,
        count: usize,
        op: &str,
        inputs: &[S],
        attrs: Vec<onnx::Attribute>,
    ) -> Result {
        self.add_last(count, op, owned(inputs), attrs);
        Ok(())
    }

    /// Adds a node that computes output `port` of the layer.
    pub(super) fn last_port<S: AsRef<str>>(
        &mut self,
        port: usize,
        op: &str,
        inputs: &[S],
        attrs: Vec<onnx::Attribute>,
    ) -> Result {
        let output = self.outputs.get(port).cloned().unwrap_or_default();
        self.push(op, format!("{}.{port}", self.node.name()), inputs, vec![output], attrs);
        Ok(())
    }

    /// Adds a constant as output `port` of the layer.
    pub(super) fn last_constant(&mut self, port: usize, value: &Tensor) -> Result {
        match self.outputs.get(port).cloned() {
            Some(name) => self.writer.tensor(name, value),
            None => Ok(()),
        }
    }

    /// Adds a node with several outputs, all intermediate values.
    pub(super) fn nodes<S: AsRef<str>>(
        &mut self,
        op: &str,
        inputs: &[S],
        outputs: usize,
        attrs: Vec<onnx::Attribute>,
    ) -> Vec<String> {
        let name = self.fresh(op);
        let outputs: Vec<String> = (0..outputs).map(|i| self.fresh(&format!("{op}.{i}"))).collect();
        self.push(op, name, inputs, outputs.clone(), attrs);
        outputs
    }

    /// Adds a node with the given output names.
    pub(super) fn push<S: AsRef<str>>(
        &mut self,
        op: &str,
        name: String,
        inputs: &[S],
        output: Vec<String>,
        attribute: Vec<onnx::Attribute>,
    ) {
        self.add(op, name, owned(inputs), output, attribute);
    }

    /// The names of the outputs.
    pub(super) fn outputs(&self) -> &[String] {
        &self.outputs
    }

    /// A new name for an intermediate value.
    pub(super) fn fresh(&mut self, what: &str) -> String {
        self.writer.names.fresh(&format!("{}/{what}", self.layer.node.name()))
    }

    /// Adds a constant.
    pub(super) fn tensor(&mut self, tensor: &Tensor) -> Result<String> {
        let name = self.fresh("Const");
        self.writer.tensor(name.clone(), tensor)?;
        Ok(name)
    }

    /// Adds a vector of i64.
    pub(super) fn vector(&mut self, values: &[i64]) -> Result<String> {
        self.tensor(&Tensor::from_vec(&[values.len()], values.to_vec())?)
    }

    /// Adds a scalar of an element type.
    pub(super) fn number(&mut self, element_type: ElementType, value: f64) -> Result<String> {
        self.tensor(&Tensor::scalar(value).cast(element_type)?)
    }

    /// Converts a value to another element type.
    pub(super) fn cast(&mut self, value: String, from: ElementType, to: ElementType) -> Result<String> {
        if from == to {
            return Ok(value);
        }
        let to = self.to(to)?;
        Ok(self.node("Cast", &[value], to))
    }

    /// Adds a scalar of i64.
    pub(super) fn index(&mut self, value: i64) -> Result<String> {
        self.tensor(&Tensor::scalar(value))
    }

    /// The shape of a value, as a new value.
    pub(super) fn shape(&mut self, value: &str) -> String {
        self.node("Shape", &[value], vec![])
    }

    /// The size of a value along an axis, as a vector of length 1.
    pub(super) fn size(&mut self, value: &str, axis: i64) -> Result<String> {
        let (shape, axis) = (self.shape(value), self.vector(&[axis])?);
        Ok(self.node("Gather", &[shape, axis], vec![]))
    }

    /// Reshapes a value; one size may be -1.
    pub(super) fn reshaped(&mut self, value: &str, sizes: &[i64]) -> Result<String> {
        let attrs = if sizes.contains(&0) { vec![int("allowzero", 1)] } else { vec![] };
        let sizes = self.vector(sizes)?;
        Ok(self.node("Reshape", &[value, &sizes], attrs))
    }

    /// Reshapes a value to computed sizes. A size of 0 means an empty axis; it does not copy the old size.
    pub(super) fn reshaped_to(&mut self, value: &str, sizes: &str) -> String {
        self.node("Reshape", &[value, sizes], vec![int("allowzero", 1)])
    }

    /// Permutes the axes of a value.
    pub(super) fn transposed(&mut self, value: &str, order: &[i64]) -> String {
        self.node("Transpose", &[value], vec![ints("perm", order.to_vec())])
    }

    /// Inserts axes of size 1.
    pub(super) fn unsqueezed(&mut self, value: &str, axes: &[i64]) -> Result<String> {
        let axes = self.vector(axes)?;
        Ok(self.node("Unsqueeze", &[value, &axes], vec![]))
    }

    /// Slices `start..stop` along an axis.
    pub(super) fn cut(&mut self, value: &str, axis: i64, start: i64, stop: i64) -> Result<String> {
        let bounds = [self.vector(&[start])?, self.vector(&[stop])?, self.vector(&[axis])?];
        Ok(self.node("Slice", &[value, &bounds[0], &bounds[1], &bounds[2]], vec![]))
    }

    /// Concatenates values along an axis.
    pub(super) fn joined<S: AsRef<str>>(&mut self, values: &[S], axis: i64) -> String {
        match values {
            [single] => single.as_ref().to_string(),
            _ => self.node("Concat", values, vec![int("axis", axis)]),
        }
    }

    /// The attribute `to` of a Cast.
    pub(super) fn to(&self, element_type: ElementType) -> Result<Vec<onnx::Attribute>> {
        Ok(vec![int("to", self.writer.number_of(element_type)?.into())])
    }

    /// Input `i` as i64.
    pub(super) fn input_i64(&mut self, i: usize) -> Result<String> {
        if self.element_type(i)? == ElementType::U64 && self.known(i).is_none() {
            return Err(OpError::unsupported(format!("input {i} of u64 known only at run time")));
        }
        if self.element_type(i)? != ElementType::I64
            && let (Some(known), Some(dims)) = (self.known(i), self.fact(i)?.shape.as_static())
        {
            return self.tensor(&Tensor::from_vec(&dims, known)?);
        }
        self.cast(self.input(i)?, self.element_type(i)?, ElementType::I64)
    }

    /// Input `i`, which contains indices. They are converted to i64, except i32 indices, which ONNX accepts.
    pub(super) fn indices(&mut self, i: usize) -> Result<String> {
        match self.element_type(i)? {
            ElementType::I32 => self.input(i),
            _ => self.input_i64(i),
        }
    }

    /// Input `i`, a scalar, as an i64 vector of length 1. A known scalar becomes a constant, because ONNX
    /// Runtime only uses constants when it infers shapes.
    pub(super) fn input_as_vector(&mut self, i: usize) -> Result<String> {
        if let Some(known) = self.known(i)
            && known.len() == 1
        {
            return self.vector(&known);
        }
        let value = self.input_i64(i)?;
        let shape = self.vector(&[1])?;
        Ok(self.node("Reshape", &[value, shape], vec![]))
    }
}

fn owned<S: AsRef<str>>(names: &[S]) -> Vec<String> {
    names.iter().map(|name| name.as_ref().to_string()).collect()
}

/// An integer attribute.
pub(super) fn int(name: &str, value: i64) -> onnx::Attribute {
    onnx::Attribute { name: name.into(), i: Some(value), kind: Some(kind::INT), ..onnx::Attribute::default() }
}

/// A float attribute.
pub(super) fn float(name: &str, value: f64) -> onnx::Attribute {
    let f = Some(value as f32);
    onnx::Attribute { name: name.into(), f, kind: Some(kind::FLOAT), ..onnx::Attribute::default() }
}

/// An attribute with a list of integers.
pub(super) fn ints(name: &str, ints: Vec<i64>) -> onnx::Attribute {
    onnx::Attribute { name: name.into(), ints, kind: Some(kind::INTS), ..onnx::Attribute::default() }
}

/// A string attribute.
pub(super) fn text(name: &str, value: &str) -> onnx::Attribute {
    let s = Some(bytes::Bytes::copy_from_slice(value.as_bytes()));
    onnx::Attribute { name: name.into(), s, kind: Some(kind::STRING), ..onnx::Attribute::default() }
}

/// An attribute with a list of floats.
pub(super) fn floats(name: &str, values: &[f64]) -> onnx::Attribute {
    let floats = values.iter().map(|&v| v as f32).collect();
    onnx::Attribute { name: name.into(), floats, kind: Some(kind::FLOATS), ..onnx::Attribute::default() }
}

/// An attribute with a list of strings.
pub(super) fn texts(name: &str, values: &[&str]) -> onnx::Attribute {
    let strings = values.iter().map(|v| bytes::Bytes::copy_from_slice(v.as_bytes())).collect();
    onnx::Attribute { name: name.into(), strings, kind: Some(kind::STRINGS), ..onnx::Attribute::default() }
}

/// An attribute with a graph.
pub(super) fn graph_attribute(name: &str, graph: onnx::Graph) -> onnx::Attribute {
    onnx::Attribute {
        name: name.into(),
        g: Some(Box::new(graph)),
        kind: Some(kind::GRAPH),
        ..onnx::Attribute::default()
    }
}

/// The number of outputs that are computed. A file may declare more outputs; these have no type and no
/// reader.
fn computed(graph: &Graph, id: NodeId) -> u32 {
    let outs = (0..).zip(graph.node(id).outs());
    let is_computed = |port, out: &Output| {
        let is_known = out.fact != Fact::unknown();
        is_known || port == 0 || !graph.uses(Value { node: id, port }).is_empty()
    };
    outs.filter(|&(port, out)| is_computed(port, out)).last().map_or(0, |(port, _)| port + 1)
}
