//! Losses: how far scores of classes are from the right classes.

use snick_ir::{Attrs, Value};
use snick_tensor::ElementType;

use super::elementwise::divide;
use super::{ImportEntry, many, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("NegativeLogLikelihoodLoss", &[12, 13, 22], |b| {
        let scores = b.input(0)?;
        likelihood(b, scores)
    }),
    many("SoftmaxCrossEntropyLoss", &[12, 13], |b| {
        let scores = b.input(0)?;
        let scores = b.make("LogSoftmax", Attrs::new().with("axis", 1), &[scores])?;
        Ok(vec![likelihood(b, scores)?, scores])
    }),
];

/// The negated logarithm at each right class, weighted by class, without what has the class to ignore.
fn likelihood(b: &mut NodeBuilder, scores: Value) -> Result {
    let target = b.input(1)?;
    let mut target = b.convert(target, ElementType::I64)?;
    let (zero, unit) = (b.number_like(scores, 0.0)?, b.number_like(scores, 1.0)?);
    let mut ignored = None;
    if let Some(class) = b.attrs.int("ignore_index")? {
        let (class, first) = (b.index(class)?, b.index(0)?);
        let equal = b.plain("Equal", &[target, class])?;
        target = b.plain("Select", &[equal, first, target])?;
        ignored = Some(equal);
    }
    let places = b.unsqueeze(target, &[1])?;
    let picked = b.make("GatherElements", Attrs::new().with("axis", 1), &[scores, places])?;
    let picked = b.squeeze(picked, &[1])?;
    let mut loss = b.plain("Negative", &[picked])?;
    let mut weights = match b.optional(2) {
        Some(weights) => Some(b.gather(weights, target, 0)?),
        None => None,
    };
    if let Some(ignored) = ignored {
        weights = Some(b.plain("Select", &[ignored, zero, weights.unwrap_or(unit)])?);
    }
    if let Some(weights) = weights {
        loss = b.plain("Multiply", &[loss, weights])?;
    }
    let all: Vec<i64> = (0..).take(b.rank(target)?).collect();
    match (b.text("reduction", "mean")?, weights) {
        ("none", _) => Ok(loss),
        ("sum", _) => b.reduced("ReduceSum", loss, &all, false),
        ("mean", None) => b.reduced("ReduceMean", loss, &all, false),
        ("mean", Some(weights)) => {
            let loss = b.reduced("ReduceSum", loss, &all, false)?;
            let weight = b.reduced("ReduceSum", weights, &all, false)?;
            divide(b, loss, weight)
        }
        _ => Err(b.attrs.bad("reduction", "none, sum or mean")),
    }
}
