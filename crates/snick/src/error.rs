//! Errors of the facade.

use std::fmt;
use std::path::{Path, PathBuf};

use snick_ir::{Diagnostic, Format, Located, OpError, Stopped};
use snick_read::ReadError;
use snick_tensor::TensorError;

/// Why a call failed.
///
/// The text of an error does not repeat its [`source`](std::error::Error::source): print the chain to show all causes.
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
/// Its `Debug` form is the text, too, for that is what a `main` that returns it prints. An error of a layer can be matched
/// by [`Diagnostic::error`].
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be read as a model.
    #[error(transparent)]
    Read(ReadError),
    /// Layers with errors; there is at least one.
    #[error("{}", first_of(diagnostics))]
    Invalid {
        /// The errors.
        diagnostics: Vec<Diagnostic>,
    },
    /// A graph that cannot be built so.
    #[error(transparent)]
    Op(#[from] OpError),
    /// A tensor that cannot be made or read so.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A file that cannot be written.
    #[error("cannot write {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// A file to write whose extension names no format.
    #[error(
        "{}: unknown output format; the extension must be one of {}",
        path.display(), Format::described(Format::can_write)
    )]
    Target {
        /// The file.
        path: PathBuf,
    },
    /// An input shape that cannot be set.
    #[error("`{spec}`: {message}")]
    Shape {
        /// As it was given.
        spec: String,
        /// What is wrong with it.
        message: String,
    },
    /// A name that no input of the model has.
    #[error("no input named `{name}`; {hint}")]
    NoInput {
        /// The name.
        name: String,
        /// Names that the model has.
        hint: String,
    },
    /// A layer, output or axis that the model does not have.
    #[error("{message}")]
    NoOutput {
        /// What is missing, and what there is.
        message: String,
    },
    /// An input that is given twice, under one name or two.
    #[error("input `{input}` is given twice, the second time as `{name}`; remove one")]
    InputTwice {
        /// The layer of the input.
        input: String,
        /// The name the second time.
        name: String,
    },
    /// A folder that holds no model, or several.
    #[error("{}: {message}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What it holds.
        message: String,
    },
    /// Arguments of a module that cannot be spread over a mesh so.
    #[cfg(feature = "emit")]
    #[error(transparent)]
    Shard(#[from] snick_emit::ShardError),
    /// A module whose parts on devices cannot be planned.
    #[cfg(feature = "emit")]
    #[error(transparent)]
    Partition(#[from] snick_emit::stablehlo::PartitionError),
    /// Declarations of ops that cannot be read.
    #[error("{message}")]
    Ops {
        /// What is wrong, and where.
        message: String,
    },
    /// The caller's progress function stopped the work.
    #[error("cancelled at layer `{layer}`")]
    Cancelled {
        /// The layer that was finished last.
        layer: String,
    },
    /// A limit was reached.
    #[error("the limit of {limit} is reached{}", if layer.is_empty() { String::new() } else { format!(" at layer `{layer}`") })]
    Limit {
        /// The limit: `1000 layers`, `30 s`.
        limit: String,
        /// The layer that was finished last; empty if there is none.
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

impl Error {
    /// A code that stays the same whatever the message says. Codes below S050 are those of findings about a model.
    ///
    /// | code | error |
    /// |---|---|
    /// | S001 | a file that is not a model, or cannot be read |
    /// | S002 | weights of a constant that are not there |
    /// | S003 | weights that end before a constant does |
    /// | S005 | a git-LFS pointer in place of a file |
    /// | S006 | external data outside the folder of the model |
    /// | S008 | a limit of time, memory or layers, or a tensor that is too large |
    /// | S010 | an edge from or to a layer or a port that is not there |
    /// | S011 | two layers with one id |
    /// | S013 | a cycle |
    /// | S014 | an unknown operation |
    /// | S017 | two edges to one input |
    /// | S020 | any other error of a layer: inference fails |
    /// | S048 | a module of sizes that only a run shows, which cannot be planned for devices |
    /// | S049 | a mesh or a sharding that does not fit |
    /// | S050 | an operation without an implementation to run |
    /// | S051 | something that the output format cannot express |
    /// | S052 | an input that a run needs and is not given |
    /// | S053 | a file that cannot be written |
    /// | S054 | a name that no input or layer has, or an input given twice |
    /// | S055 | an input shape that cannot be set |
    /// | S056 | an output file whose extension names no format |
    /// | S057 | work that the progress function stopped |
    /// | S058 | a folder that holds no model, or several |
    /// | S059 | declarations of ops that cannot be read |
    pub fn code(&self) -> &'static str {
        match self {
            Self::Read(ReadError::LfsPointer { .. }) => "S005",
            Self::Read(ReadError::Graph(located)) => located.error.code(),
            Self::Read(_) => "S001",
            Self::Invalid { diagnostics } => diagnostics.first().map_or("S020", |first| first.code),
            Self::Op(error) => error.code(),
            Self::Tensor(_) => "S020",
            Self::Limit { .. } => "S008",
            Self::Io { .. } => "S053",
            Self::NoInput { .. } | Self::NoOutput { .. } | Self::InputTwice { .. } => "S054",
            Self::Shape { .. } => "S055",
            Self::Target { .. } => "S056",
            Self::Cancelled { .. } => "S057",
            Self::Folder { .. } => "S058",
            Self::Ops { .. } => "S059",
            #[cfg(feature = "emit")]
            Self::Shard(_) => "S049",
            #[cfg(feature = "emit")]
            Self::Partition(_) => "S048",
        }
    }

    /// The errors of layers as data; empty if the error is about no layer.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Self::Invalid { diagnostics } => diagnostics,
            _ => &[],
        }
    }

    /// The message and those of its causes, each once, on one line.
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

/// The first error, and how many follow.
fn first_of(diagnostics: &[Diagnostic]) -> String {
    match diagnostics {
        [] => "no error".into(),
        [one] => one.to_string(),
        [first, others @ ..] => format!("{first} (and {} more)", others.len()),
    }
}
