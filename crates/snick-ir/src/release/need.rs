//! What a layer needs of a release of OpenVINO.

use std::fmt;

use snick_shape::SymExpr;
use snick_tensor::ElementType;

use super::{IrFeature, Release, TypeUse, feature_support, op_support, type_support};
use crate::ops::slice::strided_slice::{EntryPlan, StridedSlice};
use crate::ops::source::constant::Constant;
use crate::release::table::TABLE;
use crate::{Fact, Graph, IntOrValue, NodeId, NodeRef, Op, Value, Version};

/// A requirement of a layer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Need {
    /// The first release that fulfils it; `None` if no known release does.
    pub since: Option<Release>,
    /// What needs the release.
    pub cause: NeedCause,
}

/// A cause to need a release.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NeedCause {
    /// The operation in the declared operation set.
    Op {
        /// The operation type.
        op_type: String,
        /// The declared operation set.
        version: Version,
    },
    /// The number of inputs of the operation.
    Inputs {
        /// The operation type.
        op_type: String,
        /// The number.
        count: usize,
    },
    /// The value of an attribute, which older releases refuse or ignore.
    Attribute {
        /// The operation type.
        op_type: String,
        /// The attribute with its value, such as `mode=cubic`.
        value: String,
    },
    /// A use of an element type.
    ElementType(ElementType, TypeUse),
    /// A feature of the file.
    IrFeature(IrFeature),
}

impl fmt::Display for NeedCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Op { op_type, version: Version::Unversioned } => {
                write!(f, "{op_type} without operation set")
            }
            Self::Op { op_type, version } => write!(f, "{op_type} of {version}"),
            Self::Inputs { op_type, count } => write!(f, "{count} inputs of {op_type}"),
            Self::Attribute { op_type, value } => write!(f, "{value} of {op_type}"),
            Self::ElementType(element_type, TypeUse::Port) => write!(f, "element type {element_type}"),
            Self::ElementType(element_type, TypeUse::Constant) => {
                write!(f, "constants of type {element_type}")
            }
            Self::ElementType(element_type, TypeUse::Conversion) => {
                write!(f, "conversions to {element_type}")
            }
            Self::IrFeature(feature) => f.write_str(feature.name()),
        }
    }
}

/// The requirements of a layer: what a release must know to read the layer as it is meant. Layers of operations
/// outside the operation sets depend on libraries, so only their types count, unless a release reads the
/// operation without a library.
pub fn needs(graph: &Graph, id: NodeId) -> Vec<Need> {
    let node = graph.node(id);
    let mut needs = Vec::new();
    let mut add = |since, cause| needs.push(Need { since, cause });
    let (op_type, version) = (node.op().type_name(), node.version());
    let support = op_support(op_type, version);
    if support.is_some() || node.op().is_builtin() && version.is_known_set() {
        let cause = NeedCause::Op { op_type: op_type.into(), version: version.clone() };
        add(support.map(|support| support.reads), cause);
    }
    for out in node.outs() {
        let element_type = out.fact.element_type();
        if element_type != ElementType::Dynamic {
            add(
                type_support(element_type, TypeUse::Port),
                NeedCause::ElementType(element_type, TypeUse::Port),
            );
        }
        if matches!(node.op(), Op::Const(_)) {
            let since = type_support(element_type, TypeUse::Constant);
            add(since, NeedCause::ElementType(element_type, TypeUse::Constant));
        }
    }
    if let Some(feature) = feature(graph, node) {
        add(feature_support(feature), NeedCause::IrFeature(feature));
    }
    needs.extend(needs_of_form(node));
    needs
}

/// The requirement of an input or output of a model without elements; `None` for other layers. Inputs and outputs
/// of bodies have no such requirement.
pub fn empty_need(graph: &Graph, id: NodeId) -> Option<Need> {
    let node = graph.node(id);
    let is_model_output = |(reader, _): &(NodeId, u32)| matches!(graph.node(*reader).op(), Op::Result(_));
    let is_of_model =
        |value: Value| matches!(node.op(), Op::Parameter(_)) || graph.uses(value).iter().any(is_model_output);
    let mut values = (0..node.outs().len()).filter_map(|port| node.output(port));
    let is_empty = |value: Value| graph.fact(value).is_some_and(has_empty_fact) && is_of_model(value);
    let cause = NeedCause::IrFeature(IrFeature::Empty);
    values.any(is_empty).then_some(Need { since: feature_support(IrFeature::Empty), cause })
}

/// Whether a value is known to have no elements.
pub fn has_empty_fact(fact: &Fact) -> bool {
    fact.shape().dims().is_some_and(|dims| dims.iter().any(|dim| is_size(dim, 0)))
}

/// The feature that the operation of a layer uses.
fn feature(graph: &Graph, node: NodeRef) -> Option<IrFeature> {
    match node.op() {
        Op::StridedSlice(op) => strided_slice_feature(graph, node, op),
        Op::Split(_) | Op::VariadicSplit(_) => splits_vector(graph, node).then_some(IrFeature::SplitVector),
        Op::FakeConvert(_) => Some(IrFeature::FakeConvertRange),
        Op::BitwiseNot(_) => {
            let is_boolean = node.outs().first()?.fact.element_type() == ElementType::Boolean;
            is_boolean.then_some(IrFeature::BooleanNot)
        }
        Op::ScaledDotProductAttention(_) => mask_feature(graph, node),
        _ => variable_feature(graph, node),
    }
}

fn is_size(dim: &SymExpr, size: i64) -> bool {
    dim.as_const() == Some(size)
}

