//! Short forms of elementwise ops.

use snick_tensor::ElementType;

use super::{GraphBuilder, Operand};
use crate::ops::{self, Clamp, Convert, LogicalNot, Select};
use crate::{OpError, Value};

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident => $op:ident),* $(,)?) => {
        impl GraphBuilder<'_> {
            $($(#[$doc])*
            pub fn $name(
                &self,
                x: impl Into<Operand>,
                y: impl Into<Operand>,
            ) -> Result<Value, OpError> {
                let operands = self.operands(x, y)?;
                self.add_op(ops::$op::default(), &operands)
            })*
        }
    };
}

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident => $op:ident),* $(,)?) => {
        impl GraphBuilder<'_> {
            $($(#[$doc])*
            pub fn $name(&self, x: Value) -> Result<Value, OpError> {
                self.add_op(ops::$op, &[x])
            })*
        }
    };
}

binary! {
    /// `x + y`.
    add => Add,
    /// `x - y`.
    subtract => Subtract,
    /// `x * y`.
    multiply => Multiply,
    /// `x / y`; integers round down.
    divide => Divide,
    /// `max(x, y)`.
    maximum => Maximum,
    /// `min(x, y)`.
    minimum => Minimum,
    /// `x` to the power of `y`.
    power => Power,
    /// `(x - y)` squared.
    squared_difference => SquaredDifference,
    /// The remainder with the sign of `x`.
    modulo => Mod,
    /// The remainder with the sign of `y`.
    floor_mod => FloorMod,
    /// `x == y`.
    equal => Equal,
    /// `x != y`.
    not_equal => NotEqual,
    /// `x > y`.
    greater => Greater,
    /// `x >= y`.
    greater_equal => GreaterEqual,
    /// `x < y`.
    less => Less,
    /// `x <= y`.
    less_equal => LessEqual,
    /// `x and y`.
    logical_and => LogicalAnd,
    /// `x or y`.
    logical_or => LogicalOr,
    /// `x xor y`.
    logical_xor => LogicalXor,
    /// `x & y`.
    bitwise_and => BitwiseAnd,
    /// `x | y`.
    bitwise_or => BitwiseOr,
    /// `x ^ y`.
    bitwise_xor => BitwiseXor,
}

unary! {
    /// The absolute value.
    abs => Abs,
    /// The arc cosine.
    acos => Acos,
    /// The arc sine.
    asin => Asin,
    /// The arc tangent.
    atan => Atan,
    /// `ceil(x)`.
    ceiling => Ceiling,
    /// The cosine.
    cos => Cos,
    /// The Gauss error function.
    erf => Erf,
    /// `e` to the power of `x`.
    exp => Exp,
    /// `floor(x)`.
    floor => Floor,
    /// The natural logarithm.
    log => Log,
    /// `-x`.
    negative => Negative,
    /// `max(x, 0)`.
    relu => Relu,
    /// `1 / (1 + e^-x)`.
    sigmoid => Sigmoid,
    /// The sign: -1, 0 or 1.
    sign => Sign,
    /// The sine.
    sin => Sin,
    /// `log(1 + e^x)`.
    softplus => SoftPlus,
    /// The square root.
    sqrt => Sqrt,
    /// The tangent.
    tan => Tan,
    /// The hyperbolic tangent.
    tanh => Tanh,
}

impl GraphBuilder<'_> {
    /// `x` converted to an element type, or `x` itself if it already has that type.
    pub fn convert(&self, x: Value, to: ElementType) -> Result<Value, OpError> {
        match self.with_fact(x, |fact| fact.element_type)? == to {
            true => Ok(x),
            false => self.add_op(Convert { destination_type: to }, &[x]),
        }
    }

    /// `min(max(x, min), max)`.
    pub fn clamp(&self, x: Value, min: f64, max: f64) -> Result<Value, OpError> {
        self.add_op(Clamp { min, max }, &[x])
    }

    /// `not x`.
    pub fn logical_not(&self, x: Value) -> Result<Value, OpError> {
        self.add_op(LogicalNot, &[x])
    }

    /// `x` where `condition` holds, else `y`.
    pub fn select(
        &self,
        condition: Value,
        x: impl Into<Operand>,
        y: impl Into<Operand>,
    ) -> Result<Value, OpError> {
        let [x, y] = self.operands(x, y)?;
        self.add_op(Select::default(), &[condition, x, y])
    }
}
