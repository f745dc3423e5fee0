//! Certificates that two graphs compute the same for all sizes, and their checker.

mod answer;
mod atoms;
mod case;
mod certificate;
mod compare;
mod equalities;
mod graph;
mod meaning;
mod poly;
mod problem;

pub use answer::{Answer, Combination, Guide, Recorded};
pub use certificate::{Certificate, CertificateStep, Label, digest};
pub use equalities::Equalities;
pub use graph::{Attribute, Constant, Graph, Node, Output, Size, SizeOp, Value};
pub use poly::{AtomId, Monomial, Poly, gcd};
pub use problem::{BodyProblem, Lemma, Problem, Proof};
