//! Operators that create values from attributes or from a shape.

use std::sync::Arc;

use snick_ir::{AttrValue, OpError, ops};
use snick_tensor::Tensor;

use super::{ImportEntry, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("Constant", &[1, 9, 11, 12, 13, 19, 21, 23, 24, 25], constant)
        .attrs("value value_float value_floats value_int value_ints value_string value_strings"),
    one("ConstantOfShape", &[9, 20, 21, 23, 24, 25], constant_of_shape).attrs("value"),
    one("EyeLike", &[9, 22], eye_like).attrs("dtype k"),
    one("Range", &[11], range).ignores("stash_type"),
];

/// Adds a constant. The node has a single attribute, which contains the value.
fn constant(b: &mut NodeBuilder) -> Result {
    let given = b.attrs.iter().next().map(|(name, value)| {
        // Marks the attribute as read.
        b.attrs.get(name);
        (name, value)
    });
    let tensor = match given {
        Some(("value", AttrValue::Tensor(tensor))) => tensor.clone(),
        Some(("value_int", AttrValue::Int(v))) => Arc::new(Tensor::scalar(*v)),
        Some(("value_float", AttrValue::Float(v))) => Arc::new(Tensor::scalar(*v as f32)),
        Some(("value_ints", AttrValue::Ints(v))) => Arc::new(Tensor::from_vec(&[v.len()], v.to_vec())?),
        Some(("value_floats", AttrValue::Floats(v))) => {
            Arc::new(Tensor::from_vec(&[v.len()], v.iter().map(|&v| v as f32).collect())?)
        }
        Some(("value_string", AttrValue::Text(text))) => {
            Arc::new(Tensor::strings(&[], vec![text.to_string()])?)
        }
        Some(("value_strings", AttrValue::Texts(texts))) => {
            Arc::new(Tensor::strings(&[texts.len()], texts.clone())?)
        }
        Some((name, _)) => return Err(OpError::unsupported(format!("a constant by `{name}`"))),
        None => return Err(OpError::MissingAttribute { name: "value" }),
    };
    b.constant(tensor)
}

fn constant_of_shape(b: &mut NodeBuilder) -> Result {
    let shape = b.input(0)?;
    let value = match b.attrs.get("value") {
        Some(AttrValue::Tensor(tensor)) if tensor.len() == 1 => tensor.reshape(&[])?,
        Some(_) => return Err(b.attrs.bad("value", "a tensor of one element")),
        None => Tensor::scalar(0f32),
    };
    let value = b.constant(value)?;
    b.broadcast_to(value, shape)
}

fn eye_like(b: &mut NodeBuilder) -> Result {
    let like = b.input(0)?;
    let element_type = match b.type_attr("dtype")? {
        Some(element_type) => element_type,
        None => b.element_type(like)?,
    };
    let k = b.int_attr("k", 0)?;
    let shape = b.shape_of(like)?;
    let size = |axis| {
        let axis = b.int(axis)?;
        b.gather(shape, axis, 0)
    };
    let (rows, columns) = (size(0)?, size(1)?);
    let diagonal = b.int(k)?;
    b.add_op(ops::Eye { output_type: element_type }, &[rows, columns, diagonal])
}

fn range(b: &mut NodeBuilder) -> Result {
    let start = b.input(0)?;
    let element_type = b.element_type(start)?;
    let bound = |i| b.input(i).and_then(|value| b.to_scalar(value));
    let (start, stop, step) = (bound(0)?, bound(1)?, bound(2)?);
    b.range(start, stop, step, element_type)
}
