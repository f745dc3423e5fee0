//! VariadicSplit-1: parts of given lengths along an axis.

use snick_shape::{AxisSlice, Interval, Shape, SymExpr};
use snick_tensor::{Listed, Tensor};

use super::axis_range::entry_count;
use super::dyn_axis_slice::{DynAxisSlice, Number};
use super::lowering::slice_of;
use super::primitive::select_elements;
use super::scalar::Scalar;
use super::split::{eval_axis, known_axis};
use crate::op::Values;
use crate::rewrite::{Patch, RewriteResult};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode};

/// OpenVINO VariadicSplit-1. Inputs: data, axis, and the lengths of the parts, of which one may be -1: the rest.
#[derive(Clone, PartialEq, Debug)]
pub struct VariadicSplit;

/// More parts than this no file has outputs for; a declared length alone could claim any number.
const MAX_PARTS: usize = 1 << 16;

/// The lengths in expressions, -1 resolved; with the places where the parts begin.
struct Parting {
    lens: Vec<SymExpr>,
    starts: Vec<SymExpr>,
}

impl VariadicSplit {
    fn parting(cx: &mut Infer, lengths: &[SymExpr], dim: &SymExpr) -> Result<Parting, OpError> {
        let sizes = cx.interval(dim);
        let rest = lengths.iter().position(|len| len.as_const() == Some(-1));
        for (i, len) in lengths.iter().enumerate() {
            let value = len.as_const().unwrap_or(0);
            if value < 0 && Some(i) != rest {
                let expected = "0 or more, or -1 once";
                return Err(OpError::out_of_range(format!("split_lengths[{i}]"), value, expected));
            }
        }
        let known = lengths.iter().enumerate().filter(|(i, _)| Some(*i) != rest);
        let sum = known.fold(SymExpr::from(0), |sum, (_, len)| cx.add(&sum, len));
        let sums = cx.interval(&sum);
        let conflict = || OpError::conflict("the split lengths add up to {}, the axis has {}", sums, sizes);
        let mut lens = lengths.to_vec();
        // A length that may be -1 when the graph runs says nothing of itself.
        let open = lengths.iter().enumerate().any(|(i, len)| Some(i) != rest && cx.interval(len).lo() < 0);
        for (i, len) in lens.iter_mut().enumerate() {
            if Some(i) == rest && !open {
                let left = cx.sub(dim, &sum);
                *len = match cx.as_dim(&left) {
                    Some(left) => left,
                    None => {
                        cx.report(conflict());
                        cx.unknown(Interval::DIM)
                    }
                };
            } else if cx.interval(len).lo() < 0 {
                *len = cx.unknown(Interval::new(0, sizes.hi()).unwrap_or(Interval::DIM));
            }
        }
        if rest.is_none() && !open && sums.meet(sizes).is_none() {
            cx.report(conflict());
        }
        let mut starts = Vec::with_capacity(lens.len());
        let mut start = SymExpr::from(0);
        for len in &lens {
            starts.push(start.clone());
            start = cx.add(&start, len);
        }
        Ok(Parting { lens, starts })
    }
}

