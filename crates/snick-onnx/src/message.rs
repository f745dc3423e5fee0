//! The messages of a model file, with the fields that snick reads or writes.
//!
//! A field is an `Option` if a missing field and a field with the default value have different meanings.

use bytes::Bytes;
use prost::{Message, Oneof};

use crate::device::{DeviceConfiguration, NodeDeviceConfiguration};

/// A model file.
#[derive(Clone, PartialEq, Message)]
pub struct Model {
    /// Version of the file format.
    #[prost(int64, optional, tag = "1")]
    pub ir_version: Option<i64>,
    /// The program that wrote the file.
    #[prost(string, tag = "2")]
    pub producer_name: String,
    /// The main graph.
    #[prost(message, optional, tag = "7")]
    pub graph: Option<Graph>,
    /// Operator sets in use.
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSet>,
    /// Functions that nodes may call.
    #[prost(message, repeated, tag = "25")]
    pub functions: Vec<Function>,
    /// Device groups that nodes can be distributed over.
    #[prost(message, repeated, tag = "26")]
    pub configuration: Vec<DeviceConfiguration>,
}

/// An operator set by domain and version.
#[derive(Clone, PartialEq, Message)]
pub struct OperatorSet {
    /// The domain; empty for the operators of ONNX itself.
    #[prost(string, tag = "1")]
    pub domain: String,
    /// Version.
    #[prost(int64, optional, tag = "2")]
    pub version: Option<i64>,
}

/// A graph.
#[derive(Clone, PartialEq, Message)]
pub struct Graph {
    /// Nodes in topological order.
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<Node>,
    /// Name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Constants.
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<Tensor>,
    /// Inputs. If an input has the name of a constant, the constant is its default value.
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfo>,
    /// Outputs.
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfo>,
    /// Types of values between nodes.
    #[prost(message, repeated, tag = "13")]
    pub value_info: Vec<ValueInfo>,
    /// Constants in which most elements are zero.
    #[prost(message, repeated, tag = "15")]
    pub sparse_initializer: Vec<SparseTensor>,
}

/// A node: an operator on named values.
#[derive(Clone, PartialEq, Message)]
pub struct Node {
    /// The names of the inputs. An omitted input has an empty name.
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    /// The names of the outputs. An unused output has an empty name.
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    /// The name; often empty.
    #[prost(string, tag = "3")]
    pub name: String,
    /// Operator type.
    #[prost(string, tag = "4")]
    pub op_type: String,
    /// Attributes.
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<Attribute>,
    /// The domain of the operator.
    #[prost(string, tag = "7")]
    pub domain: String,
    /// The overload of the function.
    #[prost(string, tag = "8")]
    pub overload: String,
    /// How the node is distributed over devices.
    #[prost(message, repeated, tag = "10")]
    pub device_configurations: Vec<NodeDeviceConfiguration>,
}

/// An attribute. Exactly one of its value fields is set.
#[derive(Clone, PartialEq, Message)]
pub struct Attribute {
    /// Name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// A floating-point number.
    #[prost(float, optional, tag = "2")]
    pub f: Option<f32>,
    /// An integer.
    #[prost(int64, optional, tag = "3")]
    pub i: Option<i64>,
    /// Text.
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub s: Option<Bytes>,
    /// A tensor.
    #[prost(message, optional, tag = "5")]
    pub t: Option<Tensor>,
    /// A graph.
    #[prost(message, optional, boxed, tag = "6")]
    pub g: Option<Box<Graph>>,
    /// Floating-point numbers.
    #[prost(float, repeated, tag = "7")]
    pub floats: Vec<f32>,
    /// Integers.
    #[prost(int64, repeated, tag = "8")]
    pub ints: Vec<i64>,
    /// Strings.
    #[prost(bytes = "bytes", repeated, tag = "9")]
    pub strings: Vec<Bytes>,
    /// Graphs.
    #[prost(message, repeated, tag = "11")]
    pub graphs: Vec<Graph>,
    /// The number of the kind of value; see [`kind`].
    #[prost(int32, optional, tag = "20")]
    pub kind: Option<i32>,
    /// In a function, the name of the attribute of the call that provides the value.
    #[prost(string, tag = "21")]
    pub ref_attr_name: String,
}

/// The numbers for [`Attribute::kind`].
pub mod kind {
    /// A floating-point number.
    pub const FLOAT: i32 = 1;
    /// An integer.
    pub const INT: i32 = 2;
    /// Text.
    pub const STRING: i32 = 3;
    /// A tensor.
    pub const TENSOR: i32 = 4;
    /// A graph.
    pub const GRAPH: i32 = 5;
    /// Floating-point numbers.
    pub const FLOATS: i32 = 6;
    /// Integers.
    pub const INTS: i32 = 7;
    /// Strings.
    pub const STRINGS: i32 = 8;
}

