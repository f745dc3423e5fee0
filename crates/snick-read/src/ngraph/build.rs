//! Builds the graph: names, connections, and a [`Site`] for each node.

use snick_tensor::SmallVector;
use std::collections::HashMap;

use snick_ir::{BuildMode, Declared, Graph, GraphBuilder, Located, NodeId, Value};

use super::function::Functions;
use super::node::{Node, Source};
use super::site::{MAX_OUTPUTS, Site};
use super::{constant, ops, value_type};
use crate::json::Json;
use crate::{Read, ReadError};

/// Builds the graph of a function, one node at a time.
pub(super) struct FunctionBuilder<'f> {
    graph: Graph,
    functions: &'f Functions,
    errors: Vec<Located>,
    named: HashMap<String, NamedValue>,
}

/// The value or values that a name refers to.
enum NamedValue {
    Layer(NodeId),
    /// An output of another node, which has its own name.
    Alias(Value),
    /// The outputs of a node that was replaced by several layers, or the members of a tuple.
    Several(SmallVector<Value, 4>),
}

impl<'f> FunctionBuilder<'f> {
    pub(super) fn new(name: String, source: &str, nodes: usize, functions: &'f Functions) -> Self {
        let mut graph = Graph::new(name);
        graph.set_source(source);
        graph.reserve(nodes, 2 * nodes);
        Self { graph, functions, errors: Vec::new(), named: HashMap::with_capacity(nodes) }
    }

    pub(super) fn finish(self) -> Read {
        Read {
            graph: self.graph,
            errors: self.errors,
            notes: Vec::new(),
            files: Vec::new(),
            missing: Vec::new(),
            optional_inputs: Vec::new(),
        }
    }

