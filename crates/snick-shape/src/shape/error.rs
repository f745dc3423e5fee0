//! Errors of parsing shapes.

use crate::interval::{Interval, IntervalError};
use crate::sym_expr::parse::ExprError;
use crate::symbols::SymbolError;

/// The reason why a shape could not be parsed.
///
/// ```
/// # use snick::{ShapeError, ShapeSpec};
/// let error = "[1x16]".parse::<ShapeSpec>().unwrap_err();
/// assert_eq!(error, ShapeError::Separator { dim: "1x16".into(), instead: "1,16".into() });
/// assert_eq!(error.to_string(), "bad dimension `1x16`; write `1,16`");
/// ```
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// `[` without `]`, or the reverse.
    #[error("unbalanced brackets in `{0}`")]
    Brackets(String),
    /// Nothing between two commas.
    #[error("dimension {0} is empty")]
    EmptyDim(usize),
    /// `...` combined with dimensions.
    #[error("`...` stands for the whole shape; remove the other dimensions")]
    Ellipsis,
    /// A negative dimension; only `-1`, which means `?`, is allowed.
    #[error("dimension `{0}` is negative; only -1 is allowed, which means `?`")]
    Negative(String),
    /// Dimensions separated by `x`.
    #[error("bad dimension `{dim}`; write `{instead}`")]
    Separator {
        /// The text of the dimension.
        dim: String,
        /// The dimensions that were probably meant.
        instead: String,
    },
    /// A dimension that is neither an interval nor a symbol.
    #[error("{}", bad_dim(dim, cause))]
    Dim {
        /// The text of the dimension.
        dim: String,
        /// The reason why it is not an interval.
        cause: IntervalError,
    },
    /// A name with an expression instead of an interval.
    #[error(
        "bad dimension `{dim}`: a name takes an interval, such as `N=1..8`; write the expression alone, `{expr}`"
    )]
    NamedExpr {
        /// The text of the dimension.
        dim: String,
        /// The text of the expression.
        expr: String,
    },
    /// A dimension that looks like an expression but is invalid.
    #[error("bad dimension `{dim}`: {cause}")]
    Expr {
        /// The text of the dimension.
        dim: String,
        /// The error in the expression.
        cause: ExprError,
    },
    /// An expression whose divisor can be 0.
    #[error(
        "dimension `{0}` divides by a term that may be 0; bound the symbols of the divisor, such as `N=1..`"
    )]
    ZeroDivisor(String),
    /// An expression that can be negative.
    #[error(
        "dimension `{dim}` may be negative: its values are {interval}; bound its symbols, such as `N=1..`, or \
         write `max({dim},0)`"
    )]
    MaybeNegative {
        /// The text of the dimension.
        dim: String,
        /// The interval of the values of the expression.
        interval: Interval,
    },
    /// A symbol cannot be created.
    #[error(transparent)]
    Symbol(#[from] SymbolError),
}

/// The error message. It does not repeat the dimension if the wrong part is the whole dimension.
fn bad_dim(dim: &str, cause: &IntervalError) -> String {
    match cause {
        IntervalError::NotANumber(part) if part == dim => {
            format!("bad dimension `{dim}`; write a number, a range such as `2..4`, `?` or a name")
        }
        cause => format!("bad dimension `{dim}`: {cause}"),
    }
}
