//! Integers that do not fit in 32 bits. OpenVINO's CPU plug-in computes integers in i32 and clamps them.

use std::collections::{HashMap, HashSet};

use snick_ir::{Code, Graph, NodeId, Op, OpTraits, Value};
use snick_tensor::ElementType;

use super::finding::Findings;
use super::layers::described;
use super::subject::Subject;
use super::values::words;
use super::{CheckCode, Example, Family};

pub(super) static FAMILY: Family = Family { codes: &[&NARROWED_INTEGERS], find, reads_values: true };

static NARROWED_INTEGERS: CheckCode = CheckCode {
    code: Code::NarrowedIntegers,
    meaning: "A layer computes with a 64-bit or unsigned integer constant that i32 cannot represent.",
    reason: "OpenVINO's CPU plug-in computes in i32 and clamps such numbers, so results differ without an \
             error. Bounds of slices are not reported, nor is the largest number of a type, which marks the \
             end of an axis.",
    remedy: "keep the numbers within -2147483648..2147483647",
    example: Example::Text(
        "  %x = Parameter-1 {element_type: i64, shape: \"2\"}\n  %c = Const-1 i64[2] <68719476736, 1>\n  \
         %sum = Add-1(%x, %c)\n  %y = Result-1(%sum)\n",
    ),
    on_demand: false,
};

fn find(subject: &Subject, findings: &mut Findings) {
    if !subject.has_all_edges() {
        return;
    }
    for graph in subject.graphs() {
        let Ok(order) = graph.order() else { continue };
        let integers = Integers::of(graph, &order);
        let mut seen = HashSet::new();
        for id in order.into_iter().filter(|id| !integers.constant.contains(id)) {
            for (port, value) in graph.inputs(id).into_iter().enumerate() {
                let Some(value) = value.filter(|value| integers.constant.contains(&value.node)) else {
                    continue;
                };
                let Some(number) = beyond_i32(graph, value) else { continue };
                if integers.matters(id, port, Some(number)) && seen.insert(value.node) {
                    let message = format!(
                        "{} computes with {number}, which the CPU plug-in of OpenVINO takes for {}: it computes in i32",
                        described(graph.node(id)),
                        number.clamp(i32::MIN.into(), i32::MAX.into())
                    );
                    findings.add(&NARROWED_INTEGERS, graph.node(value.node), message);
                }
            }
        }
    }
}

/// The first element of a constant that does not fit in i32. Ignores the smallest and the largest number of a
/// type, which stand for the end of an axis in slices.
fn beyond_i32(graph: &Graph, value: Value) -> Option<i128> {
    let fact = graph.fact(value)?;
    let element_type = fact.element_type();
    if !matches!(element_type, ElementType::I64 | ElementType::U64 | ElementType::U32) {
        return None;
    }
    let numbers: Vec<i128> = match fact.as_tensor() {
        Some(tensor) if element_type == ElementType::U64 && tensor.is_contiguous() => {
            words(tensor.storage().bytes()).map(|word| u64::from_le_bytes(word).into()).collect()
        }
        Some(tensor) => tensor.to_i64_vec().ok()?.into_iter().map(i128::from).collect(),
        None => fact.elements()?.iter().filter_map(snick_shape::SymExpr::as_const).map(i128::from).collect(),
    };
    let (least, largest) = match element_type {
        ElementType::U32 => (0, i128::from(u32::MAX)),
        ElementType::U64 => (0, i128::from(u64::MAX)),
        _ => (i128::from(i64::MIN), i128::from(i64::MAX)),
    };
    let is_beyond = |number: &i128| i32::try_from(*number).is_err();
    let is_sentinel =
        |number: &i128| [least, least + 1, largest, largest - 1, i128::from(i64::MAX)].contains(number);
    numbers.into_iter().find(|number| is_beyond(number) && !is_sentinel(number))
}

/// The constants of a graph and the readers of each layer. Layers that depend only on constants count as
/// constants too, because the plug-in folds them before it converts integers to i32.
struct Integers<'g> {
    graph: &'g Graph,
    constant: HashSet<NodeId>,
    readers: HashMap<NodeId, Vec<(NodeId, usize)>>,
}

impl<'g> Integers<'g> {
    fn of(graph: &'g Graph, order: &[NodeId]) -> Self {
        let mut constant = HashSet::new();
        let mut readers: HashMap<NodeId, Vec<(NodeId, usize)>> = HashMap::new();
        for &id in order {
            let node = graph.node(id);
            let mut inputs = graph.inputs(id).into_iter().flatten().peekable();
            let is_folded = inputs.peek().is_some()
                && node.op().has(OpTraits::PURE)
                && !node.op().has(OpTraits::HAS_BODIES)
                && !matches!(node.op(), Op::Result(_))
                && inputs.all(|value| constant.contains(&value.node));
            if is_folded || matches!(node.op(), Op::Const(_)) {
                constant.insert(id);
            }
            for (port, value) in graph.inputs(id).into_iter().enumerate() {
                if let Some(value) = value {
                    readers.entry(value.node).or_default().push((id, port));
                }
            }
        }
        Self { graph, constant, readers }
    }

    /// Whether clamping a number at an input of a layer to i32 can change a result. Follows the number
    /// downstream as long as layers pass it on. Behind a layer that computes with it, `number` is `None`
    /// (unknown).
    fn matters(&self, id: NodeId, port: usize, number: Option<i128>) -> bool {
        let mut todo = vec![(id, port, number)];
        let mut seen = HashSet::new();
        while let Some((id, port, number)) = todo.pop() {
            if !seen.insert((id, port)) {
                continue;
            }
            let op = self.graph.node(id).op();
            let number = match Use::of(op, port, number) {
                Use::Clamped => continue,
                Use::HandedOn => number,
                Use::Changed => None,
                Use::Value => return true,
            };
            todo.extend(
                self.readers.get(&id).into_iter().flatten().map(|&(reader, port)| (reader, port, number)),
            );
        }
        false
    }
}

/// How a layer uses a number at an input.
enum Use {
    /// Clamps or compares the number, so clamping it to i32 first has no effect.
    Clamped,
    /// Passes the number on unchanged.
    HandedOn,
    /// Returns another number that is computed from it.
    Changed,
    /// Depends on the exact value of the number, so clamping it changes the result.
    Value,
}

impl Use {
    fn of(op: &Op, port: usize, number: Option<i128>) -> Self {
        let is = |sign: fn(i128) -> bool| number.is_none_or(sign);
        match (op.type_name(), port) {
            ("Slice" | "StridedSlice", 1..) | ("SliceScatter", 2..) | ("Clamp", _) | ("Loop", 0) => {
                Self::Clamped
            }
            ("Minimum", _) if is(|number| number > 0) => Self::Clamped,
            ("Maximum", _) if is(|number| number < 0) => Self::Clamped,
            ("Less" | "LessEqual" | "Greater" | "GreaterEqual", _) => Self::Clamped,
            ("Select", 0) => Self::Value,
            ("Select" | "Minimum" | "Maximum", _) | ("Concat", _) | ("Gather" | "Convert", 0) => {
                Self::HandedOn
            }
            ("ScatterUpdate" | "ScatterElementsUpdate", 2) | ("ScatterNDUpdate", 2) => Self::HandedOn,
            ("Add" | "Subtract" | "Multiply", _) => Self::Changed,
            (_, 0) if op.has(OpTraits::MOVES_ELEMENTS) => Self::HandedOn,
            _ => Self::Value,
        }
    }
}
