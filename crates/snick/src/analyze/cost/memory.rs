//! Peak memory of a run. Determines which values are alive at the same time, by the rules of the interpreter:
//!
//! - a value is freed after its last reader
//! - a view shares the memory of its base
//! - an element-wise layer overwrites its first input if nothing else reads that input
//! - f16 and bf16 are computed in f32

use std::collections::{BTreeMap, HashMap};

use snick_ir::{Fact, Graph, NodeId, Op, OpTraits, Value};
use snick_shape::{SymExpr, SymbolId};
use snick_tensor::ElementType;

use super::ledger::Ledger;
use super::{Amount, scratch};

/// Maximum number of moments (steps of the run) whose memory appears in the expression of the peak.
const MOST_MOMENTS: usize = 4;

/// Sample sizes for comparing moments, relative to the smallest allowed size.
const STEPS: [i64; 7] = [0, 1, 7, 31, 127, 511, 2047];

/// Number of combinations of sample sizes to try.
const SAMPLES: usize = 24;

/// Whether the outputs of a layer share the memory of its first input.
pub(super) fn is_view(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    if !matches!(node.op(), Op::Convert(_) | Op::ConvertLike(_)) {
        return node.op().has(OpTraits::VIEW);
    }
    let given = node.input(0).and_then(|value| graph.fact(value)).map(Fact::element_type);
    let made = node.outs().first().map(|out| out.fact.element_type());
    given.map(computed_as) == made.map(computed_as)
}

/// The type in which a run stores values of a declared type.
fn computed_as(element_type: ElementType) -> ElementType {
    if element_type.is_half() { ElementType::F32 } else { element_type }
}

/// The bytes of all values that are alive at the moment of the peak, including values in bodies.
pub(super) fn peak(graph: &Graph, ledger: &mut Ledger) -> Amount {
    let mut run = Run::new(graph, ledger);
    for id in graph.order().unwrap_or_default() {
        if run.varies.contains(&id) {
            run.step(id);
        }
    }
    let moments = run.moments();
    greatest(moments, ledger)
}

/// A buffer of a run.
struct Buffer {
    bytes: SymExpr,
    /// The bytes in each sample.
    sampled: Vec<u64>,
    /// The number of outstanding reads, including reads of views.
    reads: usize,
    /// Whether the buffer stays allocated until the run ends.
    pinned: bool,
    /// The step that allocates it.
    born: usize,
    /// The step after which it is freed; `None` while it is alive.
    freed: Option<usize>,
}

/// The memory that holds a value.
#[derive(Copy, Clone)]
struct Place {
    /// The buffer; `None` for inputs and constants, which do not belong to the run.
    buffer: Option<usize>,
    /// Whether the elements are contiguous.
    contiguous: bool,
    /// Whether the value fills the buffer and has the same type.
    whole: bool,
}

/// Simulates a run, tracking only the sizes of values.
struct Run<'g, 'l> {
    graph: &'g Graph,
    ledger: &'l mut Ledger,
    varies: std::collections::HashSet<NodeId>,
    samples: Vec<HashMap<SymbolId, i64>>,
    buffers: Vec<Buffer>,
    places: HashMap<Value, Place>,
    reads: HashMap<Value, usize>,
    alive: Vec<u64>,
    /// For each sample, the peak in bytes and its step.
    worst: Vec<(u64, usize)>,
    /// The scratch memory of the layers at these steps.
    seen: BTreeMap<usize, Vec<SymExpr>>,
    steps: usize,
}

impl<'g, 'l> Run<'g, 'l> {
    fn new(graph: &'g Graph, ledger: &'l mut Ledger) -> Self {
        let varies = super::varying(graph);
        let mut reads: HashMap<Value, usize> = HashMap::new();
        for &id in &varies {
            graph.inputs(id).into_iter().flatten().for_each(|value| *reads.entry(value).or_default() += 1);
        }
        let samples = samples(ledger);
        let count = samples.len();
        Self {
            graph,
            ledger,
            varies,
            samples,
            buffers: Vec::new(),
            places: HashMap::new(),
            reads,
            alive: vec![0; count],
            worst: vec![(0, 0); count],
            seen: BTreeMap::new(),
            steps: 0,
        }
    }

    fn sampled(&self, expr: &SymExpr) -> Vec<u64> {
        let value = |sample: &HashMap<SymbolId, i64>| {
            let value = self.ledger.symbols.eval(expr, &|symbol| sample.get(&symbol).copied());
            value.and_then(|value| u64::try_from(value).ok()).unwrap_or_default()
        };
        self.samples.iter().map(value).collect()
    }

