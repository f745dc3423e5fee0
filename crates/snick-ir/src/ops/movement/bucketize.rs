//! Bucketize-3: the number of the interval that each element lies in.

use smallvec::smallvec;
use snick_tensor::{ElementType, Tensor};

use crate::ops::elementwise::domain::Domain;
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// How many of the ascending bounds of input 1 are below each element of input 0.
#[derive(Clone, PartialEq, Debug)]
pub struct Bucketize {
    /// I32 or i64.
    pub output_type: ElementType,
    /// Whether an interval includes its right bound, not its left one.
    pub with_right_bound: bool,
}

impl OpDef for Bucketize {
    const NAMES: &'static [OpName] = &[OpName::openvino("Bucketize", &[3])];
    const ARITY: Arity = Arity::exactly(2);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let output_type = raw.attrs.element_type("output_type")?.unwrap_or(ElementType::I64);
        if !matches!(output_type, ElementType::I32 | ElementType::I64) {
            return Err(OpError::element_type("`output_type`", output_type, "i32 or i64"));
        }
        Ok(Self { output_type, with_right_bound: raw.attrs.bool("with_right_bound")?.unwrap_or(true) })
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("output_type", self.output_type).with("with_right_bound", self.with_right_bound)
    }
}

impl InferOp for Bucketize {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        for i in 0..2 {
            let fits = Domain::Number.check(&format!("input {i}"), cx.element_type(i));
            fits.map_or_else(|error| cx.report(error), drop);
        }
        cx.expect_rank(1, "1", |rank| rank == 1)?;
        Ok(smallvec![Fact::new(self.output_type, cx.shape(0).clone())])
    }
}

impl EvalOp for Bucketize {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, bounds] = inputs else { return Ok(Vec::new()) };
        let whole = |t: &Tensor| t.element_type().is_integer();
        let buckets = if whole(data) && whole(bounds) {
            self.buckets(&data.to_i64_vec()?, &bounds.to_i64_vec()?)
        } else {
            self.buckets(&data.to_f64_vec()?, &bounds.to_f64_vec()?)
        };
        Ok(vec![Tensor::from_vec(data.dims(), buckets)?.cast(self.output_type)?])
    }
}

impl Bucketize {
    fn buckets<T: PartialOrd>(&self, data: &[T], bounds: &[T]) -> Vec<i64> {
        let place = |v: &T| match self.with_right_bound {
            true => bounds.partition_point(|bound| bound < v),
            false => bounds.partition_point(|bound| bound <= v),
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
            let op = Bucketize { output_type: ElementType::I32, with_right_bound };
            op.eval(&[data.clone(), bounds.clone()]).unwrap()[0].to_i64_vec().unwrap()
        };
        assert_eq!((run(true), run(false)), (vec![0, 0, 2], vec![0, 1, 2]));
    }
}
