//! Slices whose parameters probably do not have the intended effect.

use snick_ir::ops::slice::axis_range::AxisRange;
use snick_ir::ops::slice::mask::Mask;
use snick_ir::ops::slice::slice8::SliceRanges;
use snick_ir::ops::slice::strided_slice::{EntryPlan, StridedSlice, StridedSlicePlan};
use snick_ir::{Code, Fact, Graph, IntOrValue, NodeRef, Op};
use snick_shape::SymExpr;

use super::finding::Findings;
use super::subject::Subject;
use super::{CheckCode, Example, Family};

pub(super) static FAMILY: Family =
    Family { codes: &[&EMPTY_SLICE, &NO_OP_SLICE, &DEAD_MASK, &CLAMPED_SLICE], find, reads_values: true };

static EMPTY_SLICE: CheckCode = CheckCode {
    code: Code::EmptySlice,
    meaning: "A slice is empty for all input sizes.",
    reason: "The layers after it process empty tensors. Usually begin and end are swapped, or the sign of \
             the step is wrong.",
    remedy: "compare begin, end and step with the source code of the layer",
    example: Example::Text(
        "  %x = Parameter-1 {element_type: f32, shape: \"8\"}\n  %start = Const-1 i64[1] <5>\n  \
         %stop = Const-1 i64[1] <2>\n  %step = Const-1 i64[1] <1>\n  %crop = Slice-8(%x, %start, %stop, %step)\n  \
         %y = Result-1(%crop)\n",
    ),
    on_demand: false,
};

static NO_OP_SLICE: CheckCode = CheckCode {
    code: Code::NoOpSlice,
    meaning: "A slice selects everything for all input sizes.",
    reason: "The slice only costs time. Exporters emit such layers where slicing is optional in the source \
             code.",
    remedy: "remove the layer; `snick canon` does this",
    example: Example::Text(
        "  %x = Parameter-1 {element_type: f32, shape: \"..4,8\"}\n  %start = Const-1 i64[2] <0, 0>\n  \
         %stop = Const-1 i64[2] <9223372036854775807, 8>\n  %step = Const-1 i64[2] <1, 1>\n  \
         %all = Slice-8(%x, %start, %stop, %step)\n  %y = Result-1(%all)\n",
    ),
    on_demand: false,
};

static DEAD_MASK: CheckCode = CheckCode {
    code: Code::DeadMask,
    meaning: "A mask of a StridedSlice has bits beyond the length of the inputs `begin` and `end`, or bits \
              that another mask overrides.",
    reason: "The bits have no effect. For each entry, ellipsis_mask overrides all other masks, new_axis_mask \
             overrides shrink, begin and end, and shrink_axis_mask overrides begin and end.",
    remedy: "clear the bits, or find out which mask was intended",
    example: Example::Text(
        "  %x = Parameter-1 {element_type: f32, shape: \"8\"}\n  %b = Const-1 i64[1] <1>\n  %e = Const-1 i64[1] <2>\n  \
         %s = Const-1 i64[1] <1>\n  %crop = StridedSlice-1(%x, %b, %e, %s) {begin_mask: [0], end_mask: [1], \
         new_axis_mask: [0], shrink_axis_mask: [1], ellipsis_mask: [0]}\n  %y = Result-1(%crop)\n",
    ),
    on_demand: false,
};

static CLAMPED_SLICE: CheckCode = CheckCode {
    code: Code::ClampedSlice,
    meaning: "A constant bound of a slice is outside the axis for all sizes and is clamped.",
    reason: "The slice selects fewer elements than begin and end suggest. The largest number of a type is \
             not reported, because exporters use it to mark the end of an axis.",
    remedy: "compare the bounds with the sizes that the model was designed for",
    example: Example::Text(
        "  %x = Parameter-1 {element_type: f32, shape: \"8\"}\n  %start = Const-1 i64[1] <2>\n  \
         %stop = Const-1 i64[1] <100>\n  %step = Const-1 i64[1] <1>\n  %crop = Slice-8(%x, %start, %stop, %step)\n  \
         %y = Result-1(%crop)\n",
    ),
    on_demand: false,
};

/// A bound whose magnitude is at least this large stands for the end of the axis.
const MEANS_END: i64 = i32::MAX as i64;

fn find(subject: &Subject, findings: &mut Findings) {
    if !subject.has_all_edges() {
        return;
    }
    for graph in subject.graphs() {
        for id in graph.ids().filter(|&id| matches!(graph.node(id).op(), Op::Slice8(_) | Op::StridedSlice(_)))
        {
            let node = graph.node(id);
            if !subject.has_failed(node)
                && let Some(slice) = SlicedValue::of(graph, node)
            {
                slice.find(findings);
            }
        }
    }
}

/// A slice of a value of known rank, with its ranges resolved.
struct SlicedValue<'g> {
    graph: &'g Graph,
    node: NodeRef<'g>,
    dims: &'g [SymExpr],
    /// The range of each sliced axis, with the index of the output axis.
    ranges: Vec<(AxisRange, usize)>,
    /// Whether the slice neither adds nor drops axes.
    keeps_axes: bool,
    masks: Option<(&'g StridedSlice, usize)>,
}