    /// Simulates one layer: allocates its outputs, records the moment, and frees values without further
    /// readers.
    fn step(&mut self, id: NodeId) {
        self.steps += 1;
        let node = self.graph.node(id);
        let inputs: Vec<Value> = self.graph.inputs(id).into_iter().flatten().collect();
        let first = inputs.first().copied();
        let given = first.and_then(|value| self.places.get(&value).copied());
        let mut inside = self.inside(id, given);
        for (port, out) in node.outs().iter().enumerate() {
            let Some(value) = node.output(port) else { continue };
            let reads = self.reads.get(&value).copied().unwrap_or_default();
            let place = match (node.op(), given) {
                (Op::Parameter(_) | Op::ReadValue(_), _) => {
                    Place { buffer: None, contiguous: true, whole: false }
                }
                (Op::Result(_), Some(place)) if place.contiguous && !self.is_rounded(id) => self.pin(place),
                (Op::Result(_), _) => {
                    let place = self.allocate(id, &out.fact, out.fact.element_type());
                    self.pin(place)
                }
                (Op::Assign(_), Some(place)) => self.pin(place),
                (op, Some(place)) if self.is_shared(id, place) => Place {
                    contiguous: place.contiguous && !op.has(OpTraits::STRIDED),
                    whole: place.whole && !op.has(OpTraits::STRIDED),
                    ..place
                },
                (_, Some(place)) if self.is_overwritten(id, place, &inputs) => place,
                _ if reads == 0 => {
                    inside.push(self.ledger.bytes(self.graph, id, &out.fact, out.fact.element_type()));
                    continue;
                }
                _ => self.allocate(id, &out.fact, computed_as(out.fact.element_type())),
            };
            if let Some(buffer) = place.buffer {
                self.buffers[buffer].reads += reads;
            }
            self.places.insert(value, place);
        }
        self.note(inside);
        for value in inputs {
            if let Some(buffer) = self.places.get(&value).and_then(|place| place.buffer) {
                self.buffers[buffer].reads = self.buffers[buffer].reads.saturating_sub(1);
                self.release(buffer);
            }
        }
    }

    /// Whether a Result is rounded to its declared type.
    fn is_rounded(&self, id: NodeId) -> bool {
        self.graph.node(id).outs().iter().any(|out| out.fact.element_type().is_half())
    }

    /// Whether a layer returns views of its input. A Reshape copies elements that are not contiguous.
    fn is_shared(&self, id: NodeId, place: Place) -> bool {
        is_view(self.graph, id) && (place.contiguous || !matches!(self.graph.node(id).op(), Op::Reshape(_)))
    }

    /// Whether an element-wise layer overwrites its first input: nothing else reads this input, and the
    /// output has the same shape and type.
    fn is_overwritten(&self, id: NodeId, place: Place, inputs: &[Value]) -> bool {
        let facts: Option<Vec<&Fact>> = inputs.iter().map(|value| self.graph.fact(*value)).collect();
        let (Some(facts), Some(buffer)) = (facts, place.buffer) else { return false };
        let [given, ..] = facts.as_slice() else { return false };
        let Some(out) = self.graph.node(id).outs().first() else { return false };
        let buffer = &self.buffers[buffer];
        buffer.reads == 1
            && !buffer.pinned
            && place.whole
            && given.shape() == out.fact.shape()
            && computed_as(given.element_type()) == computed_as(out.fact.element_type())
            && self.graph.node(id).op().element_function(&facts).is_some()
    }

    fn allocate(&mut self, id: NodeId, fact: &Fact, element_type: ElementType) -> Place {
        let bytes = self.ledger.bytes(self.graph, id, fact, element_type);
        let sampled = self.sampled(&bytes);
        self.alive.iter_mut().zip(&sampled).for_each(|(alive, own)| *alive = alive.saturating_add(*own));
        let born = self.steps;
        self.buffers.push(Buffer { bytes, sampled, reads: 0, pinned: false, born, freed: None });
        Place { buffer: Some(self.buffers.len() - 1), contiguous: true, whole: true }
    }

    fn pin(&mut self, place: Place) -> Place {
        if let Some(buffer) = place.buffer {
            self.buffers[buffer].pinned = true;
        }
        place
    }

