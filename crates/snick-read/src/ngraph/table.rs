//! nGraph ops that map to a single layer.

use snick_ir::ops::Reduce;
use snick_ir::{Attrs, Op, OpError, Value};
use snick_tensor::kernels::ReduceOp;

use super::site::{Site, as_ints};

/// Names of unary ops.
#[rustfmt::skip]
const UNARY: &[&str] = &[
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceiling", "Cos", "Cosh", "Erf", "Exp",
    "Floor", "Log", "LogicalNot", "Negative", "Not", "Relu", "Round", "Sigmoid", "Sign", "Sin", "Sinh",
    "Sqrt", "Tan", "Tanh",
];

/// Names of elementwise ops that broadcast according to attribute `auto_broadcast`.
#[rustfmt::skip]
const BROADCASTING: &[&str] = &[
    "Add", "And", "Divide", "Equal", "FloorMod", "Greater", "GreaterEq", "GreaterEqual", "Less", "LessEq",
    "LessEqual", "LogicalAnd", "LogicalOr", "LogicalXor", "Maximum", "Minimum", "Mod", "Multiply",
    "NotEqual", "Or", "Power", "Select", "SquaredDifference", "Subtract", "Xor",
];

/// The OpenVINO names of elementwise ops that have another name in nGraph.
const RENAMED: &[(&str, &str)] = &[
    ("Not", "LogicalNot"),
    ("And", "LogicalAnd"),
    ("GreaterEq", "GreaterEqual"),
    ("LessEq", "LessEqual"),
    ("Or", "LogicalOr"),
    ("Xor", "LogicalXor"),
];

/// Reductions that drop the axes in `reduction_axes`.
const REDUCTIONS: &[(&str, ReduceOp)] = &[
    ("All", ReduceOp::LogicalAnd),
    ("Any", ReduceOp::LogicalOr),
    ("Max", ReduceOp::Max),
    ("Min", ReduceOp::Min),
    ("Product", ReduceOp::Prod),
    ("Sum", ReduceOp::Sum),
];

