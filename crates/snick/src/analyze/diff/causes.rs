//! Compares two corresponding layers, and finds the differences that are not consequences of other
//! differences.

use snick_ir::ops::source::parameter::Parameter;
use snick_ir::text::digest;
use snick_ir::{AttrValue, Fact, Graph, NodeRef, Op};
use snick_tensor::Listed;

use super::layer::{attributes, definition, intervals};
use super::matching::Matching;
use super::symbol_names::SymbolNames;
use super::weights::{self, Compared};
use super::{AttrChange, LayerChange, RewiredInput};

/// The symbols in the inputs compared so far, for both models.
#[derive(Default)]
pub(super) struct Symbols {
    ours: SymbolNames,
    theirs: SymbolNames,
}

/// The differences between two layers that are not consequences of other differences.
#[derive(Default)]
pub(super) struct Own {
    /// The change; `None` if the layers are equal.
    pub change: Option<LayerChange>,
    /// Whether the layers are constants that could not be compared.
    pub is_unknown: bool,
}

/// Compares two corresponding layers, excluding their bodies. The returned change does not name the layers
/// yet.
pub(super) fn compare(matching: &Matching, x: usize, y: usize, symbols: &mut Symbols) -> Own {
    let (a, b) = (matching.a.layers[x], matching.b.layers[y]);
    let (attrs, inputs) = (attr_changes(a, b), input_changes(matching, x, y));
    let mut change = LayerChange { attrs, inputs, ..LayerChange::default() };
    let mut is_unknown = false;
    match (a.op(), b.op()) {
        (Op::Const(ours), Op::Const(theirs)) => {
            if ours.element_type() != theirs.element_type() {
                change.types = Some([ours.element_type(), theirs.element_type()]);
            }
            if ours.dims() != theirs.dims() {
                change.shapes = Some([ours.dims(), theirs.dims()].map(|dims| Listed(dims).to_string()));
            }
            match weights::compare(ours, theirs) {
                Compared::Same => {}
                Compared::Different(weights) => {
                    change.weights = weights;
                    change.lacks_elements =
                        weights.is_none() && change.types.is_none() && change.shapes.is_none();
                }
                Compared::Unknown => is_unknown = true,
            }
        }
        (Op::Parameter(ours), Op::Parameter(theirs)) => {
            parameter_changes(ours, theirs, symbols, &mut change);
        }
        (Op::Opaque(_), Op::Opaque(_)) => own_facts(matching, x, y, &mut change),
        _ => {}
    }
    if !change.is_empty() && !matches!(a.op(), Op::Const(_) | Op::Parameter(_)) {
        own_facts(matching, x, y, &mut change);
    }
    Own { change: (!change.is_empty()).then_some(change), is_unknown }
}

/// The attributes that differ. A value of `None` means that the layer does not have the attribute.
fn attr_changes(a: NodeRef, b: NodeRef) -> Vec<AttrChange> {
    let mut changes = Vec::new();
    let versions = [definition(a), definition(b)];
    if versions[0] != versions[1] {
        // Shows the versions in the files, unless they are equal or missing.
        let declared = [a.version().to_string(), b.version().to_string()];
        let shown =
            if declared[0] == declared[1] || declared.contains(&String::new()) { versions } else { declared };
        changes.push(AttrChange { name: "version".into(), values: shown.map(Some) });
    }
    let (ours, theirs) = (attributes(a), attributes(b));
    let value = |all: &[(String, AttrValue<'static>)], name: &str| {
        all.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone())
    };
    let more = theirs.iter().filter(|(name, _)| value(&ours, name).is_none());
    for (name, _) in ours.iter().chain(more) {
        let values = [value(&ours, name), value(&theirs, name)];
        if !is_same(&values) {
            changes.push(AttrChange { name: name.clone(), values: values.map(|value| value.map(text)) });
        }
    }
    changes
}

fn is_same(values: &[Option<AttrValue>; 2]) -> bool {
    let same_number = |a: f64, b: f64| {
        // Some formats store numbers in 32 bits.
        let is_narrow = |v: f64| f64::from(v as f32) == v;
        a == b || (a.is_nan() && b.is_nan()) || (a as f32 == b as f32 && (is_narrow(a) || is_narrow(b)))
    };
    match values {
        [Some(AttrValue::Float(a)), Some(AttrValue::Float(b))] => same_number(*a, *b),
        [Some(AttrValue::Floats(a)), Some(AttrValue::Floats(b))] => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_number(*a, *b))
        }
        [Some(AttrValue::Text(a)), Some(AttrValue::Text(b))] => a.trim() == b.trim(),
        [a, b] => a == b,
    }
}

