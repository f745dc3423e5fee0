//! ONNX Runtime's fused attention operators, which include projections, masks and rotation.

use snick_ir::{OpError, Value, ops};
use snick_tensor::ElementType;

use super::quantized::scaled_product;
use crate::onnx::builder::{NodeBuilder, Result};
use crate::onnx::ops::attention::{
    Scores, Window, heads_apart, heads_together, lowered, masked, repeated_heads, rotated,
};
use crate::onnx::ops::{ImportEntry, many, one};

pub(super) const ENTRIES: &[ImportEntry] = &[
    many("Attention", &[1], attention).attrs(
        "do_rotary mask_filter_value num_heads past_present_share_buffer \
             qkv_hidden_sizes scale unidirectional",
    ),
    many("GroupQueryAttention", &[1], group_query_attention).attrs(
        "do_rotary kv_num_heads local_window_size num_heads rotary_interleaved \
             scale smooth_softmax softcap",
    ),
    many("MultiHeadAttention", &[1], multi_head_attention)
        .attrs("mask_filter_value num_heads scale unidirectional"),
    many("QAttention", &[1], quantized_attention)
        .attrs("do_rotary mask_filter_value num_heads past_present_share_buffer scale unidirectional"),
    one("RotaryEmbedding", &[1], rotary_embedding)
        .attrs("interleaved is_packed_batching num_heads rotary_embedding_dim scale"),
];

fn heads(b: &NodeBuilder) -> Result<i64, OpError> {
    b.required_int("num_heads")
}

fn scale(b: &NodeBuilder) -> Result<Option<f64>, OpError> {
    Ok(b.attrs.float("scale")?.filter(|&scale| scale != 0.0))
}

/// Adds the attribute `mask_filter_value` to the scores of masked keys.
fn filtered(b: &mut NodeBuilder, bias: Option<Value>, seen: Value, real: ElementType) -> Result {
    let low = b.float_attr("mask_filter_value", -10000.0)?;
    lowered(b, bias, seen, low, real)
}

/// The keys that a mask makes visible, in a shape that broadcasts to `[batch, heads, queries, keys]`. The
/// mask contains 1 for each visible key, or for each visible pair of query and key. Alternatively, it
/// contains the end of each sequence, optionally followed by the start of each sequence.
fn allowed(b: &mut NodeBuilder, mask: Value, batch: Value, keys: Value) -> Result {
    let rank = b.rank(mask)?;
    let mask = b.convert(mask, ElementType::I64)?;
    let zero = b.int(0)?;
    match rank {
        1 => {
            let (single, begin) = (b.ints(&[1])?, b.ints(&[0])?);
            let twice = b.add(batch, batch)?;
            let none = b.broadcast_to(zero, batch)?;
            // If the mask contains no starts, all sequences start at key 0.
            let padded = b.concat(0, &[mask, none])?;
            let ends = b.add_op(ops::Slice8, &[padded, begin, batch, single])?;
            let starts = b.add_op(ops::Slice8, &[padded, batch, twice, single])?;
            let places = b.count_to(keys)?;
            let (ends, starts) = (b.reshape(ends, &[-1, 1, 1, 1])?, b.reshape(starts, &[-1, 1, 1, 1])?);
            let before = b.less(places, ends)?;
            let behind = b.greater_equal(places, starts)?;
            b.logical_and(before, behind)
        }
        2 | 3 => {
            let axes: &[i64] = if rank == 2 { &[1, 2] } else { &[1] };
            let mask = b.unsqueeze(mask, axes)?;
            b.not_equal(mask, zero)
        }
        _ => Err(OpError::unsupported(format!("a mask of rank {rank}"))),
    }
}

/// Attention whose queries, keys and values are computed by a single matrix multiplication. The past and
/// present states contain pairs of keys and values.
fn attention(b: &mut NodeBuilder) -> Result<Vec<Value>> {
    if b.optional(6).is_some() {
        return Err(OpError::unsupported("a shared buffer of past and present"));
    }
    let (x, weights) = (b.input(0)?, b.input(1)?);
    let all = b.matmul(x, weights)?;
    projected_attention(b, all)
}

