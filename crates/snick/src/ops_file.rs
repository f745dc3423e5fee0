//! Custom ops whose shape rules are declared in a file instead of Rust code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use snick_ir::{Registry, ShapeRule};
use snick_read::ReadError;
use snick_tensor::ElementType;

use crate::Error;

/// The file: a list of ops.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    op: Vec<Declaration>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Declaration {
    opset: String,
    #[serde(rename = "type")]
    op_type: String,
    #[serde(default)]
    attributes: BTreeMap<String, i64>,
    #[serde(default)]
    inputs: Vec<String>,
    outputs: Vec<Output>,
}

/// An output: its dims, or its dims and its element type.
#[derive(Deserialize)]
#[serde(untagged)]
enum Output {
    Dims(String),
    Typed {
        shape: String,
        #[serde(rename = "type")]
        element_type: String,
    },
}

/// Returns the built-in ops together with the ops that a TOML file declares by their shapes. Declared ops can
/// be inferred, printed and canonicalised; a run fails because they have no implementation.
///
/// ```
/// let ops = snick::parse_ops(
///     r#"
///     [[op]]
///     opset = "my.ops"
///     type = "FancyPad"
///     attributes = { by = 1 }           # integers, with defaults
///     inputs = ["...,W"]                # names of dims, numbers, `_` for any size; `...` are any leading dims
///     outputs = ["...,W+2*by"]          # or { shape = "...,W+2*by", type = "f32" }
///     "#,
/// )?;
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,6\"}\n  \
/// #             %p = FancyPad-\"my.ops\"(%x) {by: 2}\n  %y = Result-1(%p)\n}\n";
/// let options = snick::LoadOptions::new().ops(&ops);
/// let mut model = snick::load_bytes(snick::Format::Text, text, None, &options)?;
/// model.infer().into_result()?;
/// assert!(model.to_text().contains("f32[?,10]"));
/// # Ok::<(), snick::Error>(())
/// ```
///
/// # Errors
/// [`Error::Ops`] with the position in the text.
pub fn parse_ops(text: &str) -> Result<Registry, Error> {
    let file: File = toml::from_str(text).map_err(|error| Error::Ops { message: error.to_string() })?;
    let mut registry = Registry::builtin();
    let mut declared = BTreeSet::new();
    for Declaration { opset, op_type, attributes, inputs, outputs } in file.op {
        let wrong = |error: String| Error::Ops { message: format!("op `{op_type}`: {error}") };
        if !declared.insert((opset.clone(), op_type.clone())) {
            let message = format!("op `{op_type}` of opset `{opset}` is declared twice; remove one");
            return Err(Error::Ops { message });
        }
        let mut rule = ShapeRule::new();
        for (name, default) in &attributes {
            rule = rule.attribute(name, *default);
        }
        for dims in &inputs {
            rule = rule.input(dims).map_err(|error| wrong(error.to_string()))?;
        }
        for output in &outputs {
            let (dims, element_type) = match output {
                Output::Dims(dims) => (dims, None),
                Output::Typed { shape, element_type } => {
                    let parsed: Result<ElementType, _> = element_type.parse();
                    (shape, Some(parsed.map_err(|error| wrong(error.to_string()))?))
                }
            };
            rule = rule.output(dims, element_type).map_err(|error| wrong(error.to_string()))?;
        }
        registry.register_shapes(opset, op_type, rule);
    }
    Ok(registry)
}

/// Reads a file in the format of [`parse_ops`].
///
/// # Errors
/// [`Error::Read`], and the errors of [`parse_ops`].
pub fn load_ops(path: impl AsRef<Path>) -> Result<Registry, Error> {
    let path = path.as_ref();
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| ReadError::Io { path: path.to_path_buf(), error })?;
    parse_ops(&text).map_err(|error| match error {
        Error::Ops { message } => Error::Ops { message: format!("{}: {message}", path.display()) },
        error => error,
    })
}
