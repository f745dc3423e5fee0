//! Products with weights of 4 or 8 bits, which stay packed in memory and are decoded during the product.
//!
//! [`matmul::algorithm`](crate::kernels::matmul::algorithm) chooses among the algorithms:
//! - One row: [`digit_product`] in integers, otherwise [`row_product`] with floats in registers.
//! - Several rows, and all other formats: decodes a block of weight rows to floats in memory, and multiplies
//!   it as floats.
//!
//! **Layout.** Weights are `N` rows of `K` codes: the transposed right operand. Each group of codes in a row
//! shares a zero point and a scale.
//!
//! **Threads.** With one row, each thread computes some blocks of the result. With several rows, threads
//! share the product of each block.

mod decoding;
mod digit_product;
mod row_product;

use std::sync::Arc;

use self::decoding::{Decoding, IntegerCodes, UnpackRow};
use self::digit_product::{DigitProduct, Digits};
use self::row_product::RowProduct;
use crate::buffer::Buffer;
use crate::kernels::gemm::{Matrix, PackedLhs};
use crate::kernels::matmul::algorithm::{
    CodeFormat, DIGIT_LANES, MatMulAlgorithm, MatMulProblem, RightOperand,
};
use crate::kernels::matmul::multiply_with;
use crate::kernels::sharing;
use crate::kernels::vectors::{Isa, dispatch_best};
use crate::{Dims, ElementType, Tensor, TensorError};

/// A weight matrix as language models store it: `(code - zero) * scale`, with one zero point and one scale
/// per group of codes in a row. It takes the size of the codes plus 8 bytes per group.
///
/// ```
/// use snick_tensor::kernels::PackedWeights;
/// use snick::{ElementType, Tensor};
///
/// let codes = Tensor::from_slice(&[1i8, 2, 3, 4], &[2, 2])?;
/// let scales = Tensor::from_slice(&[1f32, 10.], &[2, 1])?;
/// let weights = PackedWeights::new(&codes, None, &scales, ElementType::F32).unwrap();
/// let x = Tensor::from_slice(&[1f32, 1.], &[1, 2])?;
/// assert_eq!(weights.multiply(&x)?.to_f32_vec()?, [3., 70.]);
/// # Ok::<(), snick::TensorError>(())
/// ```
#[derive(Debug)]
pub struct PackedWeights {
    codes: Tensor,
    decoding: Decoding,
    rows: usize,
    depth: usize,
    /// Codes that share a zero point and a scale.
    group: usize,
    /// The zero points of all groups, row after row, followed by a 0 for each lane of a vector.
    zeros: Vec<f32>,
    /// The scales of all groups, in the same layout as `zeros`.
    scales: Vec<f32>,
    /// Whether there are zero points other than 0.
    has_zeros: bool,
    /// The format of the codes, if [`digit_product`] supports them.
    integers: Option<IntegerCodes>,
}

/// The size of a block of decoded weight rows, in bytes: it stays in the L2 cache. Blocks of 64 KiB take 0.9
/// to 1.1 times as long, blocks of 4 MiB 1.2 to 1.7 times.
const BLOCK_BYTES: usize = 1 << 18;

/// The size of a strip, in bytes: a block of decoded weight rows for a product with a single row, which reads
/// each weight once. It stays in the L1 cache. Up to 32 KiB, the size makes no difference; strips of 64 KiB
/// take 1.4 times as long, strips of 256 KiB 1.7 times.
const STRIP_BYTES: usize = 1 << 14;

/// The rows of a strip are a multiple of this, because four rows share each load.
const STRIP_ROWS: usize = 4;

