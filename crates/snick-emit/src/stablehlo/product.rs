//! Matrix multiplications and convolutions.

use snick_ir::ops::MatMul;
use snick_ir::ops::nn::transposed_convolution::TransposedSliding;
use snick_ir::ops::nn::window::DilatedSliding;
use snick_ir::{Op, OpError};
use snick_shape::SymExpr;

use super::contract::contract;
use super::emitter::{Emitter, OpKind, Operand, Result};
use super::hlo::Convolution;
use super::row::OpRow;
use super::types::fixed;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::Convolution(op) => OpRow::new(|e| convolution(e, &op.sliding, false)),
        Op::ConvolutionBackpropData(op) => OpRow::new(|e| transposed_convolution(e, &op.transposed, false)),
        Op::GroupConvolution(op) => OpRow::new(|e| convolution(e, &op.sliding, true)),
        Op::GroupConvolutionBackpropData(op) => {
            OpRow::new(|e| transposed_convolution(e, &op.transposed, true))
        }
        Op::MatMul(op) => OpRow::new(|e| matmul(e, op)),
        _ => return None,
    })
}

/// Multiplies matrices; transposes the last two axes of an operand if requested. The leading axes are
/// broadcast. An operand without leading axes, such as weights, is not broadcast, so that it is only read
/// once. XLA's matrix library also mishandles broadcast copies.
pub(super) fn multiply(
    e: &mut Emitter,
    a: &Operand,
    b: &Operand,
    transposed: [bool; 2],
    lead: &[SymExpr],
) -> Result<Operand> {
    let count = lead.len();
    let is_matrix = |x: &Operand| x.ty.before_matrix().iter().all(|dim| dim.as_const() == Some(1));
    let (lone_a, lone_b) = (is_matrix(a), is_matrix(b));
    let spread = |e: &mut Emitter, x: &Operand, lead: &[SymExpr]| {
        let [.., rows, columns] = x.ty.dims.as_slice() else { return Ok(x.clone()) };
        let dims = [lead, &[rows.clone(), columns.clone()]].concat();
        if lead.is_empty() { e.reshape(x, dims) } else { e.broadcast(x, dims) }
    };
    let places = |count: usize, transposed: bool| count + usize::from(transposed);
    match (count > 0 && lone_a, count > 0 && lone_b) {
        (_, true) => {
            let (a, b) = (spread(e, a, lead)?, spread(e, b, &[])?);
            let shared = [[places(count, !transposed[0])], [places(0, transposed[1])]];
            contract(e, &a, &b, [&[], &[]], [&shared[0], &shared[1]])
        }
        (true, false) => {
            let (a, b) = (spread(e, a, &[])?, spread(e, b, lead)?);
            let shared = [[places(0, !transposed[0])], [places(count, transposed[1])]];
            let y = contract(e, &a, &b, [&[], &[]], [&shared[0], &shared[1]])?;
            let order: Vec<usize> = (1..=count).chain([0, count + 1]).collect();
            Ok(e.transpose(&y, &order))
        }
        (false, false) => {
            let (a, b) = (spread(e, a, lead)?, spread(e, b, lead)?);
            let batch: Vec<usize> = (0..count).collect();
            let shared = [[places(count, !transposed[0])], [places(count, transposed[1])]];
            contract(e, &a, &b, [&batch, &batch], [&shared[0], &shared[1]])
        }
    }
}

/// Treats a vector as a matrix with one row or column, and drops this axis from the result.
fn matmul(e: &mut Emitter, op: &MatMul) -> Result {
    let (a, b) = (e.input(0)?, e.input(1)?);
    let mut transposed = [op.transpose_a, op.transpose_b];
    let dims = e.output(0)?.dims;
    let mut matrix = [a, b];
    let of_vectors = [matrix[0].ty.rank() == 1, matrix[1].ty.rank() == 1];
    for (i, x) in matrix.iter_mut().enumerate() {
        if let [size] = x.ty.dims.as_slice() {
            transposed[i] = false;
            let (one, size) = (SymExpr::from(1), size.clone());
            *x = e.reshape(x, if i == 0 { vec![one, size] } else { vec![size, one] })?;
        }
    }
    let own = 2 - of_vectors.iter().filter(|&&is_vector| is_vector).count();
    let lead = dims.get(..dims.len().saturating_sub(own)).unwrap_or_default().to_vec();
    let [a, b] = matrix;
    e.meet(&[a.ty.before_matrix(), b.ty.before_matrix()], &lead)?;
    let y = multiply(e, &a, &b, transposed, &lead)?;
    let y = e.reshape(&y, dims)?;
    e.give(0, y)
}