/// The feature that the masks of a StridedSlice need; the newest one if there are several.
fn strided_slice_feature(graph: &Graph, node: NodeRef, op: &StridedSlice) -> Option<IrFeature> {
    let inputs: Option<Vec<&Fact>> = node.inputs().map(|input| graph.fact(input)).collect();
    let inputs = inputs?;
    let entries = op.plan(&inputs).ok().flatten()?.0;
    let is_bounded = |entry: &EntryPlan| matches!(entry, EntryPlan::Range(range) if range.start.is_some() || range.stop.is_some());
    let mut after_new_axis = entries.iter().skip_while(|entry| **entry != EntryPlan::NewAxis);
    let is_dynamic = inputs[0].shape().as_static().is_none();
    if is_dynamic && after_new_axis.any(is_bounded) {
        return Some(IrFeature::NewAxes);
    }
    if entries.contains(&EntryPlan::Whole(0)) {
        return Some(IrFeature::EmptyEllipsis);
    }
    (is_dynamic && entries.iter().any(has_backward_mask)).then_some(IrFeature::BackwardMask)
}

/// Whether a layer of dynamic shape reads a part of a vector after the first one.
fn splits_vector(graph: &Graph, node: NodeRef) -> bool {
    let data = node.input(0).and_then(|input| graph.fact(input));
    let is_static = |fact: &Fact| fact.shape().as_static().is_some();
    let is_dynamic = |&(reader, _): &(NodeId, u32)| {
        let reader = graph.node(reader);
        !matches!(reader.op(), Op::Result(_)) && !reader.outputs().all(is_static)
    };
    let has_size = |part: &Value| graph.fact(*part).is_some_and(is_static);
    let mut parts = (1..node.outs().len()).filter_map(|port| node.output(port)).filter(has_size);
    data.and_then(|data| data.shape().rank()) == Some(1)
        && parts.any(|part| graph.uses(part).iter().any(is_dynamic))
}

/// Whether a bound of a range with a negative step is masked.
fn has_backward_mask(entry: &EntryPlan) -> bool {
    let EntryPlan::Range(range) = entry else { return false };
    let is_backward = matches!(range.step, IntOrValue::Int(step) if step < 0);
    is_backward && !range.single && (range.start.is_none() || range.stop.is_none())
}

/// The feature that the mask of a ScaledDotProductAttention needs.
fn mask_feature(graph: &Graph, node: NodeRef) -> Option<IrFeature> {
    let fact = |port| node.input(port).and_then(|input| graph.fact(input));
    let mask = fact(3)?;
    if mask.element_type() == ElementType::Boolean {
        return Some(IrFeature::BooleanMask);
    }
    let [queries, keys] = [fact(0)?, fact(1)?].map(|fact| fact.shape().dims()?.iter().nth_back(1));
    let [.., row, column] = mask.shape().dims()? else { return None };
    let is_broadcast = |size: &SymExpr, whole: Option<&SymExpr>| {
        is_size(size, 1) && !whole.is_some_and(|whole| is_size(whole, 1))
    };
    (is_broadcast(row, queries) || is_broadcast(column, keys)).then_some(IrFeature::BroadcastMask)
}

/// The feature that a ReadValue needs of a release that is newer than variables.
fn variable_feature(graph: &Graph, node: NodeRef) -> Option<IrFeature> {
    if !matches!(node.op(), Op::ReadValue(_)) {
        return None;
    }
    match node.input(0) {
        None => Some(IrFeature::NoInitialValue),
        Some(value) if !is_zero(graph, value) => Some(IrFeature::InitialValues),
        Some(_) => {
            let is_static = node.outputs().all(|fact| fact.shape().as_static().is_some());
            (!is_static).then_some(IrFeature::DynamicVariables)
        }
    }
}

/// Whether a value is known to have no elements other than zeros.
fn is_zero(graph: &Graph, value: Value) -> bool {
    let producer = graph.node(value.node);
    graph.fact(value).is_some_and(has_empty_fact)
        || match producer.op() {
            Op::Const(Constant::Here(tensor)) => {
                tensor.to_f64_vec().is_ok_and(|elements| elements.iter().all(|element| *element == 0.0))
            }
            // Their other inputs are shapes and axes.
            Op::Broadcast(_) | Op::Convert(_) | Op::Reshape(_) | Op::Squeeze(_) | Op::Unsqueeze(_) => {
                producer.input(0).is_some_and(|input| is_zero(graph, input))
            }
            _ => false,
        }
}

/// The requirements of the inputs and attributes of a layer.
fn needs_of_form(node: NodeRef) -> Vec<Need> {
    let mut needs = Vec::new();
    let op_type = node.op().type_name();
    let name = crate::ops::find(node.op().dialect(), op_type).map(|entry| entry.name);
    let Some(since) = name.and_then(|name| name.defining_opset(node.version())) else { return needs };
    let versioned = format!("{op_type}-opset{since}");
    let count = node.inputs().len();
    if let Some(&since) = TABLE.inputs.get(&(versioned.as_str(), count)) {
        needs.push(Need { since, cause: NeedCause::Inputs { op_type: op_type.into(), count } });
    }
    for &(_, value, since) in TABLE.attributes.iter().filter(|(op, ..)| *op == versioned) {
        let attrs = node.op().attrs();
        let is_given =
            |(name, given): (&str, &str)| attrs.get(name).is_some_and(|attr| attr.to_string() == given);
        if value.split_once('=').is_some_and(is_given) {
            let cause = NeedCause::Attribute { op_type: op_type.into(), value: value.into() };
            needs.push(Need { since, cause });
        }
    }
    needs
}
