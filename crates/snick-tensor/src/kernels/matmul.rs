//! Matrix products: OpenVINO's `MatMul-1`.

mod by_rows;

use std::borrow::Cow;
use std::sync::Arc;

use self::by_rows::rows_at_once;
use crate::buffer::{Buffer, filled};
use crate::kernels::broadcast::{Strided, broadcast_dims};
use crate::kernels::dispatch::{widen, with_type};
use crate::kernels::elementwise::{FusedElementwise, Stage};
use crate::kernels::gemm::{
    Epilogue, Gemm, Matrix, PackedLhs, PackedRhs, gemm_with_epilogue, narrow, tile_rows,
};
use crate::kernels::vectors::{Instructions, Isa, Vectorised, dispatch_best};
use crate::layout::{Offsets, checked_len};
use crate::memo::Purpose;
use crate::tensor::stored_bytes;
use crate::{Dims, ElementType, PodElement, Tensor, TensorError};

/// The product of the last two axes; the axes before them broadcast. A 1-D `a` is a row, a 1-D `b` a column, whatever
/// the transpose flags say, and its axis is dropped from the result.
///
/// Transposed views and flags are free. Integers wrap.
///
/// # Errors
/// [`TensorError::TypeMismatch`], [`TensorError::UnsupportedType`], and [`TensorError::ShapeMismatch`] (scalars have no
/// product).
pub fn matmul(a: &Tensor, b: &Tensor, transpose_a: bool, transpose_b: bool) -> Result<Tensor, TensorError> {
    let et = a.element_type();
    let Operands { left, right, dims } = Operands::new(a, b, transpose_a, transpose_b)?;
    if et == ElementType::F32 && b.element_type() == et && a.rank() > 1 && b.rank() > 1 && !dims.contains(&0)
    {
        return floats::<f32>(&left, &right, &dims, None);
    }
    let [left, right] = widen([&*left, &*right])?;
    let product = match left.element_type() {
        // Batches without elements need not be walked.
        et if dims.contains(&0) => Tensor::zeros(et, &dims),
        et if et.is_float() => with_type!([F32 = f32, F64 = f64], et, T => {
            floats::<T>(&left, &right, &dims, None)
        }),
        et => with_type!(
            [I8 = i8, I16 = i16, I32 = i32, I64 = i64, U8 = u8, U16 = u16, U32 = u32, U64 = u64],
            et, T => integers::<T>(&left, &right, &dims)),
    }?;
    let product = if b.rank() == 1 { product.squeeze(product.rank() - 1)? } else { product };
    let product = if a.rank() == 1 {
        product.squeeze(product.rank() - if b.rank() == 1 { 1 } else { 2 })?
    } else {
        product
    };
    product.cast(et)
}

/// [`matmul`] and functions of its result, which are computed while parts of that are in the cache. `None` if that gains
/// nothing, or they are none that [`FusedElementwise`] computes.
///
/// # Errors
/// As [`matmul`].
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
    let gains = rows_at_once::<f32>(left.len() / depth, depth, columns).is_some();
    let then = gains.then(|| FusedElementwise::of_dims(&dims, stages)).flatten();
    let Some(then) = then.filter(|then| then.has_rows_of(columns)) else { return Ok(None) };
    let on_piece = |first: usize, piece: &mut [f32]| then.on_piece(first, piece);
    floats(&left, &right, &dims, Some(Epilogue::new(&on_piece))).map(Some)
}

/// Both sides of a product as matrices, and its dims: those of the batch, rows, columns.
struct Operands<'a> {
    left: Cow<'a, Tensor>,
    right: Cow<'a, Tensor>,
    dims: Dims,
}

impl<'a> Operands<'a> {
    /// Of the inputs and flags of [`matmul`].
    fn new(a: &'a Tensor, b: &'a Tensor, transpose_a: bool, transpose_b: bool) -> Result<Self, TensorError> {
        let refuse = || TensorError::mismatch("cannot multiply {} with {}", a.dims(), b.dims());
        if a.rank() == 0 || b.rank() == 0 {
            return Err(refuse());
        }
        let left = if a.rank() == 1 { Cow::Owned(a.unsqueeze(0)?) } else { turned(a, transpose_a)? };
        let right = if b.rank() == 1 { Cow::Owned(b.unsqueeze(1)?) } else { turned(b, transpose_b)? };
        let ((batch_a, m, k), (batch_b, depth, n)) = (split(&left), split(&right));
        if k != depth {
            return Err(refuse());
        }
        let mut dims = broadcast_dims(batch_a, batch_b)?;
        dims.extend([m, n]);
        Ok(Operands { left, right, dims })
    }
}

