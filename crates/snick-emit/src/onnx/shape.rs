//! Ops on shapes, and reductions.

use snick_ir::ops::index_type::IndexType;
use snick_ir::ops::shape::broadcast::BroadcastMode;
use snick_ir::ops::{Broadcast, CumSum, Reduce};
use snick_ir::{AttrWords, Op, OpError};
use snick_shape::Interval;
use snick_tensor::ElementType;
use snick_tensor::kernels::ReduceOp;

use super::emitter::{Emitter, Result, int};
use super::row::{OpRow, renamed};
use super::types::{EXTREMES, IN_SIGNED, MOVED, MOVED_BYTES, REDUCED};
use crate::layer::Layer;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::Broadcast(op) => OpRow::new(|e| broadcast(e, op)),
        Op::CumSum(op) => OpRow::new(|e| cum_sum(e, op)).lacks(IN_SIGNED),
        Op::Eye(op) => OpRow::new(|e| eye(e, op.output_type)).every_type(),
        Op::Identity(_) => renamed("Identity").every_type().lacks(MOVED_BYTES),
        Op::Range(op) => OpRow::new(|e| range(e, op.output_type)).every_type(),
        Op::Reduce(op) => reduction(op),
        Op::Reshape(op) => OpRow::new(|e| reshape(e, op.special_zero)).every_type().lacks(MOVED_BYTES),
        Op::ShapeOf(op) => OpRow::new(|e| shape_of(e, op.output_type)).every_type().only(has_bytes),
        Op::Squeeze(op) => OpRow::new(|e| squeeze(e, op.allow_axis_skip)).every_type().lacks(MOVED),
        Op::Unsqueeze(_) => OpRow::new(unsqueeze).every_type().lacks(MOVED),
        _ => return None,
    })
}

fn reduction(op: &Reduce) -> OpRow<'_> {
    let named = |name| OpRow::new(move |e| reduce(e, name, op.keep_dims));
    match op.function {
        ReduceOp::L1 => named("ReduceL1").lacks(REDUCED),
        ReduceOp::L2 => named("ReduceL2").lacks(REDUCED),
        ReduceOp::LogicalAnd => OpRow::new(|e| reduce_booleans(e, true, op.keep_dims)),
        ReduceOp::LogicalOr => OpRow::new(|e| reduce_booleans(e, false, op.keep_dims)),
        ReduceOp::Max => named("ReduceMax").lacks(EXTREMES),
        ReduceOp::Mean => named("ReduceMean").lacks(REDUCED),
        ReduceOp::Min => named("ReduceMin").lacks(EXTREMES),
        ReduceOp::Prod => named("ReduceProd").lacks(REDUCED),
        ReduceOp::Sum => named("ReduceSum").lacks(REDUCED),
    }
}

fn broadcast(e: &mut Emitter, op: &Broadcast) -> Result {
    match (op.mode(), e.len()) {
        (BroadcastMode::Numpy | BroadcastMode::Bidirectional | BroadcastMode::Explicit, 2) => {
            let (x, mut shape) = (e.input(0)?, e.input_i64(1)?);
            // A target shape of one axis may be given as a scalar.
            if e.rank(1)? != 1 {
                shape = e.reshaped(&shape, &[-1])?;
            }
            e.last("Expand", &[x, shape], vec![])
        }
        (BroadcastMode::Explicit, 3) => {
            // Moves the axes of the data to the positions in the mapping; all other axes get size 1.
            let places = e.fixed(2, "the mapping of axes")?;
            let rank = e.fixed_len(1)?;
            let others: Vec<i64> = (0..rank).filter(|axis| !places.contains(axis)).collect();
            let (x, shape) = (e.input(0)?, e.input_i64(1)?);
            let x = if others.is_empty() { x } else { e.unsqueezed(&x, &others)? };
            e.last("Expand", &[x, shape], vec![])
        }
        (mode, _) => Err(OpError::unsupported(format!("mode `{}`", mode.word()))),
    }
}

