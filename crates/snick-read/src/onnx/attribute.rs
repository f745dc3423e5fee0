//! Converts the attributes of a node to the typed list that ops read.

use std::borrow::Cow;
use std::sync::Arc;

use snick_ir::{AttrValue, Attrs, OpError};
use snick_onnx::{Attribute, kind};

use super::tensor::Tensors;

/// The attributes of a node, except graphs. If the node is inside a function, `given` contains the attributes
/// of the call.
///
/// # Errors
///
/// An attribute is repeated, or its tensor cannot be read.
pub(super) fn attributes(
    attributes: &[Attribute],
    given: &[Attribute],
    tensors: &Tensors,
) -> Result<Attrs<'static>, OpError> {
    without_duplicates(attributes)?;
    let mut attrs = Attrs::new();
    for attribute in resolved(attributes, given) {
        if let Some(value) = value(attribute.1, tensors)? {
            attrs.push(Cow::Owned(attribute.0.to_string()), value);
        }
    }
    Ok(attrs)
}

/// Rejects an attribute name that occurs twice, because it is unclear which of the two values is intended.
pub(super) fn without_duplicates(attributes: &[Attribute]) -> Result<(), OpError> {
    let mut names: Vec<&str> = attributes.iter().map(|attribute| attribute.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(OpError::DuplicateAttribute { name: pair[0].to_string() }),
        None => Ok(()),
    }
}

/// Attributes by name. A reference to an attribute of the function call is resolved; if the call does not
/// have this attribute, the reference is omitted.
pub(super) fn resolved<'a>(
    attributes: &'a [Attribute],
    given: &'a [Attribute],
) -> impl Iterator<Item = (&'a str, &'a Attribute)> {
    attributes.iter().filter_map(|attribute| {
        let source = match attribute.ref_attr_name.as_str() {
            "" => Some(attribute),
            name => given.iter().find(|g| g.name == name),
        };
        Some((attribute.name.as_str(), source?))
    })
}

/// The value of an attribute, according to its kind. In the first version of the file format, attributes have
/// no kind.
fn value(attribute: &Attribute, tensors: &Tensors) -> Result<Option<AttrValue<'static>>, OpError> {
    let a = attribute;
    let text = |bytes: &bytes::Bytes| String::from_utf8_lossy(bytes).into_owned();
    let float = || Some(AttrValue::Float(decimal(a.f.unwrap_or_default())));
    let int = || Some(AttrValue::Int(a.i.unwrap_or_default()));
    let string = || Some(AttrValue::Text(Cow::Owned(a.s.as_ref().map(text).unwrap_or_default())));
    let floats = || Some(AttrValue::from(a.floats.iter().map(|&v| decimal(v)).collect::<Vec<_>>()));
    let ints = || Some(AttrValue::Ints(a.ints.as_slice().into()));
    Ok(match a.kind.unwrap_or_default() {
        kind::FLOAT => float(),
        kind::INT => int(),
        kind::STRING => string(),
        kind::FLOATS => floats(),
        kind::INTS => ints(),
        kind::STRINGS => Some(AttrValue::from(a.strings.iter().map(text).collect::<Vec<_>>())),
        kind::TENSOR => match &a.t {
            Some(tensor) => Some(AttrValue::Tensor(Arc::new(tensors.tensor(tensor)?))),
            None => None,
        },
        0 if a.i.is_some() => int(),
        0 if a.f.is_some() => float(),
        0 if a.s.is_some() => string(),
        0 if !a.floats.is_empty() => floats(),
        0 if !a.ints.is_empty() => ints(),
        _ => None,
    })
}

/// The shortest decimal that rounds to this f32, such as `0.01` instead of `0.009999999776482582`.
fn decimal(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}
