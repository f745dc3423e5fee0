//! Reshape-1.

use snick_shape::{Birth, Interval, Shape, SymExpr};
use snick_tensor::{Dims, Listed, SmallVector, Tensor};

use crate::infer::given_up::{MAY_COPY, NO_ELEMENTS};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, IntegerRole, OpError};

op! {
    /// Reshapes input 0 to the shape in input 1, in row-major order. One dim may be -1 and is then computed
    /// from the others. If another dim is 0 and not copied, -1 is ambiguous: it becomes 1 if the data is
    /// known to be empty and the target is constant; otherwise the run fails.
    #[op(
        "Reshape", since = [1], inputs = Arity::exactly(2),
        category = Movement, traits = [PURE, MOVES_ELEMENTS, VIEW]
    )]
    pub struct Reshape {
        /// Whether a 0 copies the dim of the same axis.
        pub special_zero: bool = false,
    }
}

const CANNOT_RESHAPE: &str = "cannot reshape {} to {}";
const TARGET: &str = "the target shape";

impl InferOp for Reshape {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_integer(1);
        cx.expect_rank(1, "0 or 1", |rank| rank <= 1)?;
        let shape = match cx.elements_or_unknown(1) {
            Some(target) => self.output_shape(cx, &target)?,
            None => Shape::unranked(),
        };
        cx.demand_role(1, || IntegerRole::Shape);
        let fact = Fact::new(cx.element_type(0), shape);
        Ok(Facts::from(fact.with_elements(cx.input(0).elements())))
    }
}

impl EvalOp for Reshape {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let target = inputs[1].to_i64_vec()?;
        let dims = self.resolve(inputs[0].dims(), &target)?;
        Ok(vec![inputs[0].reshape(&dims)?])
    }
}

/// A dim of the output before -1 is resolved.
enum Size {
    /// The dim of the same axis of the input.
    Copied(SymExpr),
    /// The dim given by the target.
    Given(SymExpr),
    /// -1, the dim to compute from the other dims.
    Rest,
}

impl Reshape {
    /// The output dims for a concrete shape.
    fn resolve(&self, dims: &[usize], target: &[i64]) -> Result<Dims, OpError> {
        let mut sizes = Dims::new();
        let mut rest = None;
        // Compute -1 from all dims except the copied ones.
        let (mut given, mut left): (Option<usize>, Option<usize>) = (Some(1), Some(1));
        let mut copied: SmallVector<usize, 6> = SmallVector::new();
        for (axis, &size) in target.iter().enumerate() {
            match usize::try_from(size) {
                Ok(0) if self.special_zero => {
                    let size = dims.get(axis).ok_or_else(|| beyond(axis, dims.len()))?;
                    copied.push(axis);
                    sizes.push(*size);
                }
                Ok(size) => {
                    given = given.and_then(|n| n.checked_mul(size));
                    sizes.push(size);
                }
                Err(_) if size == -1 && rest.is_none() => {
                    rest = Some(axis);
                    sizes.push(0);
                }
                Err(_) if size == -1 => return Err(OpError::out_of_range(TARGET, size, "at most one -1")),
                Err(_) => return Err(OpError::out_of_range(TARGET, size, "-1 or more")),
            }
        }
        for (axis, &size) in dims.iter().enumerate() {
            if !copied.contains(&axis) {
                left = left.and_then(|n| n.checked_mul(size));
            }
        }
        if let Some(axis) = rest {
            let conflict = || OpError::conflict(CANNOT_RESHAPE, Listed(dims), Listed(target));
            let (given, left) = (given.ok_or_else(conflict)?, left.ok_or_else(conflict)?);
            sizes[axis] = left.checked_div(given).filter(|n| n * given == left).ok_or_else(conflict)?;
        }
        Ok(sizes)
    }

