//! A model as held by Python.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyDict;
use snick::{
    CheckOptions, Diagnostic, Error, InferOptions, Limits, LoadOptions, Located, PictureOptions,
    ReportOptions, RunOptions, SaveOptions, SliceAs,
};
use snick_cli::documents::{self, Document};

use crate::arrays;
use crate::edit::Editor;
use crate::errors::{self, Stage};
use crate::facts::{self, LayerTuple, PortTuple};
use crate::findings::{self, FindingTuple};
use crate::listing::GraphPath;
use crate::pickle::{self, Pickled};
use crate::session::{self, Session};
use crate::state::State;
use crate::watch::Interrupt;

/// A document as JSON and as text.
pub type DocumentTuple = (String, String);

/// Code, layer, operation, location and message of an error.
type ErrorTuple = (String, String, String, Option<String>, String);

/// A model.
#[pyclass(frozen, module = "snick._snick")]
pub struct Model {
    state: Mutex<State>,
    pub limits: Limits,
    /// The declarations of custom ops that the model was read with, as TOML.
    ops: Option<String>,
}

impl Model {
    pub fn new(model: snick::Model, limits: Limits, ops: Option<String>) -> Self {
        Self { state: Mutex::new(State::new(model)), limits, ops }
    }

    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, State> {
        self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a function with the inferred model, without the GIL.
    pub fn inferred<T: Send>(
        &self,
        py: Python<'_>,
        stage: Stage,
        work: impl FnOnce(&mut State) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let interrupt = Interrupt::new(None);
        let done = py.detach(|| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.infer(self.limits, &interrupt)?;
            work(&mut state)
        });
        done.map_err(|error| self.raise(py, stage, &error, &interrupt))
    }

    /// A copy of the inferred model.
    pub fn inferred_copy(&self, py: Python<'_>) -> PyResult<snick::Model> {
        self.inferred(py, Stage::Other, |state| Ok(state.model.clone()))
    }