impl OpDef for VariadicSplit {
    const NAMES: &'static [OpName] = &[OpName::openvino("VariadicSplit", &[1])];
    const ARITY: Arity = Arity::exactly(3);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::MOVES_ELEMENTS).union(OpTraits::SLICE_LIKE);

    fn parse(_: &RawNode) -> Result<Self, OpError> {
        Ok(Self)
    }

    fn lower(&self, cx: &mut Patch) -> Result<RewriteResult, OpError> {
        let facts = cx.input_facts()?;
        let Some(dims) = facts[0].shape.dims() else {
            return Ok(RewriteResult::Declined("the rank of the data is unknown".into()));
        };
        let Some(axis) = known_axis(&facts[1], dims.len())? else {
            return Ok(RewriteResult::Declined("which axis is split is known only at run time".into()));
        };
        let Some(lengths) = facts[2].elements() else {
            return lower_unknown(cx, axis, &dims[axis]);
        };
        let lengths: Vec<Option<i64>> = lengths.iter().map(SymExpr::as_const).collect();
        if lengths.contains(&None) {
            return lower_unknown(cx, axis, &dims[axis]);
        }
        let lengths: Vec<i64> = lengths.into_iter().flatten().collect();
        let rest = lengths.iter().position(|&len| len == -1);
        let sum = |part: &[i64]| part.iter().fold(0i64, |sum, &len| sum.saturating_add(len.max(0)));
        let mut parts = Vec::with_capacity(lengths.len());
        for k in 0..lengths.len() {
            let len = match (rest == Some(k), cx.output_dim(k as u32, axis)?.as_const()) {
                (false, _) => Scalar::Number(lengths[k]),
                (true, Some(len)) => Scalar::Number(len),
                (true, None) if cx.is_used(k as u32) => {
                    let data = cx.input(0)?;
                    Scalar::dim(cx, data, axis)?.sub(cx, Scalar::Number(sum(&lengths)))?
                }
                // Nobody reads it.
                (true, None) => Scalar::Number(0),
            };
            let start = match rest {
                // Behind the open part, places count from the end.
                Some(rest) if k > rest => {
                    let behind = Scalar::Number(sum(&lengths[k..]));
                    match dims[axis].as_const() {
                        Some(size) => Scalar::Number(size).sub(cx, behind)?,
                        None if cx.is_used(k as u32) => {
                            let data = cx.input(0)?;
                            Scalar::dim(cx, data, axis)?.sub(cx, behind)?
                        }
                        None => Scalar::Number(0),
                    }
                }
                _ => Scalar::Number(sum(&lengths[..k])),
            };
            parts.push((start, len));
        }
        // An open part that is read has less than no elements where the others take more than there is.
        let fails = rest.is_some_and(|rest| cx.is_used(rest as u32));
        if dims[axis].as_const().is_none() && !fails {
            let data = cx.input(0)?;
            let size = Scalar::dim(cx, data, axis)?;
            let left = size.sub(cx, Scalar::Number(sum(&lengths)))?;
            let mut fault = Scalar::Number(0).sub(cx, left)?.max(cx, Scalar::Number(0))?;
            if rest.is_none() {
                fault = fault.max(cx, left)?;
            }
            check_first(cx, &mut parts, fault, size)?;
        }
        replace(cx, axis, &dims[axis], parts)
    }
}

impl InferOp for VariadicSplit {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_integer(1);
        cx.expect_rank(1, "0 or 1", |rank| rank <= 1)?;
        let element_type = cx.element_type(0);
        let declared = cx.declared().count();
        let count = entry_count(cx.input(2), "split_lengths")?.unwrap_or(declared);
        if count > MAX_PARTS {
            let expected = format!("at most {MAX_PARTS}");
            return Err(OpError::out_of_range("the number of parts", count as i64, expected));
        }
        let Some(dims) = cx.shape(0).dims() else {
            return Ok((0..count).map(|_| Fact::new(element_type, Shape::unranked())).collect());
        };
        let Some(axis) = known_axis(cx.input(1), dims.len())? else {
            return Ok((0..count).map(|_| Fact::new(element_type, cx.any_smaller(dims))).collect());
        };
        let dim = &dims[axis];
        let Some(lengths) = cx.elements_or_unknown(2) else {
            let cut = Interval::new(0, cx.interval(dim).hi()).unwrap_or(Interval::DIM);
            let part = |_| {
                let mut part = dims.to_vec();
                part[axis] = cx.unknown(cut);
                Fact::new(element_type, Shape::ranked(part))
            };
            return Ok((0..count).map(part).collect());
        };
        let parting = Self::parting(cx, &lengths, dim)?;
        let mut facts = Facts::new();
        for (len, start) in parting.lens.iter().zip(&parting.starts) {
            let mut part = dims.to_vec();
            part[axis] = len.clone();
            let slice =
                start.as_const().zip(len.as_const()).map(|(start, len)| AxisSlice { start, len, step: 1 });
            let elements = slice.and_then(|slice| select_elements(cx.input(0), &[(axis, slice)]));
            facts.push(Fact::new(element_type, Shape::ranked(part)).with_elements(elements));
        }
        Ok(facts)
    }
}

