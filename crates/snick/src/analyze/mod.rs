//! Analyses of a model: weights and their compression, states, times recorded in an execution graph, the cost
//! of a run, defects, and the origins of shapes ([`Model::why`](crate::Model::why)). Also compares two
//! models, and matches a model with the execution graph of a plug-in.

mod check;
mod cost;
mod diff;
mod execution;
#[cfg(feature = "emit")]
mod plan;
mod serial;
mod states;
pub(crate) mod symbols;
mod timings;
mod weights;
pub(crate) mod why;

pub use check::{
    CheckCode, CheckOptions, CheckStatus, Example, Finding, UnknownCode, check_codes, check_file,
};
pub use cost::{Amount, LayerCost, LeadingTerm, ModelCost};
pub use diff::{
    AttrChange, ChangeDetail, ChangeGroup, DiffOptions, EndChange, LayerChange, LayerRef, ModelDiff,
    ModelEnd, RewiredInput, ShapeDrift, WeightChange, diff,
};
pub use execution::{ExecutedLayer, Execution, execution_of};
#[cfg(feature = "emit")]
pub use plan::{Collective, ModelPlan, PlanOptions, PlannedArgument, Transfer, Unplanned};
pub use states::{StateSize, state_sizes};
pub use symbols::{BirthKind, Symbol};
pub use timings::{LayerTime, layer_times};
pub use weights::{Grouping, WeightKind, WeightsOf, weights};
pub use why::{
    BoundedOutput, Bounds, ExplainedError, Place, Role, Suggestion, Target, UnknownOrigin, Unknowns, Why,
    WhyNode, WhyText,
};

/// A count with its noun, such as `1 layer` or `3 layers`.
fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
