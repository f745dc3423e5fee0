//! Ops that take elements to other places.

use snick_ir::OpError;
use snick_tensor::ElementType;

use super::emitter::{Emitter, Written, int, ints, text};
use super::table::Form::{self, By};
use super::writer::number_of;

pub(super) const ROWS: &[(&str, Form)] = &[
    (
        "Concat",
        By(|e| {
            let axis = e.int("axis")?;
            e.last("Concat", &e.inputs(), vec![int("axis", axis)])
        }),
    ),
    ("DepthToSpace", By(depth_to_space)),
    ("BatchToSpace", By(|e| blocks(e, false))),
    ("Gather", By(gather)),
    (
        "GatherElements",
        By(|e| {
            let axis = e.int("axis")?;
            let (data, indices) = (e.input(0)?, e.input(1)?);
            e.last("GatherElements", &[data, indices], vec![int("axis", axis)])
        }),
    ),
    ("GatherND", By(gather_nd)),
    ("NonZero", By(non_zero)),
    ("OneHot", By(one_hot)),
    ("Pad", By(pad)),
    ("Reverse", By(reverse)),
    ("ReverseSequence", By(reverse_sequence)),
    ("Roll", By(roll)),
    ("ScatterElementsUpdate", By(scatter_elements)),
    ("ScatterNDUpdate", By(scatter_nd)),
    ("ScatterUpdate", By(scatter)),
    ("SearchSorted", By(search_sorted)),
    ("ShuffleChannels", By(shuffle_channels)),
    ("SpaceToBatch", By(|e| blocks(e, true))),
    ("SpaceToDepth", By(space_to_depth)),
    ("Tile", By(tile)),
    ("TopK", By(top_k)),
    ("Transpose", By(transpose)),
    ("Unique", By(unique)),
];

fn depth_to_space(e: &mut Emitter) -> Written {
    let mode = if e.word("mode")? == "blocks_first" { "DCR" } else { "CRD" };
    expect_images(e)?;
    let attrs = vec![int("blocksize", e.int("block_size")?), text("mode", mode)];
    e.last("DepthToSpace", &e.inputs(), attrs)
}

fn space_to_depth(e: &mut Emitter) -> Written {
    if e.word("mode")? != "blocks_first" {
        return Err(OpError::unsupported("mode `depth_first` in ONNX"));
    }
    expect_images(e)?;
    let attrs = vec![int("blocksize", e.int("block_size")?)];
    e.last("SpaceToDepth", &e.inputs(), attrs)
}

fn expect_images(e: &Emitter) -> Written {
    match e.rank(0)? {
        4 => Ok(()),
        rank => Err(OpError::unsupported(format!("data of rank {rank} in ONNX"))),
    }
}

fn gather(e: &mut Emitter) -> Written {
    let axis = e.fixed_one(2, "the axis")?;
    let batch = e.attrs.int("batch_dims")?.unwrap_or(0);
    if batch != 0 {
        // GatherND has batch axes, and takes indices of the axis right behind them.
        let from_end = if batch < 0 { e.rank(1)? as i64 } else { 0 };
        let batch = batch.saturating_add(from_end).try_into().unwrap_or(0_usize);
        if snick_ir::normalize_axis(axis, e.rank(0)?)? != batch {
            return Err(OpError::unsupported("an axis that is not right behind batch_dims in ONNX"));
        }
        let (data, indices) = (e.input(0)?, e.input_i64(1)?);
        let indices = e.unsqueezed(&indices, &[-1])?;
        return e.last("GatherND", &[data, indices], vec![int("batch_dims", batch as i64)]);
    }
    let (data, indices) = (e.input(0)?, indices(e, 1)?);
    e.last("Gather", &[data, indices], vec![int("axis", axis)])
}

/// Indices of i32 and i64 go as they are.
fn indices(e: &mut Emitter, i: usize) -> Result<String, OpError> {
    match e.element_type(i)? {
        ElementType::I32 => e.input(i),
        _ => e.input_i64(i),
    }
}

fn gather_nd(e: &mut Emitter) -> Written {
    let batch = e.attrs.int("batch_dims")?.unwrap_or(0);
    if batch > 1 && e.node.version == snick_ir::Version::Opset(5) {
        return Err(OpError::unsupported("batch axes made one in ONNX"));
    }
    let (data, indices) = (e.input(0)?, e.input_i64(1)?);
    e.last("GatherND", &[data, indices], vec![int("batch_dims", batch)])
}

