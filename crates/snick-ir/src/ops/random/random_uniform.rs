//! RandomUniform-8.

use snick_shape::{Shape, SymExpr};
use snick_tensor::kernels::random_uniform;
use snick_tensor::{Dims, ElementType, SmallVector, Tensor};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, IntegerRole, OpError, exactly};

op! {
    /// Uniformly distributed random numbers. Inputs: the shape, the minimum and the maximum, which is
    /// excluded.
    ///
    /// The numbers depend only on the seeds: every run starts the sequence again and produces the same
    /// numbers.
    #[op("RandomUniform", since = [8], inputs = Arity::exactly(3), category = Other, traits = [RANDOM])]
    pub struct RandomUniform {
        /// Element type of the numbers.
        pub output_type: ElementType,
        /// Seed of this op.
        pub op_seed: i64 = 0,
        /// Seed of the model.
        pub global_seed: i64 = 0,
        /// The framework whose random number generator is used; written since opset 14. Only TensorFlow's
        /// generator can be evaluated.
        pub alignment: Option<RandomAlignment> = None,
    }
}

/// The framework whose random number generator is used.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum RandomAlignment {
    /// TensorFlow.
    TensorFlow,
    /// PyTorch.
    PyTorch,
}

attr_words!(RandomAlignment { TensorFlow = "tensorflow", PyTorch = "pytorch" });

impl InferOp for RandomUniform {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_index(0)?;
        cx.demand_role(0, || IntegerRole::Positive);
        cx.expect_rank(0, "1", |rank| rank == 1)?;
        for i in 1..3 {
            cx.expect_one(i)?;
            let got = cx.element_type(i);
            if got != ElementType::Dynamic && got != self.output_type {
                return Err(OpError::element_type(format!("input {i}"), got, self.output_type.name()));
            }
        }
        let bounds = [1, 2].map(|i| cx.input(i).as_tensor().and_then(|bound| bound.to_f64_vec().ok()));
        if let [Some(min), Some(max)] = bounds.each_ref().map(Option::as_deref)
            && let ([min], [max]) = (min, max)
            && min >= max
        {
            let range = format!("{min} to {max}");
            return Err(OpError::mismatch("the range", range, "a minimum below the maximum"));
        }
        let shape = match cx.input(0).elements() {
            Some(elements) => {
                let mut dims: SmallVector<SymExpr, 4> = SmallVector::new();
                for element in &elements {
                    let interval = cx.interval(element);
                    let dim = cx.as_dim(element);
                    dims.push(dim.ok_or_else(|| OpError::mismatch("a size", interval, "0 or more"))?);
                }
                Shape::ranked(dims)
            }
            None => match cx.shape(0).dims() {
                Some([count]) => match count.as_const().and_then(|n| usize::try_from(n).ok()) {
                    Some(rank) if rank <= 64 => cx.unknown_dims(rank),
                    _ => Shape::unranked(),
                },
                _ => Shape::unranked(),
            },
        };
        Ok(Facts::from(Fact::new(self.output_type, shape)))
    }
}

impl EvalOp for RandomUniform {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        if self.alignment == Some(RandomAlignment::PyTorch) {
            return Err(OpError::unsupported("evaluation with `alignment` pytorch"));
        }
        let [sizes, min, max] = exactly(inputs)?;
        let size =
            |size: i64| usize::try_from(size).map_err(|_| OpError::out_of_range("a size", size, "0 or more"));
        let dims = sizes.to_i64_vec()?.into_iter().map(size).collect::<Result<Dims, _>>()?;
        let (global_seed, op_seed) = (self.global_seed as u64, self.op_seed as u64);
        Ok(vec![random_uniform(&dims, min, max, global_seed, op_seed)?])
    }
}
