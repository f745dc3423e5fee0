//! Loads models from files and memory.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use snick::{Error, Format, Limits, LoadOptions};

use crate::errors::{self, Stage};
use crate::model::Model;
use crate::watch::{self, Interrupt};

fn options(limits: Limits, interrupt: &Interrupt, weights: Option<PathBuf>) -> LoadOptions {
    let options = LoadOptions::new().limits(limits).progress(interrupt.progress());
    weights.into_iter().fold(options, LoadOptions::weights)
}

fn loaded(
    py: Python<'_>,
    limits: Limits,
    interrupt: &Interrupt,
    model: Result<snick::Model, Error>,
) -> PyResult<Model> {
    match model {
        Ok(model) => Ok(Model::new(model, limits)),
        Err(error) => {
            Err(interrupt.raised().unwrap_or_else(|| errors::exception(py, Stage::Read, &error, None)))
        }
    }
}

/// Reads a model from a file or a folder.
#[pyfunction]
#[pyo3(signature = (path, weights, ops, layers, memory, time))]
pub fn load_path(
    py: Python<'_>,
    path: PathBuf,
    weights: Option<PathBuf>,
    ops: Option<PathBuf>,
    layers: Option<usize>,
    memory: Option<usize>,
    time: Option<f64>,
) -> PyResult<Model> {
    let limits = watch::limits(layers, memory, time)?;
    let interrupt = Interrupt::new();
    let model = py.detach(|| {
        let mut options = options(limits, &interrupt, weights);
        if let Some(ops) = ops {
            options = options.ops(&snick::load_ops(ops)?);
        }
        snick::load_with(path, &options)
    });
    loaded(py, limits, &interrupt, model)
}

/// Reads a model from memory; `format` is the file extension of the model's format.
#[pyfunction]
#[pyo3(signature = (model, format, weights, layers, memory, time))]
pub fn load_bytes(
    py: Python<'_>,
    model: &[u8],
    format: &str,
    weights: Option<&[u8]>,
    layers: Option<usize>,
    memory: Option<usize>,
    time: Option<f64>,
) -> PyResult<Model> {
    let limits = watch::limits(layers, memory, time)?;
    let format = Format::to_read(&PathBuf::from("model").with_extension(format));
    let format = format.ok_or_else(|| PyValueError::new_err("unknown format"))?;
    let interrupt = Interrupt::new();
    let model = py.detach(|| snick::load_bytes(format, model, weights, &options(limits, &interrupt, None)));
    loaded(py, limits, &interrupt, model)
}
