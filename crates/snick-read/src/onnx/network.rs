//! A graph of named values: inputs, constants, nodes in an order that works, outputs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

use snick_ir::ops::source::constant::Constant;
use snick_ir::ops::source::parameter::Parameter;
use snick_ir::ops::source::result::GraphResult;
use snick_ir::{Attrs, Declared, Graph, Located, Node, NodeId, Op, OpError, Output, Value, Version};
use snick_onnx as onnx;
use snick_shape::ShapeSpec;
use snick_tensor::ElementType;
use std::sync::Arc;

use super::attribute::{attributes, resolved};
use super::builder::NodeBuilder;
use super::free_names::{Refusal, free_names, has_bodies};
use super::ops;
use super::opsets::{Functions, Opsets, normal_domain};
use super::tensor::Tensors;
use super::types::{DimNames, declared};
use crate::Read;

/// Values by name; `None` for an input of a function that its call leaves out.
pub(super) type Scope = HashMap<String, Option<Value>>;

/// A graph on its way from names to wires.
pub(super) struct Network<'m> {
    pub(super) tensors: &'m Tensors<'m>,
    pub(super) functions: Functions<'m>,
    /// The main graph, or the body being read.
    pub(super) graph: Graph,
    /// Elements of sequences by name, that of the call in front.
    pub(super) sequences: HashMap<String, Vec<Value>>,
    errors: Vec<Located>,
    notes: Vec<String>,
    dims: DimNames,
    /// What the file says of values.
    pub(super) declared: HashMap<String, Declared>,
    /// Layers of each operator that has no row.
    unknown: BTreeMap<String, usize>,
    /// Nodes that came of functions.
    pub(super) inlined: usize,
}

/// Where nodes stand: in the main graph or in a function that a node calls.
pub(super) struct CallSite<'p> {
    /// Operator sets.
    pub(super) opsets: &'p Opsets,
    /// Attributes of the call.
    pub(super) given: &'p [onnx::Attribute],
    /// What layer names begin with: the calls.
    pub(super) prefix: &'p str,
    /// How many calls lead here.
    pub(super) depth: usize,
}

impl<'m> Network<'m> {
    pub(super) fn new(source: &str, tensors: &'m Tensors<'m>, functions: Functions<'m>) -> Self {
        let mut graph = Graph::new("");
        graph.source = source.into();
        Self {
            tensors,
            functions,
            graph,
            sequences: HashMap::new(),
            errors: Vec::new(),
            notes: Vec::new(),
            dims: DimNames::default(),
            declared: HashMap::new(),
            unknown: BTreeMap::new(),
            inlined: 0,
        }
    }

    /// Reads the main graph. `Err` says which value is not wired.
    pub(super) fn read(&mut self, main: &'m onnx::Graph, opsets: &Opsets) -> Result<(), String> {
        self.graph.name = main.name.clone();
        let infos = main.value_info.iter().chain(&main.output);
        self.declared = infos.filter_map(|info| Some((info.name.clone(), declared(info)?))).collect();
        let mut scope = Scope::new();
        // Before format version 4 constants are listed among the inputs, too.
        let constants: HashSet<&str> = main.initializer.iter().map(|t| t.name.as_str()).collect();
        for info in main.input.iter().filter(|info| !constants.contains(info.name.as_str())) {
            let value = self.parameter(info);
            define(&mut scope, &info.name, value)?;
        }
        self.constants(main, &mut scope)?;
        self.nodes(&main.node, &mut scope, &CallSite { opsets, given: &[], prefix: "", depth: 0 })?;
        for info in &main.output {
            let value = match self.sequences.get(&info.name).cloned() {
                Some(elements) => Some(self.whole(&info.name, &elements)),
                None => scope.get(&info.name).copied().flatten(),
            };
            let value = value.ok_or_else(|| format!("output `{}`: no node makes it", info.name))?;
            let mut node = Node::new(info.name.as_str(), GraphResult.into());
            node.outs.push(Output::unknown());
            self.graph.add_wired(node, &[value]);
        }
        Ok(())
    }

