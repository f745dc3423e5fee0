//! Normalisations for which ONNX has operators.

use snick_ir::Op;
use snick_ir::ops::{BatchNormInference, GroupNormalization, Lrn};

use super::emitter::{Emitter, Result, float, int, ints};
use super::row::OpRow;
use super::types::{FLOATS, FLOATS_TO_32_BITS};
use crate::layer::Layer;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::BatchNormInference(op) => OpRow::new(|e| batch_norm(e, op)).lacks(FLOATS),
        Op::GroupNormalization(op) => OpRow::new(|e| group_normalization(e, op)).lacks(FLOATS_TO_32_BITS),
        Op::Lrn(op) => OpRow::new(|e| lrn(e, op)).lacks(FLOATS_TO_32_BITS).only(is_across_channels),
        Op::LogSoftmax(op) => OpRow::new(|e| softmax(e, "LogSoftmax", op.axis)).floats(),
        Op::Softmax(op) => OpRow::new(|e| softmax(e, "Softmax", op.axis())).floats(),
        _ => return None,
    })
}

/// Before opset 13, the axis and all later ones are treated as one, so the axis is moved to the end.
fn softmax(e: &mut Emitter, op: &str, axis: i64) -> Result {
    if e.is_older(13) {
        let rank = e.rank(0)?;
        let along = snick_ir::normalize_axis(axis, rank)?;
        if along + 1 < rank {
            let mut order: Vec<i64> = (0..rank as i64).collect();
            order.swap(along, rank - 1);
            let x = e.transposed(&e.input(0)?, &order);
            let y = e.node(op, &[x], vec![int("axis", -1)]);
            return e.last("Transpose", &[y], vec![ints("perm", order)]);
        }
    }
    e.last(op, &e.inputs(), vec![int("axis", axis)])
}

fn batch_norm(e: &mut Emitter, op: &BatchNormInference) -> Result {
    let inputs = op.order().map(|i| e.input(i)).into_iter().collect::<Result<Vec<_>, _>>()?;
    e.last("BatchNormalization", &inputs, vec![float("epsilon", op.epsilon)])
}

fn group_normalization(e: &mut Emitter, op: &GroupNormalization) -> Result {
    let attrs = vec![int("num_groups", op.num_groups), float("epsilon", op.epsilon)];
    e.last("GroupNormalization", &e.inputs(), attrs)
}

/// ONNX Runtime only supports 4-D images.
fn is_across_channels(layer: &Layer) -> bool {
    let is_of_images = layer.fact(0).is_ok_and(|fact| fact.shape.rank() == Some(4));
    is_of_images && layer.known(1).is_some_and(|axes| axes == [1])
}

/// The layer averages over the same number of neighbours on both sides. For an even size, ONNX would include
/// one more neighbour after the element, so an odd size is written.
fn lrn(e: &mut Emitter, op: &Lrn) -> Result {
    let window = op.size.saturating_sub(1).max(0) / 2 * 2 + 1;
    let alpha = op.alpha * window as f64 / op.size as f64;
    let x = e.input(0)?;
    let attrs =
        vec![float("alpha", alpha), float("beta", op.beta), float("bias", op.bias), int("size", window)];
    e.last("LRN", &[x], attrs)
}