impl PackedWeights {
    /// Weights from codes `[N, K]` or `[N, G, K / G]`, with zero points and scales per tensor, per row or per
    /// group. `None` for other ranks, non-contiguous or empty codes, groups of odd length, and codes of
    /// neither 4 nor 8 bits. Codes are converted to the type `through` before they are scaled.
    pub fn new(
        codes: &Tensor,
        zeros: Option<&Tensor>,
        scales: &Tensor,
        through: ElementType,
    ) -> Option<Self> {
        let (rows, groups, group) = match *codes.dims() {
            [rows, depth] => (rows, 1, depth),
            [rows, groups, group] => (rows, groups, group),
            _ => return None,
        };
        let is_packed = codes.is_contiguous() && matches!(codes.element_type().bit_width(), Some(4 | 8));
        if !is_packed || codes.is_empty() || codes.element_type() == ElementType::Boolean || group % 2 != 0 {
            return None;
        }
        let depth = groups.checked_mul(group)?;
        let by_group = |t: &Tensor| {
            let wanted: Dims = match codes.rank() {
                2 => Dims::from_slice(&[rows, 1]),
                _ => Dims::from_slice(&[rows, groups, 1]),
            };
            t.cast(ElementType::F32).ok()?.broadcast_to(&wanted).ok()?.to_f32_vec().ok()
        };
        let scales = by_group(scales)?;
        let zeros = match zeros {
            Some(zeros) => by_group(zeros)?,
            None => vec![0.0; scales.len()],
        };
        let decoding = Decoding::new(codes.element_type(), through)?;
        let has_zeros = zeros.iter().any(|&zero| zero != 0.0);
        let is_bounded = zeros.iter().chain(&scales).copied().all(digit_product::is_bounded);
        let integers = decoding.integers().filter(|_| is_bounded);
        let [zeros, scales] = [zeros, scales].map(|mut by_group| {
            by_group.extend([0.0; DIGIT_LANES]);
            by_group
        });
        Some(Self { codes: codes.kept(), decoding, rows, depth, group, zeros, scales, has_zeros, integers })
    }

    /// `N` rows of `K` weights.
    pub fn dims(&self) -> [usize; 2] {
        [self.rows, self.depth]
    }

    /// The product of `x`, whose last axis has `K` elements, and the transposed weights. The last axis of the
    /// result has `N` elements.
    ///
    /// # Errors
    /// [`TensorError::ShapeMismatch`]; memory.
    pub fn multiply(&self, x: &Tensor) -> Result<Tensor, TensorError> {
        let mut dims = Dims::from_slice(x.dims());
        match dims.last_mut() {
            Some(last) if *last == self.depth => *last = self.rows,
            _ => return Err(TensorError::mismatch("cannot multiply {} with {}", x.dims(), &self.dims())),
        }
        if x.is_empty() {
            return Tensor::zeros(ElementType::F32, &dims);
        }
        let x = x.cast(ElementType::F32)?.contiguous();
        let count = x.len() / self.depth;
        let mut out = Buffer::any(count.checked_mul(self.rows).ok_or_else(too_large)?)?;
        let left = Matrix::packed(x.as_slice::<f32>()?, count, self.depth);
        self.multiply_matrix(&left, self.integers, &mut out)?;
        Tensor::from_buffer(ElementType::F32, &dims, out)
    }

    /// Chooses an algorithm and runs it. `integers` is the format of the codes, or `None` to rule out
    /// [`digit_product`].
    fn multiply_matrix(
        &self,
        left: &Matrix<f32>,
        integers: Option<IntegerCodes>,
        out: &mut [f32],
    ) -> Result<(), TensorError> {
        let x = left.data;
        match MatMulAlgorithm::select(&self.problem(left.rows, integers.is_some())) {
            MatMulAlgorithm::Int8Digits => {
                let digits = integers.and_then(|codes| Some((codes, Digits::new(x, codes, self.group)?)));
                // `Digits::new` refuses rows in which the largest element of a group is not finite or is out
                // of range.
                let Some((codes, digits)) = digits else { return self.multiply_matrix(left, None, out) };
                self.for_each_block(out, |first, out| self.digit_product(&digits, codes, first, out))
            }
            MatMulAlgorithm::DecodedDots => {
                self.for_each_block(out, |first, out| self.row_product(x, first, out))
            }
            _ if left.rows == 1 => self.for_each_block(out, |first, out| self.strips(left, first, out)),
            _ => self.blocks(left, out),
        }
    }

    /// Describes the product of `rows` rows and these weights for the choice of an algorithm.
    fn problem(&self, rows: usize, are_integers: bool) -> MatMulProblem {
        let codes = CodeFormat {
            per_byte: self.decoding.per_byte(),
            group: self.group,
            are_integers,
            decodes_in_registers: self.decoding.is_in_registers(),
        };
        MatMulProblem {
            is_integer: false,
            has_narrow_kernels: true,
            rows,
            depth: self.depth,
            columns: self.rows,
            left_column_step: 1,
            right: RightOperand::Codes(codes),
            is_constant: [false; 2],
        }
    }

