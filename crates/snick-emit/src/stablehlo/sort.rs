//! The k largest or smallest elements along an axis.

use snick_ir::Op;
use snick_ir::ops::TopK;
use snick_ir::ops::movement::top_k::{TopKMode, TopKSort};
use snick_tensor::ElementType;

use super::emitter::{Emitter, Result};
use super::row::OpRow;
use super::sorted::sorted;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::TopK(op) => OpRow::new(|e| top_k(e, op)),
        _ => return None,
    })
}

/// Sorts all elements along the axis and keeps the first k.
fn top_k(e: &mut Emitter, op: &TopK) -> Result {
    let x = e.input(0)?;
    let axis = snick_ir::normalize_axis(op.axis, x.ty.rank())?;
    let want = e.output(0)?;
    let count = want.dims[axis].clone();
    if e.function.sizes_from_data && !e.function.knows(&count) {
        let number = e.input(1)?;
        let number = e.index(&number)?;
        e.function.learn(&count, &number);
    }
    let places = e.iota(axis, x.ty.with(ElementType::I32))?;
    let [values, places] = sorted(e, &x, &places, axis, if op.mode == TopKMode::Max { "GT" } else { "LT" });
    let (mut values, mut places) =
        (e.part(&values, axis, &0.into(), count.clone())?, e.part(&places, axis, &0.into(), count)?);
    if op.sort == TopKSort::Index {
        [places, values] = sorted(e, &places, &values, axis, "LT");
    }
    let places = e.convert(&places, op.index_element_type.element_type());
    e.give(0, values)?;
    e.give(1, places)
}
