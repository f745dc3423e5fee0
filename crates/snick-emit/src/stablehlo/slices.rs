//! The `slice` primitive, and what is built of slices.

use snick_ir::ops::slice::primitive::Part;
use snick_ir::{Op, OpError};
use snick_tensor::ElementType;

use super::emitter::{Emitter, Operand, Written};
use super::table::Form::{self, By};

pub(super) const ROWS: &[(&str, Form)] = &[("slice", By(slice))];

/// Steps backwards are taken forwards and turned round. A start known only at run time is that of a dynamic slice,
/// which takes all up to the last element; a step then thins it out.
fn slice(e: &mut Emitter) -> Written {
    let Op::Slice(slice) = &e.node.op else { return Err(OpError::unsupported("this slice in StableHLO")) };
    let axes = slice.axes.clone();
    let mut x = e.input(0)?;
    let mut ranges: Vec<[usize; 3]> = x.ty.dims.iter().map(|&dim| [0, dim, 1]).collect();
    let mut starts: Vec<Option<Operand>> = vec![None; ranges.len()];
    let mut backwards = Vec::new();
    let mut operand = 1;
    for axis in &axes {
        let mut next = |e: &mut Emitter, part: Part| -> Result<Option<Operand>, OpError> {
            let Part::Operand(_) = part else { return Ok(None) };
            operand += 1;
            let number = e.input(operand - 1)?;
            let number = e.reshape(&number, &[]);
            Ok(Some(e.convert(&number, ElementType::I64)))
        };
        let start = next(e, axis.start)?;
        let (Part::Static(len), Part::Static(step)) = (axis.len, axis.step) else {
            return Err(OpError::unsupported(
                "a slice whose length or step is known only at run time in StableHLO",
            ));
        };
        let reach = (len - 1).max(0).saturating_mul(step.saturating_abs());
        let index = |number: i64| {
            usize::try_from(number).map_err(|_| OpError::out_of_range("a slice", number, "0 or more"))
        };
        if step < 0 {
            backwards.push(axis.axis);
        }
        let stop =
            |first: i64| index(if len == 0 { first } else { first.saturating_add(reach).saturating_add(1) });
        let step_size = index(step.saturating_abs())?.max(1);
        ranges[axis.axis] = match (axis.start, start) {
            (Part::Static(start), _) => {
                let first = if step < 0 { start.saturating_sub(reach) } else { start };
                [index(first)?, stop(first)?, step_size]
            }
            (_, start) => {
                let start = start.ok_or(OpError::NotConnected { port: operand })?;
                starts[axis.axis] = Some(match step < 0 {
                    true => {
                        let reach = e.constant(&snick_tensor::Tensor::scalar(reach))?;
                        e.same("stablehlo.subtract", &[&start, &reach])
                    }
                    false => start,
                });
                [0, stop(0)?, step_size]
            }
        };
    }
    if starts.iter().any(Option::is_some) {
        x = dynamic(e, &x, &ranges, starts)?;
        for (range, &dim) in ranges.iter_mut().zip(&x.ty.dims) {
            *range = [0, dim, range[2]];
        }
    }
    if ranges.iter().zip(&x.ty.dims).any(|(range, &dim)| *range != [0, dim, 1]) {
        x = e.slice(&x, &ranges);
    }
    if !backwards.is_empty() {
        x = e.reverse(&x, &backwards);
    }
    e.give(0, x)
}

/// `%x = stablehlo.dynamic_slice %a, %i, %j, sizes = [2, 3]`
fn dynamic(
    e: &mut Emitter,
    x: &Operand,
    ranges: &[[usize; 3]],
    starts: Vec<Option<Operand>>,
) -> Result<Operand, OpError> {
    let mut operands = vec![x.clone()];
    for (start, range) in starts.into_iter().zip(ranges) {
        operands.push(match start {
            Some(start) => start,
            None => e.constant(&snick_tensor::Tensor::scalar(range[0] as i64))?,
        });
    }
    let dims: Vec<usize> = ranges.iter().map(|&[start, stop, _]| stop - start).collect();
    let operands: Vec<&Operand> = operands.iter().collect();
    let sizes = dims.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let attributes = format!("slice_sizes = array<i64{}{sizes}>", if dims.is_empty() { "" } else { ": " });
    Ok(e.generic("stablehlo.dynamic_slice", &operands, &attributes, x.ty.sized(&dims)))
}
