//! Reads models into graphs, with one folder or file per format.
//!
//! Every reader returns a [`snick_ir::Graph`] without facts; inference is a separate step. If a layer cannot
//! be read as the operation that the file names, it stays in the graph as an opaque layer, and
//! [`Read::errors`] contains the reason.
//!
//! ```
//! let text = r#"snick 1
//! graph "crop" {
//!   %x = Parameter-1 {element_type: f32, shape: "N,4"}
//!   %y = Result-1(%x)
//! }
//! "#;
//! let read = snick_read::read_text(text, None, "crop.snick")?;
//! assert_eq!(read.graph.len(), 2);
//! assert!(read.errors.is_empty());
//! # Ok::<(), snick_read::ReadError>(())
//! ```

#[cfg(feature = "onnx")]
pub mod onnx;
pub mod openvino;

#[cfg(feature = "directml")]
mod directml;
mod error;
mod file;
mod foreign;
#[cfg(any(feature = "ngraph", feature = "directml"))]
mod json;
#[cfg(feature = "ngraph")]
mod ngraph;

#[cfg(feature = "onnx")]
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use snick_ir::{Format, Graph, Located, Monitor, OpError, Registry, Watch};
use snick_tensor::Storage;

use file::{open, read, weights_beside};

pub use error::ReadError;

/// A model as it was read: a graph, errors and notes. Programs that store models build it themselves.
///
/// ```
/// use snick::{Model, Read};
///
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n}\n";
/// let graph = snick::parse(text)?.into_graph();
/// let read = Read {
///     graph,
///     errors: Vec::new(),
///     notes: vec!["restored".into()],
///     missing: Vec::new(),
///     files: Vec::new(),
///     optional_inputs: Vec::new(),
/// };
/// assert_eq!(Model::from(read).notes(), ["restored"]);
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Debug)]
pub struct Read {
    /// The graph, not yet inferred.
    pub graph: Graph,
    /// The errors of individual layers and edges. Layers that could not be read are opaque.
    pub errors: Vec<Located>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Files of weights or external data that do not exist. Their constants have no values.
    pub missing: Vec<PathBuf>,
    /// The files that were read: the model itself, its weights and external data.
    pub files: Vec<PathBuf>,
    /// The inputs of an ONNX model that have a default value; see [`Reader::optional_inputs`].
    pub optional_inputs: Vec<String>,
}

/// Options for reading.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n}\n";
/// use snick_ir::Format;
/// use snick_read::Reader;
/// use snick_tensor::Storage;
///
/// let text = Storage::heap(text.as_bytes().to_vec());
/// let read = Reader::new().bytes(Format::Text, &text, None, "relu.snick")?;
/// assert_eq!(read.graph.len(), 1);
/// # Ok::<(), snick_read::ReadError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Reader {
    weights: Option<PathBuf>,
    /// The external data files of a model in memory, by location.
    #[cfg(feature = "onnx")]
    external: BTreeMap<String, Storage>,
    #[cfg(feature = "onnx")]
    optional_inputs: BTreeSet<String>,
    ops: Registry,
    watch: Watch,
}

impl Reader {
    /// The default options: only built-in ops, and weights from the `.bin` next to the model.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the weights file of a model in OpenVINO IR or text form. The file must exist. For other formats,
    /// and for models in memory, this option causes an error.
    #[must_use]
    pub fn weights(self, path: impl Into<PathBuf>) -> Self {
        Self { weights: Some(path.into()), ..self }
    }

    /// Provides the bytes of an external data file for an ONNX model in memory. `location` is the path of the
    /// file as stored in the model.
    #[cfg(feature = "onnx")]
    #[must_use]
    pub fn external(mut self, location: impl Into<String>, bytes: Vec<u8>) -> Self {
        self.external.insert(location.into(), Storage::heap(bytes));
        self
    }

    /// Keeps these inputs of an ONNX model as inputs although they have default values. They become
    /// Parameters with an extra attribute `default`. Without this option, such inputs become constants.
    #[cfg(feature = "onnx")]
    #[must_use]
    pub fn optional_inputs(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.optional_inputs.extend(names.into_iter().map(Into::into));
        self
    }

    /// Also reads the ops of this registry.
    #[must_use]
    pub fn ops(self, ops: &Registry) -> Self {
        Self { ops: ops.clone(), ..self }
    }

    /// Sets limits and a progress callback. The callback is called for each node of an ONNX model, and for
    /// each layer of a model in another format.
    #[must_use]
    pub fn watch(self, watch: Watch) -> Self {
        Self { watch, ..self }
    }

