//! What a row of the table sees: the inputs and attributes of one ONNX node, and the means to build IR nodes.

use std::sync::Arc;

use snick_ir::ops::source::constant::Constant;
use snick_ir::{AttrValue, Attrs, Graph, Node, NodeId, Op, OpError, Output, RawNode, Value, Version};
use snick_tensor::{ElementType, Tensor};

/// Builds what one ONNX node becomes.
pub(super) struct NodeBuilder<'g> {
    /// The graph it goes to. What rows may rely on of its facts is ranks, element types and constants: sizes may
    /// still be changed by the user.
    pub(super) graph: &'g mut Graph,
    /// Name of the layer.
    pub(super) name: &'g str,
    /// The operator set that defines the operator.
    pub(super) since: i64,
    /// Inputs; `None` for one left out.
    pub(super) inputs: Vec<Option<Value>>,
    /// Which outputs have a name.
    pub(super) wanted: Vec<bool>,
    /// Attributes.
    pub(super) attrs: Attrs<'static>,
    /// What was built.
    pub(super) added: Vec<NodeId>,
}

/// A result whose error is an [`OpError`].
pub(super) type Result<T = Value, E = OpError> = std::result::Result<T, E>;

impl NodeBuilder<'_> {
    /// Input `i`.
    pub(super) fn input(&self, i: usize) -> Result {
        self.optional(i).ok_or(OpError::NotConnected { port: i })
    }

    /// Input `i`, if it is there.
    pub(super) fn optional(&self, i: usize) -> Option<Value> {
        self.inputs.get(i).copied().flatten()
    }

    /// All inputs, none of which may be left out.
    pub(super) fn all(&self) -> Result<Vec<Value>, OpError> {
        (0..self.inputs.len()).map(|i| self.input(i)).collect()
    }

    /// Whether output `i` has a name.
    pub(super) fn wants(&self, i: usize) -> bool {
        self.wanted.get(i).copied().unwrap_or(false)
    }

    /// Outputs from `i` on are refused: only the ones before are known.
    pub(super) fn outputs_below(&self, i: usize) -> Result<(), OpError> {
        match (i..self.wanted.len()).find(|&i| self.wants(i)) {
            Some(i) => Err(OpError::unsupported(format!("output {i}"))),
            None => Ok(()),
        }
    }

    /// An integer attribute.
    pub(super) fn int(&self, name: &'static str, default: i64) -> Result<i64, OpError> {
        Ok(self.attrs.int(name)?.unwrap_or(default))
    }

    /// A truth value written as an integer.
    pub(super) fn flag(&self, name: &'static str, default: bool) -> Result<bool, OpError> {
        Ok(self.int(name, i64::from(default))? != 0)
    }

    /// A real attribute.
    pub(super) fn float(&self, name: &'static str, default: f64) -> Result<f64, OpError> {
        Ok(self.attrs.float(name)?.unwrap_or(default))
    }

    /// A text attribute.
    pub(super) fn text(&self, name: &'static str, default: &'static str) -> Result<&str, OpError> {
        Ok(self.attrs.text(name)?.unwrap_or(default))
    }

    /// A list of integers, if it is there.
    pub(super) fn ints(&self, name: &'static str) -> Result<Option<Vec<i64>>, OpError> {
        Ok(self.attrs.ints(name)?.map(|v| v.to_vec()))
    }

    /// The element type that an attribute has by its number.
    pub(super) fn type_attr(&self, name: &'static str) -> Result<Option<ElementType>, OpError> {
        let Some(number) = self.attrs.int(name)? else { return Ok(None) };
        let found = i32::try_from(number).ok().and_then(snick_onnx::from_number);
        found.map(Some).ok_or_else(|| OpError::unsupported(format!("ONNX data type {number}")))
    }

    /// The rank of a value, which must be known.
    pub(super) fn rank(&self, value: Value) -> Result<usize, OpError> {
        let rank = self.graph.fact(value).and_then(|fact| fact.shape.rank());
        rank.ok_or_else(|| OpError::unsupported("an input of unknown rank"))
    }

    /// The element type of a value, which must be known.
    pub(super) fn element_type(&self, value: Value) -> Result<ElementType, OpError> {
        let et =
            self.graph.fact(value).map(|fact| fact.element_type).filter(|&et| et != ElementType::Dynamic);
        et.ok_or_else(|| OpError::unsupported("an input of unknown element type"))
    }

    /// The tensor of a constant.
    pub(super) fn tensor(&self, value: Value) -> Option<&Arc<Tensor>> {
        match &self.graph.node(value.node).op {
            Op::Const(Constant::Here(tensor)) => Some(tensor),
            _ => None,
        }
    }

    /// The integers of a constant of the file, if they are few.
    pub(super) fn known_ints(&self, value: Value) -> Option<Vec<i64>> {
        let constant = matches!(self.graph.node(value.node).op, Op::Const(_));
        self.graph.fact(value).filter(|_| constant)?.ints().map(|v| v.to_vec())
    }

    /// The sizes of a value, if all are known.
    pub(super) fn dims(&self, value: Value) -> Option<Vec<usize>> {
        self.graph.fact(value)?.shape.as_static().map(|dims| dims.to_vec())
    }

    /// The size of a value along an axis, if it is known.
    pub(super) fn fixed_size(&self, value: Value, axis: usize) -> Option<i64> {
        self.graph.fact(value)?.shape.dims()?.get(axis)?.as_const()
    }

    /// Whether two values are known to have the same size along an axis.
    pub(super) fn same_size(&self, x: Value, y: Value, axis: usize) -> bool {
        let size = |value| self.graph.fact(value)?.shape.dims()?.get(axis).cloned();
        size(x).is_some_and(|x| Some(x) == size(y))
    }

    /// An axis counted from 0.
    pub(super) fn axis(&self, axis: i64, rank: usize) -> Result<usize, OpError> {
        snick_ir::normalize_axis(axis, rank)
    }

    /// An IR node of several outputs, of the newest definition.
    pub(super) fn many(
        &mut self,
        op_type: &str,
        attrs: Attrs,
        inputs: &[Value],
        outputs: usize,
    ) -> Result<Vec<Value>, OpError> {
        let op = Op::parse(&mut RawNode::openvino(op_type, Version::Unversioned, attrs, outputs))?;
        if op.is_opaque() {
            return Err(OpError::unsupported(format!("operation type `{op_type}`")));
        }
        let node = self.add(op, inputs, outputs)?;
        Ok((0..outputs).map(|port| Value { node, port: u32::try_from(port).unwrap_or(u32::MAX) }).collect())
    }

    /// An IR node of one output.
    pub(super) fn make(&mut self, op_type: &str, attrs: Attrs, inputs: &[Value]) -> Result {
        let values = self.many(op_type, attrs, inputs, 1)?;
        values.first().copied().ok_or(OpError::NotConnected { port: 0 })
    }

    /// An IR node without attributes.
    pub(super) fn plain(&mut self, op_type: &str, inputs: &[Value]) -> Result {
        self.make(op_type, Attrs::new(), inputs)
    }

    /// An IR node.
    pub(super) fn add(&mut self, op: Op, inputs: &[Value], outputs: usize) -> Result<NodeId, OpError> {
        let mut node = Node::new(format!("{}/{}", self.name, op.type_name()), op);
        node.outs.resize_with(outputs, Output::unknown);
        let id = self.graph.add_wired(node, inputs);
        self.added.push(id);
        // What does not fit is told by the inference of the whole graph, with its place.
        let _ = self.graph.infer_node(id);
        Ok(id)
    }

    /// A constant.
    pub(super) fn constant(&mut self, tensor: impl Into<Arc<Tensor>>) -> Result {
        let node = self.add(Constant::new(tensor.into()).into(), &[], 1)?;
        Ok(Value { node, port: 0 })
    }

    /// A vector of i64.
    pub(super) fn vector(&mut self, values: &[i64]) -> Result {
        self.constant(Tensor::from_vec(&[values.len()], values.to_vec())?)
    }

    /// A scalar of i64.
    pub(super) fn index(&mut self, value: i64) -> Result {
        self.constant(Tensor::scalar(value))
    }

    /// A scalar of an element type.
    pub(super) fn number(&mut self, element_type: ElementType, value: f64) -> Result {
        self.constant(Tensor::scalar(value).cast(element_type)?)
    }

    /// A scalar of the element type of another value.
    pub(super) fn number_like(&mut self, like: Value, value: f64) -> Result {
        let element_type = self.element_type(like)?;
        self.number(element_type, value)
    }

    /// The value converted to an element type.
    pub(super) fn convert(&mut self, value: Value, element_type: ElementType) -> Result {
        if self.element_type(value).is_ok_and(|et| et == element_type) {
            return Ok(value);
        }
        if element_type == ElementType::String || self.element_type(value) == Ok(ElementType::String) {
            return Err(OpError::unsupported("conversion from or to text"));
        }
        self.make("Convert", Attrs::new().with("destination_type", element_type), &[value])
    }

    /// The sizes of a value as a vector of i64.
    pub(super) fn shape_of(&mut self, value: Value) -> Result {
        self.make("ShapeOf", Attrs::new().with("output_type", ElementType::I64), &[value])
    }

    /// The same elements under these sizes, of which one may be -1.
    pub(super) fn reshape(&mut self, value: Value, sizes: &[i64]) -> Result {
        let sizes = self.vector(sizes)?;
        self.make("Reshape", Attrs::new().with("special_zero", false), &[value, sizes])
    }

    /// A vector of one element as a scalar.
    pub(super) fn scalar(&mut self, value: Value) -> Result {
        if self.rank(value) == Ok(0) { Ok(value) } else { self.reshape(value, &[]) }
    }

    /// Elements `start..stop` of a vector.
    pub(super) fn part(&mut self, vector: Value, start: i64, stop: i64) -> Result {
        let bounds = [self.vector(&[start])?, self.vector(&[stop])?, self.vector(&[1])?];
        self.plain("Slice", &[vector, bounds[0], bounds[1], bounds[2]])
    }

    /// Elements `start..stop` along an axis.
    pub(super) fn range_of(&mut self, value: Value, axis: i64, start: i64, stop: i64) -> Result {
        let bounds =
            [self.vector(&[start])?, self.vector(&[stop])?, self.vector(&[1])?, self.vector(&[axis])?];
        self.plain("Slice", &[value, bounds[0], bounds[1], bounds[2], bounds[3]])
    }

    /// Equal parts along an axis.
    pub(super) fn parts(&mut self, value: Value, axis: i64, parts: usize) -> Result<Vec<Value>, OpError> {
        let axis = self.index(axis)?;
        self.many("Split", Attrs::new().with("num_splits", parts as i64), &[value, axis], parts)
    }

    /// Values one after the other along an axis.
    pub(super) fn concat(&mut self, axis: i64, values: &[Value]) -> Result {
        match values {
            [single] => Ok(*single),
            _ => self.make("Concat", Attrs::new().with("axis", axis), values),
        }
    }

    /// The axes in another order.
    pub(super) fn transposed(&mut self, value: Value, order: &[i64]) -> Result {
        let order = self.vector(order)?;
        self.plain("Transpose", &[value, order])
    }

    /// The value with axes of size 1 put in.
    pub(super) fn unsqueeze(&mut self, value: Value, axes: &[i64]) -> Result {
        let axes = self.vector(axes)?;
        self.plain("Unsqueeze", &[value, axes])
    }

    /// The value without these axes, which have size 1.
    pub(super) fn squeeze(&mut self, value: Value, axes: &[i64]) -> Result {
        let axes = self.vector(axes)?;
        self.plain("Squeeze", &[value, axes])
    }

    /// Elements along an axis at the indices.
    pub(super) fn gather(&mut self, value: Value, indices: Value, axis: i64) -> Result {
        let axis = self.index(axis)?;
        self.make("Gather", Attrs::new().with("batch_dims", 0), &[value, indices, axis])
    }

    /// The size of a value along an axis, as a vector of one.
    pub(super) fn size(&mut self, value: Value, axis: i64) -> Result {
        let (shape, axis) = (self.shape_of(value)?, self.vector(&[axis])?);
        self.gather(shape, axis, 0)
    }

    /// The same elements under sizes known only at run time; a 0 copies the size of the same axis.
    pub(super) fn reshape_to(&mut self, value: Value, sizes: Value) -> Result {
        self.make("Reshape", Attrs::new().with("special_zero", true), &[value, sizes])
    }

    /// A scalar repeated over sizes.
    pub(super) fn filled(&mut self, scalar: Value, sizes: Value) -> Result {
        self.make("Broadcast", Attrs::new().with("mode", "numpy"), &[scalar, sizes])
    }

    /// `0, 1, ..` up to a scalar, of i64.
    pub(super) fn count_to(&mut self, stop: Value) -> Result {
        let bounds = [self.index(0)?, self.scalar(stop)?, self.index(1)?];
        self.make("Range", Attrs::new().with("output_type", ElementType::I64), &bounds)
    }

    /// A reduction over axes.
    pub(super) fn reduced(&mut self, op_type: &str, value: Value, axes: &[i64], keep_dims: bool) -> Result {
        let axes = self.vector(axes)?;
        self.make(op_type, Attrs::new().with("keep_dims", keep_dims), &[value, axes])
    }

    /// Vectors one after the other.
    pub(super) fn join(&mut self, vectors: &[Value]) -> Result {
        self.make("Concat", Attrs::new().with("axis", 0), vectors)
    }
}

/// A list as an attribute.
pub(super) fn list(values: &[i64]) -> AttrValue<'static> {
    AttrValue::Ints(values.into())
}
