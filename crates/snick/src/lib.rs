//! Read, infer, canonicalise, run and write OpenVINO IR models.
//!
//! ```
//! let mut model = snick::parse(
//!     r#"snick 1
//! graph "crop" {
//!   %x = Parameter-1 {element_type: i64, shape: "N"}
//!   %start = Const-1 i64[1] <1>
//!   %stop = Const-1 i64[1] <-1>
//!   %step = Const-1 i64[1] <1>
//!   %slice = Slice-8(%x, %start, %stop, %step)
//!   %y = Result-1(%slice)
//! }
//! "#,
//! )?;
//! model.infer().into_result()?; // or .errors(): every error, with its layer and location
//! let report = model.canonicalise();
//! assert_eq!((report.slice_like_before, report.slice_after), (1, 1));
//! # #[cfg(feature = "run")] {
//! let outputs = model.run([("x", snick::Tensor::from_slice(&[1i64, 2, 3, 4], &[4])?)])?;
//! assert_eq!(outputs["y"].as_slice::<i64>()?, [2, 3]);
//! # }
//! # Ok::<(), snick::Error>(())
//! ```
//!
//! - [`load`] reads a file or a folder, [`load_bytes`] reads memory, [`Model::save`] writes a file.
//! - [`Model::graph`] is the [`Graph`]: layers ([`NodeRef`]), values, and the facts about them ([`Fact`], [`Shape`]).
//! - [`GraphBuilder`] builds graphs in code; [`Rule`] and [`Pass`] rewrite them.
//! - [`Model::session`] runs a model any number of times.
//! - [`Model::certify`] proves rewrites, and that two models compute the same.
//! - [`CustomOp`] and [`Registry`] add custom ops.
//! - [`Error`] and [`Diagnostic`] are structured data with codes.
//!
//! # Features
//! All but the last four are on by default. Without any feature, snick reads OpenVINO IR and the text form,
//! infers and canonicalises.
//!
//! | feature | what it adds |
//! |---|---|
//! | `onnx` | reads ONNX, and with `emit` writes it |
//! | `ngraph`, `directml` | read JSON of nGraph functions and DirectML descriptions |
//! | `run` | [`Session`] and random inputs |
//! | `emit` | [`Model::save`] |
//! | `analyze` | cost, checks, comparisons, proofs and shape explanations; tables of weights, states and times |
//! | `view` | [`Model::save_picture`]: SVG; [`Model::report`]: a page |
//! | `ops-toml` | `load_ops`: shapes of custom ops from a file |
//! | `serde` | diagnostics and shapes serialise |
//! | `tokenizers` | runs the operations of openvino_tokenizers; inferring their shapes does not need it |
//! | `ndarray` | tensors from and to `ndarray` |

#[cfg(feature = "analyze")]
mod analyze;
#[cfg(feature = "analyze")]
mod certify;
mod edit;
mod error;
mod extract;
mod index_demands;
mod inference;
mod input_candidates;
mod inputs;
mod integer_roles;
mod load;
mod model;
#[cfg(feature = "ops-toml")]
mod ops_file;
mod outputs;
mod prediction;
mod random_inputs;
mod reduce;
#[cfg(feature = "view")]
mod report;

#[cfg(feature = "emit")]
mod files;
mod fit_sizes;
#[cfg(feature = "emit")]
mod mlir_folder;
#[cfg(feature = "emit")]
mod save;
#[cfg(feature = "run")]
mod session;
#[cfg(feature = "run")]
mod session_check;
mod specialise;
#[cfg(feature = "emit")]
mod weights_place;

