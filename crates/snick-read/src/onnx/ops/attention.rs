//! Attention and rotary embedding, built from matrix multiplications and a softmax.

use snick_ir::{Attrs, OpError, Value, ops};
use snick_tensor::ElementType;

use super::{ImportEntry, many, one};
use crate::onnx::builder::{NodeBuilder, Result, list};

pub(super) const ENTRIES: &[ImportEntry] = &[
    many("Attention", &[23, 24, 25], attention).attrs(
        "is_causal kv_num_heads left_window_size q_num_heads qk_matmul_output_mode \
             right_window_size scale softcap softmax_precision",
    ),
    many("CausalConvWithState", &[27], causal_convolution).attrs("activation"),
    one("RotaryEmbedding", &[23], rotary_embedding).attrs("interleaved num_heads rotary_embedding_dim"),
];

/// Reshapes and transposes `[batch, length, heads * size]` to `[batch, heads, length, size]`.
pub(super) fn heads_apart(b: &mut NodeBuilder, x: Value, heads: i64) -> Result {
    let sizes = b.ints(&[0, 0, heads, -1])?;
    let x = b.reshape_copying(x, sizes)?;
    b.transpose(x, &[0, 2, 1, 3])
}

/// The inverse of [`heads_apart`].
pub(super) fn heads_together(b: &mut NodeBuilder, x: Value) -> Result {
    let x = b.transpose(x, &[0, 2, 1, 3])?;
    let sizes = b.ints(&[0, 0, -1])?;
    b.reshape_copying(x, sizes)
}

/// The inputs of attention, all of rank 4.
pub(super) struct Scores {
    /// Queries `[batch, heads, length, size]`.
    pub(super) q: Value,
    /// Keys `[batch, heads, keys, size]`.
    pub(super) k: Value,
    /// Values `[batch, heads, keys, size of a value]`.
    pub(super) v: Value,
    /// A bias to add to the scores. If all biases of a query are minus infinity, the result for this query is
    /// zero.
    pub(super) bias: Option<Value>,
    /// The scale of the scores; by default the inverse square root of the head size.
    pub(super) scale: Option<f64>,
    /// The bound of the soft cap, which limits the scores with a hyperbolic tangent; 0 for no cap.
    pub(super) cap: f64,
    /// The element type in which the softmax is computed.
    pub(super) precision: Option<ElementType>,
    /// An extra score, per head or for all heads. It takes part in the softmax, but no value belongs to it.
    pub(super) sink: Option<Value>,
}

impl Scores {
    /// Returns the output, and the scores at four stages: raw, capped, biased, and after the softmax.
    pub(super) fn mix(&self, b: &mut NodeBuilder) -> Result<(Value, [Value; 4]), OpError> {
        let element_type = b.element_type(self.q)?;
        // As in the standard, multiplies queries and keys each by the square root of the scale, so that small
        // types do not overflow.
        let root = match self.scale {
            Some(scale) => b.scalar(element_type, scale.sqrt())?,
            None => {
                let size = b.size_of(self.q, -1)?;
                let size = b.convert(size, ElementType::F32)?;
                let single = b.int(0)?;
                let root = b.power(size, -0.25)?;
                let root = b.gather(root, single, 0)?;
                b.convert(root, element_type)?
            }
        };
        let q = b.multiply(self.q, root)?;
        let k = b.multiply(self.k, root)?;
        let raw = b.matmul_transposed(q, k)?;
        let mut capped = raw;
        if self.cap != 0.0 {
            let cap = b.scalar(element_type, self.cap)?;
            let ratio = b.divide(raw, cap)?;
            let bent = b.tanh(ratio)?;
            capped = b.multiply(bent, cap)?;
        }
        let biased = match self.bias {
            Some(bias) => b.add(capped, bias)?,
            None => capped,
        };
        let wide = b.convert(biased, self.precision.unwrap_or(element_type))?;
        let mut shares = match self.sink {
            Some(sink) => shares_beside(b, wide, sink)?,
            None => b.softmax(wide, -1)?,
        };
        shares = b.convert(shares, element_type)?;
        if let Some(bias) = self.bias {
            let best = b.reduce_max(bias, &[-1], true)?;
            let nothing = b.equal(best, f64::NEG_INFINITY)?;
            shares = b.select(nothing, 0.0, shares)?;
        }
        let mixed = b.matmul(shares, self.v)?;
        Ok((mixed, [raw, capped, biased, shares]))
    }
}

