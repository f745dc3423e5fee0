//! Evaluates graphs for given sizes and elements of inputs, independently of the checker.
//!
//! Elements of integer tensors are their values; all others are labels, and an operation that computes them
//! is a hash of its operands. An element that cannot be computed is `None`.

use snick_certificate::{Attribute, Graph, Node, Size, SizeOp, Value};

use super::arithmetic::{arithmetic, broadcast, label};
use super::combined;

/// The value of an output.
#[derive(Clone, PartialEq, Debug)]
pub struct Tensor {
    pub dims: Vec<i64>,
    pub elements: Vec<Option<i64>>,
    /// Whether no layer that this value depends on fails.
    pub exists: bool,
}

impl Tensor {
    pub fn new(dims: &[i64], elements: Vec<i64>) -> Self {
        Self { dims: dims.to_vec(), elements: elements.into_iter().map(Some).collect(), exists: true }
    }

    pub fn get(&self, index: &[i64]) -> Option<i64> {
        let in_range = index.iter().zip(&self.dims).all(|(at, dim)| (0..*dim).contains(at));
        if !in_range {
            return None;
        }
        self.at(index.iter().zip(&self.dims).fold(0, |flat, (at, dim)| flat * dim + at))
    }

    pub fn at(&self, flat: i64) -> Option<i64> {
        self.elements.get(usize::try_from(flat).ok()?).copied().flatten()
    }

    pub fn rank(&self) -> usize {
        self.dims.len()
    }
}

/// All indices of a tensor in row-major order.
pub fn indices(dims: &[i64]) -> Vec<Vec<i64>> {
    dims.iter().fold(vec![Vec::new()], |all, dim| {
        all.iter()
            .flat_map(|index: &Vec<i64>| (0..*dim).map(|at| [index.as_slice(), &[at]].concat()))
            .collect()
    })
}

/// The values of all outputs, by node and port; `inputs` has the values of nodes that are unique.
pub fn evaluate(graph: &Graph, inputs: &[(Value, Tensor)]) -> Vec<Vec<Tensor>> {
    let mut values: Vec<Vec<Tensor>> = Vec::new();
    for (number, node) in graph.nodes.iter().enumerate() {
        let mut outputs = Vec::new();
        for (port, output) in node.outputs.iter().enumerate() {
            let given = inputs.iter().find(|(value, _)| *value == Value { node: number, port });
            if let Some((_, tensor)) = given {
                outputs.push(tensor.clone());
                continue;
            }
            if let Some(integers) = &output.integers {
                let dims: Vec<i64> =
                    output.dims.iter().flatten().map(|dim| size(dim, &values).unwrap()).collect();
                outputs.push(Tensor::new(&dims, integers.clone()));
                continue;
            }
            let operands: Vec<&Tensor> =
                node.inputs.iter().flatten().map(|input| &values[input.node][input.port]).collect();
            let mut exists = operands.iter().all(|operand| operand.exists);
            let dims = dims(graph, Value { node: number, port }, node, &operands, &values);
            exists &= dims.iter().all(|dim| dim.is_some_and(|dim| dim >= 0));
            // Sizes below 0 have no elements, and the checker does not refuse them where no element is
            // compared.
            let dims: Vec<i64> = dims.into_iter().map(|dim| dim.unwrap_or(0)).collect();
            let elements: Vec<Option<i64>> = indices(&dims)
                .iter()
                .map(|index| element(node, port, output, &operands, &dims, index))
                .collect();
            exists &= elements.iter().all(Option::is_some) && is_valid(node, &operands, &dims);
            outputs.push(Tensor { dims, elements, exists });
        }
        values.push(outputs);
    }
    values
}

/// Whether the sizes of the inputs are valid, apart from indices that are out of range.
fn is_valid(node: &Node, operands: &[&Tensor], dims: &[i64]) -> bool {
    let count = |dims: &[i64]| dims.iter().product::<i64>();
    match node.op.as_str() {
        "Reshape" | "Squeeze" | "Unsqueeze" => count(&operands[0].dims) == count(dims),
        "Split" => {
            let axis = axis(operands[1].at(0).unwrap(), operands[0].rank());
            operands[0].dims[axis] % node.outputs.len() as i64 == 0
        }
        "VariadicSplit" => {
            let axis = axis(operands[1].at(0).unwrap(), operands[0].rank());
            let lengths: Vec<i64> = operands[2].elements.iter().map(|length| length.unwrap_or(0)).collect();
            let sum: i64 = lengths.iter().filter(|length| **length >= 0).sum();
            let dim = operands[0].dims[axis];
            if lengths.contains(&-1) { sum <= dim } else { sum == dim }
        }
        "MatMul" => combined::fit(node, operands),
        _ => true,
    }
}

