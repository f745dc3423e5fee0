//! Recurrent cells over whole sequences.

use snick_shape::{Shape, SymExpr};
use snick_tensor::Tensor;

use super::cell::{Cell, CellKind};
use super::direction::Direction;
use super::shapes::{Sizes, sizes};
use super::unroll::{Unroll, unroll};
use crate::{Fact, Facts, Infer, OpError};

/// Infers H after every step and the final states.
pub(super) fn infer_sequence(cx: &mut Infer, kind: CellKind, direction: Direction) -> Result<Facts, OpError> {
    let directions = direction.reversed().len();
    let sizes = sizes(cx, kind, Some(directions), cx.len())?;
    Ok(facts(sizes, directions, kind))
}

/// The facts of H after every step and of the final states.
pub(super) fn facts(sizes: Sizes, directions: usize, kind: CellKind) -> Facts {
    let directions = SymExpr::from(directions as i64);
    let all = [sizes.batch.clone(), directions.clone(), sizes.steps, sizes.hidden.clone()];
    let state = Fact::new(sizes.element_type, Shape::ranked([sizes.batch, directions, sizes.hidden]));
    let all = Fact::new(sizes.element_type, Shape::ranked(all));
    std::iter::once(all).chain(std::iter::repeat_n(state, kind.states())).collect()
}

/// Computes H after every step and the final states.
pub(super) fn eval_sequence(
    cell: &Cell,
    direction: Direction,
    inputs: &[Tensor],
) -> Result<Vec<Tensor>, OpError> {
    let states = 1 + cell.kind.states();
    let (x, states, lengths, weights) =
        (&inputs[0], &inputs[1..states], &inputs[states], &inputs[states + 1..]);
    unroll(cell, &Unroll { x, states, lengths: Some(lengths), weights, reversed: direction.reversed() })
}