fn cum_sum(e: &mut Emitter, op: &CumSum) -> Result {
    let attrs = vec![int("exclusive", op.exclusive.into()), int("reverse", op.reverse.into())];
    let (x, axis) = (e.input(0)?, e.input_i64(1)?);
    e.last("CumSum", &[x, axis], attrs)
}

/// Range requires that all three inputs have the same type.
fn range(e: &mut Emitter, output_type: ElementType) -> Result {
    let target = match output_type {
        ElementType::Dynamic => e.element_type(0)?,
        element_type => element_type,
    };
    let mut types = (0..e.len()).map(|i| e.element_type(i));
    let are_integers = types.all(|element_type| element_type.is_ok_and(ElementType::is_integer));
    let wide = match target {
        // The number of elements is computed from integers that a float might not represent.
        _ if are_integers => ElementType::I64,
        // Range does not support half floats.
        ElementType::F16 | ElementType::BF16 => ElementType::F32,
        // ONNX Runtime treats an input of Range that is derived from a Shape as i64, even if it is cast to
        // another type. All inputs must have the same type.
        _ if target.is_integer() => ElementType::I64,
        _ => target,
    };
    let mut inputs = Vec::new();
    for i in 0..e.len() {
        let from = e.element_type(i)?;
        if from.is_float() && !target.is_float() {
            let bound = e.fixed_float(i, "a real bound of integers")?;
            if bound.fract() != 0.0 {
                return Err(OpError::unsupported(format!("a range of {target} by {bound}")));
            }
            inputs.push(e.number(wide, bound)?);
            continue;
        }
        inputs.push(e.cast(e.input(i)?, from, wide)?);
    }
    if wide == target {
        return e.last("Range", &inputs, vec![]);
    }
    let range = e.node("Range", &inputs, vec![]);
    e.last("Cast", &[range], e.to(target)?)
}

/// Ones on a diagonal of a matrix or of a batch of matrices.
fn eye(e: &mut Emitter, target: ElementType) -> Result {
    let diagonal = e.fixed_one(2, "the diagonal")?;
    let sizes = [e.input_as_vector(0)?, e.input_as_vector(1)?];
    let sizes = e.joined(&sizes, 0);
    let zeros = e.node("ConstantOfShape", &[&sizes], vec![]);
    let attrs = vec![int("k", diagonal), int("dtype", e.writer.number_of(ElementType::F32)?.into())];
    let ones = e.node("EyeLike", &[zeros], attrs);
    let ones = e.node("Cast", &[ones], e.to(target)?);
    if e.len() < 4 {
        return e.last("Identity", &[ones], vec![]);
    }
    let batch = e.input_i64(3)?;
    let whole = e.joined(&[batch, sizes], 0);
    e.last("Expand", &[ones, whole], vec![])
}

fn reduction_operands(
    e: &mut Emitter,
    keep_dims: bool,
) -> Result<(Vec<String>, Vec<snick_onnx::Attribute>), OpError> {
    let axes = match e.rank(1)? {
        0 => e.input_as_vector(1)?,
        _ => e.input_i64(1)?,
    };
    // Without axes the layer does nothing, whereas ONNX by default reduces over all axes.
    let attrs = vec![int("keepdims", keep_dims.into()), int("noop_with_empty_axes", 1)];
    Ok((vec![e.input(0)?, axes], attrs))
}

fn reduce(e: &mut Emitter, op: &str, keep_dims: bool) -> Result {
    let (inputs, attrs) = reduction_operands(e, keep_dims)?;
    e.last(op, &inputs, attrs)
}

/// Reduces booleans by counting: the result of ReduceLogicalOr is true if at least one element is true, and
/// the result of ReduceLogicalAnd is true if none is false.
fn reduce_booleans(e: &mut Emitter, all: bool, keep_dims: bool) -> Result {
    let (mut inputs, attrs) = reduction_operands(e, keep_dims)?;
    if all {
        inputs[0] = e.node("Not", &[&inputs[0]], vec![]);
    }
    inputs[0] = e.cast(inputs[0].clone(), ElementType::Boolean, ElementType::I64)?;
    let count = e.node("ReduceSum", &inputs, attrs);
    let to_boolean = vec![int("to", e.writer.number_of(ElementType::Boolean)?.into())];
    if !all {
        return e.last("Cast", &[count], to_boolean);
    }
    let some = e.node("Cast", &[count], to_boolean);
    e.last("Not", &[some], vec![])
}

