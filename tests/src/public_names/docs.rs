//! What rustdoc knows about the crates of the workspace, as JSON. The form may change with Rust, so only few
//! of its fields are read.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::files::root;

/// An item of a crate of the workspace: the name of the crate, and the item's id in its documentation.
pub type ItemId<'d> = (&'d str, String);

/// Where a name leads.
pub enum Target<'d> {
    /// An item of a crate of the workspace.
    Item(ItemId<'d>),
    /// The path of an item of another crate.
    Other(String),
    /// An item hidden from documentation.
    Hidden,
}

/// The documentation of `snick` and the crates that it depends on.
pub struct Docs {
    crates: HashMap<String, Value>,
    /// Crate and id of each item, by kind and path of its definition.
    definitions: HashMap<(String, String), (String, String)>,
}

/// The dependencies of `snick` in the workspace, and itself.
fn crates() -> Vec<String> {
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "--offline", "--edges", "normal", "--prefix", "none", "--all-features"]);
    let output = tree.args(["--package", "snick"]).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let names = text.lines().filter_map(|line| line.split(' ').next());
    let mut crates: Vec<_> = names.filter(|name| name.starts_with("snick")).map(str::to_string).collect();
    crates.sort();
    crates.dedup();
    crates
}

fn joined(path: &Value) -> String {
    let segments = path["path"].as_array().unwrap().iter().map(|segment| segment.as_str().unwrap());
    segments.collect::<Vec<_>>().join("::")
}

impl Docs {
    /// Runs rustdoc, in a target folder of its own: `RUSTC_BOOTSTRAP`, which JSON needs, would cause a rebuild
    /// of other crates.
    pub fn build() -> Self {
        let crates = crates();
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
        let target = target.join("public_names");
        let mut doc = Command::new(env!("CARGO"));
        doc.args(["doc", "--quiet", "--offline", "--no-deps", "--document-private-items", "--all-features"]);
        doc.args(crates.iter().flat_map(|name| ["--package", name])).arg("--target-dir").arg(&target);
        doc.env("RUSTDOCFLAGS", "-Z unstable-options --output-format json --cap-lints allow");
        doc.env("RUSTC_BOOTSTRAP", "1").env_remove("RUSTFLAGS").env("CARGO_INCREMENTAL", "0");
        let output = doc.current_dir(root()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let read = |name: &String| {
            let name = name.replace('-', "_");
            let text = fs::read(target.join(format!("doc/{name}.json"))).unwrap();
            (name, serde_json::from_slice(&text).unwrap())
        };
        let crates: HashMap<String, Value> = crates.iter().map(read).collect();
        let mut definitions = HashMap::new();
        for (name, docs) in &crates {
            for (id, path) in docs["paths"].as_object().unwrap() {
                if path["crate_id"] == 0 {
                    let kind = path["kind"].as_str().unwrap().to_string();
                    definitions.insert((kind, joined(path)), (name.clone(), id.clone()));
                }
            }
        }
        Self { crates, definitions }
    }

    pub fn has_crate(&self, name: &str) -> bool {
        self.crates.contains_key(name)
    }

    /// The root module of a crate.
    pub fn root(&self, name: &str) -> ItemId<'_> {
        let (name, docs) = self.crates.get_key_value(name).unwrap();
        (name, docs["root"].to_string())
    }

    /// An item; `None` if it is hidden from documentation.
    pub fn item(&self, (krate, id): &ItemId<'_>) -> Option<&Value> {
        let item = self.crates[*krate]["index"].get(id)?;
        let attrs = item["attrs"].to_string();
        (!attrs.contains("doc(hidden)")).then_some(item)
    }

    /// The path of an item's definition.
    pub fn path(&self, (krate, id): &ItemId<'_>) -> String {
        match self.crates[*krate]["paths"].get(id) {
            Some(path) => joined(path),
            None => format!("{krate}::{}", self.crates[*krate]["index"][id]["name"]),
        }
    }

    /// The target of an id that the documentation of `krate` mentions.
    pub fn resolve<'d>(&'d self, krate: &'d str, id: &Value) -> Target<'d> {
        let (id, docs) = (id.to_string(), &self.crates[krate]);
        if docs["index"].get(&id).is_some_and(|item| item["crate_id"] == 0) {
            return Target::Item((krate, id));
        }
        let Some(path) = docs["paths"].get(&id) else { return Target::Hidden };
        let kind = path["kind"].as_str().unwrap().to_string();
        match self.definitions.get(&(kind, joined(path))) {
            Some((krate, id)) => Target::Item((krate, id.clone())),
            None => Target::Other(joined(path)),
        }
    }
}
