//! Nodes with subgraphs: If, Loop and Scan, which become If, Loop and TensorIterator.
//!
//! Subgraphs can read values of enclosing graphs. Such a captured value becomes an input of the node and a
//! Parameter of the body. Constants are copied into the body instead, so that nodes in the body can use their
//! known elements.

use std::collections::BTreeMap;
use std::sync::Arc;

use snick_ir::ops::control::port_map::{Cut, PortLink, PortMap, Purpose};
use snick_ir::ops::control::subgraph::{SubGraph, SubGraphKind};
use snick_ir::ops::{Constant, Parameter};
use snick_ir::{Graph, Node, Op, OpError, Value};
use snick_onnx as onnx;
use snick_shape::{DimSpec, Interval, ShapeSpec};
use snick_tensor::{ElementType, Tensor};

use super::attribute::resolved;
use super::builder::NodeBuilder;
use super::free_names::{Refusal, free_names_of};
use super::network::{CallSite, Network, Scope, define};
use super::types::declared;

/// The type of an input of a body.
struct Fed {
    element_type: ElementType,
    rank: Option<usize>,
    /// If the input is sliced for each iteration, the axis. The body does not see this axis.
    axis: Option<i64>,
}

/// A body and the values that it captures. The captured values become Parameters after the inputs of the
/// body.
struct Body {
    graph: Graph,
    captured: Vec<Value>,
}

impl<'m> Network<'m> {
    /// Reads a node with bodies, and returns its outputs. The nesting of graphs is limited by the decoder.
    /// Function calls inside bodies count towards the call depth.
    pub(super) fn with_bodies(
        &mut self,
        node: &'m onnx::Node,
        name: &str,
        inputs: &[Option<Value>],
        scope: &Scope,
        place: &CallSite,
    ) -> Result<Vec<Value>, Refusal> {
        let prefix = format!("{name}/");
        let inside = CallSite { prefix: &prefix, depth: place.depth + 1, ..*place };
        let mut reading = Reading { network: self, node, name, inputs, scope, place: &inside };
        match node.op_type.as_str() {
            "If" => reading.branches(),
            "Loop" => reading.repeated(),
            _ => reading.scanned(),
        }
    }
}

/// The state while a node is read.
struct Reading<'n, 'm, 'a> {
    network: &'n mut Network<'m>,
    node: &'m onnx::Node,
    name: &'a str,
    inputs: &'a [Option<Value>],
    scope: &'a Scope,
    /// The call site to which the nodes in the bodies belong.
    place: &'a CallSite<'a>,
}

impl<'m> Reading<'_, 'm, '_> {
    fn branches(&mut self) -> Result<Vec<Value>, Refusal> {
        let condition = self.input(0)?;
        // In ONNX, the condition is a single element of any rank; in the IR, its rank must be 0 or 1.
        let condition =
            self.build(|b| if b.rank(condition)? > 1 { b.reshape(condition, &[]) } else { Ok(condition) });
        let mut inputs = vec![condition.or_else(|_| self.input(0))?];
        let (mut bodies, mut maps) = (Vec::new(), Vec::new());
        for attribute in ["then_branch", "else_branch"] {
            let graph = self.graph(attribute)?;
            let body = self.body(graph, &[], &[])?;
            let outputs = (0..graph.output.len()).map(|i| PortLink::whole(i, i)).collect();
            let entries = enter(&mut inputs, body.captured.iter().copied(), 0);
            maps.push(PortMap { inputs: entries, outputs, back_edges: Vec::new() });
            bodies.push(body.graph);
        }
        self.finish(SubGraphKind::If, bodies, maps, &inputs)
    }

