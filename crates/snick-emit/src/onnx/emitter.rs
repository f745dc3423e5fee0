//! What a row of the table sees: one layer, and the means to write ONNX nodes for it.

use snick_ir::{Attrs, Fact, Graph, Node, NodeId, OpError, Value};
use snick_onnx::{self as onnx, kind};
use snick_tensor::{ElementType, Tensor};

use super::writer::{Writer, number_of};

/// Writes one layer.
pub(super) struct Emitter<'g> {
    graph: &'g Graph,
    id: NodeId,
    /// The layer.
    pub(super) node: &'g Node,
    /// Its attributes.
    pub(super) attrs: Attrs<'static>,
    values: Vec<Value>,
    outputs: Vec<String>,
    /// The file.
    pub(super) writer: &'g mut Writer,
}

/// What a row answers.
pub(super) type Written = Result<(), OpError>;

/// The name of a value, or why there is none.
pub(super) type Named = Result<String, OpError>;

impl<'g> Emitter<'g> {
    pub(super) fn new(graph: &'g Graph, id: NodeId, writer: &'g mut Writer) -> Result<Self, OpError> {
        let node = graph.node(id);
        let inputs = graph.inputs(id).into_iter().enumerate();
        let values: Result<Vec<Value>, _> =
            inputs.map(|(port, value)| value.ok_or(OpError::NotConnected { port })).collect();
        let outputs =
            (0..).zip(&node.outs).map(|(port, _)| writer.names.of(Value { node: id, port })).collect();
        Ok(Self { graph, id, node, attrs: node.op.attrs(), values: values?, outputs, writer })
    }

    /// How many inputs there are.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The name of input `i`.
    pub(super) fn input(&self, i: usize) -> Named {
        let value = self.values.get(i).ok_or(OpError::NotConnected { port: i })?;
        Ok(self.writer.names.of(*value))
    }

    /// The names of all inputs.
    pub(super) fn inputs(&self) -> Vec<String> {
        self.values.iter().map(|&value| self.writer.names.of(value)).collect()
    }