/// Attention on quantized integers. Inputs: data, weights, bias, the scales of data and weights, the mask,
/// the zero points of data and weights, and the past.
fn quantized_attention(b: &mut NodeBuilder) -> Result<Vec<Value>> {
    let (factors, scales) = ([b.input(0)?, b.input(1)?], [b.input(3)?, b.input(4)?]);
    let zeros = [b.optional(6), b.optional(7)];
    let all = scaled_product(b, factors, zeros, scales)?;
    b.inputs = [b.optional(0), b.optional(1), b.optional(2), b.optional(5), b.optional(8)].to_vec();
    projected_attention(b, all)
}

/// Attention on the concatenated projections of queries, keys and values, before their bias is added.
fn projected_attention(b: &mut NodeBuilder, mut all: Value) -> Result<Vec<Value>> {
    if b.flag_attr("do_rotary", false)? || b.flag_attr("past_present_share_buffer", false)? {
        return Err(OpError::unsupported("rotation or a shared buffer of past and present"));
    }
    let (real, heads) = (b.element_type(all)?, heads(b)?);
    if let Some(bias) = b.optional(2) {
        all = b.add(all, bias)?;
    }
    let parts = match b.ints_attr("qkv_hidden_sizes")? {
        Some(sizes) if sizes.len() == 3 => {
            let (axis, sizes) = (b.int(-1)?, b.ints(&sizes)?);
            b.add_op_with_outputs(ops::VariadicSplit, &[all, axis, sizes], 3)?
        }
        _ => b.split(all, -1, 3)?,
    };
    let mut apart = Vec::new();
    for part in parts {
        apart.push(heads_apart(b, part, heads)?);
    }
    let &[q, mut k, mut v] = apart.as_slice() else { return Err(OpError::NotConnected { port: 0 }) };
    let mut offset = None;
    if let Some(past) = b.optional(4) {
        let before = b.size_of(past, 3)?;
        offset = Some(b.to_scalar(before)?);
        let past = b.split(past, 0, 2)?;
        let (past_k, past_v) = (b.squeeze(past[0], &[0])?, b.squeeze(past[1], &[0])?);
        k = b.concat(2, &[past_k, k])?;
        v = b.concat(2, &[past_v, v])?;
    }
    let pair = [b.unsqueeze(k, &[0])?, b.unsqueeze(v, &[0])?];
    let present = b.concat(0, &pair)?;
    let bias = whole_bias(b, [q, k], b.optional(3), offset, real)?;
    let scale = scale(b)?;
    let (y, _) = Scores { q, k, v, bias, scale, cap: 0.0, precision: None, sink: None }.mix(b)?;
    Ok(vec![heads_together(b, y)?, present])
}

/// The bias to add to the scores: input 5, plus `mask_filter_value` for keys that the mask hides. In
/// `unidirectional` attention with `offset` past keys, keys after the query are hidden, too.
fn whole_bias(
    b: &mut NodeBuilder,
    [q, k]: [Value; 2],
    mask: Option<Value>,
    offset: Option<Value>,
    real: ElementType,
) -> Result<Option<Value>, OpError> {
    let (queries, keys) = (b.size_of(q, 2)?, b.size_of(k, 2)?);
    let mut bias = b.optional(5);
    if let Some(mask) = mask {
        let batch = b.size_of(q, 0)?;
        let seen = allowed(b, mask, batch, keys)?;
        bias = Some(filtered(b, bias, seen, real)?);
    }
    if b.flag_attr("unidirectional", false)?
        && let Some(seen) = (Window { left: None, right: Some(0), offset }).seen(b, queries, keys)?
    {
        bias = Some(filtered(b, bias, seen, real)?);
    }
    Ok(bias)
}

