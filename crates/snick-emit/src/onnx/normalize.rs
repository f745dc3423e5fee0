//! Normalisations that ONNX has an operator for.

use snick_ir::Op;

use super::emitter::{Emitter, Result, float, int};
use super::row::OpRow;
use super::types::{FLOATS, FLOATS_TO_32_BITS};
use crate::layer::{Layer, op};

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::BatchNormInference(_) => OpRow::new(batch_norm).lacks(FLOATS),
        Op::GroupNormalization(_) => OpRow::new(group_normalization).lacks(FLOATS_TO_32_BITS),
        Op::Lrn(_) => OpRow::new(lrn).lacks(FLOATS_TO_32_BITS).only(is_across_channels),
        Op::LogSoftmax(_) => OpRow::new(|e| softmax(e, "LogSoftmax")).floats(),
        Op::Softmax(_) => OpRow::new(|e| softmax(e, "Softmax")).floats(),
        _ => return None,
    })
}

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

/// ONNX Runtime takes images only.
fn is_across_channels(layer: &Layer) -> bool {
    let is_of_images = layer.fact(0).is_ok_and(|fact| fact.shape.rank() == Some(4));
    is_of_images && layer.known(1).is_some_and(|axes| axes == [1])
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
