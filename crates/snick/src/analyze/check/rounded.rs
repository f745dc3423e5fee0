//! Tables of positions, frequencies and angles in 16-bit floats whose large numbers are rounded to multiples
//! of 2 or more.

use std::collections::{HashMap, HashSet};

use snick_ir::ops::source::constant::Constant;
use snick_ir::{Code, Graph, NodeId, NodeRef, Op, OpTraits};
use snick_tensor::{ElementType, Tensor};

use super::finding::Findings;
use super::layers::readers;
use super::subject::Subject;
use super::values::words;
use super::{CheckCode, Example, Family};

pub(super) static FAMILY: Family = Family { codes: &[&ROUNDED_TABLE], find, reads_values: true };

static ROUNDED_TABLE: CheckCode = CheckCode {
    code: Code::RoundedTable,
    meaning: "A table of positions or angles in f16 or bf16 contains numbers so large that adjacent \
              representable values differ by 2 or more.",
    reason: "The rounding error of such a number can be 1 or more: enough to select a different position, or \
             to change an angle by a sixth of a full turn. Compressing a model to f16 causes this. Factors \
             such as weights are not reported, because for them only the relative error matters.",
    remedy: "keep the table in f32: `save_model(model, path, compress_to_fp16=False)`, or exclude this \
             constant from compression",
    example: Example::Text(
        "  %x = Parameter-1 {element_type: f32, shape: \"1,3\"}\n  %table = Const-1 f16[1,3] <1.0, 3000.0, 30000.0>\n  \
         %f32 = Convert-1(%table) {destination_type: f32}\n  %angle = Multiply-1(%x, %f32)\n  \
         %sin = Sin-1(%angle)\n  %y = Result-1(%sin)\n",
    ),
    on_demand: false,
};

fn find(subject: &Subject, findings: &mut Findings) {
    if !subject.has_all_edges() {
        return;
    }
    for graph in subject.graphs() {
        let mut tables = graph.ids().filter_map(|id| Some((id, Rounding::of(graph.node(id))?))).peekable();
        if tables.peek().is_none() {
            continue;
        }
        let readers = readers(graph);
        for (id, rounding) in tables.filter(|&(id, _)| is_table(graph, &readers, id)) {
            let Rounding { element_type, count, largest, step } = rounding;
            let message = format!(
                "{count} numbers of this table in 16-bit floats are rounded: {element_type} has only multiples of {step} \
                 near {largest}"
            );
            findings.add(&ROUNDED_TABLE, graph.node(id), message);
        }
    }
}

/// How the numbers of a constant are rounded.
struct Rounding {
    element_type: ElementType,
    /// The number of elements so large that neighbouring 16-bit floats differ by 2 or more.
    count: usize,
    /// The largest magnitude among these elements.
    largest: f32,
    /// The distance between neighbouring floats of this magnitude.
    step: f32,
}

impl Rounding {
    /// Returns `None` unless the constant has 16-bit floats and at least [`MIN_DIFFERENT`] distinct large
    /// numbers.
    fn of(node: NodeRef) -> Option<Self> {
        let Op::Const(Constant::Here(tensor)) = node.op() else { return None };
        let element_type = tensor.element_type();
        let (numbers, bits) = numbers(tensor)?;
        let least = (bits as f32).exp2();
        // Ignores the largest number of the type, which masks use in place of infinity.
        let limit = if element_type == ElementType::F16 { 65504.0 } else { 3.3e38 };
        let is_rounded = |number: &f32| number.abs() >= least && number.abs() < limit;
        let (mut count, mut largest, mut different) = (0, 0.0f32, HashSet::new());
        for number in numbers.filter(is_rounded) {
            count += 1;
            largest = largest.max(number.abs());
            if different.len() < MIN_DIFFERENT {
                different.insert(number.to_bits());
            }
        }
        let step = (largest.log2().floor() - bits as f32 + 1.0).exp2();
        (different.len() == MIN_DIFFERENT).then_some(Self { element_type, count, largest, step })
    }
}

/// The minimum number of distinct large numbers. A table has several; a single one may be a mask value.
const MIN_DIFFERENT: usize = 2;

