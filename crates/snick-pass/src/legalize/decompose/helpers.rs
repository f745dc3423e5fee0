//! Helpers shared by decompositions.

use snick_ir::ops::{Reshape, TruncatedDivide};
use snick_ir::rewrite::{Patch, RewriteResult};
use snick_ir::{OpError, Value, normalize_axis};
use snick_tensor::ElementType;

pub(super) type Result<T, E = OpError> = std::result::Result<T, E>;

/// Builds the replacement with all inputs of f16 or bf16 converted to f32.
pub(super) fn in_f32(
    p: &mut Patch,
    inputs: &[Value],
    build: impl FnOnce(&mut Patch, &[Value]) -> Result<Value>,
) -> Result<RewriteResult> {
    let own = p.element_type(p.output(0))?;
    let is_half = |element_type: ElementType| element_type.is_half();
    let mut wide = Vec::with_capacity(inputs.len());
    for &input in inputs {
        let convert = is_half(own) && is_half(p.element_type(input)?);
        wide.push(if convert { p.convert(input, ElementType::F32)? } else { input });
    }
    let y = build(p, &wide)?;
    p.convert(y, own).map(RewriteResult::one)
}

/// Whether the first input is of an integer type.
pub(super) fn is_integer(p: &Patch) -> Result<bool> {
    Ok(p.element_type(p.input(0)?)?.is_integer())
}

/// Declines a layer because `what` is only known at run time.
pub(super) fn at_run_time(what: &str) -> RewriteResult {
    RewriteResult::Declined(format!("{what} known only at run time"))
}

/// All inputs of the layer.
pub(super) fn all_inputs(p: &Patch) -> Result<Vec<Value>> {
    Ok(p.inputs_of(p.output(0))?.to_vec())
}

/// The integers of input `i`, if known.
pub(super) fn known(p: &Patch, i: usize) -> Result<Option<Vec<i64>>> {
    Ok(p.fact(p.input(i)?)?.ints().map(|ints| ints.to_vec()))
}

/// The axes that input `i` lists, in ascending order, if known.
pub(super) fn known_axes(p: &Patch, i: usize, rank: usize) -> Result<Option<Vec<usize>>> {
    let Some(axes) = known(p, i)? else { return Ok(None) };
    let mut axes = axes.iter().map(|&axis| normalize_axis(axis, rank)).collect::<Result<Vec<_>>>()?;
    axes.sort_unstable();
    axes.dedup();
    Ok(Some(axes))
}

/// The size of an axis, if known.
pub(super) fn known_size(p: &Patch, x: Value, axis: usize) -> Result<Option<i64>> {
    Ok(p.fact(x)?.shape.dims().and_then(|dims| dims.get(axis)?.as_const()))
}

/// Reshapes a vector with one number per channel to `[C, 1, ..]`, so that it broadcasts to data of this rank.
pub(super) fn per_channel(p: &mut Patch, x: Value, rank: usize) -> Result<Value> {
    let axes: Vec<i64> = (1..rank.saturating_sub(1)).map(|axis| axis as i64).collect();
    if axes.is_empty() { Ok(x) } else { p.unsqueeze(x, &axes) }
}

/// Reshapes `x` to the sizes of `like`.
pub(super) fn reshape_like(p: &mut Patch, x: Value, like: Value) -> Result<Value> {
    let sizes = match p.fact(like)?.shape.as_static() {
        Some(dims) => p.ints(&dims.iter().map(|&dim| dim as i64).collect::<Vec<_>>())?,
        None => p.shape_of(like)?,
    };
    p.reshape_to(x, sizes)
}

/// A size in the target shape of a Reshape.
#[derive(Copy, Clone)]
pub(super) enum Size {
    Known(i64),
    /// `size(axis) * times / over`, for an axis of the value before the reshape.
    Of {
        axis: usize,
        times: i64,
        over: i64,
    },
}

impl Size {
    /// The size of an axis, unchanged.
    pub(super) fn of(axis: usize) -> Self {
        Self::Of { axis, times: 1, over: 1 }
    }
}

/// Reshapes `x`. If all sizes are known, the target is a constant.
pub(super) fn reshape(p: &mut Patch, x: Value, sizes: &[Size]) -> Result<Value> {
    let mut known = Vec::with_capacity(sizes.len());
    for size in sizes {
        known.push(match *size {
            Size::Known(size) => Some(size),
            Size::Of { axis, times, over } => {
                known_size(p, x, axis)?.map(|size| size.saturating_mul(times).checked_div(over).unwrap_or(0))
            }
        });
    }
    let is_copy = |i: usize| matches!(sizes[i], Size::Of { axis, times: 1, over: 1 } if axis == i);
    let has_zero = known.contains(&Some(0));
    if !has_zero && (0..sizes.len()).all(|i| known[i].is_some() || is_copy(i)) {
        let sizes: Vec<i64> = known.into_iter().map(|size| size.unwrap_or(0)).collect();
        let sizes = p.ints(&sizes)?;
        return p.add_op(Reshape { special_zero: true }, &[x, sizes]);
    }
    let mut parts = Vec::with_capacity(sizes.len());
    for (size, known) in sizes.iter().zip(known) {
        parts.push(match (*size, known) {
            (_, Some(size)) | (Size::Known(size), _) => p.ints(&[size])?,
            (Size::Of { axis, times: factor, over }, None) => {
                let mut size = p.size_of(x, axis as i64)?;
                if factor != 1 {
                    size = p.multiply(size, factor as f64)?;
                }
                if over != 1 {
                    let over = p.int(over)?;
                    size = p.add_op(TruncatedDivide::default(), &[size, over])?;
                }
                size
            }
        });
    }
    let sizes = p.concat(0, &parts)?;
    p.reshape_to(x, sizes)
}