fn text(value: AttrValue) -> String {
    match value {
        AttrValue::Text(text) => text.into_owned(),
        AttrValue::Tensor(tensor) => {
            format!("{}{} #{:016x}", tensor.element_type(), Listed(tensor.dims()), digest(&tensor.to_bytes()))
        }
        other => other.to_string(),
    }
}

/// The inputs that read different values. Layers that only one model has are skipped, so inserting a layer
/// does not count as a change of its readers.
fn input_changes(matching: &Matching, x: usize, y: usize) -> Vec<RewiredInput> {
    let (ours, theirs) = (&matching.a.sources[x], &matching.b.sources[y]);
    let name = |layers: &[NodeRef], source: Option<super::scope::Source>| {
        let source = source?;
        let layer = layers[source.layer];
        Some(if layer.outs().len() > 1 {
            format!("{}:{}", layer.name(), source.port)
        } else {
            layer.name().into()
        })
    };
    let mut changes = Vec::new();
    for port in 0..ours.len().max(theirs.len()) {
        let sources = (ours.get(port).copied().flatten(), theirs.get(port).copied().flatten());
        let is_same = match sources {
            (Some(ours), Some(theirs)) => matching.reads_the_same(ours, theirs),
            (ours, theirs) => ours.is_none() && theirs.is_none(),
        };
        if !is_same {
            let (a, b) = (name(&matching.a.layers, sources.0), name(&matching.b.layers, sources.1));
            changes.push(RewiredInput { port, a, b });
        }
    }
    changes
}

fn parameter_changes(ours: &Parameter, theirs: &Parameter, symbols: &mut Symbols, change: &mut LayerChange) {
    if ours.element_type != theirs.element_type {
        change.types = Some([ours.element_type, theirs.element_type]);
    }
    let names = [symbols.ours.canonical(&ours.shape), symbols.theirs.canonical(&theirs.shape)];
    if intervals(&ours.shape) != intervals(&theirs.shape) || names[0] != names[1] {
        change.shapes = Some([&ours.shape, &theirs.shape].map(|shape| format!("[{shape}]")));
    }
}

/// If the types and shapes of all inputs agree, records the type and shape of the first output for which they
/// differ.
fn own_facts(matching: &Matching, x: usize, y: usize, change: &mut LayerChange) {
    let (a, b) = (matching.a, matching.b);
    let inputs = a.sources[x].iter().zip(&b.sources[y]);
    let agrees = |(ours, theirs): (&Option<super::scope::Source>, &Option<super::scope::Source>)| {
        let facts = ours.zip(*theirs).and_then(|(ours, theirs)| {
            let ours = a.layers[ours.layer].outs().get(ours.port as usize)?;
            let theirs = b.layers[theirs.layer].outs().get(theirs.port as usize)?;
            Some(is_same_fact((&ours.fact, a.graph), (&theirs.fact, b.graph)))
        });
        facts.unwrap_or(true)
    };
    if !inputs.clone().all(agrees) {
        return;
    }
    if let Some((ours, theirs)) = differing_facts(matching, x, y) {
        if ours.element_type() != theirs.element_type() {
            change.types = Some([ours.element_type(), theirs.element_type()]);
        }
        let shapes = [(ours, a.graph), (theirs, b.graph)]
            .map(|(fact, graph)| fact.shape().display_intervals(graph.symbols()).to_string());
        if shapes[0] != shapes[1] {
            change.shapes = Some(shapes);
        }
    }
}

/// The facts of the first output whose type or shape differs.
pub(super) fn differing_facts<'g>(
    matching: &Matching<'_, 'g>,
    x: usize,
    y: usize,
) -> Option<(&'g Fact, &'g Fact)> {
    let (ours, theirs) = (matching.a.layers[x].outputs(), matching.b.layers[y].outputs());
    ours.zip(theirs)
        .find(|(ours, theirs)| !is_same_fact((ours, matching.a.graph), (theirs, matching.b.graph)))
}

/// Whether the types, and the intervals of all dims, are equal.
fn is_same_fact((ours, a): (&Fact, &Graph), (theirs, b): (&Fact, &Graph)) -> bool {
    let same_dims = match (ours.shape().dims(), theirs.shape().dims()) {
        (Some(ours), Some(theirs)) => {
            ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(|(x, y)| a.symbols().interval(x) == b.symbols().interval(y))
        }
        (ours, theirs) => ours.is_none() && theirs.is_none(),
    };
    same_dims && ours.element_type() == theirs.element_type()
}
