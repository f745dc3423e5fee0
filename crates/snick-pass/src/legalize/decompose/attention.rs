//! ScaledDotProductAttention as matrix multiplications and a softmax.

use snick_ir::ops::MatMul;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, Value};
use snick_tensor::ElementType;

use super::helpers::{Result, known_size};

pub(crate) const RULE: Rule = Rule::exact("decompose-attention", attention).may_round_within(1e-5, 0.0);

/// Computes `softmax(query * scale * key^T + mask) * value`. A sink adds a score to each row before the
/// softmax; its column is dropped afterwards.
fn attention(p: &mut Patch) -> Result<RewriteResult> {
    let Op::ScaledDotProductAttention(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let (query, key, value) = (p.input(0)?, p.input(1)?, p.input(2)?);
    let scaled = scaled(p, query)?;
    let mut scores = p.add_op(MatMul { transpose_a: false, transpose_b: true }, &[scaled, key])?;
    let never = p.scalar_like(scores, f64::NEG_INFINITY)?;
    if op.causal {
        // Causal mask: query `i` attends to the keys up to key `i`.
        let (rows, keys) = (count(p, query, -2)?, count(p, key, -2)?);
        let rows = p.unsqueeze(rows, &[-1])?;
        let is_seen = p.less_equal(keys, rows)?;
        scores = p.select(is_seen, scores, never)?;
    } else if let Some(mask) = p.try_input(3) {
        if p.element_type(mask)? == ElementType::Boolean {
            scores = p.select(mask, scores, never)?;
        } else if p.rank(mask)? > 0 {
            // A scalar mask means no mask.
            scores = p.add(scores, mask)?;
        }
    }
    let shares = match p.try_input(5) {
        None => p.softmax(scores, -1)?,
        Some(sink) => {
            let column = sink_column(p, sink, scores)?;
            let scores = p.concat(-1, &[scores, column])?;
            let shares = p.softmax(scores, -1)?;
            p.slice_range(shares, -1, 0, -1)?
        }
    };
    p.matmul(shares, value).map(RewriteResult::one)
}

/// The sink as a column, with an element for each row of the scores.
fn sink_column(p: &mut Patch, sink: Value, scores: Value) -> Result<Value> {
    let sizes = p.shape_of(scores)?;
    let rows = p.slice_range(sizes, 0, 0, -1)?;
    let one = p.ints(&[1])?;
    let sizes = p.concat(0, &[rows, one])?;
    p.broadcast_to(sink, sizes)
}

/// Multiplies the query by the scale. The default scale is the inverse square root of the depth of the query;
/// for half floats, the multiplication is then done in f32, so that the scale is not rounded to half
/// precision.
fn scaled(p: &mut Patch, query: Value) -> Result<Value> {
    let own = p.element_type(query)?;
    if let Some(scale) = p.try_input(4) {
        let scale = p.convert(scale, own)?;
        return p.multiply(query, scale);
    }
    let wide = if own.is_half() { ElementType::F32 } else { own };
    let converted = p.convert(query, wide)?;
    let scaled = match known_size(p, query, p.rank(query)?.saturating_sub(1))? {
        Some(depth) => p.multiply(converted, 1.0 / (depth.max(1) as f64).sqrt())?,
        None => {
            let depth = p.size_of(query, -1)?;
            let depth = p.convert(depth, wide)?;
            let root = p.sqrt(depth)?;
            p.divide(converted, root)?
        }
    };
    p.convert(scaled, own)
}

/// The integers `0, 1, ..` up to the size of an axis.
fn count(p: &mut Patch, x: Value, axis: i64) -> Result<Value> {
    let size = p.size_of(x, axis)?;
    let (size, zero, one) = (p.squeeze(size, &[0])?, p.int(0)?, p.int(1)?);
    p.range(zero, size, one, ElementType::I64)
}
