//! Operations that only compute sizes, as arithmetic on numbers.

use super::code::parts;
use super::lowering::{Lowering, Result};
use super::types::{Num, malformed};
use crate::stablehlo::hlo::{Op, OpKind, ValueId};

/// Lowers an operation whose operands are all known as numbers or as conditions. Returns whether it did.
pub(super) fn lower(l: &mut Lowering, op: &Op) -> Result<bool> {
    let &[id] = op.results.as_slice() else { return Ok(false) };
    match &op.kind {
        OpKind::GetDimensionSize(axis) => {
            let size = l.operand(op, 0)?.sizes.get(*axis).copied().ok_or_else(|| malformed("a size"))?;
            l.numbers.insert(id, vec![size]);
            return Ok(true);
        }
        OpKind::SizeVector => {
            let mut all = Vec::with_capacity(op.operands.len());
            for i in 0..op.operands.len() {
                all.extend(l.operand_numbers(op, i)?);
            }
            l.numbers.insert(id, all);
            return Ok(true);
        }
        _ => {}
    }
    if op.operands.is_empty() {
        return Ok(false);
    }
    if flag(l, op, id)? {
        return Ok(true);
    }
    let known: Option<Vec<Vec<Num>>> = op.operands.iter().map(|x| l.numbers.get(x).cloned()).collect();
    let Some(known) = known else { return Ok(false) };
    if let (OpKind::Compare(direction), [a, b]) = (&op.kind, known.as_slice()) {
        return comparison(l, id, direction, a, b);
    }
    if !l.is_number(id) {
        return Ok(false);
    }
    let Some(numbers) = numbers(l, &op.kind, id, &known) else { return Ok(false) };
    l.numbers.insert(id, numbers);
    Ok(true)
}

/// A choice or conjunction of known conditions.
fn flag(l: &mut Lowering, op: &Op, id: ValueId) -> Result<bool> {
    let Some(&first) = op.operands.first().and_then(|x| l.flags.get(x)) else { return Ok(false) };
    if !l.type_of(id).dims.is_empty() {
        return Ok(false);
    }
    let other = |l: &Lowering, i: usize| op.operands.get(i).and_then(|x| l.flags.get(x)).copied();
    let numbers = |l: &Lowering, i: usize| Some(*op.operands.get(i).and_then(|x| l.numbers.get(x))?.first()?);
    match &op.kind {
        OpKind::Select => {
            let (Some(yes), Some(no)) = (numbers(l, 1), numbers(l, 2)) else { return Ok(false) };
            let chosen = l.code.choose(first, yes, no);
            l.numbers.insert(id, vec![chosen]);
        }
        OpKind::Reshape => l.flags.insert(id, first),
        OpKind::Elementwise(name @ ("and" | "or")) => {
            let Some(second) = other(l, 1) else { return Ok(false) };
            let op = if *name == "and" { "arith.andi " } else { "arith.ori " };
            let both = l.code.op("", parts![op, first, ", ", second, " : i1"]);
            l.flags.insert(id, both);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn comparison(l: &mut Lowering, id: ValueId, direction: &str, a: &[Num], b: &[Num]) -> Result<bool> {
    let (&[a], &[b], true) = (a, b, l.type_of(id).dims.is_empty()) else { return Ok(false) };
    let predicate = match direction {
        "EQ" => "eq",
        "NE" => "ne",
        "LT" => "slt",
        "LE" => "sle",
        "GT" => "sgt",
        "GE" => "sge",
        _ => return Ok(false),
    };
    let flag = l.code.compare(predicate, a, b);
    l.flags.insert(id, flag);
    Ok(true)
}

/// The result as numbers; `None` if it is not one of these operations.
fn numbers(l: &mut Lowering, kind: &OpKind, id: ValueId, x: &[Vec<Num>]) -> Option<Vec<Num>> {
    let code = &mut l.code;
    Some(match (kind, x) {
        (OpKind::Mixed("convert") | OpKind::Reshape, [x]) => x.clone(),
        (OpKind::Concatenate(0), parts) => parts.concat(),
        (OpKind::Slice(ranges), [x]) => {
            let &[[first, end, step]] = ranges.as_slice() else { return None };
            x.get(first..end)?.iter().copied().step_by(step.max(1)).collect()
        }
        (OpKind::BroadcastInDim(_), [x]) => {
            let &[one] = x.as_slice() else { return None };
            let count = l.type_of(id).dims.iter().try_fold(1, |all, dim| Some(all * (*dim)?))?;
            vec![one; usize::try_from(count).ok()?]
        }
        (OpKind::Elementwise(name), [a, b]) if a.len() == b.len() => {
            let operation = match *name {
                "add" => super::code::Code::add,
                "subtract" => super::code::Code::subtract,
                "multiply" => super::code::Code::multiply,
                "divide" => super::code::Code::divide,
                "remainder" => super::code::Code::remainder,
                "maximum" => super::code::Code::maximum,
                "minimum" => super::code::Code::minimum,
                _ => return None,
            };
            a.iter().zip(b).map(|(&a, &b)| operation(code, a, b)).collect()
        }
        _ => return None,
    })
}
