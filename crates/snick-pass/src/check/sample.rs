//! Sample sizes and elements to check a replacement with.

use std::collections::{BTreeMap, HashMap};

use snick_ir::{Fact, Graph, Known, OpTraits, Value};
use snick_shape::{Interval, SymExpr, SymbolId};
use snick_tensor::{ElementType, SplitMix, Tensor};

use super::region::Region;

/// The limit of elements of one sample.
const MAX_ELEMENTS: usize = 1 << 22;

/// Dynamic sizes take every value from the smallest allowed to at least this much more.
const SMALL: i64 = 3;

/// And to at most this much more, if there are few of them.
const LARGEST_SMALL: i64 = 16;

/// Small sizes go beyond [`SMALL`] as long as they have at most this many combinations.
const FEW_SMALL: usize = 40;

/// The limit of combinations of small sizes.
const MAX_SMALL: usize = 81;

/// The number of random combinations of sizes, and of samples of fixed sizes.
const RANDOM: usize = 8;

/// Further samples are drawn as long as the layers fail for all: few inputs may suit them.
const MORE: usize = 56;

/// Random sizes exceed the smallest allowed by at most this.
const SPREAD: u64 = 40;

/// Values for the symbols, and a tensor for every leaf of the region.
pub(super) struct Sample {
    pub(super) symbols: HashMap<SymbolId, i64>,
    pub(super) tensors: HashMap<Value, Tensor>,
}

impl Sample {
    /// The number of elements of all tensors.
    pub(super) fn elements(&self) -> usize {
        self.tensors.values().map(Tensor::len).sum()
    }
}

/// The samples of a region, small sizes first.
pub(super) struct Samples<'a> {
    graph: &'a Graph,
    region: &'a Region,
    sizes: std::vec::IntoIter<HashMap<SymbolId, i64>>,
    random: SplitMix,
    /// Whether all dims of the region follow from the sizes, and not from elements.
    has_known_dims: bool,
    is_whole: bool,
    made: usize,
}

impl<'a> Samples<'a> {
    pub(super) fn of(graph: &'a Graph, region: &'a Region, is_whole: bool, seed: u64) -> Self {
        let mut intervals = BTreeMap::new();
        for &leaf in &region.leaves {
            let Some(fact) = graph.fact(leaf) else { continue };
            let elements = match &fact.known {
                Some(Known::Elements(elements)) => &elements[..],
                _ => &[],
            };
            for expr in fact.shape.dims().unwrap_or_default().iter().chain(elements) {
                for symbol in expr.symbols() {
                    intervals.insert(symbol, graph.symbols().interval(&SymExpr::from(symbol)));
                }
            }
        }
        let mut random = SplitMix::new(seed);
        // A loop may run as often as an element says.
        let loops = region.nodes.iter().any(|&id| graph.node(id).op().has(OpTraits::HAS_BODIES));
        let mut outs = region.nodes.iter().flat_map(|&id| graph.node(id).outs());
        let is_bound = |dim: &SymExpr| dim.symbols().iter().all(|symbol| intervals.contains_key(symbol));
        let has_known_dims =
            !loops && outs.all(|out| out.fact.shape.dims().is_some_and(|dims| dims.iter().all(is_bound)));
        let sizes = sizes(&intervals, &mut random).into_iter();
        Self { graph, region, sizes, random, has_known_dims, is_whole, made: 0 }
    }

    /// Whether the next sample is one of those that are only drawn if all before fail.
    pub(super) fn is_over(&self) -> bool {
        self.sizes.len() <= MORE
    }

    /// How to draw the elements of the next sample. Its period differs from the period of the sizes, so that they mix.
    fn fill(&self) -> Fill {
        match (self.made + self.made / 4) % 4 {
            0 => Fill::Distinct,
            1 => Fill::Coarse,
            2 => Fill::Scaled,
            _ if self.is_over() => Fill::Positive,
            _ if self.has_known_dims => Fill::Extreme,
            _ => Fill::Positive,
        }
    }

