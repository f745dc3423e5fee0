//! ScaledDotProductAttention-13.

use snick_shape::{Shape, SymExpr};
use snick_tensor::kernels::{self, BinaryOp};
use snick_tensor::{ElementType, SmallVector, Tensor};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpCost, OpError, leading};

op! {
    /// Scaled dot-product attention: `softmax(query @ key^T * scale + mask) @ value`. Output: `[N.., L, V]`.
    /// Inputs:
    ///
    /// - Query `[N.., L, E]`, key `[N.., S, E]` and value `[N.., S, V]`.
    /// - Optional mask, broadcast to `[N.., L, S]`: booleans select keys, numbers are added to the scores.
    /// - Optional scale, by default `1 / sqrt(E)`.
    /// - Optional sink, broadcast to `[N.., L, 1]`: an extra score per query in the softmax, without a value.
    ///
    /// If there is a single query, the mask may have several rows; the output then has as many rows as the
    /// mask.
    #[op(
        "ScaledDotProductAttention", since = [13], inputs = Arity::between(3, 6),
        category = Product, traits = [PURE]
    )]
    pub struct ScaledDotProductAttention {
        /// Whether query `i` attends only to keys 0 to `i`; if so, the mask is ignored.
        pub causal: bool = false,
    }
}

impl InferOp for ScaledDotProductAttention {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = operand_type(cx)?;
        for i in 0..3 {
            cx.expect_rank(i, "3 or more", |rank| rank >= 3)?;
        }
        if let Some(scale) = cx.optional(4) {
            let one = scale.shape.dims().is_none_or(|dims| match dims {
                [] => true,
                [only] => cx.interval(only).contains(1),
                _ => false,
            });
            if !one {
                return Err(OpError::mismatch("the scale", "not a single element", "a single element"));
            }
        }
        let (Some(query), Some(key), Some(value)) =
            (split(cx.shape(0)), split(cx.shape(1)), split(cx.shape(2)))
        else {
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        if cx.merge(query.last, key.last).is_none() {
            return Err(cx.conflict("cannot multiply queries {} with keys {}", cx.shape(0), cx.shape(1)));
        }
        let Some(keys) = cx.merge(key.rows, value.rows) else {
            return Err(cx.conflict("keys are {}, values {}", cx.shape(1), cx.shape(2)));
        };
        let shape = |dims: &[SymExpr]| Shape::ranked(dims.iter().cloned());
        let mut batch = cx.broadcast(&shape(query.batch), &shape(key.batch))?;
        batch = cx.broadcast(&batch, &shape(value.batch))?;
        let mut rows = query.rows.clone();
        match cx.optional(3).filter(|_| !self.causal).map(|mask| &mask.shape) {
            None => (),
            Some(mask) if mask.rank() == Some(0) => (),
            Some(mask) if mask.rank() == Some(1) => {
                return Err(OpError::rank("input 3", 1, "0, or 2 or more"));
            }
            Some(mask) => {
                let Some(mask) = split(mask) else {
                    // A mask of unknown rank may have more axes than the query, so the rank of the output is
                    // unknown.
                    return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
                };
                let mut fitted = |size: &SymExpr, mine: &SymExpr| {
                    cx.broadcast_dim(size, mine).ok_or_else(|| {
                        OpError::conflict(
                            "cannot broadcast the mask: {} and {} differ",
                            cx.interval(mine),
                            cx.interval(size),
                        )
                    })
                };
                fitted(&keys, mask.last)?;
                rows = fitted(&rows, mask.rows)?;
                batch = cx.broadcast(&batch, &shape(mask.batch))?;
            }
        }
        if let Some(sink) = cx.optional(5) {
            check_sink(cx, &sink.shape, query.batch, &rows)?;
        }
        let mut dims: SmallVector<SymExpr, 4> = batch.dims().unwrap_or_default().into();
        dims.extend([rows, value.last.clone()]);
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
    }

    fn cost(&self, inputs: &[&Fact], output: &Fact) -> Option<OpCost> {
        let [query, value] = [inputs[0].shape.dims()?, inputs[2].shape.dims()?];
        let [.., keys, value_width] = value else { return None };
        let (_, rows) = output.shape.dims()?.split_last()?;
        let per_width = |width: &SymExpr| [rows, &[keys.clone(), width.clone()]].concat();
        Some(OpCost::MultiplyAdds(vec![per_width(query.last()?), per_width(value_width)]))
    }
}

