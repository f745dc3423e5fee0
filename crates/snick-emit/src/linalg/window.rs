//! Reductions of windows, such as pooling and cumulative sums.

use super::code::parts;
use super::convolution::steps;
use super::elementwise::inline;
use super::generic::{Access, Space};
use super::lowering::{Lowering, Result, result};
use super::movement::padded;
use super::numbers::{reach, used_padding};
use super::types::{Num, Tensor, TensorType, Value, malformed};
use crate::stablehlo::hlo::{Op, OpKind, Region, Window};

pub(super) fn lower(l: &mut Lowering, op: &Op, window: &Window) -> Result<Tensor> {
    if let Some(counts) = counts(l, op, window)? {
        return Ok(counts);
    }
    let (x, id) = (l.operand(op, 0)?, result(op)?);
    let start = l.scalar(*op.operands.get(1).ok_or_else(|| malformed("a window"))?)?;
    let region = op.regions.first().ok_or_else(|| malformed("a window"))?;
    let (mut low, mut high, mut reaches) = (vec![], vec![], vec![]);
    for axis in 0..x.rank() {
        let reach = reach(window.sizes[axis], window.dilations[axis])?;
        let own = used_padding(x.sizes[axis], window.padding[axis], reach, window.strides[axis] as i64);
        low.push(Num::Const(own[0]));
        high.push(Num::Const(own[1]));
        reaches.push(reach);
    }
    let x = padded(l, "", &x, start, &low, &high)?;
    let ty = l.type_of(id);
    let mut sizes = Vec::with_capacity(x.rank());
    for (axis, &reach) in reaches.iter().enumerate() {
        sizes.push(l.code.windows(x.sizes[axis], reach, window.strides[axis] as i64));
    }
    let out = l.filled(start, &ty, &sizes);
    if let Some(name) = named(&x, window, region) {
        return Ok(pool(l, name, l.name(id), &x, &out, window));
    }
    // Only axes with a window of several elements are reduced.
    let axes: Vec<usize> = (0..x.rank()).filter(|&axis| window.sizes[axis] != 1).collect();
    let at = (0..x.rank()).map(|axis| {
        let stride = window.strides[axis];
        match axes.iter().position(|&own| own == axis) {
            Some(place) => format!("d{axis} * {stride} + d{} * {}", x.rank() + place, window.dilations[axis]),
            None => format!("d{axis} * {stride}"),
        }
    });
    let at = at.collect();
    let shape = frame(l, &ty, axes.iter().map(|&axis| window.sizes[axis]));
    let places = (0..axes.len()).map(|place| format!("d{}", x.rank() + place)).collect();
    let inputs = [Access { tensor: x.clone(), at }, Access { tensor: shape, at: places }];
    let space = Space { rank: x.rank() + axes.len(), reduced: axes.len() };
    l.generic(l.name(id), &space, &inputs, &Access::same(&out), |l, values: &[Value]| {
        let &[x, _, all] = values else { return Err(malformed("a window")) };
        inline(l, region, &[all, x])
    })
}

