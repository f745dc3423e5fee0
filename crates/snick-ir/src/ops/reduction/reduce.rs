//! Reductions along axes.
//!
//! ReduceSum-1, ReduceMean-1, ReduceProd-1, ReduceMax-1, ReduceMin-1, ReduceL1-4, ReduceL2-4,
//! ReduceLogicalAnd-1, ReduceLogicalOr-1. Input 1 lists the axes; negative axes count from the end, and
//! duplicates are ignored.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::kernels::ReduceOp;
use snick_tensor::{ElementType, SmallVector, Tensor};

use crate::ops::elementwise::domain::Domain;
use crate::ops::elementwise::known_elements::{element_interval, unwrapped};
use crate::{Arity, AxisMap, EvalOp, Fact, Facts, Infer, InferOp, OpError, normalize_axis};

op_family! {
    /// A reduction along the axes listed in input 1.
    #[family(inputs = Arity::exactly(2), category = Reduction, traits = [PURE])]
    pub struct Reduce(ReduceOp) {
        /// Whether to keep the reduced axes with size 1.
        pub keep_dims: bool = false,
    }
    /// The sum along axes.
    ReduceSum: "ReduceSum", [1] => ReduceOp::Sum;
    /// The mean along axes.
    ReduceMean: "ReduceMean", [1] => ReduceOp::Mean;
    /// The product along axes.
    ReduceProd: "ReduceProd", [1] => ReduceOp::Prod;
    /// The maximum along axes.
    ReduceMax: "ReduceMax", [1] => ReduceOp::Max;
    /// The minimum along axes.
    ReduceMin: "ReduceMin", [1] => ReduceOp::Min;
    /// The sum of absolute values along axes.
    ReduceL1: "ReduceL1", [4] => ReduceOp::L1;
    /// The square root of the sum of squares along axes.
    ReduceL2: "ReduceL2", [4] => ReduceOp::L2;
    /// Whether all elements along axes are true.
    ReduceLogicalAnd: "ReduceLogicalAnd", [1] => ReduceOp::LogicalAnd;
    /// Whether any element along axes is true.
    ReduceLogicalOr: "ReduceLogicalOr", [1] => ReduceOp::LogicalOr;
}

impl InferOp for Reduce {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let logical = matches!(self.function, ReduceOp::LogicalAnd | ReduceOp::LogicalOr);
        let et = cx.element_type(0);
        if logical {
            Domain::Boolean.check("input 0", et)?;
        } else if et != ElementType::String {
            Domain::Number.check("input 0", et)?;
        }
        Domain::IntegralNumber.check("the axes", cx.element_type(1))?;
        cx.expect_rank(1, "0 or 1", |rank| rank <= 1)?;
        cx.demand_axes(1);
        let Some(dims) = cx.shape(0).dims() else {
            return Ok(Facts::from(Fact::new(et, Shape::unranked())));
        };
        let Some(axes) = cx.input(1).ints() else {
            let shape = self.unknown_axes(cx, dims);
            return Ok(Facts::from(Fact::new(et, shape)));
        };
        let axes = normalized(&axes, dims.len())?;
        let kept = |(axis, dim): (usize, &SymExpr)| match axes.contains(&axis) {
            true => self.keep_dims.then(|| SymExpr::from(1)),
            false => Some(dim.clone()),
        };
        let shape: Shape = dims.iter().enumerate().filter_map(kept).collect();
        let elements = self.elements(cx, &axes, et);
        Ok(Facts::from(Fact::new(et, shape).with_elements(elements)))
    }

    fn axis_map(&self, inputs: &[&Fact], _: &Fact) -> Option<AxisMap> {
        let rank = inputs[0].shape.rank()?;
        let axes = normalized(&inputs[1].ints()?, rank).ok()?;
        // Integers wrap, so the order of summation does not matter.
        let selects = matches!(
            self.function,
            ReduceOp::Max | ReduceOp::Min | ReduceOp::LogicalAnd | ReduceOp::LogicalOr
        );
        let rounds = !selects && !inputs[0].element_type.is_integer();
        Some(AxisMap::reduction(rank, |axis| axes.contains(&axis), self.keep_dims).rounding(rounds))
    }
}

impl EvalOp for Reduce {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let axes = normalized(&inputs[1].to_i64_vec()?, inputs[0].rank())?;
        Ok(vec![self.function.apply(&inputs[0], &axes, self.keep_dims)?])
    }
}

