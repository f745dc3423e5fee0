//! Errors of ops, with and without locations.

use std::borrow::Cow;
use std::fmt::{self, Display};

use snick_tensor::{ElementType, Listed, TensorError};

use crate::diagnostic::place;
use crate::text::Escaped;
use crate::{Code, InputOrigin, Loc};

/// The message template of an [`OpError::Conflict`] between shapes that cannot be broadcast.
pub(crate) const CANNOT_BROADCAST: &str = "cannot broadcast {} with {}";

/// An error of a layer, without its location. Inference, rewriting and runs add the location by wrapping the
/// error in a [`Located`].
///
/// ```
/// use snick::OpError;
///
/// let error = OpError::out_of_range("by", -1, "0 or more");
/// assert_eq!(error.to_string(), "by = -1 is out of range, expected 0 or more");
/// assert_eq!(error.code(), "S020");
/// ```
#[derive(thiserror::Error, Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the message of each variant explains its fields")]
#[non_exhaustive]
pub enum OpError {
    /// A required attribute is missing.
    #[error("attribute `{name}` is missing")]
    MissingAttribute { name: &'static str },
    /// An attribute has an invalid value.
    #[error("attribute `{name}` is \"{value}\", expected {expected}")]
    BadAttribute { name: &'static str, value: String, expected: String },
    /// The op has the wrong number of inputs.
    #[error("has {got} {}, expected {expected}", if *got == 1 { "input" } else { "inputs" })]
    Arity { expected: String, got: usize },
    /// A required input is not connected.
    #[error("input {port} is not connected")]
    NotConnected { port: usize },
    /// A value of another graph, or of a node that was removed.
    #[error("a value of another graph, or of a node that was removed")]
    ForeignValue,
    /// An inferred fact contains symbols of another graph.
    #[error("{what} uses symbols of another graph")]
    ForeignSymbol { what: String },
    /// No op has this name.
    #[error("unknown operation `{name}`{}", nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    UnknownOp { name: String, nearest: Option<&'static str> },
    /// An attribute that the op does not declare.
    #[error("unknown attribute `{name}` of `{op_type}`{}", nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    UnknownAttribute { op_type: &'static str, name: String, nearest: Option<&'static str> },
    /// An element type that the op does not support.
    #[error("{what} has element type {got}, expected {expected}")]
    ElementType { what: String, got: ElementType, expected: String },
    /// A rank that the op does not support.
    #[error("{what} has rank {got}, expected {expected}")]
    Rank { what: String, got: usize, expected: String },
    /// Two values that contradict each other; `sentence` has a `{}` for each.
    #[error("{}", filled(sentence, [left, right]))]
    Conflict { sentence: Cow<'static, str>, left: String, right: String },
    /// A window that does not fit in the padded input.
    #[error("window of {window} exceeds the padded input of {padded} on spatial axis {axis}")]
    WindowTooLarge { axis: usize, window: String, padded: String },
    /// An integer outside its allowed range.
    #[error("{what} = {value} is out of range, expected {expected}")]
    OutOfRange { what: String, value: i64, expected: String },
    /// An index beyond the end of its axis.
    #[error("{entry} = {value} is out of range for axis {axis} of size {size} ({why})")]
    NoSuchIndex { entry: String, value: i64, axis: usize, size: i64, why: &'static str },
    /// Any other wrong property.
    #[error("{what} is {got}, expected {expected}")]
    Mismatch { what: String, got: String, expected: String },
    /// A computed value that contradicts inference: a bug in snick or in a custom op.
    #[error("{what} is {got}, expected {expected}")]
    ContradictsFact { what: String, got: String, expected: String },
    /// Something valid that is not implemented.
    #[error("{what} is not supported")]
    Unsupported { what: String },
    /// The layer reads its own output.
    #[error("is part of a cycle")]
    Cycle,
    /// A rewrite rule whose replacement depends on the layer that it replaces.
    #[error("the replacement reads the layer that it replaces")]
    ReadsReplaced,
    /// A rewrite rule that keeps applying to its own replacements.
    #[error("rule `{rule}` does not end after {rewrites} rewrites; it must not match its own replacement")]
    EndlessRule { rule: String, rewrites: usize },
    /// The op has no implementation to run.
    #[error("no implementation to run `{op_type}`")]
    NoImplementation { op_type: String },
    /// Running the op needs a feature that snick was built without.
    #[error("running it needs the feature `{feature}` of the crate snick")]
    FeatureOff { feature: &'static str },
    /// A text or a vocabulary that cannot be processed.
    #[error("{0}")]
    Text(String),
    /// A file format cannot express part of a model.
    #[error("cannot write {what} to {format}")]
    CannotWrite { what: String, format: &'static str },
    /// Something that the release to write for lacks. `since` is the oldest release that has it, `reason` why it
    /// could not be rewritten, if known.
    #[error("{target} lacks {what}, {}{}", availability(target, since.as_deref()), parenthesised(reason.as_deref()))]
    NeedsRelease { what: String, target: String, since: Option<String>, reason: Option<String> },
    /// A run lacks an input.
    #[error("input not provided")]
    InputNotProvided,
    /// A value that is required for a run is missing.
    #[error("no value for {what}: {why}")]
    NoValue { what: String, why: String },
    /// A constant whose weights are missing.
    #[error("no value for the constant: {why}")]
    WeightsMissing { why: String },
    /// A constant beyond the end of the weights.
    #[error("no value for the constant: {why}")]
    WeightsTruncated { why: String },
    /// An edge to a layer that does not exist.
    #[error("an edge leads from output port {port} of layer {from} to layer {to}, which is not there")]
    DanglingEdge { from: u64, port: u32, to: u64 },
    /// An edge with a missing source layer or port.
    #[error("{fault}")]
    BrokenEdge { fault: String },
    /// Two layers with the same id.
    #[error("duplicate layer id {id}, also used by `{first}`")]
    DuplicateId { id: u64, first: String },
    /// Two attributes with the same name.
    #[error("attribute `{name}` is given twice")]
    DuplicateAttribute { name: String },
    /// Two edges to the same input.
    #[error("input {port} is connected to `{first}` and to `{second}`, expected one of them")]
    SecondProducer { port: usize, first: String, second: String },
    /// External data outside the folder of the model.
    #[error("the location of external data is `{location}`, expected a file next to the model")]
    UnsafePath { location: String },
    /// A dim of a declared op that cannot be parsed.
    #[error("{dim}: {fault}")]
    DeclaredDim { dim: String, fault: String },
    /// A layer that would compute more elements than the remaining fuel allows.
    #[error("computes {elements} elements, more than the {left} of fuel that are left")]
    OutOfFuel { elements: usize, left: usize },
    /// Another error, with the facts of the inputs that caused it.
    #[error("{error} (inputs: {})", inputs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    WithInputs { error: Box<OpError>, inputs: Vec<InputOrigin> },
    /// An error in a body.
    #[error("in the body: {0}")]
    Inside(Box<Located>),
    /// An error in the decomposition of an op.
    #[error("in its decomposition: {0}")]
    InDecomposition(Box<Located>),
    /// An error of a tensor.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// An error of a declared shape.
    #[error(transparent)]
    Shape(#[from] snick_shape::ShapeError),
    /// An error of a slice.
    #[error(transparent)]
    Slice(#[from] snick_shape::SliceError),
}

/// Since when releases have something.
/// Since when a target has something; targets are releases of OpenVINO and opsets of ONNX.
fn availability(target: &str, since: Option<&str>) -> String {
    match since {
        Some(since) => format!("which needs {since} or later"),
        None if target.contains("opset") => "and no opset has it".into(),
        None => "and no release has it".into(),
    }
}

fn parenthesised(text: Option<&str>) -> String {
    text.map(|text| format!(" ({text})")).unwrap_or_default()
}

/// Fills in the placeholders `{}` of a sentence, in order.
fn filled(sentence: &str, values: [&String; 2]) -> String {
    let mut values = values.into_iter();
    let mut parts = sentence.split("{}");
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        text.push_str(values.next().map_or("{}", String::as_str));
        text.push_str(part);
    }
    text
}

impl From<&OpError> for Code {
    fn from(error: &OpError) -> Self {
        match error.root() {
            OpError::WeightsMissing { .. } => Self::WeightsMissing,
            OpError::WeightsTruncated { .. } => Self::WeightsTruncated,
            OpError::UnsafePath { .. } => Self::UnsafePath,
            OpError::DanglingEdge { .. } | OpError::BrokenEdge { .. } => Self::DanglingEdge,
            OpError::DuplicateId { .. } => Self::DuplicateId,
            OpError::Cycle => Self::Cycle,
            OpError::UnknownOp { .. } => Self::UnknownOp,
            OpError::SecondProducer { .. } => Self::SecondProducer,
            OpError::NoImplementation { .. } | OpError::FeatureOff { .. } => Self::CannotRun,
            OpError::CannotWrite { .. } | OpError::NeedsRelease { .. } => Self::CannotExpress,
            OpError::InputNotProvided => Self::InputNotGiven,
            OpError::Tensor(
                TensorError::TooLarge { .. }
                | TensorError::OutOfMemory { .. }
                | TensorError::AboveLimit { .. }
                | TensorError::LimitReached { .. },
            )
            | OpError::OutOfFuel { .. } => Self::Limit,
            _ => Self::ShapeError,
        }
    }
}

impl OpError {
    /// The text of the [`Code`] of the error. The code stays the same even if the message changes.
    pub fn code(&self) -> &'static str {
        Code::from(self).text()
    }

    /// The innermost error, without the facts of inputs and the enclosing layers.
    pub fn root(&self) -> &Self {
        match self {
            Self::WithInputs { error, .. } => error.root(),
            Self::Inside(located) | Self::InDecomposition(located) => located.error.root(),
            error => error,
        }
    }

    /// Whether a layer needs more fuel than the run has left.
    pub fn is_out_of_fuel(&self) -> bool {
        matches!(self.root(), Self::OutOfFuel { .. })
    }

    /// Whether the error says that a value, here or in a body, contradicts inference.
    ///
    /// ```
    /// use snick::OpError;
    ///
    /// let error = OpError::contradicts_fact("output 0", "f32[2]", "f32[3]");
    /// assert!(error.is_contradiction() && error.to_string() == "output 0 is f32[2], expected f32[3]");
    /// assert!(!OpError::mismatch("output 0", "f32[2]", "f32[3]").is_contradiction());
    /// ```
    pub fn is_contradiction(&self) -> bool {
        matches!(self.root(), Self::ContradictsFact { .. })
    }

    /// Whether a limit is exceeded: a tensor needs more memory than allowed or available, or a layer needs
    /// more fuel than is left.
    pub fn is_limit(&self) -> bool {
        Code::from(self) == Code::Limit
    }

    /// Whether the facts of the inputs help the user understand the error.
    pub(crate) fn is_about_inputs(&self) -> bool {
        match self {
            Self::ElementType { .. }
            | Self::Rank { .. }
            | Self::Conflict { .. }
            | Self::WindowTooLarge { .. }
            | Self::OutOfRange { .. }
            | Self::NoSuchIndex { .. }
            | Self::Mismatch { .. }
            | Self::Shape(_)
            | Self::Slice(_) => true,
            Self::MissingAttribute { .. }
            | Self::BadAttribute { .. }
            | Self::Arity { .. }
            | Self::NotConnected { .. }
            | Self::ForeignValue
            | Self::ForeignSymbol { .. }
            | Self::UnknownOp { .. }
            | Self::UnknownAttribute { .. }
            | Self::WeightsMissing { .. }
            | Self::WeightsTruncated { .. }
            | Self::DanglingEdge { .. }
            | Self::BrokenEdge { .. }
            | Self::DuplicateId { .. }
            | Self::DuplicateAttribute { .. }
            | Self::SecondProducer { .. }
            | Self::UnsafePath { .. }
            | Self::DeclaredDim { .. }
            | Self::ContradictsFact { .. }
            | Self::Unsupported { .. }
            | Self::NoImplementation { .. }
            | Self::FeatureOff { .. }
            | Self::Text(_)
            | Self::Cycle
            | Self::ReadsReplaced
            | Self::EndlessRule { .. }
            | Self::CannotWrite { .. }
            | Self::NeedsRelease { .. }
            | Self::InputNotProvided
            | Self::NoValue { .. }
            | Self::OutOfFuel { .. }
            | Self::WithInputs { .. }
            | Self::Inside(_)
            | Self::InDecomposition(_)
            | Self::Tensor(_) => false,
        }
    }

    /// A wrong element type.
    pub fn element_type(what: impl Into<String>, got: ElementType, expected: impl Into<String>) -> Self {
        Self::ElementType { what: what.into(), got, expected: expected.into() }
    }

    /// A wrong rank.
    pub fn rank(what: impl Into<String>, got: usize, expected: impl Into<String>) -> Self {
        Self::Rank { what: what.into(), got, expected: expected.into() }
    }

    /// Two values that contradict each other: `conflict("data has rank {}, filters have rank {}", 4, 5)`.
    pub fn conflict(sentence: impl Into<Cow<'static, str>>, left: impl Display, right: impl Display) -> Self {
        Self::Conflict { sentence: sentence.into(), left: left.to_string(), right: right.to_string() }
    }

    /// An [`OpError::conflict`] between two lists of dims.
    pub fn dims_conflict(sentence: impl Into<Cow<'static, str>>, left: &[usize], right: &[usize]) -> Self {
        Self::conflict(sentence, Listed(left), Listed(right))
    }

    /// An integer out of its range.
    pub fn out_of_range(what: impl Into<String>, value: i64, expected: impl Into<String>) -> Self {
        Self::OutOfRange { what: what.into(), value, expected: expected.into() }
    }

    /// Any other wrong property.
    pub fn mismatch(what: impl Into<String>, got: impl ToString, expected: impl ToString) -> Self {
        Self::Mismatch { what: what.into(), got: got.to_string(), expected: expected.to_string() }
    }

    /// A computed value that contradicts inference.
    pub fn contradicts_fact(what: impl Into<String>, got: impl ToString, expected: impl ToString) -> Self {
        Self::ContradictsFact { what: what.into(), got: got.to_string(), expected: expected.to_string() }
    }

    /// Something valid that snick does not implement.
    pub fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into() }
    }
}

/// An [`OpError`] with its location: ``file:line:col: layer `name` (Op): what``.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2,3\"}\n  \
/// #             %y = Parameter-1 {element_type: f32, shape: \"2,4\"}\n  %sum = Add-1(%x, %y)\n}\n";
/// let mut graph = snick::text::parse(text, None)?;
/// let error = snick::infer(&mut graph).remove(0);
/// assert_eq!((error.layer.as_str(), error.op.as_str(), error.loc.line), ("sum", "Add", 5));
/// assert!(error.to_string().contains("layer `sum` (Add): cannot broadcast [2,3] with [2,4]"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Located {
    /// The file as the user named it.
    pub source: String,
    /// Line and column of the layer, if the source has them.
    pub loc: Loc,
    /// The layer's name.
    pub layer: String,
    /// The layer's operation type.
    pub op: String,
    /// The error.
    pub error: OpError,
}

impl Located {
    /// An error of a model as a whole.
    pub fn of_model(source: impl Into<String>, name: impl Into<String>, error: OpError) -> Self {
        Self { source: source.into(), loc: Loc::default(), layer: name.into(), op: "model".into(), error }
    }
}

impl Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = place(&Escaped(&self.source).to_string(), self.loc);
        let error = self.error.to_string();
        write!(f, "{place}layer `{}` ({}): {}", Escaped(&self.layer), Escaped(&self.op), Escaped(&error))
    }
}

/// The message already includes the message of the [`OpError`], so the error chain continues with the source
/// of that error.
impl std::error::Error for Located {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_the_sentence_has_them() {
        let text = |left, right| OpError::conflict("{} against {}", left, right).to_string();
        assert_eq!(text("[1]", "[2]"), "[1] against [2]");
        assert_eq!(text("{}", "b"), "{} against b");
    }
}
