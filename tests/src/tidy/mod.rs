//! House rules that no compiler checks.

mod circles;
mod crates;
mod forms;
mod packages;
mod sizes;
mod unsafe_code;
mod workflows;

use std::fs;
use std::path::{Path, PathBuf};

use crate::files::{self, root};

/// A file of the workspace, with its path from the root.
struct Source {
    path: String,
    text: String,
}

impl Source {
    /// The crate's folder name; `tests` for the integration tests.
    fn krate(&self) -> &str {
        self.path.strip_prefix("crates/").unwrap_or(&self.path).split('/').next().unwrap()
    }

    /// The text without unit tests, which come last.
    fn without_tests(&self) -> &str {
        self.text.find("\n#[cfg(test)]\nmod ").map_or(&*self.text, |at| &self.text[..at + 1])
    }

    /// [`Source::without_tests`] without comments.
    fn code(&self) -> String {
        let code = |line: &str| line.split("//").next().unwrap_or_default().to_string() + "\n";
        self.without_tests().lines().map(code).collect()
    }
}

fn read(path: &Path) -> Source {
    let text = fs::read_to_string(path).unwrap();
    Source { path: path.strip_prefix(root()).unwrap().to_str().unwrap().to_string(), text }
}

/// The Rust files of the workspace.
fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    ["crates", "examples", "tests", "xtask"]
        .iter()
        .for_each(|folder| files::walk(&root().join(folder), &mut found));
    let found: Vec<PathBuf> = files::with_extension(found, "rs");
    assert!(found.len() > 50, "the sources were not found");
    found.iter().map(|path| read(path)).collect()
}

/// The Rust files of the crates, except files with only tests.
fn library_sources() -> Vec<Source> {
    let mut sources = sources();
    let is_test = |path: &str| path.ends_with("/tests.rs") || path.contains("/tests/");
    sources.retain(|source| {
        source.path.contains("/src/") && source.path.starts_with("crates/") && !is_test(&source.path)
    });
    sources
}

#[test]
fn every_file_begins_with_a_description() {
    let silent: Vec<String> = sources()
        .into_iter()
        .filter(|source| !source.text.starts_with("//!"))
        .map(|source| source.path)
        .collect();
    assert!(silent.is_empty(), "no `//!` line at the top of {silent:?}");
}

/// `missing_docs` is a warning in the workspace and an error in `.ci/run`.
#[test]
fn every_public_item_is_documented() {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(workspace.contains("missing_docs = \"warn\""));
    for folder in files::entries(&root().join("crates")) {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[lints]\nworkspace = true"), "{} has lints of its own", folder.display());
    }
}

#[test]
fn no_test_is_ignored_and_no_code_is_unfinished() {
    let words = [["#[ig", "nore"].concat(), ["to", "do!("].concat(), ["unimple", "mented!("].concat()];
    for source in sources() {
        for word in &words {
            assert!(!source.text.contains(word.as_str()), "{}: {word}", source.path);
        }
    }
}
