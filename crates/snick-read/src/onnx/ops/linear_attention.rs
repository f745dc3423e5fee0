//! Attention without a softmax: a state of keys times values that goes from token to token.

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::attention::heads_apart;
use super::{ImportEntry, many};
use crate::onnx::builder::{NodeBuilder, Result};
use crate::onnx::stepped::{Step, Stepped};

pub(super) const ENTRIES: &[ImportEntry] = &[many("LinearAttention", &[27], linear_attention)];

/// Inputs: queries, keys, values `[batch, length, heads * size]`, the state `[batch, heads, size, size of a value]`,
/// decay and rate of the update. All is computed in f32.
fn linear_attention(b: &mut NodeBuilder) -> Result<Vec<Value>, OpError> {
    let heads = |b: &NodeBuilder, name: &'static str| {
        b.attrs.int(name)?.filter(|&heads| heads > 0).ok_or(OpError::MissingAttribute { name })
    };
    let (q_heads, kv_heads) = (heads(b, "q_num_heads")?, heads(b, "kv_num_heads")?);
    b.int("chunk_size", 64)?;
    let (decays, corrects) = match b.text("update_rule", "gated_delta")? {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        _ => return Err(b.attrs.bad("update_rule", "linear, gated, delta or gated_delta")),
    };
    let x = b.input(0)?;
    let element_type = b.element_type(x)?;
    let apart = |b: &mut NodeBuilder, input: usize| {
        let value = b.input(input)?;
        let value = b.convert(value, ElementType::F32)?;
        heads_apart(b, value, kv_heads)
    };
    // Queries that share a head of keys stand together: [batch, heads, length, group, size].
    let q = b.convert(x, ElementType::F32)?;
    let sizes = b.vector(&[0, 0, kv_heads, q_heads / kv_heads, -1])?;
    let q = b.reshape_to(q, sizes)?;
    let q = b.transposed(q, &[0, 2, 1, 3, 4])?;
    let (k, v) = (apart(b, 1)?, apart(b, 2)?);
    let mut parts = vec![q, k, v];
    if decays {
        parts.push(apart(b, 4)?);
    }
    if corrects {
        // One rate for each head, or one for all.
        let rate = b.input(5)?;
        let rate = b.convert(rate, ElementType::F32)?;
        let rate = b.unsqueeze(rate, &[-1])?;
        parts.push(b.transposed(rate, &[0, 2, 1, 3])?);
    }
    let state = match b.optional(3) {
        Some(state) => b.convert(state, ElementType::F32)?,
        None => {
            let (batch, heads) = (b.size(q, 0)?, b.vector(&[kv_heads])?);
            let (rows, columns) = (b.size(k, -1)?, b.size(v, -1)?);
            let (zero, sizes) = (b.number(ElementType::F32, 0.0)?, b.join(&[batch, heads, rows, columns])?);
            b.filled(zero, sizes)?
        }
    };
    let stepped = Stepped { parts: &parts, axis: 2, reverse: false, states: &[state], fixed: &[] };
    let Step { states, made } = stepped.build(b, |b, parts, states, _| {
        let (query, key, mut value) = (b.squeeze(parts[0], &[2])?, parts[1], parts[2]);
        let mut state = states[0];
        if decays {
            let factor = b.plain("Exp", &[parts[3]])?;
            let factor = b.transposed(factor, &[0, 1, 3, 2])?;
            state = b.plain("Multiply", &[state, factor])?;
        }
        if corrects {
            let held = b.plain("MatMul", &[key, state])?;
            let wrong = b.plain("Subtract", &[value, held])?;
            let rate = parts[if decays { 4 } else { 3 }];
            value = b.plain("Multiply", &[wrong, rate])?;
        }
        let added = b.make("MatMul", Attrs::new().with("transpose_a", true), &[key, value])?;
        let state = b.plain("Add", &[state, added])?;
        let seen = b.plain("MatMul", &[query, state])?;
        Ok(Step { states: vec![state], made: vec![b.unsqueeze(seen, &[2])?] })
    })?;
    let scale = scale(b, q)?;
    let y = b.plain("Multiply", &[made[0], scale])?;
    let y = b.transposed(y, &[0, 2, 1, 3, 4])?;
    let sizes = b.vector(&[0, 0, -1])?;
    let y = b.reshape_to(y, sizes)?;
    let state_type = match b.optional(3) {
        Some(state) => b.element_type(state)?,
        None => element_type,
    };
    Ok(vec![b.convert(y, element_type)?, b.convert(states[0], state_type)?])
}

/// That of the node; 0 stands for the inverse of the root of the size of a query.
fn scale(b: &mut NodeBuilder, q: Value) -> Result {
    match b.float("scale", 0.0)? {
        0.0 => {
            let size = b.size(q, -1)?;
            let (size, power) = (b.convert(size, ElementType::F32)?, b.number(ElementType::F32, -0.5)?);
            b.plain("Power", &[size, power])
        }
        scale => b.number(ElementType::F32, scale),
    }
}