/// A 0 in the target either copies the size of the input or means an empty axis. The attribute `allowzero`
/// selects the meaning.
fn reshape(e: &mut Emitter, copies: bool) -> Result {
    let zeros = e.known(1).is_none_or(|sizes| sizes.contains(&0));
    let x = e.input(0)?;
    // ONNX does not allow -1 next to 0, nor -1 for empty data.
    let dims = e.node.outs().first().and_then(|out| out.fact.shape.as_static());
    if let Some(dims) = dims.filter(|dims| dims.contains(&0))
        && e.known(1).is_some_and(|sizes| sizes.contains(&-1))
    {
        let dims: Vec<i64> = dims.iter().map(|&dim| dim as i64).collect();
        let sizes = e.vector(&dims)?;
        return e.last("Reshape", &[x, sizes], vec![int("allowzero", 1)]);
    }
    let sizes = e.input_i64(1)?;
    let attrs = if copies || !zeros { vec![] } else { vec![int("allowzero", 1)] };
    e.last("Reshape", &[x, sizes], attrs)
}

/// ONNX Runtime does not support 4-bit types in Shape.
fn has_bytes(layer: &Layer) -> bool {
    !matches!(layer.element_type(0), Ok(ElementType::I4 | ElementType::U4))
}

fn shape_of(e: &mut Emitter, output_type: IndexType) -> Result {
    let x = e.input(0)?;
    match output_type {
        IndexType::I32 => {
            let shape = e.node("Shape", &[x], vec![]);
            e.last("Cast", &[shape], vec![int("to", e.writer.number_of(ElementType::I32)?.into())])
        }
        IndexType::I64 => e.last("Shape", &[x], vec![]),
    }
}

/// Does not squeeze listed axes whose size cannot be 1, because ONNX would fail. The layer ignores them.
fn squeeze(e: &mut Emitter, skips: bool) -> Result {
    let dims = e.fact(0)?.shape.dims().map(<[_]>::to_vec);
    let listed = match &dims {
        _ if skips => e.fixed(1, "the axes")?,
        Some(_) => e.known(1).unwrap_or_default(),
        None => Vec::new(),
    };
    let dims = dims.unwrap_or_default();
    let mut kept = Vec::with_capacity(listed.len());
    for &axis in &listed {
        let at = snick_ir::normalize_axis(axis, e.rank(0)?)?;
        let size = dims.get(at).map_or(Interval::DIM, |dim| e.graph.symbols().interval(dim));
        if skips && size.contains(1) && size.is_exact().is_none() {
            return Err(OpError::unsupported("allow_axis_skip of an unknown size"));
        }
        kept.extend(size.contains(1).then_some(axis));
    }
    if kept.len() < listed.len() || skips {
        let x = e.input(0)?;
        if kept.is_empty() {
            return e.last("Identity", &[x], vec![]);
        }
        let axes = e.vector(&kept)?;
        return e.last("Squeeze", &[x, axes], vec![]);
    }
    let mut inputs = vec![e.input(0)?];
    // Without axes, or with an empty list, ONNX squeezes all axes of size 1, as the layer does.
    if e.len() > 1 && e.known(1).is_none_or(|axes| !axes.is_empty()) {
        inputs.push(axes(e)?);
    }
    e.last("Squeeze", &inputs, vec![])
}

fn unsqueeze(e: &mut Emitter) -> Result {
    let (x, axes) = (e.input(0)?, axes(e)?);
    e.last("Unsqueeze", &[x, axes], vec![])
}

fn axes(e: &mut Emitter) -> Result<String, OpError> {
    match e.rank(1)? {
        0 => e.input_as_vector(1),
        _ => e.input_i64(1),
    }
}
