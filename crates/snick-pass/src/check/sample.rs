//! Samples of sizes and elements, for checking a replacement.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use snick_ir::{Fact, Graph, Known, OpTraits, Value};
use snick_shape::{Interval, SymExpr, SymbolId};
use snick_tensor::{ElementType, SplitMix, Tensor};

use super::claim::Claim;
use super::critical_sizes::{MAX_THRESHOLDS, SMALL, critical_sizes};
use super::region::Region;

/// Limit on the number of elements in a sample.
const MAX_ELEMENTS: usize = 1 << 22;

/// With few dynamic sizes, more values are tried, up to the minimum plus this number.
const LARGEST_SMALL: i64 = 16;

/// More values than [`SMALL`] are tried if there are at most this many combinations.
const FEW_SMALL: usize = 40;

/// Limit on the number of combinations of small sizes.
const MAX_SMALL: usize = 81;

/// The number of random combinations of sizes, and the number of samples if all sizes are fixed.
const RANDOM: usize = 14;

/// The number of samples if all sizes are fixed and there are at most [`FEW_ELEMENTS`] elements.
const RANDOM_OF_FEW: usize = 42;

/// Below this number of elements, a few samples may miss faults that only certain numbers trigger, so more
/// samples are generated.
const FEW_ELEMENTS: usize = 4096;

/// The number of extra samples to try if the layers fail on all other samples, because possibly only a few
/// inputs are valid.
const MORE: usize = 56;

/// Random sizes exceed the smallest allowed value by at most this much.
const SPREAD: u64 = 40;

/// If the maximum of a size exceeds its minimum by at least [`SPREAD`] and at most this number, the maximum
/// is tried with all other sizes at their minimum. Critical sizes are at most this much larger, too.
const FURTHEST: u64 = 4096;

/// At most this many critical sizes are tried for each symbol.
const MAX_CRITICAL: usize = 16;

/// The number of samples of each critical size, so that the elements of at least one of them differ.
const SAMPLES_OF_CRITICAL: usize = 3;

/// Values for the symbols, and a tensor for each leaf of the region.
pub(super) struct Sample {
    pub(super) symbols: HashMap<SymbolId, i64>,
    pub(super) tensors: HashMap<Value, Tensor>,
}

impl Sample {
    /// The number of elements of all tensors together.
    pub(super) fn elements(&self) -> usize {
        self.tensors.values().map(Tensor::len).sum()
    }
}

/// The samples of a region, starting with small sizes.
pub(super) struct Samples<'a> {
    graph: &'a Graph,
    region: &'a Region,
    sizes: std::vec::IntoIter<HashMap<SymbolId, i64>>,
    random: SplitMix,
    /// Whether all dims in the region depend only on sizes, and not on elements.
    has_known_dims: bool,
    is_whole: bool,
    is_exact: bool,
    /// The numbers in small constants that the region reads.
    thresholds: Vec<f64>,
    made: usize,
}

impl<'a> Samples<'a> {
    pub(super) fn of(claim: &Claim<'a>, region: &'a Region, is_whole: bool, seed: u64) -> Self {
        let graph = claim.graph;
        let (mut intervals, mut thresholds, mut count) = (BTreeMap::new(), Vec::new(), 0usize);
        for &leaf in &region.leaves {
            let Some(fact) = graph.fact(leaf) else { continue };
            let elements = match &fact.known {
                Some(Known::Elements(elements)) => &elements[..],
                Some(Known::Tensor(tensor)) => {
                    let is_few = tensor.len() <= MAX_THRESHOLDS;
                    thresholds.extend(tensor.to_f64_vec().ok().filter(|_| is_few).into_iter().flatten());
                    &[]
                }
                _ => &[],
            };
            let dims = fact.shape.as_static().unwrap_or_default();
            count = count.saturating_add(dims.iter().fold(1, |count, &dim| count.saturating_mul(dim)));
            for expr in fact.shape.dims().unwrap_or_default().iter().chain(elements) {
                for symbol in expr.symbols() {
                    intervals.insert(symbol, graph.symbols().interval(&SymExpr::from(symbol)));
                }
            }
        }
        let mut random = SplitMix::new(seed);
        // If a loop is involved, elements may determine its number of iterations and thus dims.
        let loops = region.nodes.iter().any(|&id| graph.node(id).op().has(OpTraits::HAS_BODIES));
        let mut outs = region.nodes.iter().flat_map(|&id| graph.node(id).outs());
        let is_bound = |dim: &SymExpr| dim.symbols().iter().all(|symbol| intervals.contains_key(symbol));
        let has_known_dims =
            !loops && outs.all(|out| out.fact.shape.dims().is_some_and(|dims| dims.iter().all(is_bound)));
        let samples = if count <= FEW_ELEMENTS { RANDOM_OF_FEW } else { RANDOM };
        let is_drawn = |leaf: &Value| {
            let fact = graph.fact(*leaf);
            fact.is_some_and(|fact| !matches!(fact.known, Some(Known::Tensor(_))))
        };
        let is_exact = claim.tolerance.is_none();
        // More samples of a rule that rounds differently only find more rounding differences.
        let critical = if is_exact { critical_sizes(graph, region, &intervals) } else { BTreeMap::new() };
        let sizes = match region.leaves.iter().any(is_drawn) {
            true => sizes(&intervals, &critical, samples, &mut random).into_iter(),
            // If all leaves are constants, all samples would be equal.
            false => vec![HashMap::new()].into_iter(),
        };
        Self { graph, region, sizes, random, has_known_dims, is_whole, is_exact, thresholds, made: 0 }
    }

