//! Slice-like layers in numpy notation.

use snick_shape::{SymExpr, Symbols};
use snick_tensor::SmallVector;

use super::axis_range::AxisRange;
use super::index_inputs::IndexEntry;
use super::slice8::SliceRanges;
use super::split::known_axis;
use super::strided_slice::EntryPlan;
use crate::{Fact, Graph, IntOrValue, NodeId, Op};

/// Writes each output of a slice-like layer in numpy notation, such as `[:, ::-1, None]`. Axes whose bounds
/// are not all numbers are written as `start:+len:step`, with `?` for a start or step that is only known at
/// run time. Returns `None` for other layers, and if a rank or an axis is unknown.
pub fn notation(graph: &Graph, id: NodeId) -> Option<Vec<String>> {
    let inputs = graph.inputs(id);
    let facts: SmallVector<&Fact, 5> = inputs.iter().map(|v| graph.fact((*v)?)).collect::<Option<_>>()?;
    let dims = facts.first()?.shape.dims()?;
    let selected = graph.node(id).outs().first().and_then(|out| out.fact.shape.dims()).unwrap_or_default();
    let symbols = graph.symbols();
    // The sizes of an axis before and after slicing, given its index in the output.
    let axis = |axis: usize, out: usize| AxisSizes { symbols, dim: dims.get(axis), len: selected.get(out) };
    match graph.node(id).op() {
        Op::Slice(slice) => {
            let operands: SmallVector<usize, 6> = (1..facts.len()).collect();
            let mut entries = vec![":".to_string(); dims.len()];
            for (at, slice) in slice.bind(&operands).ok()? {
                let number = |number: IntOrValue<usize>| match number {
                    IntOrValue::Int(int) => Some(SymExpr::from(int)),
                    IntOrValue::Value(input, _) => facts.get(input)?.elements()?.into_iter().next(),
                };
                *entries.get_mut(at)? = axis(at, at).of_slice(slice.numbers().map(number));
            }
            Some(vec![brackets(entries)])
        }
        Op::Slice8(_) => {
            let SliceRanges::Known(ranges) = SliceRanges::of(&facts).ok()? else { return None };
            let mut entries = vec![":".to_string(); dims.len()];
            for range in &ranges {
                entries[range.axis] = axis(range.axis, range.axis).of_range(range);
            }
            Some(vec![brackets(entries)])
        }
        Op::StridedSlice(slice) => {
            let plan = slice.plan(&facts).ok()??;
            let (mut entries, mut out) = (Vec::new(), 0);
            for entry in &plan.0 {
                let (count, text) = match entry {
                    EntryPlan::Whole(count) => (*count, ":".to_string()),
                    EntryPlan::NewAxis => (1, "None".to_string()),
                    EntryPlan::Range(range) => (1, axis(range.axis, out).of_range(range)),
                };
                out += if matches!(entry, EntryPlan::Range(range) if range.single) { 0 } else { count };
                entries.extend(vec![text; count]);
            }
            Some(vec![brackets(entries)])
        }
        Op::Reverse(reverse) => {
            let mut entries = vec![":".to_string(); dims.len()];
            for axis in reverse.axes(&facts[1].ints()?, dims.len()).ok()? {
                entries[axis] = "::-1".into();
            }
            Some(vec![brackets(entries)])
        }
        Op::Split(_) | Op::VariadicSplit(_) => of_parts(graph, id, known_axis(facts[1], dims.len()).ok()??),
        _ => None,
    }
}

/// The parts of a split, using the inferred sizes.
fn of_parts(graph: &Graph, id: NodeId, axis: usize) -> Option<Vec<String>> {
    let (symbols, one) = (graph.symbols(), SymExpr::from(1));
    let mut start = SymExpr::from(0);
    let mut parts = Vec::new();
    for out in graph.node(id).outs() {
        let len = out.fact.shape.dims()?.get(axis)?;
        let sizes = AxisSizes { symbols, dim: None, len: Some(len) };
        let mut entries = vec![":".to_string(); axis];
        entries.push(sizes.of_slice([Some(start.clone()), Some(len.clone()), Some(one.clone())]));
        parts.push(brackets(entries));
        start = symbols.add(&start, len)?;
    }
    Some(parts)
}

