//! Rows of the StableHLO table.

use super::emitter::Emitter;

/// How StableHLO expresses an operation.
pub(super) type OpRow<'g> = crate::table::OpRow<'g, Emitter<'g>>;

/// Writes a unary operation.
pub(super) fn unary<'g>(op: &'static str) -> OpRow<'g> {
    OpRow::new(move |e| {
        let x = e.input(0)?;
        let y = e.same(op, &[&x]);
        e.give(0, y)
    })
}

/// Writes the operation for floats; integers are returned unchanged.
pub(super) fn identity_on_integers<'g>(op: &'static str) -> OpRow<'g> {
    OpRow::new(move |e| {
        let x = e.input(0)?;
        let y = if x.ty.element.is_float() { e.same(op, &[&x]) } else { x };
        e.give(0, y)
    })
}

/// Writes a binary operation on broadcast inputs.
pub(super) fn binary<'g>(op: &'static str) -> OpRow<'g> {
    OpRow::new(move |e| {
        let [a, b] = e.pair()?;
        let y = e.same(op, &[&a, &b]);
        e.give(0, y)
    })
}

/// Writes a comparison of broadcast inputs.
pub(super) fn comparison<'g>(direction: &'static str) -> OpRow<'g> {
    OpRow::new(move |e| {
        let [a, b] = e.pair()?;
        let y = e.compare(direction, &a, &b);
        e.give(0, y)
    })
}
