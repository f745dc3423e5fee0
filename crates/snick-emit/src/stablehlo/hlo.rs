//! A StableHLO function as data: emitters build it, the partitioner reads it, and `print.rs` prints it.

use snick_ir::Loc;

use super::literal::Literal;
use super::precision::Precision;
use super::types::Type;

/// The index of a value in [`Function::values`].
pub(crate) type ValueId = usize;

/// A use of a value. Its type may contain sizes that are dynamic in the type of the definition.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub(crate) id: ValueId,
    pub(crate) ty: Type,
}

/// An argument of a region, or a result of an operation.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    /// Unique in the function. The results of an operation with a list of results are `x#0`, `x#1` and so on.
    pub(crate) name: String,
    /// The name before it was made unique.
    pub(crate) base: String,
    pub(crate) ty: Type,
    /// The graph whose symbols the type uses: 0 for the model, other numbers for its bodies.
    pub(crate) graph: usize,
}

/// A layer that operations were written for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) layer: String,
    /// The type of its operation.
    pub(crate) op: String,
    pub(crate) loc: Loc,
}

/// A function, and the values of all its regions.
#[derive(Clone, Default, Debug)]
pub(crate) struct Function {
    pub(crate) values: Vec<Value>,
    pub(crate) places: Vec<Place>,
    pub(crate) body: Region,
}

/// A region: its arguments, its operations in order, and its results.
#[derive(Clone, Default, Debug)]
pub(crate) struct Region {
    pub(crate) arguments: Vec<ValueId>,
    pub(crate) ops: Vec<Op>,
    pub(crate) results: Vec<ValueId>,
}

/// An operation. `operands` excludes values that its regions capture.
#[derive(Clone, Debug)]
pub(crate) struct Op {
    pub(crate) kind: OpKind,
    pub(crate) operands: Vec<ValueId>,
    pub(crate) results: Vec<ValueId>,
    pub(crate) regions: Vec<Region>,
    /// The layer of the operation, as an index into [`Function::places`].
    pub(crate) place: usize,
}

