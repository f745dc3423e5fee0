//! Matrix products: OpenVINO's `MatMul-1`.
//!
//! [`algorithm`] lists the algorithms of all matrix products, including packed weights, and chooses one. This
//! file prepares the operands, iterates over the batch and runs the chosen algorithm.

pub(crate) mod algorithm;
mod axpy;
pub(crate) mod dot_products;
mod quantized;
mod row_blocks;

pub use quantized::QuantizedMatMul;

use std::borrow::Cow;
use std::sync::Arc;

use self::algorithm::{MatMulAlgorithm, MatMulProblem, row_block};
use crate::buffer::Buffer;
use crate::kernels::broadcast::{Strided, broadcast_dims};
use crate::kernels::dispatch::{widen, with_type};
use crate::kernels::elementwise::{FusedElementwise, Stage};
use crate::kernels::gemm::{Epilogue, Gemm, Matrix, PackedLhs, PackedRhs, gemm_with_epilogue};
use crate::kernels::vectors::Isa;
use crate::layout::{Offsets, checked_len};
use crate::memo::Purpose;
use crate::tensor::stored_bytes;
use crate::{Dims, ElementType, PodElement, Tensor, TensorError};

/// The product of the last two axes; the axes before them broadcast. A 1-D `a` is treated as a row and a 1-D
/// `b` as a column, regardless of the transpose flags. The axis of size 1 that this adds is dropped from the
/// result.
///
/// Transposed views and flags cost nothing. Integers wrap.
///
/// # Errors
/// [`TensorError::TypeMismatch`], [`TensorError::UnsupportedType`], and [`TensorError::ShapeMismatch`]
/// (scalars have no product).
pub fn matmul(a: &Tensor, b: &Tensor, transpose_a: bool, transpose_b: bool) -> Result<Tensor, TensorError> {
    let et = a.element_type();
    let Operands { left, right, dims } = Operands::new(a, b, transpose_a, transpose_b)?;
    // For the small products of a recurrent cell, the conversions below would double the time.
    if et == ElementType::F32 && b.element_type() == et && a.rank() > 1 && b.rank() > 1 && !dims.contains(&0)
    {
        return floats::<f32>(&left, &right, &dims, None);
    }
    let [left, right] = widen([&*left, &*right])?;
    let product = match left.element_type() {
        // The batch may be too large to iterate over, even though the product is empty.
        et if dims.contains(&0) => Tensor::zeros(et, &dims),
        et if et.is_float() => with_type!([F32 = f32, F64 = f64], et, T => {
            floats::<T>(&left, &right, &dims, None)
        }),
        et => with_type!(
        [I8 = i8, I16 = i16, I32 = i32, I64 = i64, U8 = u8, U16 = u16, U32 = u32, U64 = u64],
        et, T => batched::<T>(&left, &right.contiguous(), &dims, &mut |_, a, b, out| {
            axpy::axpy(a, b, out);
            Ok(())
        })),
    }?;
    let product = if b.rank() == 1 { product.squeeze(product.rank() - 1)? } else { product };
    let product = if a.rank() == 1 {
        product.squeeze(product.rank() - if b.rank() == 1 { 1 } else { 2 })?
    } else {
        product
    };
    product.cast(et)
}

/// [`matmul`] followed by element-wise stages, each applied to parts of the result while they are in the
/// cache. `None` if fusing does not pay or [`FusedElementwise`] does not support the stages.
///
/// # Errors
/// Same as [`matmul`].
pub fn matmul_then(
    a: &Tensor,
    b: &Tensor,
    transpose_a: bool,
    transpose_b: bool,
    stages: &[Stage<&Tensor>],
) -> Result<Option<Tensor>, TensorError> {
    let are_f32 = [a, b].iter().all(|t| t.element_type() == ElementType::F32 && t.rank() > 1);
    if !are_f32 {
        return Ok(None);
    }
    let Operands { left, right, dims } = Operands::new(a, b, transpose_a, transpose_b)?;
    let (_, depth, columns) = split(&right);
    if !is_one_product(&left, &right, &dims) || dims.contains(&0) || depth == 0 {
        return Ok(None);
    }
    let gains = row_block(left.len() / depth, depth, columns).is_some();
    let fused = gains.then(|| FusedElementwise::of_dims(&dims, stages)).flatten();
    let Some(fused) = fused.filter(|fused| fused.has_rows_of(columns)) else { return Ok(None) };
    let function = |first: usize, piece: &mut [f32]| fused.on_piece(first, piece);
    floats(&left, &right, &dims, Some(Epilogue::new(&function))).map(Some)
}

