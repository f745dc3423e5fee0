//! Whether two graphs compute the same: both run on the same inputs, all bytes compared.

use std::fmt;

use snick::Dims;
use snick_ir::{Graph, Op};
use snick_run::{Options, Session};
use snick_shape::DimSpec;

use super::console::{Console, Failure};
use super::feed::FeedOptions;

/// What the comparison found.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Every output was compared, and all bytes are equal.
    Equal,
    /// Some output differs, or is not there any more.
    Different,
    /// Some output could not be computed to begin with.
    NotRun,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "verified: the outputs are equal, byte by byte",
            Self::Different => "the outputs differ",
            Self::NotRun => "not verified: the model does not run",
        })
    }
}

/// Draws of open dims beyond the smallest ones.
const DRAWS: u64 = 3;

/// As many where the model did not run on them: not all dims that its inputs allow fit each other.
const MOST_DRAWS: u64 = 12;

/// Runs both graphs, whose inputs and outputs correspond; more than once where dims are open.
pub fn verify(
    before: &Graph,
    after: &Graph,
    feed: &FeedOptions,
    console: &Console,
) -> Result<Verdict, Failure> {
    let (old, new) =
        (Session::new(before).map_err(Failure::Layer)?, Session::new(after).map_err(Failure::Layer)?);
    let how = Options { keep_going: true, check_facts: false };
    let (draws, most) = if has_open_dims(before) { (DRAWS, MOST_DRAWS) } else { (0, 0) };
    let mut compared = vec![false; before.results().count()];
    let mut causes = Vec::new();
    for round in 0..=most {
        if round > draws && !compared.contains(&false) {
            break;
        }
        let dims = if round == 0 { Dims::Smallest } else { Dims::Drawn };
        for inputs in feed.steps(before, dims, round, console)? {
            let (old, new) = (old.run(&inputs, how), new.run(&inputs, how));
            for (i, value) in old.values.iter().enumerate() {
                let Some(value) = value else { continue };
                if new.values.get(i).and_then(Option::as_ref) != Some(value) {
                    new.errors.iter().for_each(|error| console.located(error));
                    return Ok(Verdict::Different);
                }
                compared[i] = true;
            }
            causes = old.errors;
        }
    }
    if compared.contains(&false) {
        causes.iter().for_each(|error| console.located(error));
        return Ok(Verdict::NotRun);
    }
    Ok(Verdict::Equal)
}

fn has_open_dims(graph: &Graph) -> bool {
    let is_open =
        |dim: &DimSpec| !matches!(dim, DimSpec::Interval(interval) if interval.is_exact().is_some());
    graph.parameters().any(|id| match &graph.node(id).op {
        Op::Parameter(parameter) => match &parameter.shape {
            snick_shape::ShapeSpec::Dims(dims) => dims.iter().any(is_open),
            snick_shape::ShapeSpec::Unranked => true,
        },
        _ => false,
    })
}
