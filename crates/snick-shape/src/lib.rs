//! Abstract data: what is known of a tensor's dimensions before it exists.
//!
//! The chapter in reading order:
//!
//! - [`Interval`]: a closed range of integers that may be unbounded; `?`, `3`
//!   and `2..4` are intervals. Its arithmetic is sound and never wraps.
//! - [`SymExpr`]: an expression over symbols in normal form, so that `W-1+1` and
//!   `W` are the same value. [`Symbols`] owns the symbols, builds expressions and
//!   knows the interval of each.
//! - [`Shape`]: unranked, or one non-negative expression a dimension.
//!   [`ShapeSpec`] is the text of a shape before it has symbols.
//! - [`AxisSlice`]: the whole arithmetic of slicing one axis, shared by every
//!   slice dialect: exactly ([`AxisSlice::resolve`]), over intervals
//!   ([`length_interval`]) and over expressions ([`length`]).
//!
//! Nothing here knows graphs, ops or files.

mod axis_slice;
mod interval;
mod shape;
mod sym_expr;
mod symbols;

pub use axis_slice::hull::length_interval;
pub use axis_slice::symbolic::{SliceBound, length};
pub use axis_slice::{AxisSlice, SliceError};
pub use interval::{Interval, IntervalError};
pub use shape::Shape;
pub use shape::spec::{DimSpec, ShapeError, ShapeSpec};
pub use sym_expr::translate::{BinaryOp, ExprFolder};
pub use sym_expr::{Linear, SymExpr, SymbolId};
pub use symbols::{Origin, SymbolError, Symbols};
