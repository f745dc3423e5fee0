//! Tiled products of one block of rows at a time, so that the packed rows of A and the rows of C stay in the
//! cache.
//!
//! **Source.** The MC blocking of GotoBLAS (loop 3 of BLIS), around [`gemm`](crate::kernels::gemm), which
//! does not block rows.
//!
//! **Loop nest**, outer to inner: blocks of rows; the loops of `gemm`. The epilogue follows each block.
//!
//! **Layout.** As in `gemm`. B is packed as a whole, A one block at a time.
//!
//! **Threads.** Each thread takes the next block, packs it and multiplies it alone. All share the packed B.

use crate::kernels::gemm::{Epilogue, Gemm, Matrix, PackedLhs, PackedRhs, gemm_single_threaded};
use crate::kernels::sharing;
use crate::kernels::vectors::Isa;

/// Stores `a * right` in `out`, row-major, `rows` rows at a time.
pub(super) fn multiply<T: Gemm>(
    a: &Matrix<T>,
    right: &PackedRhs<T>,
    out: &mut [T],
    rows: usize,
    epilogue: Option<Epilogue<T>>,
) {
    let columns = right.columns();
    let block = |(i, out): (usize, &mut [T])| {
        let some = a.rows_from(i * rows, out.len() / columns);
        gemm_single_threaded(&PackedLhs::pack_single_threaded(Isa::best(), &some), right, out);
        if let Some(epilogue) = epilogue {
            epilogue.part(i * rows * columns).apply_to_rows(columns, out);
        }
    };
    let blocks = out.chunks_mut(rows * columns).enumerate();
    sharing::for_each(blocks, block);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::elementwise::{BinaryOp, Stage, UnaryOp};
    use crate::kernels::gemm::gemm;
    use crate::kernels::matmul::algorithm::row_block;
    use crate::kernels::{matmul, matmul_then};
    use crate::{ElementType, Tensor};

    const SIZES: [usize; 3] = [220, 2700, 40];

    fn floats(dims: &[usize], seed: usize) -> Tensor {
        let len: usize = dims.iter().product();
        let value = |i: usize| ((i * 7919 + seed) % 1013) as f32 / 300.0 - 1.5;
        Tensor::from_vec(dims, (0..len).map(value).collect()).unwrap()
    }

    /// The product of `[rows, depth]` and `[columns, depth]` in one part.
    fn whole(a: &Tensor, b: &Tensor) -> Tensor {
        let ([rows, depth, columns], isa) = (SIZES, Isa::best());
        let [x, y] = [a, b].map(|t| t.as_slice::<f32>().unwrap());
        let mut out = vec![0.0; rows * columns];
        let right = PackedRhs::new(isa, &Matrix::packed(y, columns, depth).transposed());
        gemm(&PackedLhs::pack(isa, &Matrix::packed(x, rows, depth)), &right, &mut out);
        Tensor::from_vec(&[rows, columns], out).unwrap()
    }

    #[test]
    fn parts_give_what_one_part_gives() {
        let [rows, depth, columns] = SIZES;
        let (a, b, bias) = (floats(&[rows, depth], 1), floats(&[columns, depth], 2), floats(&[columns], 3));
        let other = floats(&[rows, columns], 4);
        let product = whole(&a, &b);
        let stages = [
            Stage::Right(BinaryOp::Add, &bias),
            Stage::Unary(UnaryOp::Relu),
            Stage::Left(BinaryOp::Sub, &other),
        ];
        let expected = stages.iter().fold(product.clone(), |value, stage| stage.apply(&value).unwrap());
        let both = || [Some(matmul(&a, &b, false, true).unwrap()), then(&a, &b, &stages)];
        let found = both();
        assert!(row_block(rows, depth, columns).is_some());
        assert_eq!(found, [Some(product), Some(expected)]);
        #[cfg(feature = "threads")]
        {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
            assert!(pool.install(|| row_block(rows, depth, columns)).is_some());
            assert_eq!(pool.install(both), found);
        }
        // The rows of a batch are also the rows of one matrix.
        let batch = a.reshape(&[2, rows / 2, depth]).unwrap();
        let again = then(&batch, &b, &stages[..2]).unwrap().reshape(&[rows, columns]).unwrap();
        assert_eq!(stages[2].apply(&again).ok(), found[1]);
    }

    fn then(a: &Tensor, b: &Tensor, stages: &[Stage<&Tensor>]) -> Option<Tensor> {
        matmul_then(a, b, false, true, stages).unwrap()
    }

    #[test]
    fn few_columns_are_summed_in_the_order_of_narrow_products() {
        let (a, b) = (floats(&[220, 2700], 1), floats(&[1, 2700], 2));
        let product = matmul(&a, &b, false, true).unwrap();
        let expected = Stage::Unary(UnaryOp::Negative).apply(&product).ok();
        assert_eq!(then(&a, &b, &[Stage::Unary(UnaryOp::Negative)]), expected);
    }

    #[test]
    fn others_are_left_to_the_caller() {
        let [rows, depth, columns] = SIZES;
        let (a, b) = (floats(&[rows, depth], 1), floats(&[columns, depth], 2));
        let relu = [Stage::Unary(UnaryOp::Relu)];
        assert!(then(&a, &b, &relu).is_some());
        let half = b.cast(ElementType::F16).unwrap();
        let several = b.reshape(&[1, columns, depth]).unwrap().broadcast_to(&[2, columns, depth]).unwrap();
        // A column-major operand, which is not contiguous along rows of the result.
        let turned = floats(&[columns, rows], 5).transposed();
        for (a, b, stage) in [
            (&a, &half, relu[0]),
            (&a.slice(0, 0, 90, 1).unwrap(), &b, relu[0]),
            (&a, &several, relu[0]),
            (&a, &b, Stage::Right(BinaryOp::Add, &turned)),
        ] {
            assert_eq!(then(a, b, &[stage]), None);
        }
        assert!(matmul_then(&a, &b, false, false, &relu).is_err());
    }
}