    /// Whether a node with this name was added.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.named.contains_key(name)
    }

    /// Adds a node other than a Result. If the node cannot be read as an op, it stays opaque and its error is
    /// recorded.
    pub(super) fn node(&mut self, node: &Node) -> Result<(), ReadError> {
        let inputs = node.inputs.iter().map(|source| self.value(source, None)).collect::<Result<_, _>>()?;
        if node.op == "XLATuple" {
            self.named.insert(node.name.clone(), NamedValue::Several(inputs));
            return Ok(());
        }
        let declared = value_type::declared(&node.object)?;
        let builder = GraphBuilder::on(&mut self.graph)
            .mode(BuildMode::Lenient)
            .scope(node.name.as_str())
            .loc(node.object.json().loc());
        let functions = self.functions;
        let mut site = Site { builder, functions, node, inputs, further: SmallVector::new() };
        let lowered = match node.op.as_str() {
            "Parameter" => site.parameter()?.map(Some),
            "Constant" => constant::tensor(node)?.and_then(|tensor| site.constant(tensor)).map(Some),
            "GetOutputElement" => return self.alias(node, declared),
            _ => ops::lower(&mut site),
        };
        let (lowered, wrong) = match lowered {
            Ok(value) => (value, None),
            Err(error) => (None, Some(error)),
        };
        let (value, further) = match lowered {
            Some(value) => (value, site.further),
            None => {
                let opaque = site.opaque(declared.as_ref());
                (opaque.map_err(|error| node.object.json().error(error.to_string()))?, SmallVector::new())
            }
        };
        self.graph.rename(value.node, node.name.as_str());
        if let Some(declared) = declared {
            self.graph.declare(value, declared);
        }
        let outputs = self.graph.node(value.node).outs().len();
        // If a single layer computes all outputs, they are the ports of this layer; otherwise they are
        // listed.
        let plain = (0..outputs).map(|port| Value { node: value.node, port: port as u32 });
        let outputs: SmallVector<Value, 4> = match further.is_empty() && value.port == 0 {
            true => plain.collect(),
            false => std::iter::once(value).chain(further.iter().copied()).collect(),
        };
        for (port, output) in outputs.iter().enumerate() {
            let names = node.tensor_names(port)?;
            self.graph.set_tensor_names(*output, names);
        }
        // Ignores the error, because it is reported when the whole graph is inferred.
        let _ = self.graph.infer_node(value.node);
        self.errors.extend(wrong.map(|error| self.graph.located(value.node, error)));
        let named = if further.is_empty() && value.port == 0 {
            NamedValue::Layer(value.node)
        } else {
            NamedValue::Several(std::iter::once(value).chain(further).collect())
        };
        self.named.insert(node.name.clone(), named);
        Ok(())
    }

    /// Handles GetOutputElement, which names an output of another node.
    fn alias(&mut self, node: &Node, declared: Option<Declared>) -> Result<(), ReadError> {
        let [source] = node.inputs.as_slice() else {
            return Err(node.object.json().error(format!("{} inputs, expected 1", node.inputs.len())));
        };
        let index = node.object.get("n").map(Json::int).transpose()?;
        let value = self.value(source, index)?;
        let known = self.graph.output(value).is_some_and(|out| out.declared.is_some());
        if let Some(declared) = declared.filter(|_| !known) {
            self.graph.declare(value, declared);
        }
        let _ = self.graph.infer_node(value.node);
        self.named.insert(node.name.clone(), NamedValue::Alias(value));
        Ok(())
    }

    /// Adds a Result node.
    pub(super) fn result(&mut self, node: &Node) -> Result<(), ReadError> {
        let [source] = node.inputs.as_slice() else {
            return Err(node.object.json().error(format!("{} inputs, expected 1", node.inputs.len())));
        };
        let value = self.value(source, None)?;
        self.add_result(&node.name, value, node.object.json())
    }

    /// Adds a Result for a node that the function returns directly. For a tuple, adds a Result for each
    /// member.
    pub(super) fn return_value(&mut self, name: &str, place: Json) -> Result<(), ReadError> {
        if let Some(NamedValue::Several(values)) = self.named.get(name)
            && values.len() != 1
        {
            for (index, value) in values.clone().into_iter().enumerate() {
                self.add_result(&format!("{name}/Result.{index}"), value, place)?;
            }
            return Ok(());
        }
        let source = Source { name: name.to_string(), index: None, json: place };
        let value = self.value(&source, None)?;
        self.add_result(&format!("{name}/Result"), value, place)
    }

    fn add_result(&mut self, name: &str, value: Value, place: Json) -> Result<(), ReadError> {
        let builder = GraphBuilder::on(&mut self.graph).mode(BuildMode::Lenient).loc(place.loc());
        builder.result(name, value).map(|_| ()).map_err(|error| place.error(error.to_string()))
    }

    /// The value that an input refers to. If the input does not select an output, `index` does.
    fn value(&mut self, source: &Source, index: Option<i64>) -> Result<Value, ReadError> {
        let Some(named) = self.named.get(&source.name) else {
            return Err(source.json.error(format!("no node named `{}` before this one", source.name)));
        };
        let index = source.index.or(index).unwrap_or(0);
        let wrong = || source.json.error(format!("node `{}` has no output {index}", source.name));
        let node = match named {
            NamedValue::Alias(value) => return Ok(*value),
            NamedValue::Several(values) => {
                let value = usize::try_from(index).ok().and_then(|index| values.get(index));
                return value.copied().ok_or_else(wrong);
            }
            NamedValue::Layer(node) => *node,
        };
        let port = usize::try_from(index).ok().filter(|&port| port < MAX_OUTPUTS).ok_or_else(wrong)?;
        let layer = self.graph.node(node);
        if port >= layer.outs().len() {
            if !layer.op().is_opaque() {
                return Err(wrong());
            }
            // A file need not list the outputs of an unknown op, so an output is added when another node
            // refers to it.
            self.graph.ensure_outputs(node, port + 1);
        }
        Ok(Value { node, port: port as u32 })
    }
}
