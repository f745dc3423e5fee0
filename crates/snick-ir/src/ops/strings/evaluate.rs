//! Evaluation by the crate snick-text, which requires the feature `tokenizers`.

/// Implements [`EvalOp`](crate::EvalOp) with `kernel::eval`, which is only compiled with the feature
/// `tokenizers`.
macro_rules! eval_of_text {
    ($op:ty) => {
        impl $crate::EvalOp for $op {
            #[cfg(feature = "tokenizers")]
            fn eval(
                &self,
                inputs: &[snick_tensor::Tensor],
            ) -> Result<Vec<snick_tensor::Tensor>, $crate::OpError> {
                kernel::eval(self, inputs)
            }

            #[cfg(not(feature = "tokenizers"))]
            fn eval(&self, _: &[snick_tensor::Tensor]) -> Result<Vec<snick_tensor::Tensor>, $crate::OpError> {
                Err($crate::OpError::FeatureOff { feature: "tokenizers" })
            }
        }
    };
}

#[cfg(feature = "tokenizers")]
impl From<snick_text::TextError> for crate::OpError {
    fn from(error: snick_text::TextError) -> Self {
        Self::Text(error.to_string())
    }
}

#[cfg(all(test, not(feature = "tokenizers")))]
mod tests {
    use crate::ops::RegexSplit;
    use crate::{Op, OpError};

    #[test]
    fn without_the_feature_running_names_it() {
        let inputs = vec![snick_tensor::Tensor::scalar(0i32); 6];
        let error = Op::from(RegexSplit::default()).eval(&inputs);
        assert_eq!(error, Err(OpError::FeatureOff { feature: "tokenizers" }));
    }
}
