//! Ops of which only shapes and types are known.

/// Makes running an op an error that names it.
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
