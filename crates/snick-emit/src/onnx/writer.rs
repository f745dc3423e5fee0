//! The model being written.

use std::collections::HashMap;

use bytes::Bytes;
use snick_ir::ops::source::constant::Constant;
use snick_ir::ops::source::parameter::Parameter;
use snick_ir::{Fact, Graph, NodeId, OpError, Value};
use snick_onnx as onnx;
use snick_shape::{DimSpec, ShapeSpec, Symbols};
use snick_tensor::{ElementType, Tensor};

use super::names::Names;

/// The operator set that all nodes belong to.
const OPSET: i64 = 22;

/// The file format of that operator set.
const IR_VERSION: i64 = 10;

/// A protobuf message cannot be larger.
const MAX_BYTES: usize = i32::MAX as usize;

/// Collects inputs, constants, nodes and outputs.
pub(super) struct Writer {
    pub(super) names: Names,
    graph: onnx::Graph,
    /// Bytes of constants so far.
    bytes: usize,
    /// Outputs of the model by name.
    outputs: Vec<String>,
}

impl Writer {
    pub(super) fn new(name: &str, names: Names) -> Self {
        let name = if name.is_empty() { "model" } else { name };
        let graph = onnx::Graph { name: name.into(), ..onnx::Graph::default() };
        Self { names, graph, bytes: 0, outputs: Vec::new() }
    }

    pub(super) fn finish(self) -> onnx::Model {
        onnx::Model {
            ir_version: Some(IR_VERSION),
            producer_name: "snick".into(),
            graph: Some(self.graph),
            opset_import: vec![onnx::OperatorSet { domain: String::new(), version: Some(OPSET) }],
            functions: Vec::new(),
        }
    }

    pub(super) fn parameter(
        &mut self,
        graph: &Graph,
        id: NodeId,
        parameter: &Parameter,
    ) -> Result<(), OpError> {
        let value = Value { node: id, port: 0 };
        let fact = graph.fact(value).cloned().unwrap_or_else(Fact::unknown);
        let mut ty = type_of(&fact, graph.symbols(), parameter.element_type)?;
        // Names are those that the user wrote, where inference has not found a number for them.
        if let (ShapeSpec::Dims(specs), Some(shape)) =
            (&parameter.shape, ty.tensor.as_mut().and_then(|t| t.shape.as_mut()))
        {
            for (dim, spec) in shape.dim.iter_mut().zip(specs) {
                if let (DimSpec::Symbol { name, .. }, None | Some(onnx::DimValue::Param(_))) =
                    (spec, &dim.value)
                {
                    dim.value = Some(onnx::DimValue::Param(name.clone()));
                }
            }
        }
        let name = self.names.of(value);
        self.graph.input.push(onnx::ValueInfo { name, ty: Some(ty) });
        Ok(())
    }

    pub(super) fn constant(&mut self, id: NodeId, constant: &Constant) -> Result<(), OpError> {
        let Constant::Here(tensor) = constant else {
            let why = "its weights were not found".to_string();
            return Err(OpError::NoValue { what: "the constant".into(), why });
        };
        let name = self.names.of(Value { node: id, port: 0 });
        self.tensor(name, tensor)
    }

    /// Adds a constant.
    pub(super) fn tensor(&mut self, name: String, tensor: &Tensor) -> Result<(), OpError> {
        let element_type = tensor.element_type();
        let mut message = onnx::Tensor {
            dims: tensor.dims().iter().map(|&dim| dim as i64).collect(),
            data_type: Some(number_of(element_type)?),
            name,
            ..onnx::Tensor::default()
        };
        if element_type == ElementType::String {
            return Err(OpError::unsupported("a constant of texts in ONNX"));
        }
        let bytes = tensor.to_bytes().to_vec();
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > MAX_BYTES {
            return Err(OpError::unsupported("an ONNX file of more than 2 GiB"));
        }
        message.raw_data = Some(Bytes::from(bytes));
        self.graph.initializer.push(message);
        Ok(())
    }

