//! A model file: operator sets, the main graph, functions.

use std::collections::HashMap;
use std::path::Path;

use bytes::Bytes;
use snick_onnx::{Function, Model, OperatorSet};
use snick_tensor::Storage;

use super::network::Network;
use super::tensor::Tensors;
use crate::{Read, ReadError};

/// Operator sets of ONNX that the table of ops is written for.
const OPSETS: std::ops::RangeInclusive<i64> = 1..=28;

/// Operator set versions by domain; that of ONNX itself is the empty one.
pub(super) type Opsets = HashMap<String, i64>;

/// Functions by domain, name and overload.
pub(super) type Functions<'m> = HashMap<(&'m str, &'m str, &'m str), &'m Function>;

/// The file in memory, as an owner of bytes.
struct View(Storage);

impl AsRef<[u8]> for View {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

/// Reads a model; constants are views of `file`. External data lie in `folder`.
///
/// # Errors
/// [`ReadError::Onnx`] where the bytes are no model of a supported operator set, or its values are not wired.
pub fn read(file: &Storage, folder: Option<&Path>, source: &str) -> Result<Read, ReadError> {
    let error = |message: String| ReadError::Onnx { source_name: source.to_string(), message };
    let model =
        snick_onnx::decode(Bytes::from_owner(View(file.clone()))).map_err(|e| error(e.to_string()))?;
    let Some(main) = &model.graph else {
        return Err(error("the file has no graph: this is not an ONNX model".into()));
    };
    let opsets = opsets(&model.opset_import).map_err(error)?;
    let tensors = Tensors::new(file, folder);
    let mut network = Network::new(source, &tensors, functions(&model));
    network.read(main, &opsets).map_err(error)?;
    Ok(network.finish())
}

/// The operator sets that a model or a function imports.
pub(super) fn opsets(imports: &[OperatorSet]) -> Result<Opsets, String> {
    let mut opsets = Opsets::new();
    for import in imports {
        let (domain, version) = (normal_domain(&import.domain), import.version.unwrap_or_default());
        if domain.is_empty() && !OPSETS.contains(&version) {
            let (first, last) = (OPSETS.start(), OPSETS.end());
            return Err(format!("operator set {version} is not supported, {first} to {last} are"));
        }
        opsets.insert(domain.to_string(), version);
    }
    Ok(opsets)
}

/// The domain of ONNX itself has two names.
pub(super) fn normal_domain(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}

fn functions(model: &Model) -> Functions<'_> {
    fn key(f: &Function) -> (&str, &str, &str) {
        (normal_domain(&f.domain), &f.name, &f.overload)
    }
    model.functions.iter().map(|f| (key(f), f)).collect()
}