/// Both operands as matrices, and the dims of their product: batch, rows, columns.
struct Operands<'a> {
    left: Cow<'a, Tensor>,
    right: Cow<'a, Tensor>,
    dims: Dims,
}

impl<'a> Operands<'a> {
    fn new(a: &'a Tensor, b: &'a Tensor, transpose_a: bool, transpose_b: bool) -> Result<Self, TensorError> {
        let refuse = || TensorError::mismatch("cannot multiply {} with {}", a.dims(), b.dims());
        if a.rank() == 0 || b.rank() == 0 {
            return Err(refuse());
        }
        let left = if a.rank() == 1 { Cow::Owned(a.unsqueeze(0)?) } else { transposed_if(transpose_a, a)? };
        let right = if b.rank() == 1 { Cow::Owned(b.unsqueeze(1)?) } else { transposed_if(transpose_b, b)? };
        let ((batch_a, m, k), (batch_b, depth, n)) = (split(&left), split(&right));
        if k != depth {
            return Err(refuse());
        }
        let mut dims = broadcast_dims(batch_a, batch_b)?;
        dims.extend([m, n]);
        Ok(Operands { left, right, dims })
    }
}

/// Swaps the last two axes if `transpose`.
fn transposed_if(transpose: bool, t: &Tensor) -> Result<Cow<'_, Tensor>, TensorError> {
    if !transpose {
        return Ok(Cow::Borrowed(t));
    }
    let mut order: Dims = (0..t.rank()).collect();
    order.swap(t.rank() - 2, t.rank() - 1);
    Ok(Cow::Owned(t.permute(&order)?))
}

/// Batch dims, rows, columns. The rank is at least 2.
fn split(t: &Tensor) -> (&[usize], usize, usize) {
    let (batch, matrix) = t.dims().split_at(t.rank() - 2);
    (batch, matrix[0], matrix[1])
}

/// An operand with its batch axes broadcast, and the offset of each of its matrices.
pub(super) fn batches<'a, T: PodElement>(
    t: &'a Tensor,
    dims: &[usize],
) -> Result<(Strided<'a, T>, Vec<usize>), TensorError> {
    let (_, rows, columns) = split(t);
    let batch = &dims[..dims.len() - 2];
    let mut wanted = Dims::from_slice(batch);
    wanted.extend([rows, columns]);
    let own = Strided::<T>::broadcast(t, &wanted)?;
    let starts = Offsets::new(batch, &own.layout.strides[..batch.len()], own.layout.start).collect();
    Ok((own, starts))
}

/// The matrix that starts at `start`.
pub(super) fn matrix<'a, T: PodElement>(t: &'a Strided<'_, T>, start: usize) -> Matrix<'a, T> {
    let rank = t.layout.dims.len();
    Matrix {
        data: &t.data,
        start,
        rows: t.layout.dims[rank - 2],
        columns: t.layout.dims[rank - 1],
        row_step: t.layout.strides[rank - 2],
        column_step: t.layout.strides[rank - 1],
    }
}

/// Whether all rows of `a` multiply the same matrix and can form a single left operand.
fn is_one_product(a: &Tensor, b: &Tensor, dims: &[usize]) -> bool {
    a.is_contiguous() && is_one_matrix(b) && dims.len() == a.rank()
}

/// Whether a tensor is a single matrix.
fn is_one_matrix(t: &Tensor) -> bool {
    t.dims().iter().rev().skip(2).all(|&d| d == 1)
}

