//! Slice-8 whose axes, or their number, are known only at run time. Each axis of the data is sliced by the
//! entry of the index inputs that names the axis, if any.

use snick_shape::SymExpr;
use snick_tensor::SmallVector;

use super::axis_range::AxisRange;
use super::index_inputs::{IndexEntry, IndexInputs};
use crate::{Infer, IntOrValue};

/// A Slice-8 with unknown axes.
#[derive(Clone, Debug)]
pub struct DynamicAxesSlice {
    /// Rank of the data; at least 1.
    pub rank: usize,
    /// Start, stop, step and, optionally, axes.
    pub indices: IndexInputs,
}

impl DynamicAxesSlice {
    /// The dims of the output. Each is the hull of the results of all entries that may name the axis.
    pub(super) fn infer(&self, cx: &mut Infer, dims: &[SymExpr]) -> SmallVector<SymExpr, 4> {
        let mut sliced = SmallVector::new();
        for (axis, dim) in dims.iter().enumerate() {
            let Some(count) = self.indices.count else {
                sliced.push(cx.up_to(dim));
                continue;
            };
            let range = |at: usize| AxisRange::of_entry(&self.indices, at, axis);
            let lengths = match self.entries_naming(cx, count, axis) {
                Naming::Only(at) => SmallVector::from([cx.range_length(&range(at), dim)]),
                Naming::Some(entries) => {
                    let lengths = entries.iter().map(|&at| cx.range_length(&range(at), dim));
                    let mut lengths: SmallVector<SymExpr, 4> = lengths.collect();
                    if count < self.rank {
                        lengths.push(dim.clone());
                    }
                    lengths
                }
            };
            sliced.push(one_of(cx, &lengths).unwrap_or_else(|| cx.up_to(dim)));
        }
        sliced
    }

    /// The entries that may name an axis.
    fn entries_naming(&self, cx: &mut Infer, count: usize, axis: usize) -> Naming {
        let names = [axis as i64, axis as i64 - self.rank as i64];
        let mut entries = SmallVector::new();
        for at in 0..count {
            match self.indices.entry(4, at) {
                IntOrValue::Int(named) if names.contains(&named) => return Naming::Only(at),
                IntOrValue::Int(_) => {}
                IntOrValue::Value(IndexEntry { expr: None, .. }, _) => entries.push(at),
                IntOrValue::Value(IndexEntry { expr: Some(named), .. }, _) => {
                    let range = cx.interval(&named);
                    entries.extend(names.iter().any(|&name| range.contains(name)).then_some(at));
                }
            }
        }
        Naming::Some(entries)
    }
}

/// The entries that may slice an axis.
enum Naming {
    /// This entry slices the axis.
    Only(usize),
    /// At most one of these entries slices the axis.
    Some(SmallVector<usize, 4>),
}

/// A length that equals one of `lengths`; `None` for an empty list.
fn one_of(cx: &mut Infer, lengths: &[SymExpr]) -> Option<SymExpr> {
    let (first, rest) = lengths.split_first()?;
    if rest.iter().all(|length| length == first) {
        return Some(first.clone());
    }
    let start = cx.interval(first);
    let hull = rest.iter().fold(start, |hull, length| hull.hull(cx.interval(length)));
    Some(cx.unknown(hull))
}

#[cfg(test)]
mod tests {
    use snick_shape::Interval;

    use crate::{infer, text};

    /// The intervals of `[4, 6]` sliced by these entries, on axes known only at run time.
    fn sliced(starts: &[i64], stops: &[i64]) -> Vec<Interval> {
        let count = starts.len();
        let steps = vec![1; count];
        let layers = format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"4,6\"}}\n\
             %start = Const-1 i64[{count}] <{}>\n%stop = Const-1 i64[{count}] <{}>\n\
             %step = Const-1 i64[{count}] <{}>\n\
             %axes = Parameter-1 {{element_type: i64, shape: \"{count}\"}}\n\
             %y = Slice-8(%x, %start, %stop, %step, %axes)",
            list(starts),
            list(stops),
            list(&steps)
        );
        let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
        assert_eq!(infer(&mut graph), []);
        let dims = graph.node(graph.ids().last().unwrap()).outs()[0].fact.shape.dims().unwrap();
        dims.iter().map(|dim| graph.symbols().interval(dim)).collect()
    }

    fn list(ints: &[i64]) -> String {
        ints.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn sizes_are_the_hull_of_what_the_entries_may_leave() {
        let of = |lo, hi| Interval::new(lo, hi).unwrap();
        // The entry may slice either axis, and the other axis then keeps its size.
        assert_eq!(sliced(&[0], &[2]), [of(2, 4), of(2, 6)]);
        // Together, the two entries name both axes.
        assert_eq!(sliced(&[0, 1], &[2, 5]), [of(2, 3), of(2, 4)]);
        assert_eq!(sliced(&[0, 0], &[2, 2]), [of(2, 2), of(2, 2)]);
    }
}
