//! Errors of tensors and kernels.

use std::fmt::{self, Display};

use crate::ElementType;

/// A list as printed in messages: `[2,3]`.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a, T>(pub &'a [T]);

impl<T: Display> Display for Listed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if i > 0 { "," } else { "" })?;
        }
        f.write_str("]")
    }
}

/// The reason why a tensor operation failed. The message does not name the layer; the caller adds it.
///
/// ```
/// use snick::Tensor;
///
/// let error = Tensor::from_slice(&[1f32, 2., 3.], &[2, 2]).unwrap_err();
/// assert_eq!(error.to_string(), "3 elements do not fill shape [2,2]");
/// ```
#[derive(thiserror::Error, Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the message of each variant explains its fields")]
#[non_exhaustive]
pub enum TensorError {
    #[error("expected elements of type {expected}, got {found}")]
    TypeMismatch { expected: ElementType, found: ElementType },
    #[error("elements of type {element_type} are not supported")]
    UnsupportedType { element_type: ElementType },
    /// The size overflows or exceeds [`crate::MAX_BYTES`].
    #[error("a tensor of {element_type}{} is too large", Listed(dims))]
    TooLarge { element_type: ElementType, dims: Box<[usize]> },
    #[error("out of memory: cannot allocate {bytes} bytes")]
    OutOfMemory { bytes: usize },
    /// This tensor alone exceeds the limit of the run.
    #[error("a tensor of {element_type}{} takes {bytes} bytes, more than the limit of {limit}", Listed(dims))]
    AboveLimit { element_type: ElementType, dims: Box<[usize]>, bytes: usize, limit: usize },
    /// All tensors of the run together would exceed its limit.
    #[error("{bytes} more bytes would exceed the limit of {limit}")]
    LimitReached { bytes: usize, limit: usize },
    #[error("needs {needed} bytes, but the storage has {found}")]
    StorageTooShort { needed: usize, found: usize },
    #[error("needs bytes {offset}..{}, but the storage has {found}", offset.saturating_add(*len))]
    WindowOutOfRange { offset: usize, len: usize, found: usize },
    #[error("{found} elements do not fill shape {}", Listed(dims))]
    ElementCount { dims: Box<[usize]>, found: usize },
    #[error("the elements are not packed and aligned in memory; call `contiguous` first")]
    NotContiguous,
    /// Only bytes that snick did not compute, for example bytes read from a file, can have values other than 0 and 1.
    #[error("a boolean element is neither 0 nor 1; read the elements with `to_bools`")]
    NotBoolean,
    #[error("axis {axis} is out of range for rank {rank}")]
    AxisOutOfRange { axis: usize, rank: usize },
    #[error(
        "slice with start {start}, length {len} and step {step} is out of range for axis {axis} of size {dim}"
    )]
    SliceOutOfRange { axis: usize, start: usize, len: usize, step: isize, dim: usize },
    #[error("{} is not a permutation of {rank} axes", Listed(order))]
    BadPermutation { order: Box<[usize]>, rank: usize },
    /// `sentence` contains one `{}` for each of the two shapes.
    #[error("{}", sentence.replacen("{}", &Listed(left).to_string(), 1).replacen("{}", &Listed(right).to_string(), 1))]
    ShapeMismatch { sentence: &'static str, left: Box<[usize]>, right: Box<[usize]> },
    #[error("integer division by zero")]
    DivisionByZero,
    #[error("index {index} is out of range for an axis of size {dim}")]
    IndexOutOfRange { index: i64, dim: usize },
    #[error("{what} needs the feature `{feature}` of the crate snick-tensor")]
    FeatureOff { what: &'static str, feature: &'static str },
    #[error("malformed packed strings: {0}")]
    MalformedStrings(&'static str),
    #[error("{0}")]
    Argument(String),
}

impl TensorError {
    /// The same error with the element type that the caller uses for the tensor.
    pub(crate) fn with_element_type(mut self, et: ElementType) -> Self {
        if let Self::TooLarge { element_type, .. } | Self::AboveLimit { element_type, .. } = &mut self {
            *element_type = et;
        }
        self
    }

    /// A [`TensorError::Argument`].
    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::Argument(message.into())
    }

    /// A [`TensorError::ShapeMismatch`]: `mismatch("cannot broadcast {} with {}", &[2, 3], &[4])`.
    pub(crate) fn mismatch(sentence: &'static str, left: &[usize], right: &[usize]) -> Self {
        Self::ShapeMismatch { sentence, left: left.into(), right: right.into() }
    }
}