impl<'g> SlicedValue<'g> {
    fn of(graph: &'g Graph, node: NodeRef<'g>) -> Option<Self> {
        let facts: Vec<&Fact> = node.inputs().map(|value| graph.fact(value)).collect::<Option<_>>()?;
        let dims = facts.first()?.shape().dims()?;
        let (ranges, keeps_axes, masks) = match node.op() {
            Op::StridedSlice(slice) => {
                let plan = slice.plan(&facts).ok()??;
                let keeps_axes = plan.new_axes().is_empty() && plan.dropped_axes().is_empty();
                (with_axes(&plan), keeps_axes, Some((slice, plan.0.len())))
            }
            Op::Slice8(_) => match SliceRanges::of(&facts).ok()? {
                SliceRanges::Known(ranges) => {
                    let with_axis = |range: AxisRange| (range.clone(), range.axis);
                    (ranges.into_iter().map(with_axis).collect(), true, None)
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(Self { graph, node, dims, ranges, keeps_axes, masks })
    }

    fn find(&self, findings: &mut Findings) {
        if let Some((masks, entries)) = self.masks
            && let Some(dead) = dead_bits(masks, entries)
        {
            findings.add(&DEAD_MASK, self.node, dead);
        }
        if let Some(axis) = self.empty_axis() {
            let message = format!("axis {axis} is sliced to nothing: {}", self.notation());
            findings.add(&EMPTY_SLICE, self.node, message);
            return;
        }
        if self.selects_all() {
            let message = format!("selects all of {}: {}", self.shape(), self.notation());
            findings.add(&NO_OP_SLICE, self.node, message);
        }
        if let Some(clamped) = self.ranges.iter().find_map(|(range, _)| self.clamped(range)) {
            findings.add(&CLAMPED_SLICE, self.node, format!("{clamped}: {}", self.notation()));
        }
    }

    /// The first input axis that the slice makes empty.
    fn empty_axis(&self) -> Option<usize> {
        let out = self.out_dims()?;
        let is_empty = |dim: Option<&SymExpr>| dim.and_then(SymExpr::as_const) == Some(0);
        let mut ranges = self.ranges.iter().filter(|(range, _)| !range.single);
        let (range, _) =
            ranges.find(|(range, axis)| is_empty(out.get(*axis)) && !is_empty(self.dims.get(range.axis)))?;
        Some(range.axis)
    }

    fn out_dims(&self) -> Option<&'g [SymExpr]> {
        self.node.outs().first()?.fact.shape().dims()
    }

    /// Whether the output equals the input: every range goes forward, and no size changes.
    fn selects_all(&self) -> bool {
        let is_single = |axis: usize| self.dims.get(axis).and_then(SymExpr::as_const) == Some(1);
        let is_forwards =
            |(range, _): &(AxisRange, usize)| range.step.as_int() == Some(1) || is_single(range.axis);
        self.keeps_axes && self.ranges.iter().all(is_forwards) && self.out_dims() == Some(self.dims)
    }

    /// Describes a bound that is clamped for every possible size of its axis.
    fn clamped(&self, range: &AxisRange) -> Option<String> {
        let size = self.graph.symbols().interval(self.dims.get(range.axis)?);
        let step = range.step.as_int().filter(|_| !range.single)?;
        let bounds = [("begin", &range.start), ("end", &range.stop)];
        bounds.into_iter().find_map(|(name, bound)| {
            let bound = bound.as_ref().and_then(IntOrValue::as_int)?;
            let is_end = bound.unsigned_abs() >= MEANS_END.unsigned_abs();
            // With a negative step, a range that includes element 0 needs an end before the axis, such as -9
            // for size 8.
            let is_idiom = is_end || step < 0 && (name == "end" && bound < 0 || name == "begin" && bound > 0);
            let is_outside = size.has_upper() && (bound > size.hi() || bound < -size.hi());
            (is_outside && !is_idiom)
                .then(|| format!("{name} {bound} lies outside of axis {}, of size {size}", range.axis))
        })
    }

    fn shape(&self) -> String {
        let shape = self.node.input(0).and_then(|value| self.graph.fact(value)).map(Fact::shape);
        shape.map(|shape| shape.display_intervals(self.graph.symbols()).to_string()).unwrap_or_default()
    }

    fn notation(&self) -> String {
        snick_ir::ops::slice::notation(self.graph, self.node.id()).unwrap_or_default().join(" ")
    }
}

/// The ranges of a plan with their output axes. An axis that the slice drops gets the index of the next
/// output axis.
fn with_axes(plan: &StridedSlicePlan) -> Vec<(AxisRange, usize)> {
    let mut next = 0;
    let mut ranges = Vec::new();
    for entry in &plan.0 {
        match entry {
            EntryPlan::Whole(count) => next += count,
            EntryPlan::NewAxis => next += 1,
            EntryPlan::Range(range) => {
                ranges.push((range.clone(), next));
                next += usize::from(!range.single);
            }
        }
    }
    ranges
}

/// Describes the first mask bit that has no effect.
fn dead_bits(slice: &StridedSlice, entries: usize) -> Option<String> {
    let masks = [
        ("ellipsis_mask", slice.ellipsis_mask),
        ("new_axis_mask", slice.new_axis_mask),
        ("shrink_axis_mask", slice.shrink_axis_mask),
        ("begin_mask", slice.begin_mask),
        ("end_mask", slice.end_mask),
    ];
    let is_set = |mask: Mask, at: usize| mask.get(at);
    for (name, mask) in masks {
        if let Some(bit) = (entries..mask.len()).find(|&bit| is_set(mask, bit)) {
            let entries = if entries == 1 { "1 entry".into() } else { format!("{entries} entries") };
            return Some(format!("bit {bit} of {name} is set, but begin and end have {entries}"));
        }
    }
    (0..entries).find_map(|entry| {
        let mut set = masks.iter().filter(|(_, mask)| is_set(*mask, entry));
        let (strongest, _) =
            set.next().filter(|(name, _)| !name.starts_with("begin") && *name != "end_mask")?;
        let (void, _) = set.next()?;
        Some(format!("bit {entry} of {void} has no effect, because the bit of {strongest} is set"))
    })
}
