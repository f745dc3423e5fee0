//! Converts a node to layers, using a [`GraphBuilder`] together with the inputs and attributes of the node.

use std::ops::{Deref, DerefMut};

use snick_ir::ops::Parameter;
use snick_ir::{Attrs, Declared, GraphBuilder, Op, OpError, Output, RawNode, Value, Version};
use snick_shape::ShapeSpec;
use snick_tensor::{ElementType, SmallVector};

use super::function::Functions;
use super::node::Node;
use super::value_type;
use crate::ReadError;

/// Maximum number of outputs of an opaque node.
pub(super) const MAX_OUTPUTS: usize = 1 << 16;

/// A [`GraphBuilder`] for the layers of one node.
pub(super) struct Site<'b, 'd> {
    pub(super) builder: GraphBuilder<'b>,
    /// The auxiliary functions of the file.
    pub(super) functions: &'b Functions,
    /// The node.
    pub(super) node: &'b Node<'d>,
    /// The values at the inputs of the node.
    pub(super) inputs: SmallVector<Value, 4>,
    /// If several layers produce the outputs, the values of all outputs except the first.
    pub(super) further: SmallVector<Value, 4>,
}

impl<'b> Deref for Site<'b, '_> {
    type Target = GraphBuilder<'b>;

    fn deref(&self) -> &Self::Target {
        &self.builder
    }
}

impl DerefMut for Site<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.builder
    }
}

impl Site<'_, '_> {
    /// The value at input `port`.
    pub(super) fn input(&self, port: usize) -> Result<Value, OpError> {
        self.inputs.get(port).copied().ok_or(OpError::NotConnected { port })
    }

    /// Adds the op with this name in this operation set of OpenVINO, and returns its first output.
    pub(super) fn ir_op(
        &mut self,
        op_type: &str,
        opset: u8,
        attrs: Attrs,
        inputs: &[Value],
    ) -> Result<Value, OpError> {
        let version = Version::Opset(opset);
        let op = Op::parse(&mut RawNode::openvino(op_type, version.clone(), attrs, 1))?;
        // The name is compared ignoring case. Parameters and Results, whose names have a fixed case, are read
        // elsewhere.
        if op.is_opaque() || matches!(op, Op::Parameter(_) | Op::Result(_)) {
            return Err(OpError::unsupported(format!("operation type `{op_type}`")));
        }
        let mut layer = self.layer(op);
        layer.version = version;
        Ok(Value { node: self.add_node(layer, inputs, 1)?, port: 0 })
    }

    /// The sizes of a value, if all are known.
    pub(super) fn sizes(&self, value: Value) -> Option<Vec<i64>> {
        self.dims(value)?.into_iter().collect()
    }

    /// The sizes of a value, with `None` for each unknown size. Returns `None` if the rank is unknown.
    pub(super) fn dims(&self, value: Value) -> Option<Vec<Option<i64>>> {
        let dims = self.fact(value).ok()?.shape.dims()?;
        Some(dims.iter().map(|dim| dim.as_const()).collect())
    }

    /// The integers of a value, if known.
    pub(super) fn known(&self, value: Value) -> Option<SmallVector<i64, 4>> {
        self.fact(value).ok()?.ints()
    }

    /// The inferred element type of a value; `Dynamic` if unknown.
    pub(super) fn type_of(&self, value: Value) -> ElementType {
        self.element_type(value).unwrap_or(ElementType::Dynamic)
    }

    pub(super) fn parameter(&mut self) -> Result<Result<Value, OpError>, ReadError> {
        let node = &self.node.object;
        let element_type = value_type::element_type(value_type::of_node(node, "element_type")?)?;
        let json = value_type::of_node(node, "shape")?;
        let text = match value_type::shape(json)? {
            Some(dims) => dims.iter().map(i64::to_string).collect::<Vec<_>>().join(","),
            None => "...".into(),
        };
        let shape: ShapeSpec = text.parse().map_err(|error| json.error(format!("{error}")))?;
        Ok(self.add_op(Parameter { element_type, shape }, &[]))
    }

    /// An opaque layer with the declared type and shape.
    pub(super) fn opaque(&mut self, declared: Option<&Declared>) -> Result<Value, OpError> {
        let mut layer = self.layer(Op::opaque(&self.node.op, self.node.attrs.clone()));
        // Without this version, a writer would mistake the layer for the OpenVINO op with the same name.
        layer.version = Version::Custom("ngraph".into());
        let outputs = self.node.outputs.len().clamp(1, MAX_OUTPUTS);
        layer.outs.resize_with(outputs, Output::unknown);
        if let (declared @ Some(_), [out]) =
            (declared.cloned().or_else(|| self.declared_by_attrs()), &mut layer.outs[..])
        {
            out.declared = declared;
        }
        let inputs = self.inputs.clone();
        Ok(Value { node: self.add_node(layer, &inputs, outputs)?, port: 0 })
    }

    /// The output type that the attributes of a gradient declare.
    fn declared_by_attrs(&self) -> Option<Declared> {
        let names = ["data_batch_shape", "filters_shape", "forward_arg_shape", "output_shape"];
        let sizes = names.into_iter().find_map(|name| self.node.attrs.sizes(name).ok().flatten())?;
        let dims = sizes.iter().map(|&size| i64::try_from(size).ok()).collect::<Option<_>>()?;
        Some(Declared { element_type: self.type_of(*self.inputs.first()?), dims: Some(dims) })
    }

    fn layer(&self, op: Op) -> snick_ir::Node {
        snick_ir::Node::new(format!("{}/{}", self.node.name, op.type_name()), op)
    }
}

/// The element type in a field of the node.
pub(super) fn element_type(site: &Site, name: &'static str) -> Result<ElementType, OpError> {
    let json = site.node.object.get(name).ok_or(OpError::MissingAttribute { name })?;
    value_type::element_type(json).map_err(|_| OpError::BadAttribute {
        name,
        value: json.raw().into(),
        expected: "an element type".into(),
    })
}

/// The value of an enumeration, which the file gives as a name or a number.
pub(super) fn word(site: &Site, name: &str) -> Option<String> {
    Some(site.node.object.get(name)?.raw().trim_matches('"').to_string())
}

/// A required list of sizes or axes.
pub(super) fn sizes(site: &Site, name: &'static str) -> Result<Vec<i64>, OpError> {
    let list = site.node.attrs.sizes(name)?.ok_or(OpError::MissingAttribute { name })?;
    Ok(as_ints(&list))
}

pub(super) fn as_ints(sizes: &[usize]) -> Vec<i64> {
    // The sizes were parsed as 64-bit integers, so every size fits in an `i64`.
    sizes.iter().map(|&size| i64::try_from(size).unwrap_or(i64::MAX)).collect()
}