    /// Calls `multiply` with the first row of each block of weights and the block's part of the result, on
    /// all threads.
    fn for_each_block(
        &self,
        out: &mut [f32],
        multiply: impl Fn(usize, &mut [f32]) -> Result<(), TensorError> + Send + Sync,
    ) -> Result<(), TensorError> {
        let size = self.block_rows();
        sharing::try_for_each(out.chunks_mut(size).enumerate(), |(i, out)| multiply(i * size, out))
    }

    /// Multiplies one row with the weights from row `first` on, in integers.
    fn digit_product(
        &self,
        digits: &Digits,
        integers: IntegerCodes,
        first: usize,
        out: &mut [f32],
    ) -> Result<(), TensorError> {
        let groups = self.depth / self.group;
        let product = DigitProduct {
            digits,
            integers,
            bytes: self.code_bytes(first, out.len()),
            zeros: &self.zeros[first * groups..],
            scales: &self.scales[first * groups..],
            has_zeros: self.has_zeros,
            out,
        };
        product.run();
        Ok(())
    }

    /// Multiplies one row with the weights from row `first` on, decoded in registers.
    fn row_product(&self, x: &[f32], first: usize, out: &mut [f32]) -> Result<(), TensorError> {
        let (groups, end) = (self.depth / self.group, first + out.len());
        dispatch_best(RowProduct {
            x,
            decoding: &self.decoding,
            bytes: self.code_bytes(first, out.len()),
            group: self.group,
            zeros: &self.zeros[first * groups..end * groups],
            scales: &self.scales[first * groups..end * groups],
            out,
        });
        Ok(())
    }

    /// Multiplies one row with the weights from row `first` on, decoded one strip at a time.
    fn strips(&self, left: &Matrix<f32>, first: usize, out: &mut [f32]) -> Result<(), TensorError> {
        let strip = self.strip_rows();
        let mut weights = Buffer::any(strip.checked_mul(self.depth).ok_or_else(too_large)?)?;
        for (k, out) in out.chunks_mut(strip).enumerate() {
            let weights = &mut weights[..out.len() * self.depth];
            self.unpack(first + k * strip, weights);
            self.multiply_decoded(left, weights, &mut None, out)?;
        }
        Ok(())
    }

    /// Multiplies several rows with the weights, decoded one block at a time.
    fn blocks(&self, left: &Matrix<f32>, out: &mut [f32]) -> Result<(), TensorError> {
        let columns = self.rows;
        let mut packed_left = None;
        for first in (0..columns).step_by(self.block_rows()) {
            let count = self.block_rows().min(columns - first);
            let mut weights = Buffer::any(count.checked_mul(self.depth).ok_or_else(too_large)?)?;
            self.unpack(first, &mut weights);
            let mut block = Buffer::any(left.rows * count)?;
            self.multiply_decoded(left, &weights, &mut packed_left, &mut block)?;
            let rows = block.chunks_exact(count).zip(out.chunks_exact_mut(columns));
            rows.for_each(|(row, out)| out[first..first + count].copy_from_slice(row));
        }
        Ok(())
    }

    /// Multiplies rows with decoded weights. The packed rows are kept for the next block.
    fn multiply_decoded(
        &self,
        left: &Matrix<f32>,
        weights: &[f32],
        packed_left: &mut Option<Arc<PackedLhs<f32>>>,
        out: &mut [f32],
    ) -> Result<(), TensorError> {
        let right = &Matrix::packed(weights, weights.len() / self.depth, self.depth).transposed();
        let pack_left =
            || Ok(packed_left.get_or_insert_with(|| Arc::new(PackedLhs::pack(Isa::best(), left))).clone());
        let algorithm = MatMulAlgorithm::select(&MatMulProblem::of_floats(left, right, [true, false]));
        multiply_with(algorithm, left, right, pack_left, || Ok(None), out, None)
    }

