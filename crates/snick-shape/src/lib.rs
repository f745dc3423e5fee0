//! Symbolic shapes: facts about the dimensions of a tensor before the tensor is computed.
//!
//! This crate does not depend on graphs, operations or files.
//!
//! # Overview
//! 1. An [`Interval`] is a range of integers that may be unbounded: `?`, `3`, `2..4`, `5..`. Its arithmetic
//!    is sound and never wraps.
//! 2. [`Symbols`] is the table of unknown sizes. [`Symbols::named`] creates a symbol such as `N` that all
//!    inputs share; [`Symbols::fresh`] creates a symbol without a name. Both kinds have an interval and an
//!    [`Origin`].
//! 3. A [`SymExpr`] is an integer expression over symbols. The table creates expressions: [`Symbols::add`],
//!    [`Symbols::floor_div`], … or [`Symbols::parse`]. Expressions are in normal form: `W-1+1` equals `W`.
//! 4. The table answers questions about expressions: [`Symbols::interval`], [`Symbols::le`],
//!    [`Symbols::always_eq`], [`Symbols::eval`], [`Symbols::substitute`]. [`Symbols::display`] prints an
//!    expression so that it can be parsed again.
//! 5. A [`Shape`] is unranked, or has one expression per dimension. [`ShapeSpec`] and [`DimSpec`] represent a
//!    shape or a dimension as written in a file or an option, before its names become symbols.
//! 6. [`AxisSlice`] is the arithmetic of slicing one axis, which all slice operations share. It exists for
//!    numbers ([`AxisSlice::resolve`]), intervals ([`length_interval`]) and expressions ([`length`]).
//! 7. [`SymExpr::translate`] translates an expression to another language with an [`ExprFolder`].
//!
//! # Shapes
//! ```
//! use snick_shape::{Origin, Shape, Symbols};
//!
//! let mut symbols = Symbols::default();
//! let image = Shape::parse("[N,3,H=32..1024,W=32..1024]", &mut symbols, Origin::default())?;
//! let [n, _, h, w] = image.dims().unwrap() else { unreachable!() };
//!
//! // The flattened cells of a detector head with stride 32; incomplete cells at the edges count.
//! let tiles = |size| symbols.ceil_div(size, &32.into());
//! let cells = symbols.mul(&tiles(h).unwrap(), &tiles(w).unwrap()).unwrap();
//! let boxes = Shape::ranked([n.clone(), cells.clone(), 4.into()]);
//! assert_eq!(boxes.display(&symbols).to_string(), "[N,((H+31)/32)*((W+31)/32),4]");
//! assert_eq!(boxes.display_intervals(&symbols).to_string(), "[?,1..1024,4]");
//!
//! // There are never more cells than pixels, and 300 for an image of 640 by 480.
//! assert!(symbols.le(&cells, &symbols.parse("H*W")?));
//! let size = |symbol| Some(if symbols.name(symbol) == Some("H") { 480 } else { 640 });
//! assert_eq!(symbols.eval(&cells, &size), Some(300));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Slices
//! ```
//! use snick_shape::{AxisSlice, Interval, Origin, SliceBound, Symbols, length, length_interval};
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
//! // For an axis of `W` elements, its length is an expression.
//! let mut symbols = Symbols::default();
//! let w = symbols.named("W", axis, Origin::default())?;
//! let bounds = [1, -1].map(|bound| SliceBound::At(bound.into()));
//! let len = length(&mut symbols, &w, &bounds[0], &bounds[1], Some(2), Origin::default());
//! assert_eq!(symbols.display(&len).to_string(), "(W+1)/2-1");
//!
//! // A slice with unknown bounds is at most as long as the axis.
//! let len = length(&mut symbols, &w, &SliceBound::Unknown, &SliceBound::Unknown, Some(1), Origin::default());
//! assert!(symbols.le(&len, &w));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//! `serde`: `Serialize` and `Deserialize` for [`Interval`], [`Origin`], [`SymbolId`], [`SymExpr`],
//! [`Symbols`], [`Shape`], [`ShapeSpec`], [`DimSpec`], [`AxisSlice`] and [`SliceBound`]. Deserialisation
//! validates its input.

mod axis_slice;
mod integers;
mod interval;
#[cfg(feature = "serde")]
mod serial;
mod shape;
mod sym_expr;
mod symbols;

pub use axis_slice::bound::SliceBound;
pub use axis_slice::hull::length_interval;
pub use axis_slice::symbolic::length;
pub use axis_slice::{AxisSlice, SliceError, clamp_range};
pub use integers::{Computed, IntOp, Integers, WideIntegers};
pub use interval::{Interval, IntervalError};
pub use shape::error::ShapeError;
pub use shape::expr_spec::ExprSpec;
pub use shape::spec::{DimSpec, ShapeSpec};
pub use shape::{Shape, StaticDims};
pub use sym_expr::parse::{ExprError, ExprErrorKind};
pub use sym_expr::solve::SolveError;
pub use sym_expr::translate::{ExprFolder, ExprOp};
pub use sym_expr::{Linear, SymExpr, SymbolId};
pub use symbols::{Birth, Origin, SymbolError, Symbols};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