fn non_zero(e: &mut Emitter) -> Written {
    let x = e.input(0)?;
    if e.word("output_type")? != "i32" {
        return e.last("NonZero", &[x], vec![]);
    }
    let places = e.node("NonZero", &[x], vec![]);
    e.last("Cast", &[places], vec![int("to", number_of(ElementType::I32)?.into())])
}

/// ONNX counts negative indices from the end; where the layer ignores them they are put out of reach.
fn one_hot(e: &mut Emitter) -> Written {
    let (mut indices, depth) = (e.input_i64(0)?, e.input_as_vector(1)?);
    if e.word("negative_indices_mode")? != "normalize" {
        let zero = e.number(ElementType::I64, 0.0)?;
        let negative = e.node("Less", &[&indices, &zero], vec![]);
        indices = e.node("Where", &[&negative, &depth, &indices], vec![]);
    }
    // ONNX has no indices without axes.
    if e.rank(0)? == 0 {
        return one_hot_of_one(e, &indices, &depth);
    }
    let one = e.vector(&[1])?;
    let axis = vec![int("axis", e.int("axis")?)];
    let (on, off) = (e.input(2)?, e.input(3)?);
    if matches!(e.element_type(2)?, ElementType::F32 | ElementType::I64) {
        let [off, on] = [off, on].map(|value| e.node("Reshape", &[&value, &one], vec![]));
        let values = e.joined(&[off, on], 0);
        return e.last("OneHot", &[indices, depth, values], axis);
    }
    // Runtimes have few types; the others are put in where a one would stand.
    let values = e.vector(&[0, 1])?;
    let ones = e.node("OneHot", &[indices, depth, values], axis);
    let hot = e.node("Cast", &[ones], Emitter::to(ElementType::Boolean)?);
    e.last("Where", &[hot, on, off], vec![])
}

/// The row of a single index.
fn one_hot_of_one(e: &mut Emitter, index: &str, depth: &str) -> Written {
    let (zero, one) = (e.index(0)?, e.index(1)?);
    let scalar = e.vector(&[])?;
    let depth = e.node("Reshape", &[depth, &scalar], vec![]);
    let places = e.node("Range", &[&zero, &depth, &one], vec![]);
    let hot = e.node("Equal", &[index, &places], vec![]);
    let (on, off) = (e.input(2)?, e.input(3)?);
    e.last("Where", &[hot, on, off], vec![])
}

