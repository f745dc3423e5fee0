//! What an op is: its declaration, inference and evaluation, and the layer of a file that it is made of.

#[macro_use]
pub(crate) mod declare;
mod axis_map;
mod custom;
mod name;
mod shape_rule;
mod traits;

use std::cell::RefCell;
use std::fmt;

use snick_tensor::Tensor;
use snick_tensor::kernels::{ElementFunction, Stage};

use crate::{Attrs, Fact, Facts, Graph, Infer, OpError};

pub use self::axis_map::{AxisFactor, AxisMap, FactorKind};
pub use self::custom::{Custom, CustomOp, Registry};
pub use self::declare::{AttrField, AttrSpec, AttrWords, Since};
pub use self::name::{Dialect, OpName, Version};
pub use self::shape_rule::ShapeRule;
pub use self::traits::OpTraits;
pub use crate::ops::Op;

/// How many inputs an op takes. Drivers check it; ops never do.
///
/// ```
/// use snick_ir::Arity;
///
/// assert!(Arity::between(2, 3).check(3).is_ok());
/// assert!(Arity::exactly(1).check(2).is_err());
/// assert!(Arity::at_least(1).check(9).is_ok());
/// ```
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

/// A layer as a reader found it, before it is an op.
///
/// ```
/// use snick_ir::{Attrs, Op, RawNode, Version};
///
/// let mut raw = RawNode::openvino("Concat", Version::Opset(1), Attrs::new().with("axis", 1), 1);
/// assert_eq!(Op::parse(&mut raw)?.type_name(), "Concat");
/// # Ok::<(), snick_ir::OpError>(())
/// ```
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

    /// The attributes.
    pub fn attrs(&self) -> &Attrs<'a> {
        &self.attrs
    }

    /// Which of the names of a family this layer has: its row in the family's table.
    pub fn row(&self, names: &[OpName]) -> usize {
        names.iter().position(|name| name.name.eq_ignore_ascii_case(self.op_type)).unwrap_or(0)
    }
}

/// What an op declares of itself. `op!` writes it from one declaration; families of ops that share a table write it
/// by hand.
pub trait OpDef: Clone + PartialEq + fmt::Debug {
    /// What each format calls it.
    const NAMES: &'static [OpName];
    /// How many inputs it takes.
    const ARITY: Arity;
    /// What drivers may assume of it.
    const TRAITS: OpTraits = OpTraits::PURE;

    /// Reads the attributes.
    fn parse(raw: &RawNode) -> Result<Self, OpError>;

    /// Writes the attributes: `parse(attrs(op)) == op`. None, unless the op says otherwise.
    fn attrs(&self) -> Attrs<'static> {
        Attrs::new()
    }

    /// The attributes that it declares.
    fn attr_specs() -> Vec<AttrSpec> {
        Vec::new()
    }

    /// Its operation type. Families, whose file has several names, say which.
    fn name(&self) -> &'static OpName {
        &Self::NAMES[0]
    }

    /// [`OpDef::TRAITS`], or what they are for this value of the op.
    fn traits(&self) -> OpTraits {
        Self::TRAITS
    }
}

/// Inference of an op.
pub trait InferOp: OpDef {
    /// Element types, shapes and known elements of the outputs. Sound: every run lies within them.
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError>;

    /// How the axes of the first output follow those of the inputs; `None` if unknown. Element-wise ops need not declare
    /// it.
    fn axis_map(&self, inputs: &[&Fact], output: &Fact) -> Option<AxisMap> {
        let _ = (inputs, output);
        None
    }
}

/// Evaluation of an op: the reference implementation.
pub trait EvalOp: OpDef {
    /// The outputs for concrete inputs, as many as [`OpDef::ARITY`] allows.
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError>;

    /// The output after element-wise `stages`, if it is computed faster together with them.
    fn eval_then(&self, inputs: &[Tensor], stages: &[Stage<&Tensor>]) -> Result<Option<Tensor>, OpError> {
        let _ = (inputs, stages);
        Ok(None)
    }

    /// The op that computes only the outputs that are read, where leaving out the others saves work: its outputs are
    /// the first ones of this op. `is_read` has an entry an output.
    fn prune_outputs(&self, is_read: &[bool]) -> Option<Self> {
        let _ = is_read;
        None
    }

    /// The op to run in place of this one, given what is known of its inputs before any run.
    fn specialize(&self, inputs: &[&Fact]) -> Option<Self> {
        let _ = inputs;
        None
    }

    /// The element-wise function that the op is, given what is known of its inputs before any run: of its first
    /// input, or of two inputs after numpy broadcasting.
    fn element_function(&self, inputs: &[&Fact]) -> Option<ElementFunction> {
        let _ = inputs;
        None
    }
}

/// The inputs of an op that takes exactly `N`.
///
/// # Errors
/// [`OpError::Arity`] for any other number.
pub fn exactly<const N: usize>(inputs: &[Tensor]) -> Result<&[Tensor; N], OpError> {
    inputs.try_into().map_err(|_| OpError::Arity { expected: N.to_string(), got: inputs.len() })
}

/// The first `N` inputs of an op that takes at least as many, and the rest.
///
/// # Errors
/// [`OpError::Arity`] for fewer.
pub fn leading<const N: usize>(inputs: &[Tensor]) -> Result<(&[Tensor; N], &[Tensor]), OpError> {
    let split = inputs.split_first_chunk();
    split.ok_or_else(|| OpError::Arity { expected: format!("{N} or more"), got: inputs.len() })
}

/// A large op, boxed so that the enum of all ops stays small.
impl<T: OpDef> OpDef for Box<T> {
    const NAMES: &'static [OpName] = T::NAMES;
    const ARITY: Arity = T::ARITY;
    const TRAITS: OpTraits = T::TRAITS;

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        T::parse(raw).map(Box::new)
    }

    fn attrs(&self) -> Attrs<'static> {
        T::attrs(self)
    }

    fn attr_specs() -> Vec<AttrSpec> {
        T::attr_specs()
    }

    fn name(&self) -> &'static OpName {
        T::name(self)
    }

    fn traits(&self) -> OpTraits {
        T::traits(self)
    }
}

impl<T: InferOp> InferOp for Box<T> {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        T::infer(self, cx)
    }

    fn axis_map(&self, inputs: &[&Fact], output: &Fact) -> Option<AxisMap> {
        T::axis_map(self, inputs, output)
    }
}

impl<T: EvalOp> EvalOp for Box<T> {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        T::eval(self, inputs)
    }

    fn eval_then(&self, inputs: &[Tensor], stages: &[Stage<&Tensor>]) -> Result<Option<Tensor>, OpError> {
        T::eval_then(self, inputs, stages)
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
}
