//! Sorting, as used by other operations.

use snick_tensor::ElementType;

use super::emitter::{Emitter, OpKind, Operand};

/// Sorts values together with their original positions. The sort is stable; NaN counts as the largest.
pub(super) fn sorted(
    e: &mut Emitter,
    by: &Operand,
    other: &Operand,
    axis: usize,
    direction: &'static str,
) -> [Operand; 2] {
    let around = e.function.open();
    let types = [("a", by), ("b", by), ("c", other), ("d", other)];
    let arguments = types.map(|(name, x)| e.function.value(name, x.ty.sized(&[])));
    let [a, b, ..] = &arguments;
    let truth = by.ty.sized(&[]).with(ElementType::Boolean);
    let mut compare =
        |name, direction, a, b| e.function.op(name, OpKind::Compare(direction), &[a, b], truth.clone());
    let mut result = compare("before", direction, a, b);
    if by.ty.element.is_float() {
        let (nan, number) = if direction == "GT" { (a, b) } else { (b, a) };
        let is_nan = compare("nan", "NE", nan, nan);
        let is_number = compare("number", "EQ", number, number);
        let beside =
            e.function.op("beside", OpKind::Elementwise("and"), &[&is_nan, &is_number], truth.clone());
        result = e.function.op("first", OpKind::Elementwise("or"), &[&result, &beside], truth.clone());
    }
    let region = e.function.close(around, &arguments, &[result]);
    let results = e.function.values(e.layer.node.name(), [by.ty.clone(), other.ty.clone()]);
    e.function.push(OpKind::Sort(axis), &[by, other], &results, vec![region]);
    [results[0].clone(), results[1].clone()]
}