/// Appends the sink to the scores as a column, computes the softmax, and drops this column.
fn shares_beside(b: &mut NodeBuilder, scores: Value, sink: Value) -> Result {
    let element_type = b.element_type(scores)?;
    let sink = b.convert(sink, element_type)?;
    let sink = b.reshape(sink, &[1, -1, 1, 1])?;
    let (shape, single) = (b.shape_of(scores)?, b.ints(&[1])?);
    let lines = b.slice_range(shape, 0, 0, 3)?;
    let sizes = b.concat(0, &[lines, single])?;
    let column = b.broadcast_to(sink, sizes)?;
    let all = b.concat(-1, &[scores, column])?;
    let shares = b.softmax(all, -1)?;
    b.slice_range(shares, -1, 0, -1)
}

/// Repeats each head of the keys or values for all query heads of its group.
pub(super) fn repeated_heads(b: &mut NodeBuilder, x: Value, q: Value) -> Result {
    let (heads, wanted) = (b.size_of(x, 1)?, b.size_of(q, 1)?);
    let each = b.divide(wanted, heads)?;
    let unit = b.ints(&[1])?;
    let sizes = b.concat(0, &[unit, unit, each, unit, unit])?;
    let x = b.unsqueeze(x, &[2])?;
    let x = b.broadcast_both(x, sizes)?;
    let (zero, rest) = (b.ints(&[0])?, b.ints(&[-1])?);
    let size = b.size_of(x, -1)?;
    let sizes = b.concat(0, &[zero, wanted, rest, size])?;
    b.reshape_copying(x, sizes)
}

/// The keys that each query attends to: query `i` attends to the keys from `i + offset - left` to `i + offset
/// + right`.
pub(super) struct Window {
    pub(super) left: Option<i64>,
    pub(super) right: Option<i64>,
    /// The number of keys before the first query, either as a scalar or in a shape that broadcasts to
    /// `[batch, 1, queries, keys]`.
    pub(super) offset: Option<Value>,
}

impl Window {
    /// A mask of the keys that each query attends to; `None` if it attends to all keys.
    pub(super) fn seen(
        &self,
        b: &mut NodeBuilder,
        queries: Value,
        keys: Value,
    ) -> Result<Option<Value>, OpError> {
        if self.left.is_none() && self.right.is_none() {
            return Ok(None);
        }
        let (rows, keys) = (b.count_to(queries)?, b.count_to(keys)?);
        let mut rows = b.unsqueeze(rows, &[-1])?;
        if let Some(offset) = self.offset {
            rows = b.add(rows, offset)?;
        }
        let mut seen = None;
        for (reach, is_left) in [(self.right, false), (self.left, true)] {
            let Some(reach) = reach else { continue };
            let reach = b.int(if is_left { reach.saturating_neg() } else { reach })?;
            let limit = b.add(rows, reach)?;
            let side = if is_left { b.greater_equal(keys, limit)? } else { b.less_equal(keys, limit)? };
            seen = Some(match seen {
                Some(other) => b.logical_and(other, side)?,
                None => side,
            });
        }
        Ok(seen)
    }
}

/// Adds minus infinity to the scores of masked keys.
pub(super) fn masked(b: &mut NodeBuilder, bias: Option<Value>, seen: Value, real: ElementType) -> Result {
    lowered(b, bias, seen, f64::NEG_INFINITY, real)
}

/// Adds `low` to the scores of masked keys.
pub(super) fn lowered(
    b: &mut NodeBuilder,
    bias: Option<Value>,
    seen: Value,
    low: f64,
    real: ElementType,
) -> Result {
    let zero = b.scalar(real, 0.0)?;
    let mask = b.select(seen, zero, low)?;
    match bias {
        Some(bias) => b.add(bias, mask),
        None => Ok(mask),
    }
}

