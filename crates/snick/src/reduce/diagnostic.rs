//! Decides whether two errors are of the same kind.

use std::mem::{Discriminant, discriminant};

use snick_ir::{Code, Located, OpError};

/// The properties of an error that stay the same while the model around it shrinks.
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
    code: Code,
    op: String,
    error: Discriminant<OpError>,
    /// The message without shapes, names and numbers.
    wording: String,
    /// Whether the error is about two shapes of different ranks.
    ranks_differ: bool,
}

impl ErrorKind {
    /// The kind of an error: its code, the type of its layer, and its message without values. A mismatch of
    /// sizes and a mismatch of ranks are different kinds.
    pub fn of(error: &Located) -> Self {
        let mut plain = &error.error;
        while let OpError::WithInputs { error, .. } = plain {
            plain = error;
        }
        let ranks_differ = match plain {
            OpError::Conflict { left, right, .. } => rank(left).zip(rank(right)).is_some_and(|(a, b)| a != b),
            _ => false,
        };
        Self {
            code: Code::from(&error.error),
            op: error.op.clone(),
            error: discriminant(plain),
            wording: wording(&plain.to_string()),
            ranks_differ,
        }
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

/// Removes shapes, names and numbers from a message.
fn wording(message: &str) -> String {
    let mut text = String::new();
    let mut rest = message.chars();
    while let Some(c) = rest.next() {
        match c {
            '[' => rest.by_ref().take_while(|&c| c != ']').for_each(drop),
            '`' => rest.by_ref().take_while(|&c| c != '`').for_each(drop),
            c if c.is_ascii_digit() => {}
            c => text.push(c),
        }
    }
    text
}

/// The number of dims of a shape that is given as text.
fn rank(shape: &str) -> Option<usize> {
    let dims = shape.strip_prefix('[')?.strip_suffix(']')?;
    let (mut depth, mut commas) = (0usize, 0);
    for c in dims.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => commas += 1,
            _ => {}
        }
    }
    Some(if dims.is_empty() { 0 } else { commas + 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(layers: &str) -> ErrorKind {
        let text = format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n");
        let mut graph = snick_ir::text::parse(&text, None).unwrap();
        ErrorKind::of(&snick_ir::infer(&mut graph)[0])
    }

    #[test]
    fn sizes_may_shrink_and_ranks_stay_equal() {
        let joined = |a: &str, b: &str| {
            kind(&format!(
                "%a = Parameter-1 {{element_type: f32, shape: \"{a}\"}}\n%b = Parameter-1 {{element_type: f32, shape: \"{b}\"}}\n\
                 %y = Concat-1(%a, %b) {{axis: 0}}"
            ))
        };
        assert_eq!(joined("1,3,16", "1,3,15"), joined("1,1", "1,2"));
        assert_ne!(joined("1,3,16", "1,3,15"), joined("1", ""));
        assert_eq!(
            wording("cannot concatenate input 0 [1,s0/2] with `a 7`"),
            "cannot concatenate input   with "
        );
        assert_eq!((rank("[]"), rank("[1,max(N,2)]"), rank("4")), (Some(0), Some(2), None));
    }
}
