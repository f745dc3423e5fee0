//! The model being written.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use snick_ir::ops::source::constant::Constant;
use snick_ir::ops::source::parameter::Parameter;
use snick_ir::{Fact, Graph, NodeId, Op, OpError, Value, WeightsFile};
use snick_onnx as onnx;
use snick_shape::{DimSpec, ShapeSpec, Symbols};
use snick_tensor::{ElementType, Tensor};

use super::names::Names;
use crate::legalized::Refusals;

/// The operator set that all nodes belong to.
const OPSET: i64 = 21;

/// The file format of that operator set.
const IR_VERSION: i64 = 10;

/// A protobuf message cannot be larger; names and nodes have the rest.
pub(super) const MAX_EMBEDDED: usize = i32::MAX as usize - (64 << 20);

/// Constants of less stay in the model, so that shapes can be told without the other file.
const MIN_EXTERNAL: usize = 1 << 10;

/// Collects inputs, constants, nodes and outputs.
pub(super) struct Writer {
    pub(super) names: Names,
    pub(super) refusals: Refusals,
    graph: onnx::Graph,
    /// The elements of initializers, by their number.
    elements: Vec<(usize, Tensor)>,
    /// Outputs of the model by name.
    outputs: HashSet<String>,
}

impl Writer {
    pub(super) fn new(name: &str, names: Names, refusals: Refusals) -> Self {
        let name = if name.is_empty() { "model" } else { name };
        let graph = onnx::Graph { name: name.into(), ..onnx::Graph::default() };
        Self { names, refusals, graph, elements: Vec::new(), outputs: HashSet::new() }
    }

    /// The model, and the constants that go to the file `data_name` beside it because all together have more than
    /// `max_embedded` bytes.
    pub(super) fn finish(mut self, data_name: &str, max_embedded: usize) -> (UnfinishedModel, WeightsFile) {
        let (mut embedded, mut external) = (Vec::new(), WeightsFile::new());
        let total =
            self.elements.iter().fold(0usize, |sum, (_, tensor)| sum.saturating_add(bytes_of(tensor)));
        for (at, tensor) in std::mem::take(&mut self.elements) {
            let Some(message) = self.graph.initializer.get_mut(at) else { continue };
            if total <= max_embedded || bytes_of(&tensor) < MIN_EXTERNAL {
                embedded.push((at, tensor));
                continue;
            }
            let entry = |key: &str, value: String| onnx::Entry { key: key.into(), value };
            let place = external.place(&tensor);
            message.data_location = Some(1);
            message.external_data = vec![
                entry("location", data_name.to_string()),
                entry("offset", place.start.to_string()),
                entry("length", place.len().to_string()),
            ];
        }
        (UnfinishedModel { message: self.model(), embedded }, external)
    }

    fn model(self) -> onnx::Model {
        onnx::Model {
            ir_version: Some(IR_VERSION),
            producer_name: "snick".into(),
            graph: Some(self.graph),
            opset_import: vec![onnx::OperatorSet { domain: String::new(), version: Some(OPSET) }],
            ..onnx::Model::default()
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
        let tensor = match constant {
            Constant::Here(tensor) => tensor,
            Constant::Absent(absent) => return Err(absent.error()),
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
            let texts = tensor.as_strings()?;
            message.string_data = texts.iter().map(|text| Bytes::copy_from_slice(text.as_bytes())).collect();
            self.graph.initializer.push(message);
            return Ok(());
        }
        self.elements.push((self.graph.initializer.len(), tensor.clone()));
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
        let is_input = matches!(graph.node(value.node).op(), Op::Parameter(_));
        if is_input || self.outputs.contains(&name) {
            let own = self.names.fresh(graph.node(id).name());
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
        self.outputs.insert(name.clone());
        self.graph.output.push(onnx::ValueInfo { name, ty: Some(ty) });
        Ok(())
    }
}

fn bytes_of(tensor: &Tensor) -> usize {
    tensor.element_type().byte_len(tensor.len()).unwrap_or(usize::MAX)
}

/// A model without the elements of its constants.
pub(super) struct UnfinishedModel {
    pub(super) message: onnx::Model,
    /// The constants in the file of the model, by the number of their initializers, in order.
    embedded: Vec<(usize, Tensor)>,
}

impl UnfinishedModel {
    pub(super) fn finish(self) -> ModelFile {
        let raw: Vec<(usize, usize)> =
            self.embedded.iter().map(|(at, tensor)| (*at, bytes_of(tensor))).collect();
        let constants = self.embedded.into_iter().map(|(_, tensor)| tensor).collect();
        ModelFile { parts: onnx::encode_around(self.message, &raw), constants }
    }
}

/// The file of a model. It keeps the constants, and writes the bytes of one at a time.
#[derive(Debug)]
pub struct ModelFile {
    /// What is before each of the constants, and behind the last.
    parts: Vec<Vec<u8>>,
    constants: Vec<Tensor>,
}

impl ModelFile {
    /// Writes the file.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, mut to: impl std::io::Write) -> std::io::Result<()> {
        for (i, part) in self.parts.iter().enumerate() {
            to.write_all(part)?;
            if let Some(constant) = self.constants.get(i) {
                to.write_all(&constant.to_bytes())?;
            }
        }
        Ok(())
    }

    /// The whole file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // There is always room in memory.
        let _ = self.write(&mut bytes);
        bytes
    }
}

/// The graph around a body that is being written.
pub(super) struct Around {
    graph: onnx::Graph,
    elements: Vec<(usize, Tensor)>,
    names: HashMap<Value, String>,
}

/// Bodies: what is written between entering and leaving goes to their graphs.
impl Writer {
    pub(super) fn enter(&mut self, body: &Graph, order: &[NodeId]) -> Around {
        let names = self.names.enter(body, order);
        let name = if body.name.is_empty() { "body" } else { &body.name };
        let graph = onnx::Graph { name: name.into(), ..onnx::Graph::default() };
        let elements = std::mem::take(&mut self.elements);
        Around { graph: std::mem::replace(&mut self.graph, graph), elements, names }
    }

    /// Back to the graph around; gives that of the body.
    pub(super) fn leave(&mut self, around: Around) -> onnx::Graph {
        self.names.leave(around.names);
        // Constants of bodies stay in the model.
        for (at, tensor) in std::mem::replace(&mut self.elements, around.elements) {
            if let Some(message) = self.graph.initializer.get_mut(at) {
                message.raw_data = Some(Bytes::from(tensor.to_bytes().to_vec()));
            }
        }
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

/// The greatest number of an element type of operator set 21, i4; later sets have types of 2 bits and floats of 4 bits.
const LAST_TYPE: i32 = 22;

fn known_number(element_type: ElementType) -> Option<i32> {
    snick_onnx::to_number(element_type).filter(|&number| number <= LAST_TYPE)
}

/// Whether the operator set has an element type.
pub(super) fn has_type(element_type: ElementType) -> bool {
    known_number(element_type).is_some()
}

/// The number of an element type, or that the operator set has none.
pub(super) fn number_of(element_type: ElementType) -> Result<i32, OpError> {
    known_number(element_type).ok_or_else(|| OpError::unsupported(format!("element type {element_type}")))
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
