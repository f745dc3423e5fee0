//! A model as held by Python.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyDict;
use snick::{
    CheckOptions, Diagnostic, Error, Finding, InferOptions, Limits, LoadOptions, Located, NodeId,
    PictureOptions, ReportOptions, SaveOptions, SliceAs,
};
use snick_cli::documents::{self, Document};

use crate::arrays;
use crate::errors::{self, Stage};
use crate::facts::{self, LayerTuple, PortTuple};
use crate::session::{self, Session};
use crate::watch::Interrupt;

/// A document as JSON and as text.
type DocumentTuple = (String, String);

/// Code, layer, operation, location and message of an error.
type ErrorTuple = (String, String, String, Option<String>, String);

/// Code, name, severity, layer, operation, location, message, help and origins.
type FindingTuple = (String, String, String, String, String, Option<String>, String, String, Vec<String>);

/// A model, with the data that was derived from it so far.
struct State {
    model: snick::Model,
    /// Whether the model is unchanged since it was read.
    is_as_read: bool,
    /// The inference errors, if the model was inferred since its last change.
    errors: Option<Vec<Located>>,
    session: Option<Arc<snick::Session>>,
    canonical: Option<Arc<snick::Session>>,
    /// The layers in file order.
    layers: Option<Arc<[NodeId]>>,
}

impl State {
    fn new(model: snick::Model) -> Self {
        Self { model, is_as_read: true, errors: None, session: None, canonical: None, layers: None }
    }

    /// Returns the model so that it can be changed. Discards all derived data.
    fn change(&mut self) -> &mut snick::Model {
        (self.errors, self.session, self.canonical, self.layers) = (None, None, None, None);
        &mut self.model
    }

    /// Infers the model if needed, and returns the errors.
    fn infer(&mut self, limits: Limits, interrupt: &Interrupt) -> Result<&[Located], Error> {
        if self.errors.is_none() {
            // Discards sessions first, because they share the graph that inference changes.
            let options = InferOptions::new().limits(limits).progress(interrupt.progress());
            let inference = self.change().infer_with(&options)?;
            self.errors = Some(inference.into_located());
        }
        Ok(self.errors.as_deref().unwrap_or_default())
    }

    fn session(&mut self, is_canonical: bool) -> Result<Arc<snick::Session>, Error> {
        let cached = if is_canonical { &self.canonical } else { &self.session };
        if let Some(session) = cached {
            return Ok(session.clone());
        }
        let made = match is_canonical {
            true => {
                let mut model = self.model.clone();
                // Layers that cannot be rewritten run as they are.
                let _ = model.canonicalise();
                model.session()?
            }
            false => self.model.session()?,
        };
        let made = Arc::new(made);
        // A session with variables is not cached, because a new run must not see the variables of earlier
        // runs.
        if !made.has_variables() {
            let cache = if is_canonical { &mut self.canonical } else { &mut self.session };
            *cache = Some(made.clone());
        }
        Ok(made)
    }

    fn layers(&mut self) -> Arc<[NodeId]> {
        let graph = self.model.graph();
        self.layers.get_or_insert_with(|| graph.ids().collect()).clone()
    }
}

/// A model.
#[pyclass(frozen, module = "snick._snick")]
pub struct Model {
    state: Mutex<State>,
    limits: Limits,
}

impl Model {
    pub fn new(model: snick::Model, limits: Limits) -> Self {
        Self { state: Mutex::new(State::new(model)), limits }
    }

    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, State> {
        self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a function with the inferred model, without the GIL.
    fn inferred<T: Send>(
        &self,
        py: Python<'_>,
        stage: Stage,
        work: impl FnOnce(&mut State) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let interrupt = Interrupt::new();
        let done = py.detach(|| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.infer(self.limits, &interrupt)?;
            work(&mut state)
        });
        done.map_err(|error| self.raise(py, stage, &error, &interrupt))
    }

    fn raise(&self, py: Python<'_>, stage: Stage, error: &Error, interrupt: &Interrupt) -> PyErr {
        let raised = interrupt.raised();
        raised.unwrap_or_else(|| errors::exception(py, stage, error, Some(self.lock(py).model.graph())))
    }

