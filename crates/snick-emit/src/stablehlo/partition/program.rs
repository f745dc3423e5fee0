//! Parses the operations of a module from its text, with their operands, results and static sizes.

use std::collections::HashMap;

use super::elementwise::is_elementwise;
use super::{PartitionError, ValueId};
use crate::stablehlo::module::Module;

/// An argument, or the result of an operation.
#[derive(Clone, Debug)]
pub(super) struct Value {
    /// The name without the `%`.
    pub(super) name: String,
    pub(super) bits: usize,
    pub(super) dims: Vec<usize>,
}

impl Value {
    /// The bytes of this many elements.
    pub(super) fn bytes_of(&self, elements: usize) -> u64 {
        (elements as u64).saturating_mul(self.bits as u64).div_ceil(8)
    }
}

/// An operation.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    /// The name of the operation without its dialect: `add` for `stablehlo.add`.
    pub(super) op: String,
    pub(super) operands: Vec<ValueId>,
    pub(super) results: Vec<ValueId>,
    /// The text of the whole statement.
    text: String,
    /// Whether it only depends on constants. If so, each use computes the shard that it needs.
    pub(super) is_constant: bool,
}

impl Operation {
    /// The numbers in brackets after a word, as in `dims = [0, 1]`.
    pub(super) fn list(&self, word: &str) -> Option<Vec<usize>> {
        self.lists(word).map(|[first, _]| first)
    }

    /// The numbers in the two pairs of brackets after a word, as in `contracting_dims = [1] x [0]`.
    pub(super) fn lists(&self, word: &str) -> Option<[Vec<usize>; 2]> {
        let rest = self.behind(word)?.strip_prefix('[')?;
        let (first, rest) = rest.split_once(']')?;
        let second = rest.strip_prefix(" x [").and_then(|rest| rest.split(']').next()).unwrap_or_default();
        Some([numbers(first), numbers(second)])
    }

    /// The number after a word, as in `dimension = 1`.
    pub(super) fn number(&self, word: &str) -> Option<usize> {
        let rest = self.behind(word)?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse().ok()
    }

    /// The start and step for each dim of a slice, as in `[0:4, 1:9:2]`.
    pub(super) fn ranges(&self) -> Option<Vec<(usize, usize)>> {
        let (_, rest) = self.text.split_once('[')?;
        let (ranges, _) = rest.split_once(']')?;
        let parse = |number: Option<&str>| number.map_or(Some(1), |number| number.trim().parse().ok());
        let range = |text: &str| {
            let mut parts = text.split(':');
            let start = parts.next()?.trim().parse().ok()?;
            Some((start, parse(parts.nth(1))?))
        };
        ranges.split(',').filter(|range| !range.trim().is_empty()).map(range).collect()
    }

    fn behind(&self, word: &str) -> Option<&str> {
        let pattern = format!("{word} = ");
        let mut places = self.text.match_indices(&pattern).map(|(at, _)| at);
        let starts = |at: &usize| !self.text[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        places.find(starts).map(|at| &self.text[at + pattern.len()..])
    }
}

fn numbers(list: &str) -> Vec<usize> {
    list.split(',').filter_map(|number| number.trim().parse().ok()).collect()
}

/// The operations of a module with static sizes.
///
/// ```
/// # use snick_emit::stablehlo::{self, Program};
/// let text = r#"snick 1
/// graph "product" {
///   %x = Parameter-1 {element_type: f32, shape: "4,8"}
///   %w = Parameter-1 {element_type: f32, shape: "8,2"}
///   %p = MatMul-1(%x, %w) {transpose_a: false, transpose_b: false}
///   %y = Result-1(%p)
/// }
/// "#;
/// let mut graph = snick_ir::text::parse(text, None)?;
/// assert!(snick_ir::infer(&mut graph).is_empty());
/// let program = Program::of(&stablehlo::module(&graph, Default::default())?)?;
/// let rows = vec![vec![None, Some("model".to_string())], vec![Some("model".to_string()), None]];
/// let partition = program.partition(&"model=2".parse()?, &rows);
/// // Two devices sum 4 x 2 numbers: each device sends half of them twice.
/// assert_eq!(partition.sent(), 32);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) values: Vec<Value>,
    /// The values of the arguments, in order.
    pub(super) arguments: Vec<ValueId>,
    pub(super) operations: Vec<Operation>,
    pub(super) results: Vec<ValueId>,
    /// For each value, the operations that define or use it.
    pub(super) touching: Vec<Vec<usize>>,
    pub(super) constant: Vec<bool>,
}

/// The values and statements parsed so far.
#[derive(Default)]
struct Reading {
    values: Vec<Value>,
    constant: Vec<bool>,
    by_name: HashMap<String, ValueId>,
}

impl Reading {
    fn add(&mut self, name: &str, ty: &str, constant: bool) -> Result<ValueId, PartitionError> {
        let (bits, dims) = type_of(name, ty)?;
        let id = self.values.len();
        self.values.push(Value { name: name.into(), bits, dims });
        self.constant.push(constant);
        self.by_name.insert(name.into(), id);
        Ok(id)
    }

    /// The values whose names occur in a text.
    fn named_in(&self, text: &str) -> Vec<ValueId> {
        let ends = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '-' | '#'));
        let names = text.split('%').skip(1).map(|rest| &rest[..rest.find(ends).unwrap_or(rest.len())]);
        names.filter_map(|name| self.by_name.get(name).copied()).collect()
    }
}

