//! A StableHLO function as data: emitters build it, the partitioner reads it, and `print.rs` spells it.

use super::literal::Literal;
use super::precision::Precision;
use super::types::Type;

/// The index of a value in [`Function::values`].
pub(super) type ValueId = usize;

/// A value in use. Its type may name sizes that the definition leaves open.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) id: ValueId,
    pub(super) ty: Type,
}

/// An argument of a region, or a result of an operation.
#[derive(Clone, Debug)]
pub(super) struct Value {
    /// Unique in the function. The results of an operation with a list of results are `x#0`, `x#1` and so on.
    pub(super) name: String,
    pub(super) ty: Type,
}

/// A function, and the values of all its regions.
#[derive(Clone, Default, Debug)]
pub(super) struct Function {
    pub(super) values: Vec<Value>,
    pub(super) body: Region,
}

/// Operations in order, with their arguments and what they return.
#[derive(Clone, Default, Debug)]
pub(super) struct Region {
    pub(super) arguments: Vec<ValueId>,
    pub(super) ops: Vec<Op>,
    pub(super) results: Vec<ValueId>,
}

/// An operation. Values that its regions read from around them are not among its operands.
#[derive(Clone, Debug)]
pub(super) struct Op {
    pub(super) kind: OpKind,
    pub(super) operands: Vec<ValueId>,
    pub(super) results: Vec<ValueId>,
    pub(super) regions: Vec<Region>,
}

/// What an operation computes, with its attributes. Attributes that only the printer needs are text.
#[derive(Clone, Debug)]
pub(super) enum OpKind {
    /// An element-wise operation on values of one type.
    Elementwise(&'static str),
    /// An element-wise operation on values of several types, such as `convert`.
    Mixed(&'static str),
    /// An element-wise comparison, with its direction.
    Compare(&'static str),
    /// An element-wise choice.
    Select,
    /// A constant.
    Constant(Literal),
    /// Numbers that count along an axis.
    Iota(usize),
    /// The same elements in other sizes.
    Reshape,
    /// Repeated elements; for each axis of the operand, its axis in the result.
    BroadcastInDim(Vec<usize>),
    /// Axes in this order.
    Transpose(Vec<usize>),
    /// Reversed axes.
    Reverse(Vec<usize>),
    /// First element, end and step for each axis.
    Slice(Vec<[usize; 3]>),
    /// Sums of products; axes of both operands.
    DotGeneral { batch: [Vec<usize>; 2], contracting: [Vec<usize>; 2], precision: Precision },
    /// Windows of the first operand. The last axis of the second holds the entries of an index.
    Gather(Gather),
    /// Axes combined by an element-wise operation.
    Reduce { combine: &'static str, axes: Vec<usize> },
    /// Two regions, the condition and the body, on the same arguments.
    While,
    /// Any other operation with a syntax of its own.
    Pretty { name: &'static str, attributes: String },
    /// Any other operation in MLIR's generic syntax.
    Generic { name: &'static str, attributes: String },
}

/// The dimension numbers of a gather.
#[derive(Clone, Debug)]
pub(super) struct Gather {
    /// Axes of the result that are those of the window.
    pub(super) offset: Vec<usize>,
    /// Axes of the data that the window does not have.
    pub(super) collapsed: Vec<usize>,
    /// Axes of the data that the entries of an index are for.
    pub(super) indexed: Vec<usize>,
    /// Sizes of the window; `None` where they are an operand.
    pub(super) sizes: Option<Vec<usize>>,
}

impl OpKind {
    /// The name without the dialect.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Elementwise(name)
            | Self::Mixed(name)
            | Self::Pretty { name, .. }
            | Self::Generic { name, .. } => name,
            Self::Compare(_) => "compare",
            Self::Select => "select",
            Self::Constant(_) => "constant",
            Self::Iota(_) => "iota",
            Self::Reshape => "reshape",
            Self::BroadcastInDim(_) => "broadcast_in_dim",
            Self::Transpose(_) => "transpose",
            Self::Reverse(_) => "reverse",
            Self::Slice(_) => "slice",
            Self::DotGeneral { .. } => "dot_general",
            Self::Gather(Gather { sizes: Some(_), .. }) => "gather",
            Self::Gather(_) => "dynamic_gather",
            Self::Reduce { .. } => "reduce",
            Self::While => "while",
        }
    }

    /// Whether each element is computed from those in the same place.
    pub(super) fn is_elementwise(&self) -> bool {
        matches!(self, Self::Elementwise(_) | Self::Mixed(_) | Self::Compare(_) | Self::Select)
    }
}
