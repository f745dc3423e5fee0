//! The search for counterexamples.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use snick_ir::{Graph, Value, Watch};
use snick_shape::Shape;
use snick_tensor::{SplitMix, Tensor};

use super::Counterexample;
use super::candidates::{Candidate, Sizes};
use super::compare::{Difference, difference, element_text, index_of, type_text};
use super::elements::Distribution;
use super::pair::{Pair, Steps};
use crate::random_inputs::draw_sized;
use crate::{Error, Model};

/// The number of runs with each distribution of elements if the models often differ.
const ROUNDS: usize = 2;

/// The number of runs with each distribution if the models differ rarely, or if only one combination of sizes
/// exists.
const ROUNDS_OF_RARE: usize = 8;

/// The number of differing elements to follow. The others of a run are ignored.
const MAX_FOLLOWED: usize = 1024;

/// The range of integers for inputs whose integers must fit the sizes, for example because they are lengths.
const FITTING_INTEGERS: (u8, u8) = (0, 3);

/// Implements [`super::counterexamples`].
pub(super) fn search(
    models: [&Model; 2],
    outputs: &[usize],
    seed: u64,
    watch: &Watch,
) -> Result<Vec<Option<Counterexample>>, Error> {
    let Some(pair) = Pair::new(models, watch)? else { return Ok(vec![None; outputs.len()]) };
    let [before, after] = models.map(Model::graph);
    let mut random = SplitMix::new(seed);
    let sizes = Sizes::of(before, after);
    let rounds_if_equal = if sizes.are_static() { ROUNDS_OF_RARE } else { 1 };
    let found = vec![None; outputs.len()];
    let mut search = Search { graph: before, pair, outputs, random: random.clone(), rounds_if_equal, found };
    let mut seen = HashSet::new();
    for choice in sizes.choices(&mut random) {
        if search.is_over() {
            break;
        }
        if let Some(candidate) = sizes.candidate(&choice)
            && seen.insert(candidate.dims.clone())
        {
            search.compare_at(&candidate);
        }
    }
    let Search { pair, found, .. } = search;
    match pair.into_stopped() {
        Some(stopped) => Err(stopped.into()),
        None => Ok(found.into_iter().map(|found| Some(found?.counterexample)).collect()),
    }
}

struct Search<'m> {
    /// The first graph.
    graph: &'m Graph,
    pair: Pair,
    /// The positions of the outputs to compare.
    outputs: &'m [usize],
    random: SplitMix,
    /// The number of runs with each distribution of elements while the models do not differ.
    rounds_if_equal: usize,
    /// For each output, the best counterexample so far.
    found: Vec<Option<Found>>,
}

/// A counterexample, and how often it occurred.
#[derive(Clone)]
struct Found {
    counterexample: Counterexample,
    frequency: Frequency,
}

/// How often an element differs in runs at the same sizes.
#[derive(Copy, Clone)]
struct Frequency {
    /// The number of runs in which the element differs.
    count: usize,
    /// The number of runs in all.
    runs: usize,
}

impl Frequency {
    /// Whether the element is likely to differ for other elements of the inputs, too. Otherwise, other sizes
    /// may show a difference more often.
    fn is_high(self) -> bool {
        self.count > 1 && 2 * self.count >= self.runs
    }

    /// The estimated share of runs that differ. Lower for few runs, which prove little.
    fn share(self) -> f64 {
        self.count as f64 / (self.runs + 1) as f64
    }
}

impl Search<'_> {
    fn is_over(&self) -> bool {
        let mut found = self.found.iter();
        self.pair.is_over()
            || found.all(|found| found.as_ref().is_some_and(|found| found.frequency.is_high()))
    }

    /// Runs both models on several inputs of these sizes, at least once with each distribution of elements.
    fn compare_at(&mut self, candidate: &Candidate) {
        let mut tallies = vec![Tally::default(); self.outputs.len()];
        let (mut runs, mut round) = (0, 0);
        loop {
            for distribution in Distribution::ALL {
                let inputs = distribution.draw(self.graph, &candidate.dims, &mut self.random);
                runs += usize::from(inputs.is_ok_and(|inputs| self.count(&inputs, &mut tallies)));
                if self.pair.is_over() {
                    break;
                }
            }
            if runs == 0 {
                runs = self.compare_fitting(candidate, &mut tallies);
            }
            round += 1;
            let counts = tallies.iter().filter_map(|tally| Some(tally.best()?.1));
            let rounds = match counts.min() {
                None => self.rounds_if_equal,
                Some(count) if (Frequency { count, runs }).is_high() => ROUNDS,
                Some(_) => ROUNDS_OF_RARE,
            };
            if runs == 0 || round >= rounds || self.pair.is_over() {
                break;
            }
        }
        let labels = sizes_by_label(self.graph, &candidate.dims);
        for (found, tally) in self.found.iter_mut().zip(&tallies) {
            let Some(&(ref sighting, count)) = tally.best() else { continue };
            let frequency = Frequency { count, runs };
            if found.as_ref().is_none_or(|found| found.frequency.share() < frequency.share()) {
                let Sighting { index, before, after } = sighting.clone();
                let index = if tally.has_everywhere(&index) { index } else { Vec::new() };
                let counterexample = Counterexample { sizes: labels.clone(), index, before, after };
                *found = Some(Found { counterexample, frequency });
            }
        }
    }

    /// Runs both models on integers that fit the sizes, for models that do not run on other integers. Returns
    /// the number of runs.
    fn compare_fitting(&mut self, candidate: &Candidate, tallies: &mut [Tally]) -> usize {
        let mut runs = 0;
        for _ in Distribution::ALL {
            let given = vec![None; candidate.dims.len()];
            let seed = self.random.below(1 << 32);
            let inputs = draw_sized(self.graph, given, seed, &candidate.sizes, FITTING_INTEGERS);
            if !inputs.is_ok_and(|inputs| self.count(&inputs, tallies)) {
                break;
            }
            runs += 1;
        }
        runs
    }

    /// Counts the elements that differ on these inputs. Returns whether both models accept them.
    fn count(&mut self, inputs: &[Tensor], tallies: &mut [Tally]) -> bool {
        let Some(steps) = self.pair.run(inputs) else { return false };
        let compared = self.outputs.iter().map(|&output| [output, self.pair.partner(output)]);
        let compared: Vec<[usize; 2]> = compared.collect();
        let effects = match compared.iter().any(|&outputs| differs(&steps, outputs)) {
            true => self.pair.rounding_effects(inputs, &steps),
            false => Some(Vec::new()),
        };
        let Some(effects) = effects else { return false };
        for (outputs, tally) in compared.into_iter().zip(tallies) {
            tally.add(&steps, outputs, effects.get(outputs[0]).copied().unwrap_or(0.0));
        }
        true
    }
}