    /// Returns the cached session, or creates a session if none is cached.
    fn ready(&self, py: Python<'_>, is_canonical: bool) -> PyResult<Arc<snick::Session>> {
        {
            let state = self.lock(py);
            let cached = if is_canonical { &state.canonical } else { &state.session };
            if let Some(session) = cached {
                return Ok(session.clone());
            }
        }
        self.inferred(py, Stage::Run, |state| state.session(is_canonical))
    }

    fn ports(&self, py: Python<'_>, is_input: bool) -> PyResult<Vec<PortTuple>> {
        self.inferred(py, Stage::Infer, |state| {
            let graph = state.model.graph();
            Ok(match is_input {
                true => graph.parameters().map(|id| facts::port(graph, id)).collect(),
                false => graph.results().map(|id| facts::port(graph, id)).collect(),
            })
        })
    }
}

#[pymethods]
impl Model {
    /// The name of the graph.
    #[getter]
    fn name(&self, py: Python<'_>) -> String {
        self.lock(py).model.graph().name.to_string()
    }

    /// The files the model was read from.
    #[getter]
    fn files(&self, py: Python<'_>) -> Vec<PathBuf> {
        self.lock(py).model.files().to_vec()
    }

    /// Notes for the user.
    #[getter]
    fn notes(&self, py: Python<'_>) -> Vec<String> {
        self.lock(py).model.notes().to_vec()
    }

    fn inputs(&self, py: Python<'_>) -> PyResult<Vec<PortTuple>> {
        self.ports(py, true)
    }

    fn outputs(&self, py: Python<'_>) -> PyResult<Vec<PortTuple>> {
        self.ports(py, false)
    }

