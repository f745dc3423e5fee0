//! Sorting by counting: the place of an element is the number of elements before it.

use snick_tensor::ElementType;

use super::code::parts;
use super::elementwise::inline;
use super::generic::{Access, Space};
use super::lowering::{Lowering, Result};
use super::types::{Num, Tensor, Value, malformed};
use crate::stablehlo::hlo::{Op, Region};

/// Sorts the operands together; stable.
pub(super) fn lower(l: &mut Lowering, op: &Op, axis: usize) -> Result {
    let operands = (0..op.operands.len()).map(|i| l.operand(op, i)).collect::<Result<Vec<_>>>()?;
    let region = op.regions.first().ok_or_else(|| malformed("a sort"))?;
    let places = places(l, &operands, axis, region)?;
    let order = inverse(l, &places, axis)?;
    for (x, &id) in operands.iter().zip(&op.results) {
        let y = l.map(l.name(id), &[Access::same(&order)], &x.ty, &x.sizes, |l, values| {
            let mut at = Vec::with_capacity(x.rank());
            for own in 0..x.rank() {
                at.push(match own == axis {
                    true => l.code.index_of(values[0], "i64"),
                    false => l.coordinate(own),
                });
            }
            Ok(l.code.element(x, &at))
        })?;
        let y = l.cast(&y, &l.type_of(id));
        l.tensors.insert(id, y);
    }
    Ok(())
}

/// A tensor of i64 zeros with the shape of `x`.
fn zeros(l: &mut Lowering, x: &Tensor) -> Tensor {
    let mut ty = x.ty.clone();
    ty.element = ElementType::I64;
    let zero = l.scalar_constant(0.0, ty.element);
    l.filled(zero, &ty, &x.sizes)
}

/// The element of `x` whose place along the axis is the last coordinate.
fn moved(x: &Tensor, axis: usize) -> Access {
    Access::axes(x, (0..x.rank()).map(|own| if own == axis { x.rank() } else { own }))
}

/// For each element, the number of elements that come before it.
fn places(l: &mut Lowering, x: &[Tensor], axis: usize, region: &Region) -> Result<Tensor> {
    let first = x.first().ok_or_else(|| malformed("a sort"))?;
    let out = zeros(l, first);
    let inputs: Vec<Access> = x.iter().flat_map(|x| [Access::same(x), moved(x, axis)]).collect();
    let space = Space { rank: first.rank() + 1, reduced: 1 };
    l.generic("", &space, &inputs, &Access::same(&out), |l, values| {
        let (&count, elements) = values.split_last().ok_or_else(|| malformed("a sort"))?;
        let swapped: Vec<Value> = elements.chunks(2).flat_map(|pair| pair.iter().rev().copied()).collect();
        let (behind, before) = (inline(l, region, elements)?, inline(l, region, &swapped)?);
        // Of two equal elements, the one with the smaller index comes first.
        let (own, other) = (l.coordinate(axis), l.coordinate(first.rank()));
        let is_earlier = l.code.compare("slt", other, own);
        let truth = l.literal("true", ElementType::Boolean);
        let not_behind = l.code.op("", parts!["arith.xori ", behind, ", ", truth, " : i1"]);
        let equal = l.code.op("", parts!["arith.andi ", not_behind, ", ", is_earlier, " : i1"]);
        let counts = l.code.op("", parts!["arith.ori ", before, ", ", equal, " : i1"]);
        let step = l.code.op("", parts!["arith.extui ", counts, " : i1 to i64"]);
        Ok(l.code.op("", parts!["arith.addi ", count, ", ", step, " : i64"]))
    })
}

/// For each place, the index of the element that comes there.
fn inverse(l: &mut Lowering, places: &Tensor, axis: usize) -> Result<Tensor> {
    let out = zeros(l, places);
    let space = Space { rank: places.rank() + 1, reduced: 1 };
    l.generic("", &space, &[moved(places, axis)], &Access::same(&out), |l, values| {
        let &[place, found] = values else { return Err(malformed("a sort")) };
        let (own, other): (Num, Num) = (l.coordinate(axis), l.coordinate(places.rank()));
        let place = l.code.index_of(place, "i64");
        let is_here = l.code.compare("eq", place, own);
        let other = l.code.scalar_of(other, "i64");
        Ok(l.code.op("", parts!["arith.select ", is_here, ", ", other, ", ", found, " : i64"]))
    })
}