    fn output_shape(&self, cx: &mut Infer, target: &[SymExpr]) -> Result<Shape, OpError> {
        let data = cx.shape(0).dims();
        let rests = target.iter().filter(|e| e.as_const() == Some(-1)).count();
        if rests > 1 {
            return Err(OpError::out_of_range(TARGET, -1, "at most one -1"));
        }
        if let ([size], Some(data)) = (target, data)
            && size.as_const().is_none_or(|n| n < 0 || (n == 0 && self.special_zero))
        {
            return self.vector(cx, size, data);
        }
        let mut sizes: SmallVector<Size, 4> = SmallVector::new();
        for axis in 0..target.len() {
            sizes.push(self.size(cx, target, axis, rests == 0)?);
        }
        let mut dims: SmallVector<SymExpr, 4> = SmallVector::new();
        for size in &sizes {
            dims.push(match size {
                Size::Copied(dim) | Size::Given(dim) => dim.clone(),
                Size::Rest => match data {
                    Some(data) => self.rest(cx, data, &sizes)?,
                    None => cx.unknown(Interval::DIM),
                },
            });
        }
        let shape = Shape::ranked(dims);
        if let (Some(data), Some(dims)) = (data, shape.dims()) {
            let (before, after) = (count(cx, data), count(cx, dims));
            if before.meet(after).is_none() {
                cx.report(cx.conflict(CANNOT_RESHAPE, cx.shape(0), &shape));
            }
            if rests == 0 {
                let (before, after) = (cx.product(data), cx.product(dims));
                cx.demand_equal(&before, &after);
            }
        }
        Ok(shape)
    }

    /// The meaning of one dim of the target. `lone` says that no other dim is -1.
    fn size(&self, cx: &mut Infer, target: &[SymExpr], axis: usize, lone: bool) -> Result<Size, OpError> {
        let size = &target[axis];
        let data = cx.shape(0).dims();
        let interval = cx.interval(size);
        if size.as_const() == Some(-1) {
            return Ok(Size::Rest);
        }
        let Some(as_dim) = cx.as_dim(size) else {
            return match interval.contains(-1) && lone {
                true => Ok(Size::Given(cx.unknown(Interval::DIM))),
                false => Err(OpError::out_of_range(TARGET, interval.hi(), "-1 or more")),
            };
        };
        if interval.lo() < 0 && lone {
            return Ok(Size::Given(cx.unknown(Interval::DIM)));
        }
        let zero = interval.is_exact() == Some(0);
        if !self.special_zero
            || !interval.contains(0)
            || (cx.ignores_empty() && !zero && data.is_some_and(|data| data.get(axis) != Some(size)))
        {
            return Ok(Size::Given(as_dim));
        }
        match data {
            None if zero => Ok(Size::Copied(cx.unknown(Interval::DIM))),
            None => Ok(Size::Given(cx.unknown(Interval::DIM))),
            Some(data) => match data.get(axis) {
                Some(dim) if zero || dim == size => Ok(Size::Copied(dim.clone())),
                // A 0 on an axis that the data does not have is an error.
                None if zero => Err(beyond(axis, data.len())),
                None => Ok(Size::Given(as_dim)),
                // A 0 in the target produces a dim of 0, whether it is copied or not.
                Some(dim) if is_zero_with(cx, dim, size) => Ok(Size::Given(as_dim)),
                Some(_) if lone && fails_with_zero(cx, data, target, axis) => Ok(Size::Given(as_dim)),
                Some(dim) => {
                    let either = cx.interval(&as_dim).hull(cx.interval(dim));
                    Ok(Size::Given(cx.unknown(either)))
                }
            },
        }
    }

