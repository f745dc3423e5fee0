//! ScaledDotProductAttention, by its products and its softmax.

use snick_ir::OpError;
use snick_tensor::ElementType;

use super::emitter::{Emitter, Result, int, ints};
use super::table::EmitRule::{self, Custom};

pub(super) const RULES: &[(&str, EmitRule)] = &[("ScaledDotProductAttention", Custom(attention))];

/// `softmax(query * scale * key^T + mask) * value`.
fn attention(e: &mut Emitter) -> Result {
    let (query, key, value) = (e.input(0)?, e.input(1)?, e.input(2)?);
    let (real, rank) = (e.element_type(0)?, e.rank(1)?);
    let scale = match e.len() {
        5.. => e.input(4)?,
        _ => {
            let depth = e.size(&query, -1)?;
            let depth = e.cast(depth, ElementType::I64, real)?;
            let root = e.node("Sqrt", &[depth], vec![]);
            e.node("Reciprocal", &[root], vec![])
        }
    };
    let query = e.node("Mul", &[query, scale], vec![]);
    let mut order: Vec<i64> = (0..rank as i64).collect();
    order.swap(rank.saturating_sub(2), rank.saturating_sub(1));
    let key = e.node("Transpose", &[key], vec![ints("perm", order)]);
    let mut scores = e.node("MatMul", &[query, key], vec![]);
    let low = e.number(real, f64::NEG_INFINITY)?;
    if e.flag("causal")? {
        let (rows, keys) = (count(e, &scores, -2)?, count(e, &scores, -1)?);
        let rows = e.unsqueezed(&rows, &[-1])?;
        let seen = e.node("LessOrEqual", &[keys, rows], vec![]);
        scores = e.node("Where", &[seen, scores, low], vec![]);
    } else if e.len() > 3 {
        let (mask, boolean) = (e.input(3)?, e.element_type(3)? == ElementType::Boolean);
        if boolean {
            scores = e.node("Where", &[mask, scores, low], vec![]);
        } else if e.rank(3)? > 0 {
            scores = e.node("Add", &[scores, mask], vec![]);
        }
    }
    let shares = e.node("Softmax", &[scores], vec![int("axis", -1)]);
    e.last("MatMul", &[shares, value], vec![])
}

/// `0, 1, ..` up to the size of an axis.
fn count(e: &mut Emitter, value: &str, axis: i64) -> Result<String, OpError> {
    let (shape, axis) = (e.shape(value), e.index(axis)?);
    let size = e.node("Gather", &[shape, axis], vec![]);
    let (zero, unit) = (e.index(0)?, e.index(1)?);
    Ok(e.node("Range", &[zero, size, unit], vec![]))
}
