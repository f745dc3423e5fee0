//! ShuffleChannels-1.

use snick_tensor::{Dims, Tensor};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly, normalize_axis};

op! {
    /// Interleaves groups of channels: reshapes an axis to `[group, rest]`, transposes it and flattens it.
    #[op(
        "ShuffleChannels", since = [1], inputs = Arity::exactly(1), category = Movement, traits = [PURE],
        name = missing_in(2, 2)
    )]
    pub struct ShuffleChannels {
        /// The axis; negative axes count from the end.
        pub axis: i64 = 1,
        /// Number of groups; must divide the size of the axis.
        pub group: i64 = 1,
    }
}

impl InferOp for ShuffleChannels {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        if self.group < 1 {
            return Err(OpError::out_of_range("`group`", self.group, "1 or more"));
        }
        cx.expect_rank(0, "1 or more", |rank| rank >= 1)?;
        if let Some(dims) = cx.shape(0).dims() {
            let axis = normalize_axis(self.axis, dims.len())?;
            let size = dims.get(axis).and_then(|dim| dim.as_const());
            if let Some(size) = size.filter(|size| size % self.group != 0) {
                return Err(OpError::mismatch(
                    "the size of the axis",
                    size,
                    format!("a multiple of {}", self.group),
                ));
            }
        }
        Ok(Facts::from(Fact::new(cx.element_type(0), cx.shape(0).clone())))
    }
}

impl EvalOp for ShuffleChannels {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data] = exactly(inputs)?;
        let axis = normalize_axis(self.axis, data.rank())?;
        let size = data.dims().get(axis).copied().unwrap_or(0);
        let group = usize::try_from(self.group).unwrap_or(0);
        if group == 0 || size % group != 0 {
            return Err(OpError::mismatch("the size of the axis", size, format!("a multiple of {group}")));
        }
        let mut dims = Dims::from_slice(data.dims());
        if let Some(slot) = dims.get_mut(axis) {
            *slot = group;
        }
        dims.insert(axis + 1, size / group);
        let mut order: Dims = (0..dims.len()).collect();
        order.swap(axis, axis + 1);
        Ok(vec![data.reshape(&dims)?.permute(&order)?.reshape(data.dims())?])
    }
}
