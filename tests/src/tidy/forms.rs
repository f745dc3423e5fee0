//! Code patterns to avoid.

use super::{Source, library_sources};

/// Only readers, which map names in files to ops, create ops by name. Elsewhere, the compiler must find
/// typos.
#[test]
fn only_readers_name_ops_by_strings() {
    let is_named = |source: &&Source| source.krate() != "snick-read" && source.code().contains("make(\"");
    let found: Vec<String> =
        library_sources().iter().filter(is_named).map(|source| source.path.clone()).collect();
    assert!(found.is_empty(), "ops are made by name in {found:?}");
}

/// The number of inputs is checked before an op is evaluated: missing inputs are an error rather than an
/// empty result.
#[test]
fn no_op_evaluates_to_nothing_without_its_inputs() {
    let is_silent = |source: &&Source| {
        let code = source.code().split_whitespace().collect::<Vec<_>>().join(" ");
        ["Vec::new()", "vec![]"].iter().any(|none| code.contains(&format!("else {{ return Ok({none}) }}")))
    };
    let ops =
        library_sources().into_iter().filter(|source| source.path.starts_with("crates/snick-ir/src/ops/"));
    let found: Vec<String> =
        ops.collect::<Vec<_>>().iter().filter(is_silent).map(|source| source.path.clone()).collect();
    assert!(found.is_empty(), "without its inputs an op gives nothing in {found:?}");
}