    /// The exception for an error: that of a progress callback if it raised one.
    pub fn raise(&self, py: Python<'_>, stage: Stage, error: &Error, interrupt: &Interrupt) -> PyErr {
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

    /// Changes a copy of the model without the lock, so that a progress callback can use the model. On error, the
    /// model is unchanged. `work` returns the inference errors if it infers the changed model.
    fn replace(
        &self,
        py: Python<'_>,
        stage: Stage,
        interrupt: &Interrupt,
        work: impl FnOnce(&mut snick::Model) -> Result<Option<Vec<Located>>, Error> + Send,
    ) -> PyResult<()> {
        let mut model = self.lock(py).model.clone();
        let done = py.detach(|| work(&mut model).map(|errors| (model, errors)));
        let (model, errors) = done.map_err(|error| self.raise(py, stage, &error, interrupt))?;
        self.lock(py).replace(model, errors);
        Ok(())
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

    /// The name of the graph at a path.
    fn graph_name(&self, py: Python<'_>, path: GraphPath) -> String {
        self.lock(py).graph(&path).map(|(graph, _)| graph.name.clone()).unwrap_or_default()
    }

    /// The inputs of the graph at a path, or its outputs.
    fn ports(&self, py: Python<'_>, path: GraphPath, is_input: bool) -> PyResult<Vec<PortTuple>> {
        self.inferred(py, Stage::Infer, |state| {
            let ports = state.graph(&path).map(|(graph, _)| match is_input {
                true => graph.parameters().map(|id| facts::port(graph, id)).collect(),
                false => graph.results().map(|id| facts::port(graph, id)).collect(),
            });
            Ok(ports.unwrap_or_default())
        })
    }

    /// Sets input shapes, if given. If `is_checked`, fails for shapes that some layer rejects. On error, the model is
    /// unchanged.
    #[pyo3(signature = (spec, is_checked, progress))]
    fn reshape(
        &self,
        py: Python<'_>,
        spec: Option<&str>,
        is_checked: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let is_inferred = is_checked || progress.is_some();
        let interrupt = Interrupt::new(progress);
        let options = InferOptions::new().limits(self.limits).progress(interrupt.progress());
        self.replace(py, Stage::Infer, &interrupt, |model| {
            if let Some(spec) = spec {
                model.reshape(spec)?;
            }
            if !is_inferred {
                return Ok(None);
            }
            let errors = model.infer_with(&options)?.into_located();
            match is_checked && !errors.is_empty() {
                true => Err(Error::Invalid { diagnostics: errors.iter().map(Diagnostic::from).collect() }),
                false => Ok(Some(errors)),
            }
        })?;
        self.lock(py).is_as_read &= spec.is_none();
        Ok(())
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

    /// The number of layers of the graph at a path, excluding layers of its bodies.
    fn layer_count(&self, py: Python<'_>, path: GraphPath) -> usize {
        self.lock(py).graph(&path).map_or(0, |(graph, _)| graph.len())
    }

    /// The names of the layers of the graph at a path, in file order.
    fn layer_names(&self, py: Python<'_>, path: GraphPath) -> Vec<String> {
        let mut state = self.lock(py);
        let names =
            state.graph(&path).map(|(graph, _)| graph.ids().map(|id| graph.node(id).name().to_string()));
        names.into_iter().flatten().collect()
    }

    /// A layer of the graph at a path, by its index in the file.
    fn layer<'py>(&self, py: Python<'py>, path: GraphPath, index: usize) -> PyResult<LayerTuple<'py>> {
        self.inferred(py, Stage::Infer, |_| Ok(()))?;
        let mut state = self.lock(py);
        let (graph, listing, id) = state.layer(&path, index)?;
        facts::layer(py, graph, &listing, id)
    }

    /// The index of the layer with this name, or of the layer that computes the tensor with this name.
    fn find(&self, py: Python<'_>, path: GraphPath, name: &str) -> Option<usize> {
        let mut state = self.lock(py);
        let (graph, listing) = state.graph(&path)?;
        listing.find(graph, name)
    }

    /// The indices of the layers that read a layer.
    fn consumers(&self, py: Python<'_>, path: GraphPath, index: usize) -> PyResult<Vec<usize>> {
        let mut state = self.lock(py);
        let (graph, listing, id) = state.layer(&path, index)?;
        Ok(listing.consumers(graph, id))
    }

    /// The value of an output of a layer, if inference knows it, in a read-only array.
    fn value<'py>(
        &self,
        py: Python<'py>,
        path: GraphPath,
        index: usize,
        output: usize,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.inferred(py, Stage::Infer, |_| Ok(()))?;
        let known = {
            let mut state = self.lock(py);
            let (graph, _, id) = state.layer(&path, index)?;
            let fact = graph.node(id).outputs().nth(output);
            fact.and_then(|fact| fact.as_tensor()).map(|tensor| (**tensor).clone())
        };
        known.map(|tensor| arrays::to_view(py, tensor)).transpose()
    }

    /// Runs the model on inputs by name.
    #[pyo3(signature = (inputs, layers, threads, is_canonical, progress))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyDict>,
        layers: Vec<String>,
        threads: usize,
        is_canonical: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<(Vec<String>, Bound<'py, PyAny>)>> {
        let session = self.ready(py, is_canonical)?;
        let options = RunOptions::new().threads(threads).limits(self.limits).layers(layers);
        session::run(py, &session, inputs, options, self.limits.memory.is_some(), progress)
    }

    fn session(&self, py: Python<'_>, is_canonical: bool) -> PyResult<Session> {
        let session = self.inferred(py, Stage::Run, |state| state.session(is_canonical))?;
        Ok(Session::new(session, self.limits))
    }

