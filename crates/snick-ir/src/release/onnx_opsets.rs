//! The operators of ONNX's opsets: versions, types and attributes.
//!
//! `onnx.txt` is made by `tests/comparison/releases.py` from the schemas of the package `onnx`. Lines:
//!
//! - `opset OPSET IR`: the IR version that was released with an opset.
//! - `type SYMBOL TYPE` and `set SYMBOL TYPES`: abbreviations, TYPES being symbols of types.
//! - `OPERATOR VERSION SIGNATURE +ATTR... -ATTR... VERSION...`: the versions of an operator with the symbols of
//!   the sets of element types that each input and, after `>`, each output may have. `+` follows a port that
//!   can be repeated; the signature `-` stands for a deprecated version. Then the attributes that the version
//!   adds and drops. The oldest opset uses the first version.

use std::str::Split;
use std::sync::LazyLock;

use snick_tensor::ElementType;

/// A version of an operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperatorVersion {
    /// The opset that defines it.
    pub since: i64,
    /// Whether it is deprecated, so that files should not use it.
    pub is_deprecated: bool,
    /// Attributes that the version before lacks.
    pub added: Vec<&'static str>,
    /// Attributes of the version before that this one lacks.
    pub dropped: Vec<&'static str>,
    inputs: Ports,
    outputs: Ports,
}

/// Sets of element types by port.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Ports {
    sets: Vec<char>,
    /// Whether the last port can be repeated.
    is_variadic: bool,
}

#[derive(Default, Debug)]
struct Table {
    /// Ascending: opset and IR version.
    opsets: Vec<(i64, i64)>,
    types: Vec<(char, &'static str)>,
    sets: Vec<(char, &'static str)>,
    /// Sorted by name.
    operators: Vec<(&'static str, Vec<OperatorVersion>)>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::default();
    for line in include_str!("onnx.txt").lines() {
        let _ = table.add(line);
    }
    table
});

/// The known opsets, ascending.
///
/// ```
/// use snick::onnx_opsets;
///
/// assert_eq!(onnx_opsets::known().next(), Some(11));
/// ```
pub fn known() -> impl Iterator<Item = i64> {
    TABLE.opsets.iter().map(|(opset, _)| *opset)
}

/// The IR version that was released with an opset.
///
/// ```
/// use snick::onnx_opsets::ir_version;
///
/// assert_eq!(ir_version(17), Some(8));
/// assert_eq!(ir_version(10), None);
/// ```
pub fn ir_version(opset: i64) -> Option<i64> {
    TABLE.opsets.iter().find(|(known, _)| *known == opset).map(|(_, version)| *version)
}

/// The operators, sorted by name.
pub fn operators() -> Vec<&'static str> {
    TABLE.operators.iter().map(|(name, _)| *name).collect()
}

/// The versions of an operator that the known opsets use, ascending; empty if there is no such operator.
pub fn versions(operator: &str) -> &'static [OperatorVersion] {
    let found = TABLE.operators.binary_search_by_key(&operator, |(name, _)| name);
    found.ok().and_then(|at| TABLE.operators.get(at)).map_or(&[], |(_, versions)| versions)
}

/// The version of an operator that an opset uses.
///
/// ```
/// use snick::onnx_opsets::version;
///
/// assert_eq!(version("Pad", 12).map(|version| version.since), Some(11));
/// assert_eq!(version("LayerNormalization", 16), None);
/// ```
pub fn version(operator: &str, opset: i64) -> Option<&'static OperatorVersion> {
    versions(operator).iter().rev().find(|version| version.since <= opset)
}

impl OperatorVersion {
    /// Whether input `port` may be a tensor of this type.
    pub fn is_input_type(&self, port: usize, element_type: ElementType) -> bool {
        self.inputs.allow(port, element_type)
    }

    /// Whether output `port` may be a tensor of this type.
    pub fn is_output_type(&self, port: usize, element_type: ElementType) -> bool {
        self.outputs.allow(port, element_type)
    }

    /// The only type that output `port` may have, for example `i64` for `Shape`.
    pub fn only_output_type(&self, port: usize) -> Option<ElementType> {
        let types = self.outputs.types(port)?;
        let mut known =
            ElementType::ALL.into_iter().filter(|&element_type| self.is_output_type(port, element_type));
        known.next().filter(|_| types.chars().count() == 1)
    }

    /// The largest number of inputs, if it is limited.
    pub fn max_inputs(&self) -> Option<usize> {
        (!self.inputs.is_variadic).then_some(self.inputs.sets.len())
    }

    fn new(since: i64, signature: &str) -> Option<Self> {
        let is_deprecated = signature == "-";
        let (inputs, outputs) = if is_deprecated { ("", "") } else { signature.split_once('>')? };
        let [inputs, outputs] = [inputs, outputs].map(|side| Ports {
            sets: side.chars().filter(|&symbol| symbol != '+').collect(),
            is_variadic: side.ends_with('+'),
        });
        Some(Self { since, is_deprecated, added: Vec::new(), dropped: Vec::new(), inputs, outputs })
    }
}