    /// What is known of input `i`.
    pub(super) fn fact(&self, i: usize) -> Result<&'g Fact, OpError> {
        let fact = self.values.get(i).and_then(|&value| self.graph.fact(value));
        fact.ok_or(OpError::NotConnected { port: i })
    }

    /// The element type of input `i`.
    pub(super) fn element_type(&self, i: usize) -> Result<ElementType, OpError> {
        Ok(self.fact(i)?.element_type)
    }

    /// The rank of input `i`, which must be known.
    pub(super) fn rank(&self, i: usize) -> Result<usize, OpError> {
        let rank = self.fact(i)?.shape.rank();
        rank.ok_or_else(|| OpError::unsupported(format!("input {i} of unknown rank in ONNX")))
    }

    /// The sizes of input `i`, which must be known.
    pub(super) fn dims(&self, i: usize) -> Result<Vec<i64>, OpError> {
        let dims = self.fact(i)?.shape.as_static();
        let dims = dims.ok_or_else(|| OpError::unsupported(format!("input {i} of unknown size in ONNX")))?;
        Ok(dims.iter().map(|&dim| dim as i64).collect())
    }

    /// The integers of input `i`, if they are known.
    pub(super) fn known(&self, i: usize) -> Option<Vec<i64>> {
        self.fact(i).ok()?.ints().map(|v| v.to_vec())
    }

    /// The integers of input `i`, which ONNX has as an attribute.
    pub(super) fn fixed(&self, i: usize, what: &str) -> Result<Vec<i64>, OpError> {
        self.known(i).ok_or_else(|| OpError::unsupported(format!("{what} known only at run time in ONNX")))
    }

    /// The one integer of input `i`, which ONNX has as an attribute.
    pub(super) fn fixed_one(&self, i: usize, what: &str) -> Result<i64, OpError> {
        self.fixed(i, what)?.first().copied().ok_or_else(|| OpError::unsupported(format!("no {what}")))
    }

    /// The one real number of input `i`, which ONNX has as an attribute.
    pub(super) fn fixed_float(&self, i: usize, what: &str) -> Result<f64, OpError> {
        let tensor = self.fact(i)?.as_tensor().cloned();
        let number =
            tensor.and_then(|t| t.cast(ElementType::F64).ok()?.values::<f64>().ok()?.first().copied());
        number.ok_or_else(|| OpError::unsupported(format!("{what} known only at run time in ONNX")))
    }

    /// An integer attribute of the layer.
    pub(super) fn int(&self, name: &'static str) -> Result<i64, OpError> {
        self.attrs.int(name)?.ok_or(OpError::MissingAttribute { name })
    }

    /// A truth value of the layer, false if it is not there.
    pub(super) fn flag(&self, name: &'static str) -> Result<bool, OpError> {
        Ok(self.attrs.bool(name)?.unwrap_or(false))
    }

    /// A list of the layer, empty if it is not there.
    pub(super) fn ints(&self, name: &'static str) -> Result<Vec<i64>, OpError> {
        Ok(self.attrs.ints(name)?.map(|v| v.to_vec()).unwrap_or_default())
    }

    /// A word of the layer, empty if it is not there.
    pub(super) fn word(&self, name: &'static str) -> Result<String, OpError> {
        Ok(self.attrs.text(name)?.unwrap_or_default().to_ascii_lowercase())
    }

    /// A node whose one output is a value on the way.
    pub(super) fn node<S: AsRef<str>>(
        &mut self,
        op: &str,
        inputs: &[S],
        attrs: Vec<onnx::Attribute>,
    ) -> String {
        let output = self.writer.names.fresh(&format!("{}/{op}", self.node.name));
        let name = output.clone();
        self.push(op, name, inputs, vec![output.clone()], attrs);
        output
    }

    /// The node that gives the outputs of the layer.
    pub(super) fn last<S: AsRef<str>>(
        &mut self,
        op: &str,
        inputs: &[S],
        attrs: Vec<onnx::Attribute>,
    ) -> Written {
        let outputs = self.outputs.clone();
        self.push(op, self.node.name.to_string(), inputs, outputs, attrs);
        Ok(())
    }

    /// The node that gives the outputs of the layer, of which ONNX has the first `count`.
    pub(super) fn last_of<S: AsRef<str>>(
        &mut self,
        count: usize,
        op: &str,
        inputs: &[S],
        attrs: Vec<onnx::Attribute>,
    ) -> Written {
        let outputs = self.outputs.iter().take(count).cloned().collect();
        self.push(op, self.node.name.to_string(), inputs, outputs, attrs);
        Ok(())
    }

    /// A node that gives output `port` of the layer.
    pub(super) fn last_port(
        &mut self,
        port: usize,
        op: &str,
        input: &str,
        attrs: Vec<onnx::Attribute>,
    ) -> Written {
        let output = self.outputs.get(port).cloned().unwrap_or_default();
        self.push(op, format!("{}.{port}", self.node.name), &[input], vec![output], attrs);
        Ok(())
    }

    /// A node with outputs named by the caller.
    pub(super) fn push<S: AsRef<str>>(
        &mut self,
        op: &str,
        name: String,
        inputs: &[S],
        output: Vec<String>,
        attribute: Vec<onnx::Attribute>,
    ) {
        let input = inputs.iter().map(|i| i.as_ref().to_string()).collect();
        let op_type = op.to_string();
        self.writer.node(onnx::Node { input, output, name, op_type, attribute, ..onnx::Node::default() });
    }

    /// Names of the outputs.
    pub(super) fn outputs(&self) -> &[String] {
        &self.outputs
    }

    /// Whether somebody reads the second output.
    pub(super) fn second_is_used(&self) -> bool {
        !self.graph.uses(Value { node: self.id, port: 1 }).is_empty()
    }

    /// A name for a value on the way.
    pub(super) fn fresh(&mut self, what: &str) -> String {
        self.writer.names.fresh(&format!("{}/{what}", self.node.name))
    }

    /// A constant.
    pub(super) fn tensor(&mut self, tensor: &Tensor) -> Named {
        let name = self.fresh("Const");
        self.writer.tensor(name.clone(), tensor)?;
        Ok(name)
    }

    /// A vector of i64.
    pub(super) fn vector(&mut self, values: &[i64]) -> Named {
        self.tensor(&Tensor::from_vec(&[values.len()], values.to_vec())?)
    }

    /// A scalar of an element type.
    pub(super) fn number(&mut self, element_type: ElementType, value: f64) -> Named {
        self.tensor(&Tensor::scalar(value).cast(element_type)?)
    }

    /// A value converted to another element type.
    pub(super) fn cast(&mut self, value: String, from: ElementType, to: ElementType) -> Named {
        if from == to {
            return Ok(value);
        }
        let to = int("to", number_of(to)?.into());
        Ok(self.node("Cast", &[value], vec![to]))
    }

    /// Input `i` as i64.
    pub(super) fn input_i64(&mut self, i: usize) -> Named {
        if self.element_type(i)? == ElementType::U64 && self.known(i).is_none() {
            return Err(OpError::unsupported(format!("input {i} of u64 known only at run time in ONNX")));
        }
        if self.element_type(i)? != ElementType::I64
            && let (Some(known), Some(dims)) = (self.known(i), self.fact(i)?.shape.as_static())
        {
            return self.tensor(&Tensor::from_vec(&dims, known)?);
        }
        self.cast(self.input(i)?, self.element_type(i)?, ElementType::I64)
    }

    /// Input `i`, a scalar, as a vector of one i64.
    pub(super) fn input_as_vector(&mut self, i: usize) -> Named {
        let value = self.input_i64(i)?;
        let shape = self.vector(&[1])?;
        Ok(self.node("Reshape", &[value, shape], vec![]))
    }
}

/// An integer attribute.
pub(super) fn int(name: &str, value: i64) -> onnx::Attribute {
    onnx::Attribute { name: name.into(), i: Some(value), kind: Some(kind::INT), ..onnx::Attribute::default() }
}

/// A real attribute.
pub(super) fn float(name: &str, value: f64) -> onnx::Attribute {
    let f = Some(value as f32);
    onnx::Attribute { name: name.into(), f, kind: Some(kind::FLOAT), ..onnx::Attribute::default() }
}

/// A list of integers.
pub(super) fn ints(name: &str, ints: Vec<i64>) -> onnx::Attribute {
    onnx::Attribute { name: name.into(), ints, kind: Some(kind::INTS), ..onnx::Attribute::default() }
}

/// A word.
pub(super) fn text(name: &str, value: &str) -> onnx::Attribute {
    let s = Some(bytes::Bytes::copy_from_slice(value.as_bytes()));
    onnx::Attribute { name: name.into(), s, kind: Some(kind::STRING), ..onnx::Attribute::default() }
}