pub fn axis(axis: i64, rank: usize) -> usize {
    (if axis < 0 { axis + rank as i64 } else { axis }) as usize
}

/// A size that the premises state.
fn size(size: &Size, values: &[Vec<Tensor>]) -> Option<i64> {
    Some(match size {
        Size::Int(int) => *int,
        Size::Any(..) => return None,
        Size::Dim(value, axis) => values[value.node][value.port].dims[*axis],
        Size::Element(value, at) => values[value.node][value.port].at(*at as i64)?,
        Size::Of(op, both) => {
            let (a, b) = (self::size(&both[0], values)?, self::size(&both[1], values)?);
            match op {
                SizeOp::Add => a + b,
                SizeOp::Multiply => a * b,
                SizeOp::FloorDivide => a.div_euclid(b),
                SizeOp::Min => a.min(b),
                SizeOp::Max => a.max(b),
            }
        }
    })
}

/// The sizes of an output: those that the premises state, or those of the operation.
fn dims(
    graph: &Graph,
    value: Value,
    node: &Node,
    operands: &[&Tensor],
    values: &[Vec<Tensor>],
) -> Vec<Option<i64>> {
    let stated = graph.nodes[value.node].outputs[value.port].dims.clone().unwrap();
    let mut dims: Vec<Option<i64>> = stated.iter().map(|dim| size(dim, values)).collect();
    let selected = selections(node, operands);
    for (at, dim) in dims.iter_mut().enumerate().filter(|(at, _)| matches!(stated[*at], Size::Any(..))) {
        *dim = match node.op.as_str() {
            "Concat" => {
                let axis = axis(int(node, "axis").unwrap(), operands[0].rank());
                assert_eq!(axis, at);
                Some(operands.iter().map(|operand| operand.dims[axis]).sum())
            }
            "VariadicSplit" => {
                let length = operands[2].at(value.port as i64);
                let known: i64 = operands[2].elements.iter().flatten().filter(|length| **length >= 0).sum();
                length.map(|length| if length >= 0 { length } else { operands[0].dims[at] - known })
            }
            _ => selected.as_ref().and_then(|selected| selected.iter().filter_map(Selection::length).nth(at)),
        };
    }
    dims
}

/// What a slice does with an axis.
#[derive(Copy, Clone, Debug)]
enum Selection {
    New,
    Single(i64),
    Range(i64, i64, i64),
}

impl Selection {
    /// The size of the axis of the output.
    fn length(&self) -> Option<i64> {
        match self {
            Self::New => Some(1),
            Self::Single(_) => None,
            Self::Range(_, length, _) => Some(*length),
        }
    }
}

/// The indices that Python's `range` yields after `slice.indices`, except that a start before the first
/// element is the first element in both directions.
fn python_slice(dim: i64, start: Option<i64>, stop: Option<i64>, step: i64) -> (i64, i64) {
    let from_end = |bound: i64| if bound < 0 { bound + dim } else { bound };
    let (start, stop) = match step > 0 {
        true => (
            start.map_or(0, |start| from_end(start).max(0).min(dim)),
            stop.map_or(dim, |stop| from_end(stop).max(0).min(dim)),
        ),
        false => (
            start.map_or(dim - 1, |start| from_end(start).max(0).min(dim - 1)),
            stop.map_or(-1, |stop| from_end(stop).max(-1).min(dim - 1)),
        ),
    };
    let mut length = 0;
    let mut at = start;
    while if step > 0 { at < stop } else { at > stop } {
        (length, at) = (length + 1, at + step);
    }
    (start, length)
}

pub fn int(node: &Node, name: &str) -> Option<i64> {
    node.attributes.get(name)?.as_i64()
}

fn ints(node: &Node, name: &str) -> Vec<i64> {
    let list = node.attributes.get(name).and_then(Attribute::as_array);
    list.into_iter().flatten().filter_map(Attribute::as_i64).collect()
}

pub fn text<'n>(node: &'n Node, name: &str) -> &'n str {
    node.attributes.get(name).and_then(Attribute::as_str).unwrap_or("")
}

pub fn is_set(node: &Node, name: &str) -> bool {
    node.attributes.get(name) == Some(&Attribute::Bool(true))
}

