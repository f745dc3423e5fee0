//! The origin of each size, one layer at a time. The viewer follows these steps up to the inputs of the
//! model.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet, VecDeque};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use snick_ir::{Graph, Part, ValuePart};

use super::numbers::{NumberedGraph, Numbers};
use crate::analyze::why::tree::Tracer;

/// Maximum number of input parts to try for a report. A step through a layer tries each size and each known
/// element of the inputs of the layer. Sizes with symbols are traced first.
const MOST_TRIED: usize = 300_000;

/// The steps, and the layers for which steps are missing because the limit was reached.
pub(super) struct Trace<'m>(pub &'m Numbers<'m>);

impl Serialize for Trace<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let steps = Steps { numbers: self.0, missing: RefCell::default() };
        let mut members = serializer.serialize_map(None)?;
        members.serialize_entry("steps", &steps)?;
        members.serialize_entry("steps_missing", &steps.missing)?;
        members.end()
    }
}

/// Maps each part to the input parts that it comes from. The text of a part is `LAYER:OUTPUT:AXIS`, or
/// `LAYER:OUTPUT:eINDEX` for an element. A part is missing if it comes from no other part, or if the limit
/// was reached.
struct Steps<'m> {
    numbers: &'m Numbers<'m>,
    /// Set after all steps are written, because they are computed while they are written.
    missing: RefCell<BTreeSet<usize>>,
}

impl Serialize for Steps<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut steps = serializer.serialize_map(None)?;
        *self.missing.borrow_mut() = write_steps(self.numbers, &mut steps)?;
        steps.end()
    }
}

/// Writes all steps up to the limit. Returns the layers for which steps are missing.
fn write_steps<S: SerializeMap>(numbers: &Numbers, steps: &mut S) -> Result<BTreeSet<usize>, S::Error> {
    let mut missing = BTreeSet::new();
    let mut left = MOST_TRIED;
    for numbered in &numbers.graphs {
        let mut tracer = Tracer::new(numbered.graph);
        let (symbolic, constant) = sizes(numbered);
        let mut waiting: VecDeque<ValuePart> = symbolic.into_iter().chain(constant).collect();
        let mut seen: HashSet<(snick_ir::Value, Part)> = HashSet::new();
        while let Some(of) = waiting.pop_front() {
            if !seen.insert((of.value, of.part)) {
                continue;
            }
            let Some(rest) = left.checked_sub(tried(numbered.graph, of)) else {
                left = 0;
                missing.insert(numbered.of(of.value.node));
                continue;
            };
            left = rest;
            let from = tracer.hop(of);
            if !from.is_empty() {
                let texts: Vec<String> = from.iter().map(|part| text(numbered, *part)).collect();
                steps.serialize_entry(&text(numbered, of), &texts)?;
            }
            // Follows these parts before any others, so that whole traces are completed before the limit is
            // reached.
            from.into_iter().rev().for_each(|part| waiting.push_front(part));
        }
    }
    Ok(missing)
}

/// The cost of tracing a part through one layer: the number of parts of the layer's inputs, plus 1.
fn tried(graph: &Graph, of: ValuePart) -> usize {
    let inputs = graph.inputs(of.value.node).into_iter().flatten();
    let parts = inputs.filter_map(|value| graph.fact(value)).map(|fact| Part::all(fact).count());
    parts.fold(1, usize::saturating_add)
}

/// The output sizes of all layers except constants: first the sizes with symbols, then the constant sizes.
fn sizes(numbered: &NumberedGraph) -> (Vec<ValuePart>, Vec<ValuePart>) {
    let graph = numbered.graph;
    let nodes = numbered.order.iter().map(|&id| graph.node(id));
    let computed = nodes.filter(|node| !matches!(node.op(), snick_ir::Op::Const(_)));
    let parts = computed.flat_map(|node| {
        let outs = node.outs().iter().enumerate();
        outs.flat_map(move |(port, out)| {
            let value = node.output(port);
            Part::dims(&out.fact).filter_map(move |part| {
                let is_symbolic = part.of(&out.fact)?.as_const().is_none();
                Some((is_symbolic, ValuePart::new(value?, part)))
            })
        })
    });
    let (symbolic, constant): (Vec<_>, Vec<_>) = parts.partition(|(is_symbolic, _)| *is_symbolic);
    let parts = |list: Vec<(bool, ValuePart)>| list.into_iter().map(|(_, part)| part).collect();
    (parts(symbolic), parts(constant))
}

fn text(numbered: &NumberedGraph, of: ValuePart) -> String {
    let (layer, port) = (numbered.of(of.value.node), of.value.port);
    match of.part {
        Part::Dim(axis) => format!("{layer}:{port}:{axis}"),
        Part::Element(index) => format!("{layer}:{port}:e{index}"),
        _ => format!("{layer}:{port}"),
    }
}
