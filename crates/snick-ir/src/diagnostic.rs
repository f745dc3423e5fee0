//! Errors of layers as data.

use std::fmt;
use std::sync::Arc;

use crate::text::Escaped;
use crate::{InputOrigin, Loc, Located, OpError};

/// How bad a finding is.
///
/// ```
/// use snick::{Diagnostic, Severity};
///
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2,3\"}\n  \
/// #             %y = Parameter-1 {element_type: f32, shape: \"2,4\"}\n  %sum = Add-1(%x, %y)\n}\n";
/// let mut graph = snick::text::parse(text, None)?;
/// let found: Vec<Diagnostic> = snick::infer(&mut graph).into_iter().map(Diagnostic::from).collect();
/// assert_eq!(found[0].severity, Severity::Error);
/// assert_eq!(found.iter().filter(|finding| finding.severity >= Severity::Warning).count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Severity {
    /// Informational.
    Note,
    /// Probably not intended.
    Warning,
    /// Wrong.
    Error,
}

/// An error of a layer, as data. Displayed as ``file:line:column: layer `name` (Op): message``.
///
/// ```
/// let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2,3\"}\n  \
///             %y = Parameter-1 {element_type: f32, shape: \"4\"}\n  %sum = Add-1(%x, %y)\n  \
///             %r = Result-1(%sum)\n}\n";
/// let mut graph = snick::text::parse(text, None)?;
/// let error = snick::Diagnostic::from(&snick::infer(&mut graph)[0]);
/// assert_eq!((error.code, error.layer.as_str(), error.loc.line), ("S020", "sum", 5));
/// assert_eq!(error.message, "cannot broadcast [2,3] with [4]");
/// assert_eq!(error.origins[0].to_string(), "f32[2,3] of `x` (Parameter, 3:3)");
/// assert_eq!((error.origins[1].layer.as_str(), error.origins[1].loc.line), ("y", 4));
/// # Ok::<(), snick::text::ParseError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Diagnostic {
    /// A code that stays the same even if the message changes.
    pub code: &'static str,
    /// How bad the error is.
    pub severity: Severity,
    /// The file as the user named it; empty if there is none.
    pub file: String,
    /// The name of the layer.
    pub layer: String,
    /// The operation type of the layer.
    pub op: String,
    /// Line and column of the layer, if the file has them.
    pub loc: Loc,
    /// The message, without the location.
    pub message: String,
    /// The inputs that the message is about, each with the layer where its shape originates.
    pub origins: Vec<InputOrigin>,
    #[cfg_attr(feature = "serde", serde(skip))]
    error: Cause,
}

/// The error behind a diagnostic. Comparisons of diagnostics ignore it, because `OpError` is not `Eq`.
#[derive(Clone, Debug)]
struct Cause(Arc<OpError>);

impl PartialEq for Cause {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Cause {}

impl From<&Located> for Diagnostic {
    fn from(located: &Located) -> Self {
        let (message, origins) = match &located.error {
            OpError::WithInputs { error, inputs } => (error.to_string(), inputs.clone()),
            error => (error.to_string(), Vec::new()),
        };
        Self {
            code: located.error.code(),
            severity: Severity::Error,
            file: located.source.clone(),
            layer: located.layer.clone(),
            op: located.op.clone(),
            loc: located.loc,
            message,
            origins,
            error: Cause(Arc::new(located.error.clone())),
        }
    }
}

impl From<Located> for Diagnostic {
    fn from(located: Located) -> Self {
        Self::from(&located)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.place(), self.headline())?;
        f.write_str(&self.inputs_in_parentheses())
    }
}

impl Diagnostic {
    /// The error, for pattern matching. `Error::source` does not return it, because printing the error chain
    /// would then repeat the message.
    ///
    /// ```
    /// use snick::{Diagnostic, Located, OpError};
    ///
    /// let error = OpError::contradicts_fact("output 0", "f32[2]", "f32[3]");
    /// let diagnostic = Diagnostic::from(Located::of_model("m.xml", "m", error));
    /// assert!(diagnostic.error().is_contradiction());
    /// ```
    pub fn error(&self) -> &OpError {
        &self.error.0
    }

    /// The place, as the start of a line: `file:line:column: `. Empty if neither file nor line is known.
    pub fn place(&self) -> String {
        place(&Escaped(&self.file).to_string(), self.loc)
    }

    /// The layer and the message, without the place and the inputs: ``layer `name` (Op): message``.
    pub fn headline(&self) -> String {
        let [layer, op, message] = [&self.layer, &self.op, &self.message].map(|text| Escaped(text.as_str()));
        format!("layer `{layer}` ({op}): {message}")
    }

    /// The message and the inputs that it is about.
    pub fn message_with_inputs(&self) -> String {
        match self.origins.is_empty() {
            true => self.message.clone(),
            false => format!("{} (inputs: {})", self.message, self.inputs()),
        }
    }

    /// The inputs that the message is about, as the end of a line; empty if there are none.
    pub fn inputs_in_parentheses(&self) -> String {
        match self.origins.is_empty() {
            true => String::new(),
            false => format!(" (inputs: {})", Escaped(&self.inputs())),
        }
    }

    /// The inputs that the message is about, on one line.
    pub fn inputs(&self) -> String {
        self.origins.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

impl std::error::Error for Diagnostic {}

/// `file:line:column: `; unknown parts are omitted.
pub(crate) fn place(file: &str, loc: Loc) -> String {
    match (file, loc.line) {
        ("", 0) => String::new(),
        ("", _) => format!("{loc}: "),
        (file, 0) => format!("{file}: "),
        (file, _) => format!("{file}:{loc}: "),
    }
}
