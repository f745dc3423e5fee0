//! Attention, rotary embedding and their relatives, by matrix products and a softmax.

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::elementwise::divide;
use super::{ImportEntry, many, one};
use crate::onnx::builder::{NodeBuilder, Result, list};

pub(super) const ENTRIES: &[ImportEntry] = &[
    many("Attention", &[23, 24, 25], attention),
    many("CausalConvWithState", &[27], causal_convolution),
    one("RotaryEmbedding", &[23], rotary_embedding),
];

/// `[batch, length, heads * size]` as `[batch, heads, length, size]`.
pub(super) fn heads_apart(b: &mut NodeBuilder, x: Value, heads: i64) -> Result {
    let sizes = b.vector(&[0, 0, heads, -1])?;
    let x = b.reshape_to(x, sizes)?;
    b.transposed(x, &[0, 2, 1, 3])
}

/// The way back from [`heads_apart`].
pub(super) fn heads_together(b: &mut NodeBuilder, x: Value) -> Result {
    let x = b.transposed(x, &[0, 2, 1, 3])?;
    let sizes = b.vector(&[0, 0, -1])?;
    b.reshape_to(x, sizes)
}

/// Scores and what becomes of them; all of rank 4.
pub(super) struct Scores {
    /// Queries `[batch, heads, length, size]`.
    pub(super) q: Value,
    /// Keys `[batch, heads, keys, size]`.
    pub(super) k: Value,
    /// Values `[batch, heads, keys, size of a value]`.
    pub(super) v: Value,
    /// What is added to the scores; a line of minus infinities gives zeros.
    pub(super) bias: Option<Value>,
    /// What scores are multiplied by; the root of the size is divided out by default.
    pub(super) scale: Option<f64>,
    /// Scores are kept within `-cap..cap` by a hyperbolic tangent, if that is not 0.
    pub(super) cap: f64,
    /// What the softmax is computed in.
    pub(super) precision: Option<ElementType>,
    /// A score for each head, or for all, that takes a share of its own and has no value.
    pub(super) sink: Option<Value>,
}

impl Scores {
    /// The mix of values, and the scores as computed, capped, with the bias, after the softmax.
    pub(super) fn mix(&self, b: &mut NodeBuilder) -> Result<(Value, [Value; 4]), OpError> {
        let element_type = b.element_type(self.q)?;
        // Half the scale goes to either side, as the standard has it, so that small types do not overflow.
        let root = match self.scale {
            Some(scale) => b.number(element_type, scale.sqrt())?,
            None => {
                let size = b.size(self.q, -1)?;
                let size = b.convert(size, ElementType::F32)?;
                let (quarter, single) = (b.number(ElementType::F32, -0.25)?, b.index(0)?);
                let root = b.plain("Power", &[size, quarter])?;
                let root = b.gather(root, single, 0)?;
                b.convert(root, element_type)?
            }
        };
        let q = b.plain("Multiply", &[self.q, root])?;
        let k = b.plain("Multiply", &[self.k, root])?;
        let raw = b.make("MatMul", Attrs::new().with("transpose_b", true), &[q, k])?;
        let mut capped = raw;
        if self.cap != 0.0 {
            let cap = b.number(element_type, self.cap)?;
            let ratio = divide(b, raw, cap)?;
            let bent = b.plain("Tanh", &[ratio])?;
            capped = b.plain("Multiply", &[bent, cap])?;
        }
        let biased = match self.bias {
            Some(bias) => b.plain("Add", &[capped, bias])?,
            None => capped,
        };
        let wide = b.convert(biased, self.precision.unwrap_or(element_type))?;
        let mut shares = match self.sink {
            Some(sink) => shares_beside(b, wide, sink)?,
            None => b.make("SoftMax", Attrs::new().with("axis", -1), &[wide])?,
        };
        shares = b.convert(shares, element_type)?;
        if let Some(bias) = self.bias {
            let (low, zero) = (b.number(element_type, f64::NEG_INFINITY)?, b.number(element_type, 0.0)?);
            let best = b.reduced("ReduceMax", bias, &[-1], true)?;
            let nothing = b.plain("Equal", &[best, low])?;
            shares = b.plain("Select", &[nothing, zero, shares])?;
        }
        let mixed = b.plain("MatMul", &[shares, self.v])?;
        Ok((mixed, [raw, capped, biased, shares]))
    }
}