impl EvalOp for VariadicSplit {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let data = &inputs[0];
        let axis = eval_axis(&inputs[1], data.rank())?;
        let size = data.dims()[axis];
        let lengths = inputs[2].to_i64_vec()?;
        let known = lengths.iter().filter(|&&len| len >= 0);
        let sum =
            known.fold(0usize, |sum, &len| sum.saturating_add(usize::try_from(len).unwrap_or(usize::MAX)));
        let conflict =
            || OpError::conflict("the split lengths are {}, the axis has {}", Listed(&lengths), size);
        let open = lengths.iter().filter(|&&len| len < 0).count();
        if lengths.iter().any(|&len| len < -1) || open > 1 || sum > size || (open == 0 && sum != size) {
            return Err(conflict());
        }
        let mut start = 0;
        let mut parts = Vec::with_capacity(lengths.len());
        for &len in &lengths {
            let len = usize::try_from(len).unwrap_or(size - sum);
            parts.push(data.slice(axis, start, len, 1)?);
            start += len;
        }
        Ok(parts)
    }
}

/// Lengths that are known only at run time: a -1 among them is resolved then.
fn lower_unknown(cx: &mut Patch, axis: usize, dim: &SymExpr) -> Result<RewriteResult, OpError> {
    let count = cx.node().outs.len();
    let (data, lengths) = (cx.input(0)?, cx.input(2)?);
    let size = match dim.as_const() {
        Some(size) => Scalar::Number(size),
        None => Scalar::dim(cx, data, axis)?,
    };
    let mut raw = Vec::with_capacity(count);
    for k in 0..count {
        raw.push(Scalar::element(cx, lengths, k)?);
    }
    let mut sum = Scalar::Number(0);
    for len in &raw {
        let len = len.max(cx, Scalar::Number(0))?;
        sum = sum.add(cx, len)?;
    }
    let left = size.sub(cx, sum)?;
    let mut start = Scalar::Number(0);
    let mut parts = Vec::with_capacity(count);
    // What no length takes is a fault, unless one is open; what is not there to be taken always is.
    let missing = Scalar::Number(0).sub(cx, left)?.max(cx, Scalar::Number(0))?;
    let mut fault = missing.max(cx, left)?;
    for len in raw {
        let open = len.less(cx, Scalar::Number(0))?;
        fault = open.select(cx, missing, fault)?;
        let len = open.select(cx, left, len)?;
        parts.push((start, len));
        start = start.add(cx, len)?;
    }
    check_first(cx, &mut parts, fault, size)?;
    replace(cx, axis, dim, parts)
}

/// Lets the slice of the first output that is read fail where the lengths do not fit the axis: `fault` is above 0 then.
fn check_first(
    cx: &mut Patch,
    parts: &mut [(Scalar, Scalar)],
    fault: Scalar,
    size: Scalar,
) -> Result<(), OpError> {
    let first = (0u32..).zip(parts).find(|(port, _)| cx.is_used(*port));
    if let Some((_, (start, _))) = first {
        *start = start.unless(cx, fault, size)?;
    }
    Ok(())
}

/// A slice for each output that is read.
fn replace(
    cx: &mut Patch,
    axis: usize,
    dim: &SymExpr,
    parts: Vec<(Scalar, Scalar)>,
) -> Result<RewriteResult, OpError> {
    let data = cx.input(0)?;
    let sizes = cx.graph().symbols().interval(dim);
    let mut values = Values::new();
    for (k, (start, len)) in parts.into_iter().enumerate() {
        if !cx.is_used(k as u32) {
            values.push(None);
            continue;
        }
        let out = cx.output_dim(k as u32, axis)?;
        let lens = cx.graph().symbols().interval(&out);
        let starts = Interval::new(0, sizes.hi()).unwrap_or(Interval::DIM);
        let whole = out == *dim && start == Scalar::Number(0);
        let cut = DynAxisSlice {
            start: Number::of(start, starts),
            len: Number::of(len, lens),
            step: Number::Known(1),
        };
        let value = match whole {
            true => data,
            false => slice_of(cx, data, smallvec::smallvec![cut.on_axis(axis)])?,
        };
        values.push(Some(value));
    }
    Ok(RewriteResult::Replaced(values))
}
