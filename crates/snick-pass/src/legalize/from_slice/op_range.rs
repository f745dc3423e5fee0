//! `start:stop:step` as interpreted by OpenVINO's ops. Decides whether a slice can be written with the range
//! from which `bounds` computed it.

use snick_ir::ops::slice::dyn_axis_slice::DynAxisSlice;
use snick_ir::rewrite::Patch;
use snick_ir::{GraphBuilder, IntOrValue, Op, OpError, Value};
use snick_shape::{AxisSlice, Interval, SymExpr};

use IntOrValue::Int;

/// The `start:stop:step` of one axis. Negative bounds count from the end. A missing start or stop means no
/// bound in the direction of the step.
pub(super) struct OpRange {
    pub(super) axis: usize,
    pub(super) start: Option<IntOrValue>,
    pub(super) stop: Option<IntOrValue>,
    pub(super) step: IntOrValue,
}

impl OpRange {
    /// The range of a static slice. If a descending slice includes the first element, the range has no stop,
    /// because -1 would mean the last element.
    pub(super) fn fixed(axis: usize, slice: &DynAxisSlice) -> Option<Self> {
        let slice = slice.as_static()?;
        let stop = slice.start.checked_add(slice.len.checked_mul(slice.step)?)?;
        let (start, stop) = (Some(Int(slice.start)), (stop >= 0).then_some(Int(stop)));
        Some(Self { axis, start, stop, step: Int(slice.step) })
    }

    /// The range from which a `bounds` op computed the slice. `None` if start, length and step do not come
    /// from one `bounds` for this axis of `data`, or if the OpenVINO runtime would infer the range
    /// incorrectly.
    pub(super) fn of_bounds(
        b: &Patch,
        data: Value,
        axis: usize,
        slice: &DynAxisSlice,
    ) -> Result<Option<Self>, OpError> {
        let source = [slice.len, slice.start].into_iter().find_map(|number| match number {
            IntOrValue::Value(value, _) => Some(value.node),
            Int(_) => None,
        });
        let Some(source) = source else { return Ok(None) };
        let output = |port| Value { node: source, port };
        let Op::Bounds(bounds) = b.op_of(output(0)) else { return Ok(None) };
        let is_output = |number, port| match number {
            IntOrValue::Value(value, _) => value == output(port),
            Int(int) => known_scalar(b, output(port)) == Some(int.into()),
        };
        let mut fields = bounds.bind(&b.inputs_of(output(0))?)?;
        for field in fields.iter_mut().flatten() {
            *field = folded(b, *field)?;
        }
        let [Some(size), start, stop, Some(step)] = fields else { return Ok(None) };
        // If a single element is selected, the step is irrelevant.
        let steps_alike = folded(b, slice.step)? == step || slice.len == Int(1);
        if !(is_output(slice.start, 0) && is_output(slice.len, 1) && steps_alike) {
            return Ok(None);
        }
        let size = match size {
            Int(size) => Some(SymExpr::from(size)),
            IntOrValue::Value(value, _) => known_scalar(b, value),
        };
        let dim = b.fact(data)?.shape.dims().and_then(|dims| dims.get(axis));
        let Some(dim) = dim.filter(|&dim| size.as_ref() == Some(dim)) else { return Ok(None) };
        let range = Self { axis, start, stop, step };
        let sizes = b.interval(dim);
        let lens = folded(b, slice.len)?.interval();
        Ok(range.is_inferred_right(sizes, lens).then_some(range))
    }

    /// Whether the OpenVINO runtime infers the range correctly for all axis sizes in `sizes` and all result
    /// lengths in `lens`. This was determined by trying all small ranges.
    ///
    /// - If a bound is unknown, the runtime infers correctly.
    /// - If the bounds are known, the runtime only considers the minimum and the maximum size. For example,
    ///   if the axis has up to eight elements, it infers that `-1:3` is empty, because the range is empty for
    ///   sizes 0 and 8.
    fn is_inferred_right(&self, sizes: Interval, lens: Interval) -> bool {
        let bounds = [self.start, self.stop];
        let Int(step) = self.step else {
            return bounds.iter().flatten().all(|bound| bound.as_int().is_some() || is_unknown(bound));
        };
        if bounds.iter().flatten().any(is_unknown) {
            return true;
        }
        let known = |bound: Option<IntOrValue>| bound.map_or(Some(None), |bound| bound.as_int().map(Some));
        if let [Some(start), Some(stop)] = bounds.map(known) {
            let len = |size: i64| AxisSlice::clamp(size, start, stop, step).map_or(0, |(_, len)| len);
            let (of_least, of_largest) = (len(sizes.lo()), len(sizes.hi()));
            let is_endless = !sizes.has_upper() && of_largest > i64::from(i32::MAX);
            // If the larger size results in fewer elements, the runtime leaves the length unknown.
            return of_least > of_largest
                || (of_least <= lens.lo() && (is_endless || lens.hi() <= of_largest));
        }
        let [start, stop] = bounds.map(|bound| bound.map_or(Interval::ANY, |bound| bound.interval()));
        let is_far = |bound: Option<IntOrValue>, end: i64| bound.is_none_or(|bound| bound == Int(end));
        match step > 0 {
            true => {
                let from_front = is_far(self.start, i64::MIN) || start.lo() >= 0;
                from_front || is_far(self.stop, i64::MAX) || stop.hi() < 0
            }
            false => is_far(self.stop, i64::MIN) || stop.lo() >= 0,
        }
    }

    fn is_backward(&self) -> bool {
        self.step.as_int().is_some_and(|step| step < 0)
    }

