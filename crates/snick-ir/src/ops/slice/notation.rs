//! Slice-like layers in numpy notation.

use smallvec::SmallVec;
use snick_shape::{SymExpr, Symbols};

use super::axis_range::AxisRange;
use super::index_inputs::IndexEntry;
use super::primitive::Slice;
use super::slice8::SliceRanges;
use super::split::known_axis;
use super::strided_slice::EntryPlan;
use crate::{Fact, Graph, IntOrValue, NodeId, Op};

/// Writes each output of a slice-like layer in numpy notation, such as `[:, ::-1, None]`. Returns `None` for
/// other layers, and if a rank or an axis is unknown. Unknown starts, stops and steps are written as `?`.
pub fn notation(graph: &Graph, id: NodeId) -> Option<Vec<String>> {
    let inputs = graph.inputs(id);
    let facts: SmallVec<[&Fact; 5]> = inputs.iter().map(|v| graph.fact((*v)?)).collect::<Option<_>>()?;
    let rank = facts.first()?.shape.rank()?;
    let symbols = graph.symbols();
    match graph.node(id).op() {
        Op::Slice(slice) => Some(vec![of_primitive(slice, rank)]),
        Op::Slice8(_) => match SliceRanges::of(&facts).ok()? {
            SliceRanges::Known(ranges) => Some(vec![of_ranges(&ranges, rank, symbols)]),
            _ => None,
        },
        Op::StridedSlice(slice) => {
            let plan = slice.plan(&facts).ok()??;
            let entries = plan.0.iter().flat_map(|entry| match entry {
                EntryPlan::Whole(count) => vec![":".to_string(); *count],
                EntryPlan::NewAxis => vec!["None".to_string()],
                EntryPlan::Range(range) => vec![range_text(range, symbols)],
            });
            Some(vec![brackets(entries.collect())])
        }
        Op::Reverse(reverse) => {
            let mut entries = vec![":".to_string(); rank];
            for axis in reverse.axes(&facts[1].ints()?, rank).ok()? {
                entries[axis] = "::-1".into();
            }
            Some(vec![brackets(entries)])
        }
        Op::Split(_) | Op::VariadicSplit(_) => of_parts(graph, id, known_axis(facts[1], rank).ok()??),
        _ => None,
    }
}

fn of_primitive(slice: &Slice, rank: usize) -> String {
    let text = |number: IntOrValue<()>| number.as_int().map_or("?".to_string(), |int| int.to_string());
    let mut entries = vec![":".to_string(); rank];
    for (axis, slice) in &slice.axes {
        let sliced = match slice.as_static() {
            Some(s) => {
                let stop = s.len.checked_mul(s.step).and_then(|span| span.checked_add(s.start));
                // For a negative step, numpy cannot express an end before the first element, so it is
                // omitted.
                let stop = stop.filter(|&stop| stop >= 0).map(|stop| stop.to_string()).unwrap_or_default();
                let step = if s.step == 1 { String::new() } else { format!(":{}", s.step) };
                format!("{}:{stop}{step}", s.start)
            }
            None => format!("{}:+{}:{}", text(slice.start), text(slice.len), text(slice.step)),
        };
        if let Some(entry) = entries.get_mut(*axis) {
            *entry = sliced;
        }
    }
    brackets(entries)
}

fn of_ranges(ranges: &[AxisRange], rank: usize, symbols: &Symbols) -> String {
    let mut entries = vec![":".to_string(); rank];
    for range in ranges {
        entries[range.axis] = range_text(range, symbols);
    }
    brackets(entries)
}

/// The parts of a split, using the inferred sizes.
fn of_parts(graph: &Graph, id: NodeId, axis: usize) -> Option<Vec<String>> {
    let mut start = SymExpr::from(0);
    let mut parts = Vec::new();
    for out in graph.node(id).outs() {
        let symbols = graph.symbols();
        let stop = symbols.add(&start, out.fact.shape.dims()?.get(axis)?)?;
        let mut entries = vec![":".to_string(); axis];
        entries.push(format!("{}:{}", symbols.display(&start), symbols.display(&stop)));
        parts.push(brackets(entries));
        start = stop;
    }
    Some(parts)
}

/// Writes `start:stop:step` in numpy notation.
fn range_text(range: &AxisRange, symbols: &Symbols) -> String {
    let known = |expr: SymExpr| symbols.display(&expr).to_string();
    let text = |bound: &IntOrValue<IndexEntry>| bound.as_expr().map_or("?".to_string(), known);
    let mut start = range.start.as_ref().map(text).unwrap_or_default();
    let mut stop = range.stop.as_ref().map(text).unwrap_or_default();
    if range.single {
        return start;
    }
    let step = range.step.as_int();
    if step > Some(0) && start == "0" {
        start.clear();
    }
    let end = range.stop.as_ref().and_then(IntOrValue::as_int);
    if step > Some(0) && end.is_some_and(|end| end >= i64::from(i32::MAX)) {
        stop.clear();
    }
    match step {
        Some(1) => format!("{start}:{stop}"),
        _ => format!("{start}:{stop}:{}", text(&range.step)),
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
        assert_eq!(of_index("Parameter-1 {element_type: i64, shape: \"1\"}", 4, 1), "[:, ?:4]");
    }

    #[test]
    fn only_slice_like_layers_have_a_notation() {
        assert_eq!(of_last("%x = Parameter-1 {element_type: f32, shape: \"4\"}\n%y = Relu-1(%x)"), None);
    }
}