/// Attention with separate queries, keys and values. The heads are already separate in inputs with four axes.
fn multi_head_attention(b: &mut NodeBuilder) -> Result<Vec<Value>> {
    let query = b.input(0)?;
    let (Some(key), Some(value)) = (b.optional(1), b.optional(2)) else {
        return Err(OpError::unsupported("packed input of queries, keys and values"));
    };
    if b.optional(8).is_some() || b.rank(query)? != 3 {
        return Err(OpError::unsupported("a shared buffer of past and present, or packed queries,"));
    }
    let (real, heads) = (b.element_type(query)?, heads(b)?);
    let mut inputs = [query, key, value];
    if let Some(bias) = b.optional(3) {
        // A single vector contains the biases of queries, keys and values.
        let mut sizes = Vec::new();
        for input in inputs {
            sizes.push(if b.rank(input)? == 3 { b.size_of(input, 2)? } else { b.size_of(query, 2)? });
        }
        let (axis, sizes) = (b.int(0)?, b.concat(0, &sizes)?);
        let biases = b.add_op_with_outputs(ops::VariadicSplit, &[bias, axis, sizes], 3)?;
        for (input, bias) in inputs.iter_mut().zip(biases) {
            if b.rank(*input)? == 3 {
                *input = b.add(*input, bias)?;
            }
        }
    }
    let mut apart = |input: Value| match b.rank(input)? {
        3 => heads_apart(b, input, heads),
        4 => Ok(input),
        rank => Err(OpError::rank("keys or values", rank, "3 or 4")),
    };
    let (q, mut k, mut v) = (apart(inputs[0])?, apart(inputs[1])?, apart(inputs[2])?);
    let mut offset = None;
    if let (Some(past_k), Some(past_v)) = (b.optional(6), b.optional(7)) {
        let before = b.size_of(past_k, 2)?;
        offset = Some(b.to_scalar(before)?);
        k = b.concat(2, &[past_k, k])?;
        v = b.concat(2, &[past_v, v])?;
    }
    let bias = whole_bias(b, [q, k], b.optional(4), offset, real)?;
    let scale = scale(b)?;
    let (y, stages) = Scores { q, k, v, bias, scale, cap: 0.0, precision: None, sink: None }.mix(b)?;
    Ok(vec![heads_together(b, y)?, k, v, stages[0]])
}

/// The positions `[batch, length]` of new queries. `last` is the number of keys of each sequence minus one.
fn positions(b: &mut NodeBuilder, last: Value, queries: Value) -> Result {
    let last = b.convert(last, ElementType::I64)?;
    let (last, unit) = (b.reshape(last, &[-1, 1])?, b.int(1)?);
    let total = b.add(last, unit)?;
    let before = b.subtract(total, queries)?;
    let zero = b.int(0)?;
    // If a prompt is padded at the end, it has more queries than keys. In this case the difference is
    // negative, although the number of earlier keys is 0.
    let before = b.maximum(before, zero)?;
    let count = b.count_to(queries)?;
    b.add(before, count)
}

