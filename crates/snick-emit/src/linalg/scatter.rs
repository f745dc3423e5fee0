//! Scatters, without writes at computed places: each element of the data looks for the updates that go to it.

use snick_tensor::ElementType;

use super::code::parts;
use super::generic::{Access, Space};
use super::lowering::{Lowering, Result, result};
use super::movement::padded;
use super::reshape::without_axes;
use super::scalar::{combine, select};
use super::slices::slice;
use super::types::{AxisSlice, Num, Tensor, Value, malformed};
use crate::stablehlo::hlo::{Op, OpKind, Scatter};

/// A scatter: its operands, and where they belong.
struct Parts<'s> {
    data: Tensor,
    updates: Tensor,
    /// One tensor for each entry of the index vectors.
    entries: Vec<Tensor>,
    numbers: &'s Scatter,
    /// The axes of the data that come from the window.
    kept: Vec<usize>,
    /// The number of axes of the entries.
    rank: usize,
}

pub(super) fn lower(l: &mut Lowering, op: &Op, numbers: &Scatter) -> Result<Tensor> {
    let (data, indices, updates) = (l.operand(op, 0)?, l.operand(op, 1)?, l.operand(op, 2)?);
    let region = op.regions.first().ok_or_else(|| malformed("a scatter"))?;
    let rank = indices.rank().saturating_sub(1);
    let kept: Vec<usize> = (0..data.rank()).filter(|axis| !numbers.indexed.contains(axis)).collect();
    if updates.rank() != rank + numbers.window.len() || kept.len() != numbers.window.len() {
        return Err(malformed("a scatter"));
    }
    let entries = (0..numbers.indexed.len()).map(|entry| column(l, &indices, entry)).collect();
    let scatter = Parts { data, updates, entries, numbers, kept, rank };
    let name = l.name(result(op)?);
    match region.ops.first().map(|op| &op.kind) {
        None => replace(l, name, &scatter),
        Some(OpKind::Elementwise(combine)) => accumulate(l, name, &scatter, combine),
        Some(other) => Err(malformed(other.name())),
    }
}

/// One entry of all index vectors.
fn column(l: &mut Lowering, indices: &Tensor, entry: usize) -> Tensor {
    let last = indices.rank() - 1;
    let whole = |&size: &Num| AxisSlice { first: Num::Const(0), size, step: Num::Const(1) };
    let mut axes: Vec<AxisSlice> = indices.sizes.iter().map(whole).collect();
    axes[last] = AxisSlice { first: Num::Const(entry as i64), size: Num::Const(1), step: Num::Const(1) };
    let mut dims = indices.ty.dims.clone();
    dims[last] = Some(1);
    let column = slice(l, "", indices, &axes, &indices.ty.with_dims(dims));
    without_axes(l, &column, &[last])
}

/// Whether the index vectors at the current point equal the coordinates `targets`.
fn hit(l: &mut Lowering, entries: &[Value], scalar: &str, targets: &[usize]) -> Value {
    let mut hit: Option<Value> = None;
    for (&entry, &axis) in entries.iter().zip(targets) {
        let (target, own) = (l.code.index_of(entry, scalar), l.coordinate(axis));
        let equal = l.code.compare("eq", target, own);
        hit = Some(match hit {
            Some(hit) => l.code.op("", parts!["arith.andi ", hit, ", ", equal, " : i1"]),
            None => equal,
        });
    }
    hit.unwrap_or_else(|| l.literal("true", ElementType::Boolean))
}

