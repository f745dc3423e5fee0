//! Users need only the crate `snick`: its public items mention no type that it does not export, and the
//! examples of its pages use no other crate of the workspace.

mod api;
mod docs;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use self::api::Api;
use self::docs::Docs;

/// Crates whose types may be used without being exported, and why.
const OTHER_CRATES: [(&str, &str); 2] = [
    ("bitflags", "its macro declares the methods `iter` and `iter_names` of flags"),
    ("serde_core", "users who serialise depend on serde themselves"),
];

static DOCS: LazyLock<Docs> = LazyLock::new(Docs::build);

#[test]
fn every_type_in_a_signature_can_be_named() {
    let api = Api::of(&DOCS, "snick");
    assert!(api.names().any(|name| name == "snick::Model") && api.names().count() > 500);
    let mut unnamed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for mention in api.mentions() {
        let krate = mention.path.split("::").next().unwrap();
        if !OTHER_CRATES.iter().any(|(name, _)| *name == krate) {
            unnamed.entry(mention.path).or_default().push(mention.place);
        }
    }
    assert!(unnamed.is_empty(), "`snick` does not export these types, which its items mention: {unnamed:#?}");
}

#[test]
fn examples_use_no_other_crate() {
    let api = Api::of(&DOCS, "snick");
    let mut others = Vec::new();
    for (place, text) in api.texts() {
        let code = text.split("```").skip(1).step_by(2);
        let names = code.flat_map(|code| code.split(|c: char| !c.is_alphanumeric() && c != '_'));
        let other = |name: &&str| *name != "snick" && DOCS.has_crate(name);
        others.extend(names.filter(other).map(|name| format!("{place}: {name}")));
    }
    assert!(others.is_empty(), "examples that do not compile with `snick` alone: {others:#?}");
}
