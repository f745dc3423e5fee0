//! RegionYolo as sigmoids and a softmax.

use snick_ir::ops::Reshape;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, Value, normalize_axis};

use super::helpers::{Result, Size, known_size, reshape};

pub(crate) const RULE: Rule = Rule::exact("decompose-region-yolo", region_yolo).may_round_within(1e-5, 0.0);

type Activation = fn(&mut Patch, Value) -> Result<Value>;

/// For each box, applies a sigmoid to position and objectness, and a softmax or sigmoid to the classes. The
/// sizes are unchanged.
fn region_yolo(p: &mut Patch) -> Result<RewriteResult> {
    let Op::RegionYolo(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let (coords, classes, softmax) = (op.coords as i64, op.classes as i64, op.do_softmax);
    let boxes = if softmax { op.num } else { op.mask.len() } as i64;
    let entry = coords.checked_add(1).and_then(|numbers| numbers.checked_add(classes));
    let Some(entry) = entry else { return Ok(RewriteResult::Declined("boxes of this many numbers".into())) };
    let x = p.input(0)?;
    let apart = [Size::of(0), Size::Known(boxes), Size::Known(entry), Size::of(2), Size::of(3)];
    let boxed = reshape(p, x, &apart)?;
    let sigmoid: Activation = |p, x| p.sigmoid(x);
    let of_classes: Activation = if softmax { |p, x| p.softmax(x, 2) } else { sigmoid };
    let squashed = coords.min(2);
    let mut parts = Vec::with_capacity(4);
    for (first, last, activation) in [
        (0, squashed, sigmoid),
        (squashed, coords, |_, x| Ok(x)),
        (coords, coords + 1, sigmoid),
        (coords + 1, entry, of_classes),
    ] {
        if first < last {
            let part = p.slice8(boxed, &[first], &[last], &[1], &[2])?;
            parts.push(activation(p, part)?);
        }
    }
    let y = p.concat(2, &parts)?;
    let y = reshape(p, y, &[Size::of(0), Size::Known(boxes * entry), Size::of(3), Size::of(4)])?;
    if !softmax {
        return Ok(RewriteResult::one(y));
    }
    // Merges all axes from `axis` to `end_axis`.
    let (first, last) = (normalize_axis(op.axis, 4)?, normalize_axis(op.end_axis, 4)?);
    let mut sizes = vec![0; first];
    sizes.push(-1);
    for axis in last + 1..4 {
        match known_size(p, y, axis)? {
            // A size of 0 would copy the size of another axis.
            Some(size) if size > 0 => sizes.push(size),
            _ => {
                return Ok(RewriteResult::Declined("dynamic or empty axes after the flattened ones".into()));
            }
        }
    }
    let sizes = p.ints(&sizes)?;
    p.add_op(Reshape { special_zero: true }, &[y, sizes]).map(RewriteResult::one)
}
