//! Builds the protobuf messages of a model.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use snick_ir::ops::source::constant::Constant;
use snick_ir::ops::source::parameter::Parameter;
use snick_ir::{AttrValue, Fact, Graph, NodeId, OpError, Value, WeightsFile, onnx_opsets};
use snick_onnx as onnx;
use snick_shape::{DimSpec, ShapeSpec, Symbols};
use snick_tensor::{ElementType, Tensor};

use super::names::Names;
use super::node_types::{CheckedNodes, has_type};
use crate::legalized::Refusals;

/// The operator set that is written if none is asked for.
pub(super) const OPSET: i64 = 21;

/// The size limit of a protobuf message, minus room for names and nodes.
pub(super) const MAX_EMBEDDED: usize = i32::MAX as usize - (64 << 20);

/// Minimum size in bytes of external constants. Smaller constants stay in the model, so that shapes can be
/// inferred without the external file.
const MIN_EXTERNAL: usize = 1 << 10;

/// Collects the inputs, constants, nodes and outputs of the graph being written.
pub(super) struct Writer {
    pub(super) names: Names,
    pub(super) refusals: Refusals,
    /// The operator set that the user asked for, and what it lacks.
    pub(super) checked: CheckedNodes,
    graph: onnx::Graph,
    constants: Vec<Initializer>,
}

/// A constant of the graph being written.
struct Initializer {
    message: onnx::Tensor,
    /// The elements, unless they are in the message.
    elements: Option<Tensor>,
}

impl Writer {
    pub(super) fn new(name: &str, names: Names, refusals: Refusals, target: Option<i64>) -> Self {
        let name = if name.is_empty() { "model" } else { name };
        let graph = onnx::Graph { name: name.into(), ..onnx::Graph::default() };
        let checked = CheckedNodes { target, ..CheckedNodes::default() };
        Self { names, refusals, checked, graph, constants: Vec::new() }
    }

    /// The operator set of all nodes.
    pub(super) fn opset(&self) -> i64 {
        self.checked.target.unwrap_or(OPSET)
    }

    /// Type and shape as declared in the file. A dim is a number, the name of a symbol, or empty if unknown.
    pub(super) fn type_of(
        &self,
        fact: &Fact,
        symbols: &Symbols,
        element_type: ElementType,
    ) -> Result<onnx::Type, OpError> {
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
        let tensor = onnx::TensorType { elem_type: self.number_of(element_type)?, shape };
        Ok(onnx::Type { tensor: Some(tensor) })
    }

    /// The number of an element type in ONNX, or an error if the operator set lacks it.
    pub(super) fn number_of(&self, element_type: ElementType) -> Result<i32, OpError> {
        let number = onnx::to_number(element_type).filter(|_| has_type(self.opset(), element_type));
        number.ok_or_else(|| OpError::unsupported(format!("element type {element_type}")))
    }

    /// Returns the model, and the constants for the external file `data_name`. If constants exceed
    /// `max_embedded` bytes in total, large ones become external.
    pub(super) fn finish(mut self, data_name: &str, max_embedded: usize) -> (UnfinishedModel, WeightsFile) {
        let (mut embedded, mut external) = (Vec::new(), WeightsFile::new());
        let constants = self.used_constants();
        let sizes = constants.iter().filter_map(|constant| constant.elements.as_ref()).map(bytes_of);
        let total = sizes.fold(0usize, usize::saturating_add);
        for Initializer { mut message, elements } in constants {
            match elements {
                Some(tensor) if total > max_embedded && bytes_of(&tensor) >= MIN_EXTERNAL => {
                    let entry = |key: &str, value: String| onnx::Entry { key: key.into(), value };
                    let place = external.place(&tensor);
                    message.data_location = Some(1);
                    message.external_data = vec![
                        entry("location", data_name.to_string()),
                        entry("offset", place.start.to_string()),
                        entry("length", place.len().to_string()),
                    ];
                }
                Some(tensor) => embedded.push((self.graph.initializer.len(), tensor)),
                None => {}
            }
            self.graph.initializer.push(message);
        }
        (UnfinishedModel { message: self.model(), embedded }, external)
    }

    /// Takes the constants that the graph or a subgraph reads. All other constants were written as
    /// attributes, and ONNX Runtime would warn about them as unused.
    fn used_constants(&mut self) -> Vec<Initializer> {
        let mut used = HashSet::new();
        add_read_names(&self.graph, &mut used);
        let mut constants = std::mem::take(&mut self.constants);
        constants.retain(|constant| used.contains(constant.message.name.as_str()));
        constants
    }

    fn model(self) -> onnx::Model {
        onnx::Model {
            ir_version: onnx_opsets::ir_version(self.opset()),
            producer_name: "snick".into(),
            opset_import: vec![onnx::OperatorSet { domain: String::new(), version: Some(self.opset()) }],
            graph: Some(self.graph),
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
        let mut ty = self.type_of(&fact, graph.symbols(), parameter.element_type)?;
        // Keeps the names that the user gave to dims that inference could not resolve.
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
        self.graph.input.push(onnx::ValueInfo { name: name.clone(), ty: Some(ty) });
        match graph.node(id).details().and_then(|details| details.extra.get("default")) {
            Some(AttrValue::Tensor(default))
                if fact.shape.as_static().is_none_or(|dims| dims[..] == *default.dims()) =>
            {
                self.tensor(name, default)
            }
            _ => Ok(()),
        }
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
            data_type: Some(self.number_of(element_type)?),
            name: name.clone(),
            ..onnx::Tensor::default()
        };
        let elements = if element_type == ElementType::String {
            let texts = tensor.as_strings()?;
            message.string_data = texts.iter().map(|text| Bytes::copy_from_slice(text.as_bytes())).collect();
            None
        } else {
            Some(tensor.clone())
        };
        self.constants.push(Initializer { message, elements });
        self.checked.types.insert(name, element_type);
        Ok(())
    }

