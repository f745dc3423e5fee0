//! Convolutions.

use super::code::parts;
use super::generic::{Access, Space};
use super::lowering::{Lowering, Result, result};
use super::movement::padded;
use super::numbers::{reach, used_padding};
use super::reshape::{expanded, without_axes};
use super::scalar::{combine, select};
use super::types::{Num, Tensor, TensorType, malformed};
use crate::stablehlo::hlo::{Convolution, Op, ValueId};

pub(super) fn lower(l: &mut Lowering, op: &Op, convolution: &Convolution) -> Result<Tensor> {
    let (x, filters, id) = (l.operand(op, 0)?, l.operand(op, 1)?, result(op)?);
    if x.rank() != convolution.strides.len() + 2 || filters.rank() != x.rank() {
        return Err(malformed("a convolution"));
    }
    let mut reaches = Vec::with_capacity(convolution.strides.len());
    for (i, &dilation) in convolution.rhs_dilation.iter().enumerate() {
        let kernel = filters.sizes[i + 2].as_const().and_then(|size| usize::try_from(size).ok());
        reaches.push(reach(kernel.ok_or_else(|| malformed("a convolution"))?, dilation)?);
    }
    let x = prepared(l, &x, convolution, &reaches)?;
    let mut sizes = vec![x.sizes[0], filters.sizes[0]];
    for (i, &stride) in convolution.strides.iter().enumerate() {
        sizes.push(l.code.windows(x.sizes[i + 2], reaches[i], stride as i64));
    }
    let ty = l.type_of(id);
    match (convolution.groups, filters.ty.dims[0], filters.ty.dims[1], x.rank()) {
        (1, .., 3..=5) => {
            let name = ["conv_1d_ncw_fcw", "conv_2d_nchw_fchw", "conv_3d_ncdhw_fcdhw"][x.rank() - 3];
            Ok(named(l, name, id, [&x, &filters], convolution, &ty, &sizes))
        }
        (groups, Some(outputs), Some(1), 3..=5) if i64::try_from(groups) == Ok(outputs) => {
            let names =
                ["depthwise_conv_1d_ncw_cw", "depthwise_conv_2d_nchw_chw", "depthwise_conv_3d_ncdhw_cdhw"];
            let filters = without_axes(l, &filters, &[1]);
            Ok(named(l, names[x.rank() - 3], id, [&x, &filters], convolution, &ty, &sizes))
        }
        _ => grouped(l, id, &x, &filters, convolution, &ty, &sizes),
    }
}

/// The data with zeros between its elements and around them.
fn prepared(l: &mut Lowering, x: &Tensor, convolution: &Convolution, reaches: &[i64]) -> Result<Tensor> {
    let zero = l.scalar_constant(0.0, x.ty.element);
    let mut x = x.clone();
    if convolution.lhs_dilation.iter().any(|&dilation| dilation > 1) {
        x = dilated(l, &x, &convolution.lhs_dilation)?;
    }
    let (mut low, mut high) = (vec![Num::Const(0); 2], vec![Num::Const(0); 2]);
    for (i, &pads) in convolution.padding.iter().enumerate() {
        let own = used_padding(x.sizes[i + 2], pads, reaches[i], convolution.strides[i] as i64);
        low.push(Num::Const(own[0]));
        high.push(Num::Const(own[1]));
    }
    padded(l, "", &x, zero, &low, &high)
}

/// Inserts zeros between the elements. Selects by position, because IREE 3.13 miscompiles
/// `tensor.insert_slice` with steps.
fn dilated(l: &mut Lowering, x: &Tensor, dilations: &[usize]) -> Result<Tensor> {
    let steps: Vec<Num> = [1, 1].iter().chain(dilations).map(|&step| Num::Const(step as i64)).collect();
    let mut sizes = Vec::with_capacity(x.rank());
    for (&size, &step) in x.sizes.iter().zip(&steps) {
        let gaps = l.code.subtract(size, Num::Const(1));
        let gaps = l.code.multiply(gaps, step);
        let size = l.code.add(gaps, Num::Const(1));
        sizes.push(l.code.maximum(size, Num::Const(0)));
    }
    let ty = x.ty.with_dims(sizes.iter().map(|size| size.as_const()).collect());
    l.map("", &[], &ty, &sizes, |l, _| {
        let (mut at, mut gap) = (Vec::with_capacity(x.rank()), Num::Const(0));
        for (axis, &step) in steps.iter().enumerate() {
            let place = l.coordinate(axis);
            at.push(l.code.divide(place, step));
            let rest = l.code.remainder(place, step);
            gap = l.code.add(gap, rest);
        }
        let element = l.code.element(x, &at);
        let is_element = l.code.compare("eq", gap, Num::Const(0));
        let zero = l.scalar_constant(0.0, x.ty.element);
        Ok(select(l, is_element, element, zero, x.ty.element))
    })
}

