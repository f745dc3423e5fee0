//! The best elements along an axis.

use snick_ir::ops::movement::top_k::{TopKMode, TopKSort};
use snick_ir::{Op, OpError};
use snick_tensor::ElementType;

use super::emitter::{Emitter, Operand, Result};
use super::table::EmitRule::{self, Custom};

pub(super) const RULES: &[(&str, EmitRule)] = &[("TopK", Custom(top_k))];

/// Values and where they stood, sorted; of equal ones the first is first.
pub(super) fn sorted(
    e: &mut Emitter,
    by: &Operand,
    other: &Operand,
    axis: usize,
    direction: &str,
) -> [Operand; 2] {
    let (one, two) = (by.ty.sized(&[]), other.ty.sized(&[]));
    let [a, b, c, d, before] = ["a", "b", "c", "d", "before"].map(|name| e.function.fresh(name));
    let tail = format!(
        "({}, {}) <{{dimension = {axis} : i64, is_stable = true}}> ({{\n      ^bb0({a}: {one}, {b}: {one}, {c}: {two}, {d}: {two}):\n        \
         {before} = stablehlo.compare {direction}, {a}, {b} : ({one}, {one}) -> tensor<i1>\n        \
         stablehlo.return {before} : tensor<i1>\n    }}) : ({}, {}) -> ({}, {})",
        by.name, other.name, by.ty, other.ty, by.ty, other.ty,
    );
    e.lines("\"stablehlo.sort\"", &tail, [by.ty.clone(), other.ty.clone()])
}

/// All are sorted and the first are kept.
fn top_k(e: &mut Emitter) -> Result {
    let Op::TopK(op) = &e.node.op else { return Err(OpError::unsupported("this choice in StableHLO")) };
    let op = op.clone();
    let x = e.input(0)?;
    let axis = snick_ir::normalize_axis(op.axis, x.ty.rank())?;
    let want = e.output(0)?;
    let count = want.dims[axis].clone();
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