    /// Resolves -1 to the number of elements divided by the other dims.
    fn rest(&self, cx: &mut Infer, data: &[SymExpr], sizes: &[Size]) -> Result<SymExpr, OpError> {
        let mut left: Vec<SymExpr> = Vec::with_capacity(data.len());
        for (axis, dim) in data.iter().enumerate() {
            if !matches!(sizes.get(axis), Some(Size::Copied(_))) {
                left.push(dim.clone());
            }
        }
        let mut given: Vec<SymExpr> = Vec::new();
        for size in sizes {
            let Size::Given(size) = size else { continue };
            // With `special_zero`, a target dim of 0 would be copied and left out of the quotient, which no
            // single expression describes.
            let may_copy = self.special_zero && cx.interval(size).contains(0) && !cx.ignores_empty();
            if may_copy {
                return Ok(cx.born(Interval::DIM, || Birth::GivenUp(MAY_COPY.into())));
            }
            match size.as_const().is_none().then(|| find(cx, &left, size)).flatten() {
                Some(range) => drop(left.drain(range)),
                None => given.push(size.clone()),
            }
        }
        cancel_numbers(&mut left, &mut given);
        let (factors, given) = (left, cx.product(&given));
        let left = cx.product(&factors);
        // In empty data, -1 is defined only if data and target are constant; otherwise the run fails.
        if left.as_const() != Some(0) || given.as_const() != Some(0) {
            cx.demand_at_least(&given, 1);
        }
        let from = cx.interval(&left);
        let conflict = |cx: &Infer| {
            let of = |dims: &[SymExpr]| Shape::ranked(dims.iter().cloned());
            let given = sizes.iter().map(|size| match size {
                Size::Copied(dim) | Size::Given(dim) => dim.clone(),
                Size::Rest => SymExpr::from(-1),
            });
            cx.conflict(CANNOT_RESHAPE, &of(data), &Shape::ranked(given))
        };
        match (left.as_const(), given.as_const()) {
            (Some(0), Some(0)) if cx.input(1).ints().is_some() => Ok(1.into()),
            // The dim is unknown, because the run fails in this case.
            (_, Some(0)) if from.contains(0) => {
                Ok(cx.born(Interval::DIM, || Birth::GivenUp(NO_ELEMENTS.into())))
            }
            (_, Some(0)) => Err(conflict(cx)),
            (Some(n), Some(by)) if n.checked_rem(by) != Some(0) => Err(conflict(cx)),
            _ => {
                // `exact_div` needs a divisor of at least 1. A run in which a given dim is 0 fails, so any
                // value will do there.
                let given = cx.max(&given, &1.into());
                // A constant divisor has no factor in common with the constant factors, so it divides the others.
                let splits = given.as_const().is_some() && left.as_const().is_none();
                let (numbers, others): (Vec<SymExpr>, Vec<SymExpr>) =
                    factors.into_iter().partition(|factor| splits && factor.as_const().is_some());
                let (number, divided) = (cx.product(&numbers), cx.product(&others));
                let quotient = cx.exact_div(&divided, &given).map(|quotient| cx.mul(&quotient, &number));
                quotient.and_then(|quotient| cx.as_dim(&quotient)).ok_or_else(|| conflict(cx))
            }
        }
    }

    /// The shape for a target with one entry: the axis holds all elements of the data, whatever the entry is.
    fn vector(&self, cx: &mut Infer, size: &SymExpr, data: &[SymExpr]) -> Result<Shape, OpError> {
        let interval = cx.interval(size);
        if interval.hi() < -1 {
            return Err(OpError::out_of_range(TARGET, interval.hi(), "-1 or more"));
        }
        if data.is_empty() && size.as_const() == Some(0) {
            return Err(beyond(0, 0));
        }
        let all = cx.product(data);
        let free = interval.lo() < 0 || (self.special_zero && interval.contains(0));
        let dim = if free { Some(all) } else { cx.merge(&all, size) };
        let conflict = || cx.conflict(CANNOT_RESHAPE, cx.shape(0), &Shape::ranked([size.clone()]));
        Ok(Shape::ranked([dim.ok_or_else(conflict)?]))
    }
}

fn beyond(axis: usize, rank: usize) -> OpError {
    OpError::mismatch("the target shape", format!("0 at axis {axis}"), format!("0 below rank {rank} only"))
}

/// The interval of the number of elements.
fn count(cx: &mut Infer, dims: &[SymExpr]) -> Interval {
    dims.iter().fold(Interval::exact(1), |n, dim| n.mul(cx.interval(dim)))
}