    /// Reads the constants of a graph.
    pub(super) fn constants(&mut self, graph: &'m onnx::Graph, scope: &mut Scope) -> Result<(), String> {
        for message in &graph.initializer {
            let value = self.constant(message);
            define(scope, &message.name, value)?;
        }
        for values in graph.sparse_initializer.iter().filter_map(|sparse| sparse.values.as_ref()) {
            let error = OpError::unsupported("a sparse constant");
            let value = self.broken(&values.name, "Const", error);
            define(scope, &values.name, value)?;
        }
        Ok(())
    }

    /// The graph, without what nobody reads.
    pub(super) fn finish(mut self) -> Read {
        self.graph.remove_dead_nodes();
        let unknown = self.unknown.iter().map(|(op, count)| {
            let layers = if *count == 1 { "1 layer stays" } else { &format!("{count} layers stay") };
            format!("ONNX operator `{op}` is not known: {layers} opaque")
        });
        self.notes.extend(unknown);
        Read { graph: self.graph, errors: self.errors, notes: self.notes }
    }

    fn parameter(&mut self, info: &onnx::ValueInfo) -> Value {
        let (element_type, shape) = match self.dims.input(info) {
            Some(found) => found,
            None => (ElementType::Dynamic, ShapeSpec::Unranked),
        };
        let value = self.source(&info.name, Parameter { element_type, shape }.into());
        if element_type == ElementType::Dynamic {
            let error = OpError::unsupported("an input that is no tensor of a known element type");
            self.errors.push(self.graph.located(value.node, error));
        }
        value
    }

    fn constant(&mut self, message: &onnx::Tensor) -> Value {
        match self.tensors.tensor(message) {
            Ok(tensor) => self.source(&message.name, Constant::new(Arc::new(tensor)).into()),
            Err(error) => self.broken(&message.name, "Const", error),
        }
    }

    /// A layer that could not be read as what it claims to be.
    fn broken(&mut self, name: &str, op: &str, error: OpError) -> Value {
        let value = self.source(name, Op::opaque(op, Attrs::new()));
        self.errors.push(self.graph.located(value.node, error));
        value
    }

    /// A layer without inputs, whose value has its name.
    pub(super) fn source(&mut self, name: &str, op: Op) -> Value {
        let mut node = Node::new(name, op);
        let mut out = Output::unknown();
        out.names = Some([name.to_string()].into());
        node.outs.push(out);
        let node = self.graph.add(node);
        // What is wrong with it is told by the inference of the whole graph.
        let _ = self.graph.infer_node(node);
        Value { node, port: 0 }
    }

    /// Reads nodes; what they define is in `scope` after.
    pub(super) fn nodes(
        &mut self,
        nodes: &'m [onnx::Node],
        scope: &mut Scope,
        place: &CallSite,
    ) -> Result<(), String> {
        for i in order(nodes, scope)? {
            let node = &nodes[i];
            let name = format!("{}{}", place.prefix, label(node));
            let mut wrong = None;
            match self.sequence(node, &name, scope, place) {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => wrong = Some(error),
            }
            let inputs: Vec<Option<Value>> =
                node.input.iter().map(|input| scope.get(input).copied().flatten()).collect();
            let key = (normal_domain(&node.domain), node.op_type.as_str(), node.overload.as_str());
            let outputs = match self.functions.get(&key).copied() {
                Some(function) => self.call(function, node, &name, inputs, place)?,
                None if has_bodies(node) => self.control(node, &name, inputs, scope, place)?,
                None => self.node(node, &name, inputs, place, wrong)?.into_iter().map(Some).collect(),
            };
            for (output, value) in node.output.iter().zip(outputs) {
                let Some(value) = value.filter(|_| !output.is_empty()) else { continue };
                if place.depth == 0 {
                    self.name_value(value, output);
                }
                define(scope, output, value)?;
            }
        }
        Ok(())
    }