    /// Reads a model file in the [`Format`] of its extension. Text is read into memory, whereas weights and
    /// ONNX files are mapped. Mapped files must not be truncated or rewritten while the model is in use.
    /// Reading beyond the new end of a truncated file raises SIGBUS, which the `snick` command turns into an
    /// error. [`Reader::bytes`] does not map files.
    ///
    /// # Errors
    /// The file cannot be read, or its content does not match the format; [`ReadError::Stopped`].
    pub fn file(&self, path: &Path) -> Result<Read, ReadError> {
        // If the metadata cannot be read, opening the file will fail, too.
        let len = || std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        let is_text = Format::to_read(path).is_some_and(is_text);
        let read = self.watched(if is_text { len() } else { 0 }, |monitor| self.read_file(path, monitor));
        read.map_err(|error| foreign::explained(path, error))
    }

    /// Runs `read` with a monitor. If the monitor stops it, the partial model is discarded.
    fn watched(
        &self,
        text_bytes: u64,
        read: impl FnOnce(&mut Monitor) -> Result<Read, ReadError>,
    ) -> Result<Read, ReadError> {
        let mut monitor = self.watch.start();
        if !monitor.check_text(text_bytes) {
            return Err(ReadError::Stopped(monitor.into_stopped().unwrap_or_default()));
        }
        let read = read(&mut monitor);
        if let Ok(read) = &read {
            monitor.check_graph(&read.graph);
        }
        monitor.into_stopped().map_or(read, |stopped| Err(ReadError::Stopped(stopped)))
    }

    fn read_file(&self, path: &Path, monitor: &mut Monitor) -> Result<Read, ReadError> {
        let source = path.display().to_string();
        let Some(format) = Format::to_read(path) else {
            std::fs::metadata(path).map_err(|error| ReadError::io(path, error))?;
            return Err(ReadError::Format { source_name: source });
        };
        let named = self.weights.as_deref();
        let bin = named.map_or_else(|| weights_beside(format, path), Path::to_path_buf);
        let takes_weights = matches!(format, Format::OpenVino | Format::Text);
        if let (false, Some(weights)) = (takes_weights, named) {
            let why = "this format has no file of weights";
            return Err(ReadError::Weights { source_name: source, weights: weights.into(), why });
        }
        let has_weights = takes_weights && (bin.exists() || named.is_some());
        let read = match format {
            Format::OpenVino => {
                let text = read(path)?;
                let weights = openvino::Weights::open(&bin, named.is_some())?;
                self.openvino(text.bytes(), &weights, &source, monitor)
            }
            Format::Text => {
                let text = read(path)?;
                let weights = has_weights.then(|| open(&bin)).transpose()?;
                self.text(text.bytes(), weights.as_ref(), &source, monitor)
            }
            Format::Onnx => self.onnx(&open(path)?, Some(path), &source, monitor),
            format => self.without_weights(format, read(path)?.bytes(), &source, monitor),
        };
        let mut read = read?;
        read.files.push(path.to_path_buf());
        read.files.extend(has_weights.then_some(bin));
        Ok(read)
    }

    /// Reads a model from memory. `weights` is the content of the `.bin`, and `source` is the name of the
    /// model in messages. Opens no files: the external data of an ONNX model must be given with
    /// `Reader::external`.
    ///
    /// # Errors
    /// The bytes do not match the format; [`ReadError::Stopped`].
    pub fn bytes(
        &self,
        format: Format,
        model: &Storage,
        weights: Option<Storage>,
        source: &str,
    ) -> Result<Read, ReadError> {
        if let Some(file) = &self.weights {
            let why = "a model in memory takes its weights as bytes";
            return Err(ReadError::Weights { source_name: source.into(), weights: file.clone(), why });
        }
        let text_bytes = if is_text(format) { model.bytes().len() as u64 } else { 0 };
        self.watched(text_bytes, |monitor| self.read_bytes(format, model, weights, source, monitor))
    }

    fn read_bytes(
        &self,
        format: Format,
        model: &Storage,
        weights: Option<Storage>,
        source: &str,
        monitor: &mut Monitor,
    ) -> Result<Read, ReadError> {
        match format {
            Format::OpenVino => {
                let weights = weights.map_or_else(
                    || openvino::Weights::absent("the weights"),
                    |weights| openvino::Weights::in_memory("the weights", weights),
                );
                self.openvino(model.bytes(), &weights, source, monitor)
            }
            Format::Text => self.text(model.bytes(), weights.as_ref(), source, monitor),
            Format::Onnx => self.onnx(model, None, source, monitor),
            format => self.without_weights(format, model.bytes(), source, monitor),
        }
    }

    fn openvino(
        &self,
        model: &[u8],
        weights: &openvino::Weights,
        source: &str,
        monitor: &mut Monitor,
    ) -> Result<Read, ReadError> {
        let decoded = openvino::decode(model, source)?;
        let mut read = openvino::read_with(&decoded.text, weights, source, &self.ops, monitor)?;
        read.notes.extend(decoded.note);
        Ok(read)
    }

