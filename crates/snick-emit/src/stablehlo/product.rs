//! Products: matrices and convolutions.

use snick_ir::{Op, OpError};
use snick_shape::SymExpr;
use snick_tensor::ElementType;

use super::emitter::{Emitter, Operand, Result};
use super::table::EmitRule::{self, Custom};
use super::types::fixed;

pub(super) const RULES: &[(&str, EmitRule)] = &[
    ("Convolution", Custom(convolution)),
    ("ConvolutionBackpropData", Custom(transposed_convolution)),
    ("GroupConvolution", Custom(convolution)),
    ("GroupConvolutionBackpropData", Custom(transposed_convolution)),
    ("MatMul", Custom(matmul)),
    ("ScaledDotProductAttention", Custom(attention)),
];

/// The last two axes of each, the second of them exchanged where the operand is written transposed; the axes before
/// are brought to one shape.
pub(super) fn multiply(
    e: &mut Emitter,
    a: &Operand,
    b: &Operand,
    transposed: [bool; 2],
    lead: &[SymExpr],
) -> Result<Operand> {
    let spread = |e: &mut Emitter, x: &Operand| {
        let [.., rows, columns] = x.ty.dims.as_slice() else { return Ok(x.clone()) };
        e.broadcast(x, [lead, &[rows.clone(), columns.clone()]].concat())
    };
    let (a, b) = (spread(e, a)?, spread(e, b)?);
    let batch: Vec<usize> = (0..lead.len()).collect();
    let [own_a, own_b] = [lead.len() + usize::from(transposed[0]), lead.len() + usize::from(!transposed[1])];
    let [shared_a, shared_b] = [2 * lead.len() + 1 - own_a, 2 * lead.len() + 1 - own_b];
    contract(e, &a, &b, [&batch, &batch], [&[shared_a], &[shared_b]])
}

/// The sum of products over the `shared` axes of each, for each place of the `batch` axes: these come first, then the
/// other axes of `a`, then those of `b`.
pub(super) fn contract(
    e: &mut Emitter,
    a: &Operand,
    b: &Operand,
    batch: [&[usize]; 2],
    shared: [&[usize]; 2],
) -> Result<Operand> {
    let others = |x: &Operand, side: usize| {
        let own = x.ty.dims.iter().enumerate();
        let own = own.filter(|(axis, _)| !batch[side].contains(axis) && !shared[side].contains(axis));
        own.map(|(_, dim)| dim.clone()).collect::<Vec<SymExpr>>()
    };
    let lead = batch[0].iter().filter_map(|&axis| a.ty.dims.get(axis).cloned()).collect();
    let ty = a.ty.sized([lead, others(a, 0), others(b, 1)].concat());
    let batching = format!("batching_dims = {:?} x {:?}, ", batch[0], batch[1]);
    let batching = if batch[0].is_empty() { "" } else { &batching };
    let what = format!("{}, {}, {batching}", a.name, b.name);
    let tail = format!(
        "contracting_dims = {:?} x {:?}, precision = [HIGHEST, HIGHEST] : ({}, {}) -> {ty}",
        shared[0], shared[1], a.ty, b.ty
    );
    Ok(e.line("stablehlo.dot_general", &what, &tail, ty))
}

