//! What a model holds: its weights and how they are compressed, its states, the times of an execution graph. What a run of
//! it costs. And why its shapes are what they are: its symbols, and the trees of [`Model::why`](crate::Model::why).

mod cost;
mod states;
mod symbols;
mod timings;
mod weights;
mod why;

pub use cost::{Amount, LayerCost, ModelCost};
pub use states::{StateSize, state_sizes};
pub use symbols::{BirthKind, Symbol};
pub use timings::{LayerTime, layer_times};
pub use weights::{Grouping, WeightKind, WeightsOf, weights};
pub use why::{ExplainedError, Place, Role, Suggestion, Target, UnknownOrigin, Unknowns, Why, WhyNode};
