//! Verifies that two graphs are equivalent: runs both on the same inputs and compares all bytes of the
//! outputs.
//!
//! A session fuses layers and chooses kernels depending on the graph, so equivalent graphs may round
//! differently. Outputs with different bytes are therefore accepted in two cases:
//! - The bytes are equal if both graphs run layer by layer, without folding or fusion.
//! - The outputs agree within a tolerance for rounding.

use std::fmt;

use snick::{has_dynamic_dims, input_candidates};
use snick_ir::{Graph, Located};
use snick_run::{Options, Outputs, Session, Variables};
use snick_tensor::Tensor;

use super::compare::{Tolerance, compare};
use super::console::{Console, Failure, Outcome};
use super::inputs::InputOptions;
use super::search::Search;

/// The result of a verification.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Every output was compared, and all bytes are equal.
    Equal,
    /// Every output was compared, and some differ by rounding.
    Rounded,
    /// An output differs or is missing.
    Different,
    /// A limit was reached before every output was compared.
    Limit,
    /// An output of the original graph could not be computed.
    NotRun,
    /// The original graph has no outputs, so nothing was compared.
    NoOutputs,
}

impl Verdict {
    /// Whether every output was compared without a difference.
    pub fn is_verified(self) -> bool {
        matches!(self, Self::Equal | Self::Rounded)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "verified: the outputs are equal",
            Self::Rounded => "verified: the outputs are equal up to rounding",
            Self::Different => "the outputs differ",
            Self::Limit => "not verified: a limit was reached",
            Self::NotRun => "not verified: the original model does not run",
            Self::NoOutputs => "not verified: the model has no outputs, so nothing was compared",
        })
    }
}

/// The tolerance for rounding. `rtol`, which is relative to each element, allows for rounding errors that
/// accumulate over layers. [`is_close`] multiplies `atol` by the largest element of the output, because the
/// error of a sum that cancels is large relative to its result.
const ROUNDING: Tolerance = Tolerance { rtol: 1e-3, atol: 1e-4, equal_nan: true };

/// Number of rounds that always run if dims are dynamic. Further rounds run until every output has been
/// compared.
const ROUNDS: u64 = 5;

/// Runs both graphs and compares their outputs. The inputs and outputs of the graphs must correspond. If dims
/// are dynamic, there are several rounds with different inputs.
pub fn verify(
    before: &Graph,
    after: &Graph,
    inputs: &InputOptions,
    console: &Console,
) -> Result<Verdict, Failure> {
    if before.results().next().is_none() {
        return Ok(Verdict::NoOutputs);
    }
    let (old, new) =
        (Session::new(before).map_err(Failure::layer)?, Session::new(after).map_err(Failure::layer)?);
    let how = Options { keep_going: true, ..console.run_options() };
    let rounds = if has_dynamic_dims(before) { ROUNDS } else { 1 };
    let mut compared = vec![false; before.results().count()];
    let (mut causes, mut too_large, mut verdict) = (Vec::new(), None, Verdict::Equal);
    let given = inputs.read(before, console.memory())?;
    let mut search = Search::new(before);
    for (round, draw) in (0u64..).zip(input_candidates(before)) {
        if (round >= rounds && !compared.contains(&false)) || search.is_over() {
            break;
        }
        let (mut old_state, mut new_state) = (Variables::default(), Variables::default());
        let steps = match given.complete(before, draw, round) {
            Ok(steps) => steps,
            Err(failure) if rounds == 1 => return Err(failure),
            Err(failure) => {
                too_large.get_or_insert(failure);
                continue;
            }
        };
        // Always tries the first sizes: if no sizes fit, the error for the first sizes is reported.
        if !search.admits(before, &steps) && round > 0 {
            continue;
        }
        for (step, inputs) in steps.iter().enumerate() {
            let old = watch(&old, inputs, how, &mut old_state, console)?;
            let new = watch(&new, inputs, how, &mut new_state, console)?;
            let mut plain = None;
            for (i, value) in old.values.iter().enumerate() {
                let Some(value) = value else { continue };
                let got = new.values.get(i).and_then(Option::as_ref);
                compared[i] = true;
                if got == Some(value) {
                    continue;
                }
                if plain.is_none() {
                    let run = |graph| run_layer_by_layer(graph, &steps[..=step], how, console);
                    plain = Some([run(before)?, run(after)?]);
                }
                let plain_errors = plain.iter().flatten().flat_map(|run| &run.errors);
                let plain = plain.as_ref().map(|runs| runs.each_ref().map(|run| run.values.get(i)?.as_ref()));
                let is_equal = |[want, got]: [Option<&Tensor>; 2]| want.is_some() && want == got;
                if plain.is_some_and(is_equal) || got.is_some_and(|got| is_close(got, value)) {
                    verdict = Verdict::Rounded;
                    continue;
                }
                let errors: Vec<&Located> = new.errors.iter().chain(plain_errors).collect();
                errors.iter().for_each(|error| console.located(error));
                let is_computed =
                    got.is_some() && plain.is_some_and(|values| values.iter().all(Option::is_some));
                let is_limit = !is_computed && errors.iter().any(|error| error.error.is_limit());
                return Ok(if is_limit { Verdict::Limit } else { Verdict::Different });
            }
            // The inputs of the first round fit best, so its errors are the most relevant.
            if causes.is_empty() {
                causes = old.errors;
            }
        }
    }
    if compared.contains(&false) {
        causes.iter().for_each(|error| console.located(error));
        return match (Outcome::of_errors(&causes), too_large) {
            (Outcome::Limit, _) => Ok(Verdict::Limit),
            (Outcome::Fine, Some(failure)) => Err(failure),
            _ => Ok(Verdict::NotRun),
        };
    }
    Ok(verdict)
}

