//! Loads models from files, folders and memory.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use snick_ir::{Format, Limits, Progress, Registry, Watch};
use snick_read::{ReadError, Reader};
use snick_tensor::Storage;

use crate::{Error, Model};

/// Options for loading a model.
///
/// ```
/// use snick::{Format, LoadOptions, Limits};
///
/// let options = LoadOptions::new().strict(true).limits(Limits::new().layers(10));
/// let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  %y = Result-1(%x)\n}\n";
/// let model = snick::load_bytes(Format::Text, text, None, &options)?;
/// assert_eq!(model.graph().len(), 2);
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LoadOptions {
    reader: Reader,
    watch: Watch,
    strict: bool,
    name: Option<String>,
}

impl LoadOptions {
    /// The defaults: weights from the `.bin` next to the model, built-in ops only, no limits, not strict.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the weights file of a model in OpenVINO IR or text form. The file must exist. For other formats,
    /// and with [`load_bytes`], this option causes an error.
    #[must_use]
    pub fn weights(self, path: impl Into<PathBuf>) -> Self {
        Self { reader: self.reader.weights(path), ..self }
    }

    /// Sets the name that messages use for a model in memory.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Supplies the bytes of an external data file for an ONNX model in memory. `location` is the path of the
    /// file as stored in the model, which is relative to the folder of the model.
    #[cfg(feature = "onnx")]
    #[must_use]
    pub fn external(self, location: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { reader: self.reader.external(location, bytes), ..self }
    }

    /// Keeps these inputs of an ONNX model as inputs although they have default values. A run may supply
    /// them, and they stay optional when the model is saved as ONNX. Without this option, such inputs become
    /// constants. [`Model::optional_inputs`] lists them.
    #[cfg(feature = "onnx")]
    #[must_use]
    pub fn optional_inputs(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { reader: self.reader.optional_inputs(names), ..self }
    }

    /// Also reads the ops of this registry.
    #[must_use]
    pub fn ops(self, ops: &Registry) -> Self {
        Self { reader: self.reader.ops(ops), ..self }
    }

    /// Stops with [`Error::Limit`] when a limit is reached.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { watch: self.watch.limits(limits), ..self }
    }

    /// Calls `progress` after each layer, or after each node of an ONNX model. If it returns `Break`, reading
    /// stops with [`Error::Cancelled`].
    #[must_use]
    pub fn progress(self, progress: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self { watch: self.watch.progress(progress), ..self }
    }

    fn reader(&self) -> Reader {
        self.reader.clone().watch(self.watch.clone())
    }

    /// Fails if a layer cannot be read as the op that the file names. By default, such a layer becomes
    /// opaque, and [`Model::infer`] reports the error.
    #[must_use]
    pub fn strict(self, strict: bool) -> Self {
        Self { strict, ..self }
    }

    fn check(&self, model: Model) -> Result<Model, Error> {
        match self.strict && !model.read_errors().is_empty() {
            true => Err(Error::Invalid { diagnostics: model.read_errors().iter().map(Into::into).collect() }),
            false => Ok(model),
        }
    }
}

/// Reads a model in the [`Format`] of its extension, with weights from the `.bin` next to it. If the path is
/// a folder, reads `model.xml`, `openvino_model.xml` or `model.onnx` in it; if it contains none of them,
/// reads the only model in the folder.
///
/// ```
/// # let folder = std::env::temp_dir().join(format!("snick-load-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let path = folder.join("model.snick");
/// # std::fs::write(&path, "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n}\n").unwrap();
/// let model = snick::load(&path)?;
/// assert_eq!(model.graph().parameters().count(), 1);
/// assert_eq!(snick::load(&folder)?, model);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), snick::Error>(())
/// ```
///
/// # Errors
/// [`Error::Read`] for a file that is unreadable or not in the format of its extension; [`Error::Folder`].
pub fn load(path: impl AsRef<Path>) -> Result<Model, Error> {
    load_with(path, &LoadOptions::new())
}

