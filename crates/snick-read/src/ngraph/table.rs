//! The ops of nGraph that a row of a table says: as they are, with names of their own, or of a family.

use snick_ir::{Attrs, OpError, Value};

use super::build::Site;
use super::ops::as_ints;

/// A node of nGraph that one layer says, and its name in OpenVINO with the operation set.
struct OpEntry(&'static str, &'static str, u8);

/// One element to one element.
const UNARY: &[OpEntry] = &[
    OpEntry("Abs", "Abs", 1),
    OpEntry("Acos", "Acos", 1),
    OpEntry("Acosh", "Acosh", 4),
    OpEntry("Asin", "Asin", 1),
    OpEntry("Asinh", "Asinh", 4),
    OpEntry("Atan", "Atan", 1),
    OpEntry("Atanh", "Atanh", 4),
    OpEntry("Ceiling", "Ceiling", 1),
    OpEntry("Cos", "Cos", 1),
    OpEntry("Cosh", "Cosh", 1),
    OpEntry("Erf", "Erf", 1),
    OpEntry("Exp", "Exp", 1),
    OpEntry("Floor", "Floor", 1),
    OpEntry("Log", "Log", 1),
    OpEntry("LogicalNot", "LogicalNot", 1),
    OpEntry("Negative", "Negative", 1),
    OpEntry("Not", "LogicalNot", 1),
    OpEntry("Relu", "Relu", 1),
    OpEntry("Round", "Round", 5),
    OpEntry("Sigmoid", "Sigmoid", 1),
    OpEntry("Sign", "Sign", 1),
    OpEntry("Sin", "Sin", 1),
    OpEntry("Sinh", "Sinh", 1),
    OpEntry("Sqrt", "Sqrt", 1),
    OpEntry("Tan", "Tan", 1),
    OpEntry("Tanh", "Tanh", 1),
];

/// Elements of several tensors to one; all broadcast by `auto_broadcast`.
const BROADCASTING: &[OpEntry] = &[
    OpEntry("Add", "Add", 1),
    OpEntry("And", "LogicalAnd", 1),
    OpEntry("Divide", "Divide", 1),
    OpEntry("Equal", "Equal", 1),
    OpEntry("FloorMod", "FloorMod", 1),
    OpEntry("Greater", "Greater", 1),
    OpEntry("GreaterEq", "GreaterEqual", 1),
    OpEntry("GreaterEqual", "GreaterEqual", 1),
    OpEntry("Less", "Less", 1),
    OpEntry("LessEq", "LessEqual", 1),
    OpEntry("LessEqual", "LessEqual", 1),
    OpEntry("LogicalAnd", "LogicalAnd", 1),
    OpEntry("LogicalOr", "LogicalOr", 1),
    OpEntry("LogicalXor", "LogicalXor", 1),
    OpEntry("Maximum", "Maximum", 1),
    OpEntry("Minimum", "Minimum", 1),
    OpEntry("Mod", "Mod", 1),
    OpEntry("Multiply", "Multiply", 1),
    OpEntry("NotEqual", "NotEqual", 1),
    OpEntry("Or", "LogicalOr", 1),
    OpEntry("Power", "Power", 1),
    OpEntry("Select", "Select", 1),
    OpEntry("SquaredDifference", "SquaredDifference", 1),
    OpEntry("Subtract", "Subtract", 1),
    OpEntry("Xor", "LogicalXor", 1),
];

/// Many elements to one; `reduction_axes` fall away.
const REDUCTIONS: &[OpEntry] = &[
    OpEntry("All", "ReduceLogicalAnd", 1),
    OpEntry("Any", "ReduceLogicalOr", 1),
    OpEntry("Max", "ReduceMax", 1),
    OpEntry("Min", "ReduceMin", 1),
    OpEntry("Product", "ReduceProd", 1),
    OpEntry("Sum", "ReduceSum", 1),
];

/// A node that one layer with the same inputs says, the names of its attributes there and here, and what is always
/// so.
struct Same {
    op: &'static str,
    row: (&'static str, u8),
    attrs: &'static [(&'static str, &'static str)],
    fixed: &'static [(&'static str, &'static str)],
}

const fn same(op: &'static str, name: &'static str, opset: u8) -> Same {
    Same { op, row: (name, opset), attrs: &[], fixed: &[] }
}

/// First versions of ops that have kept their inputs.
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

/// The layer of a node whose op is in a table; `None` for others.
pub(super) fn lower(site: &mut Site) -> Result<Option<Value>, OpError> {
    let (op, version) = (site.node.op.as_str(), site.node.version);
    let find = |rows: &'static [OpEntry]| rows.iter().find(|row| row.0 == op);
    if let Some(row) = find(UNARY) {
        return unary(site, row).map(Some);
    }
    if let Some(row) = find(BROADCASTING) {
        return broadcasting(site, row).map(Some);
    }
    if version != 0 {
        return Ok(None);
    }
    if let Some(row) = find(REDUCTIONS) {
        return reduction(site, row).map(Some);
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
    site.add(same.row.0, same.row.1, attrs, &inputs)
}

fn unary(site: &mut Site, row: &OpEntry) -> Result<Value, OpError> {
    let inputs = site.inputs.to_vec();
    site.add(row.1, row.2, Attrs::new(), &inputs)
}

fn broadcasting(site: &mut Site, row: &OpEntry) -> Result<Value, OpError> {
    let mut attrs = auto_broadcast(site)?;
    if row.0 == "Divide" {
        let python = site.node.attrs.bool("pythondiv")?.or(site.node.attrs.bool("m_pythondiv")?);
        attrs = attrs.with("m_pythondiv", python.unwrap_or(true));
    }
    let inputs = site.inputs.to_vec();
    site.add(row.1, row.2, attrs, &inputs)
}

/// What there is of broadcasting: a name, or an object with a number and an axis. Where the file says nothing, none in
/// the first version of an op, numpy's in later ones.
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
        "2" | "pdpd" => Ok(Attrs::new().with("auto_broadcast", "pdpd").with("axis", axis.unwrap_or(-1))),
        _ => Err(OpError::mismatch("auto_broadcast", json.raw(), "none, numpy or pdpd")),
    }
}

/// Late files have the axes as a second input, and an empty list of them.
fn reduction(site: &mut Site, row: &OpEntry) -> Result<Value, OpError> {
    let axes = site.node.attrs.sizes("reduction_axes")?.unwrap_or_default();
    let axes = match site.inputs.get(1) {
        Some(&input) if axes.is_empty() => input,
        _ => site.ints(&as_ints(&axes))?,
    };
    let data = site.input(0)?;
    site.add(row.1, row.2, Attrs::new().with("keep_dims", false), &[data, axes])
}