    fn sample(&mut self, symbols: HashMap<SymbolId, i64>) -> Option<Sample> {
        let mut sample = Sample { symbols, tensors: HashMap::new() };
        let mut room = MAX_ELEMENTS;
        for &leaf in &self.region.leaves {
            let fact = self.graph.fact(leaf)?;
            let tensor = self.tensor(fact, &sample.symbols, room)?;
            // Everything is computed from all weights, which are there.
            if !(self.is_whole && matches!(fact.known, Some(Known::Tensor(_)))) {
                room = room.checked_sub(tensor.len())?;
            }
            sample.tensors.insert(leaf, tensor);
        }
        self.made += 1;
        Some(sample)
    }

    /// A tensor that has the fact; `None` if there is none with these sizes, or it is too large.
    fn tensor(&mut self, fact: &Fact, symbols: &HashMap<SymbolId, i64>, room: usize) -> Option<Tensor> {
        // Sizes that inference excludes because of later layers cannot occur.
        let table = self.graph.symbols();
        let value = |expr: &SymExpr| {
            let value = table.eval(expr, &|symbol| symbols.get(&symbol).copied());
            value.filter(|&value| table.interval(expr).contains(value))
        };
        let dims = fact.shape.dims()?.iter().map(|dim| usize::try_from(value(dim)?).ok());
        let dims = dims.collect::<Option<Vec<usize>>>()?;
        let count = dims.iter().try_fold(1usize, |count, &dim| count.checked_mul(dim))?;
        match &fact.known {
            Some(Known::Tensor(tensor)) => Some(Tensor::clone(tensor)),
            Some(Known::Elements(elements)) => {
                let elements = elements.iter().map(value).collect::<Option<Vec<i64>>>()?;
                Tensor::from_vec(&dims, elements).ok()?.cast(fact.element_type).ok()
            }
            _ if count > room => None,
            // Bounds of floats are ignored.
            Some(Known::Reals(_)) | None => {
                random_tensor(fact.element_type, &dims, count, self.fill(), &mut self.random)
            }
        }
    }
}

impl Iterator for Samples<'_> {
    type Item = Sample;

    fn next(&mut self) -> Option<Sample> {
        loop {
            let symbols = self.sizes.next()?;
            if let Some(sample) = self.sample(symbols) {
                return Some(sample);
            }
        }
    }
}

/// Values for the symbols: all combinations of small ones, or random ones if those are too many; the bounds, and random
/// values between.
fn sizes(intervals: &BTreeMap<SymbolId, Interval>, random: &mut SplitMix) -> Vec<HashMap<SymbolId, i64>> {
    let spread = small_spread(intervals.len());
    let small = |interval: &Interval| {
        let from = interval.lo().max(if interval.lo() < 0 { (-1).min(interval.hi()) } else { 0 });
        (from, from.saturating_add(spread).min(interval.hi()))
    };
    if intervals.is_empty() {
        return vec![HashMap::new(); RANDOM + MORE];
    }
    let count = intervals
        .values()
        .map(small)
        .try_fold(1usize, |count, (from, to)| count.checked_mul(usize::try_from(to - from + 1).ok()?));
    let mut all = Vec::new();
    match count.filter(|&count| count <= MAX_SMALL) {
        Some(count) => {
            for mut k in 0..count as i64 {
                let mut symbols = HashMap::new();
                for (&symbol, interval) in intervals {
                    let (from, to) = small(interval);
                    symbols.insert(symbol, from + k % (to - from + 1));
                    k /= to - from + 1;
                }
                all.push(symbols);
            }
        }
        None => {
            for _ in 0..MAX_SMALL {
                all.push(
                    intervals
                        .iter()
                        .map(|(&symbol, interval)| {
                            let (from, to) = small(interval);
                            (symbol, from + random.below((to - from + 1) as u64) as i64)
                        })
                        .collect(),
                );
            }
        }
    }
    for k in 0..RANDOM + MORE {
        all.push(
            intervals
                .iter()
                .map(|(&symbol, interval)| {
                    let (from, _) = small(interval);
                    let room = interval.hi().abs_diff(from).min(SPREAD);
                    let size = if k == 0 { room } else { random.below(room + 1) };
                    (symbol, from.saturating_add(size as i64))
                })
                .collect(),
        );
    }
    all
}

