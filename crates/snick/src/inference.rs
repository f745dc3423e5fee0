//! The result of inference.

use snick_ir::{Diagnostic, Located};

use crate::Error;

/// What [`Model::infer`](crate::Model::infer) found wrong, errors of reading included.
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

    /// The errors as the graph's own type.
    pub fn into_located(self) -> Vec<Located> {
        self.located
    }

    /// Whether there are no errors.
    pub fn is_ok(&self) -> bool {
        self.errors.is_empty()
    }

    /// Nothing, if there are no errors.
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
