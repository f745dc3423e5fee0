//! Split-1: equal parts along an axis.

use smallvec::{SmallVec, smallvec};
use snick_shape::{AxisSlice, Interval, Shape, SymExpr};
use snick_tensor::Tensor;

use super::primitive::{Axis, Slice, select_elements};
use super::scalar::Scalar;
use crate::attrs::missing;
use crate::op::Values;
use crate::rewrite::{Patch, RewriteResult};
use crate::{
    Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode, Value,
    normalize_axis,
};

/// OpenVINO Split-1. Inputs: data and axis, a scalar.
#[derive(Clone, PartialEq, Debug)]
pub struct Split {
    /// Number of parts.
    pub num_splits: usize,
}

/// How the parts of a split lie in the data.
#[derive(Copy, Clone)]
enum Layout {
    /// One behind the other along the axis, each of so many elements.
    EndToEnd(i64),
    /// As the elements of an axis of parts, put in front of the axis.
    AxisOfParts,
}

/// More outputs than any model has.
const MAX_SPLITS: usize = 1 << 16;

/// The axis input of Split and VariadicSplit, if it is known.
pub(super) fn known_axis(axis: &Fact, rank: usize) -> Result<Option<usize>, OpError> {
    if axis.shape.as_static().is_some_and(|dims| dims.iter().product::<usize>() != 1) {
        return Err(OpError::mismatch("`axis`", "a tensor", "one number"));
    }
    match axis.ints().as_deref() {
        Some(&[axis]) => normalize_axis(axis, rank).map(Some),
        _ => Ok(None),
    }
}

impl Split {
    /// Size of each part of an axis; reported where it has no equal parts.
    fn part(&self, cx: &mut Infer, dim: &SymExpr) -> SymExpr {
        let count = self.num_splits as i64;
        // Of an axis shorter than the parts only an empty one could be split: the runtime refuses it, unless it is
        // known to be empty.
        let part = cx.exact_div(dim, &SymExpr::from(count));
        let part = part.filter(|part| part.as_const() != Some(0) || dim.as_const() == Some(0));
        part.unwrap_or_else(|| {
            let expected = format!("a multiple of {count}");
            cx.report(OpError::mismatch("the axis to split", cx.interval(dim), expected));
            cx.unknown(Interval::DIM)
        })
    }

    /// The data with the axis to split made two: one of the parts, and one of the elements of a part.
    fn grouped(&self, cx: &mut Patch, data: Value, dims: &[SymExpr], axis: usize) -> Result<Value, OpError> {
        let count = Scalar::Number(self.num_splits as i64);
        let zero = cx.int(0)?;
        let mut sizes = Vec::with_capacity(dims.len() + 1);
        for (at, dim) in dims.iter().enumerate() {
            let size = match dim.as_const() {
                Some(size) => Scalar::Number(size),
                None => Scalar::dim(cx, data, at)?,
            };
            let made = match at == axis {
                true => smallvec![count, size.div(cx, count)?],
                false => SmallVec::<[Scalar; 2]>::from_slice(&[size]),
            };
            for size in made {
                let size = match size {
                    Scalar::Number(size) => cx.ints(&[size])?,
                    Scalar::Value(size) => cx.make("Unsqueeze", Attrs::new(), &[size, zero])?,
                };
                sizes.push(size);
            }
        }
        let sizes = cx.make("Concat", Attrs::new().with("axis", 0i64), &sizes)?;
        cx.make("Reshape", Attrs::new().with("special_zero", false), &[data, sizes])
    }
}

