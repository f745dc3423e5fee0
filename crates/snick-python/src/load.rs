//! Loads models from files, memory and pickles.

use std::path::{Path, PathBuf};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use snick::{Error, Format, Limits, LoadOptions, ReadError, Registry};

use crate::errors::{self, Stage};
use crate::model::Model;
use crate::pickle::{self, Pickled};
use crate::watch::{self, Interrupt};

/// Declarations of custom ops, with their text, which a pickle of the model contains.
pub struct Ops {
    pub registry: Registry,
    pub text: String,
}

impl Ops {
    /// Reads a TOML file.
    fn load(path: &Path) -> Result<Self, Error> {
        let registry = snick::load_ops(path)?;
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| ReadError::Io { path: path.to_path_buf(), error })?;
        Ok(Self { registry, text })
    }
}

fn options(
    limits: Limits,
    interrupt: &Interrupt,
    weights: Option<PathBuf>,
    ops: Option<&Ops>,
) -> LoadOptions {
    let options = LoadOptions::new().limits(limits).progress(interrupt.progress());
    let options = ops.iter().fold(options, |options, ops| options.ops(&ops.registry));
    weights.into_iter().fold(options, LoadOptions::weights)
}

fn loaded(
    py: Python<'_>,
    limits: Limits,
    interrupt: &Interrupt,
    model: Result<(snick::Model, Option<Ops>), Error>,
) -> PyResult<Model> {
    match model {
        Ok((model, ops)) => Ok(Model::new(model, limits, ops.map(|ops| ops.text))),
        Err(error) => {
            Err(interrupt.raised().unwrap_or_else(|| errors::exception(py, Stage::Read, &error, None)))
        }
    }
}

/// Reads a model from a file or a folder.
#[pyfunction]
#[pyo3(signature = (path, weights, ops, layers, memory, time, progress))]
#[allow(clippy::too_many_arguments, reason = "the arguments of the function in Python")]
pub fn load_path(
    py: Python<'_>,
    path: PathBuf,
    weights: Option<PathBuf>,
    ops: Option<PathBuf>,
    layers: Option<usize>,
    memory: Option<usize>,
    time: Option<f64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Model> {
    let limits = watch::limits(layers, memory, time)?;
    let interrupt = Interrupt::new(progress);
    let model = py.detach(|| {
        let ops = ops.as_deref().map(Ops::load).transpose()?;
        Ok((snick::load_with(path, &options(limits, &interrupt, weights, ops.as_ref()))?, ops))
    });
    loaded(py, limits, &interrupt, model)
}

/// Reads a model from memory; `format` is the file extension of the model's format.
#[pyfunction]
#[pyo3(signature = (model, format, weights, ops, layers, memory, time, progress))]
#[allow(clippy::too_many_arguments, reason = "the arguments of the function in Python")]
pub fn load_bytes(
    py: Python<'_>,
    model: &[u8],
    format: &str,
    weights: Option<&[u8]>,
    ops: Option<PathBuf>,
    layers: Option<usize>,
    memory: Option<usize>,
    time: Option<f64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Model> {
    let limits = watch::limits(layers, memory, time)?;
    let format = Format::to_read(&PathBuf::from("model").with_extension(format));
    let format = format.ok_or_else(|| PyValueError::new_err("unknown format"))?;
    let interrupt = Interrupt::new(progress);
    let model = py.detach(|| {
        let ops = ops.as_deref().map(Ops::load).transpose()?;
        let options = options(limits, &interrupt, None, ops.as_ref());
        Ok((snick::load_bytes(format, model, weights, &options)?, ops))
    });
    loaded(py, limits, &interrupt, model)
}

/// Creates a model from the content of a pickle.
#[pyfunction]
pub fn unpickled(py: Python<'_>, pickled: Pickled) -> PyResult<Model> {
    let model = py.detach(|| pickle::unpickled(pickled));
    let (model, limits, ops) =
        model.map_err(|error| PyValueError::new_err(format!("a damaged pickle: {error}")))?;
    Ok(Model::new(model, limits, ops))
}