    pub(super) fn name_value(&mut self, value: Value, name: &str) {
        if let Some(out) = self.graph.node_mut(value.node).outs.get_mut(value.port as usize) {
            let mut names = out.names.take().map(Vec::from).unwrap_or_default();
            names.push(name.to_string());
            out.names = Some(names.into());
        }
    }

    /// A node with bodies, or opaque.
    fn control(
        &mut self,
        node: &'m onnx::Node,
        name: &str,
        inputs: Vec<Option<Value>>,
        scope: &Scope,
        place: &CallSite,
    ) -> Result<Vec<Option<Value>>, String> {
        let values = match self.with_bodies(node, name, &inputs, scope, place) {
            Ok(values) => values,
            Err(Refusal::File(message)) => return Err(message),
            Err(Refusal::Node(error)) => {
                let opset = place.opsets.get("").copied().unwrap_or_default();
                let version = Version::Custom(qualified("", &opset.to_string()).into());
                let (id, values) = self.opaque(node, name, version, Attrs::new(), &inputs);
                self.errors.push(self.graph.located(id, error));
                values
            }
        };
        Ok(values.into_iter().map(Some).collect())
    }

    /// One node by its row, or opaque.
    fn node(
        &mut self,
        node: &onnx::Node,
        name: &str,
        inputs: Vec<Option<Value>>,
        place: &CallSite,
        mut wrong: Option<OpError>,
    ) -> Result<Vec<Value>, String> {
        let domain = normal_domain(&node.domain);
        let opset = match place.opsets.get(domain) {
            Some(&opset) => opset,
            None if domain.is_empty() => return Err(format!("node `{name}`: no operator set is imported")),
            None => 1,
        };
        let attrs = attributes(&node.attribute, place.given, self.tensors);
        let row = ops::find(domain, &node.op_type, opset).filter(|_| wrong.is_none());
        let attrs = match (attrs, row) {
            (Ok(attrs), Some((row, since))) => {
                let wanted = node.output.iter().map(|output| !output.is_empty()).collect();
                let graph = &mut self.graph;
                let inputs = inputs.clone();
                let mut builder =
                    NodeBuilder { graph, name, since, inputs, wanted, attrs, added: Vec::new() };
                match row.build(&mut builder) {
                    Ok(values) => {
                        let NodeBuilder { added, attrs, .. } = builder;
                        self.name_layers(name, &values, &added);
                        drop(attrs);
                        return Ok(values);
                    }
                    Err(error) => {
                        wrong = Some(error);
                        builder.attrs
                    }
                }
            }
            (Ok(attrs), None) if wrong.is_some() => attrs,
            (Ok(attrs), None) => {
                *self.unknown.entry(qualified(domain, &node.op_type)).or_default() += 1;
                attrs
            }
            (Err(error), _) => {
                wrong = Some(error);
                Attrs::new()
            }
        };
        if resolved(&node.attribute, place.given).any(|(_, a)| a.g.is_some() || !a.graphs.is_empty()) {
            let op = &node.op_type;
            self.notes
                .push(format!("layer `{name}` ({op}): its sub-graphs are not read, the layer stays opaque"));
        }
        let version = Version::Custom(qualified(domain, &opset.to_string()).into());
        let (id, values) = self.opaque(node, name, version, attrs, &inputs);
        self.errors.extend(wrong.map(|error| self.graph.located(id, error)));
        Ok(values)
    }

    /// A sequence that leaves the graph: a layer that nobody knows how to run.
    fn whole(&mut self, name: &str, elements: &[Value]) -> Value {
        let mut layer = Node::new(name, Op::opaque("SequenceConstruct", Attrs::new()));
        layer.outs.push(Output::unknown());
        let node = self.graph.add_wired(layer, elements);
        let _ = self.graph.infer_node(node);
        self.notes
            .push(format!("output `{name}` is a sequence: its elements are there, the sequence is not"));
        Value { node, port: 0 }
    }

