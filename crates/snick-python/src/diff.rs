//! Compares two models.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use snick_cli::documents;

use crate::errors;
use crate::model::{DocumentTuple, Model, tuple};
use crate::session;

/// Compares two models, and their runs if arrays are given.
#[pyfunction]
#[pyo3(signature = (a, b, is_canonical, inputs))]
pub fn diff(
    py: Python<'_>,
    a: &Model,
    b: &Model,
    is_canonical: bool,
    inputs: Option<&Bound<'_, PyDict>>,
) -> PyResult<DocumentTuple> {
    let (mut models, limits) = ([a.inferred_copy(py)?, b.inferred_copy(py)?], a.limits);
    let tensors = inputs.map(|inputs| session::tensors(py, models[0].graph(), inputs, false)).transpose()?;
    let compared = py.detach(|| {
        if is_canonical {
            models.iter_mut().for_each(|model| drop(model.canonicalise()));
        }
        let [a, b] = &models;
        documents::diff(a, b, tensors.as_deref(), limits)
    });
    compared.map(tuple).map_err(|error| errors::document_exception(py, &error))
}