    /// Decodes the rows with these indices: `[indices.., K]`. Negative indices count from the end. Indices
    /// out of range give zeros if `zeros_outside`, and an error otherwise.
    ///
    /// # Errors
    /// [`TensorError::IndexOutOfRange`]; memory.
    pub fn gather(&self, indices: &Tensor, zeros_outside: bool) -> Result<Tensor, TensorError> {
        let mut dims = Dims::from_slice(indices.dims());
        dims.push(self.depth);
        let indices = indices.to_i64_vec()?;
        let mut out = Buffer::any(indices.len().checked_mul(self.depth).ok_or_else(too_large)?)?;
        for (index, row) in indices.into_iter().zip(out.chunks_exact_mut(self.depth)) {
            let from_start = if index < 0 { index.saturating_add_unsigned(self.rows as u64) } else { index };
            let found = usize::try_from(from_start).ok().filter(|&index| index < self.rows);
            match found {
                Some(found) => self.unpack(found, row),
                None if zeros_outside => row.fill(0.0),
                None => return Err(TensorError::IndexOutOfRange { index, dim: self.rows }),
            }
        }
        Tensor::from_buffer(ElementType::F32, &dims, out)
    }

    fn block_rows(&self) -> usize {
        (BLOCK_BYTES / 4 / self.depth).next_multiple_of(32).max(32)
    }

    fn strip_rows(&self) -> usize {
        (STRIP_BYTES / 4 / self.depth).next_multiple_of(STRIP_ROWS).max(STRIP_ROWS)
    }

    /// The codes of `count` rows from row `first` on.
    fn code_bytes(&self, first: usize, count: usize) -> &[u8] {
        let bytes = self.codes.packed_bytes().unwrap_or_default();
        let len = bytes.len() / self.rows;
        &bytes[first * len..(first + count) * len]
    }

    /// Decodes as many rows from `first` on as fit in `out`.
    fn unpack(&self, first: usize, out: &mut [f32]) {
        let groups = self.depth / self.group;
        for (row, out) in (first..).zip(out.chunks_exact_mut(self.depth)) {
            dispatch_best(UnpackRow {
                decoding: &self.decoding,
                bytes: self.code_bytes(row, 1),
                group: self.group,
                zeros: &self.zeros[row * groups..][..groups],
                scales: &self.scales[row * groups..][..groups],
                out,
            });
        }
    }
}

