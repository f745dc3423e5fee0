//! Edits that make the shapes of Parameters and constants smaller.

use std::collections::BTreeSet;
use std::sync::Arc;

use snick_ir::ops::source::constant::Constant;
use snick_ir::{Graph, NodeId, Op};
use snick_shape::{DimSpec, Interval, ShapeSpec};
use snick_tensor::Tensor;

use super::edit::Edit;

/// Replaces a size wherever it occurs, because equal sizes often must stay equal.
pub(super) fn common_sizes(graph: &Graph) -> Vec<Vec<Edit>> {
    let mut sizes = BTreeSet::new();
    for id in graph.ids() {
        match graph.node(id).op() {
            Op::Parameter(parameter) => sizes.extend(dims(&parameter.shape).iter().filter_map(exact)),
            Op::Const(constant) => sizes.extend(constant.dims().iter().map(|&dim| dim as i64)),
            _ => {}
        }
    }
    let sizes = sizes.into_iter().rev().filter(|&size| size > 1);
    sizes.flat_map(|size| smaller(size).map(move |to| resized(graph, size, to))).collect()
}

/// Smaller sizes to try.
fn smaller(size: i64) -> impl Iterator<Item = i64> {
    let sizes: BTreeSet<i64> =
        [1, 2, 3, size / 2].into_iter().filter(|&to| (1..size).contains(&to)).collect();
    sizes.into_iter()
}

fn resized(graph: &Graph, from: i64, to: i64) -> Vec<Edit> {
    let edit = |id: NodeId| match graph.node(id).op() {
        Op::Parameter(parameter) => {
            let shape = dims(&parameter.shape);
            let resized =
                shape.iter().map(|dim| if exact(dim) == Some(from) { sized(to) } else { dim.clone() });
            let resized: Vec<DimSpec> = resized.collect();
            (resized != shape).then(|| Edit::Shape(id, ShapeSpec::Dims(resized)))
        }
        Op::Const(Constant::Here(tensor)) => {
            let axes = tensor.dims().iter().enumerate().filter(|(_, dim)| **dim as i64 == from);
            let cut = { axes }.try_fold(Tensor::clone(tensor), |cut, (axis, _)| {
                cut.slice(axis, 0, usize::try_from(to).ok()?, 1).ok()
            });
            cut.filter(|cut| cut.dims() != tensor.dims()).map(|cut| constant(id, &cut))
        }
        _ => None,
    };
    graph.ids().filter_map(edit).collect()
}

/// Replaces the size of one axis of one Parameter or constant, or removes the axis.
pub(super) fn single_sizes(graph: &Graph) -> Vec<Vec<Edit>> {
    let mut edits = Vec::new();
    for id in graph.ids() {
        match graph.node(id).op() {
            Op::Parameter(parameter) => {
                edits.extend(shapes(&parameter.shape).map(|shape| Edit::Shape(id, shape)))
            }
            Op::Const(Constant::Here(tensor)) => {
                edits.extend(parts(tensor).iter().map(|part| constant(id, part)));
            }
            _ => {}
        }
    }
    edits.into_iter().map(|edit| vec![edit]).collect()
}

/// Smaller shapes: shapes with fewer axes, with smaller sizes, or with static instead of dynamic sizes.
fn shapes(shape: &ShapeSpec) -> impl Iterator<Item = ShapeSpec> {
    /// The ranks to try for an unknown rank are below this number.
    const MAX_RANK: usize = 5;
    let dims = dims(shape).to_vec();
    let ranks = match shape {
        ShapeSpec::Unranked => 0..MAX_RANK,
        ShapeSpec::Dims(_) => 0..0,
    };
    let ranked = ranks.map(|rank| vec![sized(1); rank]);
    let fewer: Vec<_> = (0..dims.len()).map(|axis| [&dims[..axis], &dims[axis + 1..]].concat()).collect();
    let mut others = Vec::new();
    for axis in 0..dims.len() {
        let sizes: Vec<i64> = match exact(&dims[axis]) {
            Some(size) => smaller(size).collect(),
            None => {
                let lo = match &dims[axis] {
                    DimSpec::Interval(interval) | DimSpec::Symbol { interval, .. } => interval.lo(),
                    _ => 1,
                };
                BTreeSet::from([1, 2, lo.max(1)]).into_iter().collect()
            }
        };
        others.extend(sizes.into_iter().map(|size| {
            let mut dims = dims.clone();
            dims[axis] = sized(size);
            dims
        }));
    }
    ranked.chain(fewer).chain(others).map(ShapeSpec::Dims)
}

/// Smaller variants of a constant: one axis shortened, or an axis of size 1 removed.
fn parts(tensor: &Tensor) -> Vec<Tensor> {
    let axes = 0..tensor.rank();
    let parts = axes.flat_map(|axis| {
        let size = tensor.dims()[axis];
        let squeezed = tensor.squeeze(axis).ok();
        let sizes =
            smaller(i64::try_from(size).unwrap_or(i64::MAX)).filter_map(|to| usize::try_from(to).ok());
        squeezed.into_iter().chain(sizes.filter_map(move |to| tensor.slice(axis, 0, to, 1).ok()))
    });
    parts.collect()
}

fn constant(id: NodeId, tensor: &Tensor) -> Edit {
    Edit::Op(id, Box::new(Op::from(Constant::new(Arc::new(tensor.contiguous())))))
}

fn dims(shape: &ShapeSpec) -> &[DimSpec] {
    match shape {
        ShapeSpec::Unranked => &[],
        ShapeSpec::Dims(dims) => dims,
    }
}

fn exact(dim: &DimSpec) -> Option<i64> {
    match dim {
        DimSpec::Interval(interval) => interval.is_exact(),
        _ => None,
    }
}

fn sized(size: i64) -> DimSpec {
    DimSpec::Interval(Interval::exact(size))
}