impl Program {
    /// Reads the operations of a module.
    ///
    /// # Errors
    /// A value has a dynamic size.
    pub fn of(module: &Module) -> Result<Self, PartitionError> {
        let mut reading = Reading::default();
        let mut arguments = Vec::new();
        for argument in &module.arguments {
            arguments.push(reading.add(argument.value.trim_start_matches('%'), &argument.ty, false)?);
        }
        let mut operations = Vec::new();
        for text in statements(&module.body.text) {
            operations.push(operation(&text, &mut reading)?);
        }
        let results = module.returned.iter().flat_map(|[name, _]| reading.named_in(name)).collect();
        let mut touching = vec![Vec::new(); reading.values.len()];
        for (at, operation) in operations.iter().enumerate() {
            for &value in operation.operands.iter().chain(&operation.results) {
                if touching[value].last() != Some(&at) {
                    touching[value].push(at);
                }
            }
        }
        let Reading { values, constant, .. } = reading;
        Ok(Self { values, arguments, operations, results, touching, constant })
    }
}

/// The statements of a function, each with its regions.
fn statements(body: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in body.lines() {
        match (line.starts_with("    %"), all.last_mut()) {
            (false, Some(statement)) => {
                statement.push('\n');
                statement.push_str(line);
            }
            _ => all.push(line.into()),
        }
    }
    all
}

fn operation(text: &str, reading: &mut Reading) -> Result<Operation, PartitionError> {
    let text = text.trim_start().trim_start_matches('%');
    let (given, text) = text.split_once(" = ").unwrap_or(("", text));
    let (name, count) =
        given.split_once(':').map_or((given, None), |(name, count)| (name, count.parse::<usize>().ok()));
    let first_line = text.lines().next().unwrap_or_default();
    let op = first_line.split([' ', '(']).next().unwrap_or_default();
    let op = op.trim_matches('"').trim_start_matches("stablehlo.").to_string();
    // The types of a loop come after its first line; other operations have them at the end.
    let signed = if op == "while" { first_line } else { text };
    let (head, signature) = signed.rsplit_once(" : ").unwrap_or((signed, ""));
    let head = head.lines().next().unwrap_or_default();
    let types = types(signature.rsplit_once("->").map_or(signature, |(_, results)| results));
    let types = if count.is_none() { types.split_at(types.len().saturating_sub(1)).1 } else { &types };
    let operands = match op.as_str() {
        // The operand of a constant is a literal, not a name.
        "constant" => Vec::new(),
        _ => reading.named_in(head),
    };
    let is_free = matches!(op.as_str(), "constant" | "iota")
        || (!operands.is_empty()
            && spreads_constants(&op)
            && operands.iter().all(|&value| reading.constant[value]));
    let mut results = Vec::new();
    for (at, ty) in types.iter().enumerate() {
        let name = if count.is_some() { format!("{name}#{at}") } else { name.to_string() };
        results.push(reading.add(&name, ty, is_free)?);
    }
    Ok(Operation { op, operands, results, text: text.into(), is_constant: is_free })
}

/// Whether each use of such an operation on constants recomputes it, so that uses can be sharded
/// independently.
fn spreads_constants(op: &str) -> bool {
    is_elementwise(op) || matches!(op, "broadcast_in_dim" | "reshape" | "transpose" | "slice" | "convert")
}

/// The content of each `tensor<..>` in a signature.
fn types(signature: &str) -> Vec<&str> {
    let inner = |part: &'_ str| part.find('>');
    signature.split("tensor<").skip(1).filter_map(|part| inner(part).map(|end| &part[..end])).collect()
}

/// The bits per element and the dims of a type such as `4x6xf32`.
fn type_of(name: &str, ty: &str) -> Result<(usize, Vec<usize>), PartitionError> {
    let ty = ty.trim_start_matches("tensor<").trim_end_matches('>');
    let (dims, element) = ty.rsplit_once('x').unwrap_or(("", ty));
    let sizes = dims.split('x').filter(|dim| !dim.is_empty());
    let sizes: Option<Vec<usize>> = sizes.map(|dim| dim.parse().ok()).collect();
    let dims = sizes.ok_or_else(|| PartitionError::Dynamic { value: name.into() })?;
    Ok((bits(element), dims))
}

/// The bits of an element type such as `f32`, `ui4`, `bf16` or `f8E4M3FN`; `i1` takes a byte.
fn bits(element: &str) -> usize {
    let digits = element.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    match digits[..end].parse() {
        Ok(1) | Err(_) => 8,
        Ok(bits) => bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_bits_and_sizes() {
        for (ty, bits, dims) in [
            ("tensor<4x6xf32>", 32, vec![4, 6]),
            ("tensor<i1>", 8, vec![]),
            ("2x3xui4", 4, vec![2, 3]),
            ("tensor<5xf8E4M3FN>", 8, vec![5]),
            ("tensor<5xbf16>", 16, vec![5]),
        ] {
            assert_eq!(type_of("x", ty).unwrap(), (bits, dims), "{ty}");
        }
        assert!(type_of("x", "tensor<?x6xf32>").is_err());
    }

    #[test]
    fn lists_are_found_by_whole_words() {
        let text = "%x, %y, batching_dims = [0] x [1], contracting_dims = [2] x [3, 4]".to_string();
        let operation =
            Operation { op: String::new(), operands: vec![], results: vec![], text, is_constant: false };
        assert_eq!(operation.lists("contracting_dims"), Some([vec![2], vec![3, 4]]));
        assert_eq!(operation.list("batching_dims"), Some(vec![0]));
        assert_eq!(operation.list("dims"), None);
        let text = "%y = stablehlo.slice %x [0:8, 3:9:2] : (tensor<8x9xf32>) -> tensor<8x3xf32>".to_string();
        assert_eq!(Operation { text, ..operation }.ranges(), Some(vec![(0, 1), (3, 2)]));
    }
}
