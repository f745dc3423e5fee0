//! The graph IR of snick: the chapter to read first.
//!
//! A [`Graph`] holds [`Node`]s; a node applies an [`Op`] to the [`Value`]s wired to its inputs and has one
//! [`Output`] a port. What is known of an output is its [`Fact`]: element type, shape and, for constants and
//! small integer tensors, the elements themselves, as expressions over the sizes of the inputs.
//!
//! The way of the data, file by file:
//!
//! 1. a reader fills a [`RawNode`] a layer and [`Op::parse`] makes the op of it (`op.rs`, `attrs.rs`);
//! 2. [`infer`] visits the nodes in topological order and asks each op for its facts (`infer.rs`, `fact.rs`);
//! 3. rules replace nodes by better ones, each replacement checked, through a [`rewrite::Patch`] (`rewrite.rs`);
//! 4. the text form prints a graph and reads it back (`text/`).
//!
//! An op is one file below `ops/` and is all there is to know of it; `ops/mod.rs` is the list.
//! Ops know no places (files, lines, layer names): the drivers add them to an [`OpError`], once.

mod attrs;
mod builder;
pub mod directml;
mod error;
mod fact;
mod float_bounds;
mod graph;
mod infer;
mod info;
#[macro_use]
mod op;
pub mod ops;
mod origin;
pub mod rewrite;
pub mod text;
mod verify;

pub use attrs::{AttrValue, Attrs};
pub use builder::{BuildMode, GraphBuilder, Operand, StridedSliceMasks};
pub use error::{Located, OpError};
pub use fact::{Fact, Facts, Known};
pub use float_bounds::{FloatBounds, Ratio};
pub use graph::{Declared, Graph, Loc, Node, NodeId, Output, PortIds, Value};
pub use infer::{Infer, infer, normalize_axes, normalize_axis, normalize_each_axis};
pub use info::Info;
pub use op::{
    Arity, AttrField, AttrSpec, AttrWords, Dialect, EvalOp, InferOp, Op, OpDef, OpName, OpTraits, RawNode,
    Since, Values, Version, exactly, leading,
};
pub use verify::verify;