    /// Sets input shapes. If `is_checked`, fails for shapes that some layer rejects. On error, the model is
    /// unchanged.
    fn reshape(&self, py: Python<'_>, spec: &str, is_checked: bool) -> PyResult<()> {
        let interrupt = Interrupt::new();
        let set = py.detach(|| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let mut model = state.model.clone();
            if is_checked {
                let options = InferOptions::new().limits(self.limits).progress(interrupt.progress());
                model.reshape_with(spec, &options)?;
            } else {
                model.reshape(spec)?;
            }
            *state.change() = model;
            state.is_as_read = false;
            state.errors = is_checked.then(Vec::new);
            Ok::<(), Error>(())
        });
        set.map_err(|error| self.raise(py, Stage::Infer, &error, &interrupt))
    }

    /// Infers the model and returns the errors of layers.
    fn infer(&self, py: Python<'_>) -> PyResult<Vec<ErrorTuple>> {
        self.inferred(py, Stage::Infer, |state| {
            let errors = state.errors.iter().flatten().map(Diagnostic::from);
            let tuple = |error: Diagnostic| {
                (error.code.to_string(), error.layer, error.op, error.loc.text(), error.message)
            };
            Ok(errors.map(tuple).collect())
        })
    }

    /// Raises an exception if there are inference errors.
    fn raise_errors(&self, py: Python<'_>) -> PyResult<()> {
        self.inferred(py, Stage::Infer, |state| {
            let diagnostics: Vec<_> = state.errors.iter().flatten().map(Diagnostic::from).collect();
            match diagnostics.is_empty() {
                true => Ok(()),
                false => Err(Error::Invalid { diagnostics }),
            }
        })
    }

    fn infer_json(&self, py: Python<'_>) -> PyResult<String> {
        self.inferred(py, Stage::Infer, |state| {
            Ok(documents::infer_json(&state.model, state.errors.as_deref().unwrap_or_default()))
        })
    }

    /// The number of layers, excluding layers of bodies.
    fn layer_count(&self, py: Python<'_>) -> usize {
        self.lock(py).model.graph().len()
    }

    /// A layer, by its index in the file.
    fn layer<'py>(&self, py: Python<'py>, index: usize) -> PyResult<LayerTuple<'py>> {
        self.inferred(py, Stage::Infer, |_| Ok(()))?;
        let mut state = self.lock(py);
        let id = state.layers().get(index).copied();
        let id = id.ok_or_else(|| PyIndexError::new_err(format!("no layer {index}")))?;
        facts::layer(py, state.model.graph(), id)
    }

    /// The index of the layer with this name.
    fn find(&self, py: Python<'_>, name: &str) -> Option<usize> {
        let mut state = self.lock(py);
        let id = state.model.graph().find(name)?;
        state.layers().iter().position(|&known| known == id)
    }

    /// The value of an output of a layer, if inference knows it.
    fn value<'py>(
        &self,
        py: Python<'py>,
        index: usize,
        output: usize,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let known = self.inferred(py, Stage::Infer, |state| {
            let id = state.layers().get(index).copied();
            let graph = state.model.graph();
            let fact = id.and_then(|id| graph.node(id).outputs().nth(output));
            Ok(fact.and_then(|fact| fact.as_tensor()).map(|tensor| (**tensor).clone()))
        })?;
        known.map(|tensor| arrays::to_array(py, tensor, false)).transpose()
    }

    /// Runs the model on inputs by name.
    fn run<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyDict>,
        threads: usize,
        is_canonical: bool,
    ) -> PyResult<Vec<(Vec<String>, Bound<'py, PyAny>)>> {
        let session = self.ready(py, is_canonical)?;
        session::run(py, &session, inputs, threads, self.limits)
    }

    fn session(&self, py: Python<'_>, is_canonical: bool) -> PyResult<Session> {
        let session = self.inferred(py, Stage::Run, |state| state.session(is_canonical))?;
        Ok(Session::new(session, self.limits))
    }

    fn canonicalise(&self, py: Python<'_>, is_verified: bool) -> PyResult<DocumentTuple> {
        self.inferred(py, Stage::Infer, |_| Ok(()))?;
        let done = py.detach(|| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            // Works on a copy, so that the model is unchanged on error.
            let mut model = state.model.clone();
            let document = documents::canonicalise(&mut model, Vec::new(), is_verified, self.limits)?;
            // The canonical form is already inferred.
            let errors = state.errors.clone();
            *state.change() = model;
            (state.errors, state.is_as_read) = (errors, false);
            Ok(document)
        });
        done.map(tuple).map_err(|error| errors::document_exception(py, &error))
    }

    fn why(&self, py: Python<'_>, target: &str) -> PyResult<DocumentTuple> {
        self.inferred(py, Stage::Other, |state| documents::why(&state.model, target)).map(tuple)
    }

    fn why_unknown(&self, py: Python<'_>) -> PyResult<DocumentTuple> {
        self.inferred(py, Stage::Other, |state| Ok(documents::why_unknown(&state.model))).map(tuple)
    }

    /// Explains the inference error with this index.
    fn why_error(&self, py: Python<'_>, index: usize) -> PyResult<DocumentTuple> {
        let document = self.inferred(py, Stage::Other, |state| {
            let error = state.errors.as_ref().and_then(|errors| errors.get(index)).map(Diagnostic::from);
            error.map(|error| documents::why_error(&state.model, &error)).transpose()
        })?;
        document
            .map(tuple)
            .ok_or_else(|| PyIndexError::new_err(format!("inference finds no error {}", index + 1)))
    }

    /// Returns findings. If the model is unchanged since it was read, these include findings about its files.
    fn check(
        &self,
        py: Python<'_>,
        select: Vec<String>,
        ignore: Vec<String>,
        target: Option<&str>,
    ) -> PyResult<(String, Vec<FindingTuple>)> {
        let options = CheckOptions::new().select(select).and_then(|options| options.ignore(ignore));
        let mut options = options.map_err(|error| PyValueError::new_err(error.to_string()))?;
        if let Some(target) = target {
            options = options.target(target.parse().map_err(PyValueError::new_err)?);
        }
        let (interrupt, limits) = (Interrupt::new(), self.limits);
        let found = py.detach(|| {
            let (model, is_as_read) = {
                let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                (state.model.clone(), state.is_as_read)
            };
            match model.files().first().filter(|path| is_as_read && path.exists()) {
                Some(path) => {
                    let load = LoadOptions::new().limits(limits).progress(interrupt.progress());
                    let load = match model.files().get(1).filter(|weights| is_weights(weights)) {
                        Some(weights) => load.weights(weights),
                        None => load,
                    };
                    let infer = InferOptions::new().limits(limits).progress(interrupt.progress());
                    snick::check_file(path, &load, &infer, &options)
                        .map(|(status, findings)| (status.name().to_string(), findings))
                }
                None => {
                    let findings = model.check(&options);
                    Ok((status_of(&findings).to_string(), findings))
                }
            }
        });
        let (status, findings) = found.map_err(|error| self.raise(py, Stage::Other, &error, &interrupt))?;
        Ok((status, findings.into_iter().map(finding).collect()))
    }

    fn cost(&self, py: Python<'_>) -> PyResult<DocumentTuple> {
        self.inferred(py, Stage::Other, |state| documents::cost(&state.model)).map(tuple)
    }

    fn save(&self, py: Python<'_>, path: PathBuf, is_strided: bool) -> PyResult<()> {
        let slice_as = if is_strided { SliceAs::StridedSlice } else { SliceAs::default() };
        self.inferred(py, Stage::Other, |state| {
            state.model.save_with(&path, SaveOptions::new().slice_as(slice_as))
        })
    }

    fn text(&self, py: Python<'_>) -> PyResult<String> {
        self.inferred(py, Stage::Other, |state| Ok(state.model.to_text()))
    }

    /// A picture as SVG.
    fn picture(&self, py: Python<'_>, depth: Option<usize>, around: Option<String>) -> PyResult<String> {
        self.inferred(py, Stage::Other, |state| {
            let options = PictureOptions::new();
            let options = depth.into_iter().fold(options, PictureOptions::depth);
            let options = around.into_iter().fold(options, |options, layer| options.around(layer, 2));
            Ok(state.model.picture(&options))
        })
    }

    /// The page of a report. If another model is given, includes the changes from this model to the other
    /// model.
    fn report(&self, py: Python<'_>, other: Option<PyRef<'_, Self>>) -> PyResult<String> {
        let copy = |other: PyRef<'_, Self>| other.inferred(py, Stage::Other, |state| Ok(state.model.clone()));
        let other = other.map(copy).transpose()?;
        self.inferred(py, Stage::Other, move |state| {
            let options = other.iter().fold(ReportOptions::new(), ReportOptions::diff);
            state.model.report(&options)
        })
    }

    /// An independent copy.
    fn copy(&self, py: Python<'_>) -> Self {
        let state = self.lock(py);
        let (is_as_read, errors) = (state.is_as_read, state.errors.clone());
        let copied = State { is_as_read, errors, ..State::new(state.model.clone()) };
        Self { state: Mutex::new(copied), limits: self.limits }
    }

    /// Whether the graphs are equal.
    fn equals(&self, py: Python<'_>, other: &Self) -> bool {
        let other = other.lock(py).model.clone();
        self.lock(py).model == other
    }
}