/// Vectors are matrices of one row or column, which falls away again.
fn matmul(e: &mut Emitter) -> Result {
    let (a, b) = (e.input(0)?, e.input(1)?);
    let mut transposed = [e.flag("transpose_a")?, e.flag("transpose_b")?];
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

/// `softmax(q * k^T * scale + mask) * v`
fn attention(e: &mut Emitter) -> Result {
    let (q, k, v) = (e.input(0)?, e.input(1)?, e.input(2)?);
    let dims = e.output(0)?.dims;
    let lead = dims.get(..dims.len().saturating_sub(2)).unwrap_or_default().to_vec();
    let mut shapes = vec![q.ty.before_matrix(), k.ty.before_matrix(), v.ty.before_matrix()];
    let causal = e.flag("causal")?;
    let mask = if e.len() > 3 && !causal { Some(e.input(3)?) } else { None };
    // A real number alone is how models leave the mask out.
    let mask = mask.filter(|mask| mask.ty.rank() > 0 || mask.ty.element == ElementType::Boolean);
    shapes.extend(mask.as_ref().map(|mask| mask.ty.before_matrix()));
    e.meet(&shapes, &lead)?;
    let mut scores = multiply(e, &q, &k, [false, true], &lead)?;
    let scale = match e.len() {
        5 => {
            let scale = e.input(4)?;
            let scale = e.convert(&scale, scores.ty.element);
            e.everywhere(&scale, &scores.ty.dims)?
        }
        _ => {
            let width = q.ty.size(q.ty.rank().saturating_sub(1))?;
            e.full(1.0 / (width.max(1) as f64).sqrt(), &scores.ty)?
        }
    };
    scores = e.same("stablehlo.multiply", &[&scores, &scale]);
    if causal {
        // Query `i` sees keys up to `i`.
        let places = scores.ty.with(ElementType::I64);
        let last = places.rank().saturating_sub(1);
        let (rows, keys) = (e.iota(last.saturating_sub(1), places.clone())?, e.iota(last, places)?);
        let seen = e.compare("LE", &keys, &rows);
        let never = e.full(f64::NEG_INFINITY, &scores.ty)?;
        scores = e.select(&seen, &scores, &never);
    }
    if let Some(mask) = mask {
        let mask = e.broadcast(&mask, &scores.ty.dims)?;
        scores = match mask.ty.element == ElementType::Boolean {
            true => {
                let never = e.full(f64::NEG_INFINITY, &scores.ty)?;
                e.select(&mask, &scores, &never)
            }
            false => e.same("stablehlo.add", &[&scores, &mask]),
        };
    }
    let last = scores.ty.rank().saturating_sub(1);
    let weights = super::normalization::softmax_over(e, &scores, last, false)?;
    let y = multiply(e, &weights, &v, [false, false], &lead)?;
    e.give(0, y)
}

/// `[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]` for two spatial axes.
fn layout(spatial: usize) -> String {
    let axes: String = (0..spatial).map(|axis| format!(", {axis}")).collect();
    format!("#stablehlo.conv<[b, f{axes}]x[o, i{axes}]->[b, f{axes}]>")
}

/// How the window of a convolution moves.
#[derive(Default)]
struct Moves {
    strides: Vec<usize>,
    /// Elements before and behind each axis.
    padding: Vec<[i64; 2]>,
    /// Zeros between the elements of the data.
    lhs_dilation: Vec<usize>,
    rhs_dilation: Vec<usize>,
}

fn convolve(e: &mut Emitter, x: &Operand, filters: &Operand, groups: usize, moves: &Moves) -> Result {
    let array = |list: &[usize]| list.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let padding: Vec<String> = moves.padding.iter().map(|[low, high]| format!("[{low}, {high}]")).collect();
    let spatial = moves.strides.len();
    let attributes = format!(
        "batch_group_count = 1 : i64, dimension_numbers = {}, feature_group_count = {groups} : i64, \
         lhs_dilation = array<i64: {}>, padding = dense<[{}]> : tensor<{spatial}x2xi64>, \
         precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>], \
         rhs_dilation = array<i64: {}>, window_strides = array<i64: {}>",
        layout(spatial),
        array(&moves.lhs_dilation),
        padding.join(", "),
        array(&moves.rhs_dilation),
        array(&moves.strides),
    );
    let ty = e.output(0)?;
    let y = e.generic("stablehlo.convolution", &[x, filters], &attributes, ty);
    e.give(0, y)
}

/// Filters without the axis of groups in front, and how many groups there are.
fn ungrouped(e: &mut Emitter, grouped: bool) -> Result<(Operand, usize), OpError> {
    let filters = e.input(1)?;
    match filters.ty.fixed()?.as_slice() {
        &[groups, first, ref rest @ ..] if grouped => {
            Ok((e.reshape(&filters, &[&[groups * first], rest].concat())?, groups))
        }
        _ => Ok((filters, 1)),
    }
}

fn convolution(e: &mut Emitter) -> Result {
    let (grouped, sliding) = match &e.node.op {
        Op::Convolution(op) => (false, op.sliding.clone()),
        Op::GroupConvolution(op) => (true, op.sliding.clone()),
        _ => return Err(OpError::unsupported("this convolution")),
    };
    let windows = sliding.windows();
    let x = e.input(0)?;
    let (filters, groups) = ungrouped(e, grouped)?;
    let mut moves = Moves::default();
    for (i, (input, kernel)) in x.ty.dims.iter().zip(&filters.ty.dims).skip(2).enumerate() {
        let axis = windows.axis(i);
        moves.padding.push(match windows.auto_pad.is_same() {
            true => windows.padding(i, fixed(input)?, fixed(kernel)?)?,
            false => [axis.begin, axis.end],
        });
        moves.strides.push(usize::try_from(axis.stride).unwrap_or(1));
        moves.lhs_dilation.push(1);
        moves.rhs_dilation.push(usize::try_from(axis.dilation).unwrap_or(1));
    }
    convolve(e, &x, &filters, groups, &moves)
}

/// A convolution with the filters turned round, over data with zeros between its elements.
fn transposed_convolution(e: &mut Emitter) -> Result {
    let (grouped, transposed) = match &e.node.op {
        Op::ConvolutionBackpropData(op) => (false, op.transposed.clone()),
        Op::GroupConvolutionBackpropData(op) => (true, op.transposed.clone()),
        _ => return Err(OpError::unsupported("this convolution")),
    };
    let (x, filters) = (e.input(0)?, e.input(1)?);
    // Filters `[G, I, O, kernel..]` become `[G * O, I, kernel..]`.
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
    let (spatial, sizes) = match e.len() {
        2 => (vec![1; kernel.len()], None), // they do not matter
        _ => {
            let sizes = e.fixed(2, "the sizes of a transposed convolution")?;
            (x.ty.fixed()?.split_off(2), Some(sizes))
        }
    };
    let window = transposed.window(&spatial, kernel, sizes.as_deref())?;
    let mut moves =
        Moves { strides: vec![1; kernel.len()], rhs_dilation: window.dilations.to_vec(), ..Moves::default() };
    for (i, (&before, &after)) in window.pads_begin.iter().zip(&window.pads_end).enumerate() {
        moves.padding.push([before as i64, after as i64]);
        moves.lhs_dilation.push(usize::try_from(transposed.sliding.windows().axis(i).stride).unwrap_or(1));
    }
    convolve(e, &x, &turned, groups, &moves)
}