    /// Whether the next sample is an extra one, which is only needed if all previous samples failed.
    pub(super) fn is_over(&self) -> bool {
        self.sizes.len() <= MORE
    }

    /// Selects the kind of elements for the next sample. Kinds and sizes cycle with different periods, so
    /// that all combinations occur.
    fn fill(&self) -> Fill {
        let period = Fill::ALL.len();
        match Fill::ALL[(self.made + self.made / period) % period] {
            Fill::Extreme if self.is_over() || !self.has_known_dims => Fill::Positive,
            // Layers that may round can treat infinities and NaN differently.
            Fill::Special if !self.is_exact || !self.has_known_dims => Fill::Positive,
            Fill::Threshold if self.thresholds.is_empty() => Fill::Coarse,
            fill => fill,
        }
    }

    /// Random elements of the kind that `fill` selects.
    fn elements(&mut self, element_type: ElementType, dims: &[usize], count: usize) -> Option<Tensor> {
        let fill = self.fill();
        if fill != Fill::Threshold || element_type == ElementType::String {
            return random_tensor(element_type, dims, count, fill, &mut self.random);
        }
        let is_float = element_type.is_float();
        let (thresholds, random) = (&self.thresholds, &mut self.random);
        let near = |random: &mut SplitMix| {
            let threshold = thresholds[random.below(thresholds.len() as u64) as usize];
            let off = (random.below(3) as f64 - 1.0) * if is_float { threshold / 16.0 } else { 1.0 };
            // Numbers that may become sizes must stay small.
            if self.has_known_dims { threshold + off } else { (threshold + off).clamp(-16.0, 16.0) }
        };
        let elements: Vec<f64> = (0..count).map(|_| near(random)).collect();
        if is_float || element_type == ElementType::Boolean {
            return Tensor::from_vec(dims, elements).ok()?.cast(element_type).ok();
        }
        let (low, high) = element_type.integer_range().unwrap_or((0, 3));
        let integers = elements.into_iter().map(|x| (x as i64).clamp(low, high)).collect();
        Tensor::from_vec(dims, integers).ok()?.cast(element_type).ok()
    }

    fn sample(&mut self, symbols: HashMap<SymbolId, i64>) -> Option<Sample> {
        let mut sample = Sample { symbols, tensors: HashMap::new() };
        let mut room = MAX_ELEMENTS;
        for &leaf in &self.region.leaves {
            let fact = self.graph.fact(leaf)?;
            let tensor = self.tensor(fact, &sample.symbols, room)?;
            // When the whole graph is executed, the weights are in memory anyway, so they do not count.
            if !(self.is_whole && matches!(fact.known, Some(Known::Tensor(_)))) {
                room = room.checked_sub(tensor.len())?;
            }
            sample.tensors.insert(leaf, tensor);
        }
        self.made += 1;
        Some(sample)
    }