fn pad(e: &mut Emitter) -> Written {
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
fn mirrored(e: &mut Emitter) -> Written {
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
fn reverse_sequence(e: &mut Emitter) -> Written {
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
fn to_front(rank: usize, front: &[i64]) -> (Vec<i64>, Vec<i64>) {
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
fn reverse(e: &mut Emitter) -> Written {
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
fn roll(e: &mut Emitter) -> Written {
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

/// Slices of the data replaced along an axis; that axis goes to the front, where ScatterND has it.
fn scatter(e: &mut Emitter) -> Written {
    let (rank, width) = (e.rank(0)?, e.rank(1)?);
    let axis = snick_ir::normalize_axis(e.fixed_one(3, "the axis")?, rank)? as i64;
    let (data, indices, updates) = (e.input(0)?, e.input_i64(1)?, e.input(2)?);
    let indices = e.unsqueezed(&indices, &[-1])?;
    if axis == 0 {
        return e.last("ScatterND", &[data, indices, updates], vec![]);
    }
    let (order, back) = to_front(rank, &[axis]);
    let data = e.transposed(&data, &order);
    let places: Vec<i64> = (axis..axis + width as i64).collect();
    let updates = e.transposed(&updates, &to_front(rank - 1 + width, &places).0);
    let scattered = e.node("ScatterND", &[data, indices, updates], vec![]);
    e.last("Transpose", &[scattered], vec![ints("perm", back)])
}

/// Groups of an axis dealt out in turn.
fn shuffle_channels(e: &mut Emitter) -> Written {
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
fn blocks(e: &mut Emitter, into_batch: bool) -> Written {
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

/// What is done where an element is written, in words of ONNX.
fn reduction(e: &Emitter) -> Result<&'static str, OpError> {
    match e.word("reduction")?.as_str() {
        "" | "none" => Ok("none"),
        "sum" => Ok("add"),
        "prod" => Ok("mul"),
        "max" => Ok("max"),
        "min" => Ok("min"),
        other => Err(OpError::unsupported(format!("reduction `{other}` in ONNX"))),
    }
}

fn scatter_elements(e: &mut Emitter) -> Written {
    let reduction = reduction(e)?;
    if reduction != "none" && !e.attrs.bool("use_init_val")?.unwrap_or(true) {
        return Err(OpError::unsupported("a reduction without the initial values in ONNX"));
    }
    let axis = e.fixed_one(3, "the axis")?;
    let (data, indices, updates) = (e.input(0)?, indices(e, 1)?, e.input(2)?);
    let attrs = vec![int("axis", axis), text("reduction", reduction)];
    e.last("ScatterElements", &[data, indices, updates], attrs)
}

fn scatter_nd(e: &mut Emitter) -> Written {
    let reduction = reduction(e)?;
    let (data, indices, updates) = (e.input(0)?, e.input_i64(1)?, e.input(2)?);
    e.last("ScatterND", &[data, indices, updates], vec![text("reduction", reduction)])
}

/// ONNX wants one number of repeats for each axis: axes or numbers that are missing stand in front, and are 1.
fn tile(e: &mut Emitter) -> Written {
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

fn top_k(e: &mut Emitter) -> Written {
    let axis = int("axis", e.int("axis")?);
    let (x, k) = (e.input(0)?, e.input_as_vector(1)?);
    let largest = int("largest", i64::from(e.word("mode")? != "min"));
    if e.word("sort")? == "index" {
        // The best, then their places from small to large.
        let best = e.nodes("TopK", &[&x, &k], 2, vec![axis.clone(), largest]);
        let attrs = vec![axis.clone(), int("largest", 0)];
        let places = e.nodes("TopK", &[&best[1], &k], 2, attrs);
        if e.outputs().len() > 1 {
            let target =
                if e.word("index_element_type")? == "i64" { ElementType::I64 } else { ElementType::I32 };
            e.last_port(1, "Cast", &[&places[0]], Emitter::to(target)?)?;
        }
        return e.last_of(1, "GatherElements", &[&x, &places[0]], vec![axis]);
    }
    let sorted = int("sorted", i64::from(e.word("sort")? != "none"));
    let attrs = vec![axis, largest, sorted];
    if e.word("index_element_type")? == "i64" {
        return e.last("TopK", &[x, k], attrs);
    }
    let (values, places) = (e.outputs()[0].clone(), e.fresh("indices"));
    e.push("TopK", e.node.name.to_string(), &[x, k], vec![values, places.clone()], attrs);
    if e.outputs().len() < 2 {
        return Ok(());
    }
    e.last_port(1, "Cast", &[places], vec![int("to", number_of(ElementType::I32)?.into())])
}

/// An empty order reverses the axes, as ONNX does without one.
fn transpose(e: &mut Emitter) -> Written {
    let order = e.fixed(1, "the order of axes")?;
    let x = e.input(0)?;
    let attrs = if order.is_empty() { vec![] } else { vec![ints("perm", order)] };
    e.last("Transpose", &[x], attrs)
}

/// How many elements of a sorted line lie below each value, or not above it.
fn search_sorted(e: &mut Emitter) -> Written {
    let (sorted, values) = (e.input(0)?, e.input(1)?);
    let values = e.unsqueezed(&values, &[-1])?;
    let sorted = if e.rank(0)? > 1 { e.unsqueezed(&sorted, &[-2])? } else { sorted };
    let op = if e.flag("right_mode")? { "LessOrEqual" } else { "Less" };
    let below = e.node(op, &[sorted, values], vec![]);
    let ones = e.node("Cast", &[below], Emitter::to(ElementType::I64)?);
    let axes = e.vector(&[-1])?;
    let count = e.node("ReduceSum", &[ones, axes], vec![int("keepdims", 0)]);
    let target = e.attrs.element_type("output_type")?.unwrap_or(ElementType::I64);
    e.last("Cast", &[count], Emitter::to(target)?)
}

/// Places and counts have types of their own.
fn unique(e: &mut Emitter) -> Written {
    let mut attrs = vec![int("sorted", i64::from(e.attrs.bool("sorted")?.unwrap_or(true)))];
    if e.len() > 1 {
        attrs.push(int("axis", e.fixed_one(1, "the axis")?));
    }
    let of_places = e.attrs.element_type("index_element_type")?.unwrap_or(ElementType::I64);
    let of_counts = e.attrs.element_type("count_element_type")?.unwrap_or(ElementType::I64);
    let x = e.input(0)?;
    let outputs = e.nodes("Unique", &[x], 4, attrs);
    e.last_port(0, "Identity", &outputs[..1], vec![])?;
    for (port, element_type) in [(1, of_places), (2, of_places), (3, of_counts)] {
        e.last_port(port, "Cast", &outputs[port..=port], Emitter::to(element_type)?)?;
    }
    Ok(())
}