/// Normalises axes. For a scalar, the axes 0 and -1 are accepted and ignored.
fn normalized(axes: &[i64], rank: usize) -> Result<SmallVector<usize, 4>, OpError> {
    if rank == 0 && axes.iter().all(|axis| matches!(axis, 0 | -1)) {
        return Ok(SmallVector::new());
    }
    axes.iter().map(|&axis| normalize_axis(axis, rank)).collect()
}

impl Reduce {
    /// The shape of the output if the axes are not known before the run.
    fn unknown_axes(&self, cx: &mut Infer, dims: &[SymExpr]) -> Shape {
        let one = Interval::exact(1);
        if dims.is_empty() || self.keep_dims {
            let maybe_one = |dim: &SymExpr| {
                let either = cx.interval(dim).hull(one);
                if either == one { SymExpr::from(1) } else { cx.unknown(either) }
            };
            return dims.iter().map(maybe_one).collect();
        }
        let count = match cx.shape(1).dims() {
            Some([]) => Some(1),
            Some([count]) => count.as_const(),
            _ => None,
        };
        match count {
            Some(0) => Shape::ranked(dims.iter().cloned()),
            // Removing one axis shifts the later axes by one. (A list of several axes may contain duplicates,
            // so the output rank is unknown.)
            Some(1) => {
                let either = |pair: &[SymExpr]| match pair {
                    [here, next] if here != next => {
                        let both = cx.interval(here).hull(cx.interval(next));
                        cx.unknown(both)
                    }
                    [here, ..] => here.clone(),
                    [] => cx.unknown(Interval::DIM),
                };
                dims.windows(2).map(either).collect()
            }
            _ => Shape::unranked(),
        }
    }

    /// The elements of the output if the input consists of known integers.
    fn elements(&self, cx: &mut Infer, axes: &[usize], et: ElementType) -> Option<Vec<SymExpr>> {
        let input = cx.input(0);
        if input.as_tensor().is_some() || !et.is_integer() {
            return None;
        }
        let known = input.elements()?;
        let dims = input.shape.as_static()?;
        let kept: SmallVector<usize, 4> = (0..dims.len()).filter(|axis| !axes.contains(axis)).collect();
        let count = kept.iter().map(|&axis| dims[axis]).product::<usize>();
        let mut rows: Vec<Vec<&SymExpr>> = vec![Vec::new(); count];
        for (index, element) in known.iter().enumerate() {
            let mut rest = index;
            let (mut row, mut stride) = (0, 1);
            for (axis, &dim) in dims.iter().enumerate().rev() {
                if kept.contains(&axis) {
                    row += rest % dim * stride;
                    stride *= dim;
                }
                rest /= dim;
            }
            rows.get_mut(row)?.push(element);
        }
        rows.into_iter().map(|row| self.row(cx, &row, et)).collect()
    }

    /// The result of reducing one row; `None` if it is not known.
    fn row(&self, cx: &mut Infer, row: &[&SymExpr], et: ElementType) -> Option<SymExpr> {
        let of = |cx: &Infer, e: &SymExpr| element_interval(cx, e, et);
        let mut positive = true;
        for element in row {
            positive &= of(cx, element).lo() >= 0;
        }
        let start = match self.function {
            ReduceOp::Sum => SymExpr::from(0),
            ReduceOp::L1 if positive => SymExpr::from(0),
            ReduceOp::Prod => SymExpr::from(1),
            ReduceOp::Max | ReduceOp::Min if !row.is_empty() => (*row.first()?).clone(),
            ReduceOp::Mean if row.len() == 1 => (*row.first()?).clone(),
            _ => return None,
        };
        let step = |expr: SymExpr, next: &&SymExpr| {
            let pair = [of(cx, &expr), of(cx, next)];
            match self.function {
                ReduceOp::Max => cx.max(&expr, next),
                ReduceOp::Min => cx.min(&expr, next),
                ReduceOp::Mean => expr,
                ReduceOp::Prod => unwrapped(cx, et, pair[0].mul(pair[1]), &pair, |cx| cx.mul(&expr, next)),
                _ => unwrapped(cx, et, pair[0].add(pair[1]), &pair, |cx| cx.add(&expr, next)),
            }
        };
        Some(row.iter().fold(start, step))
    }
}
