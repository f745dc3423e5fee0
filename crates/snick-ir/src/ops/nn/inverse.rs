//! Inverse-14.

use snick_shape::{Shape, SymExpr};
use snick_tensor::{Dims, SmallVector, Tensor};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// Inverts the square matrices in the last two axes, `[.., N, N]`. Singular matrices yield infinities and
    /// NaN.
    #[op("Inverse", since = [14], inputs = Arity::exactly(1), category = Product, traits = [PURE])]
    pub struct Inverse {
        /// Whether to transpose the inverse. The specification asks for the adjugate instead; snick follows
        /// the OpenVINO runtime.
        pub adjoint: bool = false,
    }
}

impl InferOp for Inverse {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_real(0)?;
        cx.expect_rank(0, "2 or more", |rank| rank >= 2)?;
        let element_type = cx.element_type(0);
        let Some([batch @ .., rows, columns]) = cx.shape(0).dims() else {
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        let size = cx.merge_or_report("rows and columns of a square matrix", rows, columns);
        let mut dims: SmallVector<SymExpr, 4> = batch.iter().cloned().collect();
        dims.extend([size.clone(), size]);
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
    }
}

impl EvalOp for Inverse {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data] = exactly(inputs)?;
        let size = match data.dims() {
            [.., rows, columns] if rows == columns => *rows,
            dims => return Err(OpError::mismatch("dims of matrices", format!("{dims:?}"), "[.., N, N]")),
        };
        let mut values = data.to_f64_vec()?;
        values.chunks_exact_mut((size * size).max(1)).for_each(|matrix| invert(matrix, size));
        let mut inverse = Tensor::from_vec(data.dims(), values)?;
        if self.adjoint {
            let mut order: Dims = (0..data.rank()).collect();
            order.swap(data.rank() - 2, data.rank() - 1);
            inverse = inverse.permute(&order)?;
        }
        Ok(vec![inverse.cast(data.element_type())?])
    }
}

/// Inverts a row-major matrix in place by Gauss-Jordan elimination with partial pivoting.
fn invert(matrix: &mut [f64], size: usize) {
    let mut swaps = Vec::with_capacity(size);
    for k in 0..size {
        let largest = |best: usize, row: usize| {
            if matrix[row * size + k].abs() > matrix[best * size + k].abs() { row } else { best }
        };
        let pivot_row = (k + 1..size).fold(k, largest);
        swap_rows(matrix, size, k, pivot_row);
        swaps.push(pivot_row);
        let pivot = matrix[k * size + k];
        // Store the inverse in the columns of the matrix that would otherwise become the identity.
        matrix[k * size + k] = 1.0;
        matrix[k * size..][..size].iter_mut().for_each(|value| *value /= pivot);
        let (above, rest) = matrix.split_at_mut(k * size);
        let (row, below) = rest.split_at_mut(size);
        for other in above.chunks_exact_mut(size).chain(below.chunks_exact_mut(size)) {
            let factor = std::mem::replace(&mut other[k], 0.0);
            other.iter_mut().zip(row.iter()).for_each(|(to, value)| *to -= factor * value);
        }
    }
    // Row swaps of the matrix are column swaps of its inverse.
    for (k, &pivot_row) in swaps.iter().enumerate().rev().filter(|(k, row)| k != *row) {
        matrix.chunks_exact_mut(size).for_each(|row| row.swap(k, pivot_row));
    }
}

fn swap_rows(matrix: &mut [f64], size: usize, a: usize, b: usize) {
    for column in 0..size {
        matrix.swap(a * size + column, b * size + column);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_times_matrix_is_the_identity() {
        for size in 1..6usize {
            let matrix: Vec<f64> =
                (0..size * size).map(|i| ((i * i * 7 + 3 * i) % 11) as f64 - 4.5).collect();
            let mut inverse = matrix.clone();
            invert(&mut inverse, size);
            for i in 0..size {
                for j in 0..size {
                    let sum: f64 = (0..size).map(|k| matrix[i * size + k] * inverse[k * size + j]).sum();
                    assert!((sum - f64::from(u8::from(i == j))).abs() < 1e-9, "{size}: {i}, {j}: {sum}");
                }
            }
        }
    }

    #[test]
    fn batches_are_inverted_and_transposed() {
        let data = Tensor::from_vec(&[2, 2, 2], vec![0f32, 2., 3., 4., 1., 0., 1., 1.]).unwrap();
        let run =
            |adjoint| Inverse { adjoint }.eval(std::slice::from_ref(&data)).unwrap()[0].to_f64_vec().unwrap();
        let near = |a: Vec<f64>, b: [f64; 8]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(near(run(false), [-2. / 3., 1. / 3., 0.5, 0., 1., 0., -1., 1.]));
        assert!(near(run(true), [-2. / 3., 0.5, 1. / 3., 0., 1., -1., 0., 1.]));
        assert!(Inverse { adjoint: false }.eval(&[data.slice(1, 0, 1, 1).unwrap()]).is_err());
    }
}
