//! What an op is: the trait each op file implements, and how a layer of a file becomes one.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use snick_tensor::Tensor;
use snick_tensor::kernels::ElementFunction;

use crate::rewrite::{Patch, RewriteResult};
use crate::{Attrs, Fact, Facts, Graph, Infer, OpError, Value};

pub use crate::ops::Op;

/// The formats that name ops.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Dialect {
    /// OpenVINO IR, opset1 and up.
    OpenVino,
    /// snick's own primitives; no version.
    Snick,
}

/// A name of an op in one dialect and the operation sets in which its definition changed, ascending: a layer
/// declared for opset N means the last of them that is not above N.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct OpName {
    /// Whose name.
    pub dialect: Dialect,
    /// The operation type as files write it.
    pub name: &'static str,
    /// Defining operation sets.
    pub since: &'static [u8],
}

impl OpName {
    /// A name in OpenVINO IR.
    pub const fn openvino(name: &'static str, since: &'static [u8]) -> Self {
        Self { dialect: Dialect::OpenVino, name, since }
    }

    /// A primitive of snick.
    pub const fn snick(name: &'static str) -> Self {
        Self { dialect: Dialect::Snick, name, since: &[] }
    }
}

/// How many inputs an op takes. Drivers check it; ops never do.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Arity {
    /// At least.
    pub min: usize,
    /// At most.
    pub max: usize,
}

impl Arity {
    /// Exactly `n`.
    pub const fn exactly(n: usize) -> Self {
        Self { min: n, max: n }
    }

    /// From `min` to `max`.
    pub const fn between(min: usize, max: usize) -> Self {
        Self { min, max }
    }

    /// `min` or more.
    pub const fn at_least(min: usize) -> Self {
        Self { min, max: usize::MAX }
    }

    /// `got` inputs are as many as there may be.
    pub fn check(self, got: usize) -> Result<(), OpError> {
        if (self.min..=self.max).contains(&got) {
            return Ok(());
        }
        let expected = match self {
            Self { min, max } if min == max => min.to_string(),
            Self { min, max: usize::MAX } => format!("{min} or more"),
            Self { min, max } => format!("{min} to {max}"),
        };
        Err(OpError::Arity { expected, got })
    }
}

/// The operation set a layer belongs to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Version {
    /// `opsetN` of OpenVINO.
    Opset(u8),
    /// `experimental`, `extension`, or anything else.
    Custom(Arc<str>),
    /// None: a primitive of snick, or a layer whose file names none.
    #[default]
    Unversioned,
}

impl Version {
    /// From the `version` attribute of a layer.
    pub fn from_ir(text: &str) -> Self {
        match text.strip_prefix("opset").and_then(|n| n.parse().ok()) {
            Some(n) => Self::Opset(n),
            None if text.is_empty() => Self::Unversioned,
            None => Self::Custom(text.into()),
        }
    }
}

/// As the `version` attribute of a layer writes it.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opset(n) => write!(f, "opset{n}"),
            Self::Custom(text) => f.write_str(text),
            Self::Unversioned => Ok(()),
        }
    }
}

/// A layer as a reader found it, before it is an op.
#[derive(Debug)]
pub struct RawNode<'a> {
    /// Who names it.
    pub dialect: Dialect,
    /// The operation type as the file writes it.
    pub op_type: &'a str,
    /// The declared operation set.
    pub version: Version,
    /// The operation set that defines it: filled in by [`Op::parse`].
    pub since: u8,
    /// Attributes.
    pub attrs: Attrs<'a>,
    /// Number of outputs the file declares.
    pub outputs: usize,
    /// Sub-graph bodies in the order of the op's roles; taken by the op that owns them.
    pub bodies: RefCell<Vec<Graph>>,
}

impl<'a> RawNode<'a> {
    /// A layer of an OpenVINO IR.
    pub fn openvino(op_type: &'a str, version: Version, attrs: Attrs<'a>, outputs: usize) -> Self {
        Self {
            dialect: Dialect::OpenVino,
            op_type,
            version,
            since: 0,
            attrs,
            outputs,
            bodies: RefCell::default(),
        }
    }

    /// Which of the names of a family this layer has: its row in the family's table.
    pub fn row(&self, names: &[OpName]) -> usize {
        names.iter().position(|name| name.name.eq_ignore_ascii_case(self.op_type)).unwrap_or(0)
    }
}

/// An op: everything there is to know of it. One file implements it.
pub trait OpDef: Clone + PartialEq + fmt::Debug {
    /// What each format calls it.
    const NAMES: &'static [OpName];
    /// How many inputs it takes.
    const ARITY: Arity;

    /// Reads the attributes.
    fn parse(raw: &RawNode) -> Result<Self, OpError>;

    /// Writes the attributes: `parse(attrs(op)) == op`. None, unless the op says otherwise.
    fn attrs(&self) -> Attrs<'static> {
        Attrs::new()
    }

    /// Its operation type. Families, whose file has several names, say which.
    fn name(&self) -> &'static OpName {
        &Self::NAMES[0]
    }

    /// Element types, shapes and known elements of the outputs. Sound: what runs lies within.
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError>;

    /// The outputs for concrete inputs: the reference implementation.
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError>;

    /// The op that computes only outputs that are read, where leaving out the others saves work: its outputs are the
    /// first ones of this op. `is_read` has an entry an output.
    fn prune_outputs(&self, is_read: &[bool]) -> Option<Self> {
        let _ = is_read;
        None
    }

    /// The op to run in place of this one, given what is known of its inputs before any run: where what runs models
    /// takes another way by it, and that shows.
    fn specialize(&self, inputs: &[&Fact]) -> Option<Self> {
        let _ = inputs;
        None
    }

    /// The function of elements that the op is, given what is known of its inputs before any run: of its first input,
    /// or of two inputs that numpy's rule brings together.
    fn element_function(&self, inputs: &[&Fact]) -> Option<ElementFunction> {
        let _ = inputs;
        None
    }

    /// Rewrites a slice-like op to the `slice` primitive, and `bounds` to arithmetic; others stay as they are.
    fn lower(&self, cx: &mut Patch) -> Result<RewriteResult, OpError> {
        let _ = cx;
        Ok(RewriteResult::NoMatch)
    }
}

/// A large op, boxed so that the enum of all ops stays small.
impl<T: OpDef> OpDef for Box<T> {
    const NAMES: &'static [OpName] = T::NAMES;
    const ARITY: Arity = T::ARITY;

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        T::parse(raw).map(Box::new)
    }

    fn attrs(&self) -> Attrs<'static> {
        T::attrs(self)
    }

    fn name(&self) -> &'static OpName {
        T::name(self)
    }

    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        T::infer(self, cx)
    }

    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        T::eval(self, inputs)
    }

    fn prune_outputs(&self, is_read: &[bool]) -> Option<Self> {
        T::prune_outputs(self, is_read).map(Box::new)
    }

    fn specialize(&self, inputs: &[&Fact]) -> Option<Self> {
        T::specialize(self, inputs).map(Box::new)
    }

    fn element_function(&self, inputs: &[&Fact]) -> Option<ElementFunction> {
        T::element_function(self, inputs)
    }

    fn lower(&self, cx: &mut Patch) -> Result<RewriteResult, OpError> {
        T::lower(self, cx)
    }
}

/// Replacement values by output port; `None` for an output that nobody reads.
pub type Values = smallvec::SmallVec<[Option<Value>; 1]>;
