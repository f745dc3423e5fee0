//! fuse-attention: one ScaledDotProductAttention instead of the layers of its decomposition.

use snick_ir::ops::{Arithmetic, AutoBroadcast, Compare, MatMul, ScaledDotProductAttention, Select};
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError, Value, normalize_axis};
use snick_shape::SymExpr;
use snick_tensor::ElementType;
use snick_tensor::kernels::{BinaryOp, CompareOp};

/// Fuses `softmax((query * scale) * key^T + mask) * value`, which is the result of decompose-attention. Omits
/// inputs of an attention that have no effect: a scalar mask, the default scale, and any mask if it is causal.
pub(crate) const RULE: Rule = Rule::exact("fuse-attention", apply).may_round_within(1e-5, 0.0);

fn apply(patch: &mut Patch) -> Result<RewriteResult, OpError> {
    let attention = match *patch.node().op() {
        Op::MatMul(MatMul { transpose_a: false, transpose_b: false }) => Attention::of_product(patch)?,
        Op::ScaledDotProductAttention(ref op) if patch.try_input(5).is_none() => {
            Attention::of_layer(patch, op.causal)?
        }
        _ => None,
    };
    let Some(attention) = attention else { return Ok(RewriteResult::NoMatch) };
    attention.add_to(patch).map(RewriteResult::one)
}

/// An attention, without inputs that have no effect.
struct Attention {
    query: Value,
    key: Value,
    value: Value,
    mask: Option<Value>,
    scale: Option<Value>,
    causal: bool,
}

impl Attention {
    /// The attention whose last step is the product at the root.
    fn of_product(patch: &Patch) -> Result<Option<Self>, OpError> {
        let (shares, value) = (patch.input(0)?, patch.input(1)?);
        let Some(masked) = softmax_of_rows(patch, shares)? else { return Ok(None) };
        let (mut scores, mut mask) = (masked, None);
        if let Some([unmasked, added]) = mask_of(patch, masked)? {
            (scores, mask) = (unmasked, Some(added));
        }
        let Op::MatMul(MatMul { transpose_a: false, transpose_b: true }) = patch.op_of(scores) else {
            return Ok(None);
        };
        let (scaled, key) = (patch.input_of(scores, 0)?, patch.input_of(scores, 1)?);
        let Some([query, scale]) = product_with_scalar(patch, scaled)? else { return Ok(None) };
        if [shares, masked, scores, scaled].iter().any(|&inner| !patch.is_read_once(inner)) {
            return Ok(None);
        }
        for matrices in [query, key, value] {
            if patch.dims(matrices)?.is_none_or(|dims| dims.len() < 3) {
                return Ok(None);
            }
        }
        let causal = match mask {
            Some(mask) => is_causal(patch, mask, scores)?,
            None => false,
        };
        let scale = Some(scale).filter(|&scale| !is_default(patch, query, scale));
        Ok(Some(Self { query, key, value, mask: mask.filter(|_| !causal), scale, causal }))
    }

    /// The attention at the root, if it has inputs without effect.
    fn of_layer(patch: &Patch, causal: bool) -> Result<Option<Self>, OpError> {
        let (query, key, value) = (patch.input(0)?, patch.input(1)?, patch.input(2)?);
        let (given, scale) = (patch.try_input(3), patch.try_input(4));
        let mut mask = given.filter(|_| !causal);
        if let Some(values) = mask
            && patch.element_type(values)? != ElementType::Boolean
            && patch.dims(values)?.is_some_and(|dims| dims.is_empty())
        {
            mask = None;
        }
        let needed = scale.filter(|&scale| !is_default(patch, query, scale));
        // Without a mask, an input for the scale needs a scalar before it.
        let is_placeholder = mask.is_none()
            && needed.is_some()
            && given.is_some_and(|given| patch.splat_value(given) == Some(0.0));
        let is_shortest = needed == scale && (mask == given || is_placeholder);
        Ok((!is_shortest).then_some(Self { query, key, value, mask, scale: needed, causal }))
    }

