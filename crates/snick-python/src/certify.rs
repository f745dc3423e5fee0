//! Certifies models, and checks certificates.

use std::path::PathBuf;

use pyo3::prelude::*;
use snick::CertifyOptions;
use snick_cli::documents;

use crate::errors::Stage;
use crate::model::{DocumentTuple, Model, tuple};
use crate::watch::Interrupt;

/// Proves the rewrites of the canonical form, or the outputs of another model. Returns the answer, and the
/// proofs as JSON. Obligations are written to the folder `smt`.
#[pyfunction]
#[pyo3(signature = (model, after, seed, smt, progress))]
pub fn certify(
    py: Python<'_>,
    model: &Model,
    after: Option<PyRef<'_, Model>>,
    seed: u64,
    smt: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(DocumentTuple, String)> {
    let before = model.inferred_copy(py)?;
    let after = after.map(|after| after.inferred_copy(py)).transpose()?;
    let interrupt = Interrupt::new(progress);
    let options = CertifyOptions::new().seed(seed).smt(smt.is_some()).limits(model.limits);
    let options = after.iter().fold(options.progress(interrupt.progress()), CertifyOptions::after);
    let done = py.detach(|| {
        let certificate = before.certify(&options)?;
        smt.map(|folder| certificate.save_smt(folder)).transpose()?;
        Ok((documents::certify(&certificate), certificate.to_json()))
    });
    let (document, proofs) = done.map_err(|error| model.raise(py, Stage::Other, &error, &interrupt))?;
    Ok((tuple(document), proofs))
}

/// Checks a certificate in a file.
#[pyfunction]
#[pyo3(signature = (model, path, after))]
pub fn check_certificate(
    py: Python<'_>,
    model: &Model,
    path: PathBuf,
    after: Option<PyRef<'_, Model>>,
) -> PyResult<()> {
    let after = after.map(|after| after.inferred_copy(py)).transpose()?;
    model.inferred(py, Stage::Other, |state| state.model.check_certificate(path, after.as_ref()))
}

/// Checks a certificate in memory.
#[pyfunction]
#[pyo3(signature = (model, json, after))]
pub fn check_certificate_json(
    py: Python<'_>,
    model: &Model,
    json: &str,
    after: Option<PyRef<'_, Model>>,
) -> PyResult<()> {
    let after = after.map(|after| after.inferred_copy(py)).transpose()?;
    model.inferred(py, Stage::Other, |state| state.model.check_certificate_json(json, after.as_ref()))
}
