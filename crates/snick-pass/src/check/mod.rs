//! Checked rewrites: executes the graph before and after a change, and commits the change only if the results
//! are equal. Each application of a rule and each pass over the whole graph is checked.
//!
//! - The old and new layers are cut out of the graph. The values that both sides read become the inputs
//!   ([`region`]).
//! - Dynamic sizes take all small values in their intervals, the bounds, and some random values in between.
//!   Elements are random; constants and expressions that inference knows are evaluated instead ([`sample`]).
//! - Wherever the old layers run, the new layers must have the same result, bitwise or within the tolerance
//!   that the rule declares, and dims must match the inferred ones ([`compare`]).
//! - The constants of a model can hide a mistake in a rule with a tolerance, so such a rule is applied again
//!   to the same layers with other constants ([`constants`]).
//! - The report of a failure shows the slices in numpy's notation and contains a test in text form
//!   ([`report`]).

mod claim;
mod compare;
mod constants;
mod critical_sizes;
mod evaluate;
mod region;
mod report;
mod sample;
mod whole;

use snick_ir::Graph;
use snick_ir::rewrite::{Applied, Check, Proposal, Substitution, Tolerance};

use self::claim::{Claim, Pair};
use self::compare::{Outcome, compare};
use self::evaluate::Evaluation;
use self::region::{Reach, Region};
use self::sample::Samples;
pub(crate) use self::whole::Difference;
use self::whole::Joint;
#[cfg(feature = "certify")]
use crate::prove::{Pending, Prover, RewriteStatus};

/// Limit on the number of elements that all checks together compute, so that the time for checks does not
/// depend on the sizes of tensors.
const MAX_ALL_ELEMENTS: usize = 1 << 29;

/// Limit on the number of elements that are computed to check a whole graph.
const MAX_WHOLE_ELEMENTS: usize = 1 << 26;

/// Limit on the number of elements that are computed to check a substitution. Beyond it, no further samples
/// are generated.
const MAX_SUBSTITUTED_ELEMENTS: usize = 1 << 22;

/// Checks rewrites by executing the old and the new layers.
#[derive(Clone, Debug)]
pub struct Checker {
    seed: u64,
    checked: usize,
    proved: usize,
    unchecked: usize,
    elements: usize,
    #[cfg(feature = "certify")]
    prover: Option<Prover>,
    /// Whether proved rewrites are executed as well.
    #[cfg(feature = "certify")]
    executes_proved: bool,
}

/// The minimum number of samples on which the layers of a region with [`Reach::Wide`] must run, so that the
/// region can overrule a failure with [`Reach::Near`].
const LEAST_OF_WIDE: usize = 6;

/// The result of comparing all samples.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Verdict {
    /// Every pair was compared and its values are equal.
    Equal,
    /// Some pair could not be compared.
    Unchecked,
}

