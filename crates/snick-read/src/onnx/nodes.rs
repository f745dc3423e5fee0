//! Reads the nodes of a graph. A node is converted by its row in the operator table, inlined if it calls a
//! function, or read with its bodies. Otherwise, it becomes opaque.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use snick_ir::{Attrs, Node, NodeId, Op, OpError, Output, RawNode, Value, Version};
use snick_onnx as onnx;

use super::attribute::{attributes, resolved, without_duplicates};
use super::builder::NodeBuilder;
use super::free_names::{Refusal, free_names, has_bodies};
use super::network::{CallSite, Network, Scope, define};
use super::ops;
use super::opsets::normal_domain;

impl<'m> Network<'m> {
    /// Reads nodes, and binds their outputs to names in `scope`.
    pub(super) fn nodes(
        &mut self,
        nodes: &'m [onnx::Node],
        scope: &mut Scope,
        place: &CallSite,
    ) -> Result<(), String> {
        for i in order(nodes, scope)? {
            let node = &nodes[i];
            let name = format!("{}{}", place.prefix, label(node));
            self.report(&name)?;
            let mut wrong = None;
            let unique = without_duplicates(&node.attribute);
            match unique.and_then(|()| self.sequence(node, &name, scope, place)) {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => wrong = Some(error),
            }
            let inputs: Vec<Option<Value>> =
                node.input.iter().map(|input| scope.get(input).copied().flatten()).collect();
            let key = (normal_domain(&node.domain), node.op_type.as_str(), node.overload.as_str());
            let outputs = match self.functions.get(&key).copied() {
                Some(function) if wrong.is_none() => self.call(function, node, &name, inputs, place)?,
                None if wrong.is_none() && has_bodies(node) => {
                    self.control(node, &name, inputs, scope, place)?
                }
                _ => self.node(node, &name, inputs, place, wrong)?.into_iter().map(Some).collect(),
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

    /// Reads a node with bodies. If it is rejected, it becomes opaque.
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

    /// Converts a node by a registered op or by its row in the operator table. If neither exists, or if the
    /// node is rejected, the node becomes opaque.
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
        match attrs.as_ref().map_or(Ok(None), |attrs| self.registered(node, domain, attrs)) {
            Ok(Some(op)) => return Ok(self.custom(op, node, name, domain, &inputs)),
            Ok(None) => {}
            Err(error) => wrong = wrong.or(Some(error)),
        }
        let row = ops::find(domain, &node.op_type, opset).filter(|_| wrong.is_none());
        let attrs = match (attrs, row) {
            (Ok(attrs), Some((row, since))) => {
                let wanted = node.output.iter().map(|output| !output.is_empty()).collect();
                let inputs = inputs.clone();
                let mut builder =
                    NodeBuilder { since, inputs, wanted, attrs, ..NodeBuilder::new(&mut self.graph, name) };
                match row.build(&mut builder) {
                    Ok(values) => {
                        let added = builder.added().to_vec();
                        self.name_layers(name, &values, &added);
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
                .push(format!("layer `{name}` ({op}): its sub-graphs are not read; the layer stays opaque"));
        }
        let version = Version::Custom(qualified(domain, &opset.to_string()).into());
        let (id, values) = self.opaque(node, name, version, attrs, &inputs);
        self.errors.extend(wrong.map(|error| self.graph.located(id, error)));
        Ok(values)
    }

    /// Names the layers that compute the outputs of a node. The first of these layers gets the name of the
    /// node, the others get `name.i`, where `i` is the index of the output.
    fn name_layers(&mut self, name: &str, values: &[Value], added: &[NodeId]) {
        let mut unnamed: HashSet<NodeId> = added.iter().copied().collect();
        let mut is_first = true;
        for (i, value) in values.iter().enumerate() {
            if unnamed.remove(&value.node) {
                let name = if is_first { name.to_string() } else { format!("{name}.{i}") };
                self.graph.rename(value.node, name);
                is_first = false;
            }
        }
    }

    /// The op that a user registered for a node.
    fn registered(
        &self,
        node: &onnx::Node,
        domain: &str,
        attrs: &Attrs<'static>,
    ) -> Result<Option<Op>, OpError> {
        if self.ops.is_builtin() {
            return Ok(None);
        }
        let version = Version::Custom(domain.into());
        self.ops.custom(domain, &RawNode::openvino(&node.op_type, version, attrs.clone(), node.output.len()))
    }

    /// Adds a registered op.
    fn custom(
        &mut self,
        op: Op,
        node: &onnx::Node,
        name: &str,
        domain: &str,
        inputs: &[Option<Value>],
    ) -> Vec<Value> {
        let mut layer = Node::new(name, op);
        layer.version = Version::Custom(domain.into());
        layer.outs.extend(node.output.iter().map(|_| Output::unknown()));
        self.add_layer(layer, node, inputs).1
    }

    /// Adds an opaque layer with the declared types of its outputs.
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
        self.add_layer(layer, node, inputs)
    }

    fn add_layer(
        &mut self,
        layer: Node,
        node: &onnx::Node,
        inputs: &[Option<Value>],
    ) -> (NodeId, Vec<Value>) {
        let inputs: Vec<Value> = inputs.iter().copied().flatten().collect();
        let id = self.graph.add_wired(layer, &inputs);
        // Ignores the error, because it is reported when the whole graph is inferred.
        let _ = self.graph.infer_node(id);
        (id, (0..).zip(&node.output).map(|(port, _)| Value { node: id, port }).collect())
    }
}

/// A name with its domain, such as `domain.name`.
fn qualified(domain: &str, name: &str) -> String {
    match domain {
        "" => format!("ai.onnx.{name}"),
        domain => format!("{domain}.{name}"),
    }
}

/// The name of a node. For an unnamed node, the name of its first output.
fn label(node: &onnx::Node) -> &str {
    let output = || node.output.iter().find(|o| !o.is_empty()).map_or(node.op_type.as_str(), String::as_str);
    if node.name.is_empty() { output() } else { &node.name }
}

/// A topological order of the nodes. Keeps the order of the file if it is topological.
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
                return Err(format!("node `{}`: no node computes its input `{input}`", label(node)));
            };
            readers[maker].push(i);
            missing[i] += 1;
        }
        // If a subgraph captures a name that no node computes, an error is reported when the subgraph is
        // read.
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
        Some((node, _)) => Err(format!("node `{}` depends on its own output", label(node))),
        None => Ok(order),
    }
}
