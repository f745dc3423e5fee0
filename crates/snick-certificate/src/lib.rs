//! Certificates that two graphs compute the same for all sizes, and their checker.
//!
//! A [`Problem`] is a graph with pairs of values that are claimed to be equal, and a [`Proof`] establishes
//! some of these claims. [`Proof::check`] checks it without searching: a proof consists of the answers to the
//! questions that the checker asks, and the checker verifies each answer. A [`Guide`] that searches for
//! answers finds proofs with [`Equalities::prove`].
//!
//! ```
//! use snick_certificate::{
//!     Answer, Attribute, Combination, Graph, Lemma, Node, Output, Problem, Proof, Size, Value,
//! };
//!
//! // The first two elements of x, and the first two of its first three elements.
//! let output = |size| Output { element_type: "f32".into(), dims: Some(vec![size]), integers: None };
//! let x = Node { is_unique: true, outputs: vec![output(Size::Int(5))], ..Node::default() };
//! let slice = |input, length| Node {
//!     op: "slice".into(),
//!     attributes: [("axes", 0), ("start", 0), ("len", length), ("step", 1)]
//!         .map(|(name, int)| (name.to_string(), Attribute::from(vec![int])))
//!         .into(),
//!     inputs: vec![Some(Value { node: input, port: 0 })],
//!     outputs: vec![output(Size::Int(length))],
//!     ..Node::default()
//! };
//! let graph = Graph { nodes: vec![x, slice(0, 2), slice(0, 3), slice(2, 2)] };
//! let [before, after] = [1, 3].map(|node| Value { node, port: 0 });
//! let problem = Problem { graph, claims: vec![(before, after)], ..Problem::default() };
//!
//! let wrong = Proof { claims: vec![0], ..Proof::default() };
//! assert!(wrong.check(&problem).is_err());
//! // The only question is whether index i is below 3. The premises are i, 1 - i and 4 - i, each at least 0,
//! // and -1 - (2 - i) if the answer were no. But premises 1 and 3 add up to -2.
//! let answers = vec![Answer::Holds(Combination(vec![(1, vec![1]), (1, vec![3])]))];
//! let proof = Proof { lemmas: vec![Lemma { before, after, answers }], ..wrong };
//! assert_eq!(proof.check(&problem), Ok(()));
//! ```

mod answer;
mod atoms;
mod case;
mod certificate;
mod classes;
mod compare;
mod equalities;
mod graph;
mod meaning;
mod poly;
mod problem;

pub use answer::{Answer, Combination, Guide, Recorded};
pub use certificate::{Certificate, CertificateStep, Label, digest};
pub use equalities::Equalities;
pub use graph::{Attribute, Graph, Node, Output, Size, SizeOp, Value};
pub use poly::{AtomId, Monomial, Poly, TooLarge, gcd};
pub use problem::{BodyProblem, Lemma, Problem, Proof};
