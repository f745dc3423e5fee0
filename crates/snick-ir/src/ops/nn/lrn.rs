//! LRN-1.

use snick_tensor::kernels::{self, Window};
use snick_tensor::{SmallVector, Tensor};

use super::compute_tensor::ComputeTensor;
use super::normalize_l2::positions;
use crate::ops::movement::indices::count;
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
        let mut means = x.times(&x)?;
        let mut weight = self.alpha;
        for &axis in &axes {
            let length;
            (means, length) = means_of_neighbours(&means, axis, self.size)?;
            weight *= length as f64 / self.size as f64;
        }
        let divisor = means.scaled(&x.number(weight)?, &x.number(self.bias)?)?.power(self.beta)?;
        Ok(vec![x.over(&divisor)?.rounded(data.element_type())?])
    }
}

/// The mean of each element and its neighbours on one axis, and the number of elements in a window. Elements
/// beyond the ends are 0.
fn means_of_neighbours(
    values: &ComputeTensor,
    axis: usize,
    size: i64,
) -> Result<(ComputeTensor, usize), OpError> {
    let dims = values.tensor().dims();
    let (outer, dim, inner) = (count(&dims[..axis]), dims[axis], count(&dims[axis + 1..]));
    let side = usize::try_from(size.saturating_sub(1).max(0) / 2).unwrap_or(usize::MAX);
    let side = side.min(dim.saturating_sub(1));
    let pads: SmallVector<isize, 6> = SmallVector::from([side as isize, 0]);
    let window = Window { pads_begin: pads.clone(), pads_end: pads, ..Window::dense(2) };
    let columns = values.tensor().reshape(&[1, outer, dim, inner])?;
    let length = 2 * side + 1;
    let means = kernels::avg_pool(&columns, &[length, 1], &window, &[dim, inner], false)?;
    Ok((ComputeTensor::new(&means.reshape(dims)?)?, length))
}