/// The sizes of an axis before and after slicing, as far as they are known.
struct AxisSizes<'g> {
    symbols: &'g Symbols,
    dim: Option<&'g SymExpr>,
    len: Option<&'g SymExpr>,
}

impl AxisSizes<'_> {
    /// Whether a step of -1 selects the whole axis.
    fn reverses(&self, step: Option<i64>) -> bool {
        step == Some(-1) && self.len.is_some() && self.len == self.dim
    }

    fn text(&self, expr: Option<SymExpr>) -> String {
        expr.map_or("?".to_string(), |expr| self.symbols.display(&expr).to_string())
    }

    /// A slice without clamping, given by start, length and step.
    fn of_slice(&self, [start, len, step]: [Option<SymExpr>; 3]) -> String {
        let len = len.or_else(|| self.len.cloned());
        let ints = [&start, &len, &step].map(|number| number.as_ref().and_then(SymExpr::as_const));
        if self.reverses(ints[2]) {
            return "::-1".to_string();
        }
        let suffix = if ints[2] == Some(1) { String::new() } else { format!(":{}", self.text(step)) };
        let [Some(first), Some(count), Some(by)] = ints else {
            return format!("{}:+{}{suffix}", self.text(start), self.text(len));
        };
        let stop = count.checked_mul(by).and_then(|span| span.checked_add(first));
        // With a negative step, numpy cannot express an end before the first element, so the end is omitted.
        let stop = stop.filter(|&stop| stop >= 0).map(|stop| stop.to_string()).unwrap_or_default();
        format!("{first}:{stop}{suffix}")
    }

    /// A range as its layer declares it, before clamping.
    fn of_range(&self, range: &AxisRange) -> String {
        let known = |bound: &IntOrValue<IndexEntry>| self.text(bound.as_expr());
        if range.single {
            return range.start.as_ref().map(known).unwrap_or_default();
        }
        let step = range.step.as_int();
        if self.reverses(step) {
            return "::-1".to_string();
        }
        // A bound that may be negative may count from either end of the axis, so it is written as declared.
        let is_signed = |expr: &SymExpr| expr.as_const().is_some() || self.symbols.interval(expr).lo() < 0;
        let is_declared = |bound: &Option<IntOrValue<IndexEntry>>| {
            bound.as_ref().is_none_or(|bound| bound.as_expr().is_some_and(|expr| is_signed(&expr)))
        };
        if !is_declared(&range.start) || !is_declared(&range.stop) || step.is_none() {
            return self.of_slice([self.first(range), None, range.step.as_expr()]);
        }
        let mut start = range.start.as_ref().map(known).unwrap_or_default();
        let mut stop = range.stop.as_ref().map(known).unwrap_or_default();
        if step > Some(0) && start == "0" {
            start.clear();
        }
        let end = range.stop.as_ref().and_then(IntOrValue::as_int);
        if step > Some(0) && end.is_some_and(|end| end >= i64::from(i32::MAX)) {
            stop.clear();
        }
        match step {
            Some(1) => format!("{start}:{stop}"),
            _ => format!("{start}:{stop}:{}", known(&range.step)),
        }
    }

    /// The index of the first element; a negative start counts from the end of the axis.
    fn first(&self, range: &AxisRange) -> Option<SymExpr> {
        let from_end = |start: i64| {
            let index = self.symbols.add(self.dim?, &start.into())?;
            self.symbols.max(&index, &0.into())
        };
        match &range.start {
            None if range.step.interval().lo() > 0 => Some(0.into()),
            None if range.step.interval().hi() < 0 => from_end(-1),
            None => None,
            Some(start) => match start.as_int() {
                Some(int) if int < 0 => from_end(int),
                _ => start.as_expr(),
            },
        }
    }
}

