//! Ops that take elements to other places.

use snick_ir::OpError;
use snick_tensor::ElementType;

use super::emitter::{Emitter, Result, int, ints, text};
use super::table::EmitRule::{self, Custom};

pub(super) const RULES: &[(&str, EmitRule)] = &[
    (
        "Concat",
        Custom(|e| {
            let axis = e.int("axis")?;
            e.last("Concat", &e.inputs(), vec![int("axis", axis)])
        }),
    ),
    ("DepthToSpace", Custom(depth_to_space)),
    ("BatchToSpace", Custom(|e| blocks(e, false))),
    ("Pad", Custom(pad)),
    ("Reverse", Custom(reverse)),
    ("ReverseSequence", Custom(reverse_sequence)),
    ("Roll", Custom(roll)),
    ("ShuffleChannels", Custom(shuffle_channels)),
    ("SpaceToBatch", Custom(|e| blocks(e, true))),
    ("SpaceToDepth", Custom(space_to_depth)),
    ("Tile", Custom(tile)),
    ("Transpose", Custom(transpose)),
];

fn depth_to_space(e: &mut Emitter) -> Result {
    let mode = if e.word("mode")? == "blocks_first" { "DCR" } else { "CRD" };
    expect_images(e)?;
    let attrs = vec![int("blocksize", e.int("block_size")?), text("mode", mode)];
    e.last("DepthToSpace", &e.inputs(), attrs)
}

fn space_to_depth(e: &mut Emitter) -> Result {
    if e.word("mode")? != "blocks_first" {
        return Err(OpError::unsupported("mode `depth_first` in ONNX"));
    }
    expect_images(e)?;
    let attrs = vec![int("blocksize", e.int("block_size")?)];
    e.last("SpaceToDepth", &e.inputs(), attrs)
}

fn expect_images(e: &Emitter) -> Result {
    match e.rank(0)? {
        4 => Ok(()),
        rank => Err(OpError::unsupported(format!("data of rank {rank} in ONNX"))),
    }
}

fn pad(e: &mut Emitter) -> Result {
    let mode = match e.word("pad_mode")?.as_str() {
        "constant" => "constant",
        "edge" => "edge",
        "reflect" => "reflect",
        "symmetric" => return mirrored(e),
        other => return Err(OpError::unsupported(format!("pad_mode `{other}` in ONNX"))),
    };
    let (data, begin, end) = (e.input(0)?, e.input_i64(1)?, e.input_i64(2)?);
    let pads = match (e.known(1), e.known(2)) {
        (Some(begin), Some(end)) => e.vector(&[begin, end].concat())?,
        _ => e.node("Concat", &[begin, end], vec![int("axis", 0)]),
    };
    let mut inputs = vec![data, pads];
    if mode == "constant" && e.len() > 3 {
        inputs.push(e.input(3)?);
    }
    e.last("Pad", &inputs, vec![text("mode", mode)])
}

/// What lies at an edge repeated backwards, the edge included.
fn mirrored(e: &mut Emitter) -> Result {
    let (begin, end) = (e.fixed(1, "pads")?, e.fixed(2, "pads")?);
    if begin.iter().chain(&end).any(|&pad| pad < 0) {
        return Err(OpError::unsupported("negative pads of mode `symmetric` in ONNX"));
    }
    let mut value = e.input(0)?;
    for (axis, (before, after)) in (0..).zip(begin.into_iter().zip(end)) {
        let mut parts = vec![value.clone()];
        if before > 0 {
            let front = e.cut(&value, axis, 0, before)?;
            parts.insert(0, backwards(e, &front, axis)?);
        }
        if after > 0 {
            let back = e.cut(&value, axis, -after, i64::MAX)?;
            parts.push(backwards(e, &back, axis)?);
        }
        value = e.joined(&parts, axis);
    }
    e.last("Identity", &[value], vec![])
}

fn backwards(e: &mut Emitter, value: &str, axis: i64) -> Result<String, OpError> {
    let bounds = [e.vector(&[-1])?, e.vector(&[i64::MIN])?, e.vector(&[axis])?, e.vector(&[-1])?];
    Ok(e.node("Slice", &[value, &bounds[0], &bounds[1], &bounds[2], &bounds[3]], vec![]))
}