/// The softmax of scores of rank 4 and one more for each line, without the share of that one.
fn shares_beside(b: &mut NodeBuilder, scores: Value, sink: Value) -> Result {
    let element_type = b.element_type(scores)?;
    let sink = b.convert(sink, element_type)?;
    let sink = b.reshape(sink, &[1, -1, 1, 1])?;
    let (shape, single) = (b.shape_of(scores)?, b.vector(&[1])?);
    let lines = b.part(shape, 0, 3)?;
    let sizes = b.join(&[lines, single])?;
    let column = b.filled(sink, sizes)?;
    let all = b.concat(-1, &[scores, column])?;
    let shares = b.make("SoftMax", Attrs::new().with("axis", -1), &[all])?;
    b.range_of(shares, -1, 0, -1)
}

/// Each head of keys or values for as many heads of queries as there are to one.
pub(super) fn repeated_heads(b: &mut NodeBuilder, x: Value, q: Value) -> Result {
    let (heads, wanted) = (b.size(x, 1)?, b.size(q, 1)?);
    let each = divide(b, wanted, heads)?;
    let unit = b.vector(&[1])?;
    let sizes = b.join(&[unit, unit, each, unit, unit])?;
    let x = b.unsqueeze(x, &[2])?;
    let attrs = Attrs::new().with("mode", "bidirectional");
    let x = b.make("Broadcast", attrs, &[x, sizes])?;
    let (zero, rest) = (b.vector(&[0])?, b.vector(&[-1])?);
    let size = b.size(x, -1)?;
    let sizes = b.join(&[zero, wanted, rest, size])?;
    b.reshape_to(x, sizes)
}

/// Where keys lie against a query: key `j` is seen by query `i` from `i + offset - left` to `i + offset + right`.
pub(super) struct Window {
    pub(super) left: Option<i64>,
    pub(super) right: Option<i64>,
    /// Keys before the first query: a scalar, or of a shape that broadcasts to `[batch, 1, queries, keys]`.
    pub(super) offset: Option<Value>,
}

impl Window {
    /// Which of so many keys each of so many queries sees; `None` for all.
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
            rows = b.plain("Add", &[rows, offset])?;
        }
        let sides = [(self.right, 1, "LessEqual"), (self.left, -1, "GreaterEqual")];
        let mut seen = None;
        for (reach, sign, op_type) in sides.into_iter().filter_map(|(r, s, op)| Some((r?, s, op))) {
            let reach = b.index(reach.saturating_mul(sign))?;
            let limit = b.plain("Add", &[rows, reach])?;
            let side = b.plain(op_type, &[keys, limit])?;
            seen = Some(match seen {
                Some(other) => b.plain("LogicalAnd", &[other, side])?,
                None => side,
            });
        }
        Ok(seen)
    }
}

/// What is not seen gets minus infinity, beside what a bias says.
pub(super) fn masked(b: &mut NodeBuilder, bias: Option<Value>, seen: Value, real: ElementType) -> Result {
    let (low, zero) = (b.number(real, f64::NEG_INFINITY)?, b.number(real, 0.0)?);
    let mask = b.plain("Select", &[seen, zero, low])?;
    match bias {
        Some(bias) => b.plain("Add", &[bias, mask]),
        None => Ok(mask),
    }
}