fn selections(node: &Node, operands: &[&Tensor]) -> Option<Vec<Selection>> {
    let data = operands.first()?;
    let whole = |axis: usize| Selection::Range(0, data.dims[axis], 1);
    match node.op.as_str() {
        "slice" => {
            let mut all: Vec<Selection> = (0..data.rank()).map(whole).collect();
            let mut scalars = operands[1..].iter();
            for (i, axis) in ints(node, "axes").iter().enumerate() {
                let mut number = |name: &str| match &node.attributes[name][i] {
                    Attribute::Number(number) => number.as_i64(),
                    Attribute::String(text) => text.parse().ok().or_else(|| scalars.next()?.at(0)),
                    _ => None,
                };
                let [start, length, step] = ["start", "len", "step"].map(&mut number);
                all[*axis as usize] = Selection::Range(start?, length?, step?);
            }
            Some(all)
        }
        "Slice" => {
            let mut all: Vec<Selection> = (0..data.rank()).map(whole).collect();
            let count = operands[1].elements.len() as i64;
            for i in 0..count {
                let axis = axis(operands.get(4).map_or(Some(i), |axes| axes.at(i))?, data.rank());
                let step = operands[3].at(i)?;
                let (start, length) =
                    python_slice(data.dims[axis], Some(operands[1].at(i)?), Some(operands[2].at(i)?), step);
                all[axis] = Selection::Range(start, length, step);
            }
            Some(all)
        }
        "StridedSlice" => {
            let count = operands[1].elements.len();
            let is_set = |name: &str, i: usize| ints(node, name).get(i) == Some(&1);
            let is_ellipsis = |i: usize| is_set("ellipsis_mask", i);
            let is_new = |i: usize| !is_ellipsis(i) && is_set("new_axis_mask", i);
            let taken = (0..count).filter(|i| !is_ellipsis(*i) && !is_new(*i)).count();
            let (mut all, mut axis) = (Vec::new(), 0);
            for i in 0..count {
                if is_ellipsis(i) {
                    let until = axis + data.rank() - taken;
                    all.extend((axis..until).map(whole));
                    axis = until;
                } else if is_new(i) {
                    all.push(Selection::New);
                } else {
                    let (begin, end) = (operands[1].at(i as i64)?, operands[2].at(i as i64)?);
                    let step = operands.get(3).map_or(Some(1), |strides| strides.at(i as i64))?;
                    let dim = data.dims[axis];
                    all.push(match is_set("shrink_axis_mask", i) {
                        true => Selection::Single(if begin < 0 { begin + dim } else { begin }),
                        false => {
                            let begin = Some(begin).filter(|_| !is_set("begin_mask", i));
                            let end = Some(end).filter(|_| !is_set("end_mask", i));
                            let (start, length) = python_slice(dim, begin, end, step);
                            Selection::Range(start, length, step)
                        }
                    });
                    axis += 1;
                }
            }
            all.extend((axis..data.rank()).map(whole));
            Some(all)
        }
        _ => None,
    }
}