#[cfg(feature = "analyze")]
pub use analyze::{
    Amount, AttrChange, BirthKind, BoundedOutput, Bounds, ChangeDetail, ChangeGroup, CheckCode, CheckOptions,
    CheckStatus, DiffOptions, EndChange, Example, ExecutedLayer, Execution, ExplainedError, Finding,
    Grouping, LayerChange, LayerCost, LayerRef, LayerTime, LeadingTerm, ModelCost, ModelDiff, ModelEnd,
    Place, RewiredInput, Role, ShapeDrift, StateSize, Suggestion, Symbol, Target, UnknownCode, UnknownOrigin,
    Unknowns, WeightChange, WeightKind, WeightsOf, Why, WhyNode, WhyText, check_codes, check_file, diff,
    execution_of, layer_times, state_sizes, weights,
};
#[cfg(all(feature = "analyze", feature = "emit"))]
pub use analyze::{Collective, ModelPlan, PlanOptions, PlannedArgument, Transfer, Unplanned};
#[cfg(feature = "analyze")]
pub use certify::{
    Certificate, CertificateSummary, CertifiedOutput, CertifyOptions, Counterexample, OutputStatus,
    counterexamples,
};
pub use edit::Editor;
pub use error::Error;
#[cfg(feature = "emit")]
pub use files::{OutputFiles, Sink, WrittenFile, write_file};
pub use inference::{InferOptions, Inference};
pub use input_candidates::{has_dynamic_dims, input_candidates};
pub use inputs::{by_parameter, find_input};
pub use load::{LoadOptions, load, load_bytes, load_storage, load_with, model_of_folder, parse};
#[cfg(feature = "emit")]
pub use mlir_folder::{FILES as STABLEHLO_FILES, LinalgOptions, StableHloOptions};
pub use model::Model;
#[cfg(feature = "ops-toml")]
pub use ops_file::{load_ops, parse_ops};
pub use outputs::{Outputs, named_outputs, output_names, public_name};
pub use prediction::Prediction;
pub use random_inputs::{DimPolicy, InputSpec, draw_inputs};
pub use reduce::{ErrorKind, Reduction, reduce};
#[cfg(feature = "view")]
pub use report::ReportOptions;
#[cfg(feature = "emit")]
pub use save::{MlirDialect, SaveOptions, SaveTarget};
#[cfg(feature = "run")]
pub use session::{RunOptions, Session};
#[cfg(feature = "run")]
pub use session_check::{SessionCheck, check_session};
#[cfg(any(feature = "emit", feature = "directml"))]
pub use snick_directml::{FeatureLevel, UnknownLevel};
#[cfg(feature = "emit")]
pub use snick_emit::openvino::SliceAs;
#[cfg(feature = "emit")]
pub use snick_emit::stablehlo::PartitionError;
#[cfg(feature = "emit")]
pub use snick_emit::{Mesh, Precision, ShardError, ShardRules};
#[cfg(feature = "tokenizers")]
pub use snick_ir::TextError;
pub use snick_ir::ops::{
    BinaryOp, BitwiseOp, CompareOp, Coordinates, ElementFunction, EpsMode, LogicalOp, Nearest, PadMode,
    ReduceOp, Stage, UnaryOp, Window,
};
pub use snick_ir::rewrite::{
    Applied, Check, CheckFailure, MissedRewrite, Patch, Proposal, RewriteResult, Rule, RuleWork, Tolerance,
    Trace,
};
pub use snick_ir::{
    Arity, AttrSpec, AttrValue, Attrs, AxisFactor, AxisMap, BuildMode, Category, Code,
    CoordinateTransformation, Custom, CustomOp, Declared, Details, Diagnostic, Dialect, Fact, FactorKind,
    Facts, FloatBounds, Format, Graph, GraphBuilder, Infer, Info, InputOrigin, Inputs, IntOrValue, IrFeature,
    Known, Limits, Loc, Located, Monitor, Need, NeedCause, Node, NodeId, NodeRef, Op, OpCost, OpError,
    OpName, OpSupport, OpTraits, Operand, Output, Part, PortIds, Progress, Ratio, RawNode, Registry, Release,
    Resampling, ResizeKernel, ResizeRules, ResizeTarget, Severity, ShapeRule, Since, Stopped,
    StridedSliceMasks, TypeUse, Value, ValuePart, Version, Watch, WeightsFile, feature_support, infer, needs,
    older_form, onnx_opsets, op_support, ops, rewrite, text, type_support,
};
pub use snick_pass::states::State;
#[cfg(feature = "analyze")]
pub use snick_pass::{CertificateError, CertifiedRewrite, RewriteStatus, SmtObligation};
pub use snick_pass::{
    Cost, PASSES, Pass, PassContext, PassFailure, PassOutcome, Report, RewriteOptions, UnknownPass,
};
pub use snick_read::{Read, ReadError};
pub use snick_shape::{
    AxisSlice, Birth, DimSpec, ExprError, ExprErrorKind, ExprFolder, ExprOp, ExprSpec, Interval,
    IntervalError, Linear, Origin, Shape, ShapeError, ShapeSpec, SliceError, SolveError, StaticDims, SymExpr,
    SymbolError, SymbolId, Symbols,
};
#[cfg(feature = "ndarray")]
pub use snick_tensor::ndarray;
pub use snick_tensor::{
    Dims, Element, ElementType, SmallVector, SmallVectorIntoIter, Storage, Tensor, TensorError,
    UnknownElementType, half,
};
#[cfg(feature = "view")]
pub use snick_view::{PictureOptions, viewer_script, viewer_style};
#[cfg(feature = "emit")]
pub use weights_place::weights_file;
