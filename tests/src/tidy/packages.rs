//! Every crate can be published, and the library has few dependencies.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::sources;
use crate::files::{self, root};

/// Maximum number of third-party packages of the facade without default features.
const MOST_PACKAGES: usize = 30;

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The value of `KEY = VALUE` in a manifest.
fn field<'m>(manifest: &'m str, key: &str) -> Option<&'m str> {
    let mut lines = manifest.lines().filter_map(|line| line.split_once(" = "));
    lines.find_map(|(name, value)| (name == key).then_some(value))
}

#[test]
fn every_crate_has_what_a_registry_shows() {
    let workspace = read(&root().join("Cargo.toml"));
    let version = field(&workspace, "version").unwrap();
    for (name, value) in workspace.lines().filter_map(|line| line.split_once(" = { path = ")) {
        assert!(
            value.contains(&format!("version = {version}")),
            "the dependency {name} is not of version {version}"
        );
    }
    for folder in files::entries(&root().join("crates")) {
        let manifest = read(&folder.join("Cargo.toml"));
        let name = files::name(&folder);
        for key in ["version", "edition", "rust-version", "license"] {
            let key = format!("{key}.workspace");
            assert_eq!(field(&manifest, &key), Some("true"), "{name}: {key}");
        }
        for key in ["description", "readme", "keywords", "categories"] {
            assert!(field(&manifest, key).is_some(), "{name} has no {key}");
        }
        let keywords = field(&manifest, "keywords").unwrap().split(',').count();
        assert!(keywords <= 5, "{name}: a registry takes five keywords");
        assert!(manifest.contains("[package.metadata.docs.rs]\nall-features = true"), "{name}: docs.rs");
        let readme = folder.join(field(&manifest, "readme").unwrap().trim_matches('"'));
        assert!(read(&readme).starts_with("# "), "{name}: its readme has no title");
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            assert_eq!(read(&folder.join(licence)), read(&root().join(licence)), "{name}: {licence}");
        }
    }
    let version = version.trim_matches('"');
    assert!(read(&root().join("CHANGELOG.md")).contains(&format!("\n## [{version}]")));
}

#[test]
fn what_is_not_for_users_is_not_published() {
    let folders =
        ["tests".into(), "examples".into()].into_iter().chain(files::entries(&root().join("examples")));
    for manifest in folders.map(|folder| root().join(folder).join("Cargo.toml")).filter(|path| path.exists())
    {
        assert_eq!(field(&read(&manifest), "publish"), Some("false"), "{}", manifest.display());
    }
}

/// Documentation examples also run from the package, which does not contain the models of the repository.
#[test]
fn no_crate_reads_files_outside_of_its_package() {
    let out = ["CARGO_MANIFEST_DIR\"), \"", "/.."].concat();
    for source in sources().iter().filter(|source| source.path.starts_with("crates/")) {
        let inside = source.path.splitn(3, '/').nth(2).unwrap();
        if !inside.starts_with("src/") {
            continue;
        }
        assert!(!source.text.contains(&out), "{} reads a file outside of its package", source.path);
        let above = "../".repeat(inside.matches('/').count() + 1);
        let included = source.text.contains(&format!("(\"{above}"));
        assert!(!included, "{} includes a file outside of its package", source.path);
    }
}

/// The packages that a crate depends on, as `cargo tree` lists them.
fn packages(arguments: &[&str]) -> BTreeSet<String> {
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "--offline", "--edges", "normal", "--prefix", "none"]).args(arguments);
    let output = tree.current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let packages = text.lines().map(|line| line.trim_end_matches(" (*)").to_string());
    packages.filter(|package| !package.is_empty() && !package.starts_with("snick")).collect()
}

fn has(packages: &BTreeSet<String>, name: &str) -> bool {
    packages.iter().any(|package| package.split(' ').next() == Some(name))
}

#[test]
fn the_library_is_light() {
    let all = packages(&["--package", "snick", "--all-features"]);
    for name in ["clap", "zip"] {
        assert!(!has(&all, name), "the library depends on {name}");
    }
    let few = packages(&["--package", "snick", "--no-default-features"]);
    assert!(few.len() <= MOST_PACKAGES, "{} packages, {MOST_PACKAGES} are allowed: {few:#?}", few.len());
    for name in ["rayon", "rustfft", "prost", "serde_json"] {
        assert!(has(&all, name) && !has(&few, name), "{name} belongs to features");
    }
}

#[test]
fn shapes_have_two_dependencies() {
    let direct = packages(&["--package", "snick-shape", "--depth", "1"]);
    assert_eq!(direct.len(), 2, "{direct:?}");
}
