//! Scatters. Each element of the data looks for the updates that are written to it, in order.

use super::code::{V, parts};
use super::elementwise::inline;
use super::generic::{Access, Space};
use super::lower::{Lowering, Result, result};
use super::scalar::select;
use super::types::{Num, Tensor, malformed};
use crate::stablehlo::hlo::{Op, Scatter};

pub(super) fn lower(l: &mut Lowering, op: &Op, scatter: &Scatter) -> Result<Tensor> {
    let (data, indices, updates) = (l.operand(op, 0)?, l.operand(op, 1)?, l.operand(op, 2)?);
    let region = op.regions.first().ok_or_else(|| malformed("a scatter"))?;
    let vectors = indices.rank().saturating_sub(1);
    let kept: Vec<usize> = (0..data.rank()).filter(|axis| !scatter.indexed.contains(axis)).collect();
    if updates.rank() != vectors + scatter.window.len() || kept.len() != scatter.window.len() {
        return Err(malformed("a scatter"));
    }
    // The coordinates are those of the data, then those of the index vectors, which are visited in order.
    let (mut outer, mut inner) = (data.rank()..data.rank() + vectors, kept.iter().copied());
    let at = (0..updates.rank()).map(|axis| match scatter.window.contains(&axis) {
        true => inner.next().unwrap_or(0),
        false => outer.next().unwrap_or(0),
    });
    let inputs = [Access::axes(&updates, at.collect::<Vec<_>>())];
    let space = Space { rank: data.rank() + vectors, reduced: vectors };
    l.generic(l.name(result(op)?), &space, &inputs, &Access::same(&data), |l, values| {
        let &[update, old] = values else { return Err(malformed("a scatter")) };
        let mut vector = Vec::with_capacity(vectors + 1);
        for axis in 0..vectors {
            vector.push(l.coordinate(data.rank() + axis));
        }
        let mut hit: Option<V> = None;
        for (entry, &axis) in scatter.indexed.iter().enumerate() {
            let place = [vector.as_slice(), &[Num::Const(entry as i64)]].concat();
            let target = l.code.element(&indices, &place);
            let target = l.code.index_of(target, indices.ty.scalar());
            let own = l.coordinate(axis);
            let equal = l.code.compare("eq", target, own);
            hit = Some(match hit {
                Some(hit) => l.code.op("", parts!["arith.andi ", hit, ", ", equal, " : i1"]),
                None => equal,
            });
        }
        let new = inline(l, region, &[old, update])?;
        Ok(match hit {
            Some(hit) => select(l, hit, new, old, data.ty.element),
            None => new,
        })
    })
}