    /// A constant that was added to the graph being written.
    pub(super) fn constant_of(&self, name: &str) -> Option<&Tensor> {
        let constant = self.constants.iter().rev().find(|constant| constant.message.name == name);
        constant?.elements.as_ref()
    }

    /// Adds a node under a unique name.
    pub(super) fn node(&mut self, mut node: onnx::Node) {
        self.checked.compare(&node);
        node.name = self.names.node(&node.name);
        self.graph.node.push(node);
    }

    /// Adds an output of the model: the returned value, under the name of this output.
    pub(super) fn result(&mut self, graph: &Graph, id: NodeId) -> Result<(), OpError> {
        let value = graph.inputs(id).first().copied().flatten().ok_or(OpError::NotConnected { port: 0 })?;
        let (returned, name) = (self.names.of(value), self.names.of_output(id));
        let fact = graph.fact(value).cloned().unwrap_or_else(Fact::unknown);
        if returned != name {
            if matches!(fact.element_type, ElementType::I4 | ElementType::U4) {
                // A second name needs an Identity, which ONNX Runtime lacks for 4-bit types.
                let what = format!("a value of {} under a second name", fact.element_type);
                return Err(OpError::unsupported(what));
            }
            self.node(onnx::Node {
                input: vec![returned],
                output: vec![name.clone()],
                name: name.clone(),
                op_type: "Identity".into(),
                ..onnx::Node::default()
            });
        }
        let ty = self.type_of(&fact, graph.symbols(), fact.element_type)?;
        self.graph.output.push(onnx::ValueInfo { name, ty: Some(ty) });
        Ok(())
    }
}

/// Adds the names that nodes read and the names of inputs and outputs, including subgraphs.
fn add_read_names<'g>(graph: &'g onnx::Graph, names: &mut HashSet<&'g str>) {
    names.extend(graph.input.iter().chain(&graph.output).map(|value| value.name.as_str()));
    for node in &graph.node {
        names.extend(node.input.iter().map(String::as_str));
        node.attribute
            .iter()
            .filter_map(|attribute| attribute.g.as_deref())
            .for_each(|g| add_read_names(g, names));
    }
}

fn bytes_of(tensor: &Tensor) -> usize {
    tensor.element_type().byte_len(tensor.len()).unwrap_or(usize::MAX)
}

/// A model whose constants do not have their elements yet.
pub(super) struct UnfinishedModel {
    pub(super) message: onnx::Model,
    /// The constants stored in the model file, each with the index of its initializer, in order.
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

/// A model file. It holds the constants and serializes one at a time.
#[derive(Debug)]
pub struct ModelFile {
    /// The bytes before each constant, and the bytes after the last constant.
    parts: Vec<Vec<u8>>,
    constants: Vec<Tensor>,
}

impl ModelFile {
    /// Writes the file.
    ///
    /// # Errors
    /// Errors of `to`.
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
        // Writing to memory cannot fail.
        let _ = self.write(&mut bytes);
        bytes
    }
}

/// The saved state of the enclosing graph while a body is written.
pub(super) struct Around {
    graph: onnx::Graph,
    constants: Vec<Initializer>,
}

/// Between `enter` and `leave`, the writer adds to the graph of the body.
impl Writer {
    pub(super) fn enter(&mut self, body: &Graph, order: &[NodeId]) -> (Around, HashMap<Value, String>) {
        let names = self.names.enter(body, order);
        (self.enter_branch(&body.name), names)
    }

    /// Restores the enclosing graph and returns the graph of the body.
    pub(super) fn leave(&mut self, (around, names): (Around, HashMap<Value, String>)) -> onnx::Graph {
        self.names.leave(names);
        self.leave_branch(around)
    }

    /// Like [`Writer::enter`], for a body that the model does not have.
    pub(super) fn enter_branch(&mut self, name: &str) -> Around {
        let name = if name.is_empty() { "body" } else { name };
        let graph = onnx::Graph { name: name.into(), ..onnx::Graph::default() };
        let constants = std::mem::take(&mut self.constants);
        Around { graph: std::mem::replace(&mut self.graph, graph), constants }
    }

    /// Like [`Writer::leave`], after [`Writer::enter_branch`].
    pub(super) fn leave_branch(&mut self, around: Around) -> onnx::Graph {
        // Constants of bodies stay in the model file.
        let constants = self.used_constants().into_iter().map(|Initializer { mut message, elements }| {
            message.raw_data = elements.map(|tensor| Bytes::from(tensor.to_bytes().to_vec()));
            message
        });
        self.graph.initializer = constants.collect();
        self.constants = around.constants;
        std::mem::replace(&mut self.graph, around.graph)
    }

    /// Adds an input of a body.
    pub(super) fn formal(&mut self, name: String, fact: &Fact, symbols: &Symbols) -> Result<(), OpError> {
        let ty = self.type_of(fact, symbols, fact.element_type)?;
        self.checked.types.insert(name.clone(), fact.element_type);
        self.graph.input.push(onnx::ValueInfo { name, ty: Some(ty) });
        Ok(())
    }

    /// Adds an output of a body.
    pub(super) fn output(&mut self, name: String, fact: &Fact, symbols: &Symbols) -> Result<(), OpError> {
        let ty = self.type_of(fact, symbols, fact.element_type)?;
        self.graph.output.push(onnx::ValueInfo { name, ty: Some(ty) });
        Ok(())
    }
}
