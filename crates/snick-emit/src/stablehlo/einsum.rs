//! Einsum: multiplies operands from left to right. Sums over a letter once neither the result nor a remaining
//! operand uses it.

use snick_ir::ops::Einsum;
use snick_ir::{Op, OpError};
use snick_shape::SymExpr;
use snick_tensor::ElementType;

use super::contract::contract;
use super::emitter::{Emitter, Operand, Result};
use super::reduce::sum;
use super::row::OpRow;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::Einsum(op) => OpRow::new(|e| einsum(e, op)),
        _ => return None,
    })
}

/// An operand with a letter for each axis.
struct LabelledOperand {
    x: Operand,
    letters: Vec<u32>,
}

fn einsum(e: &mut Emitter, op: &Einsum) -> Result {
    let operands = e.operands()?;
    let ranks: Vec<usize> = operands.iter().map(|x| x.ty.rank()).collect();
    let (inputs, output) = op.labels(&ranks)?;
    let mut rest: Vec<LabelledOperand> = Vec::with_capacity(operands.len());
    for (x, letters) in operands.into_iter().zip(inputs) {
        rest.push(diagonal(e, LabelledOperand { x, letters: letters.to_vec() })?);
    }
    stretched(e, &mut rest)?;
    let mut rest = rest.into_iter();
    let mut all = rest.next().ok_or(OpError::NotConnected { port: 0 })?;
    let mut later: Vec<LabelledOperand> = rest.collect();
    while !later.is_empty() {
        let mut next = later.remove(0);
        let is_wanted =
            |letter: u32| output.contains(&letter) || later.iter().any(|x| x.letters.contains(&letter));
        let next_letters = next.letters.clone();
        let all_letters = all.letters.clone();
        all = summed(e, all, |letter| is_wanted(letter) || next_letters.contains(&letter))?;
        next = summed(e, next, |letter| is_wanted(letter) || all_letters.contains(&letter))?;
        all = product(e, &all, &next, is_wanted)?;
    }
    let all = summed(e, all, |letter| output.contains(&letter))?;
    let places = output.iter().map(|letter| all.letters.iter().position(|own| own == letter));
    let order: Option<Vec<usize>> = places.collect();
    let order = order.ok_or_else(|| OpError::unsupported("an axis of the output that no input has"))?;
    let y = e.transpose(&all.x, &order);
    e.give(0, y)
}

/// If two axes have the same letter, replaces them with their diagonal.
fn diagonal(e: &mut Emitter, mut named: LabelledOperand) -> Result<LabelledOperand, OpError> {
    let twice = |letters: &[u32]| {
        let own = letters.iter().enumerate();
        own.filter_map(|(i, letter)| Some((letters.get(..i)?.iter().position(|l| l == letter)?, i))).next()
    };
    while let Some((first, second)) = twice(&named.letters) {
        if named.x.ty.dims.get(first) != named.x.ty.dims.get(second) {
            return Err(OpError::unsupported("a diagonal of axes of different sizes"));
        }
        let ty = named.x.ty.with(ElementType::I64);
        let (a, b) = (e.iota(first, ty.clone())?, e.iota(second, ty)?);
        let same = e.compare("EQ", &a, &b);
        let nothing = e.full(0.0, &named.x.ty)?;
        let kept = e.select(&same, &named.x, &nothing);
        named.x = sum(e, &kept, &[second])?;
        named.letters.remove(second);
    }
    Ok(named)
}

/// Broadcasts axes of size 1 to the size that other operands have for their letter.
fn stretched(e: &mut Emitter, operands: &mut [LabelledOperand]) -> Result<(), OpError> {
    let one = SymExpr::from(1);
    let mut sizes: Vec<(u32, SymExpr)> = Vec::new();
    for operand in operands.iter() {
        for (&letter, dim) in operand.letters.iter().zip(&operand.x.ty.dims) {
            match sizes.iter_mut().find(|(known, _)| *known == letter) {
                Some((_, size)) if *size == one => *size = dim.clone(),
                Some(_) => {}
                None => sizes.push((letter, dim.clone())),
            }
        }
    }
    for operand in operands {
        let dims = operand.letters.iter().zip(&operand.x.ty.dims).map(|(letter, dim)| {
            let size = sizes.iter().find(|(known, _)| known == letter).map(|(_, size)| size);
            if *dim == one { size.unwrap_or(dim).clone() } else { dim.clone() }
        });
        let dims: Vec<SymExpr> = dims.collect();
        operand.x = e.broadcast(&operand.x, dims)?;
    }
    Ok(())
}

/// Sums over letters that neither the result nor another operand uses.
fn summed(
    e: &mut Emitter,
    named: LabelledOperand,
    is_wanted: impl Fn(u32) -> bool,
) -> Result<LabelledOperand, OpError> {
    let own = named.letters.iter().enumerate();
    let axes: Vec<usize> = own.filter(|(_, letter)| !is_wanted(**letter)).map(|(axis, _)| axis).collect();
    if axes.is_empty() {
        return Ok(named);
    }
    let x = sum(e, &named.x, &axes)?;
    Ok(LabelledOperand {
        x,
        letters: named.letters.into_iter().filter(|&letter| is_wanted(letter)).collect(),
    })
}

/// Contracts two operands. Letters that both operands have are batch axes if they are still used, and are
/// summed over otherwise.
fn product(
    e: &mut Emitter,
    a: &LabelledOperand,
    b: &LabelledOperand,
    is_wanted: impl Fn(u32) -> bool,
) -> Result<LabelledOperand, OpError> {
    let (mut batch, mut shared) = ((vec![], vec![]), (vec![], vec![]));
    for (axis, letter) in a.letters.iter().enumerate() {
        let Some(other) = b.letters.iter().position(|own| own == letter) else { continue };
        let pairs = if is_wanted(*letter) { &mut batch } else { &mut shared };
        pairs.0.push(axis);
        pairs.1.push(other);
    }
    let taken: Vec<u32> = batch.0.iter().filter_map(|&axis| a.letters.get(axis).copied()).collect();
    let own = |x: &LabelledOperand, other: &LabelledOperand| {
        let own = x.letters.iter().filter(|letter| !other.letters.contains(letter));
        own.copied().collect::<Vec<u32>>()
    };
    let letters = [taken, own(a, b), own(b, a)].concat();
    let x: Result<Operand> = contract(e, &a.x, &b.x, [&batch.0, &batch.1], [&shared.0, &shared.1]);
    Ok(LabelledOperand { x: x?, letters })
}
