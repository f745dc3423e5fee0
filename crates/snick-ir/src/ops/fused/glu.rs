//! GLU, from OpenVINO's plug-ins.

use snick_shape::Shape;
use snick_tensor::kernels::{BinaryOp, UnaryOp};
use snick_tensor::{ElementType, Tensor};

use super::rms::output_type;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly, normalize_axis};

op! {
    /// Gated linear unit: splits the data in two along an axis, and multiplies one half by a function of the
    /// other.
    #[op(
        "GLU", since = [1], inputs = Arity::exactly(1),
        category = Activation, traits = [PURE], name = internal(), check = Self::check
    )]
    pub struct Glu {
        /// The axis; negative axes count from the end.
        pub axis: i64,
        /// The size of each half.
        pub split_lengths: i64,
        /// The function; some OpenVINO releases do not write this attribute.
        pub glu_type: Option<GluType>,
        /// The half to apply the function to: 0 or 1.
        pub split_to_glu_idx: i64 = 0,
        /// The element type of the output; `dynamic` for the type of the data.
        pub output_type: ElementType = ElementType::Dynamic,
    }
}

/// The function of a gated linear unit.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum GluType {
    /// `x / (1 + e^-x)`.
    Swish,
    /// Gelu with the error function.
    Gelu,
    /// Gelu with tanh.
    GeluTanh,
}

attr_words!(GluType { Swish = "Swish", Gelu = "Gelu", GeluTanh = "Gelu_Tanh" });

impl GluType {
    fn function(self) -> UnaryOp {
        match self {
            Self::Swish => UnaryOp::Swish { beta: 1. },
            Self::Gelu => UnaryOp::GeluErf,
            Self::GeluTanh => UnaryOp::GeluTanh,
        }
    }
}

impl Glu {
    fn check(&self, _: &crate::RawNode) -> Result<(), OpError> {
        match self.split_to_glu_idx {
            0 | 1 => Ok(()),
            other => Err(OpError::out_of_range("split_to_glu_idx", other, "0 to 1")),
        }
    }
}

impl InferOp for Glu {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = output_type(self.output_type, cx.element_type(0));
        let Some(dims) = cx.shape(0).dims() else {
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        let axis = normalize_axis(self.axis, dims.len())?;
        let mut dims = dims.to_vec();
        if self.split_lengths < 0 {
            return Err(OpError::out_of_range("split_lengths", self.split_lengths, "0 or more"));
        }
        dims[axis] = self.split_lengths.into();
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
    }
}

impl EvalOp for Glu {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data] = exactly(inputs)?;
        let Some(function) = self.glu_type.map(GluType::function) else {
            return Err(OpError::MissingAttribute { name: "glu_type" });
        };
        let axis = normalize_axis(self.axis, data.rank())?;
        let size = data.dims()[axis];
        let half = usize::try_from(self.split_lengths).ok().filter(|half| half.checked_mul(2) == Some(size));
        let half = half.ok_or_else(|| OpError::mismatch("split_lengths", self.split_lengths, size / 2))?;
        let wide = if data.element_type() == ElementType::F64 { ElementType::F64 } else { ElementType::F32 };
        let part = |at: usize| data.slice(axis, at * half, half, 1)?.cast(wide);
        let gate = usize::from(self.split_to_glu_idx == 1);
        let product = BinaryOp::Mul.apply(&function.apply(&part(gate)?)?, &part(1 - gate)?)?;
        Ok(vec![product.cast(output_type(self.output_type, data.element_type()))?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glu(glu_type: Option<GluType>, gate: i64) -> Glu {
        let output_type = ElementType::Dynamic;
        Glu { axis: -1, split_lengths: 1, glu_type, split_to_glu_idx: gate, output_type }
    }

    #[test]
    fn one_half_opens_the_other() {
        let x = Tensor::from_vec(&[2, 2], vec![1f32, 3., -2., 5.]).unwrap();
        let swish = |x: f32| x / (1. + (-x).exp());
        let run = |op: Glu| op.eval(std::slice::from_ref(&x)).map(|out| out[0].to_f32_vec().unwrap());
        let near = |a: Vec<f32>, b: [f32; 2]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
        assert!(near(run(glu(Some(GluType::Swish), 0)).unwrap(), [swish(1.) * 3., swish(-2.) * 5.]));
        assert!(near(run(glu(Some(GluType::Swish), 1)).unwrap(), [swish(3.), swish(5.) * -2.]));
        // 0.841345 and 0.022750 are the normal CDF at 1 and -2.
        assert!(near(run(glu(Some(GluType::Gelu), 0)).unwrap(), [0.841345 * 3., -0.045500 * 5.]));
        assert_eq!(run(glu(None, 0)), Err(OpError::MissingAttribute { name: "glu_type" }));
        let three = Tensor::zeros(ElementType::F32, &[1, 3]).unwrap();
        assert!(glu(Some(GluType::Swish), 0).eval(&[three]).is_err());
    }
}
