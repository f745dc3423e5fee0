//! The graph under construction, and its values by name.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use snick_ir::ops::Parameter;
use snick_ir::{
    AttrValue, Attrs, BuildMode, Declared, Graph, GraphBuilder, Located, Monitor, Node, Op, OpError, Output,
    Registry, Value,
};
use snick_onnx as onnx;
use snick_shape::ShapeSpec;
use snick_tensor::ElementType;

use super::opsets::{Functions, Opsets};
use super::tensor::Tensors;
use super::types::{DimNames, declared};
use crate::Read;

/// Values by name. `None` for an input of a function that the call omits.
pub(super) type Scope = HashMap<String, Option<Value>>;

/// The graph under construction, and everything that is known so far.
pub(super) struct Network<'m> {
    pub(super) tensors: &'m Tensors<'m>,
    pub(super) functions: Functions<'m>,
    /// The ops that users registered.
    pub(super) ops: &'m Registry,
    /// The graph that is being read: the main graph or a body.
    pub(super) graph: Graph,
    /// The elements of each sequence. The key is the name of the sequence, with the names of the enclosing
    /// calls as a prefix.
    pub(super) sequences: HashMap<String, Vec<Value>>,
    pub(super) errors: Vec<Located>,
    pub(super) notes: Vec<String>,
    dims: DimNames,
    /// The inputs that have a default value.
    optional_inputs: Vec<String>,
    /// The default values of inputs that are kept as inputs.
    defaults: HashMap<&'m str, &'m onnx::Tensor>,
    /// The declared types of values.
    pub(super) declared: HashMap<String, Declared>,
    /// Number of layers for each unknown operator.
    pub(super) unknown: BTreeMap<String, usize>,
    /// Number of inlined nodes.
    pub(super) inlined: usize,
    /// Number of nodes read so far, including nodes of bodies and inlined functions.
    read: usize,
    monitor: &'m mut Monitor,
}

/// The context of a node, which is the main graph or a function call.
pub(super) struct CallSite<'p> {
    /// The operator sets that apply.
    pub(super) opsets: &'p Opsets,
    /// The attributes of the call.
    pub(super) given: &'p [onnx::Attribute],
    /// The prefix for names of layers, which consists of the names of the enclosing calls.
    pub(super) prefix: &'p str,
    /// The call depth.
    pub(super) depth: usize,
}

impl<'m> Network<'m> {
    pub(super) fn new(
        source: &str,
        tensors: &'m Tensors<'m>,
        functions: Functions<'m>,
        ops: &'m Registry,
        monitor: &'m mut Monitor,
    ) -> Self {
        let mut graph = Graph::new("");
        graph.source = source.into();
        Self {
            tensors,
            functions,
            ops,
            graph,
            sequences: HashMap::new(),
            errors: Vec::new(),
            notes: Vec::new(),
            dims: DimNames::default(),
            optional_inputs: Vec::new(),
            defaults: HashMap::new(),
            declared: HashMap::new(),
            unknown: BTreeMap::new(),
            inlined: 0,
            read: 0,
            monitor,
        }
    }

    /// Reports the progress after a node. Returns an error if reading should stop.
    pub(super) fn report(&mut self, node: &str) -> Result<(), String> {
        self.read += 1;
        self.monitor.report(self.read, self.read, node);
        if self.monitor.is_stopped() { Err("reading was stopped".into()) } else { Ok(()) }
    }