/// Joins entries in brackets, omitting trailing whole axes.
fn brackets(mut entries: Vec<String>) -> String {
    while entries.last().is_some_and(|entry| entry == ":") {
        entries.pop();
    }
    if entries.is_empty() { "[...]".into() } else { format!("[{}]", entries.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::notation;
    use crate::{infer, text};

    /// The notation of the last of these layers.
    fn of_last(layers: &str) -> Option<Vec<String>> {
        let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
        assert_eq!(infer(&mut graph), []);
        notation(&graph, graph.ids().last().unwrap())
    }

    #[test]
    fn slice_8_is_written_as_in_numpy() {
        let of_index = |start: &str, stop: i64, step: i64| {
            let layers = format!(
                "%x = Parameter-1 {{element_type: f32, shape: \"N,10\"}}\n%start = {start}\n\
                 %stop = Const-1 i64[1] <{stop}>\n%step = Const-1 i64[1] <{step}>\n\
                 %axis = Const-1 i64[1] <1>\n%y = Slice-8(%x, %start, %stop, %step, %axis)"
            );
            let outputs = of_last(&layers).unwrap();
            assert_eq!(outputs.len(), 1);
            outputs[0].clone()
        };
        let of = |start: i64, stop, step| of_index(&format!("Const-1 i64[1] <{start}>"), stop, step);
        let end = i64::from(i32::MAX);
        assert_eq!(of(1, 4, 1), "[:, 1:4]");
        assert_eq!(of(0, 4, 2), "[:, :4:2]");
        assert_eq!(of(3, end, 1), "[:, 3:]");
        assert_eq!(of(0, end, 1), "[...]");
        assert_eq!(of(0, end - 1, 1), "[:, :2147483646]");
        assert_eq!(of(-1, -4, -1), "[:, -1:-4:-1]");
        assert_eq!(of(0, end, -1), "[:, 0:2147483647:-1]");
        assert_eq!(of(-1, -end, -1), "[:, ::-1]");
        assert_eq!(of_index("Parameter-1 {element_type: i64, shape: \"1\"}", 4, 1), "[:, ?:+s1]");
    }

    #[test]
    fn bounds_that_are_not_numbers_are_written_with_their_length() {
        let split = "%x = Parameter-1 {element_type: f32, shape: \"2*N\"}\n%axis = Const-1 i64[] <0>\n\
                     %y = Split-1(%x, %axis) {num_splits: 2} : (_, _)";
        assert_eq!(of_last(split).unwrap(), ["[0:+N]", "[N:+N]"]);
        let slice = |start: &str, len: &str, step: i64| {
            format!(
                "%x = Parameter-1 {{element_type: f32, shape: \"N=4..\"}}\n%from = ShapeOf-3(%x) {{output_type: \
                 i64}}\n%zero = Const-1 i64[] <0>\n%n = Squeeze-1(%from, %zero)\n%y = slice(%x{}) {{axes: [0], \
                 start: [{start}], len: [{len}], step: [{step}]}}",
                if len.contains("in") { ", %n" } else { "" }
            )
        };
        assert_eq!(of_last(&slice("0", "\"in 4..\"", 1)).unwrap(), ["[0:+N]"]);
        assert_eq!(of_last(&slice("1", "3", 1)).unwrap(), ["[1:4]"]);
        assert_eq!(of_last(&slice("3", "3", -1)).unwrap(), ["[3:0:-1]"]);
    }

    #[test]
    fn a_reversed_whole_axis_has_no_bounds() {
        let of = |data: &str| {
            let layers = format!(
                "%x = Parameter-1 {{element_type: f32, shape: \"{data}\"}}\n%start = Const-1 i64[1] <-1>\n\
                 %stop = Const-1 i64[1] <-9223372036854775808>\n%step = Const-1 i64[1] <-1>\n\
                 %y = Slice-8(%x, %start, %stop, %step)"
            );
            of_last(&layers).unwrap()
        };
        assert_eq!((of("N"), of("4")), (vec!["[::-1]".to_string()], vec!["[::-1]".to_string()]));
    }

    #[test]
    fn only_slice_like_layers_have_a_notation() {
        assert_eq!(of_last("%x = Parameter-1 {element_type: f32, shape: \"4\"}\n%y = ReLU-1(%x)"), None);
    }
}