/// Adds attention. Returns the result, all keys, all values, and the scores at the stage that the node
/// selects.
fn attention(b: &mut NodeBuilder) -> Result<Vec<Value>> {
    let (mut q, mut k, mut v) = (b.input(0)?, b.input(1)?, b.input(2)?);
    let real = b.element_type(q)?;
    let flat = match b.rank(q)? {
        3 => true,
        4 => false,
        rank => return Err(OpError::rank("the queries", rank, "3 or 4")),
    };
    let (q_heads, kv_heads) = (b.attrs.int("q_num_heads")?, b.attrs.int("kv_num_heads")?);
    if flat {
        let missing = |name| OpError::MissingAttribute { name };
        let (q_heads, kv_heads) =
            (q_heads.ok_or(missing("q_num_heads"))?, kv_heads.ok_or(missing("kv_num_heads"))?);
        q = heads_apart(b, q, q_heads)?;
        k = heads_apart(b, k, kv_heads)?;
        v = heads_apart(b, v, kv_heads)?;
    }
    let past = (b.optional(4), b.optional(5));
    let mut offset = None;
    if let (Some(past_k), Some(past_v)) = past {
        let before = b.size_of(past_k, 2)?;
        offset = Some(b.to_scalar(before)?);
        k = b.concat(2, &[past_k, k])?;
        v = b.concat(2, &[past_v, v])?;
    }
    let (present_k, present_v) = (k, v);
    let (queries, keys) = (b.size_of(q, 2)?, b.size_of(k, 2)?);
    let mut bias = match b.optional(3) {
        Some(mask) => Some(bias_of(b, mask, keys, real)?),
        None => None,
    };
    let valid = b.optional(6);
    if let (Some(valid), (None, None)) = (valid, past) {
        let valid = b.convert(valid, ElementType::I64)?;
        let before = b.subtract(valid, queries)?;
        offset = Some(b.reshape(before, &[-1, 1, 1, 1])?);
    }
    let side = |b: &NodeBuilder, name| Ok::<_, OpError>(b.attrs.int(name)?.filter(|&reach| reach >= 0));
    let (left, mut right) = (side(b, "left_window_size")?, side(b, "right_window_size")?);
    if b.flag_attr("is_causal", false)? {
        right = Some(0);
    }
    if let Some(seen) = (Window { left, right, offset }).seen(b, queries, keys)? {
        bias = Some(masked(b, bias, seen, real)?);
    }
    if let Some(valid) = valid {
        let valid = b.convert(valid, ElementType::I64)?;
        let (valid, places) = (b.reshape(valid, &[-1, 1, 1, 1])?, b.count_to(keys)?);
        let seen = b.less(places, valid)?;
        bias = Some(masked(b, bias, seen, real)?);
    }
    if if flat { q_heads != kv_heads } else { differ(b, q, k) } {
        k = repeated_heads(b, k, q)?;
        v = repeated_heads(b, v, q)?;
    }
    let scale = b.attrs.float("scale")?;
    let (cap, precision) = (b.float_attr("softcap", 0.0)?, b.type_attr("softmax_precision")?);
    let (mut y, stages) = Scores { q, k, v, bias, scale, cap, precision, sink: None }.mix(b)?;
    if flat {
        y = heads_together(b, y)?;
    }
    let stage = usize::try_from(b.int_attr("qk_matmul_output_mode", 0)?).ok();
    let stage = stage.and_then(|stage| stages.get(stage));
    let stage = *stage.ok_or_else(|| b.attrs.bad("qk_matmul_output_mode", "0 to 3"))?;
    Ok(vec![y, present_k, present_v, stage])
}

/// Whether queries and keys may have different numbers of heads.
fn differ(b: &NodeBuilder, q: Value, k: Value) -> bool {
    let heads = b.fixed_size(q, 1);
    heads.is_none() || heads != b.fixed_size(k, 1)
}

/// Converts a mask to a bias, which is minus infinity where the mask is false, and for keys beyond the end of
/// the mask.
fn bias_of(b: &mut NodeBuilder, mask: Value, keys: Value, real: ElementType) -> Result {
    let mut bias = mask;
    if b.element_type(mask)? == ElementType::Boolean {
        bias = masked(b, None, mask, real)?;
    }
    let rank = b.rank(mask)?;
    let have = b.size_of(mask, -1)?;
    let more = b.subtract(keys, have)?;
    let zero = b.ints(&[0])?;
    let more = b.maximum(more, zero)?;
    let begin = b.ints(&vec![0; rank])?;
    let front = b.ints(&vec![0; rank.saturating_sub(1)])?;
    let end = b.concat(0, &[front, more])?;
    let low = b.scalar(real, f64::NEG_INFINITY)?;
    b.pad_by(bias, begin, end, low)
}

