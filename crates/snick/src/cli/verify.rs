//! Whether two graphs compute the same: both run on the same inputs, all bytes compared.

use std::collections::BTreeSet;
use std::fmt;

use snick::{Dims, Draw};
use snick_ir::{Graph, Op};
use snick_run::{Options, Session, Variables};
use snick_shape::DimSpec;
use snick_tensor::Tensor;

use super::compare::{Tolerance, compare};
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
            Self::Equal => "verified: the outputs are equal",
            Self::Different => "the outputs differ",
            Self::NotRun => "not verified: the model does not run",
        })
    }
}

/// The sizes of open dims that are tried, in turn. What a model demands of them is not known before it runs: that they
/// are equal, or multiples of a stride.
const TRIED: [Dims; 11] = [
    Dims::Smallest,
    Dims::Drawn,
    Dims::Drawn,
    Dims::Drawn,
    Dims::MultipleOf(16),
    Dims::MultipleOf(2),
    Dims::MultipleOf(4),
    Dims::MultipleOf(8),
    Dims::MultipleOf(32),
    Dims::MultipleOf(64),
    Dims::MultipleOf(128),
];

/// The integers that are tried where some output could not be computed with others: they may be indices into short
/// axes, padding, sizes.
const INTEGERS: [(u8, u8); 6] = [(0, 1), (0, 0), (1, 1), (2, 2), (3, 3), (4, 4)];

/// Sizes of constants that are tried as sizes of inputs, where nothing else will do: weights tell how many channels
/// there are.
const MAX_SIZES: usize = 32;

/// How far sums may drift that are added up in another order.
const ROUNDING: Tolerance = Tolerance { rtol: 1e-3, atol: 1e-4 };

/// Elements of all inputs, above which a draw that is not made in any case is not worth running.
const MAX_ELEMENTS: usize = 1 << 22;

/// So many of them are tried in any case, the others until every output has been compared.
const ALWAYS: usize = 5;

/// Runs both graphs, whose inputs and outputs correspond; more than once where dims are open. Real numbers may differ
/// by rounding where `may_round` says that something is computed in another order.
pub fn verify(
    before: &Graph,
    after: &Graph,
    may_round: bool,
    feed: &FeedOptions,
    console: &Console,
) -> Result<Verdict, Failure> {
    let (old, new) =
        (Session::new(before).map_err(Failure::Layer)?, Session::new(after).map_err(Failure::Layer)?);
    let how = Options { keep_going: true, ..Options::default() };
    let tried = if has_open_dims(before) { &TRIED[..] } else { &TRIED[..1] };
    let usual = tried.iter().map(|&dims| Draw::from(dims));
    let sizes = if has_open_dims(before) { sizes_of_constants(before) } else { BTreeSet::new() };
    let sizes = sizes.into_iter().map(|size| Draw::from(Dims::MultipleOf(size)));
    let others =
        INTEGERS.into_iter().flat_map(|integers| tried.iter().map(move |&dims| Draw { dims, integers }));
    let mut compared = vec![false; before.results().count()];
    let mut causes = Vec::new();
    for (round, draw) in (0u64..).zip(usual.chain(others).chain(sizes)) {
        if round >= tried.len().min(ALWAYS) as u64 && !compared.contains(&false) {
            break;
        }
        let (mut old_state, mut new_state) = (Variables::default(), Variables::default());
        let steps = match feed.steps(before, draw, round, console) {
            Ok(steps) if round < ALWAYS as u64 || elements(&steps) <= MAX_ELEMENTS => steps,
            Err(failure) if round < ALWAYS as u64 => return Err(failure),
            _ => continue, // larger than is worth running
        };
        for inputs in steps {
            let old = old.run_with(&inputs, how, &mut old_state);
            let new = new.run_with(&inputs, how, &mut new_state);
            for (i, value) in old.values.iter().enumerate() {
                let Some(value) = value else { continue };
                let got = new.values.get(i).and_then(Option::as_ref);
                if !got.is_some_and(|got| got == value || (may_round && is_close(got, value))) {
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

/// Elements of all inputs.
fn elements(steps: &[Vec<Tensor>]) -> usize {
    steps.iter().flatten().map(Tensor::len).fold(0, usize::saturating_add)
}

/// Whether two tensors of real numbers are equal but for rounding.
fn is_close(got: &Tensor, want: &Tensor) -> bool {
    want.element_type().is_float() && got.dims() == want.dims() && compare(got, want, ROUNDING).is_within()
}

/// Sizes that constants have along some axis, the smallest of them.
fn sizes_of_constants(graph: &Graph) -> BTreeSet<usize> {
    let mut sizes = BTreeSet::new();
    for id in graph.ids() {
        if let Op::Const(constant) = &graph.node(id).op {
            sizes.extend(constant.dims().iter().filter(|&&size| size > 1));
        }
        while sizes.len() > MAX_SIZES {
            sizes.pop_last();
        }
    }
    sizes
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
