//! Converts errors of the crate `snick` to Python exceptions.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use snick::{Code, Diagnostic, Error, Graph, OpError, ReadError, TensorError};
use snick_cli::documents::DocumentError;

/// The code, layer, operation, location and message of an error.
type LayerTuple = (&'static str, String, String, Option<String>, String);

/// The kind of call, which determines the exception class.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Stage {
    Read,
    Infer,
    Run,
    Edit,
    Other,
}

/// A built-in class from which an exception also derives, so that callers that do not know snick can handle
/// it.
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

/// The exception for an error. If a limit was reached or the work was stopped, `graph` is the graph that
/// contains the layer at which this happened.
pub fn exception(py: Python<'_>, stage: Stage, error: &Error, graph: Option<&Graph>) -> PyErr {
    let reason = match error {
        Error::Edit { error, .. } => error,
        error => error,
    };
    let class = match (reason, stage) {
        (Error::Limit { .. }, _) => "LimitError",
        (Error::Invalid { .. }, Stage::Edit) => "InferError",
        (_, Stage::Read) => "ReadError",
        (_, Stage::Infer) => "InferError",
        (_, Stage::Run) => "RunError",
        (_, Stage::Edit | Stage::Other) => "Error",
    };
    let layers: Vec<LayerTuple> = match error {
        Error::Read(ReadError::Graph(located)) => vec![tuple(&Diagnostic::from(&**located))],
        Error::Limit { layer, .. } | Error::Cancelled { layer } if !layer.is_empty() => {
            vec![stopped_at(error, layer, graph)]
        }
        error => error.diagnostics().iter().map(tuple).collect(),
    };
    new(py, class, also_is(reason, stage), error.code(), &error.with_causes(), layers)
}

/// The exception for an error while creating a document, that is, the text and JSON that a command would
/// print.
pub fn document_exception(py: Python<'_>, error: &DocumentError) -> PyErr {
    match error {
        DocumentError::Limit(message) => {
            new(py, "LimitError", AlsoIs::Nothing, Code::Limit.text(), message, Vec::new())
        }
        DocumentError::Invalid(error) => exception(py, Stage::Run, error, None),
        other => new(py, "Error", AlsoIs::Nothing, Code::ShapeError.text(), &other.to_string(), Vec::new()),
    }
}

/// The exception for an input that a Parameter does not accept.
pub fn bad_input(py: Python<'_>, graph: &Graph, layer: &str, also: AlsoIs, message: &str) -> PyErr {
    let located = graph.find(layer).map(|id| {
        let error = OpError::from(TensorError::Argument(message.to_string()));
        Diagnostic::from(graph.located(id, error))
    });
    let text = located.as_ref().map_or_else(|| message.to_string(), ToString::to_string);
    new(py, "RunError", also, Code::ShapeError.text(), &text, located.iter().map(tuple).collect())
}

/// The layer at which work stopped, with its operation and location if `graph` is given.
fn stopped_at(error: &Error, layer: &str, graph: Option<&Graph>) -> LayerTuple {
    let node = graph.and_then(|graph| Some(graph.node(graph.find(layer)?)));
    let op = node.map_or("", |node| node.op().type_name()).to_string();
    let loc = node.and_then(|node| node.loc().text());
    (error.code(), layer.to_string(), op, loc, error.to_string())
}

fn tuple(one: &Diagnostic) -> LayerTuple {
    (one.code, one.layer.clone(), one.op.clone(), one.loc.text(), one.message.clone())
}

fn also_is(error: &Error, stage: Stage) -> AlsoIs {
    match error {
        Error::Read(ReadError::Io { error, .. }) | Error::Io { error, .. }
            if error.kind() == std::io::ErrorKind::NotFound =>
        {
            AlsoIs::FileNotFound
        }
        Error::NoInput { .. } | Error::NoOutput { .. } => AlsoIs::Key,
        Error::Op(_) if stage == Stage::Edit => AlsoIs::Value,
        Error::Shape { .. } | Error::Target { .. } | Error::OtherFormat { .. } | Error::InputTwice { .. } => {
            AlsoIs::Value
        }
        // The input is missing, or does not fit the Parameter.
        Error::Invalid { diagnostics }
            if stage == Stage::Run && diagnostics.first().is_some_and(|first| first.op == "Parameter") =>
        {
            AlsoIs::Value
        }
        _ => AlsoIs::Nothing,
    }
}

/// Calls Python to create the exception, because its class is defined there.
fn new(
    py: Python<'_>,
    class: &str,
    also: AlsoIs,
    code: &str,
    message: &str,
    layers: Vec<LayerTuple>,
) -> PyErr {
    let made = py.import("snick._errors").and_then(|module| {
        let args = (class, also.name(), code, message, layers).into_pyobject(py)?;
        module.getattr("_make")?.call1(args.cast::<PyTuple>()?)
    });
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}
