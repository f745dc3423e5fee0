//! Element-wise operations. Elements that are equal everywhere are constants of the body.

use snick_ir::OpError;
use snick_tensor::ElementType;

use super::generic::Access;
use super::lowering::{Lowering, Result, result};
use super::scalar;
use super::types::{Tensor, Value, malformed};
use crate::stablehlo::hlo::{Op, OpKind, Region, ValueId};

pub(super) fn lower(l: &mut Lowering, op: &Op) -> Result<Tensor> {
    let id = result(op)?;
    let ty = l.type_of(id);
    let mut elements: Vec<Option<String>> = Vec::with_capacity(op.operands.len());
    let mut inputs = Vec::new();
    let mut sizes = None;
    for &operand in &op.operands {
        let uniform = l.uniform.get(&operand).cloned();
        // Dynamic sizes are read from an operand, so at least one of them must stay a tensor.
        if uniform.is_some() && (sizes.is_some() || ty.dims.iter().all(Option::is_some)) {
            elements.push(uniform);
            continue;
        }
        let x = l.tensor(operand)?;
        if x.rank() == ty.rank() {
            sizes.get_or_insert_with(|| x.sizes.clone());
        }
        elements.push(uniform);
        if elements.last().is_some_and(Option::is_none) {
            let axes = if x.rank() == ty.rank() { ty.rank() } else { 0 };
            inputs.push(Access::axes(&x, 0..axes));
        }
    }
    let sizes = sizes.unwrap_or_else(|| vec![super::types::Num::Const(0); ty.rank()]);
    let types: Vec<ElementType> = op.operands.iter().map(|&operand| l.type_of(operand).element).collect();
    l.map(l.name(id), &inputs, &ty, &sizes, |l, values| {
        let mut values = values.iter().copied();
        let mut operands = Vec::with_capacity(elements.len());
        for (uniform, &element) in elements.iter().zip(&types) {
            operands.push(match uniform {
                Some(literal) => l.literal(literal, element),
                None => values.next().ok_or(OpError::NotConnected { port: 0 })?,
            });
        }
        element(l, &op.kind, &operands, &types, ty.element)
    })
}

/// One element of the result of an element-wise operation.
fn element(
    l: &mut Lowering,
    kind: &OpKind,
    x: &[Value],
    types: &[ElementType],
    to: ElementType,
) -> Result<Value> {
    let from = types.first().copied().unwrap_or(to);
    match (kind, x) {
        (OpKind::Elementwise("clamp") | OpKind::Mixed("clamp"), &[low, x, high]) => {
            let raised = scalar::combine(l, "maximum", [x, low], to)?;
            scalar::combine(l, "minimum", [raised, high], to)
        }
        (OpKind::Elementwise(name), &[x]) => scalar::unary(l, name, x, to),
        (OpKind::Elementwise(name), &[a, b]) => scalar::combine(l, name, [a, b], to),
        (OpKind::Mixed("convert"), &[x]) => scalar::convert(l, x, from, to),
        (OpKind::Mixed("is_finite"), &[x]) => scalar::is_finite(l, x, from),
        (OpKind::Compare(direction), &[a, b]) => scalar::compare(l, direction, [a, b], from),
        (OpKind::Select, &[condition, yes, no]) => Ok(scalar::select(l, condition, yes, no, to)),
        _ => Err(malformed(kind.name())),
    }
}

/// Computes a region on scalars, such as the comparison of a sort, in the body of a generic operation.
pub(super) fn inline(l: &mut Lowering, region: &Region, arguments: &[Value]) -> Result<Value> {
    let mut values: Vec<(ValueId, Value)> =
        region.arguments.iter().copied().zip(arguments.iter().copied()).collect();
    let find = |values: &[(ValueId, Value)], id: ValueId| {
        let value = values.iter().find(|(known, _)| *known == id).map(|&(_, value)| value);
        value.ok_or_else(|| malformed("a region"))
    };
    for op in &region.ops {
        let id = result(op)?;
        let operands = op.operands.iter().map(|&id| find(&values, id)).collect::<Result<Vec<_>>>()?;
        let types: Vec<ElementType> = op.operands.iter().map(|&id| l.type_of(id).element).collect();
        let value = element(l, &op.kind, &operands, &types, l.type_of(id).element)?;
        values.push((id, value));
    }
    match region.results.as_slice() {
        &[id] => find(&values, id),
        _ => Err(malformed("a region")),
    }
}