    /// Reads a Loop. The inputs of its body are the iteration number, the condition and the states. The
    /// outputs are the condition, the states, and slices that are concatenated over all iterations.
    fn repeated(&mut self) -> Result<Vec<Value>, Refusal> {
        let graph = self.graph("body")?;
        // In ONNX, a missing trip count means no limit, and a negative trip count means no iteration. In the
        // IR, a negative trip count means no limit.
        let trips = match self.optional(0) {
            Some(trips) => self.build(|b| at_least_zero(b, trips))?,
            None => self.build(|b| b.int(-1))?,
        };
        let truth = || Tensor::from_bools(&[], &[true]).map_err(OpError::from);
        let starts = self.optional(1);
        let starts = starts.map_or_else(|| self.build(|b| b.constant(truth()?)), Ok)?;
        let mut inputs = vec![trips, starts];
        for i in 2..self.inputs.len() {
            inputs.push(self.input(i)?);
        }
        let states = inputs.len() - 2;
        self.expect(graph.input.len() == states + 2 && graph.output.len() > states, "body")?;
        let scalar = |element_type| Fed { element_type, rank: Some(0), axis: None };
        let mut fed = vec![scalar(ElementType::I64), scalar(ElementType::Boolean)];
        fed.extend(inputs[2..].iter().map(|&value| self.fed(value)));
        let made: Vec<Option<i64>> = (0..graph.output.len()).map(|i| (i > states).then_some(0)).collect();
        let body = self.body(graph, &fed, &made)?;
        let mut map = PortMap {
            inputs: vec![PortLink::inner(0, Purpose::CurrentIteration), PortLink::whole(1, 1)],
            outputs: vec![PortLink::inner(0, Purpose::ExecutionCondition)],
            // The back edges of the condition and the states: Result `i` feeds Parameter `i + 1`.
            back_edges: (0..=states).map(|i| (i, i + 1)).collect(),
        };
        map.inputs.extend((2..states + 2).map(|i| PortLink::whole(i, i)));
        map.inputs.extend(enter(&mut inputs, body.captured.iter().copied(), states + 2));
        map.outputs.extend(made.iter().enumerate().skip(1).map(|(i, axis)| match axis {
            Some(axis) => PortLink::each(i - 1, i, *axis),
            None => PortLink::whole(i - 1, i),
        }));
        self.finish(SubGraphKind::Loop, vec![body.graph], vec![map], &inputs)
    }

    /// Reads a Scan of operator set 9 or later. The inputs of its body are the states and a slice of each
    /// scanned input. The outputs are the states, and slices that are concatenated over all iterations.
    fn scanned(&mut self) -> Result<Vec<Value>, Refusal> {
        if self.place.opsets.get("").is_some_and(|&opset| opset < 9) {
            return Err(OpError::unsupported("the batch axis of Scan-8").into());
        }
        let graph = self.graph("body")?;
        let mut inputs = Vec::new();
        for i in 0..self.inputs.len() {
            inputs.push(self.input(i)?);
        }
        let scanned = usize::try_from(self.int("num_scan_inputs").unwrap_or(0)).unwrap_or(usize::MAX);
        let states = inputs.len().checked_sub(scanned).filter(|_| scanned > 0);
        let states =
            states.ok_or_else(|| OpError::out_of_range("num_scan_inputs", scanned as i64, "1 to all"))?;
        self.expect(graph.input.len() == inputs.len() && graph.output.len() >= states, "body")?;
        let made = graph.output.len() - states;
        let cuts = self.cuts("scan_input_axes", "scan_input_directions", scanned)?;
        let joins = self.cuts("scan_output_axes", "scan_output_directions", made)?;
        let mut fed: Vec<Fed> = inputs[..states].iter().map(|&value| self.fed(value)).collect();
        for (&value, cut) in inputs[states..].iter().zip(&cuts) {
            fed.push(Fed { axis: Some(cut.axis), ..self.fed(value) });
        }
        let axes: Vec<Option<i64>> =
            std::iter::repeat_n(None, states).chain(joins.iter().map(|cut| Some(cut.axis))).collect();
        let body = self.body(graph, &fed, &axes)?;
        let cut = |i: usize, cut: Option<&Cut>| PortLink { cut: cut.copied(), ..PortLink::whole(i, i) };
        let mut map = PortMap {
            inputs: (0..inputs.len())
                .map(|i| cut(i, i.checked_sub(states).and_then(|i| cuts.get(i))))
                .collect(),
            outputs: (0..graph.output.len())
                .map(|i| cut(i, i.checked_sub(states).and_then(|i| joins.get(i))))
                .collect(),
            back_edges: (0..states).map(|i| (i, i)).collect(),
        };
        let own = inputs.len();
        map.inputs.extend(enter(&mut inputs, body.captured.iter().copied(), own));
        self.finish(SubGraphKind::TensorIterator, vec![body.graph], vec![map], &inputs)
    }