impl EvalOp for ScaledDotProductAttention {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let ([query, key, value], rest) = leading(inputs)?;
        let element_type = query.element_type();
        let wide = if element_type == ElementType::F64 { ElementType::F64 } else { ElementType::F32 };
        let (query, key, value) = (query.cast(wide)?, key.cast(wide)?, value.cast(wide)?);
        let depth = query.dims().last().copied().unwrap_or(1);
        let scale = match rest.get(1) {
            Some(scale) => scale.cast(wide)?.reshape(&[])?,
            None => Tensor::scalar(1.0 / (depth.max(1) as f64).sqrt()).cast(wide)?,
        };
        let query = BinaryOp::Mul.apply(&query, &scale)?;
        // Some models pass a scalar 0 instead of omitting the mask.
        let mask = rest.first().filter(|mask| mask.rank() > 0 || mask.element_type() == ElementType::Boolean);
        if mask.is_none() && !self.causal && rest.get(2).is_none() && query.rank() > 2 {
            return Ok(vec![kernels::attention(&query, &key, &value)?.cast(element_type)?]);
        }
        let scores = kernels::matmul(&query, &key, false, true)?;
        let [.., rows, keys] = scores.dims() else {
            return Err(OpError::rank("query", query.rank(), "3 or more"));
        };
        let (rows, keys) = (*rows, *keys);
        let mask = if self.causal {
            // The mask is the lower triangle: query i attends to key j if j <= i.
            let seen: Vec<bool> = (0..rows).flat_map(|i| (0..keys).map(move |j| j <= i)).collect();
            Some(Tensor::from_bools(&[rows, keys], &seen)?)
        } else {
            mask.cloned()
        };
        let scores = match mask {
            None => scores,
            Some(mask) => {
                check_mask(&mask, rows, keys)?;
                let masked = if mask.element_type() == ElementType::Boolean {
                    let never = Tensor::scalar(f64::NEG_INFINITY).cast(wide)?;
                    kernels::select(&mask, &scores, &never)?
                } else {
                    BinaryOp::Add.apply(&scores, &mask.cast(wide)?)?
                };
                // Free the scores early, because they take the most memory.
                drop(scores);
                masked
            }
        };
        let weights = match rest.get(2) {
            None => kernels::softmax(&scores, scores.rank().saturating_sub(1))?,
            Some(sink) => softmax_with_sink(&scores, &sink.cast(wide)?)?,
        };
        Ok(vec![kernels::matmul(&weights, &value, false, false)?.cast(element_type)?])
    }
}

/// Requires the sink to have the same rank as the query and to broadcast to one column of the scores.
fn check_sink(cx: &mut Infer, sink: &Shape, batch: &[SymExpr], rows: &SymExpr) -> Result<(), OpError> {
    let Some(dims) = sink.dims() else { return Ok(()) };
    if dims.len() != batch.len() + 2 {
        return Err(OpError::rank("input 5", dims.len(), format!("{}, as the queries", batch.len() + 2)));
    }
    let conflict = |cx: &Infer, mine, size: &SymExpr| {
        let (mine, size) = (cx.interval(mine), cx.interval(size));
        Err(OpError::conflict("cannot broadcast the sink: {} and {} differ", mine, size))
    };
    for (size, mine) in batch.iter().chain([rows]).zip(dims) {
        if cx.broadcast_dim(size, mine).is_none() {
            return conflict(cx, mine, size);
        }
    }
    match dims.last() {
        Some(last) if !cx.interval(last).contains(1) => conflict(cx, last, &SymExpr::Const(1)),
        _ => Ok(()),
    }
}

/// The softmax over the scores and the sink. The sink takes part as an extra column, which the result omits.
fn softmax_with_sink(scores: &Tensor, sink: &Tensor) -> Result<Tensor, OpError> {
    let axis = scores.rank().saturating_sub(1);
    let mut column = scores.dims().to_vec();
    let keys = std::mem::replace(&mut column[axis], 1);
    let sink = sink.broadcast_to(&column)?;
    let shares = kernels::softmax(&kernels::concat(&[scores, &sink], axis)?, axis)?;
    Ok(shares.slice(axis, 0, keys, 1)?)
}

