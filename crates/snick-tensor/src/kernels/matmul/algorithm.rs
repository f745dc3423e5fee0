//! Chooses the algorithm of a matrix product.
//!
//! [`MatMulAlgorithm`] names all algorithms and [`MatMulAlgorithm::select`] chooses one. The choice depends
//! only on shapes, layouts and element types. Whether an operand is constant affects packing, never the order
//! of sums: a constant gives the same bits as an input with the same values.
//!
//! **Measurements.** "Takes 2 times as long" below is the time of an alternative divided by the time of the
//! chosen algorithm, on an Intel Xeon (Sapphire Rapids) with AVX-512 VNNI. The ratios were taken on a busy
//! two-core machine and show only the order of magnitude.

use crate::kernels::gemm::{Factor, Matrix, panel_columns, tile_rows};
use crate::kernels::sharing;
use crate::kernels::vectors::{Isa, has_int8_dot};

/// An algorithm for `C = A B` with A of `rows x depth` and B of `depth x columns`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum MatMulAlgorithm {
    /// Few columns: one dot product per element of C, along contiguous rows of A. Reads A once and does not
    /// pack it. See [`few_columns`](super::dot_products::few_columns).
    DotsOfRows,
    /// Few rows: one dot product per element of C, along contiguous columns of B. Packing B would take longer
    /// than the product. See [`few_rows`](super::dot_products::few_rows).
    DotsOfColumns,
    /// Up to three rows, and all integers: each row of C is a sum of multiples of contiguous rows of B. See
    /// [`axpy`](super::axpy::axpy).
    Axpy,
    /// All other products: register tiles over packed operands. See [`gemm`](crate::kernels::gemm).
    ///
    /// B is packed one group of panels at a time, in the cache; packing all of B first takes 1.1 to 2.9 times
    /// as long with 4 to 96 rows. A constant B is packed as a whole for its second product and then reused;
    /// repacking it takes 1.1 to 3.7 times as long.
    Tiled,
    /// Many rows: `Tiled`, one block of rows at a time, so that an epilogue finds the rows of C in the cache
    /// and A is never packed as a whole. Without an epilogue, a single block takes 1.0 to 1.1 times as long.
    /// See [`row_blocks`](super::row_blocks).
    TiledRowBlocks {
        /// Rows in a block.
        rows: usize,
    },
    /// One row times integer codes of 4 or 8 bits, with int8 dot products. `DecodedDots` takes 1.3 to 1.9
    /// times as long. See `packed_weights::digit_product`.
    Int8Digits,
    /// One row times codes of 4 or 8 bits, decoded to floats in registers. `DecodedBlocks` takes 1.5 to 5
    /// times as long. See `packed_weights::row_product`.
    DecodedDots,
    /// All other products with codes: a block of weight rows is decoded to floats in memory and multiplied
    /// with one of the algorithms above.
    DecodedBlocks,
}

/// The properties that the choice of an algorithm depends on.
#[derive(Copy, Clone, Debug)]
pub(crate) struct MatMulProblem {
    /// Whether sums are integers.
    pub is_integer: bool,
    /// Whether the element type has [kernels for narrow products](Factor::HAS_NARROW_KERNELS).
    pub has_narrow_kernels: bool,
    pub rows: usize,
    pub depth: usize,
    pub columns: usize,
    /// The step in memory from one column of A to the next.
    pub left_column_step: isize,
    pub right: RightOperand,
    /// Whether each operand is a constant matrix, whose packed form is cached.
    pub is_constant: [bool; 2],
}

/// The storage of B.
#[derive(Copy, Clone, Debug)]
pub(crate) enum RightOperand {
    /// Elements, with the steps from one row and from one column to the next.
    Dense { row_step: isize, column_step: isize },
    /// Codes: each column of B is contiguous, in groups that share a scale.
    Codes(CodeFormat),
}

/// The format of weights of few bits.
#[derive(Copy, Clone, Debug)]
pub(crate) struct CodeFormat {
    /// Codes in a byte: 2 or 1.
    pub per_byte: usize,
    /// Codes that share a zero point and a scale.
    pub group: usize,
    /// Whether codes are integers, with zero points and scales that [`MatMulAlgorithm::Int8Digits`] supports.
    pub are_integers: bool,
    /// Whether a few instructions convert a code to a float. Bytes in other formats need a table in memory.
    pub decodes_in_registers: bool,
}

/// The maximum number of rows or columns of a narrow product of floats. With two columns,
/// [`MatMulAlgorithm::Tiled`] takes 1.2 to 1.5 times as long at depth 16 and more than 4 times from depth 256
/// on; with three columns, 0.7 to 1.0 times at depth 16.
const NARROW: usize = 2;

