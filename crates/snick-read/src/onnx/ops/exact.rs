//! Computes sums of products of 8-bit integers exactly in floats. An f32 can represent every integer up to
//! 2^24, so sums up to this bound are exact in any order and on any machine. Longer sums are split into
//! parts.

use snick_ir::Value;
use snick_tensor::ElementType;

use crate::onnx::builder::NodeBuilder;

/// Maximum sum of the absolute weights in a part. Its product with 255, the largest difference between an
/// 8-bit integer and its zero point, is at most 2^24.
const LIMIT: u32 = (1 << 24) / 255;

/// Maximum number of weights in a kernel, so that the sum of their absolute values fits in `u32`.
const KERNEL: usize = 1 << 20;

/// The axes over which products are summed.
pub(super) enum Summed {
    /// The rows of a matrix, with a zero point for each column.
    Rows,
    /// All axes of a filter except the first, with a zero point for each filter. Parts are ranges of
    /// channels.
    Filters,
}

/// The start and end of each part of the summed axis.
pub(super) type Parts = Vec<(i64, i64)>;

/// Splits the summed axis into parts in which the sums of products of constant weights and 8-bit data are
/// exact in f32. `None` if this is impossible, for example because the weights are not constants of 8-bit
/// integers.
pub(super) fn exact_parts(
    b: &NodeBuilder,
    data: Value,
    weights: Value,
    zero_point: Option<Value>,
    summed: Summed,
) -> Option<Parts> {
    if !matches!(b.element_type(data), Ok(ElementType::U8 | ElementType::I8)) {
        return None;
    }
    let tensor = b.constant_value(weights)?;
    let signed = match tensor.element_type() {
        ElementType::I8 => true,
        ElementType::U8 => false,
        _ => return None,
    };
    let (outer, len, inner) = match (&summed, tensor.dims()) {
        (Summed::Rows, &[rows, columns]) => (1, rows, columns),
        (Summed::Filters, &[filters, channels, ref kernel @ ..]) => {
            (filters, channels, kernel.iter().product())
        }
        _ => return None,
    };
    // The number of columns or filters. Each of them has its own zero point.
    let lines = if matches!(summed, Summed::Rows) { inner } else { outer };
    let mut zeros = match zero_point {
        Some(zero_point) => b.constant_value(zero_point)?.to_i64_vec().ok()?,
        None => vec![0],
    };
    if zeros.len() == 1 {
        zeros.resize(lines, zeros[0]);
    }
    if zeros.len() != lines || (matches!(summed, Summed::Filters) && inner > KERNEL) {
        return None;
    }
    let zeros: Vec<i32> = zeros.into_iter().map(i32::try_from).collect::<Result<_, _>>().ok()?;
    let size = |byte: u8, zero: i32| {
        let weight = if signed { i32::from(byte.cast_signed()) } else { i32::from(byte) };
        weight.abs_diff(zero)
    };
    let bytes = tensor.to_bytes();
    let (mut sums, mut next) = (vec![0u32; lines], vec![0u32; lines]);
    let mut cuts = vec![0];
    for i in 0..len {
        match summed {
            Summed::Rows => {
                let row = bytes.get(i * inner..)?.get(..inner)?;
                for ((next, &byte), &zero) in next.iter_mut().zip(row).zip(&zeros) {
                    *next = size(byte, zero);
                }
            }
            Summed::Filters => {
                for ((o, next), &zero) in next.iter_mut().enumerate().zip(&zeros) {
                    let kernel = bytes.get((o * len + i) * inner..)?.get(..inner)?;
                    *next = kernel.iter().map(|&byte| size(byte, zero)).sum();
                }
            }
        }
        if next.iter().any(|&more| more > LIMIT) {
            return None;
        }
        if sums.iter().zip(&next).any(|(sum, more)| sum + more > LIMIT) {
            cuts.push(i as i64);
            sums.fill(0);
        }
        sums.iter_mut().zip(&next).for_each(|(sum, more)| *sum += more);
    }
    cuts.push(len as i64);
    Some(cuts.windows(2).map(|pair| (pair[0], pair[1])).collect())
}