/// Finds the last update of each element first, and then selects it.
fn replace(l: &mut Lowering, name: &str, s: &Parts) -> Result<Tensor> {
    let indexed = &s.numbers.indexed;
    let mut ty = s.data.ty.with_dims(indexed.iter().map(|&axis| s.data.ty.dims[axis]).collect());
    ty.element = ElementType::I64;
    let sizes: Vec<Num> = indexed.iter().map(|&axis| s.data.sizes[axis]).collect();
    let none = l.literal("-1", ElementType::I64);
    let start = l.filled(none, &ty, &sizes);
    let vectors: Vec<Num> = s.entries.first().map_or_else(Vec::new, |entry| entry.sizes.clone());
    let outer = indexed.len()..indexed.len() + s.rank;
    let inputs: Vec<Access> = s.entries.iter().map(|entry| Access::axes(entry, outer.clone())).collect();
    let space = Space { rank: indexed.len() + s.rank, reduced: s.rank };
    let scalar = s.entries.first().map_or("i64", |entry| entry.ty.scalar());
    let targets: Vec<usize> = (0..indexed.len()).collect();
    let last = l.generic("", &space, &inputs, &Access::same(&start), |l, values| {
        let (&found, entries) = values.split_last().ok_or_else(|| malformed("a scatter"))?;
        let hit = hit(l, entries, scalar, &targets);
        let mut number = Num::Const(0);
        for (axis, &size) in outer.clone().zip(&vectors) {
            let place = l.coordinate(axis);
            number = l.code.multiply(number, size);
            number = l.code.add(number, place);
        }
        let number = l.code.scalar_of(number, "i64");
        let number = select(l, hit, number, none, ElementType::I64);
        combine(l, "maximum", [found, number], ElementType::I64)
    })?;
    let updates = readable_updates(l, s)?;
    let inputs = [Access::same(&s.data), Access::axes(&last, indexed.iter().copied())];
    l.map(name, &inputs, &s.data.ty, &s.data.sizes, |l, values| {
        let &[old, found, _] = values else { return Err(malformed("a scatter")) };
        let number = l.code.index_of(found, "i64");
        let is_hit = l.code.compare("sge", number, Num::Const(0));
        let mut rest = l.code.maximum(number, Num::Const(0));
        let mut places = vec![];
        for &size in vectors.iter().rev() {
            let size = l.code.maximum(size, Num::Const(1));
            places.push(l.code.remainder(rest, size));
            rest = l.code.divide(rest, size);
        }
        let (mut outer, mut inner) = (places.into_iter().rev(), s.kept.iter());
        let mut at = Vec::with_capacity(s.updates.rank());
        for axis in 0..s.updates.rank() {
            let place = match s.numbers.window.contains(&axis) {
                true => inner.next().map(|&axis| l.coordinate(axis)),
                false => outer.next(),
            };
            at.push(place.ok_or_else(|| malformed("a scatter"))?);
        }
        let new = l.code.element(&updates, &at);
        Ok(select(l, is_hit, new, old, s.data.ty.element))
    })
}

/// The updates, padded where there may be none: an element without an update reads one, too, and ignores it.
fn readable_updates(l: &mut Lowering, s: &Parts) -> Result<Tensor> {
    let high: Vec<Num> = (0..s.updates.rank())
        .map(|axis| {
            let has_elements = s.updates.ty.dims[axis].is_some_and(|size| size > 0);
            Num::Const(if has_elements || s.numbers.window.contains(&axis) { 0 } else { 1 })
        })
        .collect();
    let zero = l.scalar_constant(0.0, s.updates.ty.element);
    padded(l, "", &s.updates, zero, &vec![Num::Const(0); high.len()], &high)
}

/// Combines all updates of each element, and then the result with the element.
fn accumulate(l: &mut Lowering, name: &str, s: &Parts, how: &str) -> Result<Tensor> {
    let element = s.data.ty.element;
    let neutral = neutral(how, element).ok_or_else(|| malformed(how))?;
    let neutral = l.scalar_constant(neutral, element);
    let start = l.filled(neutral, &s.data.ty, &s.data.sizes);
    let outer = s.data.rank()..s.data.rank() + s.rank;
    let (mut next, mut inner) = (outer.clone(), s.kept.iter().copied());
    let of_update = (0..s.updates.rank()).map(|axis| match s.numbers.window.contains(&axis) {
        true => inner.next().unwrap_or(0),
        false => next.next().unwrap_or(0),
    });
    let of_update = Access::axes(&s.updates, of_update.collect::<Vec<_>>());
    let entries = s.entries.iter().map(|entry| Access::axes(entry, outer.clone()));
    let inputs: Vec<Access> = std::iter::once(of_update).chain(entries).collect();
    let space = Space { rank: s.data.rank() + s.rank, reduced: s.rank };
    let scalar = s.entries.first().map_or("i64", |entry| entry.ty.scalar());
    let all = l.generic("", &space, &inputs, &Access::same(&start), |l, values| {
        let [update, entries @ .., all] = values else { return Err(malformed("a scatter")) };
        let hit = hit(l, entries, scalar, &s.numbers.indexed);
        let update = select(l, hit, *update, neutral, element);
        combine(l, how, [*all, update], element)
    })?;
    let inputs = [Access::same(&s.data), Access::same(&all)];
    l.map(name, &inputs, &s.data.ty, &s.data.sizes, |l, values| {
        combine(l, how, [values[0], values[1]], element)
    })
}

/// The element that does not change another one.
fn neutral(how: &str, element: ElementType) -> Option<f64> {
    let extreme = |sign: f64| match element.integer_range() {
        Some((low, high)) => (if sign < 0.0 { low } else { high }) as f64,
        None => sign * f64::INFINITY,
    };
    match how {
        "add" | "or" => Some(0.0),
        "multiply" | "and" => Some(1.0),
        "minimum" => Some(extreme(1.0)),
        "maximum" => Some(extreme(-1.0)),
        _ => None,
    }
}