/// As [`NARROW`], for sums of at least [`LONG_DEPTH`] terms. With eight columns, [`MatMulAlgorithm::Tiled`]
/// takes 1.1 to 1.2 times as long at depth 256 and 0.9 to 1.0 times at depth 128; with twelve columns, 0.8
/// times at depth 256.
const NARROW_IF_LONG: usize = 8;

/// See [`NARROW_IF_LONG`].
const LONG_DEPTH: usize = 256;

/// The maximum number of rows of floats for [`MatMulAlgorithm::Axpy`], which runs on one thread.
/// [`MatMulAlgorithm::Tiled`] takes 2.2 to 5.6 times as long with one row, 1.6 to 2.5 times with three, and
/// 1.2 to 1.8 times with six, a difference that a second thread makes up for.
const AXPY_ROWS: usize = 3;

/// The size of the rows of A and C in a block, in bytes: they fit in the L2 cache. From 256 KiB to 2 MiB, the
/// times differ by at most 5 %.
const ROW_BLOCK_BYTES: usize = 1 << 20;

/// The minimum number of rows in a block. With a B of 64 MiB, blocks of 12 rows take 1.3 times as long and
/// blocks of 24 rows 1.2 times; beyond 48 rows the size makes no difference.
const MIN_BLOCK_ROWS: usize = 96;

/// The bytes of codes that [`MatMulAlgorithm::Int8Digits`] multiplies at a time: one vector.
pub(crate) const DIGIT_BLOCK: usize = 4 * DIGIT_LANES;

/// Lanes of the vectors of [`MatMulAlgorithm::Int8Digits`].
pub(crate) const DIGIT_LANES: usize = 16;

/// The longest group of codes for [`MatMulAlgorithm::Int8Digits`]. In such a group, the 32-bit sums of digit
/// products, one per lane, cannot overflow.
const MAX_DIGIT_GROUP: usize = 1 << 19;

impl MatMulProblem {
    /// The product of two matrices of floats.
    pub fn of_floats<T: Factor>(a: &Matrix<T>, b: &Matrix<T>, is_constant: [bool; 2]) -> Self {
        MatMulProblem {
            is_integer: false,
            has_narrow_kernels: T::HAS_NARROW_KERNELS,
            rows: a.rows,
            depth: a.columns,
            columns: b.columns,
            left_column_step: a.column_step,
            right: RightOperand::Dense { row_step: b.row_step, column_step: b.column_step },
            is_constant,
        }
    }
}

impl MatMulAlgorithm {
    /// Chooses the fastest algorithm that the layout of the operands allows.
    pub fn select(problem: &MatMulProblem) -> Self {
        let &MatMulProblem {
            rows, depth, columns, is_constant: [is_left_constant, is_right_constant], ..
        } = problem;
        let (row_step, column_step) = match problem.right {
            RightOperand::Dense { row_step, column_step } => (row_step, column_step),
            RightOperand::Codes(codes) if rows == 1 && codes.has_digit_layout(depth) && has_int8_dot() => {
                return Self::Int8Digits;
            }
            RightOperand::Codes(codes) if rows == 1 && codes.has_register_layout() => {
                return Self::DecodedDots;
            }
            RightOperand::Codes(_) => return Self::DecodedBlocks,
        };
        if problem.is_integer {
            return Self::Axpy;
        }
        if problem.has_narrow_kernels {
            if is_narrow(columns, depth) && problem.left_column_step == 1 {
                return Self::DotsOfRows;
            }
            if is_narrow(rows, depth) && row_step == 1 {
                return Self::DotsOfColumns;
            }
            if rows <= AXPY_ROWS && column_step == 1 {
                return Self::Axpy;
            }
        }
        // Blocks of rows share a B that is packed as a whole: a constant, or one whose rows are not
        // contiguous.
        let packs_right = column_step != 1 || is_right_constant;
        match row_block(rows, depth, columns) {
            Some(rows) if packs_right && !is_left_constant => Self::TiledRowBlocks { rows },
            _ => Self::Tiled,
        }
    }
}

/// Whether dot products compute a product of `f32` with `few` rows or columns.
pub(crate) fn is_narrow(few: usize, depth: usize) -> bool {
    few <= NARROW || (few <= NARROW_IF_LONG && depth >= LONG_DEPTH)
}

/// The rows of A per block; `None` if one block holds all rows of a thread. The finished rows of C in a block
/// are still in the cache, so it also pays to apply an epilogue block by block.
pub(crate) fn row_block(rows: usize, depth: usize, columns: usize) -> Option<usize> {
    let height = tile_rows(Isa::best());
    let bytes = depth.saturating_add(columns).saturating_mul(size_of::<f32>()).max(1);
    let most = (ROW_BLOCK_BYTES / bytes).max(MIN_BLOCK_ROWS) / height;
    let each = sharing::share(rows.div_ceil(height), 1);
    (each > most).then(|| each.div_ceil(each.div_ceil(most)) * height)
}