    fn release(&mut self, buffer: usize) {
        let buffer = &mut self.buffers[buffer];
        if buffer.reads == 0 && !buffer.pinned && buffer.freed.is_none() {
            buffer.freed = Some(self.steps);
            let all = self.alive.iter_mut().zip(&buffer.sampled);
            all.for_each(|(alive, own)| *alive = alive.saturating_sub(*own));
        }
    }

    /// The memory that a layer needs in addition to its inputs and outputs, including bodies.
    fn inside(&mut self, id: NodeId, given: Option<Place>) -> Vec<SymExpr> {
        let bodies = self.graph.node(id).op().bodies();
        let bodies: Vec<Amount> = bodies.map(|(_, body)| peak(body, self.ledger)).collect();
        let packed = given.is_none_or(|place| place.contiguous);
        let own = scratch::of(self.graph, id, packed, self.ledger);
        own.into_iter().chain(bodies.into_iter().flat_map(|amount| amount.terms)).collect()
    }

    /// Updates the peaks if more memory is in use now.
    fn note(&mut self, inside: Vec<SymExpr>) {
        let mut now = self.alive.clone();
        for expr in &inside {
            now.iter_mut().zip(self.sampled(expr)).for_each(|(now, own)| *now = now.saturating_add(own));
        }
        let mut is_worst = false;
        for (worst, &bytes) in self.worst.iter_mut().zip(&now) {
            if bytes > worst.0 {
                *worst = (bytes, self.steps);
                is_worst = true;
            }
        }
        if is_worst {
            self.seen.insert(self.steps, inside);
            let worst = &self.worst;
            self.seen.retain(|step, _| worst.iter().any(|(_, at)| at == step));
        }
    }

    /// The memory of the peak steps, starting with the step that is the peak in most samples.
    fn moments(&self) -> Vec<Amount> {
        let wins = |step: usize| self.worst.iter().filter(|(_, at)| *at == step).count();
        let mut steps: Vec<(usize, &Vec<SymExpr>)> =
            self.seen.iter().map(|(step, inside)| (*step, inside)).collect();
        steps.sort_by_key(|(step, _)| (std::cmp::Reverse(wins(*step)), *step));
        let amount = |(step, inside): (usize, &Vec<SymExpr>)| {
            let mut total = Amount::default();
            let lives =
                |buffer: &&Buffer| buffer.born <= step && buffer.freed.is_none_or(|freed| step <= freed);
            let own = self.buffers.iter().filter(lives).map(|buffer| &buffer.bytes);
            for bytes in own.chain(inside) {
                self.ledger.add(&mut total, &self.ledger.amount(bytes.clone()));
            }
            total
        };
        steps.into_iter().map(amount).collect()
    }
}

/// Sample values for all symbols. In the first samples, all symbols are equally far above their minimum; in
/// the others, the distances differ.
fn samples(ledger: &Ledger) -> Vec<HashMap<SymbolId, i64>> {
    let ids: Vec<SymbolId> = ledger.symbols.ids().collect();
    let count = if ids.is_empty() { 1 } else { SAMPLES };
    let sample = |number: usize| {
        let value = |(at, &id): (usize, &SymbolId)| {
            let interval = ledger.symbols.interval(&id.into());
            let step = if number < STEPS.len() { number } else { number * 31 + at * 17 + number * at };
            let size = interval.lo().max(1).saturating_add(STEPS[step % STEPS.len()]);
            (id, if interval.has_upper() { size.min(interval.hi()) } else { size })
        };
        ids.iter().enumerate().map(value).collect()
    };
    (0..count).map(sample).collect()
}

/// The maximum of several amounts, as one expression.
fn greatest(moments: Vec<Amount>, ledger: &mut Ledger) -> Amount {
    let mut kept: Vec<SymExpr> = Vec::new();
    let mut left_out = 0;
    for moment in moments {
        let [only] = moment.terms.as_slice() else {
            if kept.is_empty() {
                return moment;
            }
            left_out += 1;
            continue;
        };
        if kept.iter().any(|own| ledger.symbols.le(only, own)) {
            continue;
        }
        kept.retain(|own| !ledger.symbols.le(own, only));
        match kept.len() {
            MOST_MOMENTS => left_out += 1,
            _ => kept.push(only.clone()),
        }
    }
    let mut greatest = SymExpr::from(0);
    for own in kept {
        match ledger.symbols.max(&greatest, &own) {
            Some(max) => greatest = max,
            None => left_out += 1,
        }
    }
    if left_out > 0 {
        ledger.notes.push(format!("peak_bytes leaves out {left_out} moments that need more for few sizes"));
    }
    ledger.amount(greatest)
}
