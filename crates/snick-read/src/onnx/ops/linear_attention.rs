//! Linear attention. In place of a softmax, it has a state that accumulates products of keys and values. Each
//! token updates the state.

use snick_ir::{OpError, Value, ops};
use snick_tensor::ElementType;

use super::attention::heads_apart;
use super::{ImportEntry, many};
use crate::onnx::builder::{NodeBuilder, Result};
use crate::onnx::stepped::{Step, Stepped};

pub(super) const ENTRIES: &[ImportEntry] = &[many("LinearAttention", &[27], linear_attention)
    .attrs("chunk_size kv_num_heads q_num_heads scale update_rule")];

/// Adds linear attention, which is computed in f32. Inputs: queries, keys and values `[batch, length, heads *
/// size]`, the state `[batch, heads, size, size of a value]`, and the decay and rate of the update.
fn linear_attention(b: &mut NodeBuilder) -> Result<Vec<Value>> {
    let heads = |b: &NodeBuilder, name: &'static str| {
        b.attrs.int(name)?.filter(|&heads| heads > 0).ok_or(OpError::MissingAttribute { name })
    };
    let (q_heads, kv_heads) = (heads(b, "q_num_heads")?, heads(b, "kv_num_heads")?);
    b.int_attr("chunk_size", 64)?;
    let (decays, corrects) = b.choice(
        "update_rule",
        &[
            ("gated_delta", (true, true)),
            ("linear", (false, false)),
            ("gated", (true, false)),
            ("delta", (false, true)),
        ],
    )?;
    let x = b.input(0)?;
    let element_type = b.element_type(x)?;
    let apart = |b: &mut NodeBuilder, input: usize| {
        let value = b.input(input)?;
        let value = b.convert(value, ElementType::F32)?;
        heads_apart(b, value, kv_heads)
    };
    // Groups the queries of each key head: [batch, heads, length, group, size].
    let q = b.convert(x, ElementType::F32)?;
    let sizes = b.ints(&[0, 0, kv_heads, q_heads / kv_heads, -1])?;
    let q = b.reshape_copying(q, sizes)?;
    let q = b.transpose(q, &[0, 2, 1, 3, 4])?;
    let (k, v) = (apart(b, 1)?, apart(b, 2)?);
    let mut parts = vec![q, k, v];
    if decays {
        parts.push(apart(b, 4)?);
    }
    if corrects {
        // The rate is given for each head, or once for all heads.
        let rate = b.input(5)?;
        let rate = b.convert(rate, ElementType::F32)?;
        let rate = b.unsqueeze(rate, &[-1])?;
        parts.push(b.transpose(rate, &[0, 2, 1, 3])?);
    }
    let state = match b.optional(3) {
        Some(state) => b.convert(state, ElementType::F32)?,
        None => {
            let (batch, heads) = (b.size_of(q, 0)?, b.ints(&[kv_heads])?);
            let (rows, columns) = (b.size_of(k, -1)?, b.size_of(v, -1)?);
            let (zero, sizes) =
                (b.scalar(ElementType::F32, 0.0)?, b.concat(0, &[batch, heads, rows, columns])?);
            b.broadcast_to(zero, sizes)?
        }
    };
    let stepped = Stepped { parts: &parts, axis: 2, reverse: false, states: &[state], fixed: &[] };
    let Step { states, made } = stepped.build(b, |b, parts, states, _| {
        let (query, key, mut value) = (b.squeeze(parts[0], &[2])?, parts[1], parts[2]);
        let mut state = states[0];
        if decays {
            let factor = b.exp(parts[3])?;
            let factor = b.transpose(factor, &[0, 1, 3, 2])?;
            state = b.multiply(state, factor)?;
        }
        if corrects {
            let held = b.matmul(key, state)?;
            let wrong = b.subtract(value, held)?;
            let rate = parts[if decays { 4 } else { 3 }];
            value = b.multiply(wrong, rate)?;
        }
        let added = b.add_op(ops::MatMul { transpose_a: true, transpose_b: false }, &[key, value])?;
        let state = b.add(state, added)?;
        let seen = b.matmul(query, state)?;
        Ok(Step { states: vec![state], made: vec![b.unsqueeze(seen, &[2])?] })
    })?;
    let scale = scale(b, q)?;
    let y = b.multiply(made[0], scale)?;
    let y = b.transpose(y, &[0, 2, 1, 3, 4])?;
    let sizes = b.ints(&[0, 0, -1])?;
    let y = b.reshape_copying(y, sizes)?;
    let state_type = match b.optional(3) {
        Some(state) => b.element_type(state)?,
        None => element_type,
    };
    Ok(vec![b.convert(y, element_type)?, b.convert(states[0], state_type)?])
}

/// The scale attribute. A value of 0 means the inverse square root of the query size.
fn scale(b: &mut NodeBuilder, q: Value) -> Result {
    match b.float_attr("scale", 0.0)? {
        0.0 => {
            let size = b.size_of(q, -1)?;
            let (size, power) = (b.convert(size, ElementType::F32)?, b.scalar(ElementType::F32, -0.5)?);
            b.power(size, power)
        }
        scale => b.scalar(ElementType::F32, scale),
    }
}