/// Like [`load`], with options.
///
/// # Errors
/// Same as [`load`]; [`Error::Limit`] if the options set limits, [`Error::Invalid`] if they are strict.
pub fn load_with(path: impl AsRef<Path>, options: &LoadOptions) -> Result<Model, Error> {
    let (path, reader) = (path.as_ref(), options.reader());
    let read = match path.is_dir() {
        true => reader.file(&model_in(path)?)?,
        false => reader.file(path)?,
    };
    options.check(Model::from(read))
}

/// Reads a model from memory, without opening any file. `weights` is the content of the `.bin` file of a
/// model in OpenVINO IR or text form.
///
/// # Errors
/// Same as [`load_with`].
pub fn load_bytes(
    format: Format,
    model: impl AsRef<[u8]>,
    weights: Option<&[u8]>,
    options: &LoadOptions,
) -> Result<Model, Error> {
    let shared = |bytes: &[u8]| Storage::heap(bytes.to_vec());
    load_storage(format, &shared(model.as_ref()), weights.map(shared), options)
}

/// Like [`load_bytes`], but does not copy the bytes. Constants are views of them where possible.
///
/// ```
/// use snick::{Format, LoadOptions, Storage};
///
/// let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n}\n";
/// let text = Storage::heap(text.as_bytes().to_vec());
/// let model = snick::load_storage(Format::Text, &text, None, &LoadOptions::new())?;
/// assert_eq!(model.graph().len(), 1);
/// # Ok::<(), snick::Error>(())
/// ```
///
/// # Errors
/// Same as [`load_with`].
pub fn load_storage(
    format: Format,
    model: &Storage,
    weights: Option<Storage>,
    options: &LoadOptions,
) -> Result<Model, Error> {
    let unnamed = if format == Format::Text { TEXT } else { "<bytes>" };
    let source = options.name.as_deref().unwrap_or(unnamed);
    let read = options.reader().bytes(format, model, weights, source)?;
    options.check(Model::from(read))
}

/// Reads the text form from a string.
///
/// # Errors
/// [`Error::Read`] with line and column.
pub fn parse(text: &str) -> Result<Model, Error> {
    Ok(Model::from(snick_read::read_text(text, None, TEXT)?))
}

/// The name that messages use for a text form in memory.
const TEXT: &str = "<text>";

/// Standard names of model files in a folder of their own, in order of preference.
const NAMES: [&str; 3] = ["model.xml", "openvino_model.xml", "model.onnx"];

/// Finds `model.xml`, `openvino_model.xml` or `model.onnx` in a folder, in this order.
///
/// ```
/// assert_eq!(snick::model_of_folder("no/such/folder"), None);
/// ```
pub fn model_of_folder(folder: impl AsRef<Path>) -> Option<PathBuf> {
    NAMES.iter().map(|name| folder.as_ref().join(name)).find(|path| path.is_file())
}

/// The model in a folder.
fn model_in(folder: &Path) -> Result<PathBuf, Error> {
    if let Some(path) = model_of_folder(folder) {
        return Ok(path);
    }
    let unreadable = |error| ReadError::Io { path: folder.to_path_buf(), error };
    let mut models = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let format = Format::to_read(&path);
        if format.is_some_and(|format| !matches!(format, Format::NGraph | Format::DirectMl)) && path.is_file()
        {
            models.push(path);
        }
    }
    models.sort();
    let message = match models.as_slice() {
        [model] => return Ok(model.clone()),
        [] => without_model(folder),
        [first, ..] => {
            let first = first.file_name().unwrap_or_default().to_string_lossy();
            format!("the folder contains {} models, including {first}; name one", models.len())
        }
    };
    Err(Error::Folder { path: folder.to_path_buf(), message })
}

/// Describes a folder without a model.
fn without_model(folder: &Path) -> String {
    if folder.join("saved_model.pb").is_file() {
        return "this is a TensorFlow SavedModel; write an OpenVINO IR with `ovc FOLDER` from the Python package \
                openvino"
            .to_string();
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let first = entries.map(|entry| entry.path()).filter(|path| model_of_folder(path).is_some()).min();
    match first {
        Some(inner) => {
            format!("the folder contains no model, only folders with models, such as {}", inner.display())
        }
        None => "the folder contains no model".to_string(),
    }
}
