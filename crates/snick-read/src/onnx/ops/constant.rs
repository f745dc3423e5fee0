//! Operators that make values of nothing, or of a shape.

use std::sync::Arc;

use snick_ir::{AttrValue, Attrs, OpError};
use snick_tensor::{ElementType, Tensor};

use super::{ImportEntry, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("Constant", &[1, 9, 11, 12, 13, 19, 21, 23, 24, 25], constant),
    one("ConstantOfShape", &[9, 20, 21, 23, 24, 25], constant_of_shape),
    one("EyeLike", &[9, 22], eye_like),
    one("Range", &[11], range),
];

/// The value is in the one attribute that is there.
fn constant(b: &mut NodeBuilder) -> Result {
    let given = b.attrs.iter().next().map(|(name, value)| {
        // Asked for by its name, it counts as understood.
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
    b.make("Broadcast", Attrs::new().with("mode", "numpy"), &[value, shape])
}

fn eye_like(b: &mut NodeBuilder) -> Result {
    let like = b.input(0)?;
    let element_type = match b.type_attr("dtype")? {
        Some(element_type) => element_type,
        None => b.element_type(like)?,
    };
    let k = b.int("k", 0)?;
    let (shape, zero) = (b.shape_of(like)?, b.index(0)?);
    let mut sizes = [zero; 2];
    for (axis, size) in (0..).zip(&mut sizes) {
        let at = b.index(axis)?;
        *size = b.plain("Gather", &[shape, at, zero])?;
    }
    let diagonal = b.index(k)?;
    let attrs = Attrs::new().with("output_type", element_type);
    b.make("Eye", attrs, &[sizes[0], sizes[1], diagonal])
}

fn range(b: &mut NodeBuilder) -> Result {
    let inputs = b.all()?;
    let element_type = inputs.first().map_or(Ok(ElementType::I64), |&start| b.element_type(start))?;
    let scalars = inputs.into_iter().map(|value| b.scalar(value)).collect::<Result<Vec<_>, _>>()?;
    b.make("Range", Attrs::new().with("output_type", element_type), &scalars)
}
