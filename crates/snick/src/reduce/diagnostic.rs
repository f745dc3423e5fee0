//! Whether an error is still the same one.

use std::mem::{Discriminant, discriminant};

use snick_ir::{Located, OpError};

/// What stays the same of an error while the model around it shrinks.
///
/// ```
/// use snick::ErrorKind;
///
/// let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n  \
///             %y = Parameter-1 {element_type: f32, shape: \"3\"}\n  %sum = Add-1(%x, %y)\n}\n";
/// let errors = snick::infer(&mut snick::text::parse(text, None)?);
/// let kind = ErrorKind::of(&errors[0]);
/// assert_eq!(kind.to_string(), "S020 of Add");
/// assert!(kind.is_among(&errors));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ErrorKind {
    code: &'static str,
    op: String,
    error: Discriminant<OpError>,
}

impl ErrorKind {
    /// The code of an error, the type of its layer, and which error it is, whatever its values are.
    pub fn of(error: &Located) -> Self {
        let mut plain = &error.error;
        while let OpError::WithInputs { error, .. } = plain {
            plain = error;
        }
        Self { code: error.error.code(), op: error.op.clone(), error: discriminant(plain) }
    }

    /// Whether one of the errors is of this kind.
    pub fn is_among(&self, errors: &[Located]) -> bool {
        errors.iter().any(|error| Self::of(error) == *self)
    }
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.code, self.op)
    }
}
