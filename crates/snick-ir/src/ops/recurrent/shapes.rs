//! Sizes of recurrent ops, such as batch and hidden size, merged from all inputs.

use snick_shape::{Interval, SymExpr};
use snick_tensor::ElementType;

use super::cell::CellKind;
use crate::{Infer, OpError};

/// The sizes that determine the outputs.
pub struct Sizes {
    /// The common element type of all inputs except the lengths.
    pub element_type: ElementType,
    /// Number of sequences.
    pub batch: SymExpr,
    /// Number of steps; 1 for a cell.
    pub steps: SymExpr,
    /// Size of a state.
    pub hidden: SymExpr,
}

/// Describes the order of the inputs and axes of an op.
struct Layout {
    kind: CellKind,
    /// Number of directions of a sequence; `None` for a cell.
    directions: Option<usize>,
}

impl Layout {
    /// The index of the input W; the inputs R, B and peepholes follow.
    fn weights(&self) -> usize {
        1 + self.kind.states() + usize::from(self.directions.is_some())
    }

    fn lengths(&self) -> Option<usize> {
        self.directions.map(|_| 1 + self.kind.states())
    }

    fn states(&self) -> impl Iterator<Item = usize> + use<> {
        1..=self.kind.states()
    }
}

/// Infers the sizes and checks the ranks and types of the first `inputs` inputs. `directions` is `None` for a
/// cell.
pub fn sizes(
    cx: &mut Infer,
    kind: CellKind,
    directions: Option<usize>,
    inputs: usize,
) -> Result<Sizes, OpError> {
    let layout = Layout { kind, directions };
    let lengths = layout.lengths();
    let element_type = cx.common_type((0..inputs).filter(|&i| Some(i) != lengths));
    if element_type == ElementType::String && directions.is_none() {
        return Err(OpError::element_type("the inputs", element_type, "numbers"));
    }
    // Lengths should be integers, but some converters write them as floats.
    let counts = lengths.map(|lengths| cx.element_type(lengths));
    if let Some(counts @ (ElementType::String | ElementType::Boolean)) = counts {
        return Err(OpError::element_type("the sequence lengths", counts, "numbers"));
    }
    let extra = usize::from(directions.is_some());
    let weights = layout.weights();
    for i in 0..inputs {
        let rank = match i {
            i if Some(i) == lengths => 1,
            i if i >= weights + 2 => 1 + extra,
            _ => 2 + extra,
        };
        cx.expect_rank(i, &rank.to_string(), |got| got == rank)?;
    }
    if let Some(directions) = directions {
        let expected = SymExpr::from(directions as i64);
        let axes = layout.states().map(|i| (i, 1)).chain((weights..inputs).map(|i| (i, 0)));
        for (i, axis) in axes {
            if let Some(got) = dim(cx, i, axis) {
                cx.merge_or_report("numbers of directions", &expected, &got);
            }
        }
    }
    let mut batch = None;
    for i in std::iter::once(0).chain(layout.states()).chain(lengths) {
        take(cx, "batch sizes", &mut batch, i, 0);
    }
    let mut width = None;
    for i in [0, weights] {
        take(cx, "sizes of an element of the sequence", &mut width, i, 1 + extra);
    }
    let mut hidden = None;
    for i in layout.states().chain([weights + 1]) {
        take(cx, "hidden sizes", &mut hidden, i, 1 + extra);
    }
    let blocks = [(weights, kind.gates()), (weights + 1, kind.gates()), (weights + 2, kind.biases())];
    for (i, count) in blocks.into_iter().chain((weights + 3 < inputs).then_some((weights + 3, 3))) {
        let Some(rows) = dim(cx, i, extra) else { continue };
        let Some(size) = block_size(cx, &rows, count) else { continue };
        hidden = Some(match hidden {
            Some(hidden) => cx.merge_or_report("hidden sizes", &hidden, &size),
            None => size,
        });
    }
    let steps = if directions.is_some() { dim(cx, 0, 1) } else { Some(SymExpr::from(1)) };
    let mut or_unknown = |size: Option<SymExpr>| size.unwrap_or_else(|| cx.unknown(Interval::DIM));
    Ok(Sizes { element_type, batch: or_unknown(batch), steps: or_unknown(steps), hidden: or_unknown(hidden) })
}

fn dim(cx: &Infer, i: usize, axis: usize) -> Option<SymExpr> {
    cx.optional(i)?.shape.dims()?.get(axis).cloned()
}

/// Merges a dim of an input into a size.
fn take(cx: &mut Infer, what: &str, size: &mut Option<SymExpr>, i: usize, axis: usize) {
    if let Some(got) = dim(cx, i, axis) {
        *size = Some(match size.take() {
            Some(size) => cx.merge_or_report(what, &size, &got),
            None => got,
        });
    }
}

/// The size of each of `count` equal blocks of rows; reports an error if the rows do not divide evenly.
fn block_size(cx: &mut Infer, rows: &SymExpr, count: usize) -> Option<SymExpr> {
    let count = count as i64;
    if let Some(rows) = rows.as_const()
        && rows % count != 0
    {
        cx.report(OpError::out_of_range(
            "the number of rows of the weights",
            rows,
            format!("a multiple of {count}"),
        ));
        return None;
    }
    Some(cx.floor_div(rows, &SymExpr::from(count)))
}