    /// Adds a node, under a name that no other has.
    pub(super) fn node(&mut self, mut node: onnx::Node) {
        node.name = self.names.node(&node.name);
        self.graph.node.push(node);
    }

    /// An output of the model: the value it returns, under a name of its own where that name is in use.
    pub(super) fn result(&mut self, graph: &Graph, id: NodeId) -> Result<(), OpError> {
        let value = graph.inputs(id).first().copied().flatten().ok_or(OpError::NotConnected { port: 0 })?;
        let mut name = self.names.of(value);
        let is_input = graph.parameters().any(|node| node == value.node);
        if is_input || self.outputs.contains(&name) {
            let own = self.names.fresh(&graph.node(id).name);
            self.node(onnx::Node {
                input: vec![name],
                output: vec![own.clone()],
                name: own.clone(),
                op_type: "Identity".into(),
                ..onnx::Node::default()
            });
            name = own;
        }
        let fact = graph.fact(value).cloned().unwrap_or_else(Fact::unknown);
        let ty = type_of(&fact, graph.symbols(), fact.element_type)?;
        self.outputs.push(name.clone());
        self.graph.output.push(onnx::ValueInfo { name, ty: Some(ty) });
        Ok(())
    }
}

/// The graph around a body that is being written.
pub(super) struct Around {
    graph: onnx::Graph,
    names: HashMap<Value, String>,
}

/// Bodies: what is written between entering and leaving goes to their graphs.
impl Writer {
    pub(super) fn enter(&mut self, body: &Graph, order: &[NodeId]) -> Around {
        let names = self.names.enter(body, order);
        let name = if body.name.is_empty() { "body" } else { &body.name };
        let graph = onnx::Graph { name: name.into(), ..onnx::Graph::default() };
        Around { graph: std::mem::replace(&mut self.graph, graph), names }
    }

    /// Back to the graph around; gives that of the body.
    pub(super) fn leave(&mut self, around: Around) -> onnx::Graph {
        self.names.leave(around.names);
        std::mem::replace(&mut self.graph, around.graph)
    }

    /// A formal input of a body.
    pub(super) fn formal(&mut self, name: String, fact: &Fact, symbols: &Symbols) -> Result<(), OpError> {
        let ty = type_of(fact, symbols, fact.element_type)?;
        self.graph.input.push(onnx::ValueInfo { name, ty: Some(ty) });
        Ok(())
    }

    /// An output of a body.
    pub(super) fn output(&mut self, name: String, fact: &Fact, symbols: &Symbols) -> Result<(), OpError> {
        let ty = type_of(fact, symbols, fact.element_type)?;
        self.graph.output.push(onnx::ValueInfo { name, ty: Some(ty) });
        Ok(())
    }
}

/// The number of an element type, or that ONNX has none.
pub(super) fn number_of(element_type: ElementType) -> Result<i32, OpError> {
    snick_onnx::to_number(element_type)
        .ok_or_else(|| OpError::unsupported(format!("element type {element_type} in ONNX")))
}

/// Type and shape as the file declares them: numbers, names of symbols, nothing for the rest.
fn type_of(fact: &Fact, symbols: &Symbols, element_type: ElementType) -> Result<onnx::Type, OpError> {
    let shape = fact.shape.dims().map(|dims| {
        let dims = dims.iter().map(|dim| {
            let name = dim.as_symbol().and_then(|symbol| symbols.name(symbol));
            let value = match (dim.as_const(), name) {
                (Some(size), _) => Some(onnx::DimValue::Value(size)),
                (None, Some(name)) => Some(onnx::DimValue::Param(name.to_string())),
                (None, None) => None,
            };
            onnx::Dim { value }
        });
        onnx::Shape { dim: dims.collect() }
    });
    let tensor = onnx::TensorType { elem_type: number_of(element_type)?, shape };
    Ok(onnx::Type { tensor: Some(tensor) })
}