fn too_large() -> TensorError {
    TensorError::OutOfMemory { bytes: usize::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Storage;
    use crate::kernels::{self, BinaryOp};

    /// Pseudo-random bytes.
    fn noise(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
    }

    fn floats(dims: &[usize], seed: usize) -> Tensor {
        let len: usize = dims.iter().product();
        Tensor::from_vec(dims, (0..len).map(|i| ((i * 7 + seed) % 23) as f32 / 8.0 - 1.0).collect()).unwrap()
    }

    #[test]
    fn products_are_those_of_the_unpacked_weights_bit_by_bit() {
        use ElementType::{F8E4M3, F16, F32, I4, I8, NF4, U4, U8};
        for (codes, through) in
            [(U4, F16), (I4, F32), (U8, F32), (I8, F16), (NF4, F16), (I4, F16), (F8E4M3, F32)]
        {
            for (dims, scales) in [
                ([96, 4, 64], [96, 4, 1]),
                ([70, 1, 320], [70, 1, 1]),
                ([33, 2, 6], [1, 1, 1]),
                ([9, 3, 42], [9, 3, 1]),
            ] {
                let [rows, groups, group] = dims;
                let bytes = noise(codes.byte_len(rows * groups * group).unwrap());
                let bytes = if codes == F8E4M3 { bytes.iter().map(|b| b & 0x77).collect() } else { bytes };
                let packed = Tensor::new(codes, &dims, Storage::heap(bytes)).unwrap();
                let (zeros, scales) = (floats(&scales, 3), floats(&scales, 5));
                let weights = PackedWeights::new(&packed, Some(&zeros), &scales, through).unwrap();
                let unpacked = packed.cast(through).unwrap().cast(F32).unwrap();
                let unpacked = BinaryOp::Sub.apply(&unpacked, &zeros).unwrap();
                let unpacked = BinaryOp::Mul.apply(&unpacked, &scales).unwrap();
                let unpacked = unpacked.reshape(&[rows, groups * group]).unwrap();
                for count in [1, 2, 9, 40] {
                    let x = floats(&[count, groups * group], 1);
                    let expected = kernels::matmul(&x, &unpacked, false, true).unwrap();
                    assert_eq!(weights.multiply(&x).unwrap(), expected, "{codes} {dims:?} {count}");
                }
                let some = Tensor::from_slice(&[0i64, 5, -1], &[3, 1]).unwrap();
                let expected = kernels::gather(&unpacked, &some, 0, 0).unwrap();
                assert_eq!(weights.gather(&some, false).unwrap(), expected);
            }
        }
    }

    #[test]
    fn products_of_one_row_are_within_roundings_of_the_largest_elements() {
        use ElementType::{F32, I4, I8, U4, U8};
        for (codes, group) in
            [(I4, 128), (U4, 128), (I4, 32), (U4, 64), (U4, 16), (I4, 384), (I8, 64), (U8, 768)]
        {
            for outlier in [1.0, 3000.0] {
                let [rows, groups] = [67, 768 / group];
                let packed = Storage::heap(noise(codes.byte_len(rows * 768).unwrap()));
                let packed = Tensor::new(codes, &[rows, groups, group], packed).unwrap();
                let of_groups = |factor: f32, shift: f32| {
                    let each = noise(rows * groups).iter().map(|&x| f32::from(x) * factor + shift).collect();
                    Tensor::from_vec(&[rows, groups, 1], each).unwrap()
                };
                let (zeros, scales) = (of_groups(0.07, 1.0), of_groups(1e-4, 0.01));
                let zeros = if group == 384 { None } else { Some(&zeros) };
                let weights = PackedWeights::new(&packed, zeros, &scales, F32).unwrap();
                let mut x: Vec<f32> = noise(768).iter().map(|&x| (f32::from(x) - 127.3) / 101.0).collect();
                x[70] *= outlier;
                let mut unpacked = vec![0.0; rows * 768];
                weights.unpack(0, &mut unpacked);
                let product =
                    |x: &[f32]| weights.multiply(&Tensor::from_vec(&[1, 768], x.to_vec()).unwrap()).unwrap();
                // Half a unit in the last place of the largest element of each group.
                let error =
                    |x: &[f32]| x.iter().fold(0f32, |largest, x| largest.max(x.abs())) / (1 << 23) as f32;
                for (row, got) in unpacked.chunks_exact(768).zip(product(&x).to_f32_vec().unwrap()) {
                    let (mut sum, mut bound) = (0.0, 0.0);
                    for (row, x) in row.chunks_exact(group).zip(x.chunks_exact(group)) {
                        for (&weight, &one) in row.iter().zip(x) {
                            let [weight, one, error] = [weight, one, error(x)].map(f64::from);
                            sum += weight * one;
                            bound += weight.abs() * (error + one.abs() / f64::from(1 << 23));
                        }
                    }
                    assert!((f64::from(got) - sum).abs() < bound, "{codes} {group} {outlier}: {got} {sum}");
                }
                x[3] = f32::INFINITY;
                for (row, got) in unpacked.chunks_exact(768).zip(product(&x).to_f32_vec().unwrap()) {
                    let expected = f32::INFINITY * row[3];
                    assert!(got == expected || got.is_nan() && expected.is_nan(), "{got} {expected}");
                }
                x[3] = f32::NAN;
                assert!(product(&x).to_f32_vec().unwrap().iter().all(|x| x.is_nan()));
            }
        }
    }

    #[test]
    fn other_layouts_are_left_alone() {
        let codes = Tensor::from_vec(&[2, 3], vec![1u8; 6]).unwrap();
        assert!(PackedWeights::new(&codes, None, &floats(&[2, 1], 0), ElementType::F32).is_none());
        let codes = Tensor::from_vec(&[2, 4], vec![1u8; 8]).unwrap();
        for scales in [&[1, 4][..], &[2, 4], &[2, 1, 1], &[3, 1]] {
            assert!(
                PackedWeights::new(&codes, None, &floats(scales, 0), ElementType::F32).is_none(),
                "{scales:?}"
            );
        }
        let weights = PackedWeights::new(&codes, None, &floats(&[2, 1], 0), ElementType::F32).unwrap();
        assert!(weights.multiply(&floats(&[2, 3], 0)).is_err());
        assert!(weights.multiply(&Tensor::scalar(1f32)).is_err());
        assert!(weights.gather(&Tensor::scalar(2i64), false).is_err());
        assert_eq!(weights.gather(&Tensor::scalar(-3i64), true).unwrap().to_f32_vec().unwrap(), [0.0; 4]);
        assert_eq!(weights.multiply(&floats(&[0, 4], 0)).unwrap().dims(), [0, 2]);
    }
}