/// The kind of an operation, and its attributes. Attributes that only the printer needs are stored as text.
#[derive(Clone, Debug)]
pub(crate) enum OpKind {
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
    /// Counts 0, 1, 2 .. along an axis.
    Iota(usize),
    /// Reshapes.
    Reshape,
    /// Broadcasts; holds the result axis for each axis of the operand.
    BroadcastInDim(Vec<usize>),
    /// Permutes the axes into this order.
    Transpose(Vec<usize>),
    /// Reverses these axes.
    Reverse(Vec<usize>),
    /// Slices: start, end and step for each axis.
    Slice(Vec<[usize; 3]>),
    /// Contracts the `contracting` axes for each index of the `batch` axes; each list holds the axes of both
    /// operands.
    DotGeneral { batch: [Vec<usize>; 2], contracting: [Vec<usize>; 2], precision: Precision },
    /// Gathers windows of the first operand. The last axis of the second operand holds the index vectors.
    Gather(Gather),
    /// Reduces axes with an element-wise operation.
    Reduce { combine: &'static str, axes: Vec<usize> },
    /// A loop. Its two regions, condition and body, have the same arguments.
    While,
    /// Chooses one of two regions by a condition.
    If,
    /// Joins the operands along an axis.
    Concatenate(usize),
    /// Joins sizes, which have one element each, to a vector.
    SizeVector,
    /// The size of an axis as an i32 scalar.
    GetDimensionSize(usize),
    /// Adds elements before and after each axis; a negative number removes elements.
    Pad { low: Vec<i64>, high: Vec<i64> },
    /// Pads with numbers of elements from operands: before, after and between elements.
    DynamicPad,
    /// Reshapes to the sizes in the second operand.
    DynamicReshape,
    /// Broadcasts to the sizes in the second operand; holds the result axis for each axis of the first.
    DynamicBroadcastInDim(Vec<usize>),
    /// Counts 0, 1, 2 .. along an axis of a value whose sizes are the operand.
    DynamicIota(usize),
    /// Slices of these sizes; the start for each axis is an operand.
    DynamicSlice(Vec<usize>),
    /// Replaces a slice; the start for each axis is an operand.
    DynamicUpdateSlice,
    /// Slices; the operands after the first are vectors of the starts, ends and steps.
    RealDynamicSlice,
    /// Convolves data `[b, f, 0, 1, ..]` with filters `[o, i, 0, 1, ..]`.
    Convolution(Convolution),
    /// Reduces each window to one element. The region combines two elements.
    ReduceWindow(Window),
    /// Writes windows of the third operand into the first, at index vectors along the last axis of the second.
    /// The region combines the old and the new element.
    Scatter(Scatter),
    /// Sorts along an axis; stable. The region compares two elements of each operand.
    Sort(usize),
    /// Stops the program with this message unless the operand, a boolean scalar, is true. Only for formats that the
    /// module is lowered to.
    Assert(String),
}

/// The dimension numbers of a gather.
#[derive(Clone, Debug)]
pub(crate) struct Gather {
    /// Result axes that come from the window.
    pub(crate) offset: Vec<usize>,
    /// Data axes that the window drops.
    pub(crate) collapsed: Vec<usize>,
    /// Data axes that the elements of an index vector refer to.
    pub(crate) indexed: Vec<usize>,
    /// Sizes of the window; `None` if they are an operand.
    pub(crate) sizes: Option<Vec<usize>>,
}

/// The strides, padding and dilations of a convolution.
#[derive(Clone, Default, Debug)]
pub(crate) struct Convolution {
    pub(crate) groups: usize,
    pub(crate) strides: Vec<usize>,
    /// The numbers of elements before and after each axis.
    pub(crate) padding: Vec<[i64; 2]>,
    /// Dilation of the data, that is, zeros between its elements.
    pub(crate) lhs_dilation: Vec<usize>,
    pub(crate) rhs_dilation: Vec<usize>,
    pub(crate) precision: Precision,
}

/// A window over each axis.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) sizes: Vec<usize>,
    pub(crate) strides: Vec<usize>,
    pub(crate) dilations: Vec<usize>,
    /// The numbers of elements before and after each axis.
    pub(crate) padding: Vec<[i64; 2]>,
}

/// The dimension numbers of a scatter.
#[derive(Clone, Debug)]
pub(crate) struct Scatter {
    /// Axes of the updates that come from the window.
    pub(crate) window: Vec<usize>,
    /// Axes of the data that the window drops, and that the elements of an index vector refer to.
    pub(crate) indexed: Vec<usize>,
}

impl OpKind {
    /// The name without the dialect.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Elementwise(name) | Self::Mixed(name) => name,
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
            Self::If => "if",
            Self::Concatenate(_) | Self::SizeVector => "concatenate",
            Self::GetDimensionSize(_) => "get_dimension_size",
            Self::Pad { .. } => "pad",
            Self::DynamicPad => "dynamic_pad",
            Self::DynamicReshape => "dynamic_reshape",
            Self::DynamicBroadcastInDim(_) => "dynamic_broadcast_in_dim",
            Self::DynamicIota(_) => "dynamic_iota",
            Self::DynamicSlice(_) => "dynamic_slice",
            Self::DynamicUpdateSlice => "dynamic_update_slice",
            Self::RealDynamicSlice => "real_dynamic_slice",
            Self::Convolution(_) => "convolution",
            Self::ReduceWindow(_) => "reduce_window",
            Self::Scatter(_) => "scatter",
            Self::Sort(_) => "sort",
            Self::Assert(_) => "assert",
        }
    }

    /// Whether each element only depends on the operand elements at the same index.
    pub(crate) fn is_elementwise(&self) -> bool {
        matches!(self, Self::Elementwise(_) | Self::Mixed(_) | Self::Compare(_) | Self::Select)
    }
}