/// Whether `dim` is 0 whenever `size` is.
fn is_zero_with(cx: &mut Infer, dim: &SymExpr, size: &SymExpr) -> bool {
    cx.symbols().interval_given(dim, size, Interval::exact(0)).is_exact() == Some(0)
}

/// Whether the run fails if entry `axis` of the target is 0 but the dim that it copies is not: then the data has no
/// elements, but the output has some.
fn fails_with_zero(cx: &mut Infer, data: &[SymExpr], target: &[SymExpr], axis: usize) -> bool {
    let (size, copied) = (&target[axis], &data[axis]);
    let others = target.iter().enumerate().filter(|&(i, other)| i != axis && other != copied);
    let mut others = others.map(|(_, other)| other);
    data.iter().any(|dim| is_zero_with(cx, dim, size))
        && others.all(|other| cx.symbols().interval_given(other, size, Interval::exact(0)).lo() >= 1)
}

/// Divides the constant factors of dividend and divisor by their common divisor.
fn cancel_numbers(dividend: &mut Vec<SymExpr>, divisor: &mut Vec<SymExpr>) {
    let product = |factors: &[SymExpr]| {
        let mut numbers = factors.iter().filter_map(SymExpr::as_const);
        numbers.try_fold(1i64, |product, number| product.checked_mul(number))
    };
    let (Some(n), Some(d)) = (product(dividend), product(divisor)) else { return };
    let (mut common, mut rest) = (n, d);
    while rest > 0 {
        (common, rest) = (rest, common.rem_euclid(rest));
    }
    if n > 0 && d > 0 && common > 1 {
        for (factors, number) in [(dividend, n / common), (divisor, d / common)] {
            factors.retain(|factor| factor.as_const().is_none());
            factors.push(number.into());
        }
    }
}

