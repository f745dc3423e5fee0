//! House rules that no compiler checks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::files::root;

/// Which crate may depend on which: a line only on lines above it, siblings never on each other.
const ALLOWED: &[(&str, &[&str])] = &[
    ("snick-tensor", &[]),
    ("snick-shape", &[]),
    ("snick-ir", &["snick-tensor", "snick-shape"]),
    ("snick-onnx", &["snick-tensor"]),
    ("snick-read", &["snick-tensor", "snick-shape", "snick-ir", "snick-onnx"]),
    ("snick-pass", &["snick-tensor", "snick-shape", "snick-ir"]),
    ("snick-testing", &["snick-ir", "snick-pass"]),
    ("snick-run", &["snick-tensor", "snick-shape", "snick-ir"]),
    ("snick-emit", &["snick-tensor", "snick-shape", "snick-ir", "snick-onnx"]),
    (
        "snick",
        &["snick-tensor", "snick-shape", "snick-ir", "snick-read", "snick-pass", "snick-run", "snick-emit"],
    ),
];

/// Lines of a source file without its tests.
const MAX_LINES: usize = 500;

#[test]
fn data_flows_one_way() {
    let allowed: BTreeMap<_, _> = ALLOWED.iter().copied().collect();
    let folders = fs::read_dir(root().join("crates")).unwrap().map(|e| e.unwrap().path());
    for folder in folders.filter(|f| f.join("Cargo.toml").exists()) {
        let name = folder.file_name().unwrap().to_str().unwrap().to_string();
        let may =
            allowed.get(name.as_str()).unwrap_or_else(|| panic!("{name} is not in the table of crates"));
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or("");
        let dependencies = dependencies.split("\n[").next().unwrap();
        for line in dependencies.lines().filter(|line| line.starts_with("snick")) {
            let dependency = line.split(['.', ' ', '=']).next().unwrap();
            assert!(may.contains(&dependency), "{name} must not depend on {dependency}");
        }
    }
}

#[test]
fn files_are_short() {
    let long: Vec<String> = sources()
        .into_iter()
        .filter_map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count();
            (lines > MAX_LINES).then(|| format!("{}: {lines} lines", path.display()))
        })
        .collect();
    assert!(long.is_empty(), "longer than {MAX_LINES} lines without tests:\n{}", long.join("\n"));
}

#[test]
fn files_say_what_they_are() {
    let silent: Vec<PathBuf> =
        sources().into_iter().filter(|path| !fs::read_to_string(path).unwrap().starts_with("//!")).collect();
    assert!(silent.is_empty(), "without a `//!` line at the top: {silent:?}");
}

/// A test that is skipped proves nothing, and a case without an end in the code is not done.
#[test]
fn nothing_is_left_open() {
    let words = [["#[ig", "nore"].concat(), ["to", "do!("].concat(), ["unimple", "mented!("].concat()];
    for path in sources() {
        let text = fs::read_to_string(&path).unwrap();
        for word in &words {
            assert!(!text.contains(word.as_str()), "{}: {word}", path.display());
        }
    }
}

/// Mapping files and calling what is compiled for the instructions of this machine are the two things that need
/// `unsafe`.
#[test]
fn unsafe_code_is_in_two_places() {
    let word = ["unsafe", " {"].concat();
    let found = sources().into_iter().filter(|path| fs::read_to_string(path).unwrap().contains(&word));
    let found: Vec<PathBuf> = found.collect();
    let known = |path: &PathBuf| path.ends_with("storage/map.rs") || path.ends_with("kernels/vectors.rs");
    assert!(found.iter().all(known), "{found:?}");
}

fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["crates", "tests"] {
        walk(&root().join(folder), &mut found);
    }
    assert!(found.len() > 50, "the sources were not found");
    found.sort();
    found
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            walk(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}