fn is_weights(path: &std::path::Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("bin"))
}

fn tuple(Document { json, text, .. }: Document) -> DocumentTuple {
    (json, text)
}

fn finding(finding: Finding) -> FindingTuple {
    (
        finding.code.to_string(),
        finding.name.to_string(),
        finding.severity_name().to_string(),
        finding.layer,
        finding.op,
        finding.loc.text(),
        finding.message,
        finding.help,
        finding.origins,
    )
}

fn status_of(findings: &[Finding]) -> &'static str {
    let names: Vec<_> = findings.iter().map(Finding::severity_name).collect();
    ["error", "warning"].into_iter().find(|name| names.contains(name)).unwrap_or("ok")
}

/// Compares two models.
#[pyfunction]
pub fn diff(py: Python<'_>, a: &Model, b: &Model, is_canonical: bool) -> PyResult<DocumentTuple> {
    let copy = |model: &Model| model.inferred(py, Stage::Other, |state| Ok(state.model.clone()));
    let mut models = [copy(a)?, copy(b)?];
    let compared = py.detach(|| {
        if is_canonical {
            models.iter_mut().for_each(|model| drop(model.canonicalise()));
        }
        let [a, b] = &models;
        documents::diff(a, b, None, Limits::new())
    });
    compared.map(tuple).map_err(|error| errors::document_exception(py, &error))
}
