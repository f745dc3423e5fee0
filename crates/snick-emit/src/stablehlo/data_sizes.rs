//! Operations whose output sizes depend on data, for formats that allow this.

use snick_ir::{Op, OpError};
use snick_shape::SymExpr;
use snick_tensor::{ElementType, Tensor};

use super::emitter::{Emitter, OpKind, Operand, Result};
use super::reduce::sum;
use super::row::OpRow;
use super::sorted::sorted;
use super::types::Type;
use super::unary::converted;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::Eye(_) => OpRow::new(eye),
        Op::NonZero(_) => OpRow::new(non_zero),
        _ => return None,
    })
}

/// Whether the sizes of the output depend on data that has not been read yet.
pub(super) fn has_unknown_sizes(e: &Emitter) -> Result<bool> {
    Ok(e.function.sizes_from_data && !e.output(0)?.dims.iter().all(|dim| e.function.knows(dim)))
}

/// Computes the sizes of a Reshape from the values of its pattern.
pub(super) fn learn_reshape(e: &mut Emitter, x: &Operand, special_zero: bool) -> Result {
    let (pattern, dims) = (e.input(1)?, e.output(0)?.dims);
    let (zero, one) = (e.number(&0.into())?, e.number(&1.into())?);
    let mut sizes = Vec::with_capacity(dims.len());
    let mut known = one.clone();
    for axis in 0..dims.len() {
        let mut size = e.entry(&pattern, axis)?;
        if let Some(own) = x.ty.dims.get(axis).filter(|_| special_zero) {
            let (own, is_zero) = (e.number(own)?, e.compare("EQ", &size, &zero));
            size = e.select(&is_zero, &own, &size);
        }
        let is_open = e.compare("LT", &size, &zero);
        let factor = e.select(&is_open, &one, &size);
        known = e.same("multiply", &[&known, &factor]);
        sizes.push((size, is_open));
    }
    let total = e.product(&x.ty.dims)?;
    let total = e.number(&total)?;
    let known = e.same("maximum", &[&known, &one]);
    let rest = e.same("divide", &[&total, &known]);
    for (dim, (size, is_open)) in dims.iter().zip(sizes) {
        if !e.function.knows(dim) {
            let size = e.select(&is_open, &rest, &size);
            e.function.learn(dim, &size);
        }
    }
    Ok(())
}

/// Reads the sizes of a Broadcast from its target.
pub(super) fn learn_broadcast(e: &mut Emitter) -> Result {
    let (target, dims) = (e.input(1)?, e.output(0)?.dims);
    let first = dims.len().saturating_sub(target.ty.size(0)?);
    for (axis, dim) in dims.iter().enumerate().skip(first) {
        if !e.function.knows(dim) {
            let size = e.entry(&target, axis - first)?;
            e.function.learn(dim, &size);
        }
    }
    Ok(())
}

/// The number of elements of a Range: the quotient of `stop - start` and `step`, rounded up, but at least 0.
pub(super) fn count(e: &mut Emitter, element: ElementType) -> Result<Operand> {
    let mut bounds = Vec::with_capacity(3);
    for i in 0..3 {
        let bound = e.input(i)?;
        let bound = e.reshape(&bound, &[])?;
        bounds.push(if element.is_float() { bound } else { e.convert(&bound, ElementType::I64) });
    }
    let [start, stop, step] = bounds.as_slice() else { return Err(OpError::NotConnected { port: 2 }) };
    if element.is_float() {
        let [start, stop, step] = [start, stop, step].map(|x| e.convert(x, ElementType::F64));
        let span = e.same("subtract", &[&stop, &start]);
        let exact = e.same("divide", &[&span, &step]);
        let whole = e.same("ceil", &[&exact]);
        let count = e.convert(&whole, ElementType::I64);
        let zero = e.number(&0.into())?;
        return Ok(e.same("maximum", &[&count, &zero]));
    }
    let (zero, one) = (e.number(&0.into())?, e.number(&1.into())?);
    let minus_one = e.constant(&Tensor::scalar(-1_i64))?;
    let is_up = e.compare("GT", step, &zero);
    let toward_zero = e.select(&is_up, &one, &minus_one);
    // Adds `step` less a unit, so that the division rounds away from `start`.
    let span = e.same("subtract", &[stop, start]);
    let reach = e.same("add", &[&span, step]);
    let reach = e.same("subtract", &[&reach, &toward_zero]);
    let count = e.same("divide", &[&reach, step]);
    Ok(e.same("maximum", &[&count, &zero]))
}

