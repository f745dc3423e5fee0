//! The names of the functions of one number.

/// A function of one number, with the formula of the OpenVINO operation set.
#[derive(Copy, Clone, PartialEq, Debug)]
#[allow(missing_docs)] // The names explain themselves.
pub enum UnaryOp {
    Abs,
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atan,
    Atanh,
    Ceiling,
    Cos,
    Cosh,
    Erf,
    ErfInv,
    Exp,
    Floor,
    Log,
    Negative,
    Relu,
    Sigmoid,
    /// -1, 0 or 1; `NaN` for `NaN`.
    Sign,
    Sin,
    Sinh,
    /// `ln(1 + e^x)`.
    SoftPlus,
    /// `x / (1 + |x|)`.
    SoftSign,
    Sqrt,
    Tan,
    Tanh,
    /// `min(max(x + 3, 0), 6) / 6`.
    HSigmoid,
    /// `x * HSigmoid(x)`.
    HSwish,
    /// `x * tanh(SoftPlus(x))`.
    Mish,
    /// Rounds to nearest, ties to even.
    RoundHalfToEven,
    /// Rounds to nearest, ties away from zero.
    RoundHalfAwayFromZero,
    /// `x / 2 * (1 + erf(x / sqrt 2))`.
    GeluErf,
    /// Gelu with the tanh approximation of erf.
    GeluTanh,
    /// `x / (1 + e^(-beta x))`.
    Swish {
        beta: f64,
    },
    /// `x`, or `alpha (e^x - 1)` if `x` is negative.
    Elu {
        alpha: f64,
    },
    /// `lambda x`, or `lambda alpha (e^x - 1)` if `x` is negative.
    Selu {
        alpha: f64,
        lambda: f64,
    },
    /// `alpha x + beta`, clamped to 0..1.
    HardSigmoid {
        alpha: f64,
        beta: f64,
    },
    /// Clamps to a range and keeps NaN. The bounds of integers are rounded inwards.
    Clamp {
        min: f64,
        max: f64,
    },
}
