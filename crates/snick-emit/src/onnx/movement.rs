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
    ("ReverseSequence", By(reverse_sequence)),
    ("ScatterElementsUpdate", By(scatter_elements)),
    ("ScatterNDUpdate", By(scatter_nd)),
    ("SpaceToDepth", By(space_to_depth)),
    ("Tile", By(tile)),
    ("TopK", By(top_k)),
    ("Transpose", By(transpose)),
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
    if e.attrs.int("batch_dims")?.unwrap_or(0) != 0 {
        return Err(OpError::unsupported("batch_dims in ONNX"));
    }
    let axis = e.fixed_one(2, "the axis")?;
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
    let one = e.vector(&[1])?;
    let values = [3, 2].map(|i| e.input(i).map(|value| e.node("Reshape", &[&value, &one], vec![])));
    let [off, on] = values;
    let values = e.node("Concat", &[off?, on?], vec![int("axis", 0)]);
    let axis = e.int("axis")?;
    e.last("OneHot", &[indices, depth, values], vec![int("axis", axis)])
}

fn pad(e: &mut Emitter) -> Written {
    let mode = match e.word("pad_mode")?.as_str() {
        "constant" => "constant",
        "edge" => "edge",
        "reflect" => "reflect",
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

fn reverse_sequence(e: &mut Emitter) -> Written {
    let axis = |name| Ok::<_, OpError>(snick_ir::normalize_axis(e.int(name)?, e.rank(0)?)? as i64);
    let (batch, time) = (axis("batch_axis")?, axis("seq_axis")?);
    if batch.max(time) > 1 {
        return Err(OpError::unsupported("axes beyond the second in ONNX"));
    }
    if e.element_type(1)?.is_float() {
        return Err(OpError::unsupported("lengths that are real numbers in ONNX"));
    }
    let (x, lengths) = (e.input(0)?, e.input_i64(1)?);
    e.last("ReverseSequence", &[x, lengths], vec![int("batch_axis", batch), int("time_axis", time)])
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

/// ONNX wants one number of repeats for each axis.
fn tile(e: &mut Emitter) -> Written {
    let dims = e.fact(1)?.shape.as_static();
    if dims.is_none_or(|dims| dims.as_slice() != [e.rank(0).unwrap_or(usize::MAX)]) {
        return Err(OpError::unsupported("repeats that are not one for each axis in ONNX"));
    }
    let (x, repeats) = (e.input(0)?, e.input_i64(1)?);
    e.last("Tile", &[x, repeats], vec![])
}

fn top_k(e: &mut Emitter) -> Written {
    let sorted = match e.word("sort")?.as_str() {
        "index" => return Err(OpError::unsupported("sorting by index in ONNX")),
        "none" => 0,
        _ => 1,
    };
    let attrs = vec![
        int("axis", e.int("axis")?),
        int("largest", i64::from(e.word("mode")? != "min")),
        int("sorted", sorted),
    ];
    let (x, k) = (e.input(0)?, e.input_as_vector(1)?);
    if e.word("index_element_type")? == "i64" {
        return e.last("TopK", &[x, k], attrs);
    }
    let (values, places) = (e.outputs()[0].clone(), e.fresh("indices"));
    e.push("TopK", e.node.name.to_string(), &[x, k], vec![values, places.clone()], attrs);
    if e.outputs().len() < 2 {
        return Ok(());
    }
    e.last_port(1, "Cast", &places, vec![int("to", number_of(ElementType::I32)?.into())])
}

/// An empty order reverses the axes, as ONNX does without one.
fn transpose(e: &mut Emitter) -> Written {
    let order = e.fixed(1, "the order of axes")?;
    let x = e.input(0)?;
    let attrs = if order.is_empty() { vec![] } else { vec![ints("perm", order)] };
    e.last("Transpose", &[x], attrs)
}