/// Causal attention with fewer key heads than query heads. May also rotate queries and keys.
fn group_query_attention(b: &mut NodeBuilder) -> Result<Vec<Value>> {
    if (12..b.inputs.len()).any(|i| b.optional(i).is_some()) {
        return Err(OpError::unsupported("quantization or normalisation of keys"));
    }
    let (mut q, heads) = (b.input(0)?, heads(b)?);
    let kv_heads = b.required_int("kv_num_heads")?;
    let real = b.element_type(q)?;
    let (mut k, mut v) = match (b.optional(1), b.optional(2)) {
        (Some(k), Some(v)) => (heads_apart(b, k, kv_heads)?, heads_apart(b, v, kv_heads)?),
        _ => {
            let all = kv_heads.saturating_mul(2).saturating_add(heads);
            let packed = heads_apart(b, q, all)?;
            let (axis, sizes) = (b.int(1)?, b.ints(&[heads, kv_heads, kv_heads])?);
            let parts = b.add_op_with_outputs(ops::VariadicSplit, &[packed, axis, sizes], 3)?;
            q = parts[0];
            (parts[1], parts[2])
        }
    };
    if b.rank(q)? == 3 {
        q = heads_apart(b, q, heads)?;
    }
    let queries = b.size_of(q, 2)?;
    let interleaved = b.flag_attr("rotary_interleaved", false)?;
    if b.flag_attr("do_rotary", false)? {
        let mut tables = [b.input(7)?, b.input(8)?];
        let places = match b.optional(9) {
            Some(places) => places,
            None => {
                let last = b.input(5)?;
                positions(b, last, queries)?
            }
        };
        let turned = table_reach(b, tables[0])?;
        for table in &mut tables {
            *table = b.gather(*table, places, 0)?;
        }
        q = rotated(b, q, tables, turned, interleaved)?;
        k = rotated(b, k, tables, turned, interleaved)?;
    }
    let mut offset = None;
    if let (Some(past_k), Some(past_v)) = (b.optional(3), b.optional(4)) {
        let before = b.size_of(past_k, 2)?;
        offset = Some(b.to_scalar(before)?);
        k = b.concat(2, &[past_k, k])?;
        v = b.concat(2, &[past_v, v])?;
    }
    let (present_k, present_v) = (k, v);
    let keys = b.size_of(k, 2)?;
    let left = Some(b.int_attr("local_window_size", -1)?).filter(|&reach| reach > 0);
    let window = Window { left: left.map(|reach| reach - 1), right: Some(0), offset };
    let mut bias = b.optional(10);
    if let Some(seen) = window.seen(b, queries, keys)? {
        bias = Some(masked(b, bias, seen, real)?);
    }
    if heads != kv_heads {
        k = repeated_heads(b, k, q)?;
        v = repeated_heads(b, v, q)?;
    }
    let (scale, cap) = (scale(b)?, b.float_attr("softcap", 0.0)?);
    let smooth = b.flag_attr("smooth_softmax", false)?;
    let sink = match b.optional(11) {
        None if smooth => Some(b.scalar(real, 0.0)?),
        sink => sink,
    };
    let (y, _) = Scores { q, k, v, bias, scale, cap, precision: None, sink }.mix(b)?;
    Ok(vec![heads_together(b, y)?, present_k, present_v])
}

/// The number of elements of a head that are rotated. It follows from the size of the table of cosines.
fn table_reach(b: &NodeBuilder, table: Value) -> Result<i64, OpError> {
    let pairs = b.fixed_size(table, 1).ok_or_else(|| OpError::unsupported("a table of unknown size"))?;
    Ok(pairs.saturating_mul(2))
}

/// Adds a rotary embedding. Positions are given for each token, or only for the first token.
fn rotary_embedding(b: &mut NodeBuilder) -> Result {
    if b.float_attr("scale", 1.0)? != 1.0 || b.flag_attr("is_packed_batching", false)? {
        return Err(OpError::unsupported("scaling or packed batching"));
    }
    let (x, mut places, mut tables) = (b.input(0)?, b.input(1)?, [b.input(2)?, b.input(3)?]);
    let flat = b.rank(x)? == 3;
    if b.rank(places)? == 1 {
        let length = b.size_of(x, if flat { 1 } else { 2 })?;
        let count = b.count_to(length)?;
        let count = b.unsqueeze(count, &[0])?;
        places = b.add(places, count)?;
    }
    let turned = table_reach(b, tables[0])?;
    for table in &mut tables {
        *table = b.gather(*table, places, 0)?;
    }
    let (heads, interleaved) = (b.int_attr("num_heads", 0)?, b.flag_attr("interleaved", false)?);
    b.int_attr("rotary_embedding_dim", 0)?;
    if !flat {
        return rotated(b, x, tables, turned, interleaved);
    }
    let heads = match heads {
        0 => {
            let width = b.fixed_size(x, 2).ok_or_else(|| OpError::unsupported("heads of unknown size"))?;
            width / turned.max(1)
        }
        heads => heads,
    };
    let apart = heads_apart(b, x, heads)?;
    let y = rotated(b, apart, tables, turned, interleaved)?;
    heads_together(b, y)
}