/// The tensor with its last two axes swapped, if `transpose`.
fn turned(t: &Tensor, transpose: bool) -> Result<Cow<'_, Tensor>, TensorError> {
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

/// Whether all rows on the left are multiplied with one matrix, so that they are one matrix, too.
fn is_one_product(a: &Tensor, b: &Tensor, dims: &[usize]) -> bool {
    a.is_contiguous() && is_one(b) && dims.len() == a.rank()
}

/// The product of floats, with what follows; no dim of the result is 0. What follows a product of depth 0 is not computed.
fn floats<T: Gemm>(
    a: &Tensor,
    b: &Tensor,
    dims: &[usize],
    then: Option<Epilogue<T>>,
) -> Result<Tensor, TensorError> {
    stored_bytes(T::TYPE, dims)?;
    let (_, rows, depth) = split(a);
    if depth == 0 {
        return Tensor::zeros(T::TYPE, dims);
    }
    if a.rank() > 2 && is_one_product(a, b, dims) {
        let flat_b = b.reshape(&b.dims()[b.rank() - 2..])?;
        let all = a.len() / depth;
        let flat = floats::<T>(&a.reshape(&[all, depth])?, &flat_b, &[all, dims[dims.len() - 1]], then)?;
        return flat.reshape(dims);
    }
    let mut out = Buffer::any(checked_len(dims).unwrap_or(0))?;
    if dims.len() == 2 && a.rank() == 2 && b.rank() == 2 {
        let (x, y) = (Strided::new(a), Strided::new(b));
        let (x, y) = (&matrix(&x, x.layout.start), &matrix(&y, y.layout.start));
        multiply(a, x, b, y, &mut out, then)?;
        return Tensor::from_buffer(T::TYPE, dims, out);
    }
    let size = rows * dims[dims.len() - 1];
    let (x, starts_x) = batches::<T>(a, dims)?;
    let (y, starts_y) = batches::<T>(b, dims)?;
    for (n, ((out, i), j)) in out.chunks_exact_mut(size).zip(starts_x).zip(starts_y).enumerate() {
        let then = then.map(|then| then.part(n * size));
        multiply(a, &matrix(&x, i), b, &matrix(&y, j), out, then)?;
    }
    Tensor::from_buffer(T::TYPE, dims, out)
}

/// The product of one matrix of `a` and one of `b`, with what follows. The packed form of a constant matrix is cached.
fn multiply<T: Gemm>(
    a: &Tensor,
    x: &Matrix<T>,
    b: &Tensor,
    y: &Matrix<T>,
    out: &mut [T],
    then: Option<Epilogue<T>>,
) -> Result<(), TensorError> {
    if narrow(x, y, out) {
        if let Some(then) = then {
            then.apply_to_rows(y.columns, out);
        }
        return Ok(());
    }
    let isa = Isa::best();
    let left = || match is_one(a) {
        true => a.memoised(Purpose::Left, || Ok(PackedLhs::pack(isa, x))),
        false => Ok(Arc::new(PackedLhs::pack(isa, x))),
    };
    // Contiguous rows can be read without a copy, but those of a panel are far apart: several tiles need them together.
    let packs = y.column_step != 1 || (b.is_kept() && x.rows > tile_rows(isa));
    if !is_one(b) || !packs {
        gemm_with_epilogue(&*left()?, &PackedRhs::new(isa, y), out, then);
        return Ok(());
    }
    let right = b.memoised(Purpose::Right, || Ok(PackedRhs::new(isa, y).into_packed()))?;
    match rows_at_once::<T>(x.rows, x.columns, y.columns) {
        Some(at_once) if !a.is_kept() => by_rows::multiply(x, &right, out, at_once, then),
        _ => gemm_with_epilogue(&*left()?, &right, out, then),
    }
    Ok(())
}

/// Whether a tensor is one matrix.
fn is_one(t: &Tensor) -> bool {
    t.dims().iter().rev().skip(2).all(|&d| d == 1)
}

/// Products of integers, which wrap.
trait Wrapping: PodElement {
    fn multiply_add(self, a: Self, b: Self) -> Self;
}

