//! What can go wrong with concrete data.

use std::fmt::{self, Display};

use crate::ElementType;

/// A list as messages print it: `[2,3]`.
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

/// A refused tensor operation. It knows no place: the caller adds the layer.
#[derive(thiserror::Error, Debug, Clone, PartialEq)]
pub enum TensorError {
    /// Elements of one type were asked for, the tensor holds another.
    #[error("expected elements of type {expected}, found {found}")]
    TypeMismatch {
        /// The type asked for.
        expected: ElementType,
        /// The type the tensor has.
        found: ElementType,
    },
    /// The kernel has no meaning, or no code, for this element type.
    #[error("{op} does not take elements of type {element_type}")]
    UnsupportedType {
        /// The kernel.
        op: &'static str,
        /// The type it was given.
        element_type: ElementType,
    },
    /// The size overflows or is above [`crate::MAX_BYTES`].
    #[error("a {element_type} tensor of dims {dims:?} is too large")]
    TooLarge {
        /// The type of the elements.
        element_type: ElementType,
        /// The dims asked for.
        dims: Box<[usize]>,
    },
    /// The allocator refused.
    #[error("out of memory: {bytes} bytes")]
    OutOfMemory {
        /// Bytes asked for.
        bytes: usize,
    },
    /// The storage is shorter than dims and type require.
    #[error("{needed} bytes needed, the storage holds {found}")]
    StorageTooShort {
        /// Bytes the dims and type require.
        needed: usize,
        /// Bytes there are.
        found: usize,
    },
    /// A window reaches over the end of its storage.
    #[error("window of {len} bytes at {offset} lies outside a storage of {found} bytes")]
    WindowOutOfRange {
        /// First byte of the window.
        offset: usize,
        /// Length of the window.
        len: usize,
        /// Bytes there are.
        found: usize,
    },
    /// The number of elements given is not the product of the dims.
    #[error("{found} elements do not fill dims {dims:?}")]
    ElementCount {
        /// The dims asked for.
        dims: Box<[usize]>,
        /// Elements given.
        found: usize,
    },
    /// An axis is not below the rank.
    #[error("axis {axis} is not below rank {rank}")]
    AxisOutOfRange {
        /// The axis.
        axis: usize,
        /// The rank.
        rank: usize,
    },
    /// A slice reaches outside its axis, or steps by 0.
    #[error("slice start {start} len {len} step {step} lies outside axis {axis} of size {dim}")]
    SliceOutOfRange {
        /// The axis.
        axis: usize,
        /// First index.
        start: usize,
        /// Number of indices.
        len: usize,
        /// Distance between indices.
        step: isize,
        /// Size of the axis.
        dim: usize,
    },
    /// Not an ordering of all the axes.
    #[error("{order:?} is no permutation of {rank} axes")]
    BadPermutation {
        /// The order given.
        order: Box<[usize]>,
        /// The rank.
        rank: usize,
    },
    /// Dims do not fit each other.
    #[error("{op}: dims {left:?} and {right:?} do not fit")]
    ShapeMismatch {
        /// The kernel.
        op: &'static str,
        /// Dims of one side.
        left: Box<[usize]>,
        /// Dims of the other side.
        right: Box<[usize]>,
    },
    /// An integer was divided by zero.
    #[error("{op}: integer division by zero")]
    DivisionByZero {
        /// The kernel.
        op: &'static str,
    },
    /// An index is outside its axis.
    #[error("index {index} lies outside an axis of size {dim}")]
    IndexOutOfRange {
        /// The index.
        index: i64,
        /// Size of the axis.
        dim: usize,
    },
    /// Packed strings that are not well formed.
    #[error("malformed packed strings: {0}")]
    MalformedStrings(&'static str),
    /// Another argument makes no sense.
    #[error("{op}: {message}")]
    Argument {
        /// The kernel.
        op: &'static str,
        /// What is wrong.
        message: String,
    },
}

impl TensorError {
    /// An [`TensorError::Argument`].
    pub(crate) fn argument(op: &'static str, message: impl Into<String>) -> Self {
        TensorError::Argument { op, message: message.into() }
    }

    /// A [`TensorError::ShapeMismatch`].
    pub(crate) fn mismatch(op: &'static str, left: &[usize], right: &[usize]) -> Self {
        TensorError::ShapeMismatch { op, left: left.into(), right: right.into() }
    }
}