/// The range of adjacent factors whose product is `size`.
fn find(cx: &mut Infer, factors: &[SymExpr], size: &SymExpr) -> Option<std::ops::Range<usize>> {
    for first in 0..factors.len() {
        let mut product = SymExpr::from(1);
        for (i, factor) in factors.iter().enumerate().skip(first) {
            product = cx.symbols().mul(&product, factor)?;
            if product == *size {
                return Some(first..i + 1);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_concrete_shapes() {
        let of = |special_zero, dims: &[usize], target: &[i64]| {
            Reshape { special_zero }.resolve(dims, target).ok().map(|dims| dims.to_vec())
        };
        assert_eq!(of(true, &[2, 3, 4], &[0, -1]), Some(vec![2, 12]));
        assert_eq!(of(true, &[0, 3, 4], &[0, 3, -1]), Some(vec![0, 3, 4]));
        assert_eq!(of(true, &[0, 3], &[-1, 3]), Some(vec![0, 3]));
        assert_eq!(of(false, &[0, 3], &[0, -1]), None);
        assert_eq!(of(false, &[2, 3], &[-1, 4]), None);
        assert_eq!(of(false, &[2, 3], &[-1, -1]), None);
        assert_eq!(of(true, &[2], &[1, 0]), None);
        assert_eq!(of(false, &[2, 3], &[-2, 3]), None);
        assert_eq!(of(false, &[1], &[]), Some(vec![]));
    }

    /// The inferred shape of the last layer, and the number of errors.
    fn inferred(layers: &str) -> (String, usize) {
        let text = format!("snick 1\ngraph \"reshape\" {{\n{layers}\n}}\n");
        let mut graph = crate::text::parse(&text, None).unwrap();
        let errors = crate::infer(&mut graph).len();
        let last = graph.ids().last().unwrap();
        (graph.node(last).outs()[0].fact.shape.display(graph.symbols()).to_string(), errors)
    }

    #[test]
    fn symbols_are_kept() {
        let to = |shape: &str, special_zero, target: &str| {
            let count = target.split(',').count();
            inferred(&format!(
                "%x = Parameter-1 {{element_type: f32, shape: \"{shape}\"}}
                 %t = Const-1 i64[{count}] <{target}>
                 %y = Reshape-1(%x, %t) {{special_zero: {special_zero}}}"
            ))
        };
        assert_eq!(to("?,3,?,?", true, "0, 0, -1"), ("[?,3,s1*s2]".into(), 0));
        assert_eq!(to("?,3,?,?", true, "0, -1"), ("[?,3*s1*s2]".into(), 0));
        assert_eq!(to("?,4", false, "-1, 2"), ("[2*s0,2]".into(), 0));
        assert_eq!(to("4..8,3", false, "-1, 2"), ("[3*(s0/2),2]".into(), 0));
        assert_eq!(to("?,?", true, "0, 5, 0").1, 1);
        let target = "%s = ShapeOf-3(%y) {output_type: i64}
             %0 = Const-1 i64[] <0>
             %n = Gather-8(%s, %0, %0) {batch_dims: 0}
             %n1 = Unsqueeze-1(%n, %0)
             %rest = Const-1 i64[2] <-1, 8>
             %t = Concat-1(%n1, %rest) {axis: 0}";
        let of = |y: &str| {
            inferred(&format!(
                "%x = Parameter-1 {{element_type: f32, shape: \"A,B,32\"}}
                 %y = Parameter-1 {{element_type: f32, shape: \"{y}\"}}\n{target}
                 %z = Reshape-1(%x, %t) {{special_zero: false}}"
            ))
        };
        assert_eq!(of("N"), ("[N,(4*A*B)/max(N,1),8]".into(), 0));
        assert_eq!(of("N=1.."), ("[N,(4*A*B)/N,8]".into(), 0));
        assert_eq!(to("2,3", false, "-1, 4").1, 1);
        assert_eq!(to("0,3", false, "0, -1"), ("[0,1]".into(), 0));
        assert_eq!(to("2,0,3", false, "-1, 0, 6"), ("[1,0,6]".into(), 0));
        assert_eq!(to("0,3", true, "0, -1"), ("[0,3]".into(), 0));
        assert_eq!(to("2,3", false, "0, -1").1, 1);
        // Whether the data has any elements is known only at run time.
        assert_eq!(to("?,3", false, "0, -1"), ("[0,?]".into(), 0));
        assert_eq!(to("2..3,3", false, "5, 2").1, 1);
    }

    #[test]
    fn a_shape_that_was_taken_apart_is_put_together() {
        let layers = "%x = Parameter-1 {element_type: f32, shape: \"1..,2,?,3\"}
            %s = ShapeOf-3(%x) {output_type: i64}
            %0 = Const-1 i64[1] <0>
            %2 = Const-1 i64[1] <2>
            %axis = Const-1 i64[] <0>
            %n = Gather-8(%s, %0, %axis) {batch_dims: 0}
            %h = Gather-8(%s, %2, %axis) {batch_dims: 0}
            %rest = Const-1 i64[1] <-1>
            %t = Concat-1(%n, %h, %rest) {axis: 0}
            %y = Reshape-1(%x, %t) {special_zero: false}";
        assert_eq!(inferred(layers), ("[1..,?,6]".into(), 0));
    }

    #[test]
    fn a_copied_size_matters_only_if_the_run_succeeds() {
        let of = |shape: &str, order: &str| {
            let count = order.split(',').count();
            inferred(&format!(
                "%x = Parameter-1 {{element_type: f32, shape: \"{shape}\"}}
                 %s = ShapeOf-3(%x) {{output_type: i64}}
                 %order = Const-1 i64[{count}] <{order}>
                 %axis = Const-1 i64[] <0>
                 %t = Gather-8(%s, %order, %axis) {{batch_dims: 0}}
                 %y = Reshape-1(%x, %t) {{special_zero: true}}"
            ))
        };
        assert_eq!(of("N,4", "1, 0"), ("[4,N]".into(), 0));
        assert_eq!(of("N,M", "1, 0"), ("[M,N]".into(), 0));
        // Data of shape [0,0,5] becomes [5,0,5].
        assert_eq!(of("N,M,K", "2, 0, 1"), ("[?,?,?]".into(), 0));
    }
}
