//! Edits of a graph. Each makes one change that the declarations of ops allow.

use std::cell::RefCell;
use std::sync::Arc;

use snick_ir::ops::source::constant::Constant;
use snick_ir::ops::{Entry, find, reference};
use snick_ir::{Attrs, Dialect, Op, RawNode, Version};
use snick_tensor::SplitMix;

use super::draft::{Draft, Layer, Source, outputs, with_attr};
use super::{MAX_LAYERS, below, edited, pick, values};

/// The newest operation set.
const NEWEST: u64 = 17;

/// Maximum number of outputs of a layer.
const MAX_OUTPUTS: usize = 8;

/// Makes one random change, or none if it does not apply.
pub(super) fn edit(draft: &mut Draft, random: &mut SplitMix) -> Option<()> {
    let at = below(draft.layers.len(), random);
    match random.below(22) {
        0..=5 => change_attribute(draft.layers.get_mut(at)?, random),
        6..=8 => change_any_constant(draft, random),
        9 | 10 => rewire(draft, at, random),
        11 => change_type(draft.layers.get_mut(at)?, random),
        12 => change_version(draft.layers.get_mut(at)?, random),
        13..=15 => insert(draft, at, random),
        16 => remove(draft, at),
        17 => add_or_drop_input(draft, at, random),
        18 => add_result(draft, random),
        19 => change_outputs(draft.layers.get_mut(at)?, random),
        20 => duplicate(draft, at),
        _ => edit_body(draft, random),
    }
}

fn entry(op: &Op) -> Option<&'static Entry> {
    find(op.dialect(), op.type_name())
}

fn change_attribute(layer: &mut Layer, random: &mut SplitMix) -> Option<()> {
    let specs = entry(&layer.node.op)?.attrs();
    let spec = pick(&specs, random)?;
    let attrs = layer.node.op.attrs();
    let old = attrs.iter().find(|(name, _)| *name == spec.name).map(|(_, value)| value);
    let value = (random.below(6) > 0).then(|| values::attribute(spec, old, random));
    layer.remake(|raw| raw.attrs = with_attr(&attrs, spec.name, value))
}

fn change_any_constant(draft: &mut Draft, random: &mut SplitMix) -> Option<()> {
    let is_constant = |layer: &&mut Layer| matches!(layer.node.op, Op::Const(_));
    let mut constants: Vec<&mut Layer> = draft.layers.iter_mut().filter(is_constant).collect();
    let at = below(constants.len(), random);
    let layer = constants.get_mut(at)?;
    layer.node.op = values::changed_constant(&layer.node.op, random)?;
    Some(())
}

fn rewire(draft: &mut Draft, at: usize, random: &mut SplitMix) -> Option<()> {
    // One time in 40, the value may come from a later layer, which can create a cycle.
    let end = if random.below(40) == 0 { draft.layers.len() } else { at };
    let source = draft.any_value(end, random);
    let inputs = &mut draft.layers.get_mut(at)?.inputs;
    let port = below(inputs.len(), random);
    *inputs.get_mut(port)? = source;
    Some(())
}

/// Changes the op type to one with a matching arity, keeping attributes that both have.
fn change_type(layer: &mut Layer, random: &mut SplitMix) -> Option<()> {
    let fits = |entry: &&&Entry| entry.arity.check(layer.inputs.len()).is_ok();
    let entries: Vec<&Entry> = reference().iter().filter(fits).copied().collect();
    let entry = *pick(&entries, random)?;
    let op = new_op(entry, &layer.node.op.attrs(), layer.node.outs.len(), random)?;
    layer.node.version = op.default_version();
    layer.node.op = op;
    Some(())
}

fn change_version(layer: &mut Layer, random: &mut SplitMix) -> Option<()> {
    let since = entry(&layer.node.op)?.name.since;
    let version = match random.below(4) {
        0 => Version::Opset(1 + random.below(NEWEST) as u8),
        _ => Version::Opset(*pick(since, random)?),
    };
    layer.remake(|raw| raw.version = version)
}

/// An op with random attributes, and those of `old` that it declares.
fn new_op(entry: &'static Entry, old: &Attrs<'static>, outputs: usize, random: &mut SplitMix) -> Option<Op> {
    let mut attrs = Attrs::new();
    for spec in entry.attrs() {
        let kept = old.iter().find(|(name, _)| *name == spec.name).map(|(_, value)| value.clone());
        if kept.is_some() || spec.required || random.below(3) == 0 {
            attrs.push(spec.name.into(), kept.unwrap_or_else(|| values::attribute(&spec, None, random)));
        }
    }
    let newest = entry.name.since.last().map_or(Version::Unversioned, |&opset| Version::Opset(opset));
    let dialect: Dialect = entry.name.dialect;
    let raw = RawNode {
        dialect,
        bodies: RefCell::default(),
        ..RawNode::openvino(entry.name.name, newest, attrs, outputs)
    };
    Op::parse(&mut { raw }).ok().filter(|op| !op.is_opaque())
}