impl OpDef for Split {
    const NAMES: &'static [OpName] = &[OpName::openvino("Split", &[1])];
    const ARITY: Arity = Arity::exactly(2);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::MOVES_ELEMENTS).union(OpTraits::SLICE_LIKE);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let count = raw.attrs.int("num_splits")?.ok_or(missing("num_splits"))?;
        match usize::try_from(count) {
            Ok(num_splits @ 1..=MAX_SPLITS) => Ok(Self { num_splits }),
            _ => Err(raw.attrs.bad("num_splits", "1 to 65536")),
        }
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("num_splits", self.num_splits as i64)
    }

    fn lower(&self, cx: &mut Patch) -> Result<RewriteResult, OpError> {
        let facts = cx.input_facts()?;
        let Some(dims) = facts[0].shape.dims() else {
            return Ok(RewriteResult::Declined("the rank of the data is unknown".into()));
        };
        let Some(axis) = known_axis(&facts[1], dims.len())? else {
            return Ok(RewriteResult::Declined("which axis is split is known only at run time".into()));
        };
        let data = cx.input(0)?;
        if self.num_splits == 1 {
            return Ok(RewriteResult::one(data));
        }
        // Of an axis in numbers each part is a slice. Of an open one it is an element of the axis of parts: the Reshape
        // that makes one fails where Split does, and needs no arithmetic for each of them.
        let (data, layout) = match cx.output_dim(0, axis)?.as_const() {
            Some(part) if dims[axis].as_const().is_some() => (data, Layout::EndToEnd(part)),
            _ => (self.grouped(cx, data, dims, axis)?, Layout::AxisOfParts),
        };
        let mut values = Values::new();
        for k in 0..self.num_splits {
            if !cx.is_used(k as u32) {
                values.push(None);
                continue;
            }
            let (start, len) = match layout {
                Layout::EndToEnd(part) => (part.checked_mul(k as i64), part),
                Layout::AxisOfParts => (Some(k as i64), 1),
            };
            let start = start.ok_or_else(|| OpError::unsupported("so large an axis"))?;
            let slice = Slice { axes: smallvec![Axis::from((axis, AxisSlice { start, len, step: 1 }))] };
            let mut value = cx.add_op(slice, &[data])?;
            if matches!(layout, Layout::AxisOfParts) {
                let parts_axis = cx.ints(&[axis as i64])?;
                value = cx.make("Squeeze", Attrs::new(), &[value, parts_axis])?;
            }
            values.push(Some(value));
        }
        Ok(RewriteResult::Replaced(values))
    }
}

impl InferOp for Split {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_integer(1);
        cx.expect_rank(1, "0", |rank| rank == 0)?;
        let element_type = cx.element_type(0);
        let Some(dims) = cx.shape(0).dims() else {
            return Ok((0..self.num_splits).map(|_| Fact::new(element_type, Shape::unranked())).collect());
        };
        let Some(axis) = known_axis(cx.input(1), dims.len())? else {
            // Any one axis may shrink.
            let shape = cx.any_smaller(dims);
            return Ok((0..self.num_splits).map(|_| Fact::new(element_type, shape.clone())).collect());
        };
        let mut parts = dims.to_vec();
        parts[axis] = self.part(cx, &dims[axis]);
        let part = parts[axis].as_const();
        let shape = Shape::ranked(parts);
        let fact = |k: usize| {
            let slice =
                part.and_then(|len| Some(AxisSlice { start: len.checked_mul(k as i64)?, len, step: 1 }));
            let elements = slice.and_then(|slice| select_elements(cx.input(0), &[(axis, slice)]));
            Fact::new(element_type, shape.clone()).with_elements(elements)
        };
        Ok((0..self.num_splits).map(fact).collect())
    }
}

impl EvalOp for Split {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let data = &inputs[0];
        let axis = eval_axis(&inputs[1], data.rank())?;
        let size = data.dims()[axis];
        if !size.is_multiple_of(self.num_splits) {
            let expected = format!("a multiple of {}", self.num_splits);
            return Err(OpError::mismatch("the axis to split", size, expected));
        }
        let len = size / self.num_splits;
        (0..self.num_splits).map(|k| Ok(data.slice(axis, k * len, len, 1)?)).collect()
    }
}

/// The axis input when the graph runs.
pub(super) fn eval_axis(axis: &Tensor, rank: usize) -> Result<usize, OpError> {
    match axis.to_i64_vec()?.as_slice() {
        &[axis] => normalize_axis(axis, rank),
        other => Err(OpError::mismatch("`axis`", format!("{} numbers", other.len()), "one")),
    }
}

impl Infer<'_> {
    /// Dims each of which may be anything up to what it is: for cuts along an unknown axis.
    pub(super) fn any_smaller(&mut self, dims: &[SymExpr]) -> Shape {
        let cut: SmallVec<[SymExpr; 4]> = dims
            .iter()
            .map(|dim| {
                let cut = Interval::new(0, self.interval(dim).hi()).unwrap_or(Interval::DIM);
                self.unknown(cut)
            })
            .collect();
        Shape::ranked(cut)
    }
}
