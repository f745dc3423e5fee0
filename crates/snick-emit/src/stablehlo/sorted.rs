//! Sorting, as other operations use it.

use super::emitter::{Emitter, Operand};

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