impl CodeFormat {
    /// Whether [`MatMulAlgorithm::Int8Digits`] supports rows of `depth` codes: a group is a multiple of a
    /// block, or a block a multiple of a group.
    fn has_digit_layout(&self, depth: usize) -> bool {
        let (block, group) = (DIGIT_BLOCK * self.per_byte, self.group);
        let has_whole_blocks = group.is_multiple_of(block) && group <= MAX_DIGIT_GROUP;
        let has_whole_groups =
            self.per_byte == 2 && block.is_multiple_of(group) && group >= block / DIGIT_LANES;
        self.are_integers && depth.is_multiple_of(block) && (has_whole_blocks || has_whole_groups)
    }

    /// Whether each group is a multiple of two vectors. Vectors must be longer than in the baseline.
    fn has_register_layout(&self) -> bool {
        let isa = Isa::best();
        self.decodes_in_registers
            && isa != Isa::Baseline
            && self.group.is_multiple_of(panel_columns::<f32>(isa))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A product of row-major `f32` matrices, the right one transposed if `is_right_transposed`.
    fn dense([rows, depth, columns]: [usize; 3], is_right_transposed: bool) -> MatMulProblem {
        let right = Matrix::packed(&[], depth, columns);
        let right =
            if is_right_transposed { Matrix::packed(&[], columns, depth).transposed() } else { right };
        MatMulProblem::of_floats::<f32>(&Matrix::packed(&[], rows, depth), &right, [false; 2])
    }

    #[test]
    fn shapes_and_layouts_decide() {
        use MatMulAlgorithm::*;
        for (sizes, is_right_transposed, expected) in [
            ([100, 16, 2], false, DotsOfRows),
            ([100, 256, 8], false, DotsOfRows),
            ([100, 255, 8], false, Tiled),
            ([2, 16, 100], true, DotsOfColumns),
            ([8, 256, 100], true, DotsOfColumns),
            ([9, 256, 100], true, Tiled),
            ([3, 300, 100], false, Axpy),
            ([4, 300, 100], false, Tiled),
        ] {
            let problem = dense(sizes, is_right_transposed);
            for is_constant in [[false; 2], [true, false], [false, true]] {
                let found = MatMulAlgorithm::select(&MatMulProblem { is_constant, ..problem });
                assert_eq!(found, expected, "{sizes:?} {is_right_transposed} {is_constant:?}");
            }
            let rare = MatMulProblem { has_narrow_kernels: false, ..problem };
            assert_eq!(MatMulAlgorithm::select(&rare), Tiled);
            let integers = MatMulProblem { is_integer: true, ..problem };
            assert_eq!(MatMulAlgorithm::select(&integers), Axpy);
        }
        let long = dense([2000, 700, 64], true);
        assert!(matches!(MatMulAlgorithm::select(&long), TiledRowBlocks { rows } if rows < 2000));
        let constant = MatMulProblem { is_constant: [true, false], ..long };
        assert_eq!(MatMulAlgorithm::select(&constant), Tiled);
    }

    #[test]
    fn codes_need_a_layout_that_fills_vectors() {
        use MatMulAlgorithm::*;
        let select = |rows, depth, per_byte, group, are_integers, decodes_in_registers| {
            let codes = CodeFormat { per_byte, group, are_integers, decodes_in_registers };
            let problem = dense([rows, depth, 500], true);
            MatMulAlgorithm::select(&MatMulProblem { right: RightOperand::Codes(codes), ..problem })
        };
        let decoded = if Isa::best() == Isa::Baseline { DecodedBlocks } else { DecodedDots };
        let digits = if has_int8_dot() { Int8Digits } else { decoded };
        // Groups of whole blocks, then blocks of whole groups, which 8-bit codes do not support.
        assert_eq!(select(1, 1024, 2, 128, true, true), digits);
        assert_eq!(select(1, 1024, 2, 32, true, true), digits);
        assert_eq!(select(1, 1024, 1, 64, true, true), digits);
        assert_eq!(select(1, 1024, 1, 32, true, true), decoded);
        assert_eq!(select(1, 960, 2, 64, true, true), decoded);
        assert_eq!(select(1, 1024, 2, 128, false, true), decoded);
        assert_eq!(select(1, 1024, 2, 128, false, false), DecodedBlocks);
        assert_eq!(select(1, 1000, 2, 10, true, true), DecodedBlocks);
        assert_eq!(select(2, 1024, 2, 128, true, true), DecodedBlocks);
    }
}
