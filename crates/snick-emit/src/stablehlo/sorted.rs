//! Sorting, as used by other operations.

use super::emitter::{Emitter, Operand};

/// Sorts values together with their original positions. The sort is stable; NaN counts as the largest.
pub(super) fn sorted(
    e: &mut Emitter,
    by: &Operand,
    other: &Operand,
    axis: usize,
    direction: &str,
) -> [Operand; 2] {
    let (one, two) = (by.ty.sized(&[]), other.ty.sized(&[]));
    let [a, b, c, d, before] = ["a", "b", "c", "d", "before"].map(|name| e.function.fresh(name));
    let mut compare =
        format!("{before} = stablehlo.compare {direction}, {a}, {b} : ({one}, {one}) -> tensor<i1>");
    let mut result = before;
    if by.ty.element.is_float() {
        let (nan, number) = if direction == "GT" { (&a, &b) } else { (&b, &a) };
        let names = ["nan", "number", "beside", "first"];
        let [is_nan, is_number, beside, first] = names.map(|name| e.function.fresh(name));
        compare += &format!(
            "\n        {is_nan} = stablehlo.compare NE, {nan}, {nan} : ({one}, {one}) -> tensor<i1>\n        \
             {is_number} = stablehlo.compare EQ, {number}, {number} : ({one}, {one}) -> tensor<i1>\n        \
             {beside} = stablehlo.and {is_nan}, {is_number} : tensor<i1>\n        \
             {first} = stablehlo.or {result}, {beside} : tensor<i1>"
        );
        result = first;
    }
    let tail = format!(
        "({}, {}) <{{dimension = {axis} : i64, is_stable = true}}> ({{\n      ^bb0({a}: {one}, {b}: {one}, {c}: {two}, {d}: {two}):\n        \
         {compare}\n        stablehlo.return {result} : tensor<i1>\n    }}) : ({}, {}) -> ({}, {})",
        by.name, other.name, by.ty, other.ty, by.ty, other.ty,
    );
    e.lines("\"stablehlo.sort\"", &tail, [by.ty.clone(), other.ty.clone()])
}
