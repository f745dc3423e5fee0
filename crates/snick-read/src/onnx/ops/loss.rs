//! Classification losses.

use snick_ir::Value;
use snick_tensor::ElementType;

use super::{ImportEntry, many, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("NegativeLogLikelihoodLoss", &[12, 13, 22], |b| {
        let scores = b.input(0)?;
        likelihood(b, scores)
    })
    .attrs("ignore_index reduction"),
    many("SoftmaxCrossEntropyLoss", &[12, 13], |b| {
        let scores = b.input(0)?;
        let scores = b.log_softmax(scores, 1)?;
        Ok(vec![likelihood(b, scores)?, scores])
    })
    .attrs("ignore_index reduction"),
];

/// The negative log likelihood of the target classes, weighted by class. If the node has an ignored class,
/// targets of that class do not count.
fn likelihood(b: &mut NodeBuilder, scores: Value) -> Result {
    let target = b.input(1)?;
    let mut target = b.convert(target, ElementType::I64)?;
    let (zero, unit) = (b.scalar_like(scores, 0.0)?, b.scalar_like(scores, 1.0)?);
    let mut ignored = None;
    if let Some(class) = b.attrs.int("ignore_index")? {
        let (class, first) = (b.int(class)?, b.int(0)?);
        let equal = b.equal(target, class)?;
        target = b.select(equal, first, target)?;
        ignored = Some(equal);
    }
    let places = b.unsqueeze(target, &[1])?;
    let picked = b.gather_elements(scores, places, 1)?;
    let picked = b.squeeze(picked, &[1])?;
    let mut loss = b.negative(picked)?;
    let mut weights = match b.optional(2) {
        Some(weights) => Some(b.gather(weights, target, 0)?),
        None => None,
    };
    if let Some(ignored) = ignored {
        weights = Some(b.select(ignored, zero, weights.unwrap_or(unit))?);
    }
    if let Some(weights) = weights {
        loss = b.multiply(loss, weights)?;
    }
    let all: Vec<i64> = (0..).take(b.rank(target)?).collect();
    match (b.text_attr("reduction", "mean")?, weights) {
        ("none", _) => Ok(loss),
        ("sum", _) => b.reduce_sum(loss, &all, false),
        ("mean", None) => b.reduce_mean(loss, &all, false),
        ("mean", Some(weights)) => {
            let loss = b.reduce_sum(loss, &all, false)?;
            let weight = b.reduce_sum(weights, &all, false)?;
            b.divide(loss, weight)
        }
        _ => Err(b.attrs.bad("reduction", "none, sum or mean")),
    }
}
