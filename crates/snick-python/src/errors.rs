//! Errors of the facade as exceptions of Python.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use snick::{Diagnostic, Error, Graph, Loc, OpError, ReadError, TensorError};
use snick_cli::documents::CanonError;

/// What a call was doing, which decides the class of its exception.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Stage {
    Read,
    Infer,
    Run,
    Other,
}

/// A built-in exception that an exception is, too, so that code that knows nothing of snick handles it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum AlsoIs {
    Nothing,
    FileNotFound,
    Key,
    Type,
    Value,
}

impl AlsoIs {
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::FileNotFound => Some("FileNotFoundError"),
            Self::Key => Some("KeyError"),
            Self::Type => Some("TypeError"),
            Self::Value => Some("ValueError"),
        }
    }
}

/// The exception of an error; `graph` has the layer that a limit names.
pub fn exception(py: Python<'_>, stage: Stage, error: &Error, graph: Option<&Graph>) -> PyErr {
    let class = match (error, stage) {
        (Error::Limit { .. }, _) => "LimitError",
        (_, Stage::Read) => "ReadError",
        (_, Stage::Infer) => "InferError",
        (_, Stage::Run) => "RunError",
        (_, Stage::Other) => "Error",
    };
    let layers = match error {
        Error::Read(ReadError::Graph(located)) => vec![Diagnostic::from(&**located)],
        Error::Limit { layer, .. } | Error::Cancelled { layer } => in_graph(error, layer, graph),
        error => error.diagnostics().to_vec(),
    };
    new(py, class, also_is(error, stage), error.code(), &error.with_causes(), &layers)
}

/// The exception of a model that is not in canonical form.
pub fn canon_exception(py: Python<'_>, error: &CanonError) -> PyErr {
    match error {
        CanonError::Limit(message) => new(py, "LimitError", AlsoIs::Nothing, "S008", message, &[]),
        CanonError::Invalid(error) => exception(py, Stage::Run, error, None),
        other => new(py, "Error", AlsoIs::Nothing, "S020", &other.to_string(), &[]),
    }
}

/// The exception of an input that cannot be given to a layer.
pub fn bad_input(py: Python<'_>, graph: &Graph, layer: &str, also: AlsoIs, message: &str) -> PyErr {
    let located = graph.find(layer).map(|id| {
        let error = OpError::from(TensorError::Argument(message.to_string()));
        Diagnostic::from(graph.located(id, error))
    });
    let text = located.as_ref().map_or_else(|| message.to_string(), ToString::to_string);
    new(py, "RunError", also, "S020", &text, located.as_slice())
}

/// The layer at which work was stopped, as a diagnostic.
fn in_graph(error: &Error, layer: &str, graph: Option<&Graph>) -> Vec<Diagnostic> {
    let found = graph.and_then(|graph| Some((graph, graph.find(layer)?)));
    let located = found.map(|(graph, id)| {
        graph.located(id, OpError::from(TensorError::Argument(error.to_string())))
    });
    located.map(Diagnostic::from).into_iter().collect()
}

fn also_is(error: &Error, stage: Stage) -> AlsoIs {
    match error {
        Error::Read(ReadError::Io { error, .. }) | Error::Io { error, .. }
            if error.kind() == std::io::ErrorKind::NotFound =>
        {
            AlsoIs::FileNotFound
        }
        Error::NoInput { .. } | Error::NoOutput { .. } => AlsoIs::Key,
        Error::Shape { .. } | Error::Target { .. } | Error::InputTwice { .. } => AlsoIs::Value,
        // An input that is missing, or that does not fit.
        Error::Invalid { diagnostics }
            if stage == Stage::Run && diagnostics.first().is_some_and(|first| first.op == "Parameter") =>
        {
            AlsoIs::Value
        }
        _ => AlsoIs::Nothing,
    }
}

fn loc(loc: Loc) -> Option<String> {
    (loc.line > 0).then(|| loc.to_string())
}

/// Makes the exception in Python, where its classes are.
fn new(
    py: Python<'_>,
    class: &str,
    also: AlsoIs,
    code: &str,
    message: &str,
    layers: &[Diagnostic],
) -> PyErr {
    let layers: Vec<_> = layers
        .iter()
        .map(|one| (one.code, one.layer.as_str(), one.op.as_str(), loc(one.loc), one.message.as_str()))
        .collect();
    let made = py.import("snick._errors").and_then(|module| {
        let args = (class, also.name(), code, message, layers).into_pyobject(py)?;
        module.getattr("_make")?.call1(args.cast::<PyTuple>()?)
    });
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}