/// Axes beyond the second go to the front and back.
fn reverse_sequence(e: &mut Emitter) -> Result {
    let rank = e.rank(0)?;
    let axis = |name| Ok::<_, OpError>(snick_ir::normalize_axis(e.int(name)?, rank)? as i64);
    let (batch, time) = (axis("batch_axis")?, axis("seq_axis")?);
    if e.element_type(1)?.is_float() {
        return Err(OpError::unsupported("lengths that are real numbers in ONNX"));
    }
    let (x, lengths) = (e.input(0)?, e.input_i64(1)?);
    if batch.max(time) <= 1 {
        let attrs = vec![int("batch_axis", batch), int("time_axis", time)];
        return e.last("ReverseSequence", &[x, lengths], attrs);
    }
    let (order, back) = to_front(rank, &[batch, time]);
    let x = e.transposed(&x, &order);
    let attrs = vec![int("batch_axis", 0), int("time_axis", 1)];
    let y = e.node("ReverseSequence", &[x, lengths], attrs);
    e.last("Transpose", &[y], vec![ints("perm", back)])
}

/// An order of axes with some in front, and the order that undoes it.
pub(super) fn to_front(rank: usize, front: &[i64]) -> (Vec<i64>, Vec<i64>) {
    let rest = (0..rank as i64).filter(|axis| !front.contains(axis));
    let order: Vec<i64> = front.iter().copied().chain(rest).collect();
    let mut back = vec![0; order.len()];
    for (place, &axis) in (0..).zip(&order) {
        if let Some(slot) = usize::try_from(axis).ok().and_then(|axis| back.get_mut(axis)) {
            *slot = place;
        }
    }
    (order, back)
}

/// Backwards along axes that a list names or a mask shows.
fn reverse(e: &mut Emitter) -> Result {
    let x = e.input(0)?;
    let axes: Vec<i64> = if e.word("mode")? == "mask" {
        let mask = e.fact(1)?.as_tensor().and_then(|mask| mask.cast(ElementType::U8).ok()?.to_i64_vec().ok());
        let mask = mask.ok_or_else(|| OpError::unsupported("a mask known only at run time in ONNX"))?;
        (0..).zip(mask).filter(|(_, reversed)| *reversed != 0).map(|(axis, _)| axis).collect()
    } else {
        e.fixed(1, "the axes")?
    };
    if axes.is_empty() {
        return e.last("Identity", &[x], vec![]);
    }
    let [starts, ends, steps] = [-1, i64::MIN, -1].map(|bound| vec![bound; axes.len()]);
    let bounds = [e.vector(&starts)?, e.vector(&ends)?, e.vector(&axes)?, e.vector(&steps)?];
    e.last("Slice", &[&x, &bounds[0], &bounds[1], &bounds[2], &bounds[3]], vec![])
}

/// What goes out at the end of an axis comes in at its beginning.
fn roll(e: &mut Emitter) -> Result {
    let axes = e.fixed(2, "the axes")?;
    let shifts = e.input_i64(1)?;
    let one = e.vector(&[1])?;
    let shifts = e.reshaped(&shifts, &[-1])?;
    let single = e.fact(1)?.shape.as_static().is_some_and(|dims| dims.iter().product::<usize>() == 1);
    let mut value = e.input(0)?;
    for (i, axis) in (0..).zip(axes) {
        let at = if single { 0 } else { i };
        let shift = e.cut(&shifts, 0, at, at + 1)?;
        let size = e.size(&value, axis)?;
        // An axis without elements has nothing to divide by.
        let divisor = e.node("Max", &[&size, &one], vec![]);
        let shift = e.node("Mod", &[shift, divisor], vec![int("fmod", 0)]);
        let place = e.node("Sub", &[&size, &shift], vec![]);
        let (zero, axes) = (e.vector(&[0])?, e.vector(&[axis])?);
        let tail = e.node("Slice", &[&value, &place, &size, &axes], vec![]);
        let head = e.node("Slice", &[&value, &zero, &place, &axes], vec![]);
        value = e.joined(&[tail, head], axis);
    }
    e.last("Identity", &[value], vec![])
}

/// Groups of an axis dealt out in turn.
fn shuffle_channels(e: &mut Emitter) -> Result {
    let axis = snick_ir::normalize_axis(e.int("axis")?, e.rank(0)?)?;
    let groups = e.int("group")?;
    let size = e.fact(0)?.shape.dims().and_then(|dims| dims.get(axis)?.as_const());
    let size = size.ok_or_else(|| OpError::unsupported("channels of unknown number in ONNX"))?;
    let x = e.input(0)?;
    let shape = e.shape(&x);
    let each = size.checked_div(groups).unwrap_or(0);
    let front = vec![0; axis];
    let apart = e.reshaped(&x, &[&front[..], &[groups, each, -1]].concat())?;
    let mut order: Vec<i64> = (0..axis as i64 + 3).collect();
    order.swap(axis, axis + 1);
    let dealt = e.transposed(&apart, &order);
    e.last("Reshape", &[dealt, shape], vec![])
}

