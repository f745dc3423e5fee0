//! The slice family: Slice-8, StridedSlice with known bounds, Split.
//!
//! ONNX clamps bounds as the IR does, so they go over as they are; only their order of inputs differs. One thing is
//! written with care: runtimes read the greatest integer as "no bound" for the end of a backward slice, too.

use snick_ir::ops::slice::strided_slice::StridedSlice;
use snick_ir::{Op, OpError};
use snick_tensor::ElementType;

use super::emitter::{Emitter, Result, int};
use super::table::EmitRule::{self, Custom};

pub(super) const RULES: &[(&str, EmitRule)] = &[
    ("Slice", Custom(slice8)),
    ("Split", Custom(split)),
    ("StridedSlice", Custom(strided_slice)),
    ("VariadicSplit", Custom(variadic_split)),
];

/// An end that is not the greatest integer of either width, and yet behind every element.
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
                stops = e.node("Min", &[stops, most], vec![]);
            }
            inputs.extend([e.input_i64(1)?, stops]);
            e.input_i64(3)?
        }
    };
    inputs.extend([axes.unwrap_or_default(), steps]);
    e.last("Slice", &inputs, vec![])
}

/// The masks of a StridedSlice, said by bounds, and by Squeeze and Unsqueeze after.
fn strided_slice(e: &mut Emitter) -> Result {
    let Op::StridedSlice(op) = &e.node.op else { return Err(OpError::unsupported("this layer")) };
    let (begin, end) = (e.fixed(1, "begin")?, e.fixed(2, "end")?);
    let stride = if e.len() > 3 { e.fixed(3, "stride")? } else { vec![1; begin.len()] };
    let plan = MaskPlan::new(op, e.fact(0)?.shape.rank(), [&begin, &end, &stride])?;
    let mut steps: Vec<(&str, Vec<String>)> = Vec::new();
    if !plan.axes.is_empty() {
        let [starts, ends, axes, strides] =
            [0, 1, 2, 3].map(|i| plan.axes.iter().map(|a| a[i]).collect::<Vec<_>>());
        let operands = [e.vector(&starts)?, e.vector(&ends)?, e.vector(&axes)?, e.vector(&strides)?];
        steps.push(("Slice", operands.into()));
    }
    if !plan.dropped.is_empty() {
        steps.push(("Squeeze", vec![e.vector(&plan.dropped)?]));
    }
    if !plan.made.is_empty() {
        steps.push(("Unsqueeze", vec![e.vector(&plan.made)?]));
    }
    let mut value = e.input(0)?;
    let Some((last, operands)) = steps.pop() else { return e.last("Identity", &[value], vec![]) };
    for (op, operands) in steps {
        value = e.node(op, &[vec![value], operands].concat(), vec![]);
    }
    e.last(last, &[vec![value], operands].concat(), vec![])
}

/// What a StridedSlice does, axis by axis.
struct MaskPlan {
    /// Start, end, axis and step of each sliced axis.
    axes: Vec<[i64; 4]>,
    /// Axes of the data that go.
    dropped: Vec<i64>,
    /// Axes of the output that are new.
    made: Vec<i64>,
}

impl MaskPlan {
    /// On one entry the masks take precedence in the order ellipsis, new axis, shrink, begin and end.
    fn new(
        op: &StridedSlice,
        rank: Option<usize>,
        [begin, end, stride]: [&[i64]; 3],
    ) -> Result<Self, OpError> {
        let mut plan = Self { axes: Vec::new(), dropped: Vec::new(), made: Vec::new() };
        let (mut axis, mut out) = (0i64, 0i64);
        for (i, &first) in begin.iter().enumerate() {
            if op.ellipsis_mask.get(i) {
                let rank =
                    rank.ok_or_else(|| OpError::unsupported("an ellipsis over an unknown rank in ONNX"))?;
                let others =
                    (0..begin.len()).filter(|&k| !op.ellipsis_mask.get(k) && !op.new_axis_mask.get(k));
                let whole = (rank as i64).saturating_sub(others.count() as i64);
                (axis, out) = (axis + whole, out + whole);
                continue;
            }
            if op.new_axis_mask.get(i) {
                plan.made.push(out);
                out += 1;
                continue;
            }
            if op.shrink_axis_mask.get(i) {
                // Behind -1 there is no number but the end itself.
                let next = if first == -1 { i64::MAX } else { first.saturating_add(1) };
                plan.axes.push([first, next, axis, 1]);
                plan.dropped.push(axis);
                axis += 1;
                continue;
            }
            let step = stride.get(i).copied().unwrap_or(1);
            let (head, tail) = if step > 0 { (0, i64::MAX) } else { (i64::MAX, i64::MIN) };
            let start = if op.begin_mask.get(i) { head } else { first };
            let stop = match end.get(i) {
                Some(&stop) if !op.end_mask.get(i) => careful(stop, step),
                _ => tail,
            };
            if (start, stop, step) != (0, i64::MAX, 1) {
                plan.axes.push([start, stop, axis, step]);
            }
            (axis, out) = (axis + 1, out + 1);
        }
        Ok(plan)
    }
}

fn split(e: &mut Emitter) -> Result {
    let axis = e.fixed_one(1, "the axis of a split")?;
    // Parts must be equal, which ONNX promises for parts listed only.
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
        None => rest_filled(e, axis)?,
    };
    let data = e.input(0)?;
    e.last("Split", &[data, lengths], vec![int("axis", axis)])
}

/// Lengths with the rest computed for the -1: the size of the axis less the sum of the others.
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

/// The sizes of the parts along `axis`, if all are known.
fn sizes(e: &Emitter, axis: i64) -> Result<Option<Vec<i64>>, OpError> {
    let rank = e.rank(0)?;
    let axis = snick_ir::normalize_axis(axis, rank)?;
    let sizes = e.node.outs.iter().map(|out| out.fact.shape.dims()?.get(axis)?.as_const());
    Ok(sizes.collect())
}

#[cfg(test)]
mod tests {
    use snick_ir::{infer, text};

    /// The operators that a slice by this step, with bounds known at run time, becomes.
    fn operators(step: i64) -> Vec<String> {
        let text = format!(
            "snick 1\ngraph \"g\" {{\n%x = Parameter-1 {{element_type: f32, shape: \"?\"}}\n\
             %start = Parameter-1 {{element_type: i64, shape: \"1\"}}\n\
             %stop = Parameter-1 {{element_type: i64, shape: \"1\"}}\n%step = Const-1 i64[1] <{step}>\n\
             %y = Slice-8(%x, %start, %stop, %step)\n%r = Result-1(%y)\n}}\n"
        );
        let mut graph = text::parse(&text, None).unwrap();
        assert_eq!(infer(&mut graph), []);
        let model = snick_onnx::decode(super::super::onnx(&graph, "data").unwrap().model.into()).unwrap();
        model.graph.unwrap().node.into_iter().map(|node| node.op_type).collect()
    }

    #[test]
    fn the_end_of_a_backward_slice_is_never_the_greatest_integer() {
        assert_eq!(operators(-1), ["Min", "Slice"]);
        assert_eq!(operators(1), ["Slice"]);
    }
}
