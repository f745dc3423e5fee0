//! A node: the fields that all ops share, in every version of the format.

use std::borrow::Cow;

use snick_ir::{AttrValue, Attrs};

use crate::ReadError;
use crate::json::{Json, Object};

/// A node as it is written in the file.
pub(super) struct Node<'d> {
    /// Its name, unique within the function.
    pub(super) name: String,
    /// Operation type.
    pub(super) op: String,
    /// The version of the operation; 0 if missing.
    pub(super) version: i64,
    /// The sources of its inputs.
    pub(super) inputs: Vec<Source<'d>>,
    /// The names of its output tensors, if given.
    pub(super) outputs: Vec<String>,
    /// The attributes of its operation.
    pub(super) attrs: Attrs<'static>,
    /// The whole JSON object.
    pub(super) object: Object<'d>,
}

/// The source of an input.
pub(super) struct Source<'d> {
    /// The name of a node.
    pub(super) name: String,
    /// The index of its output, if given.
    pub(super) index: Option<i64>,
    /// The JSON of the input, for error messages.
    pub(super) json: Json<'d>,
}

/// Fields of a node that are not attributes.
const COMMON: &[&str] = &[
    "name",
    "op",
    "op_version",
    "friendly_name",
    "type_info",
    "inputs",
    "outputs",
    "control_deps",
    "provenance_tags",
    "attribute_visitor",
    "value_type",
    "output_type",
    "output_shapes",
];

impl<'d> Node<'d> {
    pub(super) fn read(json: Json<'d>) -> Result<Self, ReadError> {
        let object = json.object()?;
        let version = match object.get("op_version") {
            Some(version) => version.int()?,
            None => type_info_version(&object)?,
        };
        Ok(Self {
            name: object.require("name")?.text()?,
            op: object.require("op")?.text()?,
            version,
            inputs: list(&object, "inputs")?.into_iter().map(Source::read).collect::<Result<_, _>>()?,
            outputs: list(&object, "outputs")?.into_iter().map(tensor_name).collect::<Result<_, _>>()?,
            attrs: attrs(&object),
            object,
        })
    }

    /// Whether the attributes were written by nGraph's attribute visitor, which uses the names in the C++
    /// class of the op.
    pub(super) fn attrs_are_visited(&self) -> bool {
        self.object.get("attribute_visitor").is_some_and(|flag| flag.raw() == "true")
    }

    /// The tensor names of output `port`. The first output also gets the name and the friendly name of the
    /// node.
    pub(super) fn tensor_names(&self, port: usize) -> Result<Vec<String>, ReadError> {
        let mut names: Vec<String> = self.outputs.get(port).cloned().into_iter().collect();
        if port == 0 {
            names.insert(0, self.name.clone());
            names.extend(self.object.get("friendly_name").map(Json::text).transpose()?);
        }
        names.retain(|name| !name.is_empty());
        let mut unique: Vec<String> = Vec::new();
        for name in names {
            if !unique.contains(&name) {
                unique.push(name);
            }
        }
        Ok(unique)
    }
}

impl<'d> Source<'d> {
    fn read(json: Json<'d>) -> Result<Self, ReadError> {
        if json.is_text() {
            return Ok(Self { name: json.text()?, index: None, json });
        }
        let object = json.object()?;
        let index = Some(object.require("index")?.int()?);
        Ok(Self { name: object.require("node")?.text()?, index, json })
    }
}

/// The items of an array. An empty array may be missing or null, and an array of one item may be written
/// without brackets.
pub(super) fn list<'d>(object: &Object<'d>, name: &str) -> Result<Vec<Json<'d>>, ReadError> {
    match object.get(name) {
        Some(json) if json.is_text() => Ok(vec![json]),
        Some(json) if !json.is_null() => json.array(),
        _ => Ok(Vec::new()),
    }
}

fn type_info_version(object: &Object) -> Result<i64, ReadError> {
    let Some(info) = object.get("type_info").filter(|info| info.is_object()) else { return Ok(0) };
    info.object()?.get("version").map_or(Ok(0), Json::int)
}

/// The name of an output. It is written as a string or as an object with a name.
fn tensor_name(json: Json) -> Result<String, ReadError> {
    if json.is_object() {
        return json.object()?.get("name").map_or(Ok(String::new()), Json::text);
    }
    json.text()
}

/// The attributes, which are all fields that are not common to all nodes. The JSON syntax of a field
/// determines its type. Objects and other unexpected values are kept as JSON text.
fn attrs(object: &Object) -> Attrs<'static> {
    let own = object.iter().filter(|(name, json)| !COMMON.contains(name) && !json.is_null());
    own.map(|(name, json)| (Cow::Owned(name.to_string()), attr(json))).collect()
}

fn attr(json: Json) -> AttrValue<'static> {
    let value = match json.raw().as_bytes().first() {
        Some(b'"') => json.try_as::<String>().map(|text| AttrValue::Text(text.into())),
        Some(b't' | b'f') => json.try_as().map(AttrValue::Bool),
        Some(b'[') => json
            .try_as::<Vec<i64>>()
            .map(|ints| AttrValue::Ints(ints.into()))
            .or_else(|| json.try_as().map(AttrValue::Floats))
            .or_else(|| json.try_as().map(AttrValue::Texts)),
        Some(b'{') => None,
        _ => json.try_as().map(AttrValue::Int).or_else(|| json.try_as().map(AttrValue::Float)),
    };
    value.unwrap_or_else(|| AttrValue::Text(json.raw().to_string().into()))
}