    /// A builder that adds to the graph. It ignores inference errors, because they are reported when the
    /// whole graph is inferred.
    pub(super) fn builder(&mut self) -> GraphBuilder<'_> {
        GraphBuilder::on(&mut self.graph).mode(BuildMode::Lenient)
    }

    /// Finds the inputs that have a default value. Inputs named in `kept` stay inputs.
    pub(super) fn find_optional_inputs(&mut self, main: &'m onnx::Graph, kept: &BTreeSet<String>) {
        let inputs: HashSet<&str> = main.input.iter().map(|info| info.name.as_str()).collect();
        for default in main.initializer.iter().filter(|default| inputs.contains(default.name.as_str())) {
            self.optional_inputs.push(default.name.clone());
            if kept.contains(&default.name) {
                self.defaults.insert(&default.name, default);
            }
        }
    }

    /// Reads the main graph. Returns an error message if, for example, no node computes an output.
    pub(super) fn read(&mut self, main: &'m onnx::Graph, opsets: &Opsets) -> Result<(), String> {
        self.graph.name = main.name.clone();
        let infos = main.value_info.iter().chain(&main.output);
        self.declared = infos.filter_map(|info| Some((info.name.clone(), declared(info)?))).collect();
        let mut scope = Scope::new();
        let constants = main.initializer.iter().map(|t| t.name.as_str());
        let constants: HashSet<&str> = constants.filter(|name| !self.defaults.contains_key(name)).collect();
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
            let value = value.ok_or_else(|| format!("no node computes output `{}`", info.name))?;
            self.builder()
                .result(&info.name, value)
                .map_err(|error| format!("output `{}`: {error}", info.name))?;
        }
        Ok(())
    }

    /// Reads the constants of a graph.
    pub(super) fn constants(&mut self, graph: &'m onnx::Graph, scope: &mut Scope) -> Result<(), String> {
        let is_parameter =
            |name: &String| self.defaults.contains_key(name.as_str()) && scope.contains_key(name);
        let messages = graph.initializer.iter().filter(|message| !is_parameter(&message.name));
        for message in messages.collect::<Vec<_>>() {
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

    /// Returns the result, after removing nodes that nothing depends on.
    pub(super) fn finish(mut self) -> Read {
        self.graph.remove_dead_nodes();
        let unknown = self.unknown.iter().map(|(op, count)| {
            let layers = if *count == 1 { "1 layer stays" } else { &format!("{count} layers stay") };
            format!("unknown ONNX operator `{op}`: {layers} opaque")
        });
        self.notes.extend(unknown);
        Read {
            graph: self.graph,
            errors: self.errors,
            notes: self.notes,
            missing: self.tensors.missing(),
            files: self.tensors.files(),
            optional_inputs: self.optional_inputs,
        }
    }

    fn parameter(&mut self, info: &onnx::ValueInfo) -> Value {
        let (element_type, shape) = match self.dims.input(info) {
            Some(found) => found,
            None => (ElementType::Dynamic, ShapeSpec::Unranked),
        };
        let mut node = Node::new(&*info.name, Parameter { element_type, shape }.into());
        let default = self.defaults.get(info.name.as_str()).map(|message| self.tensors.tensor(message));
        let (default, wrong) = default.transpose().map_or_else(|e| (None, Some(e)), |found| (found, None));
        if let Some(default) = default {
            node.details_mut().extra = Attrs::new().with("default", AttrValue::Tensor(Arc::new(default)));
        }
        let value = self.add_source(node, None);
        self.errors.extend(wrong.map(|error| self.graph.located(value.node, error)));
        if element_type == ElementType::Dynamic {
            let error = OpError::unsupported("an input that is not a tensor of a known element type");
            self.errors.push(self.graph.located(value.node, error));
        }
        value
    }

    fn constant(&mut self, message: &onnx::Tensor) -> Value {
        match self.tensors.constant(message) {
            Ok(constant) => self.source(&message.name, constant.into()),
            Err(error) => {
                // The dims are known even if the elements cannot be read.
                let dims = message.dims.iter().all(|&dim| dim >= 0).then(|| message.dims.iter().copied());
                let dims = dims.map(Iterator::collect);
                let declared = Declared { element_type: ElementType::Dynamic, dims };
                let value = self.source_of(&message.name, Op::opaque("Const", Attrs::new()), Some(declared));
                self.errors.push(self.graph.located(value.node, error));
                value
            }
        }
    }

    /// Adds an opaque layer in place of a constant that cannot be converted, and records the error.
    fn broken(&mut self, name: &str, op: &str, error: OpError) -> Value {
        let value = self.source(name, Op::opaque(op, Attrs::new()));
        self.errors.push(self.graph.located(value.node, error));
        value
    }

    /// Adds a layer without inputs. Its output tensor has the same name.
    pub(super) fn source(&mut self, name: &str, op: Op) -> Value {
        self.source_of(name, op, None)
    }

    fn source_of(&mut self, name: &str, op: Op, declared: Option<Declared>) -> Value {
        self.add_source(Node::new(name, op), declared)
    }

    /// Adds a node without inputs. Its output tensor has the same name.
    fn add_source(&mut self, mut node: Node, declared: Option<Declared>) -> Value {
        let mut out = Output::unknown();
        out.names.push(node.name.to_string());
        out.declared = declared;
        node.outs.push(out);
        let node = self.graph.add(node);
        // Ignores the error, because it is reported when the whole graph is inferred.
        let _ = self.graph.infer_node(node);
        Value { node, port: 0 }
    }

    pub(super) fn name_value(&mut self, value: Value, name: &str) {
        self.graph.add_tensor_name(value, name.to_string());
    }

    /// Adds an opaque layer that constructs a sequence, if the sequence is an output of the model.
    fn whole(&mut self, name: &str, elements: &[Value]) -> Value {
        let mut layer = Node::new(name, Op::opaque("SequenceConstruct", Attrs::new()));
        layer.outs.push(Output::unknown());
        let node = self.graph.add_wired(layer, elements);
        let _ = self.graph.infer_node(node);
        self.notes.push(format!("output `{name}` is a sequence: only its elements are converted"));
        Value { node, port: 0 }
    }
}

/// Binds a name, which must be new.
pub(super) fn define(scope: &mut Scope, name: &str, value: Value) -> Result<(), String> {
    match scope.insert(name.to_string(), Some(value)) {
        None => Ok(()),
        Some(_) => Err(format!("value `{name}` is defined twice")),
    }
}
