//! The ops of families under their own names: `ops::Add`.

pub use super::elementwise::arithmetic::{
    Add, Divide, FloorMod, Maximum, Minimum, Mod, Multiply, Power, SquaredDifference, Subtract,
};
pub use super::elementwise::auto_broadcast::AutoBroadcast;
pub use super::elementwise::bitwise::{
    BitwiseAnd, BitwiseLeftShift, BitwiseOr, BitwiseRightShift, BitwiseXor,
};
pub use super::elementwise::compare::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
pub use super::elementwise::logical::{LogicalAnd, LogicalOr, LogicalXor};
pub use super::elementwise::unary::{
    Abs, Acos, Acosh, Asin, Asinh, Atan, Atanh, Ceiling, Cos, Cosh, Erf, ErfInv, Exp, Floor, HSigmoid,
    HSwish, Log, Mish, Negative, Relu, Sigmoid, Sign, Sin, Sinh, SoftPlus, SoftSign, Sqrt, Tan, Tanh,
};
pub use super::reduction::reduce::{
    ReduceL1, ReduceL2, ReduceLogicalAnd, ReduceLogicalOr, ReduceMax, ReduceMean, ReduceMin, ReduceProd,
    ReduceSum,
};
