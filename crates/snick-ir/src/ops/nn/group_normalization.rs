//! GroupNormalization-12.

use snick_tensor::kernels::{self, EpsMode};
use snick_tensor::{ElementType, Tensor};

use super::compute_tensor::ComputeTensor;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// Normalises each group of channels to mean 0 and variance 1, then multiplies by a scale and adds a
    /// bias. Inputs: data `[N, C, ..]`, scale `[C]` and bias `[C]`.
    #[op(
        "GroupNormalization", since = [12], inputs = Arity::exactly(3),
        category = Normalisation, traits = [PURE]
    )]
    pub struct GroupNormalization {
        /// Number of groups; must divide the number of channels.
        pub num_groups: i64,
        /// Added to the variance.
        pub epsilon: f64 = 0.0,
    }
}

impl InferOp for GroupNormalization {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.common_type(0..3);
        if self.num_groups < 1 {
            return Err(OpError::out_of_range("`num_groups`", self.num_groups, "1 or more"));
        }
        cx.expect_rank(0, "2 or more", |rank| rank >= 2)?;
        let mut channels = cx.shape(0).dims().and_then(|dims| dims.get(1)).cloned();
        for i in 1..3 {
            cx.expect_rank(i, "1", |rank| rank == 1)?;
            let Some(own) = cx.shape(i).dims().and_then(|dims| dims.first()) else { continue };
            channels = Some(match channels {
                None => own.clone(),
                Some(all) => cx.merge_or_report("numbers of channels", &all, own),
            });
        }
        if let Some(channels) = channels.and_then(|channels| channels.as_const())
            && channels % self.num_groups != 0
        {
            let expected = format!("a multiple of {}", self.num_groups);
            cx.report(OpError::mismatch("the number of channels", channels, expected));
        }
        Ok(Facts::from(Fact::new(element_type, cx.shape(0).clone())))
    }
}

impl EvalOp for GroupNormalization {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, scale, bias] = exactly(inputs)?;
        let [batch, channels, ..] = *data.dims() else {
            return Err(OpError::rank("data", data.rank(), "2 or more"));
        };
        let groups = usize::try_from(self.num_groups).unwrap_or(0);
        if groups == 0 || channels % groups != 0 || scale.dims() != [channels] || bias.dims() != [channels] {
            let expected = format!("a multiple of {groups} that equals the length of scale and bias");
            return Err(OpError::mismatch("the number of channels", channels, expected));
        }
        let element_type = data.element_type();
        let compute = if element_type == ElementType::F64 { element_type } else { ElementType::F32 };
        let width = data.len().checked_div(batch * groups).unwrap_or(0);
        let grouped = data.cast(compute)?.reshape(&[batch, groups, width])?;
        let normal = kernels::mvn(&grouped, &[2], true, self.epsilon, EpsMode::InsideSqrt)?;
        let normal = ComputeTensor::new(&normal.reshape(data.dims())?)?;
        let [scale, bias] = [scale, bias].map(|tensor| ComputeTensor::per_channel(tensor, data.rank()));
        let result = normal.scaled(&scale?, &bias?)?;
        Ok(vec![result.rounded(element_type)?])
    }
}
