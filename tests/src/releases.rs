//! The page about releases shows the table of releases.

use std::collections::BTreeMap;
use std::fmt::Write;

use snick_ir::{Release, Version, onnx_opsets, op_support};

use crate::documentation::check_documented;

const TABLE: &str = include_str!("../../crates/snick-ir/src/release/openvino.txt");

/// The lines of a kind, without the kind.
fn lines(kind: &str) -> impl Iterator<Item = &'static str> + use<'_> {
    TABLE.lines().filter_map(move |line| line.strip_prefix(kind)?.strip_prefix(' '))
}

/// Names by release, for lines of the form `KIND RELEASE NAME...`.
fn names_by_release(kind: &str) -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (release, names) in lines(kind).filter_map(|line| line.split_once(' ')) {
        found.entry(release).or_default().extend(names.split(' '));
    }
    found
}

/// The operations with the set that defines them.
fn operations() -> Vec<(&'static str, Version)> {
    let mut found = Vec::new();
    for line in lines("reads") {
        let mut words = line.split(' ').skip(1);
        let version = Version::from_ir(words.next().unwrap());
        found.extend(words.map(|op| (op, version.clone())));
    }
    let number = |version: &Version| matches!(version, Version::Opset(_)).then(|| version.to_string().len());
    found.sort_by_key(|(op, version)| (*op, number(version), version.to_string()));
    found
}

/// The matrix of operations by release, without the operations that all releases run.
fn matrix() -> String {
    let releases = Release::known();
    let (oldest, later) = releases.split_first().unwrap();
    let columns: Vec<String> = later.iter().map(Release::to_string).collect();
    let mut text = format!("| operation | {} |\n|---|{}\n", columns.join(" | "), "---|".repeat(later.len()));
    let mut of_oldest: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (op, version) in operations() {
        let support = op_support(op, &version).unwrap();
        if support.runs == Some(*oldest) {
            of_oldest.entry(version.to_string()).or_default().push(op);
            continue;
        }
        let mark = |release: &Release| match support {
            _ if support.runs.is_some_and(|runs| runs <= *release) => "●",
            _ if support.reads <= *release => "○",
            _ => "",
        };
        let marks: Vec<&str> = later.iter().map(mark).collect();
        writeln!(text, "| {op} {version} | {} |", marks.join(" | ")).unwrap();
    }
    writeln!(text, "\nAll of them run these:\n").unwrap();
    for (set, ops) in of_oldest {
        writeln!(text, "- {set}: {}", ops.join(", ")).unwrap();
    }
    text
}

/// Types, attributes, numbers of inputs and features, by release.
fn other() -> String {
    let mut text = String::new();
    for (kind, heading) in [
        ("type", "element types of inputs and outputs"),
        ("constant", "constants of these types with correct values"),
        ("conversion", "conversions from floats to these types"),
    ] {
        writeln!(text, "| release | {heading} |\n|---|---|").unwrap();
        for (release, names) in names_by_release(kind) {
            writeln!(text, "| {release} | {} |", names.join(", ")).unwrap();
        }
        text.push('\n');
    }
    writeln!(text, "| release | feature |\n|---|---|").unwrap();
    for (release, name) in lines("feature").filter_map(|line| line.split_once(' ')) {
        writeln!(text, "| {release} | {name} |").unwrap();
    }
    writeln!(text, "\n| release | operation | inputs or attributes |\n|---|---|---|").unwrap();
    for (kind, noun) in [("inputs", " inputs"), ("attribute", "")] {
        for line in lines(kind) {
            let [release, op, values] = line.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
            let values = values.replace(' ', ", ");
            writeln!(text, "| {release} | {} | {values}{noun} |", op.replace('-', " ")).unwrap();
        }
    }
    text
}

/// The opsets of ONNX with the operators that each defines or redefines.
fn onnx() -> String {
    let mut text = "| opset | IR version | new or changed operators |\n|---|---|---|\n".to_string();
    let oldest = onnx_opsets::known().next();
    for opset in onnx_opsets::known() {
        let is_changed = |op: &&str| onnx_opsets::versions(op).iter().any(|version| version.since == opset);
        let changed: Vec<&str> = onnx_opsets::operators().into_iter().filter(is_changed).collect();
        let changed = if Some(opset) == oldest { "(all older ones)".to_string() } else { changed.join(", ") };
        writeln!(text, "| {opset} | {} | {changed} |", onnx_opsets::ir_version(opset).unwrap()).unwrap();
    }
    text
}

#[test]
fn the_page_shows_the_table() {
    check_documented("matrix of operations", &matrix());
    check_documented("types and features", &other());
    check_documented("ONNX opsets", &onnx());
}
