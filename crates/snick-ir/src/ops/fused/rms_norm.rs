//! OpenVINO's RMSNorm.

use snick_tensor::kernels::ReduceOp;
use snick_tensor::{ElementType, Tensor};

use crate::ops::nn::compute_tensor::ComputeTensor;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, leading, normalize_axes};

op! {
    /// Root mean square normalisation along some axes: `x / sqrt(mean(x^2) + epsilon)`, times an optional
    /// scale that broadcasts to the data. Inputs: data, axes, scale.
    #[op(
        "RMSNorm", since = [1], inputs = Arity::between(2, 3),
        category = Normalisation, traits = [PURE, FLOAT_FORMULA], name = internal_extension()
    )]
    pub struct RmsNorm {
        /// Avoids division by zero.
        pub epsilon: f64,
        /// The element type of the computation; `dynamic` for the type of the data.
        pub compute_type: ElementType = ElementType::Dynamic,
    }
}

impl InferOp for RmsNorm {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.common_type((0..cx.len()).filter(|&port| port != 1));
        cx.expect_real(0)?;
        cx.expect_index(1)?;
        cx.expect_rank(1, "0 or 1", |rank| rank <= 1)?;
        if let (Some(axes), Some(rank)) = (cx.input(1).ints(), cx.shape(0).rank()) {
            normalize_axes(&axes, rank)?;
        }
        Ok(Facts::from(Fact::new(element_type, cx.shape(0).clone())))
    }
}

impl EvalOp for RmsNorm {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let ([data, axes], scale) = leading(inputs)?;
        let axes = normalize_axes(&axes.to_i64_vec()?, data.rank())?;
        normalized(data, &axes, self.epsilon, scale.first(), data.element_type())
    }
}

/// Computes the normalisation along `axes` and casts the result to `element_type`.
pub(super) fn normalized(
    data: &Tensor,
    axes: &[usize],
    epsilon: f64,
    scale: Option<&Tensor>,
    element_type: ElementType,
) -> Result<Vec<Tensor>, OpError> {
    let x = ComputeTensor::new(data)?;
    let mean = ReduceOp::Mean.apply(x.times(&x)?.tensor(), axes, true)?;
    let mut y = x.over(&ComputeTensor::new(&mean)?.plus_number(epsilon)?.root()?)?;
    if let Some(scale) = scale {
        y = y.times(&ComputeTensor::new(scale)?)?;
    }
    if y.tensor().dims() != data.dims() {
        let sentence = "the scale makes {} of data {}";
        return Err(OpError::dims_conflict(sentence, y.tensor().dims(), data.dims()));
    }
    Ok(vec![y.rounded(element_type)?])
}