/// Outputs: the mix, all keys, all values, and the scores at the stage that the node names.
fn attention(b: &mut NodeBuilder) -> Result<Vec<Value>, OpError> {
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
        let before = b.size(past_k, 2)?;
        offset = Some(b.scalar(before)?);
        k = b.concat(2, &[past_k, k])?;
        v = b.concat(2, &[past_v, v])?;
    }
    let (present_k, present_v) = (k, v);
    let (queries, keys) = (b.size(q, 2)?, b.size(k, 2)?);
    let mut bias = match b.optional(3) {
        Some(mask) => Some(bias_of(b, mask, keys, real)?),
        None => None,
    };
    let valid = b.optional(6);
    if let (Some(valid), (None, None)) = (valid, past) {
        let valid = b.convert(valid, ElementType::I64)?;
        let before = b.plain("Subtract", &[valid, queries])?;
        offset = Some(b.reshape(before, &[-1, 1, 1, 1])?);
    }
    let side = |b: &NodeBuilder, name| Ok::<_, OpError>(b.attrs.int(name)?.filter(|&reach| reach >= 0));
    let (left, mut right) = (side(b, "left_window_size")?, side(b, "right_window_size")?);
    if b.flag("is_causal", false)? {
        right = Some(0);
    }
    if let Some(seen) = (Window { left, right, offset }).seen(b, queries, keys)? {
        bias = Some(masked(b, bias, seen, real)?);
    }
    if let Some(valid) = valid {
        let valid = b.convert(valid, ElementType::I64)?;
        let (valid, places) = (b.reshape(valid, &[-1, 1, 1, 1])?, b.count_to(keys)?);
        let seen = b.plain("Less", &[places, valid])?;
        bias = Some(masked(b, bias, seen, real)?);
    }
    if if flat { q_heads != kv_heads } else { differ(b, q, k) } {
        k = repeated_heads(b, k, q)?;
        v = repeated_heads(b, v, q)?;
    }
    let scale = b.attrs.float("scale")?;
    let (cap, precision) = (b.float("softcap", 0.0)?, b.type_attr("softmax_precision")?);
    let (mut y, stages) = Scores { q, k, v, bias, scale, cap, precision, sink: None }.mix(b)?;
    if flat {
        y = heads_together(b, y)?;
    }
    let stage = usize::try_from(b.int("qk_matmul_output_mode", 0)?).ok();
    let stage = stage.and_then(|stage| stages.get(stage));
    let stage = *stage.ok_or_else(|| b.attrs.bad("qk_matmul_output_mode", "0 to 3"))?;
    Ok(vec![y, present_k, present_v, stage])
}

/// Whether queries and keys may have different numbers of heads.
fn differ(b: &NodeBuilder, q: Value, k: Value) -> bool {
    let heads = b.fixed_size(q, 1);
    heads.is_none() || heads != b.fixed_size(k, 1)
}

/// A mask as what is added to scores: minus infinity where it says no, and behind its end.
fn bias_of(b: &mut NodeBuilder, mask: Value, keys: Value, real: ElementType) -> Result {
    let mut bias = mask;
    if b.element_type(mask)? == ElementType::Boolean {
        bias = masked(b, None, mask, real)?;
    }
    let rank = b.rank(mask)?;
    let have = b.size(mask, -1)?;
    let more = b.plain("Subtract", &[keys, have])?;
    let zero = b.vector(&[0])?;
    let more = b.plain("Maximum", &[more, zero])?;
    let begin = b.vector(&vec![0; rank])?;
    let front = b.vector(&vec![0; rank.saturating_sub(1)])?;
    let end = b.join(&[front, more])?;
    let low = b.number(real, f64::NEG_INFINITY)?;
    b.make("Pad", Attrs::new().with("pad_mode", "constant"), &[bias, begin, end, low])
}

