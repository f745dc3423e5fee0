//! The slice family: Slice-8, StridedSlice with known bounds, Split.
//!
//! ONNX clamps bounds as the IR does, so bounds are written unchanged; only the order of the inputs differs.
//! There is one exception: runtimes interpret the largest integer as "no bound", even as the end of a
//! backward slice.

use snick_ir::ops::StridedSlice;
use snick_ir::ops::slice::axis_range::AxisRange;
use snick_ir::ops::slice::index_inputs::IndexEntry;
use snick_ir::{Fact, IntOrValue, Op, OpError};
use snick_shape::SymExpr;
use snick_tensor::ElementType;

use super::emitter::{Emitter, Result, int};
use super::row::OpRow;
use super::types::MOVED;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::Slice8(_) => OpRow::new(slice8).every_type().lacks(MOVED),
        Op::Split(_) => OpRow::new(split).every_type().lacks(MOVED),
        Op::StridedSlice(op) => OpRow::new(|e| strided_slice(e, op)).every_type().lacks(MOVED),
        Op::VariadicSplit(_) => OpRow::new(variadic_split).every_type().lacks(MOVED),
        _ => return None,
    })
}

/// Avoids the largest 32-bit or 64-bit integer as the end of a backward slice, because runtimes interpret it
/// as "no bound".
fn careful(end: i64, step: i64) -> i64 {
    if step < 0 && end >= i64::from(i32::MAX) { i64::from(i32::MAX) - 1 } else { end }
}

fn slice8(e: &mut Emitter) -> Result {
    let known: Option<Vec<Vec<i64>>> = (1..4).map(|i| e.known(i)).collect();
    let axes = match e.len() {
        5.. => Some(e.input_i64(4)?),
        _ => None,
    };
    let mut inputs = vec![e.input(0)?];
    let steps = match known.as_deref() {
        Some([starts, stops, steps]) => {
            let stops: Vec<i64> = stops.iter().zip(steps).map(|(&stop, &step)| careful(stop, step)).collect();
            inputs.extend([e.vector(starts)?, e.vector(&stops)?]);
            e.vector(steps)?
        }
        _ => {
            let mut stops = e.input_i64(2)?;
            if e.known(3).is_none_or(|steps| steps.iter().any(|&step| step < 0)) {
                let most = e.index(careful(i64::MAX, -1))?;
                stops = e.smaller(&stops, &most);
            }
            inputs.extend([e.input_i64(1)?, stops]);
            e.input_i64(3)?
        }
    };
    inputs.extend([axes.unwrap_or_default(), steps]);
    e.last("Slice", &inputs, vec![])
}

/// Writes a Slice, followed by a Squeeze and an Unsqueeze if needed.
fn strided_slice(e: &mut Emitter, op: &StridedSlice) -> Result {
    let facts: Vec<&Fact> = (0..e.len()).map(|i| e.fact(i)).collect::<Result<_, _>>()?;
    let unranked = || OpError::unsupported("an ellipsis over an unknown rank");
    let plan = op.plan(&facts)?.ok_or_else(unranked)?;
    // An index that is out of range selects an empty axis, which Squeeze cannot remove.
    let dims = facts[0].shape.dims().unwrap_or_default();
    for range in plan.ranges().filter(|range| range.single) {
        if let Some(dim) = dims.get(range.axis).and_then(SymExpr::as_const) {
            range.resolve(dim).transpose()?;
        }
    }
    let ranges: Vec<[i64; 4]> = plan.ranges().map(onnx_range).collect::<Result<_, _>>()?;
    // Omits axes that are selected as a whole.
    let ranges: Vec<[i64; 4]> =
        ranges.into_iter().filter(|&[start, end, _, step]| (start, end, step) != (0, i64::MAX, 1)).collect();
    let mut steps: Vec<(&str, Vec<String>)> = Vec::new();
    if !ranges.is_empty() {
        let mut operands = Vec::new();
        for i in 0..4 {
            operands.push(e.vector(&ranges.iter().map(|range| range[i]).collect::<Vec<i64>>())?);
        }
        steps.push(("Slice", operands));
    }
    for (op, axes) in [("Squeeze", plan.dropped_axes()), ("Unsqueeze", plan.new_axes())] {
        if !axes.is_empty() {
            steps.push((op, vec![e.vector(&axes)?]));
        }
    }
    let mut value = e.input(0)?;
    let Some((last, operands)) = steps.pop() else { return e.last("Identity", &[value], vec![]) };
    for (op, operands) in steps {
        value = e.node(op, &[vec![value], operands].concat(), vec![]);
    }
    e.last(last, &[vec![value], operands].concat(), vec![])
}