    /// A stop that selects up to the end in the direction of the step.
    pub(super) fn last(&self) -> IntOrValue {
        Int(if self.is_backward() { i64::MIN } else { i64::MAX })
    }

    /// A start that selects from the beginning in the direction of the step.
    pub(super) fn first(&self) -> IntOrValue {
        Int(if self.is_backward() { i64::MAX } else { 0 })
    }

    /// Whether Slice-8 can express the range. Slice-8 has no masks, and the default bounds depend on the sign
    /// of the step.
    pub(super) fn has_numbers(&self) -> bool {
        self.step.as_int().is_some() || (self.start.is_some() && self.stop.is_some())
    }

    /// Whether start, stop and step are all known.
    pub(super) fn is_known(&self) -> bool {
        self.numbers().all(|number| number.as_int().is_some())
    }

    /// The start, stop and step that are given.
    pub(super) fn numbers(&self) -> impl Iterator<Item = IntOrValue> {
        [self.start, self.stop, Some(self.step)].into_iter().flatten()
    }
}

/// Replaces a number with its value if inference knows it.
fn folded(b: &GraphBuilder, number: IntOrValue) -> Result<IntOrValue, OpError> {
    match number {
        IntOrValue::Value(value, _) => IntOrValue::fold(b, value),
        Int(_) => Ok(number),
    }
}

/// Whether nothing is known about a number except its type.
pub(super) fn is_unknown(number: &IntOrValue) -> bool {
    let within = number.interval();
    within.lo() <= i64::from(i32::MIN) && within.hi() >= i64::from(i32::MAX)
}

fn known_scalar(b: &GraphBuilder, value: Value) -> Option<SymExpr> {
    b.fact(value).ok()?.elements()?.into_iter().next()
}

#[cfg(test)]
mod tests {
    use snick_ir::rewrite::apply_throughout;
    use snick_ir::{Op, infer};
    use snick_tensor::Tensor;

    use crate::legalize::from_slice::{SliceAs, ranges};
    use crate::lower_slices;
    use crate::testing::run;

    /// Slice-8 has no masks, so the default bounds of a range depend on the sign of the step.
    #[test]
    fn open_ranges_of_unknown_steps_are_written() {
        for masks in ["begin_mask: [1], end_mask: [1]", "begin_mask: [1], end_mask: [0]"] {
            let text = format!(
                "snick 1\ngraph \"g\" {{
                 %x = Parameter-1 {{element_type: f32, shape: \"5\"}}
                 %begin = Const-1 i64[1] <0>
                 %end = Const-1 i64[1] <2>
                 %step = Parameter-1 {{element_type: i64, shape: \"1\"}}
                 %y = StridedSlice-1(%x, %begin, %end, %step) {{{masks}, new_axis_mask: [0],
                 shrink_axis_mask: [0], ellipsis_mask: [0]}}
                 %r = Result-1(%y)\n}}\n"
            );
            let mut read = snick_ir::text::parse(&text, None).unwrap();
            assert_eq!(infer(&mut read), []);
            let mut canonical = read.clone();
            assert_eq!(lower_slices(&mut canonical).applied.len(), 1);
            for slice_as in [SliceAs::Either, SliceAs::Slice, SliceAs::StridedSlice] {
                let mut written = canonical.clone();
                apply_throughout(&mut written, &[ranges(slice_as)]).unwrap();
                for step in [-3i64, -1, 1, 2] {
                    let x = Tensor::from_vec(&[5], vec![1f32, 2.0, 3.0, 4.0, 5.0]).unwrap();
                    let inputs = [x, Tensor::from_vec(&[1], vec![step]).unwrap()];
                    let want = run(&read, &inputs).unwrap();
                    assert_eq!(run(&written, &inputs).unwrap(), want, "{masks} {slice_as:?} {step}");
                }
            }
        }
    }

    /// The number of Slice layers that are written for a StridedSlice with this begin, end and step.
    fn slices(begin: &str, end: &str, step: &str) -> usize {
        let text = format!(
            "snick 1\ngraph \"g\" {{
             %x = Parameter-1 {{element_type: f32, shape: \"N,M\"}}
             %n = Parameter-1 {{element_type: i64, shape: \"1\"}}
             {begin}
             %end = Const-1 i64{end}
             %step = Const-1 i64{step}
             %y = StridedSlice-1(%x, %begin, %end, %step) {{begin_mask: [0, 0], end_mask: [0, 1],
             new_axis_mask: [0, 0], shrink_axis_mask: [0, 0], ellipsis_mask: [0, 0]}}
             %r = Result-1(%y)\n}}\n"
        );
        let mut graph = snick_ir::text::parse(&text, None).unwrap();
        assert_eq!(infer(&mut graph), []);
        assert_eq!(lower_slices(&mut graph).applied.len(), 1);
        apply_throughout(&mut graph, &[ranges(SliceAs::Slice)]).unwrap();
        graph.ids().filter(|&id| matches!(graph.node(id).op(), Op::Slice8(_))).count()
    }

    /// If a single layer sliced both axes, inference would not see the known size of the first axis because
    /// of the unknown range.
    #[test]
    fn known_and_unknown_ranges_are_two_layers() {
        let begin = "%one = Const-1 i64[1] <1>\n%begin = Concat-1(%one, %n) {axis: 0}";
        assert_eq!(slices(begin, "[2] <-1, 0>", "[2] <1, 1>"), 2);
        // A backward range needs no second layer that reverses it.
        let begin = "%one = Const-1 i64[1] <-1>\n%begin = Concat-1(%one, %n) {axis: 0}";
        assert_eq!(slices(begin, "[2] <1, 0>", "[2] <-1, -2>"), 2);
    }
}
