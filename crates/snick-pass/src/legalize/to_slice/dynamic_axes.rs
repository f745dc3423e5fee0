//! Slice-8 if the axes, or their number, are only known at run time. The primitive slices every axis, with
//! the start, stop and step of the entry for this axis.
//!
//! Inputs that OpenVINO rejects at run time must also fail here: an axis that is out of range or repeated,
//! more entries than axes, or lists of different lengths. For such inputs, a start is moved out of its
//! interval, so that the slice fails.

use snick_ir::ops::slice::axis_range::AxisRange;
use snick_ir::ops::slice::dyn_axis_slice::DynAxisSlice;
use snick_ir::ops::slice::dynamic_axes::DynamicAxesSlice;
use snick_ir::rewrite::{Patch, RewriteResult};
use snick_ir::{IntOrValue, OpError, Value};
use snick_shape::Interval;
use snick_tensor::SmallVector;

use IntOrValue::Int;

use super::range::{clamped, index_vector, read};
use crate::legalize::index::from_end;

/// Maximum number of pairs of an entry and an axis; each pair adds ops.
const MAX_PAIRS: usize = 1024;

/// The start, stop and step for an axis without an entry.
const WHOLE: [i64; 3] = [0, i64::MAX, 1];

pub(super) fn lower(op: &DynamicAxesSlice, cx: &mut Patch) -> Result<RewriteResult, OpError> {
    let rank = op.rank;
    let entries = op.indices.count.unwrap_or(rank);
    if entries.saturating_mul(rank) > MAX_PAIRS {
        let reason = format!("which of {rank} axes are sliced is known only at run time");
        return Ok(RewriteResult::Declined(reason));
    }
    let data = cx.input(0)?;
    let dims = cx.dims(data)?.unwrap_or_default();
    let columns = Columns::new(cx, op, entries)?;
    let mut named = Int(0);
    let mut slices: SmallVector<(usize, Option<DynAxisSlice>), 4> = SmallVector::new();
    for (axis, dim) in dims.iter().enumerate() {
        let mut numbers = WHOLE.map(Int);
        let mut hit = Int(0);
        for at in 0..entries {
            let is_named = columns.names(cx, at, axis)?;
            hit = is_named.select(cx, Int(1), hit)?;
            for (number, column) in numbers.iter_mut().zip(&columns.numbers) {
                *number = is_named.select(cx, column[at], *number)?;
            }
        }
        named = named.add(cx, hit)?;
        let [start, stop, step] = numbers;
        let range = AxisRange { axis, entry: 0, start: Some(start), stop: Some(stop), step, single: false };
        let len = cx.output_dim(0, axis)?;
        slices.push((axis, clamped(cx, data, dim, &range, len, |_, number| Ok(*number))?));
    }
    // The fault is 0 if all entries have distinct axes and all lists have the same length.
    let mut fault = Int(0);
    for &other in columns.other_counts.iter().chain([&named]) {
        let (above, below) = (other.sub(cx, columns.count)?, columns.count.sub(cx, other)?);
        let apart = above.max(cx, below)?;
        fault = fault.add(cx, apart)?;
    }
    if fault != Int(0)
        && let Some((axis, slice)) = slices.first_mut()
    {
        let sliced = slice.map_or_else(|| whole(cx, data, *axis), Ok)?;
        *slice = Some(fail_if(cx, fault, sliced)?);
    }
    let slices = slices.into_iter().filter_map(|(axis, slice)| Some((axis, slice?)));
    cx.slice(data, slices).map(RewriteResult::one)
}

/// The entries of all lists, as scalars.
struct Columns {
    /// Start, stop and step of each entry.
    numbers: SmallVector<Vec<IntOrValue>, 3>,
    /// The normalised axis of each entry; `None` if entry `k` is for axis `k`.
    axes: Option<Vec<IntOrValue>>,
    /// The number of entries.
    count: IntOrValue,
    /// The lengths of the other lists, which must be equal to `count`.
    other_counts: SmallVector<IntOrValue, 4>,
}

