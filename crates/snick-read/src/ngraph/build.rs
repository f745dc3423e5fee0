//! Making the graph: names, wires, and a site on which a node becomes layers.

use std::collections::HashMap;
use std::sync::Arc;

use smallvec::SmallVec;
use snick_ir::ops::source::constant::Constant;
use snick_ir::ops::source::parameter::Parameter;
use snick_ir::ops::source::result::GraphResult;
use snick_ir::{Attrs, Declared, Graph, Loc, Located, NodeId, Op, OpError, Output, RawNode, Value, Version};
use snick_shape::ShapeSpec;
use snick_tensor::{ElementType, Tensor};

use super::function::Functions;
use super::node::{Node, Source};
use super::{constant, ops, value_type};
use crate::json::Json;
use crate::{Read, ReadError};

/// Outputs that one opaque node may have.
const MAX_OUTPUTS: usize = 1 << 16;

/// The graph so far.
pub(super) struct FunctionBuilder<'f> {
    graph: Graph,
    functions: &'f Functions,
    errors: Vec<Located>,
    named: HashMap<String, NamedValue>,
}

/// What a name stands for.
enum NamedValue {
    Layer(NodeId),
    /// One output of a node, taken out under a name of its own.
    Alias(Value),
    /// The outputs of a node that several layers say, or the members of a tuple.
    Several(SmallVec<[Value; 4]>),
}

impl<'f> FunctionBuilder<'f> {
    pub(super) fn new(name: String, source: &str, nodes: usize, functions: &'f Functions) -> Self {
        let mut graph = Graph::new(name);
        graph.set_source(source);
        graph.reserve(nodes, 2 * nodes);
        Self { graph, functions, errors: Vec::new(), named: HashMap::with_capacity(nodes) }
    }

    pub(super) fn finish(self) -> Read {
        Read { graph: self.graph, errors: self.errors, notes: Vec::new() }
    }

