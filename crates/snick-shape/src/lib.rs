//! Abstract data: what is known about the dimensions of a tensor before it exists.
//!
//! - [`Interval`]: a closed range of integers that may be unbounded. `?`, `3` and `2..4` are intervals. Its
//!   arithmetic is sound and never wraps.
//! - [`SymExpr`]: an integer expression over symbols in normal form, so that `W-1+1` and `W` are the same value.
//!   [`Symbols`] owns the symbols, builds the expressions and knows the interval of each.
//! - [`Shape`]: unranked, or one non-negative expression per dimension. [`ShapeSpec`] is the text of a shape before
//!   its names become symbols.
//! - [`AxisSlice`]: the arithmetic of slicing one axis, shared by every slice operation: in numbers
//!   ([`AxisSlice::resolve`]), over intervals ([`length_interval`]) and over expressions ([`length`]).
//!
//! ```
//! use snick_shape::{AxisSlice, Interval, Origin, ShapeSpec, SliceBound, SymExpr, Symbols, length, length_interval};
//!
//! // Every second element of an axis of 10, without the ends: `[1:-1:2]`.
//! let slice = AxisSlice::resolve(10, Some(1), Some(-1), 2)?;
//! assert_eq!(slice.indices().collect::<Vec<_>>(), [1, 3, 5, 7]);
//!
//! // The same slice of an axis of 4 to 10 elements has 1 to 4 elements.
//! let axis = Interval::new(4, 10).unwrap();
//! let bounds = [1, -1].map(|bound| Some(Interval::exact(bound)));
//! assert_eq!(length_interval(axis, bounds[0], bounds[1], 2).to_string(), "1..4");
//!
//! // And of an axis of `W` elements it has this many.
//! let mut symbols = Symbols::default();
//! let shape = "W=4..10".parse::<ShapeSpec>()?.instantiate(&mut symbols, Origin::default())?;
//! let bounds = [1, -1].map(|bound| SliceBound::At(SymExpr::Const(bound)));
//! let len = length(&mut symbols, &shape.dims().unwrap()[0], &bounds[0], &bounds[1], Some(2), Origin::default());
//! assert_eq!(symbols.display(&len).to_string(), "(W+1)/2-1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate knows no graphs, operations or files.

mod axis_slice;
mod interval;
mod shape;
mod sym_expr;
mod symbols;

pub use axis_slice::bound::SliceBound;
pub use axis_slice::hull::length_interval;
pub use axis_slice::symbolic::length;
pub use axis_slice::{AxisSlice, SliceError};
pub use interval::{Interval, IntervalError};
pub use shape::Shape;
pub use shape::spec::{DimSpec, ShapeError, ShapeSpec};
pub use sym_expr::parse::{ExprError, ExprErrorKind};
pub use sym_expr::translate::{BinaryOp, ExprFolder};
pub use sym_expr::{Linear, SymExpr, SymbolId};
pub use symbols::{Origin, SymbolError, Symbols};
