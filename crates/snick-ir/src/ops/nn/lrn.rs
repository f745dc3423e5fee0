//! LRN-1.

use snick_tensor::kernels::{self, PadMode};
use snick_tensor::{SmallVector, Tensor};

use super::compute_tensor::ComputeTensor;
use super::normalize_l2::positions;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// Local response normalisation: `x / (bias + alpha / size^k * sum of x^2)^beta`. The sum is over
    /// neighbours within a window of `size` elements on each of the k axes listed in input 1.
    #[op(
        "LRN", since = [1], inputs = Arity::exactly(2),
        category = Normalisation, traits = [PURE, FLOAT_FORMULA]
    )]
    pub struct Lrn {
        /// The factor of the sum of squares.
        pub alpha: f64 = 0.0,
        /// Exponent of the divisor.
        pub beta: f64 = 0.0,
        /// The number to add to the weighted sum.
        pub bias: f64 = 0.0,
        /// Size of the window on each axis.
        pub size: i64 = 0,
    }
}

impl InferOp for Lrn {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_rank(1, "1", |rank| rank == 1)?;
        cx.expect_integer(1);
        if let (Some(rank), Some([axes])) = (cx.shape(0).rank(), cx.shape(1).dims()) {
            let axes = cx.interval(axes);
            if usize::try_from(axes.lo()).is_ok_and(|axes| axes > rank) {
                return Err(OpError::mismatch("the number of axes", axes, format!("{rank} or fewer")));
            }
        }
        if let (Some(rank), Some(axes)) = (cx.shape(0).rank(), cx.input(1).ints()) {
            positions(&axes, rank)?;
        }
        Ok(Facts::from(Fact::new(cx.element_type(0), cx.shape(0).clone())))
    }
}

impl EvalOp for Lrn {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, axes] = exactly(inputs)?;
        let axes = positions(&axes.to_i64_vec()?, data.rank())?;
        let x = ComputeTensor::new(data)?;
        let mut sums = x.times(&x)?;
        let mut weight = self.alpha;
        for &axis in &axes {
            sums = sum_neighbours(&sums, axis, self.size)?;
            weight /= self.size as f64;
        }
        let divisor = sums.times_number(weight)?.plus_number(self.bias)?.power(self.beta)?;
        Ok(vec![x.over(&divisor)?.rounded(data.element_type())?])
    }
}

/// Sums each element with its neighbours on one axis.
fn sum_neighbours(values: &ComputeTensor, axis: usize, size: i64) -> Result<ComputeTensor, OpError> {
    let tensor = values.tensor();
    let dim = tensor.dims().get(axis).copied().unwrap_or(1);
    let side =
        usize::try_from(size.saturating_sub(1).max(0) / 2).unwrap_or(usize::MAX).min(dim.saturating_sub(1));
    let mut sum = values.clone();
    for distance in 1..=side {
        let rest = dim - distance;
        let shifts = [(0, distance), (distance, 0)];
        for (from, before) in shifts {
            let part = tensor.slice(axis, from, rest, 1)?;
            let mut pads: [SmallVector<isize, 6>; 2] =
                [SmallVector::from_elem(0, tensor.rank()), SmallVector::from_elem(0, tensor.rank())];
            let [begin, end] = &mut pads;
            if let (Some(begin), Some(end)) = (begin.get_mut(axis), end.get_mut(axis)) {
                (*begin, *end) = (before as isize, (distance - before) as isize);
            }
            let [begin, end] = &pads;
            sum =
                sum.plus(&ComputeTensor::new(&kernels::pad(&part, begin, end, PadMode::Constant, None)?)?)?;
        }
    }
    Ok(sum)
}
