//! RMS, from OpenVINO's plug-ins.

use snick_tensor::{ElementType, Tensor};

use super::rms_norm::normalized;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Root mean square normalisation along the last axis: `x / sqrt(mean(x^2) + epsilon)`, times an optional
    /// scale that broadcasts to the data. Inputs: data, scale.
    #[op(
        "RMS", since = [1], inputs = Arity::between(1, 2),
        category = Normalisation, traits = [PURE, FLOAT_FORMULA], name = internal()
    )]
    pub struct Rms {
        /// Avoids division by zero.
        pub epsilon: f64,
        /// The element type of the output; `dynamic` for the type of the data.
        pub output_type: ElementType = ElementType::Dynamic,
        /// Whether there is a scale.
        pub elementwise_affine: bool = true,
    }
}

impl InferOp for Rms {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_rank(0, "1 or more", |rank| rank >= 1)?;
        cx.expect_real(0)?;
        let element_type = output_type(self.output_type, cx.element_type(0));
        Ok(Facts::from(Fact::new(element_type, cx.shape(0).clone())))
    }
}

/// The declared output type, or the type of the input if the declared type is dynamic.
pub(super) fn output_type(declared: ElementType, input: ElementType) -> ElementType {
    if declared == ElementType::Dynamic { input } else { declared }
}

impl EvalOp for Rms {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let data = inputs.first().ok_or(OpError::InputNotProvided)?;
        let last = data.rank().checked_sub(1).ok_or_else(|| OpError::rank("data", 0, "1 or more"))?;
        let element_type = output_type(self.output_type, data.element_type());
        normalized(data, &[last], self.epsilon, inputs.get(1), element_type)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rms(output_type: ElementType) -> Rms {
        Rms { epsilon: 0.5, output_type, elementwise_affine: true }
    }

    #[test]
    fn rows_are_divided_by_the_root_of_the_mean_of_their_squares() {
        let x = Tensor::from_vec(&[2, 2], vec![3f32, 4., 0., 0.]).unwrap();
        let scale = Tensor::from_vec(&[2], vec![1f32, 10.]).unwrap();
        let out = rms(ElementType::Dynamic).eval(&[x.clone(), scale]).unwrap();
        let root = 13f32.sqrt();
        assert_eq!(out[0].to_f32_vec().unwrap(), [3. / root, 4. / root * 10., 0., 0.]);
        let out = rms(ElementType::F16).eval(std::slice::from_ref(&x)).unwrap();
        assert_eq!(out[0].element_type(), ElementType::F16);
        let wide = Tensor::full(&[3, 2, 2], 1f32).unwrap();
        assert!(rms(ElementType::Dynamic).eval(&[x, wide]).is_err());
    }
}
