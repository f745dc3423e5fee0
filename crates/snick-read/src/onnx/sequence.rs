//! Sequences of tensors, and optional values. The IR has neither, so the reader resolves them: a sequence of
//! known length becomes a list of its elements.

use snick_ir::{OpError, Value};
use snick_onnx as onnx;
use snick_tensor::Tensor;

use super::attribute::attributes;
use super::builder::NodeBuilder;
use super::network::{CallSite, Network, Scope};

/// Maximum length of a sequence, because each element becomes at least one node.
const MAX_ELEMENTS: usize = 1 << 12;

/// The value that a name refers to.
#[derive(Clone)]
enum Item {
    /// A tensor.
    One(Value),
    /// A sequence.
    Many(Vec<Value>),
}

impl Network<'_> {
    /// Resolves a node that produces or consumes a sequence. Returns false for any other node.
    pub(super) fn sequence(
        &mut self,
        node: &onnx::Node,
        name: &str,
        scope: &mut Scope,
        place: &CallSite,
    ) -> Result<bool, OpError> {
        let named = |name: &String| format!("{}{name}", place.prefix);
        let item = |input: &String| match self.sequences.get(&named(input)) {
            Some(elements) => Some(Item::Many(elements.clone())),
            None => scope.get(input).copied().flatten().map(Item::One),
        };
        let items: Vec<Option<Item>> = node.input.iter().map(item).collect();
        let of_sequence = items.iter().any(|item| matches!(item, Some(Item::Many(_))));
        if !of_sequence && !MAKERS.contains(&node.op_type.as_str()) {
            return Ok(false);
        }
        let Some(output) = node.output.first() else { return Ok(false) };
        let attrs = attributes(&node.attribute, place.given, self.tensors)?;
        let ones = items.iter().map(|item| match item {
            Some(Item::One(value)) => Some(*value),
            _ => None,
        });
        let inputs = ones.collect();
        let wanted = vec![true];
        let mut builder = NodeBuilder { inputs, wanted, attrs, ..NodeBuilder::new(&mut self.graph, name) };
        match resolved(&mut builder, &node.op_type, &items)? {
            None => return Ok(false),
            Some(Item::One(value)) => {
                scope.insert(output.clone(), Some(value));
                if place.depth == 0 {
                    self.name_value(value, output);
                }
            }
            Some(Item::Many(elements)) if elements.len() > MAX_ELEMENTS => {
                return Err(OpError::unsupported(format!("a sequence of {} elements", elements.len())));
            }
            Some(Item::Many(elements)) => {
                self.sequences.insert(named(output), elements);
            }
        }
        Ok(true)
    }
}

/// Operators that create a sequence or an optional value, or that test or unwrap an optional value.
const MAKERS: &[&str] = &[
    "Optional",
    "OptionalGetElement",
    "OptionalHasElement",
    "SequenceConstruct",
    "SequenceEmpty",
    "SplitToSequence",
];

/// The output of a node. `None` if the operator neither produces nor consumes sequences.
fn resolved(b: &mut NodeBuilder, op_type: &str, items: &[Option<Item>]) -> Result<Option<Item>, OpError> {
    let many = |i: usize| match items.get(i) {
        Some(Some(Item::Many(elements))) => Ok(elements.clone()),
        _ => Err(OpError::unsupported(format!("input {i} of unknown length"))),
    };
    Ok(Some(match op_type {
        "SequenceEmpty" => {
            b.attrs.int("dtype")?;
            Item::Many(Vec::new())
        }
        "SequenceConstruct" => Item::Many(b.all()?),
        "SequenceInsert" => {
            let (mut elements, new) = (many(0)?, b.input(1)?);
            let at = position(b, 2, elements.len(), elements.len() + 1)?;
            elements.insert(at, new);
            Item::Many(elements)
        }
        "SequenceErase" => {
            let mut elements = many(0)?;
            let at = position(b, 1, elements.len().saturating_sub(1), elements.len())?;
            elements.remove(at);
            Item::Many(elements)
        }
        "SequenceAt" => {
            let elements = many(0)?;
            b.input(1)?;
            let at = position(b, 1, 0, elements.len())?;
            Item::One(elements[at])
        }
        "SequenceLength" => {
            let length = many(0)?.len() as i64;
            Item::One(b.int(length)?)
        }
        "ConcatFromSequence" => Item::One(concat(b, many(0)?)?),
        "SplitToSequence" => Item::Many(split(b)?),
        "OptionalHasElement" => {
            let there = items.first().is_some_and(Option::is_some);
            Item::One(b.constant(Tensor::from_bools(&[], &[there])?)?)
        }
        "Identity" | "Optional" | "OptionalGetElement" => match items.first().cloned().flatten() {
            Some(item) => item,
            None => return Err(OpError::unsupported("an optional value that is empty")),
        },
        _ => return Ok(None),
    }))
}

