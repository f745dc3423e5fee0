//! ExperimentalDetectronTopKROIs-6.

use snick_shape::Shape;
use snick_tensor::Tensor;

use super::checks::{check_dims, common_dim, common_float, expect_ranks, expect_size, zero_padded};
use super::corners::highest_first;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// The `max_rois` most probable regions, best first.
    ///
    /// Inputs: regions `[rois, 4]` and probabilities `[rois]`. Output: `[max_rois, 4]`. Unused rows are zero.
    #[op(
        "ExperimentalDetectronTopKROIs", since = [6], inputs = Arity::exactly(2),
        category = Other, traits = [PURE],
        name = was_extension()
    )]
    pub struct TopKRois {
        /// Number of output rows.
        pub max_rois: usize = 0,
    }
}

impl InferOp for TopKRois {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = common_float(cx, 0..2)?;
        expect_ranks(cx, &[2, 1])?;
        expect_size(cx, 0, 1, 4)?;
        common_dim(cx, &[(0, 0), (1, 0)])?;
        Ok(Facts::from(Fact::new(element_type, Shape::ranked([(self.max_rois as i64).into(), 4.into()]))))
    }
}

impl EvalOp for TopKRois {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [regions, probabilities] = exactly(inputs)?;
        check_dims("the regions", regions, &[probabilities.len(), 4])?;
        let numbers = regions.to_f32_vec()?;
        let probabilities = probabilities.to_f32_vec()?;
        let mut rows: Vec<(f32, &[f32; 4])> = probabilities.into_iter().zip(numbers.as_chunks().0).collect();
        rows.sort_by(|a, b| highest_first(a.0, b.0));
        let best = rows.iter().take(self.max_rois).flat_map(|(_, region)| **region).collect();
        Ok(vec![zero_padded::<f32>(&[self.max_rois, 4], best)?.cast(regions.element_type())?])
    }
}
