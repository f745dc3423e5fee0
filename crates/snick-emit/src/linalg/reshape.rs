//! Reshapes, by groups of axes with the same number of elements.

use snick_shape::SymExpr;

use super::code::parts;
use super::lowering::{Lowering, Result, result};
use super::types::{Num, Tensor, TensorType, known_sizes};
use crate::stablehlo::hlo::{Op, ValueId};

pub(super) fn lower(l: &mut Lowering, op: &Op) -> Result<Tensor> {
    let (x, id) = (l.operand(op, 0)?, result(op)?);
    let ty = l.type_of(id);
    let sizes: Vec<Num> = match op.operands.len() {
        1 => vec![Num::Const(0); ty.rank()],
        _ => l.operand_numbers(op, 1)?,
    };
    let sizes = known_sizes(&ty, &sizes);
    if x.rank() == ty.rank() && x.sizes == sizes {
        return Ok(x);
    }
    let groups = groups(l, &x, op.operands.first().copied(), id);
    Ok(reshape(l, l.name(id), &x, &ty, &sizes, &groups))
}

/// Axes of the operand and axes of the result with the same number of elements.
type Group = (Vec<usize>, Vec<usize>);

/// Splits the axes into groups. The last group has all axes from the first one whose size has no counterpart.
fn groups(l: &Lowering, x: &Tensor, from: Option<ValueId>, to: ValueId) -> Vec<Group> {
    let values = &l.function.values;
    let (Some(from), Some(to)) = (from.and_then(|id| values.get(id)), values.get(to)) else { return vec![] };
    let dims = |dims: &[SymExpr], is_known: bool| -> Vec<Option<SymExpr>> {
        dims.iter().map(|dim| (is_known || dim.as_const().is_some()).then(|| dim.clone())).collect()
    };
    // Symbols of different graphs have nothing to do with each other.
    let same_graph = from.graph == to.graph;
    debug_assert_eq!(from.ty.rank(), x.rank());
    split(&dims(&from.ty.dims, same_graph), &dims(&to.ty.dims, same_graph))
}

/// A product of sizes: the product of the known ones, and the others in order.
#[derive(Clone, PartialEq, Default)]
struct Product {
    known: i64,
    others: Vec<SymExpr>,
}

impl Product {
    /// `None` if a size is unknown.
    fn of(dims: &[Option<SymExpr>]) -> Option<Self> {
        let mut product = Self { known: 1, others: vec![] };
        for dim in dims {
            match dim.as_ref()?.as_const() {
                Some(size) => product.known = product.known.checked_mul(size)?,
                None => product.others.push(dim.clone()?),
            }
        }
        product.others.sort();
        Some(product)
    }
}

fn split(from: &[Option<SymExpr>], to: &[Option<SymExpr>]) -> Vec<Group> {
    let mut groups: Vec<Group> = vec![];
    let (mut a, mut b) = (0, 0);
    while a < from.len() && b < to.len() {
        let found = (a + 1..=from.len()).find_map(|end_a| {
            let product = Product::of(&from[a..end_a])?;
            (b + 1..=to.len())
                .find(|&end_b| Product::of(&to[b..end_b]).as_ref() == Some(&product))
                .map(|end_b| (end_a, end_b))
        });
        let (end_a, end_b) = found.unwrap_or((from.len(), to.len()));
        groups.push(((a..end_a).collect(), (b..end_b).collect()));
        (a, b) = (end_a, end_b);
    }
    // Only axes of size 1 are left.
    match groups.last_mut() {
        Some((last_a, last_b)) => {
            last_a.extend(a..from.len());
            last_b.extend(b..to.len());
        }
        None => groups.push(((0..from.len()).collect(), (0..to.len()).collect())),
    }
    groups
}

