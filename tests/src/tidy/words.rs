//! Words and forms that the code does without.

use super::{Source, library_sources};

/// Names that mean nothing to a reader who knows the field; `docs/glossary.md` has the terms in their place.
const PRIVATE_TYPES: [&str; 26] = [
    "AxisCut",
    "Built",
    "Chain",
    "Combination",
    "Draw",
    "Form",
    "Got",
    "Halves",
    "How",
    "LACKING",
    "Landed",
    "Left",
    "Link",
    "Named",
    "Numpy",
    "OF_REALS",
    "OpenAxes",
    "Passage",
    "Picks",
    "Refuted",
    "Second",
    "Settings",
    "Whole",
    "Witness",
    "Work",
    "Written",
];

const PRIVATE_FUNCTIONS: [&str; 13] = [
    "draws",
    "follow",
    "follows",
    "forward",
    "land",
    "pins",
    "settle",
    "specialised",
    "sweep",
    "trimmed",
    "uncovered",
    "unfolded",
    "unless",
];

/// Private names that stay, each with a line in the glossary.
const KEPT: [&str; 0] = [];

/// Whether `code` defines an item of one of these kinds with this name.
fn defines(code: &str, kinds: &[&str], name: &str) -> bool {
    kinds.iter().any(|kind| {
        code.split(&format!("{kind} {name}"))
            .skip(1)
            .any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

#[test]
fn no_item_has_a_private_name() {
    let mut found = Vec::new();
    for source in library_sources() {
        let code = source.code();
        let types = ["struct", "enum", "trait", "type", "union", "const", "static"];
        let types = PRIVATE_TYPES.iter().filter(|name| defines(&code, &types, name));
        let functions = PRIVATE_FUNCTIONS.iter().filter(|name| defines(&code, &["fn"], name));
        let private = types.chain(functions).filter(|name| !KEPT.contains(name));
        found.extend(private.map(|name| format!("{}: {name}", source.path)));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A typo in the type of an op is an error of the compiler, except where a reader maps names.
#[test]
fn only_readers_name_ops_by_strings() {
    let is_named = |source: &&Source| source.krate() != "snick-read" && source.code().contains("make(\"");
    let found: Vec<String> =
        library_sources().iter().filter(is_named).map(|source| source.path.clone()).collect();
    assert!(found.is_empty(), "ops are made by name in {found:?}");
}

/// The number of inputs is checked before an op is evaluated: what it does not have is an error, and not no output.
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
