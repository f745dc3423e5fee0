//! The product of two matrices of floats, checked before it is handed to `matrixmultiply`.
//!
//! That crate takes raw pointers only, so this file is, with the file mapping, the other one that
//! may be unsafe.
#![allow(unsafe_code)]

use crate::{Element, TensorError};

/// A matrix in memory: any start, any distances, negative and 0 too.
pub(crate) struct Matrix<'a, T> {
    pub data: &'a [T],
    pub start: usize,
    pub rows: usize,
    pub columns: usize,
    pub row_step: isize,
    pub column_step: isize,
}

impl<'a, T> Matrix<'a, T> {
    /// Packed, row after row.
    pub fn packed(data: &'a [T], rows: usize, columns: usize) -> Self {
        Matrix { data, start: 0, rows, columns, row_step: columns as isize, column_step: 1 }
    }

    /// Whether every element lies in `data`. Needs at least one row and one column.
    fn fits(&self) -> bool {
        let reach = |count: usize, step: isize| (count as i128 - 1) * step as i128;
        let (down, along) = (reach(self.rows, self.row_step), reach(self.columns, self.column_step));
        let start = self.start as i128;
        start + down.min(0) + along.min(0) >= 0
            && start + down.max(0) + along.max(0) < self.data.len() as i128
    }
}

/// Floats that have a fast product of matrices.
pub(crate) trait Gemm: Element {
    /// Writes `a * b` into `out`, whose rows start `row_step` apart.
    ///
    /// # Errors
    /// [`TensorError::Argument`] if a matrix leaves its data: a slip of the calling kernel.
    fn gemm(a: &Matrix<Self>, b: &Matrix<Self>, out: &mut [Self], row_step: usize)
    -> Result<(), TensorError>;
}

macro_rules! gemm {
    ($($t:ident: $gemm:path),*) => {$(
        impl Gemm for $t {
            fn gemm(
                a: &Matrix<$t>,
                b: &Matrix<$t>,
                out: &mut [$t],
                row_step: usize,
            ) -> Result<(), TensorError> {
                let (m, k, n) = (a.rows, a.columns, b.columns);
                if m == 0 || n == 0 {
                    return Ok(());
                }
                let end = (m - 1).checked_mul(row_step).and_then(|last| last.checked_add(n));
                let out_fits = end.is_some_and(|end| end <= out.len()) && (m == 1 || row_step >= n);
                if b.rows != k || !out_fits || (k > 0 && !(a.fits() && b.fits())) {
                    return Err(TensorError::argument("MatMul", "a matrix leaves its data"));
                }
                if k == 0 {
                    out.chunks_mut(row_step.max(1)).take(m).for_each(|row| row[..n].fill(0.0));
                    return Ok(());
                }
                // SAFETY: all elements of `a` and `b` lie in their slices (`fits`), all of the
                // result in `out`, whose rows do not overlap; `out` is borrowed for us alone.
                unsafe {
                    $gemm(
                        m, k, n, 1.0,
                        a.data.as_ptr().add(a.start), a.row_step, a.column_step,
                        b.data.as_ptr().add(b.start), b.row_step, b.column_step,
                        0.0,
                        out.as_mut_ptr(), row_step as isize, 1,
                    );
                }
                Ok(())
            }
        }
    )*};
}

gemm!(f32: matrixmultiply::sgemm, f64: matrixmultiply::dgemm);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_must_stay_in_its_data() {
        let (data, mut out) = ([1.0f32, 2.0, 3.0, 4.0], [0.0; 4]);
        let a = Matrix::packed(&data, 2, 2);
        f32::gemm(&a, &a, &mut out, 2).unwrap();
        assert_eq!(out, [7.0, 10.0, 15.0, 22.0]);
        let reversed = Matrix { start: 3, row_step: -2, column_step: -1, ..Matrix::packed(&data, 2, 2) };
        f32::gemm(&reversed, &a, &mut out, 2).unwrap();
        assert_eq!(out, [13.0, 20.0, 5.0, 8.0]);
        let outside = Matrix { start: 1, ..Matrix::packed(&data, 2, 2) };
        assert!(f32::gemm(&outside, &a, &mut out, 2).is_err());
        assert!(f32::gemm(&a, &a, &mut out[..3], 2).is_err());
        assert!(f32::gemm(&a, &a, &mut out, 1).is_err());
    }
}
