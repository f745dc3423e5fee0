//! The properties of a layer without its surroundings, as data and as a hash. Equal hashes only propose
//! matches; matched layers are compared afterwards.

use std::hash::{DefaultHasher, Hash, Hasher};

use snick_ir::ops::source::constant::Constant;
use snick_ir::{AttrValue, Dialect, NodeRef, Op, ops};
use snick_shape::{DimSpec, ShapeSpec};

/// The hash of a value.
pub(super) fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Identifies the definition of a layer's op. If several operation sets share a definition, the result is the
/// same for all of them.
pub(super) fn definition(node: NodeRef) -> String {
    let since = match node.op() {
        Op::Custom(_) | Op::Opaque(_) => None,
        op => {
            let entry = ops::find(op.dialect(), op.type_name());
            entry.and_then(|entry| entry.name.defining_opset(node.version()))
        }
    };
    match (since, node.op().dialect()) {
        (_, Dialect::Snick) => String::new(),
        (Some(since), _) => format!("opset{since}"),
        (None, _) => node.version().to_string(),
    }
}

/// The attributes of a layer by name, including attributes that its op does not declare.
pub(super) fn attributes(node: NodeRef) -> Vec<(String, AttrValue<'static>)> {
    let own = match node.op() {
        // The contents of these ops are compared separately.
        Op::Const(_) | Op::Parameter(_) | Op::SubGraph(_) => None,
        op => Some(op.attrs()),
    };
    let extra = node.details().map(|details| &details.extra);
    let all = own.iter().chain(extra).flat_map(|attrs| attrs.iter());
    let mut all: Vec<_> = all.map(|(name, value)| (name.to_string(), value.clone())).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// Hashes a layer without its surroundings: its op and definition, its attributes, the elements of a
/// constant, the shape of an input, and the hashes of its bodies. If `has_weights` is false, the bytes of
/// constants are ignored.
pub(super) fn local(node: NodeRef, bodies: &[u64], has_weights: bool) -> u64 {
    let mut hasher = DefaultHasher::new();
    node.op().type_name().hash(&mut hasher);
    definition(node).hash(&mut hasher);
    match node.op() {
        Op::Const(constant) => hash_constant(constant, has_weights, &mut hasher),
        Op::Parameter(parameter) => {
            parameter.element_type.hash(&mut hasher);
            hash_shape(&parameter.shape, &mut hasher);
        }
        _ => {}
    }
    for (name, value) in attributes(node) {
        name.hash(&mut hasher);
        hash_attribute(&value, &mut hasher);
    }
    bodies.hash(&mut hasher);
    hasher.finish()
}

fn hash_constant(constant: &Constant, has_weights: bool, hasher: &mut DefaultHasher) {
    constant.element_type().hash(hasher);
    constant.dims().hash(hasher);
    if let (Constant::Here(tensor), true) = (constant, has_weights) {
        tensor.to_bytes().hash(hasher);
    }
}

/// Hashes the interval of each dim. Symbols that relate dims to each other are compared separately.
fn hash_shape(shape: &ShapeSpec, hasher: &mut DefaultHasher) {
    match intervals(shape) {
        None => hasher.write_u8(0),
        Some(dims) => dims.hash(hasher),
    }
}

/// The interval of each dim as text; `None` for an unknown rank.
pub(super) fn intervals(shape: &ShapeSpec) -> Option<Vec<String>> {
    let ShapeSpec::Dims(dims) = shape else { return None };
    let text = |dim: &DimSpec| match dim {
        DimSpec::Interval(interval) | DimSpec::Symbol { interval, .. } => interval.to_string(),
        _ => "?".to_string(),
    };
    Some(dims.iter().map(text).collect())
}

fn hash_attribute(value: &AttrValue, hasher: &mut DefaultHasher) {
    match value {
        AttrValue::Text(text) => text.trim().hash(hasher),
        AttrValue::Float(v) => (*v as f32).to_bits().hash(hasher),
        AttrValue::Floats(values) => values.iter().for_each(|v| (*v as f32).to_bits().hash(hasher)),
        AttrValue::Tensor(tensor) => tensor.to_bytes().hash(hasher),
        other => other.to_string().hash(hasher),
    }
}
