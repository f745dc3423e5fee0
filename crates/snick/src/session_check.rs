//! Checks that a session computes the same values as the layers of its model.

use std::sync::Arc;

use snick_ir::Graph;
use snick_pass::Checker;
use snick_run::{Session, Substitutions};

use crate::Error;

/// The result of checking a session.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SessionCheck {
    /// The number of substitutes that were executed and agreed with the layers they replace.
    pub checked: usize,
    /// Number of substitutes that could not be executed.
    pub unchecked: usize,
    /// Differences between the session and the layers, each with inputs that reproduce it.
    pub failures: Vec<String>,
}

/// Runs the substitutes of a session, that is, its optimised parts, against the layers that they replace, on
/// sample inputs. Substitutes are folded constants, fused layers, packed weights, and convolutions on
/// integers.
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
/// The graph has a cycle.
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
