//! Gathers: each element of the result is read at an index vector.

use super::lowering::{Lowering, Result, result};
use super::types::{Num, Tensor, malformed};
use crate::stablehlo::hlo::{Gather, Op};

pub(super) fn lower(l: &mut Lowering, op: &Op, gather: &Gather) -> Result<Tensor> {
    let (data, indices, id) = (l.operand(op, 0)?, l.operand(op, 1)?, result(op)?);
    let ty = l.type_of(id);
    let spans: Vec<Num> = match &gather.sizes {
        Some(sizes) => sizes.iter().map(|&size| Num::Const(size as i64)).collect(),
        None => l.operand_numbers(op, 2)?,
    };
    // The axes of the result that come from the indices, and the data axis of each other one.
    let outer: Vec<usize> = (0..ty.rank()).filter(|axis| !gather.offset.contains(axis)).collect();
    let inner: Vec<usize> = (0..data.rank()).filter(|axis| !gather.collapsed.contains(axis)).collect();
    if spans.len() != data.rank() || outer.len() + 1 != indices.rank() || inner.len() != gather.offset.len() {
        return Err(malformed("a gather"));
    }
    let mut sizes = vec![Num::Const(0); ty.rank()];
    outer.iter().zip(&indices.sizes).for_each(|(&axis, &size)| sizes[axis] = size);
    gather.offset.iter().zip(&inner).for_each(|(&axis, &own)| sizes[axis] = spans[own]);
    // The last possible start along each indexed axis.
    let mut last = Vec::with_capacity(gather.indexed.len());
    for &axis in &gather.indexed {
        last.push(l.code.subtract(data.sizes[axis], spans[axis]));
    }
    l.map(l.name(id), &[], &ty, &sizes, |l, _| {
        let mut vector = Vec::with_capacity(indices.rank());
        for &axis in &outer {
            vector.push(l.coordinate(axis));
        }
        let mut at = vec![Num::Const(0); data.rank()];
        for (entry, (&axis, &last)) in gather.indexed.iter().zip(&last).enumerate() {
            let place = [vector.as_slice(), &[Num::Const(entry as i64)]].concat();
            let start = l.code.element(&indices, &place);
            let start = l.code.index_of(start, indices.ty.scalar());
            // A start out of range is moved into the data.
            let start = l.code.minimum(start, last);
            at[axis] = l.code.maximum(start, Num::Const(0));
        }
        for (&axis, &own) in gather.offset.iter().zip(&inner) {
            let place = l.coordinate(axis);
            at[own] = l.code.add(at[own], place);
        }
        Ok(l.code.element(&data, &at))
    })
}