fn convolve(e: &mut Emitter, x: &Operand, filters: &Operand, convolution: Convolution) -> Result {
    let ty = e.output(0)?;
    let y = e.op(OpKind::Convolution(convolution), &[x, filters], ty);
    e.give(0, y)
}

/// The filters with the leading group axis merged into the next one, and the number of groups.
fn ungrouped(e: &mut Emitter, grouped: bool) -> Result<(Operand, usize), OpError> {
    let filters = e.input(1)?;
    match filters.ty.fixed()?.as_slice() {
        &[groups, first, ref rest @ ..] if grouped => {
            Ok((e.reshape(&filters, &[&[groups * first], rest].concat())?, groups))
        }
        _ => Ok((filters, 1)),
    }
}

fn convolution(e: &mut Emitter, sliding: &DilatedSliding, grouped: bool) -> Result {
    let windows = sliding.windows();
    let x = e.input(0)?;
    let (filters, groups) = ungrouped(e, grouped)?;
    let precision = e.function.precision;
    let mut moves = Convolution { groups, precision, ..Convolution::default() };
    for (i, (input, kernel)) in x.ty.dims.iter().zip(&filters.ty.dims).skip(2).enumerate() {
        let axis = windows.axis(i);
        moves.padding.push(windows.padding(i, fixed(input).ok(), fixed(kernel)?)?);
        moves.strides.push(usize::try_from(axis.stride).unwrap_or(1));
        moves.lhs_dilation.push(1);
        moves.rhs_dilation.push(usize::try_from(axis.dilation).unwrap_or(1));
    }
    convolve(e, &x, &filters, moves)
}

/// Writes a convolution with reversed filters over dilated data.
fn transposed_convolution(e: &mut Emitter, transposed: &TransposedSliding, grouped: bool) -> Result {
    let (x, filters) = (e.input(0)?, e.input(1)?);
    // Turns filters `[G, I, O, kernel..]` into `[G * O, I, kernel..]`.
    let dims = filters.ty.fixed()?;
    let dims = if grouped { dims } else { [vec![1], dims].concat() };
    let &[groups, inputs, of_group, ref kernel @ ..] = dims.as_slice() else {
        return Err(OpError::rank("the filters", filters.ty.rank(), "3 or more"));
    };
    let spread = e.reshape(&filters, &dims)?;
    let mut order: Vec<usize> = (0..dims.len()).collect();
    order.swap(1, 2);
    let turned = e.transpose(&spread, &order);
    let turned = e.reshape(&turned, &[&[groups * of_group, inputs], kernel].concat())?;
    let axes: Vec<usize> = (2..2 + kernel.len()).collect();
    let turned = e.reverse(&turned, &axes);
    let excess = match e.len() {
        2 => None,
        _ => Some(e.excess(transposed, kernel).ok_or_else(|| {
            OpError::unsupported("padding of a transposed convolution known only at run time")
        })?),
    };
    let window = transposed.window(kernel, excess.as_deref())?;
    let mut moves = Convolution {
        groups,
        strides: vec![1; kernel.len()],
        rhs_dilation: window.dilations.to_vec(),
        precision: e.function.precision,
        ..Convolution::default()
    };
    for (i, (&before, &after)) in window.pads_begin.iter().zip(&window.pads_end).enumerate() {
        moves.padding.push([before as i64, after as i64]);
        moves.lhs_dilation.push(usize::try_from(transposed.sliding.windows().axis(i).stride).unwrap_or(1));
    }
    convolve(e, &x, &turned, moves)
}