    /// A tensor that satisfies a fact. `None` if no such tensor exists for these sizes, or if it is too
    /// large.
    fn tensor(&mut self, fact: &Fact, symbols: &HashMap<SymbolId, i64>, room: usize) -> Option<Tensor> {
        // Sizes that later layers make impossible, according to inference, cannot occur.
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
            // The bounds of floats are ignored.
            Some(Known::Reals(_)) | None => self.elements(fact.element_type, &dims, count),
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

/// Values for the symbols. First come all combinations of small values, or random combinations if there are
/// too many; then the bounds, the critical sizes, and random values in between.
fn sizes(
    intervals: &BTreeMap<SymbolId, Interval>,
    critical: &BTreeMap<SymbolId, BTreeSet<i64>>,
    fixed: usize,
    random: &mut SplitMix,
) -> Vec<HashMap<SymbolId, i64>> {
    let spread = small_spread(intervals.len());
    let small = |interval: &Interval| {
        let from = interval.lo().max(if interval.lo() < 0 { (-1).min(interval.hi()) } else { 0 });
        (from, from.saturating_add(spread).min(interval.hi()))
    };
    if intervals.is_empty() {
        return vec![HashMap::new(); fixed + MORE];
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
    let smallest: HashMap<SymbolId, i64> =
        intervals.iter().map(|(&symbol, interval)| (symbol, small(interval).0)).collect();
    let mut add = |symbol: SymbolId, size: i64, count: usize| {
        let mut sizes = smallest.clone();
        sizes.insert(symbol, size);
        all.extend(std::iter::repeat_n(sizes, count));
    };
    for (&symbol, interval) in intervals {
        let (from, to) = small(interval);
        if (SPREAD..=FURTHEST).contains(&interval.hi().abs_diff(from)) {
            add(symbol, interval.hi(), 1);
        }
        let critical = critical.get(&symbol).into_iter().flatten().copied();
        let further = critical.filter(|&size| size > to && size.abs_diff(from) <= FURTHEST);
        further.take(MAX_CRITICAL).for_each(|size| add(symbol, size, SAMPLES_OF_CRITICAL));
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

/// For this number of symbols, how far small sizes exceed the smallest allowed value.
fn small_spread(symbols: usize) -> i64 {
    let exponent = u32::try_from(symbols).unwrap_or(u32::MAX);
    let is_few = |spread: &i64| (*spread as usize + 1).saturating_pow(exponent) <= FEW_SMALL;
    (SMALL..=LARGEST_SMALL).rev().find(is_few).unwrap_or(SMALL)
}

/// A kind of random elements. Different faults need different elements to show:
///
/// - misplaced elements: distinct elements
/// - wrong sums: elements whose sums are exact
/// - forgotten small terms: elements that are small, or all equal
/// - overflow: large integers
/// - wrong comparisons: elements near thresholds
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Fill {
    /// All elements differ.
    Distinct,
    /// Floats are multiples of 1/16 of either sign; integers are small natural numbers.
    Coarse,
    /// Floats are of either sign and many magnitudes; integers are small and of either sign.
    Scaled,
    /// Floats are positive and of many magnitudes, such as variances; integers are small natural numbers.
    Positive,
    /// Like [`Fill::Positive`], but with integers up to the bounds of their type.
    Extreme,
    /// All elements are the same number, often 0.
    Alike,
    /// The constants that the layers read, and numbers close to them.
    Threshold,
    /// Infinities, NaN, zero, and a very large and a very small number, among other floats. Does not include
    /// -0, because the maximum of 0 and -0 is unspecified.
    Special,
}

impl Fill {
    const ALL: [Self; 7] = [
        Self::Distinct,
        Self::Coarse,
        Self::Scaled,
        Self::Extreme,
        Self::Alike,
        Self::Threshold,
        Self::Special,
    ];
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
    if fill == Fill::Alike && element_type != ElementType::String {
        let one = random_tensor(element_type, &[], 1, Fill::Coarse, random)?;
        let one = if random.below(2) == 0 { one } else { Tensor::zeros(element_type, &[]).ok()? };
        return one.broadcast_to(dims).ok();
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
    // Narrow types have few magnitudes. Positive numbers stand for variances and similar values: products of
    // large numbers would overflow, and products of small half floats would be rounded to 0.
    let is_scaled = fill == Fill::Scaled;
    let (least, most) = match element_type {
        ElementType::F32 | ElementType::F64 => (-20, if is_scaled { 17 } else { 3 }),
        ElementType::F16 | ElementType::BF16 if is_scaled => (-14, 7),
        _ => (-8, 3),
    };
    let special = if fill == Fill::Special { random.below(11) } else { 0 };
    let mut scaled = || {
        let exponent = least + random.below((most - least + 1) as u64) as i32;
        (1.5 + random.unit() / 2.0) * 2f64.powi(exponent)
    };
    match fill {
        Fill::Distinct => (i + 1) as f64,
        Fill::Coarse => (random.below(256) as f64 - 128.0) / 16.0,
        Fill::Scaled => {
            let magnitude = scaled();
            if random.below(2) == 0 { magnitude } else { -magnitude }
        }
        Fill::Special => match special {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            3 => 0.0,
            4 => f64::from(f32::MAX),
            5 => f64::from(f32::MIN_POSITIVE) / 2.0,
            _ => scaled() - scaled(),
        },
        Fill::Positive | Fill::Extreme | Fill::Alike | Fill::Threshold => scaled(),
    }
}

fn integer(low: i64, high: i64, i: usize, fill: Fill, random: &mut SplitMix) -> i64 {
    let natural = random.below(4).min(high as u64) as i64;
    match fill {
        Fill::Distinct => i as i64 % high.saturating_add(1).max(1),
        Fill::Coarse | Fill::Positive | Fill::Alike | Fill::Threshold => natural,
        Fill::Scaled => (random.below(9) as i64 - 4).clamp(low, high),
        Fill::Extreme | Fill::Special => match random.below(4) {
            0 => low.saturating_add(natural).min(high),
            1 => high.saturating_sub(natural).max(low),
            2 => (high / 2).saturating_add(natural).min(high),
            _ => (random.below(9) as i64 - 4).clamp(low, high),
        },
    }
}
