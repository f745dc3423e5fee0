//! ScaledDotProductAttention-13.

use smallvec::SmallVec;
use snick_shape::{Shape, SymExpr};
use snick_tensor::kernels::{self, BinaryOp};
use snick_tensor::{ElementType, Tensor};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, leading};

op! {
    /// `softmax(query key^T scale + mask) value`. Inputs: query `[N.., L, E]`, key `[N.., S, E]`, value `[N.., S, V]`,
    /// optionally a mask that broadcasts to `[N.., L, S]` (boolean: which keys take part; real: what is added to the
    /// scores) and a scale, `1 / sqrt(E)` by default. Output `[N.., L, V]`; a single query has a row of output for every
    /// row of the mask.
    #[op("ScaledDotProductAttention", since = [13], inputs = Arity::between(3, 5), traits = [PURE])]
    pub struct ScaledDotProductAttention {
        /// Whether query `i` sees keys up to `i` only; the mask is ignored then.
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
                    // The mask may have more axes than the query.
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
        let mut dims: SmallVec<[SymExpr; 4]> = batch.dims().unwrap_or_default().into();
        dims.extend([rows, value.last.clone()]);
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
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
        let scores = kernels::matmul(&BinaryOp::Mul.apply(&query, &scale)?, &key, false, true)?;
        let [.., rows, keys] = scores.dims() else {
            return Err(OpError::rank("query", query.rank(), "3 or more"));
        };
        let (rows, keys) = (*rows, *keys);
        let mask = if self.causal {
            // Lower triangle: query i sees key j if j <= i.
            let seen: Vec<bool> = (0..rows).flat_map(|i| (0..keys).map(move |j| j <= i)).collect();
            Some(Tensor::from_bools(&[rows, keys], &seen)?)
        } else {
            // Models pass a scalar 0 for no mask.
            rest.first()
                .filter(|mask| mask.rank() > 0 || mask.element_type() == ElementType::Boolean)
                .cloned()
        };
        let scores = match mask {
            None => scores,
            Some(mask) => {
                check_mask(&mask, rows, keys)?;
                let added = if mask.element_type() == ElementType::Boolean {
                    let none = Tensor::scalar(f64::NEG_INFINITY).cast(wide)?;
                    kernels::select(&mask, &Tensor::scalar(0.0).cast(wide)?, &none)?
                } else {
                    mask.cast(wide)?
                };
                BinaryOp::Add.apply(&scores, &added)?
            }
        };
        let weights = kernels::softmax(&scores, scores.rank().saturating_sub(1))?;
        Ok(vec![kernels::matmul(&weights, &value, false, false)?.cast(element_type)?])
    }
}

/// Requires a mask whose last axis is that of the scores, or 1; a single query may have a mask of any number of rows.
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

/// The common real type of all inputs; a mask may be boolean instead.
fn operand_type(cx: &mut Infer) -> Result<ElementType, OpError> {
    let boolean_mask = cx.optional(3).is_some_and(|mask| mask.element_type == ElementType::Boolean);
    let element_type = cx.common_type((0..cx.len()).filter(|&i| i != 3 || !boolean_mask));
    if element_type == ElementType::Dynamic || element_type.is_float() {
        return Ok(element_type);
    }
    Err(OpError::element_type("the inputs", element_type, "a floating-point type"))
}