/// The elements of a 16-bit constant, and the number of significand bits including the leading 1.
fn numbers(tensor: &Tensor) -> Option<(Box<dyn Iterator<Item = f32> + '_>, i32)> {
    let bytes = tensor.is_contiguous().then(|| tensor.storage().bytes())?;
    match tensor.element_type() {
        ElementType::F16 => Some((Box::new(words(bytes).map(|word| of_f16(u16::from_le_bytes(word)))), 11)),
        // bf16 is the upper half of f32.
        ElementType::BF16 => {
            let number = |[low, high]: [u8; 2]| f32::from_le_bytes([0, 0, low, high]);
            Some((Box::new(words(bytes).map(number)), 8))
        }
        _ => None,
    }
}

/// The value of an f16. Returns 0 for magnitudes below 1, which are never rounded to multiples of 2.
fn of_f16(bits: u16) -> f32 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    let magnitude = match exponent {
        31 => f32::INFINITY,
        15.. => (1.0 + fraction / 1024.0) * (exponent as f32 - 15.0).exp2(),
        _ => 0.0,
    };
    if bits >> 15 == 0 { magnitude } else { -magnitude }
}

/// Maximum number of layers to visit downstream of a constant.
const MAX_LAYERS: usize = 256;

/// Whether the absolute error of a constant matters: the constant is added to another value, counts or
/// selects elements, or is an angle. If a constant is only a factor, its relative error matters instead,
/// which is small for large numbers, too.
fn is_table(graph: &Graph, readers: &HashMap<NodeId, Vec<NodeId>>, constant: NodeId) -> bool {
    let mut todo = vec![(constant, false)];
    let mut seen = HashSet::new();
    while let Some((id, is_factor)) = todo.pop() {
        for &reader in readers.get(&id).into_iter().flatten() {
            if !seen.insert((reader, is_factor)) || seen.len() > MAX_LAYERS {
                continue;
            }
            let port =
                graph.inputs(reader).iter().position(|value| value.is_some_and(|value| value.node == id));
            match Use::of(graph, reader, port.unwrap_or_default()) {
                Use::Absolute => return true,
                Use::Sum if !is_factor => return true,
                Use::Sum => todo.push((reader, true)),
                Use::HandedOn => todo.push((reader, is_factor)),
                Use::Factor => todo.push((reader, true)),
                Use::Other => {}
            }
        }
    }
    false
}

/// How a layer uses a number.
enum Use {
    /// A small absolute error of the number changes the result.
    Absolute,
    /// Adds the number to another value, or returns it from the model.
    Sum,
    /// Passes the number on, possibly after arithmetic with constants.
    HandedOn,
    /// Uses the number as a factor.
    Factor,
    Other,
}

impl Use {
    fn of(graph: &Graph, id: NodeId, port: usize) -> Self {
        let op = graph.node(id).op();
        let is_constant =
            |value: snick_ir::Value| matches!(graph.node(value.node).op(), Op::Const(_) | Op::Convert(_));
        let inputs = graph.inputs(id);
        let by_constants =
            inputs.iter().flatten().enumerate().all(|(i, value)| i == port || is_constant(*value));
        match (op.type_name(), port) {
            (
                "Sin" | "Cos" | "Tan" | "Floor" | "Ceiling" | "Round" | "Mod" | "FloorMod" | "Equal"
                | "NotEqual" | "Less" | "LessEqual" | "Greater" | "GreaterEqual",
                _,
            )
            | ("Gather" | "GatherND" | "GatherElements", 1)
            | ("GridSample", 1) => Self::Absolute,
            ("Convert", _) => {
                let is_integer = graph.node(id).outs().iter().any(|out| out.fact.element_type().is_integer());
                if is_integer { Self::Absolute } else { Self::HandedOn }
            }
            ("Multiply" | "Divide" | "Subtract", 0) if by_constants => Self::HandedOn,
            ("Add" | "Subtract" | "Range" | "Result", _) => Self::Sum,
            ("Multiply" | "Divide" | "MatMul" | "Negative", _) => Self::Factor,
            ("Concat" | "Select", _) | ("Gather" | "GatherND" | "GatherElements", 0) => Self::HandedOn,
            (_, 0) if op.has(OpTraits::MOVES_ELEMENTS) => Self::HandedOn,
            _ => Self::Other,
        }
    }
}