/// A causal depthwise convolution. The second output is the state that the next call needs.
fn causal_convolution(b: &mut NodeBuilder) -> Result<Vec<Value>> {
    let (x, w) = (b.input(0)?, b.input(1)?);
    let dims = b.dims(w).filter(|dims| dims.len() == 3);
    let dims = dims.ok_or_else(|| OpError::unsupported("filters of unknown size"))?;
    let before = dims[2].saturating_sub(1) as i64;
    let past = match b.optional(3) {
        Some(past) => past,
        None => {
            let (shape, zero) = (b.shape_of(x)?, b.scalar_like(x, 0.0)?);
            let (front, length) = (b.slice_range(shape, 0, 0, 2)?, b.ints(&[before])?);
            let sizes = b.concat(0, &[front, length])?;
            b.broadcast_to(zero, sizes)?
        }
    };
    let all = b.concat(2, &[past, x])?;
    let filters = b.reshape(w, &[dims[0] as i64, 1, 1, dims[2] as i64])?;
    let attrs = Attrs::new().with("strides", list(&[1])).with("dilations", list(&[1]));
    let attrs = attrs.with("pads_begin", list(&[0])).with("pads_end", list(&[0]));
    let mut y = b.ir_op("GroupConvolution", attrs, &[all, filters])?;
    if let Some(bias) = b.optional(2) {
        let bias = b.reshape(bias, &[-1, 1])?;
        y = b.add(y, bias)?;
    }
    match b.text_attr("activation", "none")? {
        "none" => {}
        "silu" | "swish" => y = b.add_op(ops::Swish, &[y])?,
        _ => return Err(b.attrs.bad("activation", "none, silu or swish")),
    }
    // The next state is the end of the concatenation of the previous state and the input.
    let (start, stop) = (b.size_of(x, 2)?, b.ints(&[i64::MAX])?);
    let (step, axis) = (b.ints(&[1])?, b.ints(&[2])?);
    let state = b.add_op(ops::Slice8, &[all, start, stop, step, axis])?;
    Ok(vec![y, state])
}

/// Rotates pairs of elements by angles whose cosines and sines are given. If the node has positions, they are
/// indices into the tables of cosines and sines.
fn rotary_embedding(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let (mut tables, positions) = ([b.input(1)?, b.input(2)?], b.optional(3));
    if let Some(positions) = positions {
        for table in &mut tables {
            *table = b.gather(*table, positions, 0)?;
        }
    }
    let (turned, interleaved) = (b.int_attr("rotary_embedding_dim", 0)?, b.flag_attr("interleaved", false)?);
    let heads = b.int_attr("num_heads", 0)?;
    match b.rank(x)? {
        3 if heads > 0 => {
            let apart = heads_apart(b, x, heads)?;
            let y = rotated(b, apart, tables, turned, interleaved)?;
            heads_together(b, y)
        }
        3 => Err(OpError::MissingAttribute { name: "num_heads" }),
        _ => rotated(b, x, tables, turned, interleaved),
    }
}

/// Rotates the first `turned` elements of the last axis of a value of rank 4, or all elements if `turned` is
/// 0. The tables have the shape `[batch, length, pairs]`. If `interleaved`, the elements of a pair are
/// adjacent. Otherwise, one of them is in the first half of the rotated elements and the other in the second
/// half.
pub(super) fn rotated(
    b: &mut NodeBuilder,
    x: Value,
    tables: [Value; 2],
    turned: i64,
    interleaved: bool,
) -> Result {
    let (part, rest) = match turned {
        0 => (x, None),
        _ => (b.slice_range(x, -1, 0, turned)?, Some(b.slice_range(x, -1, turned, i64::MAX)?)),
    };
    // Inserts an axis, over which the angles are broadcast to all heads.
    let (cos, sin) = (b.unsqueeze(tables[0], &[1])?, b.unsqueeze(tables[1], &[1])?);
    let pairs = if interleaved {
        let sizes = b.ints(&[0, 0, 0, -1, 2])?;
        let apart = b.reshape_copying(part, sizes)?;
        let halves = b.split(apart, -1, 2)?;
        [b.squeeze(halves[0], &[-1])?, b.squeeze(halves[1], &[-1])?]
    } else {
        let halves = b.split(part, -1, 2)?;
        [halves[0], halves[1]]
    };
    let product = |x: Value, y: Value| b.multiply(x, y);
    let of_real = [product(pairs[0], cos)?, product(pairs[1], sin)?];
    let of_imaginary = [product(pairs[0], sin)?, product(pairs[1], cos)?];
    let real = b.ir_op("Subtract", Attrs::new(), &of_real)?;
    let imaginary = b.ir_op("Add", Attrs::new(), &of_imaginary)?;
    let y = if interleaved {
        let pair = [b.unsqueeze(real, &[-1])?, b.unsqueeze(imaginary, &[-1])?];
        let pair = b.concat(-1, &pair)?;
        let sizes = b.ints(&[0, 0, 0, -1])?;
        b.reshape_copying(pair, sizes)?
    } else {
        b.concat(-1, &[real, imaginary])?
    };
    match rest {
        Some(rest) => b.concat(-1, &[y, rest]),
        None => Ok(y),
    }
}
