//! ScatterElementsUpdate-3 and ScatterElementsUpdate-12: single elements replaced or combined.

use smallvec::smallvec;
use snick_shape::SymExpr;
use snick_tensor::Tensor;
use snick_tensor::kernels::scatter_reduce::{self, scatter_reduce};
use snick_tensor::kernels::{BinaryOp, runs};

use super::gather_elements::starts;
use super::indices::scalar;
use super::propagate_elements::propagate_elements;
use super::scatter_reduction::{Reduction, reduction_name};
use crate::ops::elementwise::arithmetic::element;
use crate::{
    Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode, normalize_axis,
};

/// Input 0 with each update (input 2) at its own place, but along the axis (input 3) at the index of the same place
/// in input 1. ScatterElementsUpdate-12 may combine what meets at a place.
#[derive(Clone, PartialEq, Debug)]
pub struct ScatterElementsUpdate {
    /// How updates are combined; `None` in version 3, which replaces.
    pub reduction: Option<Reduction>,
    /// Whether what was at a place takes part in its reduction.
    pub use_init_val: bool,
}

const REDUCTIONS: &[(&str, Reduction)] = &[
    ("none", None),
    ("sum", Some(scatter_reduce::Reduction::Sum)),
    ("prod", Some(scatter_reduce::Reduction::Prod)),
    ("min", Some(scatter_reduce::Reduction::Min)),
    ("max", Some(scatter_reduce::Reduction::Max)),
    ("mean", Some(scatter_reduce::Reduction::Mean)),
];

impl OpDef for ScatterElementsUpdate {
    const NAMES: &'static [OpName] = &[OpName::openvino("ScatterElementsUpdate", &[3, 12])];
    const ARITY: Arity = Arity::exactly(4);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        if raw.since < 12 {
            return Ok(Self { reduction: None, use_init_val: true });
        }
        let reduction = raw.attrs.choice("reduction", REDUCTIONS)?.unwrap_or(None);
        Ok(Self { reduction: Some(reduction), use_init_val: raw.attrs.bool("use_init_val")?.unwrap_or(true) })
    }

    fn attrs(&self) -> Attrs<'static> {
        match self.reduction {
            Some(reduction) => Attrs::new()
                .with("reduction", reduction_name(REDUCTIONS, reduction))
                .with("use_init_val", self.use_init_val),
            None => Attrs::new(),
        }
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
                normalize_axis(*axis, rank)?;
            }
        }
        let shape = cx.shape(0).clone();
        let elements = match self.reduction.flatten() {
            None => propagate_elements(self, cx, &[0, 2], &shape),
            Some(reduction) => self.combined(cx, reduction),
        };
        Ok(smallvec![Fact::new(element_type, shape).with_elements(elements)])
    }
}

impl EvalOp for ScatterElementsUpdate {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let (data, indices, updates) = (&inputs[0], &inputs[1], &inputs[2]);
        if indices.dims() != updates.dims() {
            return Err(OpError::dims_conflict("indices are {}, updates {}", indices.dims(), updates.dims()));
        }
        let starts = starts(data.dims(), indices, scalar("axis", &inputs[3])?)?;
        Ok(vec![match self.reduction.flatten() {
            None => runs::scatter_runs(data, 1, starts, updates)?,
            Some(reduction) => scatter_reduce(data, &starts, updates, reduction, self.use_init_val)?,
        }])
    }
}

impl ScatterElementsUpdate {
    /// The elements with known updates combined into them, each at a known place.
    fn combined(&self, cx: &mut Infer, reduction: scatter_reduce::Reduction) -> Option<Vec<SymExpr>> {
        let et = cx.element_type(0);
        if !et.is_integer() || cx.inputs().iter().all(|fact| fact.as_tensor().is_some()) {
            return None; // folds
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
            let op = ScatterElementsUpdate { reduction: Some(reduction), use_init_val: true };
            let inputs = [data.clone(), indices.clone(), updates.clone(), Tensor::scalar(axis)];
            Some(op.eval(&inputs).ok()?[0].to_i64_vec().unwrap())
        };
        assert_eq!(run(None, 0), Some(vec![1, 2, 10, 20]));
        assert_eq!(run(None, 1), Some(vec![1, 20, 3, 4]));
        assert_eq!(run(Some(scatter_reduce::Reduction::Sum), 1), Some(vec![1, 32, 3, 4]));
        assert_eq!(run(None, 2), None);
    }
}