/// `{dilations = dense<[1, 1]> : tensor<2xi64>, strides = dense<[2, 2]> : tensor<2xi64>}`
pub(super) fn steps(dilations: &[usize], strides: &[usize]) -> String {
    let rank = strides.len();
    format!(
        "{{dilations = dense<{dilations:?}> : tensor<{rank}xi64>, strides = dense<{strides:?}> : tensor<{rank}xi64>}}"
    )
}

fn named(
    l: &mut Lowering,
    name: &str,
    id: ValueId,
    [x, filters]: [&Tensor; 2],
    convolution: &Convolution,
    ty: &TensorType,
    sizes: &[Num],
) -> Tensor {
    let zero = l.scalar_constant(0.0, ty.element);
    let start = l.filled(zero, ty, sizes);
    let text = parts![
        format!("linalg.{name} {} ins(", steps(&convolution.rhs_dilation, &convolution.strides)),
        x.value,
        ", ",
        filters.value,
        " : ",
        &x.ty,
        ", ",
        &filters.ty,
        ") outs(",
        start.value,
        " : ",
        ty,
        ") -> ",
        ty
    ];
    let value = l.code.op(l.name(id), text);
    Tensor { value, ..start }
}

/// A convolution in groups of channels: the channels are split into groups, and the groups are merged again.
fn grouped(
    l: &mut Lowering,
    id: ValueId,
    x: &Tensor,
    filters: &Tensor,
    convolution: &Convolution,
    ty: &TensorType,
    sizes: &[Num],
) -> Result<Tensor> {
    let (groups, spatial) = (convolution.groups.max(1) as i64, convolution.strides.len());
    let x = split(l, x, 1, groups)?;
    let filters = split(l, filters, 0, groups)?;
    let out_of_group =
        ty.dims[1].map(|outputs| outputs / groups).ok_or_else(|| malformed("a convolution"))?;
    let dims = [&[ty.dims[0], Some(groups), Some(out_of_group)], &ty.dims[2..]].concat();
    let own = [&[sizes[0], Num::Const(groups), Num::Const(out_of_group)], &sizes[2..]].concat();
    let zero = l.scalar_constant(0.0, ty.element);
    let start = l.filled(zero, &ty.with_dims(dims), &own);
    // The coordinates are batch, group, filter, positions, channel, and positions in the window.
    let rank = start.rank();
    let at_window = (0..spatial).map(|i| {
        let (stride, dilation) = (convolution.strides[i], convolution.rhs_dilation[i]);
        format!("d{} * {stride} + d{} * {dilation}", 3 + i, rank + 1 + i)
    });
    let channel = format!("d{rank}");
    let at = ["d0".to_string(), "d1".to_string(), channel.clone()].into_iter().chain(at_window).collect();
    let of_filters = ["d1".to_string(), "d2".to_string(), channel].into_iter();
    let of_filters = of_filters.chain((0..spatial).map(|i| format!("d{}", rank + 1 + i))).collect();
    let inputs = [Access { tensor: x, at }, Access { tensor: filters, at: of_filters }];
    let space = Space { rank: rank + 1 + spatial, reduced: 1 + spatial };
    let y = l.generic("", &space, &inputs, &Access::same(&start), |l, values| {
        let &[x, w, sum] = values else { return Err(malformed("a convolution")) };
        let product = combine(l, "multiply", [x, w], ty.element)?;
        combine(l, "add", [sum, product], ty.element)
    })?;
    let groups: Vec<Vec<usize>> =
        std::iter::once(vec![0]).chain([vec![1, 2]]).chain((3..rank).map(|axis| vec![axis])).collect();
    let text = parts!["tensor.collapse_shape ", y.value, format!(" {groups:?} : "), &y.ty, " into ", ty];
    let value = l.code.op(l.name(id), text);
    Ok(Tensor::new(value, ty.clone(), sizes))
}

/// Splits an axis into groups.
fn split(l: &mut Lowering, x: &Tensor, axis: usize, groups: i64) -> Result<Tensor> {
    let size = x.ty.dims[axis].ok_or_else(|| malformed("a convolution"))? / groups;
    let (mut dims, mut sizes) = (x.ty.dims.clone(), x.sizes.clone());
    dims[axis] = Some(size);
    dims.insert(axis, Some(groups));
    sizes[axis] = Num::Const(size);
    sizes.insert(axis, Num::Const(groups));
    let ty = x.ty.with_dims(dims);
    let mut sides: Vec<Vec<usize>> = (0..axis).map(|axis| vec![axis]).collect();
    sides.push(vec![axis, axis + 1]);
    sides.extend((axis + 2..ty.rank()).map(|axis| vec![axis]));
    Ok(expanded(l, "", x, &sides, &ty, sizes))
}