    fn add_to(self, patch: &Patch) -> Result<Value, OpError> {
        let mut inputs = vec![self.query, self.key, self.value];
        inputs.extend(self.mask);
        if let Some(scale) = self.scale {
            if self.mask.is_none() {
                inputs.push(patch.scalar_like(self.query, 0.0)?);
            }
            inputs.push(scale);
        }
        patch.add_op(ScaledDotProductAttention { causal: self.causal }, &inputs)
    }
}

/// The input of a softmax over the last axis.
fn softmax_of_rows(patch: &Patch, shares: Value) -> Result<Option<Value>, OpError> {
    let Op::Softmax(softmax) = patch.op_of(shares) else { return Ok(None) };
    let scores = patch.input_of(shares, 0)?;
    let Some(dims) = patch.dims(scores)? else { return Ok(None) };
    let is_last = normalize_axis(softmax.axis(), dims.len()).is_ok_and(|axis| axis + 1 == dims.len());
    Ok(is_last.then_some(scores))
}

/// The scores and the mask of masked scores.
fn mask_of(patch: &Patch, masked: Value) -> Result<Option<[Value; 2]>, OpError> {
    let inputs = patch.inputs_of(masked)?;
    let orders = match (patch.op_of(masked), &inputs[..]) {
        (
            Op::Arithmetic(Arithmetic { function: BinaryOp::Add, broadcast: AutoBroadcast::Numpy }),
            &[x, y],
        ) => vec![[x, y], [y, x]],
        (Op::Select(Select { broadcast: AutoBroadcast::Numpy }), &[mask, scores, never])
            if patch.splat_value(never) == Some(f64::NEG_INFINITY) =>
        {
            vec![[scores, mask]]
        }
        _ => return Ok(None),
    };
    for [scores, mask] in orders {
        if matches!(patch.op_of(scores), Op::MatMul(_)) && is_mask(patch, mask, scores)? {
            return Ok(Some([scores, mask]));
        }
    }
    Ok(None)
}

/// Whether a value has rows, and is not known to be larger than the scores.
fn is_mask(patch: &Patch, mask: Value, scores: Value) -> Result<bool, OpError> {
    let (Some(scores), Some(mask)) = (patch.dims(scores)?, patch.dims(mask)?) else { return Ok(false) };
    let is_larger = |(size, of_scores): (&SymExpr, &SymExpr)| match (size.as_const(), of_scores.as_const()) {
        (Some(size), Some(of_scores)) => size > of_scores,
        _ => false,
    };
    let mut pairs = mask.iter().rev().zip(scores.iter().rev());
    Ok((2..=scores.len()).contains(&mask.len()) && !pairs.any(is_larger))
}

/// The factors of a product, if one of them is a single number, which comes last.
fn product_with_scalar(patch: &Patch, product: Value) -> Result<Option<[Value; 2]>, OpError> {
    let Op::Arithmetic(Arithmetic { function: BinaryOp::Mul, broadcast: AutoBroadcast::Numpy }) =
        patch.op_of(product)
    else {
        return Ok(None);
    };
    let (x, y) = (patch.input_of(product, 0)?, patch.input_of(product, 1)?);
    for [x, scalar] in [[x, y], [y, x]] {
        let is_scalar = |dims: &[SymExpr]| matches!(dims, [] | [SymExpr::Const(1)]);
        if patch.dims(scalar)?.is_some_and(|dims| is_scalar(&dims)) {
            return Ok(Some([x, scalar]));
        }
    }
    Ok(None)
}

/// Whether the scale is the inverse square root of the depth of the query.
fn is_default(patch: &Patch, query: Value, scale: Value) -> bool {
    let depth = patch.dims(query).ok().flatten().and_then(|dims| dims.last()?.as_const());
    let (Some(depth), Some(scale)) = (depth, patch.splat_value(scale)) else { return false };
    let default = 1.0 / (depth.max(1) as f64).sqrt();
    match patch.element_type(query) {
        Ok(ElementType::F32) => scale as f32 == default as f32,
        Ok(ElementType::F64) => scale == default,
        _ => false,
    }
}