macro_rules! wrapping {
    ($($t:ident)*) => {$(
        impl Wrapping for $t {
            #[inline(always)]
            fn multiply_add(self, a: Self, b: Self) -> Self {
                self.wrapping_add(a.wrapping_mul(b))
            }
        }
    )*};
}

wrapping!(i8 i16 i32 i64 u8 u16 u32 u64);

fn integers<T: Wrapping>(a: &Tensor, b: &Tensor, dims: &[usize]) -> Result<Tensor, TensorError> {
    stored_bytes(T::TYPE, dims)?;
    let (a, b) = (a.contiguous(), b.contiguous());
    let (_, rows, depth) = split(&a);
    // An empty view may start anywhere.
    if depth == 0 {
        return Tensor::zeros(T::TYPE, dims);
    }
    let columns = dims[dims.len() - 1];
    let mut out = filled(checked_len(dims).unwrap_or(0), T::default())?;
    let (a, starts_a) = batches::<T>(&a, dims)?;
    let (b, starts_b) = batches::<T>(&b, dims)?;
    for ((out, i), j) in out.chunks_exact_mut(rows * columns).zip(starts_a).zip(starts_b) {
        let (a, b) = (&a.data[i..][..rows * depth], &b.data[j..][..depth * columns]);
        dispatch_best(Products { a, b, depth, columns, out });
    }
    Tensor::from_vec(dims, out)
}

/// Adds the product of two packed matrices of integers to `out`; the depth is not 0.
struct Products<'a, T> {
    a: &'a [T],
    b: &'a [T],
    depth: usize,
    columns: usize,
    out: &'a mut [T],
}

/// Rows of the right matrix per step, so that a row of the result is loaded and stored less often.
const AT_ONCE: usize = 4;

impl<T: Wrapping> Vectorised for Products<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { a, b, depth, columns, out } = self;
        for (factors, row) in a.chunks_exact(depth).zip(out.chunks_exact_mut(columns)) {
            let lines = b.chunks(AT_ONCE * columns);
            for (factors, lines) in factors.chunks(AT_ONCE).zip(lines) {
                match *factors {
                    [f0, f1, f2, f3] => {
                        let (l0, rest) = lines.split_at(columns);
                        let (l1, rest) = rest.split_at(columns);
                        let (l2, l3) = rest.split_at(columns);
                        let lines = l0.iter().zip(l1).zip(l2).zip(l3);
                        for (to, (((&x0, &x1), &x2), &x3)) in row.iter_mut().zip(lines) {
                            *to = to
                                .multiply_add(f0, x0)
                                .multiply_add(f1, x1)
                                .multiply_add(f2, x2)
                                .multiply_add(f3, x3);
                        }
                    }
                    _ => {
                        for (&factor, line) in factors.iter().zip(lines.chunks_exact(columns)) {
                            for (to, &x) in row.iter_mut().zip(line) {
                                *to = to.multiply_add(factor, x);
                            }
                        }
                    }
                }
            }
        }
    }
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
    fn short_sums_do_not_depend_on_the_layout() {
        let numbers = |len: usize, seed: usize| {
            (0..len).map(|i| ((i * 7919 + seed) % 1013) as f32 / 97.0 - 5.0).collect()
        };
        // Sums that are shorter than a vector; a panel has two of them.
        let lanes = panel_columns::<f32>(Isa::best()) / 2;
        for depth in [1usize, 3, 5, 7].into_iter().filter(|&depth| depth < lanes) {
            for (rows, columns) in [(2, 2), (13, 2), (2, 13), (1, 40), (40, 1), (3, 3)] {
                let a: Tensor = Tensor::from_vec::<f32>(&[rows, depth], numbers(rows * depth, 1)).unwrap();
                let b = Tensor::from_vec::<f32>(&[depth, columns], numbers(depth * columns, 5)).unwrap();
                let product = matmul(&a, &b, false, false).unwrap();
                let [turned_a, turned_b] = [&a, &b].map(|t| t.transposed().contiguous());
                assert_eq!(matmul(&turned_a, &b, true, false).unwrap(), product);
                assert_eq!(matmul(&a, &turned_b, false, true).unwrap(), product);
                assert_eq!(matmul(&turned_a, &turned_b, true, true).unwrap(), product);
            }
        }
    }
}