impl Checker {
    /// A checker with this seed for random sizes and elements.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            checked: 0,
            proved: 0,
            unchecked: 0,
            elements: 0,
            #[cfg(feature = "certify")]
            prover: None,
            #[cfg(feature = "certify")]
            executes_proved: false,
        }
    }

    /// A checker that executes what this prover does not prove, and also what it proves if `executes_proved`.
    #[cfg(feature = "certify")]
    pub(crate) fn with_prover(seed: u64, prover: Prover, executes_proved: bool) -> Self {
        Self { prover: Some(prover), executes_proved, ..Self::new(seed) }
    }

    #[cfg(feature = "certify")]
    pub(crate) fn into_prover(self) -> Option<Prover> {
        self.prover
    }

    /// The number of replacements whose old and new results were proved or compared, and are equal.
    pub fn checked(&self) -> usize {
        self.checked
    }

    /// The number of replacements that were proved.
    pub(crate) fn proved(&self) -> usize {
        self.proved
    }

    /// The number of replacements that could not be executed.
    pub fn unchecked(&self) -> usize {
        self.unchecked
    }

    /// Compares all pairs of old and new values on all samples, and reports the first difference. After
    /// `most` computed elements, the remaining samples are skipped.
    fn try_samples(&mut self, claim: &Claim, reach: Reach, most: usize) -> Result<Verdict, String> {
        let Some(region) = Region::of(claim, reach) else { return Ok(Verdict::Unchecked) };
        let is_whole = matches!(reach, Reach::DownTo(_));
        let seed = self.seed.wrapping_add((self.checked + self.unchecked) as u64);
        let mut compared = vec![0; claim.pairs.len()];
        let mut computed = 0;
        let mut samples = Samples::of(claim, &region, is_whole, seed);
        while self.elements <= MAX_ALL_ELEMENTS && computed <= most {
            if samples.is_over() && !compared.contains(&0) {
                break;
            }
            let Some(sample) = samples.next() else { break };
            self.elements += sample.elements();
            let mut values = Evaluation::of(claim, &sample.tensors);
            for (pair, compared) in claim.pairs.iter().zip(&mut compared) {
                match compare(claim, pair, &sample, &mut values) {
                    Outcome::Agrees => *compared += 1,
                    Outcome::DoesNotRun => {}
                    Outcome::CannotRun => return Ok(Verdict::Unchecked),
                    Outcome::Differs(how) => return Err(report::report(claim, &region, &sample, &how)),
                }
            }
            computed += values.elements();
        }
        // If a wide region passes, it overrules a failure of the near region, so it must have run with
        // several kinds of elements.
        let least = if reach == Reach::Wide { LEAST_OF_WIDE } else { 1 };
        let all = !compared.is_empty() && compared.iter().all(|&count| count >= least);
        Ok(if all { Verdict::Equal } else { Verdict::Unchecked })
    }

    fn count(&mut self, verdict: Verdict, rewrites: usize) {
        match verdict {
            Verdict::Equal => self.checked += rewrites,
            Verdict::Unchecked => self.unchecked += rewrites,
        }
    }

    /// Compares a value that a session computes by other means with the result of the original layers.
    ///
    /// # Errors
    /// A report of the difference, with an input that reproduces it.
    pub fn check_substitution(&mut self, graph: &Graph, claimed: &Substitution) -> Result<(), String> {
        let &Substitution { by, old, new, ref reads, tolerance, widens } = claimed;
        let pairs = vec![Pair { name: format!("output {}", old.port), old, new }];
        let place = graph.node(old.node).name();
        let claim = Claim { graph, rule: by, place, tolerance, pairs, added: &[], widens };
        let verdict = self.try_samples(&claim, Reach::DownTo(reads), MAX_SUBSTITUTED_ELEMENTS)?;
        self.count(verdict, 1);
        Ok(())
    }

    /// Compares a graph before and after a pass, and reports a difference. `applied` is the log of the pass.
    pub(crate) fn check_graph(
        &mut self,
        pass: &str,
        tolerance: Option<Tolerance>,
        applied: &[Applied],
        (before, after): (&Graph, &Graph),
    ) -> Result<(), String> {
        let execute = |checker: &mut Self| {
            checker.execute_graph(pass, tolerance, applied, Difference::of(before, after))
        };
        #[cfg(feature = "certify")]
        return self.prove_or(applied.len(), |prover| prover.pass(before, after, applied), execute);
        #[cfg(not(feature = "certify"))]
        execute(self)
    }

    fn execute_graph(
        &mut self,
        pass: &str,
        tolerance: Option<Tolerance>,
        applied: &[Applied],
        difference: Difference,
    ) -> Result<(), String> {
        let verdict = match difference {
            Difference::Nothing => Verdict::Equal,
            Difference::Unknown => Verdict::Unchecked,
            Difference::Values(joint) => {
                let Joint { graph, pairs, added } = *joint;
                let claim = Claim {
                    graph: &graph,
                    rule: pass,
                    place: applied.first().map_or(&graph.name, |applied| &applied.layer),
                    tolerance,
                    pairs,
                    added: &added,
                    widens: false,
                };
                self.try_samples(&claim, Reach::DownTo(&[]), MAX_WHOLE_ELEMENTS)?
            }
        };
        self.count(verdict, applied.len());
        Ok(())
    }
}

#[cfg(feature = "certify")]
impl Checker {
    /// Proves rewrites, or else executes them.
    fn prove_or(
        &mut self,
        rewrites: usize,
        prove: impl FnOnce(&mut Prover) -> Result<(), Pending>,
        execute: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let Some(prover) = &mut self.prover else { return execute(self) };
        match prove(prover) {
            Ok(()) => {
                self.proved += rewrites;
                if self.executes_proved {
                    return execute(self);
                }
                self.checked += rewrites;
                Ok(())
            }
            Err(pending) => {
                let result = execute(self);
                let report = result.as_ref().err().map(String::as_str);
                let status = if report.is_some() { RewriteStatus::Refuted } else { RewriteStatus::Sampled };
                if let Some(prover) = &mut self.prover {
                    prover.finish(pending, status, report);
                }
                result
            }
        }
    }
}

impl Check for Checker {
    #[cfg(feature = "certify")]
    fn check(&mut self, proposal: &Proposal) -> Result<(), String> {
        self.prove_or(1, |prover| prover.rewrite(proposal), |checker| checker.execute(proposal))
    }

    #[cfg(not(feature = "certify"))]
    fn check(&mut self, proposal: &Proposal) -> Result<(), String> {
        self.execute(proposal)
    }
}

impl Checker {
    /// Executes the layers before and after a replacement.
    fn execute(&mut self, proposal: &Proposal) -> Result<(), String> {
        // The inputs of a region are sampled independently although they may be related, so a difference may
        // occur only for values that cannot occur together. A wide region has fewer related inputs.
        // Therefore, a difference in the near region is ignored if enough samples of the wide region run
        // without a difference.
        let claim = Claim::of(proposal);
        let verdict = match self.try_samples(&claim, Reach::Near, usize::MAX) {
            Ok(verdict) => verdict,
            Err(report) => match self.try_samples(&claim, Reach::Wide, usize::MAX) {
                Ok(Verdict::Equal) => Verdict::Equal,
                _ => return Err(report),
            },
        };
        if verdict == Verdict::Equal {
            let mut again = Self::new(self.seed);
            let mut decide = |claim: &Claim| again.try_samples(claim, Reach::Near, usize::MAX).map(|_| ());
            constants::check_with_others(proposal, &claim, self.seed, &mut decide)?;
        }
        self.count(verdict, 1);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_graphs;
#[cfg(test)]
mod tests_of_samples;
