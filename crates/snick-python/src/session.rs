//! Runs a model.

use std::sync::Arc;

use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use snick::{ElementType, Graph, Limits, Op, Outputs, RunOptions, Tensor, find_input, output_names};

use crate::arrays::{self, BadArray};
use crate::errors::{self, AlsoIs, Stage};
use crate::watch::Interrupt;

/// The names of an output, starting with the name of its layer, and its array.
type OutputTuple<'py> = (Vec<String>, Bound<'py, PyAny>);

/// A model prepared for any number of runs.
#[pyclass(frozen, module = "snick._snick")]
pub struct Session {
    session: Arc<snick::Session>,
    limits: Limits,
}

impl Session {
    pub fn new(session: Arc<snick::Session>, limits: Limits) -> Self {
        Self { session, limits }
    }
}

#[pymethods]
impl Session {
    /// Runs the session on inputs by name.
    #[pyo3(signature = (inputs, layers, threads, progress))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyDict>,
        layers: Vec<String>,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<OutputTuple<'py>>> {
        let options = RunOptions::new().threads(threads).limits(self.limits).layers(layers);
        run(py, &self.session, inputs, options, self.limits.memory.is_some(), progress)
    }

    /// The values of the variables.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let state = py.detach(|| self.session.state());
        state.into_iter().map(|(name, value)| Ok((name, arrays::to_array(py, value, false)?))).collect()
    }

    /// Sets the values of variables.
    fn set_state(&self, py: Python<'_>, state: &Bound<'_, PyDict>) -> PyResult<()> {
        let known = py.detach(|| self.session.state());
        let mut values: Vec<(String, Tensor)> = Vec::new();
        for (name, array) in state {
            let (name, array): (String, _) = (name.extract()?, array.cast_into::<PyUntypedArray>()?);
            let old = known.get(&name);
            let element_type = old.map_or(ElementType::Dynamic, Tensor::element_type);
            let tensor = arrays::to_tensor(&array, element_type, old.map(Tensor::dims), true);
            values.push((
                name.clone(),
                tensor.map_err(|error| raised(py, self.session.graph(), &name, error))?,
            ));
        }
        let set = py.detach(|| self.session.set_state(values));
        set.map_err(|error| errors::exception(py, Stage::Run, &error, None))
    }

    /// Resets all variables.
    fn reset(&self, py: Python<'_>) {
        py.detach(|| self.session.reset());
    }
}

/// Runs a session on arrays by input name. If memory is limited, the outputs are copied. Without a copy, a returned array
/// would keep memory that counts towards the limit of the next run.
pub fn run<'py>(
    py: Python<'py>,
    session: &snick::Session,
    inputs: &Bound<'py, PyDict>,
    options: RunOptions,
    is_memory_limited: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<OutputTuple<'py>>> {
    // A variable may keep a value, which must not change when the caller changes the array.
    let tensors = tensors(py, session.graph(), inputs, session.has_variables())?;
    let interrupt = Interrupt::of_run(progress);
    let options = options.progress(interrupt.progress());
    let outputs = py.detach(|| session.run_with(tensors, &options));
    let outputs = outputs.map_err(|error| {
        let raised = interrupt.raised();
        raised.unwrap_or_else(|| errors::exception(py, Stage::Run, &error, Some(session.graph())))
    })?;
    named(py, session, outputs, !is_memory_limited)
}

/// The tensors of arrays by input name. The arrays are copied if `is_copied`, and otherwise read in place if possible.
pub fn tensors(
    py: Python<'_>,
    graph: &Graph,
    inputs: &Bound<'_, PyDict>,
    is_copied: bool,
) -> PyResult<Vec<(String, Tensor)>> {
    let mut tensors = Vec::with_capacity(inputs.len());
    for (name, array) in inputs {
        let name: String = name.extract()?;
        let id = find_input(graph, &name)
            .map_err(|error| errors::exception(py, Stage::Run, &error, Some(graph)))?;
        let Op::Parameter(parameter) = graph.node(id).op() else { continue };
        let array = array.cast_into::<PyUntypedArray>()?;
        let dims = graph.node(id).outputs().next().and_then(|fact| fact.shape().as_static());
        let tensor = arrays::to_tensor(&array, parameter.element_type, dims.as_deref(), is_copied);
        let layer = graph.node(id).name();
        tensors.push((name, tensor.map_err(|error| raised(py, graph, layer, error))?));
    }
    Ok(tensors)
}

fn raised(py: Python<'_>, graph: &Graph, layer: &str, error: BadArray) -> PyErr {
    let (also, message) = match error {
        BadArray::Type(message) => (AlsoIs::Type, message),
        BadArray::Shape(message) => (AlsoIs::Value, message),
        BadArray::Raised(error) => return error,
    };
    errors::bad_input(py, graph, layer, also, &message)
}

fn named<'py>(
    py: Python<'py>,
    session: &snick::Session,
    outputs: Outputs,
    is_moved: bool,
) -> PyResult<Vec<OutputTuple<'py>>> {
    let graph = session.graph();
    // Inner values follow the outputs of the model.
    let results = graph.results().map(Some).chain(std::iter::repeat(None));
    let named = results.zip(outputs).map(|(id, (name, tensor))| {
        let names = id.map_or(vec![name.as_str()], |id| output_names(graph, id));
        let names = names.into_iter().map(str::to_string).collect();
        Ok((names, arrays::to_array(py, tensor, is_moved)?))
    });
    named.collect()
}
