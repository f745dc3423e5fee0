//! Dependencies go one way: a crate depends only on crates above it.

use std::fs;

use crate::files::{self, root};

/// The crates; each may depend on those before it.
const CRATES: [&str; 18] = [
    "snick-shape",
    "snick-tensor",
    "snick-text",
    "snick-certificate",
    "snick-ir",
    "snick-onnx",
    "snick-directml",
    "snick-read",
    "snick-pass",
    "snick-run",
    "snick-emit",
    "snick-view",
    "snick",
    "snick-testing-macros",
    "snick-testing",
    "snick-cli",
    "snick-python",
    "snick-web",
];

#[test]
fn crates_depend_only_on_crates_above_them() {
    for folder in files::entries(&root().join("crates")) {
        let name = files::name(&folder);
        let place = CRATES.iter().position(|krate| *krate == name);
        let place = place.unwrap_or_else(|| panic!("{name} is not in the table of crates"));
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or("");
        let dependencies = dependencies.split("\n[").next().unwrap();
        for line in dependencies.lines().filter(|line| line.starts_with("snick")) {
            let dependency = line.split(['.', ' ', '=']).next().unwrap();
            assert!(CRATES[..place].contains(&dependency), "{name} must not depend on {dependency}");
        }
    }
}