/// A constant.
#[derive(Clone, PartialEq, Message)]
pub struct Tensor {
    /// Sizes.
    #[prost(int64, repeated, tag = "1")]
    pub dims: Vec<i64>,
    /// Number of the element type.
    #[prost(int32, optional, tag = "2")]
    pub data_type: Option<i32>,
    /// Elements of f32.
    #[prost(float, repeated, tag = "4")]
    pub float_data: Vec<f32>,
    /// Elements of types of up to 32 bits without a field of their own. They are stored as numbers or as bit
    /// patterns.
    #[prost(int32, repeated, tag = "5")]
    pub int32_data: Vec<i32>,
    /// Strings.
    #[prost(bytes = "bytes", repeated, tag = "6")]
    pub string_data: Vec<Bytes>,
    /// Elements of i64.
    #[prost(int64, repeated, tag = "7")]
    pub int64_data: Vec<i64>,
    /// Name.
    #[prost(string, tag = "8")]
    pub name: String,
    /// Elements of any type as little-endian bytes.
    #[prost(bytes = "bytes", optional, tag = "9")]
    pub raw_data: Option<Bytes>,
    /// Elements of f64.
    #[prost(double, repeated, tag = "10")]
    pub double_data: Vec<f64>,
    /// Elements of u32 and u64.
    #[prost(uint64, repeated, tag = "11")]
    pub uint64_data: Vec<u64>,
    /// The location of the bytes in another file: `location`, `offset`, `length`.
    #[prost(message, repeated, tag = "13")]
    pub external_data: Vec<Entry>,
    /// 1 if the bytes are in another file.
    #[prost(int32, optional, tag = "14")]
    pub data_location: Option<i32>,
}

/// A sparse constant. Only its nonzero elements are decoded.
#[derive(Clone, PartialEq, Message)]
pub struct SparseTensor {
    /// The nonzero elements. Their name is the name of the constant.
    #[prost(message, optional, tag = "1")]
    pub values: Option<Tensor>,
}

/// A key and its value.
#[derive(Clone, PartialEq, Message)]
pub struct Entry {
    /// Key.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Value.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// Name and type of a value.
#[derive(Clone, PartialEq, Message)]
pub struct ValueInfo {
    /// Name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Type.
    #[prost(message, optional, tag = "2")]
    pub ty: Option<Type>,
}

/// The type of a value. Only tensors are decoded.
#[derive(Clone, PartialEq, Message)]
pub struct Type {
    /// A tensor.
    #[prost(message, optional, tag = "1")]
    pub tensor: Option<TensorType>,
}

/// Element type and shape.
#[derive(Clone, PartialEq, Message)]
pub struct TensorType {
    /// Number of the element type.
    #[prost(int32, tag = "1")]
    pub elem_type: i32,
    /// Shape; absent if the rank is unknown.
    #[prost(message, optional, tag = "2")]
    pub shape: Option<Shape>,
}

/// A shape.
#[derive(Clone, PartialEq, Message)]
pub struct Shape {
    /// Dims.
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<Dim>,
}

/// A dim.
#[derive(Clone, PartialEq, Message)]
pub struct Dim {
    /// A size or a name; absent if unknown.
    #[prost(oneof = "DimValue", tags = "1, 2")]
    pub value: Option<DimValue>,
}

/// The value of a dim.
#[derive(Clone, PartialEq, Oneof)]
pub enum DimValue {
    /// The size of the dim.
    #[prost(int64, tag = "1")]
    Value(i64),
    /// A name for the size of the dim.
    #[prost(string, tag = "2")]
    Param(String),
}

/// A function that nodes may call as an operator.
#[derive(Clone, PartialEq, Message)]
pub struct Function {
    /// Name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Names of the parameters of the function.
    #[prost(string, repeated, tag = "4")]
    pub input: Vec<String>,
    /// Names of the results of the function.
    #[prost(string, repeated, tag = "5")]
    pub output: Vec<String>,
    /// Attributes without a default.
    #[prost(string, repeated, tag = "6")]
    pub attribute: Vec<String>,
    /// The body of the function.
    #[prost(message, repeated, tag = "7")]
    pub node: Vec<Node>,
    /// Operator sets that the body uses.
    #[prost(message, repeated, tag = "9")]
    pub opset_import: Vec<OperatorSet>,
    /// The domain of the function.
    #[prost(string, tag = "10")]
    pub domain: String,
    /// Attributes with a default.
    #[prost(message, repeated, tag = "11")]
    pub attribute_proto: Vec<Attribute>,
    /// The overload of the function.
    #[prost(string, tag = "13")]
    pub overload: String,
}