/// The values of an output of the first model and of its partner, by step.
fn values(
    [before, after]: &[Steps; 2],
    [output, partner]: [usize; 2],
) -> impl Iterator<Item = (&Tensor, &Tensor)> {
    before.iter().zip(after).filter_map(move |(a, b)| a.get(output).zip(b.get(partner)))
}

/// Whether an output differs, whatever the reason.
fn differs(steps: &[Steps; 2], outputs: [usize; 2]) -> bool {
    values(steps, outputs).any(|(want, got)| difference(want, got, 0.0).is_some())
}

/// How often each element of an output differs at the same sizes.
#[derive(Clone, Default)]
struct Tally {
    /// By the row-major position of the element; `None` for a difference in type or shape.
    seen: BTreeMap<Option<usize>, (Sighting, usize)>,
    /// The shapes of the output. There are several if they depend on the elements of the inputs.
    shapes: BTreeSet<Vec<usize>>,
}

/// The first occurrence of a difference.
#[derive(Clone)]
struct Sighting {
    index: Vec<usize>,
    before: String,
    after: String,
}

impl Tally {
    /// Adds a run. An element counts once even if it differs in several steps. `effect` is the effect of rounding
    /// on this output.
    fn add(&mut self, steps: &[Steps; 2], outputs: [usize; 2], effect: f64) {
        let mut positions = BTreeMap::new();
        for (want, got) in values(steps, outputs) {
            self.shapes.insert(want.dims().to_vec());
            match difference(want, got, effect) {
                None => {}
                Some(Difference::Type) => drop(positions.entry(None).or_insert((want, got))),
                Some(Difference::Elements(all)) => {
                    for position in all.into_iter().map(Some) {
                        let is_followed = self.seen.contains_key(&position);
                        if is_followed || self.seen.len() + positions.len() < MAX_FOLLOWED {
                            positions.entry(position).or_insert((want, got));
                        }
                    }
                }
            }
        }
        for (position, (want, got)) in positions {
            if let Some((_, count)) = self.seen.get_mut(&position) {
                *count += 1;
            } else if self.seen.len() < MAX_FOLLOWED
                && let Some(sighting) = Sighting::of(want, got, position)
            {
                self.seen.insert(position, (sighting, 1));
            }
        }
    }

    /// Whether the output has an element at this index in every run.
    fn has_everywhere(&self, index: &[usize]) -> bool {
        let has = |dims: &Vec<usize>| {
            dims.len() >= index.len() && index.iter().zip(dims).all(|(index, size)| index < size)
        };
        self.shapes.iter().all(has)
    }

    /// The difference that occurs most often, the first of several, and its number of runs.
    fn best(&self) -> Option<&(Sighting, usize)> {
        self.seen.values().rev().max_by_key(|(_, count)| *count)
    }
}

impl Sighting {
    fn of(want: &Tensor, got: &Tensor, position: Option<usize>) -> Option<Self> {
        let Some(at) = position else {
            return Some(Self { index: Vec::new(), before: type_text(want), after: type_text(got) });
        };
        let index = index_of(at, want.dims());
        Some(Self { index, before: element_text(want, at)?, after: element_text(got, at)? })
    }
}

/// The sizes of the dims that are not constant, by the text with which inference shows them.
fn sizes_by_label(graph: &Graph, dims: &[Vec<usize>]) -> BTreeMap<String, i64> {
    let mut sizes = BTreeMap::new();
    for (id, dims) in graph.parameters().zip(dims) {
        let shape = graph.fact(Value { node: id, port: 0 }).and_then(|fact| fact.shape().dims());
        for (dim, &size) in shape.unwrap_or_default().iter().zip(dims) {
            if dim.as_const().is_none() {
                let label = Shape::ranked([dim.clone()]).display_labels(graph.symbols()).to_string();
                let label = label.trim_start_matches('[').trim_end_matches(']');
                sizes.insert(label.to_string(), i64::try_from(size).unwrap_or(i64::MAX));
            }
        }
    }
    sizes
}
