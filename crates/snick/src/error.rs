//! Errors of this crate.

use std::fmt;
use std::path::{Path, PathBuf};

use snick_ir::{Code, Diagnostic, Format, Located, OpError, Stopped};
use snick_read::ReadError;
use snick_tensor::TensorError;

/// Why a call failed.
///
/// The text of an error does not include its [`source`](std::error::Error::source): print the whole chain to
/// show all causes.
///
/// ```
/// use std::error::Error as _;
///
/// let error = snick::load("missing.xml").unwrap_err();
/// assert_eq!((error.to_string().as_str(), error.code()), ("cannot read missing.xml", "S001"));
/// let cause = error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>()).unwrap();
/// assert_eq!(cause.kind(), std::io::ErrorKind::NotFound);
/// ```
///
/// `Debug` prints the same text, so that a `main` that returns this error prints a readable message. For
/// errors of layers, [`Diagnostic::error`] can be matched on.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read as a model.
    #[error(transparent)]
    Read(ReadError),
    /// At least one layer has an error.
    #[error("{}", first_of(diagnostics))]
    Invalid {
        /// The errors.
        diagnostics: Vec<Diagnostic>,
    },
    /// A graph cannot be built as requested.
    #[error(transparent)]
    Op(#[from] OpError),
    /// A tensor cannot be created or read as requested.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        error: std::io::Error,
    },
    /// The extension of an output file belongs to no known format.
    #[error(
        "{}: unknown output format; the extension must be one of {}",
        path.display(), Format::described(Format::can_write)
    )]
    Target {
        /// The file.
        path: PathBuf,
    },
    /// A model for a target is to be written in another format.
    #[error("{}: a model for {target} has the extension .{}", path.display(), format.extension())]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// What has to read the model.
        target: String,
        /// The format that the target reads.
        format: Format,
    },
    /// An input shape cannot be set.
    #[error("`{spec}`: {message}")]
    Shape {
        /// The specification as given.
        spec: String,
        /// The reason why the shape cannot be set.
        message: String,
    },
    /// No input of the model has this name.
    #[error("no input named `{name}`; {hint}")]
    NoInput {
        /// The name.
        name: String,
        /// Similar names, or the names of all inputs.
        hint: String,
    },
    /// The model has no such layer, output or axis.
    #[error("{message}")]
    NoOutput {
        /// The missing part, and the parts that exist instead.
        message: String,
    },
    /// An input is given twice, possibly under two names.
    #[error("input `{input}` is given twice, the second time as `{name}`; remove one")]
    InputTwice {
        /// The layer of the input.
        input: String,
        /// The second name.
        name: String,
    },
    /// An edit of a model failed, and the model is unchanged.
    #[error("cannot {edit}: {error}")]
    Edit {
        /// The edit, such as ``rename `x` to `image` ``.
        edit: String,
        /// The reason.
        error: Box<Error>,
    },
    /// A folder contains no model or several models.
    #[error("{}: {message}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// A description of the contents of the folder.
        message: String,
    },
    /// The arguments of a module cannot be sharded over a mesh as requested.
    #[cfg(feature = "emit")]
    #[error(transparent)]
    Shard(#[from] snick_emit::ShardError),
    /// The partition of a module over devices cannot be planned.
    #[cfg(feature = "emit")]
    #[error(transparent)]
    Partition(#[from] snick_emit::stablehlo::PartitionError),
    /// A certificate does not prove what it says about the given models.
    #[cfg(feature = "analyze")]
    #[error(transparent)]
    Certificate(#[from] snick_pass::CertificateError),
    /// Declarations of custom ops cannot be read.
    #[error("{message}")]
    Ops {
        /// The problem and its location.
        message: String,
    },
    /// The caller's progress function stopped the work.
    #[error("cancelled at layer `{layer}`")]
    Cancelled {
        /// The last finished layer.
        layer: String,
    },
    /// A limit was reached.
    #[error("the limit of {limit} is reached{}", if layer.is_empty() { String::new() } else { format!(" at layer `{layer}`") })]
    Limit {
        /// The limit that was reached, such as `1000 layers` or `30 s`.
        limit: String,
        /// The last finished layer; empty if there is none.
        layer: String,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Stopped(stopped) => stopped.into(),
            error => Self::Read(error),
        }
    }
}

impl From<Stopped> for Error {
    fn from(stopped: Stopped) -> Self {
        let Stopped { limit, layer, .. } = stopped;
        match limit {
            Some(limit) => Self::Limit { limit, layer },
            None => Self::Cancelled { layer },
        }
    }
}

impl From<&Error> for Code {
    fn from(error: &Error) -> Self {
        match error {
            Error::Read(ReadError::LfsPointer { .. }) => Self::LfsPointer,
            Error::Read(ReadError::Graph(located)) => Self::from(&located.error),
            Error::Read(_) => Self::Unreadable,
            Error::Invalid { diagnostics } => {
                diagnostics.first().map_or(Self::ShapeError, |first| Self::from(first.error()))
            }
            Error::Edit { error, .. } => Self::from(&**error),
            Error::Op(error) => Self::from(error),
            Error::Tensor(_) => Self::ShapeError,
            Error::Limit { .. } => Self::Limit,
            Error::Io { .. } => Self::Unwritable,
            Error::NoInput { .. } | Error::NoOutput { .. } | Error::InputTwice { .. } => Self::WrongName,
            Error::Shape { .. } => Self::WrongShape,
            Error::Target { .. } | Error::OtherFormat { .. } => Self::UnknownFormat,
            Error::Cancelled { .. } => Self::Cancelled,
            Error::Folder { .. } => Self::NotOneModel,
            Error::Ops { .. } => Self::UnreadableOps,
            #[cfg(feature = "analyze")]
            Error::Certificate(_) => Self::WrongCertificate,
            #[cfg(feature = "emit")]
            Error::Shard(_) => Self::CannotShard,
            #[cfg(feature = "emit")]
            Error::Partition(_) => Self::CannotPlan,
        }
    }
}

impl Error {
    /// The text of the error's [`Code`]. Messages may change between releases, but codes do not.
    pub fn code(&self) -> &'static str {
        Code::from(self).text()
    }

    /// The errors of layers; empty for errors of other kinds.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Self::Invalid { diagnostics } => diagnostics,
            Self::Edit { error, .. } => error.diagnostics(),
            _ => &[],
        }
    }

    /// The message followed by the messages of its causes, on one line.
    ///
    /// ```
    /// let error = snick::load("no/such/model.xml").unwrap_err();
    /// assert!(error.with_causes().starts_with(&format!("{error}: ")));
    /// ```
    pub fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        text
    }

    /// A file that cannot be written.
    pub fn io(path: &Path, error: std::io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), error }
    }

    pub(crate) fn shape(spec: &str, message: impl ToString) -> Self {
        Self::Shape { spec: spec.to_string(), message: message.to_string() }
    }
}

impl From<Located> for Error {
    fn from(error: Located) -> Self {
        Self::Invalid { diagnostics: vec![error.into()] }
    }
}

impl From<Box<Located>> for Error {
    fn from(error: Box<Located>) -> Self {
        (*error).into()
    }
}

/// The message of the first error, and the number of further errors.
fn first_of(diagnostics: &[Diagnostic]) -> String {
    match diagnostics {
        [] => "no error".into(),
        [one] => one.to_string(),
        [first, others @ ..] => format!("{first} (and {} more)", others.len()),
    }
}