/// Reshapes by groups: merges the axes of each, then splits them.
fn reshape(
    l: &mut Lowering,
    name: &str,
    x: &Tensor,
    ty: &TensorType,
    sizes: &[Num],
    groups: &[Group],
) -> Tensor {
    let sizes = known_sizes(ty, sizes);
    if ty.dims.contains(&Some(0)) {
        return Tensor { sizes: sizes.clone(), ..l.empty(ty, &sizes) };
    }
    let is_scalar = x.rank() == 0 || ty.rank() == 0;
    let merged = match is_scalar {
        true => collapsed_to(l, name, x, &vec![]),
        false => {
            let sides: Vec<Vec<usize>> = groups.iter().map(|(from, _)| from.clone()).collect();
            collapsed_to(l, name, x, &sides)
        }
    };
    let sides: Vec<Vec<usize>> =
        if is_scalar { vec![] } else { groups.iter().map(|(_, to)| to.clone()).collect() };
    if ty.rank() == 0 || (!is_scalar && sides.iter().all(|side| side.len() == 1)) {
        return Tensor { sizes, ..l.cast(&merged, ty) };
    }
    let all = |side: &Vec<usize>| side.iter().try_fold(1, |all, &axis| Some(all * ty.dims[axis]?));
    let narrow = ty.with_dims(sides.iter().map(all).collect());
    let merged = l.cast(&merged, &narrow);
    expanded(l, name, &merged, &sides, ty, sizes)
}

/// Splits each axis into the axes of its side.
pub(super) fn expanded(
    l: &mut Lowering,
    name: &str,
    x: &Tensor,
    sides: &[Vec<usize>],
    ty: &TensorType,
    sizes: Vec<Num>,
) -> Tensor {
    // A dynamic dim needs a value, even if its size is known.
    let dims = ty.dims.iter().zip(&sizes);
    let shape: Vec<Num> =
        dims.map(|(dim, &size)| dim.map_or_else(|| Num::Value(l.code.index(size)), Num::Const)).collect();
    let text = parts![
        "tensor.expand_shape ",
        x.value,
        format!(" {sides:?} output_shape ["),
        &shape,
        "] : ",
        &x.ty,
        " into ",
        ty
    ];
    let value = l.code.op(name, text);
    Tensor { value, ty: ty.clone(), sizes }
}

/// Merges the axes of each side; no sides make a scalar.
fn collapsed_to(l: &mut Lowering, name: &str, x: &Tensor, sides: &Vec<Vec<usize>>) -> Tensor {
    if sides.len() == x.rank() {
        return x.clone();
    }
    let x = match sides.is_empty() {
        true => l.cast(x, &x.ty.with_dims(vec![Some(1); x.rank()])),
        false => x.clone(),
    };
    let all = |side: &Vec<usize>| side.iter().try_fold(1, |all, &axis| Some(all * x.ty.dims[axis]?));
    let ty = x.ty.with_dims(sides.iter().map(all).collect());
    let mut sizes = Vec::with_capacity(sides.len());
    for side in sides {
        let own: Vec<Num> = side.iter().map(|&axis| x.sizes[axis]).collect();
        sizes.push(l.code.product(&own));
    }
    let text = parts!["tensor.collapse_shape ", x.value, format!(" {sides:?} : "), &x.ty, " into ", &ty];
    let value = l.code.op(name, text);
    Tensor::new(value, ty, &sizes)
}

/// Removes axes of size 1.
pub(super) fn without_axes(l: &mut Lowering, x: &Tensor, removed: &[usize]) -> Tensor {
    if removed.is_empty() {
        return x.clone();
    }
    let kept: Vec<usize> = (0..x.rank()).filter(|axis| !removed.contains(axis)).collect();
    let mut sides: Vec<Vec<usize>> = kept.iter().map(|&axis| vec![axis]).collect();
    // Each removed axis joins the group before it, or the first one.
    for &axis in removed {
        let before = kept.iter().take_while(|&&own| own < axis).count();
        if let Some(side) = sides.get_mut(before.saturating_sub(1)) {
            side.push(axis);
        }
    }
    sides.iter_mut().for_each(|side| side.sort_unstable());
    collapsed_to(l, "", x, &sides)
}
