//! Pooling to a given size: along each axis an output is the mean or the greatest of the inputs that it covers.

use snick_ir::OpError;
use snick_tensor::Tensor;

use super::emitter::{Emitter, Operand, Result};
use super::reduction::maximum;
use super::resample::sums;
use super::table::EmitRule::{self, Custom};

pub(super) const RULES: &[(&str, EmitRule)] =
    &[("AdaptiveAvgPool", Custom(adaptive_mean)), ("AdaptiveMaxPool", Custom(adaptive_maximum))];

/// The inputs that each output covers, from the first to behind the last.
fn covered(input: usize, output: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..output).map(move |i| (i * input / output, ((i + 1) * input).div_ceil(output)))
}

/// The data, and the size of each spatial axis before and after.
fn spatial(e: &Emitter) -> Result<(Operand, Vec<[usize; 2]>), OpError> {
    let (x, dims) = (e.input(0)?, e.output(0)?.dims);
    let mut sizes = Vec::with_capacity(3);
    for (axis, dim) in dims.iter().enumerate().skip(2) {
        sizes.push([x.ty.size(axis)?, super::types::fixed(dim)?]);
    }
    Ok((x, sizes))
}

fn adaptive_mean(e: &mut Emitter) -> Result {
    let (mut y, sizes) = spatial(e)?;
    for (axis, [input, output]) in (2..).zip(sizes) {
        let mut weights = vec![0_f32; input * output];
        for ((first, end), row) in covered(input, output).zip(weights.chunks_exact_mut(input.max(1))) {
            row[first..end].fill(1.0 / (end - first) as f32);
        }
        y = sums(e, &y, axis, &Tensor::from_vec(&[output, input], weights)?)?;
    }
    e.give(0, y)
}

fn adaptive_maximum(e: &mut Emitter) -> Result {
    if e.is_used(1) {
        return Err(OpError::unsupported("the indices of AdaptiveMaxPool in StableHLO"));
    }
    let (mut y, sizes) = spatial(e)?;
    for (axis, [input, output]) in (2..).zip(sizes) {
        let mut parts = Vec::with_capacity(output);
        for (first, end) in covered(input, output) {
            let part = e.part(&y, axis, &(first as i64).into(), ((end - first) as i64).into())?;
            let best = maximum(e, &part, &[axis])?;
            let mut dims = part.ty.dims.clone();
            dims[axis] = 1.into();
            parts.push(e.reshape(&best, dims)?);
        }
        y = e.concatenate(&parts, axis)?;
    }
    e.give(0, y)
}