/// Blocks of every axis into the batch, after padding, or out of it, before cropping.
fn blocks(e: &mut Emitter, into_batch: bool) -> Result {
    let (dims, sizes) = (e.dims(0)?, e.fixed(1, "the sizes of blocks")?);
    let (begin, end) = (e.fixed(2, "the beginnings")?, e.fixed(3, "the ends")?);
    let rank = dims.len();
    if [&sizes, &begin, &end].iter().any(|list| list.len() != rank) || sizes.iter().any(|&size| size < 1) {
        return Err(OpError::unsupported("blocks that are not one for each axis in ONNX"));
    }
    let x = e.input(0)?;
    let axes = 1..rank;
    let batch: i64 = sizes.iter().skip(1).fold(1, |n: i64, &size| n.saturating_mul(size));
    if into_batch {
        let pads = e.vector(&[begin.clone(), end.clone()].concat())?;
        let padded = e.node("Pad", &[x, pads], vec![text("mode", "constant")]);
        let whole = |i: usize| dims[i].saturating_add(begin[i]).saturating_add(end[i]);
        let parts = |i: usize| [whole(i).checked_div(sizes[i]).unwrap_or(0), sizes[i]];
        let apart: Vec<i64> = [whole(0)].into_iter().chain(axes.clone().flat_map(parts)).collect();
        let apart = e.reshaped(&padded, &apart)?;
        // Sizes of blocks first, then the batch, then what is left of each axis.
        let inner = axes.clone().map(|i| 2 * i as i64);
        let outer = axes.clone().map(|i| 2 * i as i64 - 1);
        let order: Vec<i64> = inner.chain([0]).chain(outer).collect();
        let turned = e.transposed(&apart, &order);
        let target: Vec<i64> =
            [whole(0).saturating_mul(batch)].into_iter().chain(axes.map(|i| parts(i)[0])).collect();
        let target = e.vector(&target)?;
        return e.last("Reshape", &[turned, target], vec![]);
    }
    let rest = dims[0].checked_div(batch).unwrap_or(0);
    let apart: Vec<i64> = sizes[1..].iter().chain([&rest]).chain(&dims[1..]).copied().collect();
    let apart = e.reshaped(&x, &apart)?;
    let blocks = rank as i64 - 1;
    let pairs = (0..blocks).flat_map(|i| [blocks + 1 + i, i]);
    let turned = e.transposed(&apart, &[blocks].into_iter().chain(pairs).collect::<Vec<i64>>());
    let whole: Vec<i64> = [rest].into_iter().chain(axes.map(|i| dims[i].saturating_mul(sizes[i]))).collect();
    let joined = e.reshaped(&turned, &whole)?;
    let stops: Vec<i64> = whole.iter().zip(&end).map(|(&size, &end)| size.saturating_sub(end)).collect();
    let (starts, stops) = (e.vector(&begin)?, e.vector(&stops)?);
    e.last("Slice", &[joined, starts, stops], vec![])
}

/// ONNX wants one number of repeats for each axis: axes or numbers that are missing stand in front, and are 1.
fn tile(e: &mut Emitter) -> Result {
    let (mut x, mut repeats, rank) = (e.input(0)?, e.input_i64(1)?, e.rank(0)?);
    let count = match e.fact(1)?.shape.as_static().as_deref() {
        Some(&[count]) => count,
        _ => return Err(OpError::unsupported("repeats of unknown number in ONNX")),
    };
    if count > rank {
        let axes: Vec<i64> = (0..(count - rank) as i64).collect();
        x = e.unsqueezed(&x, &axes)?;
    } else if count < rank {
        let ones = e.vector(&vec![1; rank - count])?;
        repeats = e.joined(&[ones, repeats], 0);
    }
    e.last("Tile", &[x, repeats], vec![])
}

/// An empty order reverses the axes, as ONNX does without one.
fn transpose(e: &mut Emitter) -> Result {
    let order = e.fixed(1, "the order of axes")?;
    let x = e.input(0)?;
    let attrs = if order.is_empty() { vec![] } else { vec![ints("perm", order)] };
    e.last("Transpose", &[x], attrs)
}
