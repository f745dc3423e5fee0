//! Element types and shapes in nGraph's notation.

use snick_ir::Declared;
use snick_tensor::{ElementType, SmallVector};

use crate::ReadError;
use crate::json::{Json, Object};

/// The names of C++ types that files use for element types.
const C_TYPES: &[(&str, ElementType)] = &[
    ("char", ElementType::Boolean),
    ("bfloat16", ElementType::BF16),
    ("float16", ElementType::F16),
    ("float", ElementType::F32),
    ("double", ElementType::F64),
    ("int8_t", ElementType::I8),
    ("int16_t", ElementType::I16),
    ("int32_t", ElementType::I32),
    ("int64_t", ElementType::I64),
    ("uint1_t", ElementType::U1),
    ("uint8_t", ElementType::U8),
    ("uint16_t", ElementType::U16),
    ("uint32_t", ElementType::U32),
    ("uint64_t", ElementType::U64),
    ("dynamic", ElementType::Dynamic),
    ("undefined", ElementType::Dynamic),
];

/// Dims, with -1 for a dynamic dim; `None` for a dynamic rank.
pub(super) type DeclaredDims = Option<SmallVector<i64, 4>>;

/// An element type. It is written as the name of a C++ type; in the oldest files, as an object that contains
/// this name.
pub(super) fn element_type(json: Json) -> Result<ElementType, ReadError> {
    let name = if json.is_object() { json.object()?.require("c_type_string")? } else { json };
    let text = name.text()?;
    let found = C_TYPES.iter().find(|(known, _)| *known == text);
    found.map(|(_, et)| *et).ok_or_else(|| name.error(format!("`{text}` is not an nGraph element type")))
}

/// A shape. It is written as a list in which null is a dynamic dim, or as null if the rank is dynamic.
pub(super) fn shape(json: Json) -> Result<DeclaredDims, ReadError> {
    if json.is_null() {
        return Ok(None);
    }
    let dim = |dim: Json| match dim {
        dim if dim.is_null() => Ok(-1),
        dim => match dim.int()? {
            size @ 0.. => Ok(size),
            size => Err(dim.error(format!("{size}, expected a dimension"))),
        },
    };
    Ok(Some(json.array()?.into_iter().map(dim).collect::<Result<_, _>>()?))
}

/// A field of a node; in older files, a field of the node's `value_type`.
pub(super) fn of_node<'d>(node: &Object<'d>, name: &str) -> Result<Json<'d>, ReadError> {
    match (node.get(name), node.get("value_type")) {
        (Some(json), _) => Ok(json),
        (None, Some(value_type)) => value_type.object()?.require(name),
        (None, None) => node.require(name),
    }
}

/// The type and shape that a node declares for its only output.
pub(super) fn declared(node: &Object) -> Result<Option<Declared>, ReadError> {
    let Some(json) = node.get("value_type").filter(|json| json.is_object()) else { return Ok(None) };
    let object = json.object()?;
    // A node with several outputs has a tuple type. The types of these outputs are declared by the nodes that
    // select them.
    let (Some(of), Some(dims)) = (object.get("element_type"), object.get("shape")) else { return Ok(None) };
    Ok(Some(Declared { element_type: element_type(of)?, dims: shape(dims)? }))
}
