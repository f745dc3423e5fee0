//! Sums of products of 8-bit integers in floating point. Every integer up to 2^24 is an f32, so a sum that stays below
//! is exact, in any order and on any machine; longer ones are taken in parts.

use snick_ir::Value;
use snick_tensor::ElementType;

use crate::onnx::builder::Builder;

/// Up to here every integer is an f32.
const EXACT: u64 = 1 << 24;

/// The greatest distance of an 8-bit integer from a zero point of its type.
const REACH: u64 = 255;

/// Where weights are summed.
pub(super) enum Summed {
    /// Along the rows of a matrix; a zero point for each column.
    Rows,
    /// Along all axes of a filter but the first; a zero point for each filter. Parts are channels.
    Filters,
}

/// What lies between the cuts of the summed axis: first index, and the one behind the last.
pub(super) type Parts = Vec<(i64, i64)>;

/// Parts of the summed axis in which each sum of constant weights, less their zero points, times data of 8 bits, is
/// exact in f32; `None` where that is not known.
pub(super) fn exact_parts(
    b: &Builder,
    data: Value,
    weights: Value,
    zero_point: Option<Value>,
    summed: Summed,
) -> Option<Parts> {
    if !matches!(b.element_type(data), Ok(ElementType::U8 | ElementType::I8)) {
        return None;
    }
    let tensor = b.tensor(weights)?;
    let signed = match tensor.element_type() {
        ElementType::I8 => true,
        ElementType::U8 => false,
        _ => return None,
    };
    let zeros = match zero_point {
        Some(zero_point) => b.tensor(zero_point)?.to_i64_vec().ok()?,
        None => vec![0],
    };
    let (outer, len, inner) = match (&summed, tensor.dims()) {
        (Summed::Rows, &[rows, columns]) => (1, rows, columns),
        (Summed::Filters, &[filters, channels, ref kernel @ ..]) => {
            (filters, channels, kernel.iter().product())
        }
        _ => return None,
    };
    // Each of these has a sum of its own.
    let lines = if matches!(summed, Summed::Rows) { inner } else { outer };
    if zeros.len() != 1 && zeros.len() != lines {
        return None;
    }
    let bytes = tensor.to_bytes();
    let (mut sums, mut next) = (vec![0u64; lines], vec![0u64; lines]);
    let mut cuts = vec![0];
    for i in 0..len {
        next.fill(0);
        for o in 0..outer {
            let row = bytes.get((o * len + i) * inner..)?.get(..inner)?;
            for (j, &byte) in row.iter().enumerate() {
                let line = if matches!(summed, Summed::Rows) { j } else { o };
                let zero = zeros.get(line).or(zeros.first())?;
                let weight = if signed { i64::from(byte.cast_signed()) } else { i64::from(byte) };
                *next.get_mut(line)? += weight.saturating_sub(*zero).unsigned_abs() * REACH;
            }
        }
        if sums.iter().zip(&next).any(|(sum, more)| sum + more > EXACT) {
            cuts.push(i as i64);
            sums.fill(0);
        }
        sums.iter_mut().zip(&next).for_each(|(sum, more)| *sum += more);
        if sums.iter().any(|&sum| sum > EXACT) {
            return None;
        }
    }
    cuts.push(len as i64);
    Some(cuts.windows(2).map(|pair| (pair[0], pair[1])).collect())
}
