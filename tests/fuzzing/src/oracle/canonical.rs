//! The canonical form gives the same results, and is its own canonical form.

use snick_ir::{Graph, Located, OpError};
use snick_pass::{RewriteOptions, canonicalise};

use super::compare::Tolerance;
use super::run::Runs;
use super::{Finding, inferred};
use crate::input::limits;

pub(super) fn check(graph: &Graph, is_valid: bool, runs: &Runs) -> Result<(), Finding> {
    let mut canonical = graph.clone();
    let options = RewriteOptions::new().limits(limits());
    let report = canonicalise(&mut canonical, &options);
    if report.stopped.is_some() || !is_valid {
        return Ok(());
    }
    // Layers that cannot be lowered are reported as unsupported and stay.
    let is_wrong = |error: &&Located| !matches!(error.error, OpError::Unsupported { .. });
    if let Some(error) = report.errors.iter().find(is_wrong) {
        return Err(Finding::of("a rule fails", error, graph));
    }
    if let Some(error) = snick_ir::verify(&canonical).first() {
        return Err(Finding::of("the canonical form is inconsistent", error, graph));
    }
    let errors = inferred(&canonical).map(|(_, errors)| errors).unwrap_or_default();
    if !errors.is_empty() && runs.none_succeeds(graph) {
        return Ok(());
    }
    // A body may never run, so its errors may only be detected in the canonical form.
    let is_outside = |error: &&Located| canonical.ids().any(|id| canonical.node(id).name() == error.layer);
    if let Some(error) = errors.iter().find(is_outside) {
        return Err(Finding::of("inference of the canonical form fails", error, graph));
    }
    let how = if report.may_round() { Tolerance::Rounding } else { Tolerance::Exact };
    let applied = || report.applied.iter().map(|applied| format!("{} at {}", applied.rule, applied.layer));
    runs.compare("the canonical form", &canonical, how).map_err(|mut finding| {
        finding.detail = format!("{}\nafter {:?}", finding.detail, applied().collect::<Vec<_>>());
        finding.graph = format!("{}from\n{}", finding.graph, super::text::printed(graph));
        finding
    })?;
    let again = canonicalise(&mut canonical, &options);
    match again.applied.first() {
        Some(applied) => Err(Finding::of("rules apply to the canonical form", &applied.rule, graph)),
        None => Ok(()),
    }
}