/// The sum of ones in each window, as the divisor of a mean: the number of elements, without padding. Not by
/// pooling, because IREE 3.13 miscompiles a pooled constant next to pooled data.
fn counts(l: &mut Lowering, op: &Op, window: &Window) -> Result<Option<Tensor>> {
    let id = result(op)?;
    let ty = l.type_of(id);
    let is_one = |l: &Lowering, i: usize, one: f64| {
        let literal = op.operands.get(i).and_then(|x| l.uniform.get(x));
        literal.is_some_and(|literal| literal.parse() == Ok(one))
    };
    let adds = op.regions.first().is_some_and(
        |region| matches!(region.ops.as_slice(), [op] if matches!(op.kind, OpKind::Elementwise("add"))),
    );
    if !adds || !ty.element.is_float() || !is_one(l, 0, 1.0) || !is_one(l, 1, 0.0) {
        return Ok(None);
    }
    let x = l.operand(op, 0)?;
    let mut sizes = Vec::with_capacity(x.rank());
    for axis in 0..x.rank() {
        let padding = window.padding[axis][0].saturating_add(window.padding[axis][1]);
        let padded = l.code.add(x.sizes[axis], Num::Const(padding));
        let reach = reach(window.sizes[axis], window.dilations[axis])?;
        sizes.push(l.code.windows(padded, reach, window.strides[axis] as i64));
    }
    if window.padding.iter().all(|pads| *pads == [0, 0]) {
        let count: f64 = window.sizes.iter().map(|&size| size as f64).product();
        let count = l.scalar_constant(count, ty.element);
        return Ok(Some(l.filled(count, &ty, &sizes)));
    }
    let counts = l.map(l.name(id), &[], &ty, &sizes, |l, _| {
        let mut count = Num::Const(1);
        for axis in (0..x.rank()).filter(|&axis| window.sizes[axis] != 1 || window.padding[axis] != [0, 0]) {
            let own = taps(l, window, axis, x.sizes[axis]);
            count = l.code.multiply(count, own);
        }
        let count = l.code.scalar_of(count, "i64");
        Ok(l.code.op("", parts!["arith.sitofp ", count, format!(" : i64 to {}", ty.scalar())]))
    })?;
    Ok(Some(counts))
}

/// The number of elements of a window that lie within an axis of this size.
fn taps(l: &mut Lowering, window: &Window, axis: usize, size: Num) -> Num {
    let step = Num::Const(window.dilations[axis] as i64);
    let place = l.coordinate(axis);
    let start = l.code.multiply(place, Num::Const(window.strides[axis] as i64));
    let start = l.code.subtract(start, Num::Const(window.padding[axis][0]));
    // The number of steps that a distance needs, rounded up.
    let steps = |l: &mut Lowering, distance: Num| {
        let distance = l.code.maximum(distance, Num::Const(0));
        let reach = l.code.add(distance, step);
        let reach = l.code.subtract(reach, Num::Const(1));
        l.code.divide(reach, step)
    };
    let before = l.code.subtract(Num::Const(0), start);
    let first = steps(l, before);
    let behind = l.code.subtract(size, start);
    let end = steps(l, behind);
    let end = l.code.minimum(end, Num::Const(window.sizes[axis] as i64));
    let count = l.code.subtract(end, first);
    l.code.maximum(count, Num::Const(0))
}

/// A tensor of the shape of the window, without defined elements.
fn frame(l: &mut Lowering, ty: &TensorType, sizes: impl Iterator<Item = usize>) -> Tensor {
    let dims = ty.with_dims(sizes.map(|size| Some(size as i64)).collect());
    let sizes = vec![Num::Const(0); dims.rank()];
    l.empty(&dims, &sizes)
}

/// The named operation for a pooling of images, if there is one.
fn named(x: &Tensor, window: &Window, region: &Region) -> Option<&'static str> {
    let [op] = region.ops.as_slice() else { return None };
    let is_pool = x.rank() == 4
        && x.ty.element.is_float()
        && window.sizes[..2] == [1, 1]
        && window.strides[..2] == [1, 1];
    match op.kind {
        OpKind::Elementwise("maximum") if is_pool => Some("linalg.pooling_nchw_max"),
        OpKind::Elementwise("add") if is_pool => Some("linalg.pooling_nchw_sum"),
        _ => None,
    }
}

fn pool(l: &mut Lowering, op: &str, name: &str, x: &Tensor, out: &Tensor, window: &Window) -> Tensor {
    let shape = frame(l, &x.ty, window.sizes[2..].iter().copied());
    let attributes = steps(&window.dilations[2..], &window.strides[2..]);
    let text = parts![
        format!("{op} {attributes} ins("),
        x.value,
        ", ",
        shape.value,
        " : ",
        &x.ty,
        ", ",
        &shape.ty,
        ") outs(",
        out.value,
        " : ",
        &out.ty,
        ") -> ",
        &out.ty
    ];
    let value = l.code.op(name, text);
    Tensor { value, ..out.clone() }
}