    fn text(
        &self,
        model: &[u8],
        weights: Option<&Storage>,
        source: &str,
        monitor: &mut Monitor,
    ) -> Result<Read, ReadError> {
        let text = utf8(model, source)?;
        let mut graph = snick_ir::text::parse_watched(text, weights, &self.ops, monitor)
            .map_err(|error| ReadError::Text { source_name: source.to_string(), error })?;
        graph.set_source(source);
        Ok(Read {
            graph,
            errors: Vec::new(),
            notes: Vec::new(),
            missing: Vec::new(),
            files: Vec::new(),
            optional_inputs: Vec::new(),
        })
    }

    #[cfg(feature = "onnx")]
    fn onnx(
        &self,
        model: &Storage,
        path: Option<&Path>,
        source: &str,
        monitor: &mut Monitor,
    ) -> Result<Read, ReadError> {
        let external = match path {
            Some(path) => onnx::ExternalFiles::beside(path),
            None => onnx::ExternalFiles::in_memory(&self.external),
        };
        onnx::read_with(model, external, source, &self.ops, &self.optional_inputs, monitor)
    }

    #[cfg(not(feature = "onnx"))]
    fn onnx(&self, _: &Storage, _: Option<&Path>, source: &str, _: &mut Monitor) -> Result<Read, ReadError> {
        Err(ReadError::FeatureOff { source_name: source.into(), feature: "onnx" })
    }

    #[cfg(any(feature = "ngraph", feature = "directml"))]
    fn without_weights(
        &self,
        format: Format,
        model: &[u8],
        source: &str,
        monitor: &mut Monitor,
    ) -> Result<Read, ReadError> {
        match format {
            Format::NGraph | Format::DirectMl => {
                let text = utf8(model, source)?;
                json_model(text.strip_prefix('\u{feff}').unwrap_or(text), source, monitor)
            }
            _ => Err(ReadError::Format { source_name: source.into() }),
        }
    }

    #[cfg(not(any(feature = "ngraph", feature = "directml")))]
    fn without_weights(
        &self,
        format: Format,
        _: &[u8],
        source: &str,
        _: &mut Monitor,
    ) -> Result<Read, ReadError> {
        let source_name = source.into();
        match format {
            Format::NGraph => Err(ReadError::FeatureOff { source_name, feature: "ngraph" }),
            Format::DirectMl => Err(ReadError::FeatureOff { source_name, feature: "directml" }),
            _ => Err(ReadError::Format { source_name }),
        }
    }
}

/// Whether models of a format are text files, which are read into memory completely.
fn is_text(format: Format) -> bool {
    format != Format::Onnx
}

fn utf8<'b>(bytes: &'b [u8], source: &str) -> Result<&'b str, ReadError> {
    std::str::from_utf8(bytes).map_err(|_| ReadError::NotUtf8 { source_name: source.into() })
}

/// Reads a model file in the [`Format`] of its extension. `weights` is the weights file; the default is the
/// `.bin` next to the model.
///
/// # Errors
/// Same as [`Reader::file`].
pub fn read_file(path: &Path, weights: Option<&Path>) -> Result<Read, ReadError> {
    Reader { weights: weights.map(Path::to_path_buf), ..Reader::new() }.file(path)
}

/// Reads JSON from memory: either an array of serialised nGraph functions, or a DirectML description, which
/// is an object with a field `directml`.
#[cfg(any(feature = "ngraph", feature = "directml"))]
pub fn read_json(text: &str, source: &str) -> Result<Read, ReadError> {
    json_model(text, source, &mut Monitor::default())
}

#[cfg(any(feature = "ngraph", feature = "directml"))]
fn json_model(text: &str, source: &str, monitor: &mut Monitor) -> Result<Read, ReadError> {
    let document = json::Document::new(text, source);
    let root = document.root()?;
    if root.is_array() {
        #[cfg(feature = "ngraph")]
        return ngraph::read(root, source, monitor);
        #[cfg(not(feature = "ngraph"))]
        return Err(ReadError::FeatureOff { source_name: source.into(), feature: "ngraph" });
    }
    match root.is_object().then(|| root.object()).transpose()? {
        #[cfg(feature = "directml")]
        Some(object) if object.get("directml").is_some() => directml::read(&object, source, monitor),
        #[cfg(not(feature = "directml"))]
        Some(object) if object.get("directml").is_some() => {
            Err(ReadError::FeatureOff { source_name: source.into(), feature: "directml" })
        }
        _ => Err(root.error("expected an array of nGraph functions or an object with a field `directml`")),
    }
}

/// Reads the text form from memory. `weights` is the content of its `.bin`.
///
/// # Errors
/// [`ReadError::Text`] with line and column.
pub fn read_text(text: &str, weights: Option<&Storage>, source: &str) -> Result<Read, ReadError> {
    Reader::new().text(text.as_bytes(), weights, source, &mut Monitor::default())
}

/// The error for a constant that extends beyond the end of the file that contains it.
fn out_of_file((start, end): (usize, usize), file: &str, len: usize) -> OpError {
    OpError::WeightsTruncated {
        why: format!("needs bytes {start}..{end} of {file}, but the file has {len}: truncated?"),
    }
}
