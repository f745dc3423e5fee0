//! Sample sizes and elements to check a replacement with.

use std::collections::{BTreeMap, HashMap};

use snick_ir::{Fact, Graph, Known, Value};
use snick_shape::{Interval, SymExpr, SymbolId};
use snick_tensor::{ElementType, SplitMix, Tensor};

use super::region::Region;

/// The limit of elements of one sample.
const MAX_ELEMENTS: usize = 1 << 22;

/// Dynamic sizes take every value from the smallest allowed to this much more.
const SMALL: i64 = 3;

/// The limit of combinations of small sizes.
const MAX_SMALL: usize = 81;

/// The number of random combinations of sizes.
const RANDOM: usize = 4;

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
    made: usize,
}

impl<'a> Samples<'a> {
    pub(super) fn of(graph: &'a Graph, region: &'a Region, seed: u64) -> Self {
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
        let sizes = sizes(&intervals, &mut random).into_iter();
        Self { graph, region, sizes, random, made: 0 }
    }

    fn sample(&mut self, symbols: HashMap<SymbolId, i64>) -> Option<Sample> {
        let mut sample = Sample { symbols, tensors: HashMap::new() };
        let mut room = MAX_ELEMENTS;
        for &leaf in &self.region.leaves {
            let fact = self.graph.fact(leaf)?;
            let tensor = self.tensor(fact, &sample.symbols, room)?;
            room = room.checked_sub(tensor.len())?;
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
            // Bounds of floats are ignored. In the first sample all elements differ, so that none can replace another.
            Some(Known::Reals(_)) | None => {
                random_tensor(fact.element_type, &dims, count, self.made == 0, &mut self.random)
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
    let small = |interval: &Interval| {
        let from = interval.lo().max(if interval.lo() < 0 { (-1).min(interval.hi()) } else { 0 });
        (from, from.saturating_add(SMALL).min(interval.hi()))
    };
    if intervals.is_empty() {
        return vec![HashMap::new(); RANDOM];
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
    for k in 0..RANDOM {
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

/// A tensor of random elements, or of elements that differ as far as their type allows.
fn random_tensor(
    element_type: ElementType,
    dims: &[usize],
    count: usize,
    distinct: bool,
    random: &mut SplitMix,
) -> Option<Tensor> {
    if element_type == ElementType::Dynamic {
        return None;
    }
    if element_type == ElementType::String {
        return Tensor::strings(dims, (0..count).map(|i| i.to_string()).collect()).ok();
    }
    let most = element_type.integer_range().map_or(3, |(_, high)| high).max(0);
    let number = |i: usize| match element_type {
        ElementType::Boolean => random.below(2) as f64,
        _ if element_type.is_float() && distinct => (i + 1) as f64,
        _ if element_type.is_float() => (random.below(256) as f64 - 128.0) / 16.0,
        _ if distinct => (i as i64 % most.saturating_add(1).max(1)) as f64,
        _ => random.below(4).min(most as u64) as f64,
    };
    Tensor::from_vec(dims, (0..count).map(number).collect()).ok()?.cast(element_type).ok()
}