    /// The axis and the direction along which each value is sliced, one slice per iteration. A direction of 1
    /// iterates backward.
    fn cuts(&self, axes: &str, directions: &str, count: usize) -> Result<Vec<Cut>, OpError> {
        let (axes, directions) = (self.ints(axes), self.ints(directions));
        let fits = |list: &[i64]| list.is_empty() || list.len() == count;
        if !fits(axes) || !fits(directions) {
            return Err(OpError::mismatch("the number of axes or directions", axes.len(), count));
        }
        let cut = |i: usize| {
            let cut = Cut::each(axes.get(i).copied().unwrap_or(0));
            match directions.get(i).copied().unwrap_or(0) {
                0 => Ok(cut),
                1 => Ok(Cut { start: -1, end: 0, stride: -1, ..cut }),
                other => Err(OpError::out_of_range("a direction", other, "0 or 1")),
            }
        };
        (0..count).map(cut).collect()
    }

    fn expect(&self, fits: bool, attribute: &str) -> Result<(), OpError> {
        match fits {
            true => Ok(()),
            false => Err(OpError::mismatch(
                format!("the graph `{attribute}`"),
                "of other inputs or outputs than the node",
                "as many as the operator declares",
            )),
        }
    }

    fn optional(&self, i: usize) -> Option<Value> {
        self.inputs.get(i).copied().flatten()
    }

    fn input(&self, i: usize) -> Result<Value, OpError> {
        self.optional(i).ok_or(OpError::NotConnected { port: i })
    }