/// Whether a mask is true exactly if the number of the key does not exceed the number of the row: a constant, or
/// a comparison of these numbers.
fn is_causal(patch: &Patch, mask: Value, scores: Value) -> Result<bool, OpError> {
    let dims = patch.dims(scores)?.unwrap_or_default();
    let [.., rows, keys] = &dims[..] else { return Ok(false) };
    if let Some(seen) = patch.constant_value(mask) {
        let (Some(rows), Some(keys)) = (rows.as_const(), keys.as_const()) else { return Ok(false) };
        if seen.element_type() != ElementType::Boolean || seen.dims() != [rows as usize, keys as usize] {
            return Ok(false);
        }
        let triangle = (0..rows).flat_map(|i| (0..keys).map(move |j| j <= i));
        return Ok(seen.to_bools()?.into_iter().eq(triangle));
    }
    let Op::Compare(Compare { function: CompareOp::LessEqual, broadcast: AutoBroadcast::Numpy }) =
        patch.op_of(mask)
    else {
        return Ok(false);
    };
    let (key, row) = (patch.input_of(mask, 0)?, patch.input_of(mask, 1)?);
    let Op::Unsqueeze(_) = patch.op_of(row) else { return Ok(false) };
    let is_column = matches!(patch.dims(row)?.as_deref(), Some([_, SymExpr::Const(1)]));
    Ok(is_column && counts(patch, key, keys)? && counts(patch, patch.input_of(row, 0)?, rows)?)
}

/// Whether a vector is a Range of the numbers from 0 to `size - 1`.
fn counts(patch: &Patch, range: Value, size: &SymExpr) -> Result<bool, OpError> {
    let Op::Range(_) = patch.op_of(range) else { return Ok(false) };
    let mut bounds = Vec::new();
    for bound in patch.inputs_of(range)? {
        let Some(elements) = patch.fact(bound)?.elements() else { return Ok(false) };
        bounds.extend(elements);
    }
    Ok(bounds == [SymExpr::Const(0), size.clone(), SymExpr::Const(1)])
}

#[cfg(test)]
mod tests {
    use crate::testing::{fires, silent};

