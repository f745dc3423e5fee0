//! Certifies the rewrites of the canonical form, and that two graphs compute the same.

use snick_certificate::{CertificateStep, Label, digest};
use snick_ir::Graph;
use snick_ir::text::{PrintOptions, print};

use crate::pipeline::canonicalise_with;
use crate::prove::{
    Certificate, CertificateError, CertifiedRewrites, OutputProof, OutputProofs, Prover, obligation, search,
    task_of_graphs,
};
use crate::{Checker, RewriteOptions};

/// Brings the inferred graph into canonical form, and proves every rewrite. `has_smt` asks for the obligations
/// of the proofs.
pub fn certify_rewrites(graph: &mut Graph, options: &RewriteOptions, has_smt: bool) -> CertifiedRewrites {
    let models = vec![digest_of(graph)];
    let checker = options.checker_with(Prover::new(has_smt));
    let (report, checker) = canonicalise_with(graph, options, Some(checker));
    let prover = checker.and_then(Checker::into_prover).unwrap_or_default();
    let certificate = snick_certificate::Certificate { models, steps: prover.steps };
    CertifiedRewrites {
        rewrites: prover.rewrites,
        certificate: Certificate(certificate),
        report,
        obligations: prover.obligations.unwrap_or_default(),
    }
}

/// Proves that the outputs of two inferred graphs are equal for equal inputs. Inputs and outputs are matched by
/// name if all names agree, otherwise by order. `has_smt` asks for the obligations of the proofs.
pub fn certify_equal(a: &Graph, b: &Graph, options: &RewriteOptions, has_smt: bool) -> OutputProofs {
    let names: Vec<String> = a.results().map(|id| a.node(id).name().to_string()).collect();
    let mut step = CertificateStep { labels: labels_of(a), proof: None };
    let mut obligations = Vec::new();
    let mut monitor = options.watch().start();
    let reasons = match task_of_graphs(a, b) {
        Ok(task) => {
            let mut found = search(&task, &mut monitor, &a.name);
            let (outputs, variables) = found.reasons.split_at_mut(names.len());
            // An output is proved for any number of runs in sequence only if the variables are.
            if let Some(reason) = variables.iter().flatten().next() {
                let reason = format!("a variable may differ: {reason}");
                outputs
                    .iter_mut()
                    .filter(|output| output.is_none())
                    .for_each(|output| *output = Some(reason.clone()));
                found.proof.claims.clear();
            }
            if has_smt {
                obligations.push(obligation(&step.labels, &found.leaves));
            }
            step.proof = Some(found.proof);
            outputs.to_vec()
        }
        Err(reason) => vec![Some(reason); names.len()],
    };
    let outputs = names.into_iter().zip(reasons).map(|(name, reason)| OutputProof { name, reason });
    let models = vec![digest_of(a), digest_of(b)];
    let certificate = Certificate(snick_certificate::Certificate { models, steps: vec![step] });
    OutputProofs { outputs: outputs.collect(), certificate, stopped: monitor.into_stopped(), obligations }
}

/// Checks that a certificate proves the rewrites of this inferred graph.
///
/// # Errors
/// The first step that fails.
pub fn check_rewrites(certificate: &Certificate, graph: &Graph) -> Result<(), CertificateError> {
    let certificate = &certificate.0;
    if certificate.models != [digest_of(graph)] {
        return Err(CertificateError::OtherModel);
    }
    let options = RewriteOptions::new();
    let checker = Checker::with_prover(0, Prover::of_steps(certificate.steps.clone()), false);
    let (_, checker) = canonicalise_with(&mut graph.clone(), &options, Some(checker));
    let failed = checker.and_then(Checker::into_prover).and_then(Prover::failed);
    failed.map_or(Ok(()), |step| Err(CertificateError::Unproved(step)))
}

/// Checks that a certificate proves outputs of these inferred graphs equal.
///
/// # Errors
/// The first step that fails.
pub fn check_equal(certificate: &Certificate, a: &Graph, b: &Graph) -> Result<(), CertificateError> {
    let certificate = &certificate.0;
    if certificate.models != [digest_of(a), digest_of(b)] {
        return Err(CertificateError::OtherModel);
    }
    let [step] = certificate.steps.as_slice() else {
        return Err(CertificateError::Unproved("there is not exactly one step".into()));
    };
    if step.labels != labels_of(a) {
        return Err(CertificateError::Unproved("the outputs are others".into()));
    }
    let Some(proof) = &step.proof else { return Ok(()) };
    let task = task_of_graphs(a, b).map_err(CertificateError::Unproved)?;
    let is_complete =
        (step.labels.len()..task.problem.claims.len()).all(|claim| proof.claims.contains(&claim));
    if !is_complete && !proof.claims.is_empty() {
        return Err(CertificateError::Unproved("the variables are not proved".into()));
    }
    proof.check(&task.problem).map_err(CertificateError::Unproved)
}

/// The outputs of a graph.
fn labels_of(graph: &Graph) -> Vec<Label> {
    let label =
        |id| Label { name: graph.node(id).name().to_string(), op: "Result".into(), layer: String::new() };
    graph.results().map(label).collect()
}

/// A digest of the text form, which contains digests of large constants.
fn digest_of(graph: &Graph) -> String {
    format!("{:032x}", digest(print(graph, PrintOptions::new()).as_bytes()))
}

#[cfg(test)]
mod tests_of_rules;
