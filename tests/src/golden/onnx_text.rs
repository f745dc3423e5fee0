//! Prints an ONNX model similarly to ONNX's own text format: one line per input, constant, node and output.

use std::fmt::Write as _;

use snick_onnx::{Attribute, DimValue, Graph, Model, Node, Tensor, ValueInfo, from_number};
use snick_tensor::{ElementType, Storage};

/// Maximum number of elements of a constant to show. A larger constant is shown as a digest of its bytes.
const SHOWN: usize = 16;

/// The text of a model.
pub fn text(model: &Model) -> String {
    let sets = model.opset_import.iter();
    let sets: Vec<String> =
        sets.map(|set| format!("\"{}\": {}", set.domain, set.version.unwrap_or_default())).collect();
    let version = model.ir_version.unwrap_or_default();
    let mut out = format!("<ir_version: {version}, opset_import: [{}]>\n", sets.join(", "));
    graph(&mut out, model.graph.as_ref().unwrap(), 0);
    out + "\n"
}

fn graph(out: &mut String, graph: &Graph, depth: usize) {
    let values = |values: &[ValueInfo]| values.iter().map(value).collect::<Vec<_>>().join(", ");
    let pad = "  ".repeat(depth);
    writeln!(out, "{} ({}) => ({}) {{", graph.name, values(&graph.input), values(&graph.output)).unwrap();
    for constant in &graph.initializer {
        writeln!(out, "{pad}  {} = {}", constant.name, tensor(constant)).unwrap();
    }
    for node in &graph.node {
        write!(out, "{pad}  {} = {}{}", node.output.join(", "), node.op_type, attributes(node, depth + 1))
            .unwrap();
        writeln!(out, "({})", node.input.join(", ")).unwrap();
    }
    write!(out, "{pad}}}").unwrap();
}

fn value(info: &ValueInfo) -> String {
    let Some(tensor) = info.ty.as_ref().and_then(|ty| ty.tensor.as_ref()) else { return info.name.clone() };
    let dims = tensor.shape.as_ref().map(|shape| {
        let dim = |dim: &snick_onnx::Dim| match &dim.value {
            Some(DimValue::Value(size)) => size.to_string(),
            Some(DimValue::Param(name)) => name.clone(),
            None => "?".into(),
        };
        format!("[{}]", shape.dim.iter().map(dim).collect::<Vec<_>>().join(","))
    });
    format!("{}{} {}", element_type(tensor.elem_type), dims.unwrap_or_default(), info.name)
}

fn element_type(number: i32) -> &'static str {
    from_number(number).unwrap().name()
}

fn tensor(tensor: &Tensor) -> String {
    let et = from_number(tensor.data_type.unwrap()).unwrap();
    let dims: Vec<usize> = tensor.dims.iter().map(|&size| size as usize).collect();
    let shown = match &tensor.raw_data {
        None => {
            format!("{:?}", tensor.string_data.iter().map(|s| String::from_utf8_lossy(s)).collect::<Vec<_>>())
        }
        Some(bytes) if dims.iter().product::<usize>() <= SHOWN => {
            let storage = Storage::heap(bytes.to_vec());
            let values = snick_tensor::Tensor::new(et, &dims, storage).unwrap();
            match et.is_float() {
                true if et == ElementType::F64 => format!("{:?}", values.to_f64_vec().unwrap()),
                true => format!("{:?}", values.to_f32_vec().unwrap()),
                false => format!("{:?}", values.to_i64_vec().unwrap()),
            }
        }
        Some(bytes) => format!("#{:016x}", digest(bytes)),
    };
    let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
    format!("{et}[{}] {shown}", dims.join(","))
}

/// FNV-1a.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn attributes(node: &Node, depth: usize) -> String {
    let shown: Vec<String> = node.attribute.iter().map(|attr| attribute(attr, depth)).collect();
    if shown.is_empty() { String::new() } else { format!(" <{}> ", shown.join(", ")) }
}

fn attribute(attr: &Attribute, depth: usize) -> String {
    use snick_onnx::kind::*;
    let text = |bytes: &[u8]| format!("{:?}", String::from_utf8_lossy(bytes));
    let value = match attr.kind.unwrap_or_default() {
        FLOAT => format!("{:?}", attr.f.unwrap_or_default()),
        INT => attr.i.unwrap_or_default().to_string(),
        STRING => text(attr.s.as_deref().unwrap_or_default()),
        TENSOR => tensor(attr.t.as_ref().unwrap()),
        FLOATS => format!("{:?}", attr.floats),
        INTS => format!("{:?}", attr.ints),
        STRINGS => format!("[{}]", attr.strings.iter().map(|s| text(s)).collect::<Vec<_>>().join(", ")),
        GRAPH => {
            let mut out = String::new();
            graph(&mut out, attr.g.as_ref().unwrap(), depth);
            out
        }
        other => panic!("an attribute of kind {other}"),
    };
    format!("{}: {value}", attr.name)
}