    fn attribute(&self, name: &str) -> Option<&'m onnx::Attribute> {
        // The attributes of a Loop or Scan never refer to a function call.
        resolved(&self.node.attribute, &[]).find(|(found, _)| *found == name).map(|(_, attribute)| attribute)
    }

    fn graph(&self, name: &str) -> Result<&'m onnx::Graph, OpError> {
        let graph = self.attribute(name).and_then(|attribute| attribute.g.as_deref());
        graph.ok_or_else(|| OpError::NoValue {
            what: format!("the graph `{name}`"),
            why: "it is absent".into(),
        })
    }

    fn int(&self, name: &str) -> Option<i64> {
        self.attribute(name)?.i
    }

    fn ints(&self, name: &str) -> &'m [i64] {
        self.attribute(name).map(|attribute| attribute.ints.as_slice()).unwrap_or_default()
    }

    fn fed(&self, value: Value) -> Fed {
        let fact = self.network.graph.fact(value);
        Fed {
            element_type: fact.map_or(ElementType::Dynamic, |fact| fact.element_type),
            rank: fact.and_then(|fact| fact.shape.rank()),
            axis: None,
        }
    }

    /// Adds layers to the current graph, which is the graph of the node or a body.
    fn build<T>(&mut self, build: impl FnOnce(&mut NodeBuilder) -> Result<T, OpError>) -> Result<T, OpError> {
        build(&mut NodeBuilder::new(&mut self.network.graph, self.name))
    }

    /// Reads a subgraph. `made` has an entry for each output of the body: the axis along which the node
    /// concatenates it over all iterations, if it does.
    fn body(&mut self, graph: &'m onnx::Graph, fed: &[Fed], made: &[Option<i64>]) -> Result<Body, Refusal> {
        let mut inner = Graph::new(graph.name.clone());
        inner.source = self.network.graph.source.clone();
        let outer = std::mem::replace(&mut self.network.graph, inner);
        // The elements of outer sequences are values of the outer graph, so they cannot be used here.
        let sequences = std::mem::take(&mut self.network.sequences);
        let captured = self.fill(graph, fed, made, &outer);
        self.network.sequences = sequences;
        let mut graph = std::mem::replace(&mut self.network.graph, outer);
        graph.remove_dead_nodes();
        Ok(Body { graph, captured: captured? })
    }

    /// Fills the body, and returns the values of the outer graph that the body captures.
    fn fill(
        &mut self,
        graph: &'m onnx::Graph,
        fed: &[Fed],
        made: &[Option<i64>],
        outer: &Graph,
    ) -> Result<Vec<Value>, Refusal> {
        let infos = graph.value_info.iter().chain(&graph.output);
        let infos = infos.filter_map(|info| Some((info.name.clone(), declared(info)?)));
        self.network.declared.extend(infos.collect::<BTreeMap<_, _>>());
        let mut scope = Scope::new();
        for (info, fed) in graph.input.iter().zip(fed) {
            let value = self.parameter(&info.name, fed);
            let value = match fed.axis {
                Some(axis) => self.build(|b| b.squeeze(value, &[axis]))?,
                None => value,
            };
            define(&mut scope, &info.name, value)?;
        }
        let mut captured = Vec::new();
        for name in free_names_of(graph) {
            let Some(&value) = self.scope.get(name) else {
                let message =
                    format!("node `{}`: its graph reads `{name}`, which no node computes", self.name);
                return Err(Refusal::File(message));
            };
            let inside = value.map(|value| self.capture(name, value, outer, &mut captured));
            scope.insert(name.to_string(), inside);
        }
        self.network.constants(graph, &mut scope)?;
        self.network.nodes(&graph.node, &mut scope, self.place)?;
        for (i, info) in graph.output.iter().enumerate() {
            let value = scope.get(&info.name).copied().flatten();
            let value =
                value.ok_or_else(|| format!("no node computes output `{}` of an inner graph", info.name))?;
            let value = match made.get(i).copied().flatten() {
                Some(axis) => self.build(|b| b.unsqueeze(value, &[axis]))?,
                None => value,
            };
            let name = format!("{}{}", self.place.prefix, info.name);
            self.network.builder().result(&name, value)?;
        }
        Ok(captured)
    }

    /// Makes a value of the outer graph available in the body: a constant is copied, any other value becomes
    /// a Parameter.
    fn capture(&mut self, name: &str, value: Value, outer: &Graph, captured: &mut Vec<Value>) -> Value {
        if let Op::Const(Constant::Here(tensor)) = outer.node(value.node).op() {
            let constant = Constant::new(Arc::clone(tensor)).into();
            return self.network.source(&format!("{}{name}", self.place.prefix), constant);
        }
        captured.push(value);
        let fact = outer.fact(value);
        let fed = Fed {
            element_type: fact.map_or(ElementType::Dynamic, |fact| fact.element_type),
            rank: fact.and_then(|fact| fact.shape.rank()),
            axis: None,
        };
        self.parameter(name, &fed)
    }

    /// Adds a Parameter to the body. Its dims are dynamic, because inference takes them from the input.
    fn parameter(&mut self, name: &str, fed: &Fed) -> Value {
        let shape = match fed.rank {
            Some(rank) => ShapeSpec::Dims(vec![DimSpec::Interval(Interval::DIM); rank]),
            None => ShapeSpec::Unranked,
        };
        let parameter = Parameter { element_type: fed.element_type, shape };
        self.network.source(&format!("{}{name}", self.place.prefix), parameter.into())
    }

    /// Adds the op of the node.
    fn finish(
        &mut self,
        kind: SubGraphKind,
        bodies: Vec<Graph>,
        maps: Vec<PortMap>,
        inputs: &[Value],
    ) -> Result<Vec<Value>, Refusal> {
        let op = SubGraph::new(kind, bodies, maps)?;
        let outputs = op.outputs();
        if outputs < self.node.output.len() {
            let got = self.node.output.len();
            return Err(OpError::mismatch("the number of outputs", got, format!("at most {outputs}")).into());
        }
        let node = Node::new(self.name, op.into());
        let node = self.network.builder().add_node(node, inputs, outputs)?;
        Ok((0..).zip(0..outputs).map(|(port, _)| Value { node, port }).collect())
    }
}

/// Links captured values to the Parameters of the body, starting at index `first`. If an input of the node
/// already has the value, uses this input.
fn enter(inputs: &mut Vec<Value>, captured: impl Iterator<Item = Value>, first: usize) -> Vec<PortLink> {
    let entry = |(i, value): (usize, Value)| {
        // The first inputs have special meanings, and the states of a Loop or Scan have different values
        // inside the body.
        let port = inputs.iter().position(|&input| input == value).filter(|&port| port >= first.max(1));
        let port = port.unwrap_or_else(|| {
            inputs.push(value);
            inputs.len() - 1
        });
        PortLink::whole(port, first + i)
    };
    captured.enumerate().map(entry).collect()
}

/// Clamps an integer to at least 0, unless it is known to be nonnegative.
fn at_least_zero(b: &mut NodeBuilder, number: Value) -> Result<Value, OpError> {
    let fact = b.fact(number)?;
    let (elements, element_type) = (fact.elements(), fact.element_type);
    let is_counted = |elements: Vec<_>| elements.iter().all(|element| b.interval(element).lo() >= 0);
    if elements.is_some_and(is_counted) || element_type == ElementType::Dynamic {
        return Ok(number);
    }
    b.maximum(number, 0)
}