fn element(
    node: &Node,
    port: usize,
    output: &snick_certificate::Output,
    operands: &[&Tensor],
    dims: &[i64],
    index: &[i64],
) -> Option<i64> {
    let data = *operands.first()?;
    let flat =
        |dims: &[i64], index: &[i64]| index.iter().zip(dims).fold(0, |flat, (at, dim)| flat * dim + at);
    let mut at = index.to_vec();
    match node.op.as_str() {
        "Identity" | "Convert" | "ConvertLike" if output.element_type != "i64" => data.get(index),
        "slice" | "Slice" | "StridedSlice" => {
            let (mut source, mut outer) = (Vec::new(), index.iter());
            for selection in selections(node, operands)? {
                match selection {
                    Selection::New => drop(outer.next()),
                    Selection::Single(at) => source.push(at),
                    Selection::Range(start, _, step) => source.push(start + step * outer.next()?),
                }
            }
            data.get(&source)
        }
        "Split" | "VariadicSplit" => {
            if !is_valid(node, operands, dims) {
                return None;
            }
            let axis = axis(operands[1].at(0)?, data.rank());
            at[axis] += match operands.get(2) {
                None => port as i64 * dims[axis],
                Some(lengths) => {
                    let known: i64 = lengths.elements.iter().flatten().filter(|length| **length >= 0).sum();
                    let rest = data.dims[axis] - known;
                    let before = lengths.elements[..port].iter().map(|length| length.unwrap_or(0));
                    before.map(|length| if length < 0 { rest } else { length }).sum()
                }
            };
            data.get(&at)
        }
        "Crop" => {
            for (axis, offset) in
                ints(node, "axis").iter().zip([ints(node, "crop_begin"), ints(node, "offset")].concat())
            {
                at[*axis as usize] += offset;
            }
            data.get(&at)
        }
        "Reverse" => {
            for (axis, at) in at.iter_mut().enumerate() {
                let is_reversed = match text(node, "mode") {
                    "mask" => operands[1].at(axis as i64)? != 0,
                    _ => operands[1].elements.contains(&Some(axis as i64)),
                };
                if is_reversed {
                    *at = data.dims[axis] - 1 - *at;
                }
            }
            data.get(&at)
        }
        "Gather" => {
            let axis = axis(operands[2].at(0)?, data.rank());
            let batch = int(node, "batch_dims").unwrap_or(0) as usize;
            let inner = axis + operands[1].rank() - batch;
            let position = [&index[..batch], &index[axis..inner]].concat();
            let picked = operands[1].get(&position)?;
            let dim = data.dims[axis];
            let picked = if picked < 0 { picked + dim } else { picked };
            if !(0..dim).contains(&picked) {
                let is_error = dim == 0 || is_set(node, "checks_indices");
                return if is_error { None } else { Some(0) };
            }
            data.get(&[&index[..axis], &[picked], &index[inner..]].concat())
        }
        "GatherND" => {
            let (rows, length) = (operands[1], *operands[1].dims.last()?);
            let mut source = Vec::new();
            for axis in 0..length {
                let picked = rows.get(&[&index[..rows.rank() - 1], &[axis]].concat())?;
                source.push(if picked < 0 { picked + data.dims[axis as usize] } else { picked });
            }
            source.extend_from_slice(&index[rows.rank() - 1..]);
            data.get(&source)
        }
        "Concat" => {
            let axis = axis(int(node, "axis")?, data.rank());
            for operand in operands {
                if at[axis] < operand.dims[axis] {
                    return operand.get(&at);
                }
                at[axis] -= operand.dims[axis];
            }
            None
        }
        "Pad" => {
            for (axis, at) in at.iter_mut().enumerate() {
                *at -= operands[1].at(axis as i64)?;
            }
            let is_inside = at.iter().zip(&data.dims).all(|(at, dim)| (0..*dim).contains(at));
            if is_inside { data.get(&at) } else { operands[3].at(0) }
        }
        "Transpose" => {
            for (axis, at_axis) in index.iter().enumerate() {
                at[operands[1].at(axis as i64)? as usize] = *at_axis;
            }
            data.get(&at)
        }
        "Reshape" | "Squeeze" | "Unsqueeze" => {
            if !is_valid(node, operands, dims) {
                return None;
            }
            data.at(flat(dims, index))
        }
        "Broadcast" if text(node, "mode") == "explicit" => {
            let mut source = Vec::new();
            for (axis, dim) in data.dims.iter().enumerate() {
                let target = operands[2].at(axis as i64)? as usize;
                if *dim != 1 && *dim != dims[target] {
                    return None;
                }
                source.push(if *dim == 1 { 0 } else { index[target] });
            }
            data.get(&source)
        }
        "Broadcast" => broadcast(data, dims, index),
        "Tile" => {
            let source: Vec<i64> = (0..data.rank())
                .map(|axis| index[dims.len() - data.rank() + axis] % data.dims[axis])
                .collect();
            data.get(&source)
        }
        "Roll" => {
            let is_scalar = operands[1].rank() == 0;
            for (i, axis) in operands[2].elements.iter().enumerate() {
                let shift = operands[1].at(if is_scalar { 0 } else { i as i64 })?;
                let axis = self::axis((*axis)?, data.rank());
                at[axis] = (at[axis] - shift).rem_euclid(data.dims[axis]);
            }
            data.get(&at)
        }
        "ShapeOf" => Some(data.dims[index[0] as usize]),
        "Range" => Some(data.at(0)? + index[0] * operands[2].at(0)?),
        "bounds" => {
            let mut scalars = operands.iter();
            let mut number = |name: &str| match &node.attributes[name] {
                Attribute::Number(number) => number.as_i64(),
                Attribute::String(text) if text == "in" => scalars.next()?.at(0),
                _ => None,
            };
            let [size, start, stop, step] = ["size", "start", "stop", "step"].map(&mut number);
            let (start, length) = python_slice(size?, start, stop, step?);
            Some(if port == 0 { start } else { length })
        }
        "ReduceMean" | "Softmax" | "MatMul" => combined::combined(node, operands, index),
        "ReduceProd" | "ReduceSum" | "ReduceMax" | "ReduceMin" => {
            let all: Vec<i64> = data.elements.iter().copied().collect::<Option<_>>()?;
            match node.op.as_str() {
                "ReduceProd" => Some(all.iter().product()),
                "ReduceSum" => Some(all.iter().sum()),
                "ReduceMax" => all.iter().max().copied(),
                _ => all.iter().min().copied(),
            }
        }
        // A function of all elements.
        "Opaque" => {
            let all: Option<Vec<i64>> =
                operands.iter().flat_map(|operand| operand.elements.clone()).collect();
            let shapes: Vec<&Vec<i64>> = operands.iter().map(|operand| &operand.dims).collect();
            Some(label(&("Opaque", all?, shapes, index)))
        }
        _ => {
            let numbers: Option<Vec<i64>> =
                operands.iter().map(|operand| broadcast(operand, dims, index)).collect();
            let numbers = numbers?;
            match output.element_type.as_str() {
                "f32" => Some(label(&(&node.op, format!("{:?}", node.attributes), numbers))),
                _ => arithmetic(node, &numbers),
            }
        }
    }
}