    /// Layers that give the outputs have the name of the node.
    fn name_layers(&mut self, name: &str, values: &[Value], added: &[NodeId]) {
        let mut named: Vec<NodeId> = Vec::new();
        for (i, value) in values.iter().enumerate() {
            if !added.contains(&value.node) || named.contains(&value.node) {
                continue;
            }
            let name = if named.is_empty() { name.to_string() } else { format!("{name}.{i}") };
            self.graph.node_mut(value.node).name = name.into();
            named.push(value.node);
        }
    }

    /// A layer kept as it is, with the types that the file declares.
    fn opaque(
        &mut self,
        node: &onnx::Node,
        name: &str,
        version: Version,
        attrs: Attrs<'static>,
        inputs: &[Option<Value>],
    ) -> (NodeId, Vec<Value>) {
        let mut layer = Node::new(name, Op::opaque(&node.op_type, attrs));
        layer.version = version;
        for output in &node.output {
            let mut out = Output::unknown();
            out.declared = self.declared.get(output).cloned();
            layer.outs.push(out);
        }
        let inputs: Vec<Value> = inputs.iter().copied().flatten().collect();
        let id = self.graph.add_wired(layer, &inputs);
        let _ = self.graph.infer_node(id);
        (id, (0..).zip(&node.output).map(|(port, _)| Value { node: id, port }).collect())
    }
}

/// `name`, or `domain.name` for operators that are not ONNX's own.
fn qualified(domain: &str, name: &str) -> String {
    match domain {
        "" => format!("ai.onnx.{name}"),
        domain => format!("{domain}.{name}"),
    }
}

/// The name of a node, or that of its first output.
fn label(node: &onnx::Node) -> &str {
    let output = || node.output.iter().find(|o| !o.is_empty()).map_or(node.op_type.as_str(), String::as_str);
    if node.name.is_empty() { output() } else { &node.name }
}

/// A name stands for one value only.
pub(super) fn define(scope: &mut Scope, name: &str, value: Value) -> Result<(), String> {
    match scope.insert(name.to_string(), Some(value)) {
        None => Ok(()),
        Some(_) => Err(format!("value `{name}` is defined twice")),
    }
}

/// An order in which every node comes after those it reads from; that of the file, if it is one.
fn order(nodes: &[onnx::Node], scope: &Scope) -> Result<Vec<usize>, String> {
    let mut makers: HashMap<&str, usize> = HashMap::new();
    for (i, node) in nodes.iter().enumerate() {
        makers.extend(node.output.iter().filter(|o| !o.is_empty()).map(|o| (o.as_str(), i)));
    }
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut missing = vec![0usize; nodes.len()];
    for (i, node) in nodes.iter().enumerate() {
        for input in node.input.iter().filter(|input| !input.is_empty() && !scope.contains_key(*input)) {
            let Some(&maker) = makers.get(input.as_str()) else {
                return Err(format!("node `{}`: no node makes its input `{input}`", label(node)));
            };
            readers[maker].push(i);
            missing[i] += 1;
        }
        // What graphs inside read and nobody makes is told when they are read.
        for maker in free_names(node).into_iter().filter_map(|name| makers.get(name)) {
            readers[*maker].push(i);
            missing[i] += 1;
        }
    }
    let mut ready: BinaryHeap<_> = (0..nodes.len()).filter(|&i| missing[i] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(Reverse(i)) = ready.pop() {
        order.push(i);
        for &reader in &readers[i] {
            missing[reader] -= 1;
            if missing[reader] == 0 {
                ready.push(Reverse(reader));
            }
        }
    }
    match nodes.iter().zip(&missing).find(|(_, missing)| **missing > 0) {
        Some((node, _)) => Err(format!("node `{}`: it reads, in a cycle, what comes of it", label(node))),
        None => Ok(order),
    }
}
