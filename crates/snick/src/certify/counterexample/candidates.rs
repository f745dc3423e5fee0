//! Sizes of inputs at which to compare two models.

use std::collections::{BTreeSet, HashSet};

use snick_ir::{AttrValue, EmptyAxes, Graph, Op};
use snick_shape::{Interval, SymbolId};
use snick_tensor::SplitMix;

use crate::fit_sizes::{Demands, FittedSizes, Larger};

/// How far all sizes together exceed the smallest sizes that the layers accept.
const ABOVE: [i64; 5] = [0, 1, 2, 4, 8];

/// The values that are tried first for a size.
const USUAL: [i64; 6] = [1, 2, 3, 5, 9, 0];

/// Smaller values than this one are all tried.
const SMALL: i64 = 17;

/// Larger integers in the models are not tried as sizes.
const MAX_SIZE: i64 = 4096;

/// Maximum number of values to try around the integers in the models.
const MAX_CONSTANTS: usize = 64;

/// Longer constants are weights rather than bounds of slices.
const MAX_CONSTANT_LEN: usize = 64;

/// Number of combinations in which two sizes have random values.
const RANDOM: usize = 48;

/// Maximum number of choices, except random ones.
const MAX_CHOICES: usize = 400;

/// Limit on the elements of all inputs together, if their sizes are not fixed.
const MAX_ELEMENTS: usize = 1 << 20;

/// The conditions of a graph on the sizes of its inputs.
pub(super) struct Sizes {
    nonempty: Demands,
    /// The conditions that also hold for empty axes.
    all: Demands,
    /// The values to try for each symbol of the dims of inputs.
    symbols: Vec<(SymbolId, Vec<i64>)>,
    /// The number of conditions that fail for the smallest sizes.
    unmet: usize,
}

/// The dims of all inputs, and the sizes that they were computed from.
pub(super) struct Candidate<'d> {
    pub(super) dims: Vec<Vec<usize>>,
    pub(super) sizes: FittedSizes<'d>,
}

/// Values for some symbols; the others fit.
pub(super) enum Choice {
    Larger(Larger),
    Values(Vec<(SymbolId, i64)>),
}

impl Sizes {
    /// Collects the conditions of the first graph, and the values to try from the integers of both.
    pub(super) fn of(before: &Graph, after: &Graph) -> Self {
        let nonempty = Demands::of(before, EmptyAxes::Ignored);
        let all = Demands::of(before, EmptyAxes::Allowed);
        let mut constants = BTreeSet::new();
        [before, after].iter().for_each(|graph| integers(graph, &mut constants));
        let symbols = nonempty.dim_symbols().map(|(symbol, interval)| (symbol, values(interval, &constants)));
        let unmet = nonempty.fit(&[], Larger::All(0)).unmet();
        Self { symbols: symbols.collect(), nonempty, all, unmet }
    }

    /// Whether no input has a dynamic dim.
    pub(super) fn are_static(&self) -> bool {
        self.symbols.is_empty()
    }

    /// The choices to try: first small sizes of all inputs, then notable values of one symbol, then random
    /// values of two.
    pub(super) fn choices(&self, random: &mut SplitMix) -> Vec<Choice> {
        let mut choices: Vec<Choice> = ABOVE.map(|above| Choice::Larger(Larger::All(above))).into();
        let most = self.symbols.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
        for k in 0..most {
            let kth = self.symbols.iter().filter_map(|(symbol, values)| Some((*symbol, *values.get(k)?)));
            choices.extend(kth.map(|choice| Choice::Values(vec![choice])));
        }
        choices.truncate(MAX_CHOICES);
        if self.symbols.len() > 1 {
            choices.extend((0..RANDOM).map(|_| Choice::Values(self.two(random))));
        }
        choices
    }

    /// Random values for two symbols.
    fn two(&self, random: &mut SplitMix) -> Vec<(SymbolId, i64)> {
        let mut chosen: Vec<(SymbolId, i64)> = Vec::new();
        for _ in 0..2 {
            let (symbol, values) = &self.symbols[random.below(self.symbols.len() as u64) as usize];
            if let Some(&value) = values.get(random.below(values.len() as u64) as usize)
                && chosen.iter().all(|(other, _)| other != symbol)
            {
                chosen.push((*symbol, value));
            }
        }
        chosen
    }

    /// Sizes that the first graph accepts according to inference. `None` if the inputs would be too large or
    /// have unknown ranks, or if more conditions fail than for the smallest sizes.
    pub(super) fn candidate(&self, choice: &Choice) -> Option<Candidate<'_>> {
        let sizes = match choice {
            Choice::Larger(larger) => self.nonempty.fit(&[], *larger),
            Choice::Values(values) => {
                let is_empty = values.iter().any(|(_, value)| *value == 0);
                let demands = if is_empty { &self.all } else { &self.nonempty };
                demands.fit_values(values, Larger::All(0))
            }
        };
        if sizes.unmet() > self.unmet {
            return None;
        }
        let graph = sizes.graph();
        let dims: Vec<Vec<usize>> = graph.parameters().map(|id| sizes.dims(id)).collect::<Option<_>>()?;
        let count = |dims: &Vec<usize>| dims.iter().try_fold(1usize, |n, &size| n.checked_mul(size));
        let elements = dims.iter().try_fold(0usize, |sum, dims| sum.checked_add(count(dims)?))?;
        (self.are_static() || elements <= MAX_ELEMENTS).then_some(Candidate { dims, sizes })
    }
}

/// The values to try for a symbol: usual ones, bounds, integers of the models and their neighbours, then all
/// small ones.
fn values(interval: Interval, constants: &BTreeSet<i64>) -> Vec<i64> {
    let (lo, hi) = (interval.lo(), interval.hi());
    let bounds = [lo, lo.saturating_add(1), hi, hi.saturating_sub(1)];
    let constants = constants.iter().copied().take(MAX_CONSTANTS);
    let all = USUAL.into_iter().chain(bounds).chain(constants).chain(0..SMALL);
    let mut seen = HashSet::new();
    let is_possible = |value: &i64| interval.contains(*value) && (0..=MAX_ELEMENTS as i64).contains(value);
    all.filter(is_possible).filter(|value| seen.insert(*value)).collect()
}

/// Collects small integers in constants and attributes, such as the bounds of slices, with their neighbours.
fn integers(graph: &Graph, found: &mut BTreeSet<i64>) {
    let mut add = |value: i64| {
        if (1 - MAX_SIZE..MAX_SIZE).contains(&value) {
            found.extend([value.abs() - 1, value.abs(), value.abs() + 1]);
        }
    };
    for node in graph.ids().map(|id| graph.node(id)) {
        if let Op::Const(constant) = node.op()
            && constant.dims().iter().product::<usize>() <= MAX_CONSTANT_LEN
        {
            let elements = node.outs().first().and_then(|out| out.fact.ints());
            elements.unwrap_or_default().iter().for_each(|&value| add(value));
        }
        for (_, value) in node.op().attrs().iter() {
            match value {
                AttrValue::Int(value) => add(*value),
                AttrValue::Ints(values) => values.iter().for_each(|&value| add(value)),
                _ => {}
            }
        }
    }
    for body in graph.ids().flat_map(|id| graph.node(id).op().bodies()).map(|(_, body)| body) {
        integers(body, found);
    }
}
