//! Options and results of inference.

use std::ops::ControlFlow;

use snick_ir::{Diagnostic, Limits, Located, Monitor, Progress, Watch};

use crate::Error;

/// Options for inference.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::time::Duration;
/// use snick::{Error, InferOptions, Limits};
///
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
/// #             %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
/// let mut model = snick::parse(text)?;
/// let options = InferOptions::new().limits(Limits::new().time(Duration::from_secs(10)));
/// model.infer_with(&options)?.into_result()?;
///
/// let impatient = InferOptions::new().progress(|_| ControlFlow::Break(()));
/// assert!(matches!(model.infer_with(&impatient), Err(Error::Cancelled { layer }) if layer == "x"));
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct InferOptions {
    watch: Watch,
}

impl InferOptions {
    /// No limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops with [`Error::Limit`] when a limit is reached.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { watch: self.watch.limits(limits) }
    }

    /// Calls `progress` after each layer, including layers of bodies. If it returns `Break`, inference stops
    /// with [`Error::Cancelled`].
    #[must_use]
    pub fn progress(self, progress: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self { watch: self.watch.progress(progress) }
    }

    pub(crate) fn monitor(&self) -> Monitor {
        self.watch.start()
    }
}

/// The errors that [`Model::infer`](crate::Model::infer) found, including the errors of reading the model.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2,3\"}\n  \
/// #             %y = MatMul-1(%x, %x) {transpose_a: false, transpose_b: false}\n  %z = Result-1(%y)\n}\n";
/// let mut model = snick::parse(text)?;
/// let inference = model.infer();
/// assert!(!inference.is_ok());
/// assert_eq!(inference.errors()[0].layer, "y");
/// assert_eq!(inference.into_result().unwrap_err().diagnostics().len(), 1);
/// # Ok::<(), snick::Error>(())
/// ```
#[must_use = "errors of the model are lost"]
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Inference {
    located: Vec<Located>,
    errors: Vec<Diagnostic>,
}

impl Inference {
    /// The errors.
    pub fn errors(&self) -> &[Diagnostic] {
        &self.errors
    }

    /// The errors as [`Located`].
    pub fn into_located(self) -> Vec<Located> {
        self.located
    }

    /// Whether there are no errors.
    pub fn is_ok(&self) -> bool {
        self.errors.is_empty()
    }

    /// `Ok` if there are no errors.
    ///
    /// # Errors
    /// [`Error::Invalid`] with all errors.
    pub fn into_result(self) -> Result<(), Error> {
        match self.errors.is_empty() {
            true => Ok(()),
            false => Err(Error::Invalid { diagnostics: self.errors }),
        }
    }
}

impl From<Vec<Located>> for Inference {
    fn from(located: Vec<Located>) -> Self {
        let errors = located.iter().map(Diagnostic::from).collect();
        Self { located, errors }
    }
}
