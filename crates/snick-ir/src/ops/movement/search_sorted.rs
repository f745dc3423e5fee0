//! SearchSorted-15.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{ElementType, SmallVector, Tensor};

use crate::ops::index_type::IndexType;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

/// The error for incompatible shapes.
const CANNOT_SEARCH: &str = "cannot search {} for {}";

op! {
    /// For each element of input 1, the position at which to insert it in input 0 so that input 0 stays
    /// sorted. Input 0 is either one ascending sequence for all values, or has the same leading axes as the
    /// values and one sequence per row. NaN is inserted at the front.
    #[op("SearchSorted", since = [15], inputs = Arity::exactly(2), category = Elementwise, traits = [PURE])]
    pub struct SearchSorted {
        /// Whether to insert after equal elements rather than before them.
        pub right_mode: bool = false,
        /// The element type of the output.
        pub output_type: IndexType = IndexType::I64,
    }
}

impl InferOp for SearchSorted {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.common_type([0, 1]);
        cx.expect_rank(0, "1 or more", |rank| rank >= 1)?;
        let conflict = |cx: &Infer| cx.conflict(CANNOT_SEARCH, cx.shape(0), cx.shape(1));
        let shape = match (cx.shape(0).dims(), cx.shape(1).dims()) {
            // There is one sequence for all values, or the rank is unknown.
            (Some([_]) | None, _) => cx.shape(1).clone(),
            (Some([lead @ .., _]), None) => {
                let mut dims: SmallVector<SymExpr, 4> = lead.into();
                dims.push(cx.unknown(Interval::DIM));
                Shape::ranked(dims)
            }
            (Some([lead @ .., _]), Some([places @ .., count])) if lead.len() == places.len() => {
                let mut dims: SmallVector<SymExpr, 4> = SmallVector::new();
                for (a, b) in lead.iter().zip(places) {
                    dims.push(cx.merge(a, b).ok_or_else(|| conflict(cx))?);
                }
                dims.push(count.clone());
                Shape::ranked(dims)
            }
            _ => return Err(conflict(cx)),
        };
        Ok(Facts::from(Fact::new(self.output_type.element_type(), shape)))
    }
}

impl EvalOp for SearchSorted {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [sorted, values] = exactly(inputs)?;
        let Some((&length, lead)) = sorted.dims().split_last() else {
            return Err(OpError::rank("the sequence", 0, "1 or more"));
        };
        // The number of values per sequence.
        let line = match values.dims().split_last() {
            _ if lead.is_empty() => values.len(),
            Some((&count, places)) if places == lead => count,
            _ => {
                return Err(OpError::dims_conflict(CANNOT_SEARCH, sorted.dims(), values.dims()));
            }
        };
        let whole = |t: &Tensor| !t.element_type().is_float() && t.element_type() != ElementType::U64;
        let places = if whole(sorted) && whole(values) {
            self.places(&sorted.to_i64_vec()?, length, &values.to_i64_vec()?, line)
        } else if let (Ok(sorted), Ok(values)) = (sorted.values::<u64>(), values.values::<u64>()) {
            self.places(&sorted, length, &values, line)
        } else {
            self.places(&sorted.to_f64_vec()?, length, &values.to_f64_vec()?, line)
        };
        Ok(vec![Tensor::from_vec(values.dims(), places)?.cast(self.output_type.element_type())?])
    }
}

impl SearchSorted {
    /// The positions of all values, `line` of them in each sequence of `length` elements.
    fn places<T: PartialOrd>(&self, sorted: &[T], length: usize, values: &[T], line: usize) -> Vec<i64> {
        let place = |(at, value): (usize, &T)| {
            let first = at / line.max(1) * length;
            let sequence = sorted.get(first..first + length).unwrap_or_default();
            match self.right_mode {
                true => sequence.partition_point(|x| x <= value) as i64,
                false => sequence.partition_point(|x| x < value) as i64,
            }
        };
        values.iter().enumerate().map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_before_or_behind_equals() {
        let run = |right_mode, sorted: &Tensor, values: &Tensor| {
            let op = SearchSorted { right_mode, output_type: IndexType::I64 };
            Some(op.eval(&[sorted.clone(), values.clone()]).ok()?[0].to_i64_vec().unwrap())
        };
        let sorted = Tensor::from_vec(&[4], vec![1.0f32, 2.0, 2.0, 3.0]).unwrap();
        let values = Tensor::from_vec(&[2, 2], vec![2.0f32, 0.0, 5.0, f32::NAN]).unwrap();
        assert_eq!(run(false, &sorted, &values), Some(vec![1, 0, 4, 0]));
        assert_eq!(run(true, &sorted, &values), Some(vec![3, 0, 4, 0]));
        let lines = sorted.reshape(&[2, 2]).unwrap();
        assert_eq!(run(false, &lines, &values), Some(vec![1, 0, 2, 0]));
        assert_eq!(run(false, &lines, &sorted), None);
        let big = Tensor::from_vec(&[2], vec![1u64, u64::MAX]).unwrap();
        assert_eq!(run(true, &big, &Tensor::scalar(u64::MAX - 1)), Some(vec![1]));
    }
}