/// Multiplies two matrices into the part of the result that begins at the given element.
type Multiply<'a, T> = dyn FnMut(usize, &Matrix<T>, &Matrix<T>, &mut [T]) -> Result<(), TensorError> + 'a;

/// Calls `multiply` for each product of a batch; no dim of the result is 0. It is not called if the depth is
/// 0.
fn batched<T: PodElement>(
    a: &Tensor,
    b: &Tensor,
    dims: &[usize],
    multiply: &mut Multiply<T>,
) -> Result<Tensor, TensorError> {
    stored_bytes(T::TYPE, dims)?;
    let (_, rows, depth) = split(a);
    if depth == 0 {
        return Tensor::zeros(T::TYPE, dims);
    }
    if a.rank() > 2 && is_one_product(a, b, dims) {
        let flat_b = b.reshape(&b.dims()[b.rank() - 2..])?;
        let all = a.len() / depth;
        let flat_a = a.reshape(&[all, depth])?;
        return batched(&flat_a, &flat_b, &[all, dims[dims.len() - 1]], multiply)?.reshape(dims);
    }
    let mut out = Buffer::any(checked_len(dims).unwrap_or(0))?;
    if a.rank() == 2 && b.rank() == 2 {
        let (x, y) = (Strided::new(a), Strided::new(b));
        multiply(0, &matrix(&x, x.layout.start), &matrix(&y, y.layout.start), &mut out)?;
        return Tensor::from_buffer(T::TYPE, dims, out);
    }
    let size = rows * dims[dims.len() - 1];
    let (x, starts_x) = batches::<T>(a, dims)?;
    let (y, starts_y) = batches::<T>(b, dims)?;
    for (n, ((out, i), j)) in out.chunks_exact_mut(size).zip(starts_x).zip(starts_y).enumerate() {
        multiply(n * size, &matrix(&x, i), &matrix(&y, j), out)?;
    }
    Tensor::from_buffer(T::TYPE, dims, out)
}

/// The product of floats; no dim of the result is 0. At depth 0 the epilogue is not applied.
fn floats<T: Gemm>(
    a: &Tensor,
    b: &Tensor,
    dims: &[usize],
    epilogue: Option<Epilogue<T>>,
) -> Result<Tensor, TensorError> {
    batched(a, b, dims, &mut |first, x, y, out| {
        multiply([a, b], x, y, out, epilogue.map(|epilogue| epilogue.part(first)))
    })
}

/// Multiplies one matrix of each operand. Constants use their cached packed forms.
fn multiply<T: Gemm>(
    [a, b]: [&Tensor; 2],
    x: &Matrix<T>,
    y: &Matrix<T>,
    out: &mut [T],
    epilogue: Option<Epilogue<T>>,
) -> Result<(), TensorError> {
    let isa = Isa::best();
    let pack = || Ok(PackedLhs::pack(isa, x));
    let left = || if is_one_matrix(a) { a.memoised(Purpose::Left, pack) } else { pack().map(Arc::new) };
    // Packing all of B pays off only if it is reused. Otherwise the product packs B panel by panel, in the
    // cache.
    let pack = || Ok(PackedRhs::new(isa, y).into_packed());
    let right = || match b.memo().filter(|_| is_one_matrix(b)) {
        Some(memo) => memo.get_if_reused(Purpose::Right, b.layout(), pack),
        None => Ok(None),
    };
    let is_constant = [a, b].map(|t| t.memo().is_some() && is_one_matrix(t));
    let algorithm = MatMulAlgorithm::select(&MatMulProblem::of_floats(x, y, is_constant));
    multiply_with(algorithm, x, y, left, right, out, epilogue)
}