impl Columns {
    /// Reads the lists. If the number of entries is unknown, pads the lists with entries that have no axis
    /// and select everything.
    fn new(cx: &mut Patch, op: &DynamicAxesSlice, entries: usize) -> Result<Self, OpError> {
        let mut counts: SmallVector<IntOrValue, 4> = SmallVector::new();
        let mut columns: SmallVector<Vec<IntOrValue>, 4> = SmallVector::new();
        for input in 1..op.indices.input_count() {
            let list = cx.input(input)?;
            counts.push(IntOrValue::dim(cx, list, 0)?);
            let filled = match op.indices.count {
                Some(_) => None,
                None => {
                    let fill = WHOLE.get(input - 1).copied().unwrap_or(i64::MIN);
                    let list = index_vector(cx, input)?;
                    let fill = cx.ints(&vec![fill; op.rank])?;
                    Some(cx.concat(0, &[list, fill])?)
                }
            };
            let mut column = Vec::with_capacity(entries);
            for at in 0..entries {
                column.push(match filled {
                    Some(filled) => IntOrValue::element(cx, filled, at)?,
                    None => read(cx, &op.indices.entry(input, at))?,
                });
            }
            if input > 3 {
                for axis in &mut column {
                    *axis = from_end(cx, *axis, Int(op.rank as i64))?;
                }
            }
            columns.push(column);
        }
        let axes = if columns.len() > 3 { columns.pop() } else { None };
        let known = counts.iter().position(|count| count.as_int().is_some());
        let count = counts.swap_remove(known.unwrap_or(0));
        counts.retain(|other| *other != count);
        Ok(Self { numbers: columns.into_iter().collect(), axes, count, other_counts: counts })
    }

    /// Whether entry `at` is for `axis`.
    fn names(&self, cx: &mut Patch, at: usize, axis: usize) -> Result<IntOrValue, OpError> {
        match &self.axes {
            Some(axes) => axes[at].equal(cx, Int(axis as i64)),
            // Without a list of axes, entry k is for axis k, unless it is padding.
            None if at != axis => Ok(Int(0)),
            None => Int(at as i64).less(cx, self.count),
        }
    }
}

/// The slice of a whole axis.
fn whole(cx: &mut Patch, data: Value, axis: usize) -> Result<DynAxisSlice, OpError> {
    let dim = cx.output_dim(0, axis)?;
    let len = match dim.as_const() {
        Some(size) => Int(size),
        None => {
            let sizes = cx.interval(&dim);
            IntOrValue::dim(cx, data, axis)?.within(sizes)
        }
    };
    Ok(DynAxisSlice { start: Int(0), len, step: Int(1) })
}

/// If `fault` is not 0, moves the start below 0 and out of its interval, so that the slice fails.
fn fail_if(cx: &mut Patch, fault: IntOrValue, slice: DynAxisSlice) -> Result<DynAxisSlice, OpError> {
    let within = slice.start.interval();
    let fails = Int(0).less(cx, fault)?;
    let outside = Int(within.lo().saturating_sub(1).min(-1));
    let start = fails.select(cx, outside, slice.start)?.within(within);
    // A slice that is known to be empty would not check its start, so its length is hidden from inference.
    let len = match slice.len {
        Int(0) => IntOrValue::Value(cx.int(0)?, Interval::exact(0)),
        len => len,
    };
    Ok(DynAxisSlice { start, len, ..slice })
}

#[cfg(test)]
mod tests {
    use snick_ir::infer;
    use snick_tensor::Tensor;

    use crate::lower_slices;
    use crate::testing::run;

    #[test]
    fn an_axis_out_of_range_fails_when_it_runs() {
        let text = "snick 1\ngraph \"g\" {
             %x = Parameter-1 {element_type: f32, shape: \"4\"}
             %axes = Parameter-1 {element_type: i64, shape: \"1\"}
             %start = Const-1 i64[1] <1>
             %stop = Const-1 i64[1] <3>
             %step = Const-1 i64[1] <1>
             %y = Slice-8(%x, %start, %stop, %step, %axes)
             %r = Result-1(%y)\n}\n";
        let mut graph = snick_ir::text::parse(text, None).unwrap();
        assert_eq!(infer(&mut graph), []);
        assert_eq!(lower_slices(&mut graph).applied.len(), 1);
        let on = |axis: i64| {
            let x = Tensor::from_vec(&[4], vec![1f32, 2.0, 3.0, 4.0]).unwrap();
            run(&graph, &[x, Tensor::from_vec(&[1], vec![axis]).unwrap()])
        };
        assert_eq!(on(0).unwrap(), on(-1).unwrap());
        assert_eq!(on(0).unwrap().to_f64_vec().unwrap(), [2.0, 3.0]);
        assert!(on(1).is_err() && on(-2).is_err());
    }
}