/// Inserts a layer of any op before one of its future readers.
fn insert(draft: &mut Draft, at: usize, random: &mut SplitMix) -> Option<()> {
    if draft.layers.len() >= MAX_LAYERS {
        return None;
    }
    let entry = *pick(&reference(), random)?;
    let count = if random.below(4) == 0 { 1 + below(4, random) } else { 1 };
    let op = new_op(entry, &Attrs::new(), count, random)?;
    let most = entry.arity.max.min(entry.arity.min + 3);
    let inputs = entry.arity.min + below(most - entry.arity.min + 1, random);
    let reader = draft.layers.get(at)?;
    let port = below(reader.inputs.len(), random);
    // The first input is the reader's previous input, so that the layer is in between.
    let mut first = reader.inputs.get(port).copied().flatten();
    let mut sources: Vec<Option<Source>> = Vec::new();
    let mut at = at;
    for _ in 0..inputs {
        if let Some(source) = first.take() {
            sources.push(Some(source));
        } else if random.below(3) > 0 {
            let constant = Op::from(Constant::new(Arc::new(values::constant(random)?)));
            let place = draft.insert(at, Layer::new(constant, Vec::new()));
            draft.layers[place].node.outs.extend(outputs(1));
            sources.push(Some((place, 0)));
            at += 1;
        } else {
            sources.push(draft.any_value(at, random));
        }
    }
    let place = draft.insert(at, Layer::new(op, sources));
    draft.layers[place].node.outs.extend(outputs(count));
    let reader = draft.layers.get_mut(place + 1)?;
    *reader.inputs.get_mut(port)? = Some((place, below(count, random) as u32));
    Some(())
}

fn remove(draft: &mut Draft, at: usize) -> Option<()> {
    (draft.layers.len() > 1).then(|| draft.remove(at))
}

fn add_or_drop_input(draft: &mut Draft, at: usize, random: &mut SplitMix) -> Option<()> {
    let source = draft.any_value(at, random);
    let inputs = &mut draft.layers.get_mut(at)?.inputs;
    match random.below(3) {
        0 => drop(inputs.pop()?),
        _ if inputs.len() < 8 => inputs.push(source),
        _ => {}
    }
    Some(())
}

fn add_result(draft: &mut Draft, random: &mut SplitMix) -> Option<()> {
    let source = draft.any_value(draft.layers.len(), random);
    let result = draft.layers.iter().find(|layer| matches!(layer.node.op, Op::Result(_)))?;
    let result = Layer { inputs: vec![source], ..result.clone() };
    draft.layers.push(result);
    Some(())
}

fn change_outputs(layer: &mut Layer, random: &mut SplitMix) -> Option<()> {
    let outs = &mut layer.node.outs;
    match random.below(2) {
        0 => drop(outs.pop()?),
        _ if outs.len() < MAX_OUTPUTS => outs.extend(outputs(1)),
        _ => {}
    }
    let count = outs.len();
    layer.remake(|raw| raw.outputs = count)
}

/// Duplicates a layer; one of the readers gets the copy.
fn duplicate(draft: &mut Draft, at: usize) -> Option<()> {
    let copy = draft.layers.get(at)?.clone();
    let place = draft.insert(at, copy);
    let original = place + 1;
    let reads = |layer: &&mut Layer| layer.inputs.iter().flatten().any(|source| source.0 == original);
    let reader = draft.layers.iter_mut().find(reads)?;
    reader
        .inputs
        .iter_mut()
        .flatten()
        .filter(|source| source.0 == original)
        .for_each(|source| source.0 = place);
    Some(())
}

fn edit_body(draft: &mut Draft, random: &mut SplitMix) -> Option<()> {
    let has_body = |layer: &&mut Layer| layer.node.op.bodies().next().is_some();
    let mut layers: Vec<&mut Layer> = draft.layers.iter_mut().filter(has_body).collect();
    let at = below(layers.len(), random);
    let layer = layers.get_mut(at)?;
    let count = layer.node.op.bodies().count();
    let which = below(count, random);
    let body = edited(layer.node.op.bodies().nth(which)?.1, random)?;
    layer.remake(|raw| {
        if let Some(old) = raw.bodies.borrow_mut().get_mut(which) {
            *old = body;
        }
    })
}