/// Ones where the column is the row plus an offset.
fn eye(e: &mut Emitter) -> Result {
    let ty = e.output(0)?;
    let places = ty.with(ElementType::I64);
    let Some(axis) = ty.rank().checked_sub(2) else { return Err(OpError::rank("a matrix", ty.rank(), "2")) };
    let offset = e.input(2)?;
    let offset = e.index(&offset)?;
    let offset = e.spread(&offset, &[], &ty.dims)?;
    let (rows, columns) = (e.iota(axis, places.clone())?, e.iota(axis + 1, places)?);
    let targets = e.same("add", &[&rows, &offset]);
    let is_one = e.compare("EQ", &columns, &targets);
    let y = e.convert(&is_one, ty.element);
    e.give(0, y)
}

/// Pads by numbers of elements that depend on data.
pub(super) fn pad(e: &mut Emitter, x: &Operand, value: &Operand, ty: Type) -> Result {
    let (begin, end) = (e.input(1)?, e.input(2)?);
    let (begin, end) = (e.convert(&begin, ElementType::I64), e.convert(&end, ElementType::I64));
    for (axis, (own, dim)) in x.ty.dims.iter().zip(&ty.dims).enumerate() {
        if !e.function.knows(dim) {
            let mut size = e.number(own)?;
            for pads in [&begin, &end] {
                let pad = e.entry(pads, axis)?;
                size = e.same("add", &[&size, &pad]);
            }
            e.function.learn(dim, &size);
        }
    }
    let inside = e.constant(&Tensor::from_vec(&[x.ty.rank()], vec![0_i64; x.ty.rank()])?)?;
    let y = e.op(OpKind::DynamicPad, &[x, value, &begin, &end, &inside], ty);
    e.give(0, y)
}

/// Sorts the elements other than zero to the front, and keeps their places.
fn non_zero(e: &mut Emitter) -> Result {
    let (x, ty) = (e.input(0)?, e.output(0)?);
    let total = e.product(&x.ty.dims)?;
    let flat = e.reshape(&x, vec![total.clone()])?;
    let chosen = converted(e, &flat, ElementType::Boolean)?;
    let ones = e.convert(&chosen, ElementType::I64);
    let count = sum(e, &ones, &[0])?;
    let Some(dim) = ty.dims.get(1).filter(|_| x.ty.rank() > 0) else {
        return Err(OpError::unsupported("NonZero of a scalar"));
    };
    e.function.learn(dim, &count);
    let dropped = e.same("not", &[&chosen]);
    let order = e.convert(&dropped, ElementType::I32);
    let places = e.iota(0, ones.ty.clone())?;
    let [_, places] = sorted(e, &order, &places, 0, "LT");
    let mut rest = e.part(&places, 0, &0.into(), dim.clone())?;
    // Splits the places into coordinates, beginning with the last axis.
    let mut rows = Vec::with_capacity(x.ty.rank());
    for size in x.ty.dims.iter().rev() {
        let size = e.number(size)?;
        let size = e.spread(&size, &[], &rest.ty.dims)?;
        let row = e.same("remainder", &[&rest, &size]);
        rest = e.same("divide", &[&rest, &size]);
        rows.push(e.reshape(&row, vec![SymExpr::from(1), dim.clone()])?);
    }
    rows.reverse();
    let y = e.concatenate(&rows, 0)?;
    let y = e.convert(&y, ty.element);
    e.give(0, y)
}
