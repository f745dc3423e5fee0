//! Creates new inputs from old ones.
//!
//! [`graph`] mutates a graph in text form as a graph: attributes, dims, constants, edges, layers and op
//! types, guided by the declarations of ops. [`tokens`] mutates text token by token. [`extremes`] replaces
//! each number in turn.

mod draft;
mod edits;
mod extremes;
mod tokens;
mod values;

use std::sync::Arc;

use snick_ir::ops::source::constant::Constant;
use snick_ir::text::{PrintOptions, Weights, packed_weights, parse, print};
use snick_ir::{Graph, Op};
use snick_tensor::{SplitMix, Storage, Tensor};

use self::draft::Draft;
pub use self::extremes::extremes;
pub use self::tokens::tokens;

/// Maximum number of layers in a mutated graph.
const MAX_LAYERS: usize = 24;

/// Reads an input of the target `graphs`.
fn read(bytes: &[u8]) -> Option<Graph> {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let weights = Storage::heap(bytes.get(end + 1..).unwrap_or_default().to_vec());
    parse(std::str::from_utf8(&bytes[..end]).ok()?, Some(&weights)).ok()
}

/// Writes a graph as an input.
fn written(graph: &Graph) -> Vec<u8> {
    let text = print(graph, PrintOptions::new().weights(Weights::Packed).types(false));
    let weights = packed_weights(graph).to_bytes();
    let mut bytes = text.into_bytes();
    if !weights.is_empty() {
        bytes.push(0);
        bytes.extend(weights);
    }
    bytes
}

/// A mutated graph, determined by the seed; `None` if `bytes` are not a graph.
pub fn graph(bytes: &[u8], seed: u64) -> Option<Vec<u8>> {
    let mut random = SplitMix::new(seed);
    let graph = edited(&read(bytes)?, &mut random)?;
    Some(written(&graph))
}

/// Combines the layers of two graphs; the second reads values of the first.
pub fn joined(first: &[u8], second: &[u8], seed: u64) -> Option<Vec<u8>> {
    let mut random = SplitMix::new(seed);
    let mut draft = Draft::of(&read(first)?);
    draft.append(Draft::of(&read(second)?), &mut random);
    (draft.layers.len() <= MAX_LAYERS).then(|| written(&draft.build()))
}

/// Replaces the constants of a graph.
pub(crate) fn with_constants(graph: &Graph, mut other: impl FnMut(&Tensor) -> Tensor) -> Graph {
    let mut draft = Draft::of(graph);
    for layer in &mut draft.layers {
        if let Op::Const(Constant::Here(tensor)) = &layer.node.op {
            layer.node.op = Op::from(Constant::new(Arc::new(other(tensor))));
        }
    }
    draft.build()
}

/// Applies one to four edits.
fn edited(graph: &Graph, random: &mut SplitMix) -> Option<Graph> {
    let mut draft = Draft::of(graph);
    let edits = 1 + random.below(4);
    for _ in 0..edits {
        edits::edit(&mut draft, random);
    }
    (!draft.layers.is_empty()).then(|| draft.build())
}

/// A random item.
fn pick<'i, T>(items: &'i [T], random: &mut SplitMix) -> Option<&'i T> {
    items.get(usize::try_from(random.below((items.len() as u64).max(1))).ok()?)
}

/// A random number below `count`; 0 if `count` is 0.
fn below(count: usize, random: &mut SplitMix) -> usize {
    random.below((count as u64).max(1)) as usize
}