/// An op that has the same inputs in OpenVINO. `attrs` pairs names of attributes in OpenVINO with their names
/// in nGraph; `fixed` contains attributes with constant values.
struct Same {
    op: &'static str,
    row: (&'static str, u8),
    attrs: &'static [(&'static str, &'static str)],
    fixed: &'static [(&'static str, &'static str)],
}

const fn same(op: &'static str, name: &'static str, opset: u8) -> Same {
    Same { op, row: (name, opset), attrs: &[], fixed: &[] }
}

/// Ops of version 0 whose inputs are the same as in OpenVINO.
const SAME: &[Same] = &[
    same("BatchMatMul", "MatMul", 1),
    Same {
        attrs: &[("transpose_a", "transpose_0"), ("transpose_b", "transpose_1")],
        ..same("BatchMatMulTranspose", "MatMul", 1)
    },
    Same { attrs: &[("min", "min"), ("max", "max")], ..same("Clamp", "Clamp", 1) },
    Same { attrs: &[("exclusive", "exclusive"), ("reverse", "reverse")], ..same("CumSum", "CumSum", 3) },
    Same { attrs: &[("special_zero", "zero_flag")], ..same("DynReshape", "Reshape", 1) },
    Same { attrs: &[("alpha", "alpha")], ..same("Elu", "Elu", 1) },
    Same {
        attrs: &[("levels", "levels")],
        fixed: &[("auto_broadcast", "numpy")],
        ..same("FakeQuantize", "FakeQuantize", 1)
    },
    same("GatherND", "GatherND", 5),
    same("Gelu", "Gelu", 2),
    Same { attrs: &[("bias", "bias")], ..same("GRN", "GRN", 1) },
    same("HardSigmoid", "HardSigmoid", 1),
    Same {
        attrs: &[("alpha", "alpha"), ("beta", "beta"), ("bias", "bias"), ("size", "nsize")],
        ..same("LRN", "LRN", 1)
    },
    Same {
        attrs: &[("transpose_a", "transpose_a"), ("transpose_b", "transpose_b")],
        ..same("MatMul", "MatMul", 1)
    },
    same("PRelu", "PRelu", 1),
    same("Range", "Range", 1),
    Same {
        attrs: &[("batch_axis", "batch_axis"), ("seq_axis", "sequence_axis")],
        ..same("ReverseSequence", "ReverseSequence", 1)
    },
    same("ScatterND", "ScatterNDUpdate", 4),
    Same { fixed: &[("reduction", "sum")], ..same("ScatterNDAdd", "ScatterNDUpdate", 15) },
    same("Selu", "Selu", 1),
    same("ShapeOf", "ShapeOf", 1),
    Same { attrs: &[("axis", "axis"), ("group", "group")], ..same("ShuffleChannels", "ShuffleChannels", 1) },
    same("Squeeze", "Squeeze", 1),
    same("Tile", "Tile", 1),
    same("Transpose", "Transpose", 1),
    same("Unsqueeze", "Unsqueeze", 1),
];

/// Adds the layer for a node whose op is in a table; returns `None` for all other ops.
pub(super) fn lower(site: &mut Site) -> Result<Option<Value>, OpError> {
    let (op, version) = (site.node.op.as_str(), site.node.version);
    if UNARY.contains(&op) {
        return elementwise(site, Attrs::new()).map(Some);
    }
    if BROADCASTING.contains(&op) {
        return broadcasting(site).map(Some);
    }
    if version != 0 {
        return Ok(None);
    }
    if let Some((_, function)) = REDUCTIONS.iter().find(|(name, _)| *name == op) {
        return reduction(site, *function).map(Some);
    }
    match SAME.iter().find(|row| row.op == op) {
        Some(row) => with_same_inputs(site, row).map(Some),
        None => Ok(None),
    }
}

fn with_same_inputs(site: &mut Site, same: &Same) -> Result<Value, OpError> {
    let given = same.attrs.iter().filter_map(|&(there, here)| Some((there, site.node.attrs.get(here)?)));
    let attrs = given.fold(Attrs::new(), |attrs, (name, value)| attrs.with(name, value.clone()));
    let attrs = same.fixed.iter().fold(attrs, |attrs, &(name, value)| attrs.with(name, value));
    let inputs = site.inputs.to_vec();
    site.ir_op(same.row.0, same.row.1, attrs, &inputs)
}

fn elementwise(site: &mut Site, attrs: Attrs) -> Result<Value, OpError> {
    let (name, inputs) = (site.node.op.as_str(), site.inputs.to_vec());
    let renamed = RENAMED.iter().find(|(ngraph, _)| *ngraph == name);
    site.add_op(Op::by_name(renamed.map_or(name, |(_, openvino)| openvino), attrs)?, &inputs)
}

fn broadcasting(site: &mut Site) -> Result<Value, OpError> {
    let mut attrs = auto_broadcast(site)?;
    if site.node.op == "Divide" {
        let python = site.node.attrs.bool("pythondiv")?.or(site.node.attrs.bool("m_pythondiv")?);
        attrs = attrs.with("m_pythondiv", python.unwrap_or(true));
    }
    elementwise(site, attrs)
}

/// The broadcast attributes. A file gives the type of broadcast as a name or a number, or as an object that
/// also contains the axis. By default, the first version of an op does not broadcast, and later versions
/// broadcast as numpy does.
fn auto_broadcast(site: &Site) -> Result<Attrs<'static>, OpError> {
    let numpy = Attrs::new().with("auto_broadcast", "numpy");
    let none = Attrs::new().with("auto_broadcast", "none");
    let field = site.node.object.get("auto_broadcast").or_else(|| site.node.object.get("autob"));
    let Some(json) = field.filter(|json| !json.is_null()) else {
        return Ok(if site.node.version == 0 { none } else { numpy });
    };
    let object = if json.is_object() { json.object().ok() } else { None };
    let kind = object.as_ref().map_or(Some(json), |object| object.get("type"));
    let kind = kind.map(|kind| kind.raw().trim_matches('"').to_ascii_lowercase()).unwrap_or_default();
    let axis = object.and_then(|object| object.get("axis")?.int().ok());
    match kind.as_str() {
        "0" | "none" | "explicit" => Ok(none),
        "1" | "numpy" => Ok(numpy),
        "2" | "pdpd" => Ok(Attrs::new()
            .with("auto_broadcast", "pdpd")
            .with("auto_broadcast.auto_broadcast_axis", axis.unwrap_or(-1))),
        _ => Err(OpError::mismatch("auto_broadcast", json.raw(), "none, numpy or pdpd")),
    }
}

/// Adds a reduction. In newer files, the axes are the second input, and the list in the attribute is empty.
fn reduction(site: &mut Site, function: ReduceOp) -> Result<Value, OpError> {
    let axes = site.node.attrs.sizes("reduction_axes")?.unwrap_or_default();
    let axes = match site.inputs.get(1) {
        Some(&input) if axes.is_empty() => input,
        _ => site.ints(&as_ints(&axes))?,
    };
    let data = site.input(0)?;
    site.add_op(Reduce { function, keep_dims: false }, &[data, axes])
}