impl Ports {
    /// The symbols of the types that a port may have.
    fn types(&self, port: usize) -> Option<&'static str> {
        let last = self.sets.len().saturating_sub(1);
        let port = if self.is_variadic { port.min(last) } else { port };
        self.sets.get(port).and_then(|&set| meaning(&TABLE.sets, set))
    }

    fn allow(&self, port: usize, element_type: ElementType) -> bool {
        let name = Some(name_of(element_type));
        let is_of_name = |symbol| meaning(&TABLE.types, symbol) == name;
        self.types(port).is_some_and(|types| types.chars().any(is_of_name))
    }
}

/// The name of an element type in ONNX, or in snick if ONNX does not have it.
fn name_of(element_type: ElementType) -> &'static str {
    use ElementType::{
        BF16, Boolean, F4E2M1, F8E4M3, F8E5M2, F8E8M0, F16, F32, F64, I4, I8, I16, I32, I64, U2, U4, U8, U16,
        U32, U64,
    };
    match element_type {
        BF16 => "bfloat16",
        Boolean => "bool",
        F4E2M1 => "float4e2m1",
        F8E4M3 => "float8e4m3fn",
        F8E5M2 => "float8e5m2",
        F8E8M0 => "float8e8m0",
        F16 => "float16",
        F32 => "float",
        F64 => "double",
        I4 => "int4",
        I8 => "int8",
        I16 => "int16",
        I32 => "int32",
        I64 => "int64",
        U2 => "uint2",
        U4 => "uint4",
        U8 => "uint8",
        U16 => "uint16",
        U32 => "uint32",
        U64 => "uint64",
        other => other.name(),
    }
}

/// What a symbol stands for.
fn meaning(abbreviations: &[(char, &'static str)], symbol: char) -> Option<&'static str> {
    abbreviations.iter().find(|(other, _)| *other == symbol).map(|(_, meaning)| *meaning)
}

/// A symbol and what it stands for.
fn abbreviation(mut words: Split<'static, char>) -> Option<(char, &'static str)> {
    Some((words.next()?.chars().next()?, words.next()?))
}

impl Table {
    /// Adds a line; `None` if it is malformed.
    fn add(&mut self, line: &'static str) -> Option<()> {
        let mut words = line.split(' ');
        match words.next()? {
            "#" => {}
            "opset" => self.opsets.push((words.next()?.parse().ok()?, words.next()?.parse().ok()?)),
            "type" => self.types.extend([abbreviation(words)?]),
            "set" => self.sets.extend([abbreviation(words)?]),
            operator => {
                let mut versions: Vec<OperatorVersion> = Vec::new();
                while let Some(word) = words.next() {
                    if let Some(added) = word.strip_prefix('+') {
                        versions.last_mut()?.added.push(added);
                    } else if let Some(dropped) = word.strip_prefix('-') {
                        versions.last_mut()?.dropped.push(dropped);
                    } else {
                        versions.push(OperatorVersion::new(word.parse().ok()?, words.next()?)?);
                    }
                }
                self.operators.push((operator, versions));
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_understood() {
        let mut table = Table::default();
        for line in include_str!("onnx.txt").lines() {
            assert_eq!(table.add(line), Some(()), "{line}");
        }
        for line in ["opset new 8", "Abs 13", "Abs 13 A", "Abs +axes", "type A"] {
            assert_eq!(table.add(line), None, "{line}");
        }
        let opsets: Vec<_> = known().collect();
        assert!(opsets.is_sorted());
        assert!(operators().is_sorted());
        for operator in operators() {
            assert!(versions(operator).iter().map(|version| version.since).is_sorted(), "{operator}");
        }
    }

    #[test]
    fn versions_have_the_types_and_attributes_of_their_opset() {
        let since = |operator, opset| version(operator, opset).unwrap();
        assert_eq!((since("Reshape", 13).since, since("Reshape", 14).since), (13, 14));
        assert_eq!(since("Reshape", 14).added, ["allowzero"]);
        assert_eq!(since("ReduceMean", 18).dropped, ["axes"]);
        assert!(
            since("Add", 13).is_input_type(1, ElementType::BF16)
                && !since("Add", 12).is_input_type(1, ElementType::BF16)
        );
        assert!(
            since("Concat", 13).is_input_type(7, ElementType::BF16)
                && !since("Add", 13).is_input_type(2, ElementType::F32)
        );
        assert!(
            since("Shape", 13).is_output_type(0, ElementType::I64)
                && !since("Shape", 13).is_output_type(0, ElementType::I32)
        );
        assert_eq!(since("Shape", 13).only_output_type(0), Some(ElementType::I64));
        assert_eq!(since("Abs", 13).only_output_type(0), None);
        assert_eq!((since("Split", 11).max_inputs(), since("Split", 13).max_inputs()), (Some(1), Some(2)));
        assert_eq!(since("Concat", 13).max_inputs(), None);
        assert!(since("Upsample", 11).is_deprecated);
        assert_eq!(version("Gelu", 19), None);
        assert!(versions("Nothing").is_empty());
    }
}