/// Stores `x * y` in `out`, row-major, and applies the epilogue. `left` returns the packed left operand;
/// `right` returns the packed right operand if it is cached.
pub(super) fn multiply_with<T: Gemm>(
    algorithm: MatMulAlgorithm,
    x: &Matrix<T>,
    y: &Matrix<T>,
    left: impl FnOnce() -> Result<Arc<PackedLhs<T>>, TensorError>,
    right: impl FnOnce() -> Result<Option<Arc<PackedRhs<'static, T>>>, TensorError>,
    out: &mut [T],
    epilogue: Option<Epilogue<T>>,
) -> Result<(), TensorError> {
    match algorithm {
        MatMulAlgorithm::Tiled => {
            let left = left()?;
            match right()? {
                Some(right) => gemm_with_epilogue(&left, &right, out, epilogue),
                None => gemm_with_epilogue(&left, &PackedRhs::new(Isa::best(), y), out, epilogue),
            }
            return Ok(());
        }
        MatMulAlgorithm::TiledRowBlocks { rows } => {
            let pack = || Arc::new(PackedRhs::new(Isa::best(), y).into_packed());
            row_blocks::multiply(x, &right()?.unwrap_or_else(pack), out, rows, epilogue);
            return Ok(());
        }
        MatMulAlgorithm::DotsOfRows => dot_products::few_columns(x, y, out),
        MatMulAlgorithm::DotsOfColumns => dot_products::few_rows(x, y, out),
        // The remaining algorithms multiply codes; see `PackedWeights`.
        _ => axpy::axpy(x, y, out),
    }
    if let Some(epilogue) = epilogue {
        epilogue.apply_to_rows(y.columns, out);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::gemm::panel_columns;

    fn t(dims: &[usize]) -> Tensor {
        let len: usize = dims.iter().product();
        Tensor::from_vec(dims, (0..len).map(|x| x as f32).collect()).unwrap()
    }

    #[test]
    fn flags_and_views_agree() {
        let (a, b) = (t(&[2, 3]), t(&[3, 2]));
        let product = matmul(&a, &b, false, false).unwrap();
        assert_eq!(product.to_f32_vec().unwrap(), [10.0, 13.0, 28.0, 40.0]);
        assert_eq!(matmul(&a.transposed(), &b.transposed(), true, true).unwrap(), product);
        let ints =
            matmul(&a.cast(ElementType::I32).unwrap(), &b.cast(ElementType::I32).unwrap(), false, false)
                .unwrap();
        assert_eq!(ints.to_i64_vec().unwrap(), [10, 13, 28, 40]);
        let halves = [&a, &b].map(|x| x.cast(ElementType::F16).unwrap());
        assert_eq!(matmul(&halves[0], &halves[1], false, false).unwrap().to_f32_vec().unwrap()[3], 40.0);
    }

    #[test]
    fn integer_products_of_depth_zero_are_zeros() {
        let numbers = Tensor::from_vec(&[3, 2, 4], (0..24).collect::<Vec<i32>>()).unwrap();
        let none = numbers.slice(0, 2, 3, -1).unwrap().slice(2, 0, 0, 1).unwrap();
        let right = Tensor::from_vec(&[0, 2], Vec::<i32>::new()).unwrap();
        let product = matmul(&none, &right, false, false).unwrap();
        assert_eq!((product.dims(), product.to_i64_vec().unwrap()), (&[3, 2, 2][..], vec![0; 12]));
    }

    #[test]
    fn integers_wrap_whatever_the_sizes() {
        for (rows, depth, columns) in [(1, 1, 1), (2, 3, 5), (3, 4, 1), (2, 9, 33)] {
            let numbers = |len: usize| (0..len).map(|i| (i as u8).wrapping_mul(89)).collect::<Vec<u8>>();
            let (a, b) = (numbers(rows * depth), numbers(depth * columns));
            let product = |i: usize, j: usize| {
                let sum = (0..depth).map(|d| u64::from(a[i * depth + d]) * u64::from(b[d * columns + j]));
                sum.sum::<u64>() as u8
            };
            let expected: Vec<u8> = (0..rows)
                .flat_map(|i| (0..columns).map(move |j| (i, j)))
                .map(|(i, j)| product(i, j))
                .collect();
            let left = Tensor::from_vec(&[rows, depth], a.clone()).unwrap();
            let right = Tensor::from_vec(&[depth, columns], b.clone()).unwrap();
            let found = matmul(&left, &right, false, false).unwrap();
            assert_eq!(found, Tensor::from_vec(&[rows, columns], expected).unwrap());
        }
    }

    #[test]
    fn vectors_lose_their_axis() {
        let (v, m) = (t(&[3]), t(&[3, 2]));
        assert_eq!(matmul(&v, &m, true, false).unwrap().to_f32_vec().unwrap(), [10.0, 13.0]);
        assert_eq!(matmul(&v, &v, false, true).unwrap(), Tensor::scalar(5.0f32));
        let product = matmul(&t(&[4, 2, 3]), &v, false, false).unwrap();
        assert_eq!(product.dims(), [4, 2]);
        assert!(matmul(&v, &Tensor::scalar(1.0f32), false, false).is_err());
        assert!(matmul(&v, &m, false, true).is_err());
    }

    #[test]
    fn batches_broadcast() {
        let (a, b) = (t(&[2, 1, 2, 3]), t(&[3, 3, 1]));
        let product = matmul(&a, &b, false, false).unwrap();
        assert_eq!(product.dims(), [2, 3, 2, 1]);
        // Row [3, 4, 5] of the first matrix by column [6, 7, 8] of the last.
        assert_eq!(product.to_f32_vec().unwrap()[5], 86.0);
        let flat = matmul(&t(&[2, 2, 3]), &t(&[1, 3, 1]), false, false).unwrap();
        assert_eq!(flat.to_f32_vec().unwrap(), [5.0, 14.0, 23.0, 32.0]);
        let none = matmul(&t(&[2, 0]), &t(&[0, 2]), false, false).unwrap();
        assert_eq!(none.to_f32_vec().unwrap(), [0.0; 4]);
        assert_eq!(matmul(&t(&[2, 0, 3]), &t(&[3, 2]), false, false).unwrap().dims(), [2, 0, 2]);
    }

    #[test]
    fn a_few_rows_together_have_the_same_bits_as_alone() {
        let noise = |dims: &[usize]| {
            let len = dims.iter().product::<usize>();
            Tensor::from_vec(dims, (0..len).map(|i| (i * 7919 % 1013) as f32 / 97.0 - 5.0).collect()).unwrap()
        };
        for (rows, depth, columns) in [(2, 257, 3), (4, 300, 7), (5, 512, 8), (7, 283, 1), (8, 271, 5)] {
            let (a, b) = (noise(&[rows, depth]), noise(&[columns, depth]));
            let together = matmul(&a, &b, false, true).unwrap();
            for row in 0..rows {
                let alone = matmul(&a.slice(0, row, 1, 1).unwrap(), &b, false, true).unwrap();
                assert_eq!(together.slice(0, row, 1, 1).unwrap(), alone, "{row} of {rows}x{depth}x{columns}");
            }
        }
    }

    #[test]
    fn short_sums_do_not_depend_on_the_layout() {
        let numbers = |len: usize, seed: usize| {
            (0..len).map(|i| ((i * 7919 + seed) % 1013) as f32 / 97.0 - 5.0).collect()
        };
        // Sums shorter than a vector; a panel is two vectors wide.
        let lanes = panel_columns::<f32>(Isa::best()) / 2;
        for depth in [1usize, 3, 5, 7].into_iter().filter(|&depth| depth < lanes) {
            for (rows, columns) in [(2, 2), (13, 2), (2, 13), (1, 40), (40, 1), (3, 3)] {
                let a: Tensor = Tensor::from_vec::<f32>(&[rows, depth], numbers(rows * depth, 1)).unwrap();
                let b = Tensor::from_vec::<f32>(&[depth, columns], numbers(depth * columns, 5)).unwrap();
                let product = matmul(&a, &b, false, false).unwrap();
                let [transposed_a, transposed_b] = [&a, &b].map(|t| t.transposed().contiguous());
                assert_eq!(matmul(&transposed_a, &b, true, false).unwrap(), product);
                assert_eq!(matmul(&a, &transposed_b, false, true).unwrap(), product);
                assert_eq!(matmul(&transposed_a, &transposed_b, true, true).unwrap(), product);
            }
        }
    }
}
