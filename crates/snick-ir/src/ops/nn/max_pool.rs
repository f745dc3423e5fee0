//! MaxPool-1, MaxPool-8 and MaxPool-14.

use snick_tensor::{Tensor, kernels};

use super::pool::PoolWindow;
use super::window::Numbers;
use crate::ops::index_type::IndexType;
use crate::{
    Arity, AxisMap, EvalOp, Fact, Facts, Infer, InferOp, OpCost, OpError, RawNode, Since, normalize_axis,
};

op! {
    /// Max pooling: data `[N, C, spatial..]` to `[N, C, windows..]` (output 0). Since opset 8, output 1 holds
    /// the positions of the maxima in the data flattened from `axis`. Padding is never the maximum.
    #[op(
        "MaxPool", since = [1, 8, 14], inputs = Arity::exactly(1), category = Reduction, traits = [PURE],
        name = extended_in(14), check = Self::check_rounding
    )]
    pub struct MaxPool {
        /// The version; version 1 has only one output.
        pub since: Since = Since(14),
        /// The window.
        pub window: PoolWindow,
        /// Distance between neighbouring elements of a window, at least 1; 1 if empty.
        #[since(8)]
        pub dilations: Numbers = Numbers::new(),
        /// Element type of output 1.
        #[since(8)]
        pub index_element_type: IndexType = IndexType::I64,
        /// The first axis to flatten for positions; negative axes count from the end.
        #[since(8)]
        pub axis: i64 = 0,
    }
}

impl InferOp for MaxPool {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let shape = self.window.infer_shape(cx, &self.dilations)?;
        let pooled = Fact::new(cx.element_type(0), shape.clone());
        if !self.has_indices() {
            return Ok(Facts::from(pooled));
        }
        if let Some(rank) = cx.shape(0).rank() {
            normalize_axis(self.axis, rank)?;
        }
        Ok(Facts::from([pooled, Fact::new(self.index_element_type.element_type(), shape)]))
    }

    fn axis_map(&self, inputs: &[&Fact], _: &Fact) -> Option<AxisMap> {
        // Output 1 holds positions in the whole data, which have no axis map.
        if self.has_indices() {
            return None;
        }
        Some(AxisMap::rows(inputs[0].shape.rank()?, |axis| axis >= 2))
    }

    fn cost(&self, _: &[&Fact], output: &Fact) -> Option<OpCost> {
        self.window.cost(output)
    }
}

impl EvalOp for MaxPool {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let data = &inputs[0];
        let pool = self.window.concrete(data, &self.dilations)?;
        if !self.has_indices() {
            return Ok(vec![kernels::max_pool(data, &pool.kernel, &pool.window, &pool.counts)?]);
        }
        let axis = normalize_axis(self.axis, data.rank())?;
        let (values, indices) =
            kernels::max_pool_indices(data, &pool.kernel, &pool.window, &pool.counts, axis)?;
        Ok(vec![values, indices.cast(self.index_element_type.element_type())?])
    }

    fn prune_outputs(&self, is_read: &[bool]) -> Option<Self> {
        let unread = self.has_indices() && matches!(is_read, [_, false]);
        unread.then(|| Self { since: Since(1), ..self.clone() })
    }
}

impl MaxPool {
    fn check_rounding(&self, raw: &RawNode) -> Result<(), OpError> {
        self.window.check_rounding(raw)
    }

    /// Whether the op has a second output.
    pub fn has_indices(&self) -> bool {
        self.since.at_least(8)
    }
}