/// A depthwise convolution that sees what came before; the second output is what the next call needs of it.
fn causal_convolution(b: &mut NodeBuilder) -> Result<Vec<Value>, OpError> {
    let (x, w) = (b.input(0)?, b.input(1)?);
    let dims = b.dims(w).filter(|dims| dims.len() == 3);
    let dims = dims.ok_or_else(|| OpError::unsupported("filters of unknown size"))?;
    let before = dims[2].saturating_sub(1) as i64;
    let past = match b.optional(3) {
        Some(past) => past,
        None => {
            let (shape, zero) = (b.shape_of(x)?, b.number_like(x, 0.0)?);
            let (front, length) = (b.part(shape, 0, 2)?, b.vector(&[before])?);
            let sizes = b.join(&[front, length])?;
            b.filled(zero, sizes)?
        }
    };
    let all = b.concat(2, &[past, x])?;
    let filters = b.reshape(w, &[dims[0] as i64, 1, 1, dims[2] as i64])?;
    let attrs = Attrs::new().with("strides", list(&[1])).with("dilations", list(&[1]));
    let attrs = attrs.with("pads_begin", list(&[0])).with("pads_end", list(&[0]));
    let mut y = b.make("GroupConvolution", attrs, &[all, filters])?;
    if let Some(bias) = b.optional(2) {
        let bias = b.reshape(bias, &[-1, 1])?;
        y = b.plain("Add", &[y, bias])?;
    }
    match b.text("activation", "none")? {
        "none" => {}
        "silu" | "swish" => y = b.plain("Swish", &[y])?,
        _ => return Err(b.attrs.bad("activation", "none, silu or swish")),
    }
    // The last places: what is left behind the size of the input.
    let (start, stop) = (b.size(x, 2)?, b.vector(&[i64::MAX])?);
    let (step, axis) = (b.vector(&[1])?, b.vector(&[2])?);
    let state = b.plain("Slice", &[all, start, stop, step, axis])?;
    Ok(vec![y, state])
}

/// Pairs of elements turned by angles whose cosines and sines are given, by position if there are positions.
fn rotary_embedding(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let (mut tables, positions) = ([b.input(1)?, b.input(2)?], b.optional(3));
    if let Some(positions) = positions {
        for table in &mut tables {
            *table = b.gather(*table, positions, 0)?;
        }
    }
    let (turned, interleaved) = (b.int("rotary_embedding_dim", 0)?, b.flag("interleaved", false)?);
    let heads = b.int("num_heads", 0)?;
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

/// The first `turned` elements of the last of four axes, all if that is 0, turned by angles
/// `[batch, length, pairs]`. Pairs stand together, or one half behind the other.
pub(super) fn rotated(
    b: &mut NodeBuilder,
    x: Value,
    tables: [Value; 2],
    turned: i64,
    interleaved: bool,
) -> Result {
    let (part, rest) = match turned {
        0 => (x, None),
        _ => (b.range_of(x, -1, 0, turned)?, Some(b.range_of(x, -1, turned, i64::MAX)?)),
    };
    // Beside the heads.
    let (cos, sin) = (b.unsqueeze(tables[0], &[1])?, b.unsqueeze(tables[1], &[1])?);
    let pairs = if interleaved {
        let sizes = b.vector(&[0, 0, 0, -1, 2])?;
        let apart = b.reshape_to(part, sizes)?;
        let halves = b.parts(apart, -1, 2)?;
        [b.squeeze(halves[0], &[-1])?, b.squeeze(halves[1], &[-1])?]
    } else {
        let halves = b.parts(part, -1, 2)?;
        [halves[0], halves[1]]
    };
    let mut product = |x: Value, y: Value| b.plain("Multiply", &[x, y]);
    let of_real = [product(pairs[0], cos)?, product(pairs[1], sin)?];
    let of_imaginary = [product(pairs[0], sin)?, product(pairs[1], cos)?];
    let real = b.plain("Subtract", &of_real)?;
    let imaginary = b.plain("Add", &of_imaginary)?;
    let y = if interleaved {
        let pair = [b.unsqueeze(real, &[-1])?, b.unsqueeze(imaginary, &[-1])?];
        let pair = b.concat(-1, &pair)?;
        let sizes = b.vector(&[0, 0, 0, -1])?;
        b.reshape_to(pair, sizes)?
    } else {
        b.concat(-1, &[real, imaginary])?
    };
    match rest {
        Some(rest) => b.concat(-1, &[y, rest]),
        None => Ok(y),
    }
}
