//! The model file.

use std::collections::BTreeSet;
use std::path::Path;

use bytes::Bytes;
use snick_ir::{Monitor, Registry};
use snick_tensor::Storage;

use super::devices;
use super::external::ExternalFiles;
use super::network::Network;
use super::opsets::{functions, opsets};
use super::tensor::Tensors;
use crate::{Read, ReadError};

/// The first format version in which an initializer with the name of an input is a default value.
const FIRST_WITH_DEFAULTS: i64 = 4;

/// Makes a mapped file usable as the owner of [`Bytes`], so that it stays mapped while messages refer to it.
struct View(Storage);

impl AsRef<[u8]> for View {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

/// Reads a model. Constants are views of `file`; external data files are in `folder`.
///
/// # Errors
/// [`ReadError::Onnx`] if the bytes are not a model of a supported operator set, or if a value is missing.
pub fn read(file: &Storage, folder: Option<&Path>, source: &str) -> Result<Read, ReadError> {
    let external = folder.map_or_else(ExternalFiles::default, ExternalFiles::in_folder);
    read_with(file, external, source, &Registry::builtin(), &BTreeSet::new(), &mut Monitor::default())
}

/// Like [`read`], with a registry of ops. The monitor may stop the reader. Inputs named in `kept` stay inputs
/// even if they have a default value.
pub(crate) fn read_with(
    file: &Storage,
    external: ExternalFiles,
    source: &str,
    ops: &Registry,
    kept: &BTreeSet<String>,
    monitor: &mut Monitor,
) -> Result<Read, ReadError> {
    let error = |message: String| ReadError::Onnx { source_name: source.to_string(), message };
    let model =
        snick_onnx::decode(Bytes::from_owner(View(file.clone()))).map_err(|e| error(e.to_string()))?;
    let Some(main) = &model.graph else {
        return Err(error("the file has no graph: this is not an ONNX model".into()));
    };
    let opsets = opsets(&model.opset_import).map_err(error)?;
    let tensors = Tensors::new(file, external);
    let mut network = Network::new(source, &tensors, functions(&model), ops, monitor);
    // Earlier format versions list all constants among the inputs, so these are not default values there.
    if model.ir_version.is_some_and(|version| version >= FIRST_WITH_DEFAULTS) {
        network.find_optional_inputs(main, kept);
    }
    network.read(main, &opsets).map_err(error)?;
    network.graph.info.extend(devices::info(&model, main));
    Ok(network.finish())
}
