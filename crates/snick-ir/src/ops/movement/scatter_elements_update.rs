//! ScatterElementsUpdate-3 and ScatterElementsUpdate-12.

use snick_shape::SymExpr;
use snick_tensor::Tensor;
use snick_tensor::kernels::scatter_reduce::{self, scatter_reduce};
use snick_tensor::kernels::{BinaryOp, runs};

use super::gather_elements::starts;
use super::indices::scalar;
use super::propagate_elements::propagate_elements;
use super::scatter_reduction::ScatterReduction;
use crate::ops::elementwise::arithmetic::element;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, RawNode, Since, normalize_axis};

op! {
    /// Writes updates (input 2) into a copy of input 0. Each update is written at its own position, except
    /// that the index at the same position in input 1 replaces the coordinate on the axis (input 3).
    #[op(
        "ScatterElementsUpdate", since = [3, 12], inputs = Arity::exactly(4),
        category = Movement, traits = [PURE],
        name = extended_in(12), check = Self::check_reduction
    )]
    pub struct ScatterElementsUpdate {
        /// The version.
        pub since: Since = Since(12),
        /// How updates are combined with existing elements.
        #[since(12)]
        pub reduction: ScatterReduction = ScatterReduction::None,
        /// Whether the existing element of input 0 takes part in the reduction.
        #[since(12)]
        pub use_init_val: bool = true,
    }
}

impl InferOp for ScatterElementsUpdate {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_integer(1);
        cx.expect_integer(3);
        cx.expect_rank(3, "0 or 1", |rank| rank <= 1)?;
        let element_type = cx.common_type([0, 2]);
        cx.merge_shapes("indices are {}, updates {}", cx.shape(1), cx.shape(2))?;
        if let Some(rank) = cx.shape(0).rank() {
            let same = |i: usize| cx.expect_rank(i, "the rank of the data", |got| got == rank);
            same(1).and_then(|()| same(2))?;
            if let Some([axis]) = cx.input(3).ints().as_deref() {
                let axis = normalize_axis(*axis, rank)?;
                if let Some(size) = cx.shape(0).dims().map(|dims| &dims[axis]) {
                    cx.demand_index(1, size);
                }
            }
        }
        let shape = cx.shape(0).clone();
        let elements = match self.reduction.kernel() {
            None => propagate_elements(self, cx, &[0, 2], &shape),
            Some(reduction) => self.combined(cx, reduction),
        };
        Ok(Facts::from(Fact::new(element_type, shape).with_elements(elements)))
    }
}

impl EvalOp for ScatterElementsUpdate {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let (data, indices, updates) = (&inputs[0], &inputs[1], &inputs[2]);
        if indices.dims() != updates.dims() {
            return Err(OpError::dims_conflict("indices are {}, updates {}", indices.dims(), updates.dims()));
        }
        let starts = starts(data.dims(), indices, scalar("axis", &inputs[3])?)?;
        Ok(vec![match self.reduction.kernel() {
            None => runs::scatter_runs(data, 1, starts, updates)?,
            Some(reduction) => scatter_reduce(data, &starts, updates, reduction, self.use_init_val)?,
        }])
    }
}

impl ScatterElementsUpdate {
    fn check_reduction(&self, raw: &RawNode) -> Result<(), OpError> {
        match self.reduction {
            ScatterReduction::Sub => Err(raw.attrs.bad("reduction", "none, sum, prod, min, max or mean")),
            _ => Ok(()),
        }
    }

    /// The known elements after combining known updates at known positions.
    fn combined(&self, cx: &mut Infer, reduction: scatter_reduce::Reduction) -> Option<Vec<SymExpr>> {
        let et = cx.element_type(0);
        if !et.is_integer() || cx.inputs().iter().all(|fact| fact.as_tensor().is_some()) {
            return None; // constant folding computes the elements
        }
        let function = match reduction {
            scatter_reduce::Reduction::Sum => Some(BinaryOp::Add),
            scatter_reduce::Reduction::Prod => Some(BinaryOp::Mul),
            scatter_reduce::Reduction::Min => Some(BinaryOp::Min),
            scatter_reduce::Reduction::Max => Some(BinaryOp::Max),
            scatter_reduce::Reduction::Sub | scatter_reduce::Reduction::Mean => None,
        };
        let dims = cx.shape(0).as_static()?;
        let [axis] = cx.input(3).ints()?.as_slice().try_into().ok()?;
        let starts = starts(&dims, cx.input(1).as_tensor()?, axis).ok()?;
        let (mut elements, updates) = (cx.elements_or_unknown(0)?, cx.elements_or_unknown(2)?);
        let mut met = vec![self.use_init_val; elements.len()];
        for (start, update) in starts.into_iter().zip(&updates) {
            let (place, met) = (elements.get_mut(start)?, met.get_mut(start)?);
            *place = match function {
                Some(function) if *met => element(function, cx, place, update, et),
                Some(_) => update.clone(),
                None => cx.unknown_element(et),
            };
            *met = true;
        }
        Some(elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_or_combines() {
        let data = Tensor::from_vec(&[2, 2], vec![1i32, 2, 3, 4]).unwrap();
        let indices = Tensor::from_vec(&[1, 2], vec![-1i64, -1]).unwrap();
        let updates = Tensor::from_vec(&[1, 2], vec![10i32, 20]).unwrap();
        let run = |reduction, axis: i64| {
            let op = ScatterElementsUpdate { reduction, ..ScatterElementsUpdate::default() };
            let inputs = [data.clone(), indices.clone(), updates.clone(), Tensor::scalar(axis)];
            Some(op.eval(&inputs).ok()?[0].to_i64_vec().unwrap())
        };
        assert_eq!(run(ScatterReduction::None, 0), Some(vec![1, 2, 10, 20]));
        assert_eq!(run(ScatterReduction::None, 1), Some(vec![1, 20, 3, 4]));
        assert_eq!(run(ScatterReduction::Sum, 1), Some(vec![1, 32, 3, 4]));
        assert_eq!(run(ScatterReduction::None, 2), None);
    }
}