/// How far small sizes go above the least, for this number of symbols.
fn small_spread(symbols: usize) -> i64 {
    let exponent = u32::try_from(symbols).unwrap_or(u32::MAX);
    let is_few = |spread: &i64| (*spread as usize + 1).saturating_pow(exponent) <= FEW_SMALL;
    (SMALL..=LARGEST_SMALL).rev().find(is_few).unwrap_or(SMALL)
}

/// How elements are drawn. What is wrong shows in different ways: elements that take the place of others differ as far as
/// their type allows; sums are exact in coarse ones; terms that are forgotten because they are small show in small
/// elements; integers overflow when they are large.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Fill {
    /// All elements differ.
    Distinct,
    /// Multiples of 1/16, of either sign, and small natural numbers.
    Coarse,
    /// Floats of either sign and many magnitudes, and small integers of either sign.
    Scaled,
    /// Positive floats of many magnitudes, as variances are, and small natural numbers.
    Positive,
    /// As [`Fill::Positive`], with integers up to the bounds of their type.
    Extreme,
}

/// A tensor of random elements.
pub(super) fn random_tensor(
    element_type: ElementType,
    dims: &[usize],
    count: usize,
    fill: Fill,
    random: &mut SplitMix,
) -> Option<Tensor> {
    if element_type == ElementType::Dynamic {
        return None;
    }
    if element_type == ElementType::String {
        return Tensor::strings(dims, (0..count).map(|i| i.to_string()).collect()).ok();
    }
    if element_type == ElementType::Boolean || element_type.is_float() {
        let floats = (0..count).map(|i| match element_type {
            ElementType::Boolean => random.below(2) as f64,
            _ => float(element_type, i, fill, random),
        });
        return Tensor::from_vec(dims, floats.collect()).ok()?.cast(element_type).ok();
    }
    let (low, high) = element_type.integer_range().unwrap_or((0, 3));
    let integers = (0..count).map(|i| integer(low, high.max(0), i, fill, random));
    Tensor::from_vec(dims, integers.collect()).ok()?.cast(element_type).ok()
}

fn float(element_type: ElementType, i: usize, fill: Fill, random: &mut SplitMix) -> f64 {
    // Types of few bits have few magnitudes.
    let (least, magnitudes) =
        if matches!(element_type, ElementType::F32 | ElementType::F64) { (-20, 24) } else { (-8, 12) };
    let mut scaled = || {
        let exponent = least + random.below(magnitudes) as i32;
        (1.5 + random.unit() / 2.0) * 2f64.powi(exponent)
    };
    match fill {
        Fill::Distinct => (i + 1) as f64,
        Fill::Coarse => (random.below(256) as f64 - 128.0) / 16.0,
        Fill::Scaled => {
            let magnitude = scaled();
            if random.below(2) == 0 { magnitude } else { -magnitude }
        }
        Fill::Positive | Fill::Extreme => scaled(),
    }
}

fn integer(low: i64, high: i64, i: usize, fill: Fill, random: &mut SplitMix) -> i64 {
    let natural = random.below(4).min(high as u64) as i64;
    match fill {
        Fill::Distinct => i as i64 % high.saturating_add(1).max(1),
        Fill::Coarse | Fill::Positive => natural,
        Fill::Scaled => (random.below(9) as i64 - 4).clamp(low, high),
        Fill::Extreme => match random.below(4) {
            0 => low.saturating_add(natural).min(high),
            1 => high.saturating_sub(natural).max(low),
            2 => (high / 2).saturating_add(natural).min(high),
            _ => (random.below(9) as i64 - 4).clamp(low, high),
        },
    }
}