    /// Whether a node of this name was added.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.named.contains_key(name)
    }

    /// Adds any node but a Result. What cannot be made an op of stays opaque, with the cause noted.
    pub(super) fn node(&mut self, node: &Node) -> Result<(), ReadError> {
        let inputs = node.inputs.iter().map(|source| self.value(source, None)).collect::<Result<_, _>>()?;
        if node.op == "XLATuple" {
            self.named.insert(node.name.clone(), NamedValue::Several(inputs));
            return Ok(());
        }
        let declared = value_type::declared(&node.object)?;
        let loc = node.object.json().loc();
        let mut site = Site { builder: self, node, inputs, further: SmallVec::new(), loc };
        let lowered = match node.op.as_str() {
            "Parameter" => site.parameter().map(Some).map(Ok)?,
            "Constant" => constant::tensor(node)?.and_then(|tensor| site.tensor(tensor)).map(Some),
            "GetOutputElement" => return self.alias(node, declared),
            _ => ops::lower(&mut site),
        };
        let further = std::mem::take(&mut site.further);
        let (value, further, wrong) = match lowered {
            Ok(Some(value)) => (value, further, None),
            Ok(None) => (site.opaque(declared.as_ref()), SmallVec::new(), None),
            Err(error) => (site.opaque(declared.as_ref()), SmallVec::new(), Some(error)),
        };
        let layer = self.graph.node_mut(value.node);
        layer.name = node.name.as_str().into();
        if let (Some(declared), Some(out)) = (declared, layer.outs.get_mut(value.port as usize)) {
            out.declared = Some(declared);
        }
        let outputs = layer.outs.len();
        // Outputs of one layer are in its order, those of several are listed.
        let plain = (0..outputs).map(|port| Value { node: value.node, port: port as u32 });
        let outputs: SmallVec<[Value; 4]> = match further.is_empty() && value.port == 0 {
            true => plain.collect(),
            false => std::iter::once(value).chain(further.iter().copied()).collect(),
        };
        for (port, output) in outputs.iter().enumerate() {
            let names = node.tensor_names(port)?;
            if let Some(out) = self.graph.node_mut(output.node).outs.get_mut(output.port as usize) {
                out.names = (!names.is_empty()).then(|| names.into());
            }
        }
        // What does not infer is told by inference, which comes after.
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

    /// GetOutputElement: a name for an output of another node.
    fn alias(&mut self, node: &Node, declared: Option<Declared>) -> Result<(), ReadError> {
        let [source] = node.inputs.as_slice() else {
            return Err(node.object.json().error(format!("{} inputs, expected 1", node.inputs.len())));
        };
        let index = node.object.get("n").map(Json::int).transpose()?;
        let value = self.value(source, index)?;
        let out = self.graph.node_mut(value.node).outs.get_mut(value.port as usize);
        if let (Some(out), Some(declared)) = (out, declared) {
            out.declared.get_or_insert(declared);
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
        self.add_result(&node.name, value, node.object.json().loc());
        Ok(())
    }

    /// Makes a Result of a node that the function returns as it is.
    /// Of a tuple, of each member.
    pub(super) fn return_value(&mut self, name: &str, place: Json) -> Result<(), ReadError> {
        if let Some(NamedValue::Several(values)) = self.named.get(name)
            && values.len() != 1
        {
            for (index, value) in values.clone().into_iter().enumerate() {
                self.add_result(&format!("{name}/Result.{index}"), value, place.loc());
            }
            return Ok(());
        }
        let source = Source { name: name.to_string(), index: None, json: place };
        let value = self.value(&source, None)?;
        self.add_result(&format!("{name}/Result"), value, place.loc());
        Ok(())
    }

    fn add_result(&mut self, name: &str, value: Value, loc: Loc) {
        let mut layer = snick_ir::Node::new(name, Op::from(GraphResult));
        layer.loc = loc;
        layer.outs.push(Output::unknown());
        self.graph.add_wired(layer, &[value]);
    }

    /// The value that an input names; `index` where it does not say which output.
    fn value(&mut self, source: &Source, index: Option<i64>) -> Result<Value, ReadError> {
        let Some(named) = self.named.get(&source.name) else {
            return Err(source.json.error(format!("there is no node `{}` before this one", source.name)));
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
        let layer = self.graph.node_mut(node);
        if port >= layer.outs.len() {
            if !layer.op.is_opaque() {
                return Err(wrong());
            }
            // Of an unknown op, only who reads it tells how many outputs it has.
            layer.outs.resize_with(port + 1, Output::unknown);
        }
        Ok(Value { node, port: port as u32 })
    }
}

/// Where one node becomes one layer or several.
pub(super) struct Site<'b, 'f, 'd> {
    builder: &'b mut FunctionBuilder<'f>,
    /// The node.
    pub(super) node: &'b Node<'d>,
    /// The values at its inputs.
    pub(super) inputs: SmallVec<[Value; 4]>,
    /// The values at its outputs behind the first, where several layers say them.
    pub(super) further: SmallVec<[Value; 4]>,
    loc: Loc,
}

impl Site<'_, '_, '_> {
    /// The other functions of the file.
    pub(super) fn functions(&self) -> &Functions {
        self.builder.functions
    }

    /// The value at input `port`.
    pub(super) fn input(&self, port: usize) -> Result<Value, OpError> {
        self.inputs.get(port).copied().ok_or(OpError::NotConnected { port })
    }

    /// Adds a layer of an op of OpenVINO.
    pub(super) fn add(
        &mut self,
        op_type: &str,
        opset: u8,
        attrs: Attrs,
        inputs: &[Value],
    ) -> Result<Value, OpError> {
        self.add_many(op_type, opset, attrs, inputs, 1)
    }

    /// Adds a layer of an op of OpenVINO with several outputs, and gives the first.
    pub(super) fn add_many(
        &mut self,
        op_type: &str,
        opset: u8,
        attrs: Attrs,
        inputs: &[Value],
        outputs: usize,
    ) -> Result<Value, OpError> {
        let version = Version::Opset(opset);
        let op = Op::parse(&mut RawNode::openvino(op_type, version.clone(), attrs, outputs))?;
        if op.is_opaque() {
            return Err(OpError::unsupported(format!("operation type `{op_type}`")));
        }
        let mut layer = self.layer(op);
        layer.version = version;
        Ok(self.wire(layer, inputs))
    }

    /// Adds a layer.
    pub(super) fn add_op(&mut self, op: impl Into<Op>, inputs: &[Value]) -> Value {
        let layer = self.layer(op.into());
        self.wire(layer, inputs)
    }

    /// Adds a vector of i64.
    pub(super) fn ints(&mut self, values: &[i64]) -> Result<Value, OpError> {
        self.tensor(Tensor::from_vec(&[values.len()], values.to_vec())?)
    }

    /// Adds a scalar of i64.
    pub(super) fn int(&mut self, value: i64) -> Result<Value, OpError> {
        self.tensor(Tensor::scalar(value))
    }

    /// Adds a constant.
    pub(super) fn tensor(&mut self, tensor: Tensor) -> Result<Value, OpError> {
        Ok(self.add_op(Constant::new(Arc::new(tensor)), &[]))
    }

    /// The sizes of a value, if all are known.
    pub(super) fn sizes(&self, value: Value) -> Option<Vec<i64>> {
        let dims = self.builder.graph.fact(value)?.shape.as_static()?;
        dims.iter().map(|&dim| i64::try_from(dim).ok()).collect()
    }

    /// The sizes of a value, `None` for those that are not known; `None` where the rank is not.
    pub(super) fn dims(&self, value: Value) -> Option<Vec<Option<i64>>> {
        let dims = self.builder.graph.fact(value)?.shape.dims()?;
        Some(dims.iter().map(|dim| dim.as_const()).collect())
    }

    /// The integers that a value is known to hold.
    pub(super) fn known(&self, value: Value) -> Option<SmallVec<[i64; 4]>> {
        self.builder.graph.fact(value)?.ints()
    }

    /// What is inferred of a value's element type.
    pub(super) fn element_type(&self, value: Value) -> ElementType {
        self.builder.graph.fact(value).map_or(ElementType::Dynamic, |fact| fact.element_type)
    }

    fn parameter(&mut self) -> Result<Value, ReadError> {
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

    /// A layer of which only the type and the shape that the file gives are known.
    fn opaque(&mut self, declared: Option<&Declared>) -> Value {
        let mut layer = self.layer(Op::opaque(&self.node.op, self.node.attrs.clone()));
        let outputs = self.node.outputs.len().clamp(1, MAX_OUTPUTS);
        layer.outs.resize_with(outputs, Output::unknown);
        if let (declared @ Some(_), [out]) =
            (declared.cloned().or_else(|| self.told()), layer.outs.as_mut_slice())
        {
            out.declared = declared;
        }
        let inputs = self.inputs.clone();
        self.wire(layer, &inputs)
    }

    /// What the attributes of gradients say of their output.
    fn told(&self) -> Option<Declared> {
        let names = ["data_batch_shape", "filters_shape", "forward_arg_shape", "output_shape"];
        let sizes = names.into_iter().find_map(|name| self.node.attrs.sizes(name).ok().flatten())?;
        let dims = sizes.iter().map(|&size| i64::try_from(size).ok()).collect::<Option<_>>()?;
        Some(Declared { element_type: self.element_type(*self.inputs.first()?), dims: Some(dims) })
    }

    fn layer(&self, op: Op) -> snick_ir::Node {
        let mut layer = snick_ir::Node::new(format!("{}/{}", self.node.name, op.type_name()), op);
        layer.loc = self.loc;
        layer
    }

    fn wire(&mut self, layer: snick_ir::Node, inputs: &[Value]) -> Value {
        let node = self.builder.graph.add_wired(layer, inputs);
        // What does not infer is told by inference, which comes after.
        let _ = self.builder.graph.infer_node(node);
        // Readers of it need a port to name, even where nothing is known of it.
        let outs = &mut self.builder.graph.node_mut(node).outs;
        if outs.is_empty() {
            outs.push(Output::unknown());
        }
        Value { node, port: 0 }
    }
}
