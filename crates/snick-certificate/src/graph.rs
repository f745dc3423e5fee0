//! The graphs that certificates speak about.

use std::collections::BTreeMap;

pub use serde_json::Value as Attribute;

/// An output of a node.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Value {
    /// Index of the node in [`Graph::nodes`].
    pub node: usize,
    /// Number of the output.
    pub port: usize,
}

/// Operations in topological order: a node reads only outputs of earlier nodes.
///
/// Two models that are compared are parts of one graph and share their inputs. Equal constants are one node, and
/// constants that differ only in shape are one node and its Reshape.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Graph {
    /// The operations.
    pub nodes: Vec<Node>,
}

/// An operation of OpenVINO, with its attributes and the order of its inputs, or one of snick's primitives `slice`
/// and `bounds`. An operation without an entry in the table of meanings is an unknown function of its inputs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Node {
    /// The type of the operation, without a version.
    pub op: String,
    /// All attributes that have an effect: integers, texts, booleans, and lists of integers or texts. Numbers
    /// with a fraction are texts.
    pub attributes: BTreeMap<String, Attribute>,
    /// The inputs; an absent optional input is `None`.
    pub inputs: Vec<Option<Value>>,
    /// The outputs.
    pub outputs: Vec<Output>,
    /// Identifies bodies: equal numbers are equal bodies.
    pub bodies: Vec<usize>,
    /// Whether another node with the same inputs may have other outputs: inputs of the model, states, random
    /// numbers. Such a node equals only itself.
    pub is_unique: bool,
}

/// What is known about an output. These are the premises of a certificate.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Output {
    /// The name of the element type.
    pub element_type: String,
    /// The sizes of the axes, if the rank is known.
    pub dims: Option<Vec<Size>>,
    /// The elements of a constant in row-major order, if they are a few integers, booleans, or numbers without a
    /// fraction. The float -0.0 is none of these.
    pub integers: Option<Vec<i64>>,
}

/// A size, as an expression over other sizes.
#[derive(Clone, PartialEq, Debug)]
pub enum Size {
    /// A number.
    Int(i64),
    /// Any integer from the first number to the second; without the second, any larger one.
    Any(i64, Option<i64>),
    /// The size of an axis of another value, which is [`Size::Any`].
    Dim(Value, usize),
    /// An element of an integer tensor with at most one axis.
    Element(Value, usize),
    /// An operation on two sizes.
    Of(SizeOp, Box<[Size; 2]>),
}

/// An operation on two sizes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum SizeOp {
    /// `a + b`
    Add,
    /// `a * b`
    Multiply,
    /// `a / b` rounded down; `b` is at least 1.
    FloorDivide,
    /// `min(a, b)`
    Min,
    /// `max(a, b)`
    Max,
}

impl Graph {
    /// The node that computes a value.
    pub(crate) fn node(&self, value: Value) -> Option<&Node> {
        self.nodes.get(value.node)
    }

    /// The node that computes a value, if the value is a function of its inputs.
    pub(crate) fn function(&self, value: Value) -> Option<&Node> {
        self.node(value).filter(|node| !node.is_unique && !node.inputs.is_empty())
    }

    /// What is known about a value.
    pub(crate) fn output(&self, value: Value) -> Option<&Output> {
        self.node(value)?.outputs.get(value.port)
    }

    /// The sizes of a value, if its rank is known.
    pub(crate) fn dims(&self, value: Value) -> Option<&[Size]> {
        self.output(value)?.dims.as_deref()
    }

    /// The elements of a constant integer tensor.
    pub(crate) fn integers(&self, value: Value) -> Option<&[i64]> {
        self.output(value)?.integers.as_deref()
    }
}

impl Node {
    /// An input, if it is present.
    pub(crate) fn input(&self, port: usize) -> Option<Value> {
        self.inputs.get(port).copied().flatten()
    }

    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        self.attributes.get(name)?.as_i64()
    }

    pub(crate) fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.attributes.get(name)?.as_array()?.iter().map(Attribute::as_i64).collect()
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.attributes.get(name)?.as_str()
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.attributes.get(name).and_then(Attribute::as_bool) == Some(true)
    }
}
