//! Normalisations that ONNX has an operator for.

use super::emitter::{Emitter, Result, float, int};
use super::rule::EmitRule::Custom;
use super::rule::OpRow;
use super::types::FLOATS;
use crate::layer::op;

pub(super) const ROWS: &[OpRow] = &[
    OpRow::new("BatchNormInference", Custom(batch_norm)),
    OpRow::new("GroupNormalization", Custom(group_normalization)).lacks(FLOATS),
    OpRow::new("LRN", Custom(lrn)).only(|layer| layer.known(1).is_some_and(|axes| axes == [1])),
    OpRow::new("LogSoftmax", Custom(|e| softmax(e, "LogSoftmax"))),
    OpRow::new("SoftMax", Custom(|e| softmax(e, "Softmax"))),
];

fn softmax(e: &mut Emitter, op: &str) -> Result {
    let axis = e.int("axis")?;
    e.last(op, &e.inputs(), vec![int("axis", axis)])
}

fn batch_norm(e: &mut Emitter) -> Result {
    let op = op!(e, BatchNormInference);
    let inputs = op.order().map(|i| e.input(i)).into_iter().collect::<Result<Vec<_>, _>>()?;
    e.last("BatchNormalization", &inputs, vec![float("epsilon", op.epsilon)])
}

fn group_normalization(e: &mut Emitter) -> Result {
    let op = op!(e, GroupNormalization);
    let attrs = vec![int("num_groups", op.num_groups), float("epsilon", op.epsilon)];
    e.last("GroupNormalization", &e.inputs(), attrs)
}

/// As many neighbours on either side, where ONNX has one more behind for an even size.
fn lrn(e: &mut Emitter) -> Result {
    let op = op!(e, Lrn);
    let window = op.size.saturating_sub(1).max(0) / 2 * 2 + 1;
    let alpha = op.alpha * window as f64 / op.size as f64;
    let x = e.input(0)?;
    let attrs =
        vec![float("alpha", alpha), float("beta", op.beta), float("bias", op.bias), int("size", window)];
    e.last("LRN", &[x], attrs)
}
