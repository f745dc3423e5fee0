//! What a model holds: its weights and how they are compressed, its states, the times of an execution graph.

mod states;
mod timings;
mod weights;

pub use states::{StateSize, state_sizes};
pub use timings::{LayerTime, layer_times};
pub use weights::{Grouping, WeightKind, WeightsOf, weights};
