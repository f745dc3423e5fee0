//! Verifies that two graphs compute the same: both run on the same inputs, and all bytes are compared.

use std::fmt;

use snick::{has_dynamic_dims, input_candidates};
use snick_ir::Graph;
use snick_run::{Options, Session, Variables};
use snick_tensor::Tensor;

use super::compare::{Tolerance, compare};
use super::console::{Console, Failure};
use super::inputs::InputOptions;
use super::search::Search;

/// The result of a verification.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Every output was compared, and all bytes are equal.
    Equal,
    /// An output differs or is gone.
    Different,
    /// An output of the original could not be computed.
    NotRun,
    /// The original has no outputs: nothing was compared.
    NoOutputs,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "verified: the outputs are equal",
            Self::Different => "the outputs differ",
            Self::NotRun => "not verified: the original model does not run",
            Self::NoOutputs => "not verified: the model has no outputs, so nothing was compared",
        })
    }
}

/// How far sums may differ that are added up in another order.
const ROUNDING: Tolerance = Tolerance { rtol: 1e-3, atol: 1e-4, equal_nan: true };

/// Rounds that always run if dims are dynamic; further ones run until every output has been compared.
const ROUNDS: u64 = 5;

/// Runs both graphs, whose inputs and outputs correspond; several rounds if dims are dynamic. Floating-point elements
/// may differ by rounding if `may_round` says that something is computed in another order.
pub fn verify(
    before: &Graph,
    after: &Graph,
    may_round: bool,
    inputs: &InputOptions,
    console: &Console,
) -> Result<Verdict, Failure> {
    if before.results().next().is_none() {
        return Ok(Verdict::NoOutputs);
    }
    let (old, new) =
        (Session::new(before).map_err(Failure::layer)?, Session::new(after).map_err(Failure::layer)?);
    let how = Options {
        keep_going: true,
        memory: console.memory(),
        fuel: console.limits().fuel,
        ..Options::default()
    };
    let rounds = if has_dynamic_dims(before) { ROUNDS } else { 1 };
    let mut compared = vec![false; before.results().count()];
    let mut causes = Vec::new();
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
            Err(_) => continue, // too large
        };
        // The first sizes are always tried: if none fit, their error is shown.
        if !search.admits(before, &steps) && round > 0 {
            continue;
        }
        for inputs in steps {
            let watch = |session: &Session, state| {
                session.watch(&inputs, how, state, |progress| {
                    console.deadline().advance(session.graph().node(progress.node).name())
                })
            };
            let old = watch(&old, &mut old_state);
            console.deadline().check()?;
            let new = watch(&new, &mut new_state);
            console.deadline().check()?;
            for (i, value) in old.values.iter().enumerate() {
                let Some(value) = value else { continue };
                let got = new.values.get(i).and_then(Option::as_ref);
                if !got.is_some_and(|got| got == value || (may_round && is_close(got, value))) {
                    new.errors.iter().for_each(|error| console.located(error));
                    return Ok(Verdict::Different);
                }
                compared[i] = true;
            }
            // Those of the first round are about the most fitting inputs.
            if causes.is_empty() {
                causes = old.errors;
            }
        }
    }
    if compared.contains(&false) {
        causes.iter().for_each(|error| console.located(error));
        return Ok(Verdict::NotRun);
    }
    Ok(Verdict::Equal)
}

/// Whether two floating-point tensors are equal up to rounding.
fn is_close(got: &Tensor, want: &Tensor) -> bool {
    want.element_type().is_float() && got.dims() == want.dims() && compare(got, want, ROUNDING).is_within()
}
