//! Ops that have inference but no evaluation.

/// Implements `eval` as an error that names the op.
macro_rules! only_inferred {
    ($($op:ident),+ $(,)?) => {$(
        impl $crate::EvalOp for $op {
            fn eval(&self, _: &[snick_tensor::Tensor]) -> Result<Vec<snick_tensor::Tensor>, $crate::OpError> {
                Err($crate::OpError::NoImplementation {
                    op_type: <Self as $crate::OpDef>::NAMES[0].name.into(),
                })
            }
        }
    )+};
}
