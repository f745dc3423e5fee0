//! Whether a session computes what the layers of its model do.

use std::sync::Arc;

use snick_ir::Graph;
use snick_pass::Checker;
use snick_run::{Session, Substitutions};

use crate::Error;

/// What a check of a session found.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SessionCheck {
    /// How much of what the session computes in place of layers was executed beside them, and is equal.
    pub checked: usize,
    /// How much could not be executed.
    pub unchecked: usize,
    /// How the session and the layers differ, with an input for which they do.
    pub failures: Vec<String>,
}

/// Executes everything that a session of an inferred graph computes in place of layers, and those layers, on sample sizes and
/// elements: constants that it folds, layers that it fuses, weights that it keeps packed, convolutions on integers.
///
/// ```
/// let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
///             %a = Exp-1(%x)\n  %b = ReLU-1(%a)\n  %y = Result-1(%b)\n}\n";
/// let mut model = snick::parse(text)?;
/// model.infer();
/// let check = snick::check_session(model.graph(), 0)?;
/// // One pass computes both layers.
/// assert_eq!((check.checked, check.unchecked, check.failures.len()), (1, 0, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A graph with a cycle has no session.
pub fn check_session(graph: &Graph, seed: u64) -> Result<SessionCheck, Error> {
    let session = Arc::new(Session::new(graph)?);
    let mut checker = Checker::new(seed);
    let mut failures = Vec::new();
    for Substitutions { graph, claims } in Substitutions::of(&session) {
        let refuted = claims.iter().filter_map(|claim| checker.check_substitution(&graph, claim).err());
        failures.extend(refuted);
    }
    Ok(SessionCheck { checked: checker.checked(), unchecked: checker.unchecked(), failures })
}
