//! Errors of ops, and how they learn their place.

use snick_tensor::{ElementType, TensorError};

use crate::Loc;

/// What is wrong with one layer. Knows no place: the driver that meets it wraps it in [`Located`].
#[derive(thiserror::Error, Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum OpError {
    #[error("attribute `{name}` is missing")]
    MissingAttribute { name: &'static str },
    #[error("attribute `{name}` is \"{value}\", expected {expected}")]
    BadAttribute { name: &'static str, value: String, expected: String },
    #[error("{got} inputs, expected {expected}")]
    Arity { expected: String, got: usize },
    #[error("input {port} is not connected")]
    NotConnected { port: usize },
    #[error("a value of another graph, or of a node that was removed")]
    ForeignValue,
    #[error("unknown operation `{name}`{}", nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    UnknownOp { name: String, nearest: Option<&'static str> },
    #[error("{what} has element type {got}, expected {expected}")]
    ElementType { what: String, got: ElementType, expected: String },
    #[error("{what} has rank {got}, expected {expected}")]
    Rank { what: String, got: usize, expected: String },
    #[error("{what}: {left} and {right} do not fit")]
    Clash { what: String, left: String, right: String },
    #[error("{what} = {value} is out of range, expected {expected}")]
    OutOfRange { what: String, value: i64, expected: String },
    #[error("{entry} = {value} is out of range for axis {axis} of size {size} ({why})")]
    NoSuchIndex { entry: String, value: i64, axis: usize, size: i64, why: &'static str },
    #[error("{what} is {got}, expected {expected}")]
    Mismatch { what: String, got: String, expected: String },
    #[error("{what} is not supported")]
    Unsupported { what: String },
    #[error("the value of {what} is needed and not there: {why}")]
    NoValue { what: String, why: String },
    #[error("{error} (inputs: {inputs})")]
    Given { error: Box<OpError>, inputs: String },
    #[error("in the body: {0}")]
    Inside(Box<Located>),
    #[error(transparent)]
    Tensor(#[from] TensorError),
    #[error(transparent)]
    Symbol(#[from] snick_shape::SymbolError),
    #[error(transparent)]
    Slice(#[from] snick_shape::SliceError),
}

impl OpError {
    /// Whether facts of inputs are to blame, and not the layer alone.
    pub(crate) fn is_about_inputs(&self) -> bool {
        match self {
            Self::ElementType { .. }
            | Self::Rank { .. }
            | Self::Clash { .. }
            | Self::OutOfRange { .. }
            | Self::NoSuchIndex { .. }
            | Self::Mismatch { .. }
            | Self::Symbol(_)
            | Self::Slice(_) => true,
            Self::MissingAttribute { .. }
            | Self::BadAttribute { .. }
            | Self::Arity { .. }
            | Self::NotConnected { .. }
            | Self::ForeignValue
            | Self::UnknownOp { .. }
            | Self::Unsupported { .. }
            | Self::NoValue { .. }
            | Self::Given { .. }
            | Self::Inside(_)
            | Self::Tensor(_) => false,
        }
    }

    /// An element type that does not fit.
    pub fn element_type(what: impl Into<String>, got: ElementType, expected: impl Into<String>) -> Self {
        Self::ElementType { what: what.into(), got, expected: expected.into() }
    }

    /// A rank that does not fit.
    pub fn rank(what: impl Into<String>, got: usize, expected: impl Into<String>) -> Self {
        Self::Rank { what: what.into(), got, expected: expected.into() }
    }

    /// Two facts that contradict each other.
    pub fn clash(what: impl Into<String>, left: impl Into<String>, right: impl Into<String>) -> Self {
        Self::Clash { what: what.into(), left: left.into(), right: right.into() }
    }

    /// A number outside its range.
    pub fn out_of_range(what: impl Into<String>, value: i64, expected: impl Into<String>) -> Self {
        Self::OutOfRange { what: what.into(), value, expected: expected.into() }
    }

    /// Anything else that is not as it must be.
    pub fn mismatch(what: impl Into<String>, got: impl ToString, expected: impl ToString) -> Self {
        Self::Mismatch { what: what.into(), got: got.to_string(), expected: expected.to_string() }
    }

    /// Something legal that snick cannot do.
    pub fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into() }
    }
}

/// An [`OpError`] with its place: ``file:line:col: layer `name` (Op): what``.
#[derive(Clone, PartialEq, Debug)]
pub struct Located {
    /// File as the user named it.
    pub source: String,
    /// Line and column of the layer, if the source has them.
    pub loc: Loc,
    /// The layer's name.
    pub layer: String,
    /// The layer's operation type.
    pub op: String,
    /// What is wrong.
    pub error: OpError,
}

impl std::fmt::Display for Located {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.source.is_empty() {
            write!(f, "{}:", self.source)?;
        }
        if self.loc.line > 0 {
            write!(f, "{}: ", self.loc)?;
        } else if !self.source.is_empty() {
            f.write_str(" ")?;
        }
        write!(f, "layer `{}` ({}): {}", self.layer, self.op, self.error)
    }
}

impl std::error::Error for Located {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
