//! Bucketize-3.

use std::cmp::Ordering;

use snick_tensor::Tensor;

use crate::ops::elementwise::domain::Domain;
use crate::ops::index_type::IndexType;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// The bucket of each element of input 0: the number of boundaries below it. Input 1 holds the
    /// boundaries, ascending.
    #[op("Bucketize", since = [3], inputs = Arity::exactly(2), category = Elementwise, traits = [PURE])]
    pub struct Bucketize {
        /// The element type of the output.
        pub output_type: IndexType = IndexType::I64,
        /// Whether buckets include their right boundary rather than their left one.
        pub with_right_bound: bool = true,
    }
}

impl InferOp for Bucketize {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        for i in 0..2 {
            let fits = Domain::Number.check(&format!("input {i}"), cx.element_type(i));
            fits.map_or_else(|error| cx.report(error), drop);
        }
        cx.expect_rank(1, "1", |rank| rank == 1)?;
        Ok(Facts::from(Fact::new(self.output_type.element_type(), cx.shape(0).clone())))
    }
}

impl EvalOp for Bucketize {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, bounds] = exactly(inputs)?;
        let whole = |t: &Tensor| t.element_type().is_integer();
        let buckets = if whole(data) && whole(bounds) {
            self.buckets(&data.to_i64_vec()?, &bounds.to_i64_vec()?)
        } else {
            self.buckets(&data.to_f64_vec()?, &bounds.to_f64_vec()?)
        };
        Ok(vec![Tensor::from_vec(data.dims(), buckets)?.cast(self.output_type.element_type())?])
    }
}

impl Bucketize {
    fn buckets<T: PartialOrd>(&self, data: &[T], bounds: &[T]) -> Vec<i64> {
        let place = |v: &T| match self.with_right_bound {
            true => bounds.partition_point(|bound| bound < v),
            // Without right bounds, NaN goes after all boundaries, as in the OpenVINO runtime.
            false => bounds.partition_point(|bound| v.partial_cmp(bound) != Some(Ordering::Less)),
        };
        data.iter().map(|v| place(v) as i64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_belong_to_one_side() {
        let data = Tensor::from_vec(&[3], vec![0i32, 2, 5]).unwrap();
        let bounds = Tensor::from_vec(&[2], vec![2i32, 4]).unwrap();
        let run = |with_right_bound| {
            let op = Bucketize { output_type: IndexType::I32, with_right_bound };
            op.eval(&[data.clone(), bounds.clone()]).unwrap()[0].to_i64_vec().unwrap()
        };
        assert_eq!((run(true), run(false)), (vec![0, 0, 2], vec![0, 1, 2]));
        let nan = Tensor::scalar(f32::NAN);
        let run = |with_right_bound| {
            let op = Bucketize { output_type: IndexType::I32, with_right_bound };
            op.eval(&[nan.clone(), bounds.clone()]).unwrap()[0].to_i64_vec().unwrap()
        };
        assert_eq!((run(true), run(false)), (vec![0], vec![2]));
    }
}
