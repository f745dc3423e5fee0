//! Proves rewrites as they are applied, or checks recorded proofs.

use std::time::Instant;

use snick_certificate::{CertificateStep, Label};
use snick_ir::rewrite::{Applied, Proposal};
use snick_ir::{Graph, Monitor};

use super::answer::{CertifiedRewrite, RewriteStatus, SmtObligation};
use super::search::{Task, search};
use super::smt::smt;
use super::{graphs, rewrite};

/// Proves rewrites, and keeps the proofs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prover {
    /// What was established about each rewrite, in order.
    pub(crate) rewrites: Vec<CertifiedRewrite>,
    pub(crate) steps: Vec<CertificateStep>,
    pub(crate) obligations: Option<Vec<SmtObligation>>,
    /// Proofs to check instead of searching.
    recorded: Option<Recorded>,
}

/// Recorded proofs, and the first step that fails.
#[derive(Clone, Debug)]
struct Recorded {
    steps: std::vec::IntoIter<CertificateStep>,
    failed: Option<String>,
}

/// Rewrites that wait for a decision.
pub(crate) struct Pending {
    rewrites: Vec<CertifiedRewrite>,
    step: CertificateStep,
    began: Option<Instant>,
}

impl Prover {
    /// A prover that searches for proofs. `has_smt` asks for the obligations of the proofs.
    pub(crate) fn new(has_smt: bool) -> Self {
        Self { obligations: has_smt.then(Vec::new), ..Self::default() }
    }

    /// A prover that checks these steps.
    pub(crate) fn of_steps(steps: Vec<CertificateStep>) -> Self {
        Self { recorded: Some(Recorded { steps: steps.into_iter(), failed: None }), ..Self::default() }
    }

    /// The first recorded step that fails, or that is left over.
    pub(crate) fn failed(self) -> Option<String> {
        let mut recorded = self.recorded?;
        let extra = recorded.steps.next().map(|step| format!("{} is not applied", title(&step.labels)));
        recorded.failed.or(extra)
    }

    /// Tries to prove a rewrite of a rule. If it is not proved, [`Prover::finish`] takes the result and the final
    /// decision.
    pub(crate) fn rewrite(&mut self, proposal: &Proposal) -> Result<(), Pending> {
        let node = proposal.graph.node(proposal.root);
        let rule = proposal.rule.name().to_string();
        let rewrite =
            CertifiedRewrite::new(rule.into(), node.op().type_name(), node.shared_name(), node.loc());
        self.establish(vec![rewrite], || Ok(rewrite::task(proposal)))
    }

    /// Tries to prove that a pass keeps what a graph computes.
    pub(crate) fn pass(&mut self, before: &Graph, after: &Graph, applied: &[Applied]) -> Result<(), Pending> {
        let rewrites = applied.iter().map(|applied| {
            let loc = before.find(&applied.layer).map(|id| before.node(id).loc()).unwrap_or_default();
            CertifiedRewrite::new(applied.rule.clone(), &applied.op, applied.layer.clone(), loc)
        });
        self.establish(rewrites.collect(), || graphs::task_of_pass(before, after))
    }

    fn establish(
        &mut self,
        rewrites: Vec<CertifiedRewrite>,
        task: impl FnOnce() -> Result<Task, String>,
    ) -> Result<(), Pending> {
        if rewrites.is_empty() {
            return Ok(());
        }
        let began = snick_ir::rewrite::now();
        let labels = rewrites.iter().map(|rewrite| Label {
            name: rewrite.rule.to_string(),
            op: rewrite.op.clone(),
            layer: rewrite.layer.to_string(),
        });
        let mut pending =
            Pending { step: CertificateStep { labels: labels.collect(), proof: None }, rewrites, began };
        let task = task();
        if let Some(recorded) = &mut self.recorded {
            if recorded.failed.is_none() {
                recorded.failed = check(recorded.steps.next(), &pending.step, task).err();
            }
            return Ok(());
        }
        let refused = match task {
            Ok(task) => {
                // The driver that applies the rewrites watches the limits.
                let found = search(&task, &mut Monitor::default(), "");
                let refused = found.reasons.into_iter().flatten().next();
                if refused.is_none() {
                    if let Some(obligations) = &mut self.obligations {
                        obligations.push(obligation(&pending.step.labels, &found.leaves));
                    }
                    pending.step.proof = Some(found.proof);
                }
                refused
            }
            Err(reason) => Some(reason),
        };
        match refused {
            None => {
                self.finish(pending, RewriteStatus::Proved, None);
                Ok(())
            }
            Some(reason) => {
                pending.rewrites.iter_mut().for_each(|rewrite| rewrite.reason = Some(reason.clone()));
                Err(pending)
            }
        }
    }

    /// Records the decision about rewrites that were not proved; a report replaces the reason.
    pub(crate) fn finish(&mut self, mut pending: Pending, status: RewriteStatus, report: Option<&str>) {
        let time =
            pending.began.map(|began| began.elapsed()).unwrap_or_default() / pending.rewrites.len() as u32;
        for rewrite in &mut pending.rewrites {
            (rewrite.status, rewrite.time) = (status, time);
            if let Some(report) = report {
                rewrite.reason = Some(report.to_string());
            }
        }
        self.rewrites.extend(pending.rewrites);
        if status != RewriteStatus::Refuted {
            self.steps.push(pending.step);
        }
    }
}

/// Checks a recorded step of the same rewrites.
fn check(
    recorded: Option<CertificateStep>,
    own: &CertificateStep,
    task: Result<Task, String>,
) -> Result<(), String> {
    let title = title(&own.labels);
    let Some(step) = recorded else { return Err(format!("{title} is not in the certificate")) };
    if step.labels != own.labels {
        return Err(format!("{title} is not the next step of the certificate"));
    }
    match step.proof {
        None => Ok(()),
        Some(proof) => {
            let task = task?;
            if proof.claims.iter().copied().ne(0..task.problem.claims.len()) {
                return Err(format!("{title}: not all outputs are proved"));
            }
            proof.check(&task.problem).map_err(|reason| format!("{title}: {reason}"))
        }
    }
}

fn title(labels: &[Label]) -> String {
    labels.first().map_or_else(String::new, |label| format!("{} of `{}`", label.name, label.layer))
}

/// The contradictions that a proof consists of, for solvers.
pub(crate) fn obligation(labels: &[Label], leaves: &[Vec<snick_certificate::Poly>]) -> SmtObligation {
    let name = labels.first().map_or_else(String::new, |label| format!("{}-{}", label.name, label.layer));
    let text = smt(&title(labels), &[], leaves);
    SmtObligation { name, text }
}
