//! Certificates that two graphs compute the same for all sizes, and their checker.

mod answer;
mod atoms;
mod case;
mod compare;
mod graph;
mod meaning;
mod poly;
mod problem;

pub use answer::{Answer, Combination, Guide, Recorded};
pub use graph::{Attribute, Constant, Graph, Node, Output, Size, SizeOp, Value};
pub use poly::{AtomId, Monomial, Poly};
pub use problem::Equalities;
