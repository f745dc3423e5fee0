//! Proofs for all sizes: that rewrites keep what a graph computes, and that two graphs compute the same.

mod answer;
mod export;
mod graphs;
mod prover;
mod rewrite;
mod search;
mod smt;
mod solve;

pub use self::answer::{
    Certificate, CertificateError, CertifiedRewrite, CertifiedRewrites, OutputProof, OutputProofs,
    RewriteStatus, SmtObligation,
};
pub(crate) use self::graphs::task as task_of_graphs;
pub(crate) use self::prover::{Pending, Prover, obligation};
pub(crate) use self::search::search;
