//! The graph IR of snick. Start reading here.
//!
//! A [`Graph`] holds [`Node`]s. A node applies an [`Op`] to the [`Value`]s connected to its inputs and has
//! one [`Output`] per port. Inference gives each output a [`Fact`]: element type, shape and, for constants
//! and small integer tensors, the elements, as expressions over the sizes of the inputs.
//!
//! ```
//! let text = r#"snick 1
//! graph "double" {
//!   %x = Parameter-1 {element_type: f32, shape: "N,4"}
//!   %concat = Concat-1(%x, %x) {axis: 0}
//!   %y = Result-1(%concat)
//! }
//! "#;
//! let mut graph = snick_ir::text::parse(text, None)?;
//! assert!(snick_ir::infer(&mut graph).is_empty());
//! let result = graph.results().next().unwrap();
//! let shape = &graph.node(result).outs()[0].fact.shape;
//! assert_eq!(shape.display(graph.symbols()).to_string(), "[2*N,4]");
//! # Ok::<(), snick_ir::text::ParseError>(())
//! ```
//!
//! The stages of processing, with their files:
//!
//! 1. A reader fills one [`RawNode`] per layer, and [`Op::parse`] turns it into an op (`op/`, `attrs.rs`).
//! 2. [`infer()`] visits nodes in topological order and asks each op for its facts (`infer.rs`, `fact.rs`).
//! 3. Rules replace nodes through a [`rewrite::Patch`], and each replacement is checked (`rewrite.rs`).
//! 4. The text form prints a graph and parses it back (`text/`).
//!
//! Each operation is one file below `ops/`; `ops/mod.rs` lists them. Operations do not know files, lines or
//! layer names: inference, rewriting and runs add these when they wrap an [`OpError`] in a [`Located`].

mod attrs;
mod builder;
mod code;
mod diagnostic;
mod edit_distance;
mod error;
mod fact;
mod float_bounds;
mod format;
mod graph;
mod infer;
mod info;
mod int_or_value;
mod monitor;
#[macro_use]
mod op;
pub mod ops;
mod origin;
mod release;
pub mod rewrite;
pub mod text;
mod verify;
mod weights_file;

pub use attrs::{AttrValue, Attrs};
pub use builder::{
    BuildMode, CoordinateTransformation, GraphBuilder, Operand, Resampling, ResizeKernel, ResizeRules,
    ResizeTarget, StridedSliceMasks,
};
pub use code::Code;
pub use diagnostic::{Diagnostic, Severity};
pub use edit_distance::{did_you_mean, did_you_mean_or, edit_distance, nearest_name};
pub use error::{Located, OpError};
pub use fact::{Fact, Facts, Known};
pub use float_bounds::{FloatBounds, Ratio};
pub use format::{Format, IR_VERSIONS};
pub use graph::{Declared, Details, Graph, Inputs, Loc, Node, NodeId, NodeRef, Output, PortIds, Value};
pub use infer::{
    Condition, Conditions, Dependencies, EmptyAxes, GIVEN_UP, Infer, IntegerRole, NO_EXPRESSION,
    NO_RULE_FOR_RANK, Part, ValuePart, conditions, infer, infer_with, normalize_axes, normalize_axis,
    normalize_each_axis,
};
pub use info::Info;
pub use int_or_value::IntOrValue;
pub use monitor::{Limits, Monitor, Progress, Stopped, Watch};
pub use op::{
    Arity, AttrField, AttrSpec, AttrWords, AxisFactor, AxisMap, Category, Custom, CustomOp, Dialect, EvalOp,
    FactorKind, InferOp, Op, OpCost, OpDef, OpName, OpTraits, RawNode, Registry, ShapeRule, Since, Version,
    exactly, leading,
};
pub use origin::InputOrigin;
pub use release::{
    IrFeature, Need, NeedCause, OpSupport, Release, TypeUse, earlier_definition, empty_need, feature_support,
    has_empty_fact, needs, older_form, oldest_definition, onnx_opsets, op_support, type_support,
};
#[cfg(feature = "tokenizers")]
pub use snick_text::TextError;
pub use verify::verify;
pub use weights_file::WeightsFile;
