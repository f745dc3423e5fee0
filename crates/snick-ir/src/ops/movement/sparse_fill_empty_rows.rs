//! SparseFillEmptyRows-16.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::kernels::{concat, runs};
use snick_tensor::{ElementType, SmallVector, Tensor};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// Adds a default element to every empty row of a sparse matrix. Inputs: the elements, the dense shape,
    /// the row and column of each element, and the default element, which goes to column 0. Outputs: the
    /// indices, ordered by row and column; the elements; and a boolean for each row, true if the row was
    /// empty.
    #[op("SparseFillEmptyRows", since = [16], inputs = Arity::exactly(4), category = Movement, traits = [PURE])]
    pub struct SparseFillEmptyRows;
}

impl InferOp for SparseFillEmptyRows {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        for (i, rank) in [(0, 1), (1, 1), (2, 2), (3, 0)] {
            cx.expect_rank(i, &rank.to_string(), |got| got == rank)?;
        }
        cx.expect_index(1).and_then(|()| cx.expect_index(2))?;
        let index_type = cx.common_type([1, 2]);
        let element_type = cx.element_type(0);
        let two = |cx: &Infer, i: usize| match cx.shape(i).dims().and_then(<[_]>::last) {
            Some(last) if !cx.interval(last).contains(2) => {
                Err(OpError::mismatch(format!("the last size of input {i}"), cx.interval(last), 2))
            }
            _ => Ok(()),
        };
        two(cx, 1).and_then(|()| two(cx, 2))?;
        let first = |i: usize| cx.shape(i).dims().and_then(<[_]>::first);
        let count = match (first(0), first(2)) {
            (Some(a), Some(b)) => match cx.merge(a, b) {
                Some(count) => Some(count),
                None => return Err(cx.conflict("values are {}, their indices {}", cx.shape(0), cx.shape(2))),
            },
            (a, b) => a.or(b).cloned(),
        };
        let count = count.unwrap_or_else(|| cx.unknown(Interval::DIM));
        let rows = match cx.input(1).elements().as_deref() {
            Some([rows, _]) => {
                let (dim, range) = (cx.as_dim(rows), cx.interval(rows));
                dim.ok_or_else(|| OpError::mismatch("the number of rows", range, "0 or more"))?
            }
            _ => cx.unknown(Interval::DIM),
        };
        let filled = self.filled(cx, &count, &rows)?;
        Ok(Facts::from([
            Fact::new(index_type, Shape::ranked([filled.clone(), SymExpr::from(2)])),
            Fact::new(element_type, Shape::ranked([filled])),
            Fact::new(ElementType::Boolean, Shape::ranked([rows])),
        ]))
    }
}

impl EvalOp for SparseFillEmptyRows {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [values, sizes, indices, default] = exactly(inputs)?;
        let sizes = sizes.to_i64_vec()?;
        let [rows, columns] = sizes.as_slice() else {
            return Err(OpError::mismatch("the number of sizes", sizes.len(), 2));
        };
        if indices.dims() != [values.len(), 2] || values.rank() != 1 {
            let sentence = "values are {}, their indices {}";
            return Err(OpError::dims_conflict(sentence, values.dims(), indices.dims()));
        }
        let places = indices.to_i64_vec()?;
        // Row, column and source index; the source index of the default element is the number of elements.
        let mut all: Vec<(i64, i64, usize)> =
            places.chunks_exact(2).enumerate().map(|(i, at)| (at[0], at[1], i)).collect();
        check(&all, *rows, *columns)?;
        let count = usize::try_from(*rows).map_err(|_| OpError::out_of_range("rows", *rows, "0 or more"))?;
        let mut empty = Tensor::full(&[count], 1u8)?.values::<u8>()?.into_owned();
        for (row, ..) in &all {
            empty[*row as usize] = 0;
        }
        let gaps = empty.iter().enumerate().filter(|(_, empty)| **empty == 1);
        all.extend(gaps.map(|(row, _)| (row as i64, 0, values.len())));
        all.sort_unstable();
        let places: Vec<i64> = all.iter().flat_map(|(row, column, _)| [*row, *column]).collect();
        let pool = concat(&[values, &default.reshape(&[1])?.cast(values.element_type())?], 0)?;
        Ok(vec![
            Tensor::from_vec(&[all.len(), 2], places)?.cast(indices.element_type())?,
            runs::gather_runs(&pool, &[all.len()], 1, all.iter().map(|(.., from)| *from))?,
            Tensor::from_vec(&[count], empty)?.cast(ElementType::Boolean)?,
        ])
    }
}

impl SparseFillEmptyRows {
    /// The number of elements after adding defaults; exact if the positions are known.
    fn filled(&self, cx: &mut Infer, count: &SymExpr, rows: &SymExpr) -> Result<SymExpr, OpError> {
        if let (Some(sizes), Some(places)) = (cx.input(1).ints(), cx.input(2).ints())
            && let [rows, columns] = sizes.as_slice()
        {
            let places: Vec<_> =
                places.chunks_exact(2).enumerate().map(|(i, at)| (at[0], at[1], i)).collect();
            check(&places, *rows, *columns)?;
            let mut used: SmallVector<i64, 8> = places.iter().map(|(row, ..)| *row).collect();
            used.sort_unstable();
            used.dedup();
            return Ok(cx.add(count, &SymExpr::from(rows - used.len() as i64)));
        }
        // The number is smallest if as few rows as possible are empty, and largest if all rows are.
        let (elements, rows) = (cx.interval(count), cx.interval(rows));
        let filled = elements.max(rows).hull(elements.add(rows));
        Ok(cx.unknown(filled))
    }
}

/// Checks that positions lie within the matrix.
fn check(places: &[(i64, i64, usize)], rows: i64, columns: i64) -> Result<(), OpError> {
    for (row, column, _) in places {
        if !(0..rows).contains(row) {
            return Err(OpError::out_of_range("a row", *row, format!("0 or more, below {rows}")));
        }
        if !(0..columns).contains(column) {
            return Err(OpError::out_of_range("a column", *column, format!("0 or more, below {columns}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_and_sorts() {
        let run = |values: &[f32], sizes: [i64; 2], places: &[i64]| {
            let inputs = [
                Tensor::from_vec(&[values.len()], values.to_vec()).unwrap(),
                Tensor::from_vec(&[2], sizes.to_vec()).unwrap(),
                Tensor::from_vec(&[places.len() / 2, 2], places.to_vec()).unwrap(),
                Tensor::scalar(9.0f32),
            ];
            let out = SparseFillEmptyRows.eval(&inputs).ok()?;
            Some(out.iter().map(|t| t.to_i64_vec().unwrap()).collect::<Vec<_>>())
        };
        let filled = run(&[1.0, 2.0, 3.0], [4, 3], &[2, 1, 0, 0, 2, 0]).unwrap();
        assert_eq!(filled[0], [0, 0, 1, 0, 2, 0, 2, 1, 3, 0]);
        assert_eq!(filled[1], [2, 9, 3, 1, 9]);
        assert_eq!(filled[2], [0, 1, 0, 1]);
        assert_eq!(run(&[], [2, 3], &[]).unwrap()[1], [9, 9]);
        assert_eq!(run(&[1.0], [2, 3], &[2, 0]), None);
        assert_eq!(run(&[1.0], [2, 3], &[0, 3]), None);
        assert_eq!(run(&[1.0], [-2, 3], &[0, 0]), None);
        assert_eq!(run(&[1.0, 2.0], [2, 3], &[0, 0]), None);
    }
}