/// Start, end, axis and step, in ONNX's order.
fn onnx_range(range: &AxisRange) -> Result<[i64; 4], OpError> {
    let int = |number: &IntOrValue<IndexEntry>| {
        number.as_int().ok_or_else(|| OpError::unsupported("a bound known only at run time"))
    };
    let (start, stop) = (range.start.as_ref().map(int).transpose()?, range.stop.as_ref());
    let axis = range.axis as i64;
    if range.single {
        let index = start.unwrap_or(0);
        // For the index -1, the end is the end of the axis.
        let next = if index == -1 { i64::MAX } else { index.saturating_add(1) };
        return Ok([index, next, axis, 1]);
    }
    let step = int(&range.step)?;
    let (first, last) = if step > 0 { (0, i64::MAX) } else { (i64::MAX, i64::MIN) };
    let stop = stop.map(int).transpose()?.map_or(last, |stop| careful(stop, step));
    Ok([start.unwrap_or(first), stop, axis, step])
}

fn split(e: &mut Emitter) -> Result {
    let axis = e.fixed_one(1, "the axis of a split")?;
    // ONNX only allows a smaller last part if the sizes are listed.
    let sizes = sizes(e, axis)?;
    let (data, attrs) = (e.input(0)?, vec![int("axis", axis)]);
    if let Some(sizes) = sizes {
        let sizes = e.vector(&sizes)?;
        return e.last("Split", &[data, sizes], attrs);
    }
    let parts = e.outputs().len() as i64;
    e.last("Split", &[data], [attrs, vec![int("num_outputs", parts)]].concat())
}

fn variadic_split(e: &mut Emitter) -> Result {
    let axis = e.fixed_one(1, "the axis of a split")?;
    let lengths = match sizes(e, axis)? {
        Some(sizes) => e.vector(&sizes)?,
        None if e.known(2).is_some_and(|lengths| !lengths.contains(&-1)) => e.input_i64(2)?,
        None => {
            let lengths = rest_filled(e, axis)?;
            if e.is_older(13) {
                return computed_parts(e, &lengths, axis);
            }
            lengths
        }
    };
    let data = e.input(0)?;
    e.last("Split", &[data, lengths], vec![int("axis", axis)])
}

/// Slices the parts, because older operators need constant lengths.
fn computed_parts(e: &mut Emitter, lengths: &str, axis: i64) -> Result {
    let (data, zero, axes) = (e.input(0)?, e.index(0)?, e.vector(&[axis])?);
    let ends = e.node("CumSum", &[lengths, &zero], vec![]);
    let starts = e.node("Sub", &[ends.as_str(), lengths], vec![]);
    for port in 0..e.outputs().len() {
        let at = port as i64;
        let (start, end) = (e.cut(&starts, 0, at, at + 1)?, e.cut(&ends, 0, at, at + 1)?);
        e.last_port(port, "Slice", &[&data, &start, &end, &axes], vec![])?;
    }
    Ok(())
}

/// Replaces a length of -1 with the size of the axis minus the sum of the other lengths.
fn rest_filled(e: &mut Emitter, axis: i64) -> Result<String, OpError> {
    let data = e.input(0)?;
    let lengths = e.input_i64(2)?;
    let (at, zero) = (e.vector(&[axis])?, e.number(ElementType::I64, 0.0)?);
    let shape = e.node("Shape", &[data], vec![]);
    let size = e.node("Gather", &[shape, at], vec![]);
    let negative = e.node("Less", &[&lengths, &zero], vec![]);
    let others = e.node("Where", &[&negative, &zero, &lengths], vec![]);
    let sum = e.node("ReduceSum", &[others], vec![int("keepdims", 1)]);
    let rest = e.node("Sub", &[size, sum], vec![]);
    Ok(e.node("Where", &[negative, rest, lengths], vec![]))
}

/// The sizes of the parts along `axis`, if all of them are known.
fn sizes(e: &Emitter, axis: i64) -> Result<Option<Vec<i64>>, OpError> {
    let rank = e.rank(0)?;
    let axis = snick_ir::normalize_axis(axis, rank)?;
    let sizes = e.node.outs().iter().map(|out| out.fact.shape.dims()?.get(axis)?.as_const());
    Ok(sizes.collect())
}

#[cfg(test)]
mod tests {
    use snick_ir::{infer, text};

    /// The operators that are written for a slice with this step and dynamic bounds.
    fn operators(step: i64) -> Vec<String> {
        let text = format!(
            "snick 1\ngraph \"g\" {{\n%x = Parameter-1 {{element_type: f32, shape: \"?\"}}\n\
             %start = Parameter-1 {{element_type: i64, shape: \"1\"}}\n\
             %stop = Parameter-1 {{element_type: i64, shape: \"1\"}}\n%step = Const-1 i64[1] <{step}>\n\
             %y = Slice-8(%x, %start, %stop, %step)\n%r = Result-1(%y)\n}}\n"
        );
        let mut graph = text::parse(&text, None).unwrap();
        assert_eq!(infer(&mut graph), []);
        let model =
            snick_onnx::decode(super::super::onnx(&graph, "data").unwrap().model.to_bytes().into()).unwrap();
        model.graph.unwrap().node.into_iter().map(|node| node.op_type).collect()
    }

    #[test]
    fn the_end_of_a_backward_slice_is_never_the_greatest_integer() {
        assert_eq!(operators(-1), ["Min", "Slice"]);
        assert_eq!(operators(1), ["Slice"]);
    }
}