    const INPUTS: &str = "%q = Parameter-1 {element_type: f32, shape: \"B,2,L,4\"}
         %k = Parameter-1 {element_type: f32, shape: \"B,2,S,4\"}
         %v = Parameter-1 {element_type: f32, shape: \"B,2,S,3\"}
         %m = Parameter-1 {element_type: f32, shape: \"B,1,1,S\"}
         %b = Parameter-1 {element_type: boolean, shape: \"L,S\"}
         %half = Const-1 f32[] <0.5>
         %third = Const-1 f32[1] <0.3>
         %zero = Const-1 f32[] <0>
         %never = Const-1 f32[] <-inf>
";

    /// The attention of these layers after decompose-attention and fuse-attention, which must give the layer
    /// `fused`.
    fn survives(attention: &str, fused: &str) {
        let layers = format!("{INPUTS}%a = ScaledDotProductAttention-13({attention}\n%y = Result-1(%a)");
        let decomposed = fires("decompose-attention", &layers);
        let body = decomposed.split_once('{').unwrap().1.rsplit_once('}').unwrap().0;
        let text = fires("fuse-attention", body);
        let line = text.lines().find(|line| line.contains("ScaledDotProductAttention-13"));
        assert!(line.is_some_and(|line| line.contains(fused)), "{text}");
    }

    #[test]
    fn decomposed_attention_is_fused() {
        survives("%q, %k, %v) {causal: false}", "(%q, %k, %v) {causal: false}");
        survives("%q, %k, %v, %m) {causal: false}", "(%q, %k, %v, %m) {causal: false}");
        survives("%q, %k, %v, %b) {causal: false}", "(%q, %k, %v, %b) {causal: false}");
        survives("%q, %k, %v, %m, %third) {causal: false}", "(%q, %k, %v, %m, %third) {causal: false}");
        survives("%q, %k, %v, %m, %half) {causal: false}", "(%q, %k, %v, %m) {causal: false}");
        survives("%q, %k, %v) {causal: true}", "(%q, %k, %v) {causal: true}");
    }

    #[test]
    fn a_causal_mask_may_be_a_constant() {
        let masked = |mask: &str| {
            format!(
                "%q = Parameter-1 {{element_type: f32, shape: \"1,2,4\"}}
                 %k = Parameter-1 {{element_type: f32, shape: \"1,3,4\"}}
                 %mask = Const-1 boolean[2, 3] <{mask}>
                 %half = Const-1 f32[] <0.5>
                 %never = Const-1 f32[] <-inf>
                 %scaled = Multiply-1(%q, %half)
                 %scores = MatMul-1(%scaled, %k) {{transpose_b: true}}
                 %masked = Select-1(%mask, %scores, %never)
                 %shares = SoftMax-8(%masked) {{axis: 2}}
                 %a = MatMul-1(%shares, %k)
                 %y = Result-1(%a)"
            )
        };
        let text = fires("fuse-attention", &masked("1, 0, 0, 1, 1, 0"));
        assert!(text.contains("(%q, %k, %k) {causal: true}"), "{text}");
        let text = fires("fuse-attention", &masked("1, 1, 0, 1, 1, 0"));
        assert!(text.contains("(%q, %k, %k, %mask) {causal: false}"), "{text}");
    }

    #[test]
    fn inputs_without_effect_are_omitted() {
        for (inputs, left) in [
            ("%q, %k, %v, %zero) {causal: false}", "(%q, %k, %v) {causal: false}"),
            ("%q, %k, %v, %zero, %half) {causal: false}", "(%q, %k, %v) {causal: false}"),
            ("%q, %k, %v, %b) {causal: true}", "(%q, %k, %v) {causal: true}"),
            ("%q, %k, %v, %half, %third) {causal: false}", "(%q, %k, %v, %a/Const, %third) {causal: false}"),
        ] {
            let layers = format!("{INPUTS}%a = ScaledDotProductAttention-13({inputs}\n%y = Result-1(%a)");
            let text = fires("fuse-attention", &layers);
            assert!(text.contains(left), "{text}");
        }
    }

    #[test]
    fn other_layers_are_kept() {
        for layers in [
            "%y = ScaledDotProductAttention-13(%q, %k, %v) {causal: false}",
            "%y = ScaledDotProductAttention-13(%q, %k, %v, %zero, %third) {causal: false}",
            // The scores are read twice.
            "%scaled = Multiply-1(%q, %half)
             %scores = MatMul-1(%scaled, %k) {transpose_b: true}
             %r2 = Result-1(%scores)
             %shares = SoftMax-8(%scores) {axis: 3}
             %y = MatMul-1(%shares, %v)",
            // A softmax over the queries.
            "%scaled = Multiply-1(%q, %half)
             %scores = MatMul-1(%scaled, %k) {transpose_b: true}
             %shares = SoftMax-8(%scores) {axis: 2}
             %y = MatMul-1(%shares, %v)",
            // Masked scores become 0.
            "%scaled = Multiply-1(%q, %half)
             %scores = MatMul-1(%scaled, %k) {transpose_b: true}
             %masked = Select-1(%b, %scores, %zero)
             %shares = SoftMax-8(%masked) {axis: 3}
             %y = MatMul-1(%shares, %v)",
            // The mask makes the scores larger.
            "%one = Const-1 i64[1] <1>
             %row = ReduceSum-1(%q, %one) {keep_dims: true}
             %large = Const-1 f32[2,1,1] <0, 1>
             %scaled = Multiply-1(%row, %half)
             %scores = MatMul-1(%scaled, %row) {transpose_b: true}
             %masked = Add-1(%scores, %large)
             %shares = SoftMax-8(%masked) {axis: 3}
             %y = MatMul-1(%shares, %row)",
        ] {
            silent("fuse-attention", &format!("{INPUTS}{layers}\n%r = Result-1(%y)"));
        }
    }
}
