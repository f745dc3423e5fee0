//! Runs verbs on in-memory models, and returns the text and JSON that the command line would print.

mod run;

pub use run::{Run, RunInputs, arrays_json};

use std::ops::ControlFlow;

use snick::{Certificate, Diagnostic, Error, Limits, Located, Model, Progress};
use snick_tensor::Tensor;

use crate::cli::console::Failure;
use crate::cli::inputs::GivenInputs;
use crate::cli::layout::Layout;
use crate::cli::options::OutputFormat::{Json, Text};
use crate::cmd::{canon, certify, cost, diff, infer, why};

/// Number of layers that the text of [`cost()`] lists.
const TOP_LAYERS: usize = 10;

/// The result of a verb in both formats.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  %y = Result-1(%x)\n}\n";
/// let mut model = snick::parse(text)?;
/// model.infer().into_result()?;
/// let why = snick_cli::documents::why(&model, "x:0:0")?;
/// assert!(why.json.starts_with("{\"schema\":\"snick.why/1\""));
/// assert!(why.text.starts_with("x axis 0 = N"));
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Document {
    /// The output of `--format json`.
    pub json: String,
    /// The output of `--format text`.
    pub text: String,
}

/// The output of `snick infer --format json`: all facts of an inferred model with `errors`.
pub fn infer_json(model: &Model, errors: &[Located]) -> String {
    infer::facts(model, errors, Json, Layout::default())
}

/// The output of `snick why MODEL TARGET`.
///
/// # Errors
/// [`Error::NoOutput`].
pub fn why(model: &Model, target: &str) -> Result<Document, Error> {
    let of = |format| why::of_target(model, target, format, Layout::default());
    Ok(Document { json: of(Json)?, text: of(Text)? })
}

/// The output of `snick why MODEL --unknown`.
pub fn why_unknown(model: &Model) -> Document {
    let of = |format| why::of_unknown(model, format, Layout::default());
    Document { json: of(Json), text: of(Text) }
}

/// The output of `snick why MODEL --error` for one of the errors of the model.
///
/// # Errors
/// The error belongs to another model.
pub fn why_error(model: &Model, error: &Diagnostic) -> Result<Document, Error> {
    let of = |format| why::of_error(model, error.clone(), format, Layout::default());
    Ok(Document { json: of(Json)?, text: of(Text)? })
}

/// The output of `snick cost MODEL`.
///
/// # Errors
/// The graph has a cycle.
pub fn cost(model: &Model) -> Result<Document, Error> {
    let of = |format| cost::answer(model, format, TOP_LAYERS, Layout::default());
    Ok(Document { json: of(Json)?, text: of(Text)? })
}

/// The output of `snick diff A B` for two inferred models. With arrays, the output of `snick diff A B --run`:
/// both models run on these inputs, and the first layer whose values differ is found. Arrays are given by the
/// names of inputs of the first model; other inputs are random.
///
/// ```
/// let text = |op: &str| format!("snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"N\"}}\n  \
///                                %a = {op}-1(%x)\n  %b = Abs-1(%a)\n  %y = Result-1(%b)\n}}\n");
/// let mut models = [snick::parse(&text("ReLU"))?, snick::parse(&text("Negative"))?];
/// for model in &mut models {
///     model.infer().into_result()?;
/// }
/// let x = snick::Tensor::from_slice(&[-1f32, 2.], &[2])?;
/// let diff = snick_cli::documents::diff(&models[0], &models[1], Some(&[("x".into(), x)]), snick::Limits::new());
/// assert!(diff.unwrap().json.contains(r#""first_difference":{"a":"a","b":"a""#));
/// # Ok::<(), snick::Error>(())
/// ```
///
/// # Errors
/// A graph has a cycle; a layer fails in one of the runs, or a limit is reached.
pub fn diff(
    a: &Model,
    b: &Model,
    inputs: Option<&[(String, Tensor)]>,
    limits: Limits,
) -> Result<Document, DocumentError> {
    let names = ["a", "b"].map(String::from);
    let given = inputs.map(|arrays| GivenInputs::single_step(a.graph(), arrays, 0)).transpose()?;
    let [text, json] = diff::between([a, b], &names, given.as_ref(), limits)?;
    Ok(Document { json, text })
}

/// The output of `snick canon MODEL`, applied to an inferred model with `errors`. `is_verified` corresponds
/// to `--verify`. `progress` is called after each rewritten layer; `Break` stops the work.
///
/// # Errors
/// A limit was reached, or `progress` stopped the work. In that case the model is valid, but only partly rewritten.
pub fn canonicalise(
    model: &mut Model,
    errors: Vec<Located>,
    is_verified: bool,
    limits: Limits,
    progress: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static,
) -> Result<Document, DocumentError> {
    let canonical = canon::of_model(model, errors, is_verified, limits, progress)?;
    Ok(Document { json: canonical.as_json(model), text: canonical.as_text(model, false) })
}

/// The output of `snick certify MODEL`, with or without `--after`.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  %y = Result-1(%x)\n}\n";
/// let mut model = snick::parse(text)?;
/// model.infer().into_result()?;
/// let document = snick_cli::documents::certify(&model.certify(&snick::CertifyOptions::new())?);
/// assert_eq!(document.text, "0 rewrites: 0 proved\n");
/// # Ok::<(), snick::Error>(())
/// ```
pub fn certify(certificate: &Certificate) -> Document {
    Document { json: certify::as_json(certificate), text: certify::as_text(certificate) }
}

/// The reason why there is no document: the model cannot be canonicalised, verified or run.
#[derive(thiserror::Error, Debug)]
#[non_exhaustive]
pub enum DocumentError {
    /// A limit was reached.
    #[error("{0}")]
    Limit(String),
    /// Errors of layers that prevent a run.
    #[error(transparent)]
    Invalid(#[from] Error),
    /// Any other error.
    #[error("{0}")]
    Other(String),
}

impl From<Failure> for DocumentError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Limit(message) => Self::Limit(message),
            Failure::Layers(diagnostics) => Self::Invalid(Error::Invalid { diagnostics }),
            other => Self::Other(other.to_string()),
        }
    }
}