/// The index that input `i` contains. It must be less than `end`. Negative indices count from the end.
fn position(b: &NodeBuilder, i: usize, default: usize, end: usize) -> Result<usize, OpError> {
    let at = match b.optional(i) {
        None => default as i64,
        Some(value) => {
            let known = b.known_ints(value).and_then(|at| at.first().copied());
            known.ok_or_else(|| OpError::unsupported("a place in a sequence known only at run time"))?
        }
    };
    // As an insertion point, -1 means the position before the last element.
    let from_end = if i == 2 { end.saturating_sub(1) } else { end };
    let at = if at < 0 { at.saturating_add(from_end as i64) } else { at };
    let found = usize::try_from(at).ok().filter(|&at| at < end);
    found
        .ok_or_else(|| OpError::out_of_range("a place in a sequence", at, format!("0 to {}", end as i64 - 1)))
}

fn concat(b: &mut NodeBuilder, mut elements: Vec<Value>) -> Result<Value, OpError> {
    let axis = b.required_int("axis")?;
    if elements.is_empty() {
        return Err(OpError::unsupported("joining no elements"));
    }
    if b.flag_attr("new_axis", false)? {
        for element in &mut elements {
            *element = b.unsqueeze(*element, &[axis])?;
        }
    }
    b.concat(axis, &elements)
}

/// Splits a tensor into parts. If input 1 is a list, it contains the sizes of the parts; if it is a scalar,
/// it is the size of all parts; if it is missing, the size is 1. If `keepdims` is 0, drops the axis.
fn split(b: &mut NodeBuilder) -> Result<Vec<Value>, OpError> {
    let (x, axis, keeps) = (b.input(0)?, b.int_attr("axis", 0)?, b.flag_attr("keepdims", true)?);
    let unknown = || OpError::unsupported("splitting into an unknown number of parts");
    let rank = b.rank(x)?;
    let size = b.fixed_size(x, b.axis(axis, rank)?);
    let (parts, listed) = match b.optional(1) {
        None => (None, false),
        Some(parts) => (Some(b.known_ints(parts).ok_or_else(unknown)?), b.rank(parts)? == 1),
    };
    let sizes = match (parts, listed) {
        (Some(sizes), true) => sizes,
        (part, _) => {
            let part = part.and_then(|part| part.first().copied()).unwrap_or(1);
            let size = size.ok_or_else(unknown)?;
            let whole = size.checked_div(part).filter(|_| part > 0).ok_or_else(unknown)?;
            let count =
                usize::try_from(whole).ok().filter(|&count| count < MAX_ELEMENTS).ok_or_else(unknown)?;
            let rest = size - whole * part;
            vec![part; count].into_iter().chain((rest > 0).then_some(rest)).collect()
        }
    };
    let (at, lengths) = (b.int(axis)?, b.ints(&sizes)?);
    let mut parts = b.add_op_with_outputs(snick_ir::ops::VariadicSplit, &[x, at, lengths], sizes.len())?;
    if b.optional(1).is_none() && !keeps {
        for part in &mut parts {
            *part = b.squeeze(*part, &[axis])?;
        }
    }
    Ok(parts)
}