    #[pyo3(signature = (is_verified, progress))]
    fn canonicalise(
        &self,
        py: Python<'_>,
        is_verified: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<DocumentTuple> {
        self.inferred(py, Stage::Infer, |_| Ok(()))?;
        let interrupt = Interrupt::new(progress);
        let (mut model, errors) = {
            let state = self.lock(py);
            (state.model.clone(), state.errors.clone())
        };
        // Works on a copy without the lock, so that a progress callback can use the model, which is unchanged on error.
        let limits = self.limits;
        let done = py.detach(|| {
            let document =
                documents::canonicalise(&mut model, Vec::new(), is_verified, limits, interrupt.progress())?;
            Ok((model, document))
        });
        let (model, document) = done.map_err(|error| {
            let raised = interrupt.raised();
            raised.unwrap_or_else(|| errors::document_exception(py, &error))
        })?;
        let mut state = self.lock(py);
        // The canonical form is already inferred.
        state.replace(model, errors);
        state.is_as_read = false;
        Ok(tuple(document))
    }

    /// The part of the model between two lists of values.
    fn extract(&self, py: Python<'_>, inputs: Vec<String>, outputs: Vec<String>) -> PyResult<Self> {
        let [inputs, outputs] =
            [&inputs, &outputs].map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
        let part = self.inferred(py, Stage::Edit, |state| state.model.extract(&inputs, &outputs))?;
        let mut part = State::new(part);
        part.is_as_read = false;
        Ok(Self { state: Mutex::new(part), limits: self.limits, ops: self.ops.clone() })
    }

    /// Edits of a copy of the model, for [`Self::finish`].
    fn editor(&self, py: Python<'_>) -> PyResult<Editor> {
        self.inferred(py, Stage::Infer, |state| Ok(Editor::new(state.model.editor(), state.changes)))
    }

    /// Replaces the model by the edited copy.
    fn finish(&self, py: Python<'_>, editor: &Editor) -> PyResult<()> {
        let mut state = self.lock(py);
        if state.changes != editor.changes {
            return Err(PyRuntimeError::new_err("the model has changed since the edits began"));
        }
        match editor.take() {
            Some(model) => state.replace(model, None),
            None => return Err(PyRuntimeError::new_err("the edits have ended")),
        }
        state.is_as_read = false;
        Ok(())
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
        let (interrupt, limits) = (Interrupt::new(None), self.limits);
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
                    Ok((findings::status_of(&findings).to_string(), findings))
                }
            }
        });
        let (status, found) = found.map_err(|error| self.raise(py, Stage::Other, &error, &interrupt))?;
        Ok((status, found.into_iter().map(findings::tuple).collect()))
    }

    fn cost(&self, py: Python<'_>) -> PyResult<DocumentTuple> {
        self.inferred(py, Stage::Other, |state| documents::cost(&state.model)).map(tuple)
    }

    fn save(&self, py: Python<'_>, path: PathBuf, is_strided: bool, target: Option<String>) -> PyResult<()> {
        let slice_as = if is_strided { SliceAs::StridedSlice } else { SliceAs::default() };
        let target = target.map(|text| text.parse().map_err(PyValueError::new_err)).transpose()?;
        let options = SaveOptions::new().slice_as(slice_as);
        let options = target.into_iter().fold(options, SaveOptions::target);
        self.inferred(py, Stage::Other, |state| state.model.save_with(&path, options))
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
        let other = other.map(|other| other.inferred_copy(py)).transpose()?;
        self.inferred(py, Stage::Other, move |state| {
            let options = other.iter().fold(ReportOptions::new(), ReportOptions::diff);
            state.model.report(&options)
        })
    }

    /// An independent copy.
    fn copy(&self, py: Python<'_>) -> Self {
        let state = self.lock(py);
        let mut copied = State::new(state.model.clone());
        (copied.is_as_read, copied.errors) = (state.is_as_read, state.errors.clone());
        Self { state: Mutex::new(copied), limits: self.limits, ops: self.ops.clone() }
    }

    fn __copy__(&self, py: Python<'_>) -> Self {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> Self {
        self.copy(py)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Pickled,))> {
        let model = self.lock(py).model.clone();
        let pickled = py.detach(|| pickle::pickled(&model, self.limits, self.ops.clone()));
        Ok((py.import("snick._snick")?.getattr("unpickled")?, (pickled,)))
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

/// The tuple of a document.
pub fn tuple(Document { json, text, .. }: Document) -> DocumentTuple {
    (json, text)
}
