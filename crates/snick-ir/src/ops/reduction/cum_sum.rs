//! CumSum-3.

use snick_shape::SymExpr;
use snick_tensor::{ElementType, Tensor, kernels};

use crate::ops::elementwise::known_elements::{element_interval, unwrapped};
use crate::{Arity, AxisMap, EvalOp, Fact, Facts, Infer, InferOp, OpError, normalize_axis};

op! {
    /// Cumulative sums along the axis in input 1. The output has the type and shape of input 0.
    #[op("CumSum", since = [3], inputs = Arity::exactly(2), category = Reduction, traits = [PURE])]
    pub struct CumSum {
        /// Whether to exclude each element from the sum at its own position.
        pub exclusive: bool = false,
        /// Whether to sum from the end.
        pub reverse: bool = false,
    }
}

impl InferOp for CumSum {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let axis = cx.element_type(1);
        if !matches!(axis, ElementType::I32 | ElementType::I64 | ElementType::Dynamic) {
            return Err(OpError::element_type("the axis", axis, "i32 or i64"));
        }
        cx.expect_one(1)?;
        cx.demand_axes(1);
        if let (Some(rank), Some([axis])) = (cx.shape(0).rank(), cx.input(1).ints().as_deref()) {
            normalize_axis(*axis, rank)?;
        }
        let fact = Fact::new(cx.element_type(0), cx.shape(0).clone());
        let elements = self.elements(cx);
        Ok(Facts::from(fact.with_elements(elements)))
    }

    fn axis_map(&self, inputs: &[&Fact], _: &Fact) -> Option<AxisMap> {
        // Integers wrap, so the order of summation does not matter.
        let rounds = !inputs[0].element_type.is_integer();
        Some(AxisMap::rows_but(inputs[0], &inputs[1].ints()?)?.rounding(rounds))
    }
}

impl EvalOp for CumSum {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let axes = inputs[1].to_i64_vec()?;
        let [axis] = axes.as_slice() else {
            return Err(OpError::mismatch("the number of axes", axes.len(), 1));
        };
        let axis = normalize_axis(*axis, inputs[0].rank())?;
        Ok(vec![kernels::running_sum(&inputs[0], axis, self.exclusive, self.reverse)?])
    }
}

impl CumSum {
    /// Cumulative sums of a vector of known elements.
    fn elements(&self, cx: &mut Infer) -> Option<Vec<SymExpr>> {
        let (input, et) = (cx.input(0), cx.element_type(0));
        if input.as_tensor().is_some() || input.shape.rank() != Some(1) || !et.is_integer() {
            return None;
        }
        let mut list = input.elements()?;
        if self.reverse {
            list.reverse();
        }
        let mut sum = SymExpr::from(0);
        let mut sums = Vec::with_capacity(list.len());
        for element in &list {
            let pair = [element_interval(cx, &sum, et), element_interval(cx, element, et)];
            let next = unwrapped(cx, et, pair[0].add(pair[1]), &pair, |cx| cx.add(&sum, element));
            sums.push(if self.exclusive { sum } else { next.clone() });
            sum = next;
        }
        if self.reverse {
            sums.reverse();
        }
        Some(sums)
    }
}
