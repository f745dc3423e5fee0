//! Operations of MLIR as data: each is a list of text parts, values and blocks. Unused operations are removed
//! before they are printed.

use std::collections::HashMap;
use std::fmt::Display;

use super::types::{Num, TensorType, Value};
use crate::stablehlo::scope::ScopedMap;

/// A part of an operation's text.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Text(String),
    /// A use of a value.
    Value(Value),
    /// An affine map, by its number in [`Code::maps`].
    Map(usize),
    /// The bytes of a constant, by its number in [`Code::resources`].
    Resource(usize),
    /// A region of one block.
    Block(Block),
}

/// A block: its arguments with their types, and its operations. The last operation is the terminator.
#[derive(Clone, Default, Debug)]
pub(super) struct Block {
    pub(super) arguments: Vec<(Value, String)>,
    pub(super) ops: Vec<Op>,
}

/// An operation. Only terminators have no results.
#[derive(Clone, Debug)]
pub(super) struct Op {
    pub(super) results: Vec<Value>,
    pub(super) parts: Vec<Part>,
    /// The layer that the operation belongs to, as an index into the places of the module.
    pub(super) place: usize,
}

/// The parts of an operation, built piece by piece.
pub(super) trait Parts {
    fn add_to(self, parts: &mut Vec<Part>);
}

impl Parts for &str {
    fn add_to(self, parts: &mut Vec<Part>) {
        match parts.last_mut() {
            Some(Part::Text(text)) => text.push_str(self),
            _ => parts.push(Part::Text(self.to_string())),
        }
    }
}

impl Parts for String {
    fn add_to(self, parts: &mut Vec<Part>) {
        self.as_str().add_to(parts);
    }
}

impl Parts for usize {
    fn add_to(self, parts: &mut Vec<Part>) {
        self.to_string().add_to(parts);
    }
}

impl Parts for &TensorType {
    fn add_to(self, parts: &mut Vec<Part>) {
        self.to_string().add_to(parts);
    }
}

impl Parts for Value {
    fn add_to(self, parts: &mut Vec<Part>) {
        parts.push(Part::Value(self));
    }
}

impl Parts for Num {
    fn add_to(self, parts: &mut Vec<Part>) {
        match self {
            Num::Const(number) => number.to_string().add_to(parts),
            Num::Value(value) => value.add_to(parts),
        }
    }
}

impl Parts for Part {
    fn add_to(self, parts: &mut Vec<Part>) {
        parts.push(self);
    }
}

impl Parts for Block {
    fn add_to(self, parts: &mut Vec<Part>) {
        parts.push(Part::Block(self));
    }
}

/// A list with commas.
impl<T: Parts + Clone> Parts for &[T] {
    fn add_to(self, parts: &mut Vec<Part>) {
        for (i, part) in self.iter().enumerate() {
            if i > 0 {
                ", ".add_to(parts);
            }
            part.clone().add_to(parts);
        }
    }
}

impl<T: Parts + Clone> Parts for &Vec<T> {
    fn add_to(self, parts: &mut Vec<Part>) {
        self.as_slice().add_to(parts);
    }
}

/// Joins parts to the text of an operation.
macro_rules! parts {
    ($($part:expr),* $(,)?) => {{
        let mut parts = Vec::new();
        $($crate::linalg::code::Parts::add_to($part, &mut parts);)*
        parts
    }};
}
pub(super) use parts;

/// Types, separated by commas.
pub(super) fn list<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

/// Builds the operations of a function.
#[derive(Default)]
pub(super) struct Code {
    /// The preferred name of each value; an empty name becomes a number.
    pub(super) names: Vec<String>,
    /// The operations of the innermost open block so far.
    ops: Vec<Op>,
    /// Operations on numbers that were written so far, by their text and operands.
    numbers: ScopedMap<(String, Vec<Num>), Value>,
    /// The operands of sums of numbers.
    pub(super) sums: HashMap<Value, [Num; 2]>,
    /// The text of each affine map.
    pub(super) maps: Vec<String>,
    map_places: HashMap<String, usize>,
    /// Large constants.
    pub(super) resources: Vec<(String, snick_tensor::Tensor)>,
    /// The place of the operations that are written now.
    pub(super) place: usize,
}

/// The state outside of an open block.
pub(super) struct Outside {
    ops: Vec<Op>,
    numbers: usize,
}

impl Code {
    /// A new value.
    pub(super) fn value(&mut self, name: &str) -> Value {
        self.names.push(name.to_string());
        Value(self.names.len() - 1)
    }

    /// An operation with one result.
    pub(super) fn op(&mut self, name: &str, parts: Vec<Part>) -> Value {
        let result = self.value(name);
        self.push(vec![result], parts);
        result
    }

    /// An operation with any number of results.
    pub(super) fn push(&mut self, results: Vec<Value>, parts: Vec<Part>) {
        self.ops.push(Op { results, parts, place: self.place });
    }

    /// An operation on numbers, which is written once per block.
    pub(super) fn once(&mut self, text: &str, operands: &[Num], parts: Vec<Part>) -> Value {
        let key = (text.to_string(), operands.to_vec());
        if let Some(&known) = self.numbers.get(&key) {
            return known;
        }
        let result = self.op("", parts);
        self.numbers.insert(key, result);
        result
    }

    /// An affine map such as `(d0, d1) -> (d1, d0)`.
    pub(super) fn map(&mut self, text: String) -> Part {
        let next = self.maps.len();
        let place = *self.map_places.entry(text.clone()).or_insert(next);
        if place == next {
            self.maps.push(text);
        }
        Part::Map(place)
    }

    /// Opens a block.
    pub(super) fn open(&mut self) -> Outside {
        Outside { ops: std::mem::take(&mut self.ops), numbers: self.numbers.mark() }
    }

    /// Closes the innermost block.
    pub(super) fn close(&mut self, outside: Outside, arguments: Vec<(Value, String)>) -> Block {
        self.numbers.forget(outside.numbers);
        Block { arguments, ops: std::mem::replace(&mut self.ops, outside.ops) }
    }

    /// The operations of the function, without unused ones.
    pub(super) fn finish(&mut self) -> Vec<Op> {
        let mut used = vec![false; self.names.len()];
        let mut ops = std::mem::take(&mut self.ops);
        remove_unused(&mut ops, &mut used);
        ops
    }
}

/// Removes operations without used results. All operations are free of side effects.
fn remove_unused(ops: &mut Vec<Op>, used: &mut [bool]) {
    let mut kept: Vec<Op> = Vec::with_capacity(ops.len());
    for mut op in std::mem::take(ops).into_iter().rev() {
        if op.results.is_empty() || op.results.iter().any(|result| used[result.0]) {
            for part in &mut op.parts {
                match part {
                    Part::Value(value) => used[value.0] = true,
                    Part::Block(block) => remove_unused(&mut block.ops, used),
                    Part::Text(_) | Part::Map(_) | Part::Resource(_) => {}
                }
            }
            kept.push(op);
        }
    }
    kept.reverse();
    *ops = kept;
}