/// Runs a session, and fails if the deadline passes.
pub fn watch(
    session: &Session,
    inputs: &[Tensor],
    how: Options,
    state: &mut Variables,
    console: &Console,
) -> Result<Outputs, Failure> {
    let outputs = session.watch(inputs, how, state, |progress| {
        console.deadline().advance(session.graph().node(progress.node).name())
    });
    console.deadline().check()?;
    Ok(outputs)
}

/// The outputs of the last step, computed without folding or fusion.
fn run_layer_by_layer(
    graph: &Graph,
    steps: &[Vec<Tensor>],
    how: Options,
    console: &Console,
) -> Result<Outputs, Failure> {
    let session = Session::without_folding(graph).map_err(Failure::layer)?;
    let (mut state, mut outputs) = (Variables::default(), Outputs::default());
    for inputs in steps {
        outputs = watch(&session, inputs, how, &mut state, console)?;
    }
    Ok(outputs)
}

/// Whether two floating-point tensors are equal up to rounding.
fn is_close(got: &Tensor, want: &Tensor) -> bool {
    if !want.element_type().is_float() || got.dims() != want.dims() {
        return false;
    }
    let Ok(elements) = want.to_f64_vec() else { return false };
    let largest = elements.into_iter().map(f64::abs).filter(|x| x.is_finite()).fold(0.0, f64::max);
    compare(got, want, Tolerance { atol: ROUNDING.atol * largest, ..ROUNDING }).is_within()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tolerance is relative, so that differences between tiny outputs are found.
    #[test]
    fn rounding_is_relative_to_the_largest_element() {
        let tensor = |elements: [f32; 3]| Tensor::from_vec(&[3], elements.to_vec()).unwrap();
        let tiny = tensor([1e-8, 2e-8, -3e-8]);
        assert!(is_close(&tensor([1.0001e-8, 2e-8, -3e-8]), &tiny));
        assert!(!is_close(&tensor([1.1e-8, 2e-8, -3e-8]), &tiny));
        assert!(!is_close(&tensor([0.0; 3]), &tiny));
        // If a sum cancels, its relative error may be large.
        assert!(is_close(&tensor([1e-5, 1.0, 2.0]), &tensor([2e-5, 1.0, 2.0])));
        assert!(!is_close(&tensor([1e-3, 1.0, 2.0]), &tensor([2e-3, 1.0, 2.0])));
        assert!(!is_close(&Tensor::scalar(1i64), &Tensor::scalar(2i64)));
    }
}