/// Requires the last axis of the mask to match the scores or to be 1. With a single query, the mask may have
/// any number of rows.
fn check_mask(mask: &Tensor, rows: usize, keys: usize) -> Result<(), OpError> {
    let last = |dim: usize| dim == 1 || dim == keys;
    let fits = match *mask.dims() {
        [.., many, one] => (many == 1 || rows == 1 || many == rows) && last(one),
        [one] => last(one),
        [] => true,
    };
    if fits {
        return Ok(());
    }
    Err(OpError::dims_conflict("cannot broadcast the mask {} to scores {}", mask.dims(), &[rows, keys]))
}

/// A batch of matrices.
struct Matrices<'a> {
    batch: &'a [SymExpr],
    rows: &'a SymExpr,
    last: &'a SymExpr,
}

fn split(shape: &Shape) -> Option<Matrices<'_>> {
    match shape.dims()? {
        [batch @ .., rows, last] => Some(Matrices { batch, rows, last }),
        _ => None,
    }
}

/// The common floating-point type of all inputs, except for a boolean mask.
fn operand_type(cx: &mut Infer) -> Result<ElementType, OpError> {
    let boolean_mask = cx.optional(3).is_some_and(|mask| mask.element_type == ElementType::Boolean);
    let element_type = cx.common_type((0..cx.len()).filter(|&i| i != 3 || !boolean_mask));
    if element_type == ElementType::Dynamic || element_type.is_float() {
        return Ok(element_type);
    }
    Err(OpError::element_type("the inputs", element_type, "a floating-point type"))
}

#[cfg(test)]
mod tests {
    use snick_tensor::Tensor;

    use super::ScaledDotProductAttention;
    use crate::{EvalOp, infer, text};

    #[test]
    fn a_sink_takes_its_share() {
        let zeros = |dims: &[usize]| Tensor::zeros(snick_tensor::ElementType::F32, dims).unwrap();
        let ones = Tensor::full(&[1, 3, 2], 1f32).unwrap();
        let (mask, scale) = (Tensor::scalar(0f32), Tensor::scalar(1f32));
        let sink = Tensor::from_slice(&[0f32, f32::NEG_INFINITY], &[1, 2, 1]).unwrap();
        let inputs = [zeros(&[1, 2, 4]), zeros(&[1, 3, 4]), ones, mask, scale, sink];
        let out = ScaledDotProductAttention { causal: false }.eval(&inputs).unwrap();
        // Query 0 has three equal scores and a sink of the same score; the sink of query 1 is too small to
        // matter.
        assert_eq!(out[0].to_f32_vec().unwrap(), [0.75, 0.75, 1., 1.]);
    }

    #[test]
    fn a_sink_broadcasts_to_a_column_of_the_scores() {
        for (sink, fits) in [
            ("1,4,1,1", true),
            ("1,4,2,1", true),
            ("?,?,?,?", true),
            ("...", true),
            ("4,1,1", false),
            ("", false),
            ("1,4,1,2", false),
            ("1,3,1,1", false),
            ("1,4,5,1", false),
        ] {
            let parameter = |(name, shape): (&str, &str)| {
                format!("%{name} = Parameter-1 {{element_type: f32, shape: \"{shape}\"}}\n")
            };
            let shapes =
                [("q", "1,4,2,8"), ("k", "1,4,3,8"), ("v", "1,4,3,5"), ("m", ""), ("s", ""), ("t", sink)];
            let layers: String = shapes.into_iter().map(parameter).collect();
            let attention = "ScaledDotProductAttention-13(%q, %k, %v, %m, %s, %t) {causal: false}";
            let text = format!("snick 1\ngraph \"g\" {{\n{layers}%a = {attention}\n%y = Result-1(%a)\n}}\n");
            let mut graph = text::parse(&text, None).unwrap();
            assert_eq!(infer(&mut graph).is_empty(), fits, "{sink}");
            let out = &graph.node(graph.results().next().unwrap()).outs()[0];
            assert!(!fits || out.fact.shape.as_static().unwrap().as_slice() == [1, 4, 2, 5], "{sink}");
        }
    }
}
