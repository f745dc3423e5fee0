//! The public items of a crate, and the items that their signatures mention.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::docs::{Docs, ItemId, Target};

/// The public items of a crate, including those that it exports from other crates of the workspace.
pub struct Api<'d> {
    docs: &'d Docs,
    /// The first public name of each item that is not a module.
    names: BTreeMap<ItemId<'d>, String>,
    /// Exported crates and items from outside the workspace.
    exports: BTreeSet<String>,
}

/// A mention of an item that has no public name.
pub struct Mention {
    /// The path of the item's definition.
    pub path: String,
    /// The item that mentions it.
    pub place: String,
}

/// The kind of an item.
fn kind(item: &Value) -> &str {
    item["inner"].as_object().and_then(|inner| inner.keys().next()).map_or("", String::as_str)
}

fn inner(item: &Value) -> &Value {
    &item["inner"][kind(item)]
}

/// Ids in a list; `null` stands for a private field.
fn ids(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten().filter(|id| !id.is_null())
}

/// Variants and items of traits have the visibility of their owner.
fn is_public(item: &Value) -> bool {
    item["visibility"] == "public" || item["visibility"] == "default"
}

impl<'d> Api<'d> {
    pub fn of(docs: &'d Docs, krate: &str) -> Self {
        let mut api = Self { docs, names: BTreeMap::new(), exports: BTreeSet::new() };
        api.add_module(&docs.root(krate), krate, &mut Vec::new());
        api
    }

    /// The public names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.values().map(String::as_str)
    }

    fn add_module(&mut self, module: &ItemId<'d>, path: &str, parents: &mut Vec<ItemId<'d>>) {
        let Some(item) = self.docs.item(module) else { return };
        if parents.contains(module) {
            return;
        }
        parents.push(module.clone());
        for id in ids(&inner(item)["items"]) {
            let id = (module.0, id.to_string());
            match self.docs.item(&id) {
                Some(item) if is_public(item) => self.add(&id, item, path, None, parents),
                _ => {}
            }
        }
        parents.pop();
    }

    /// Adds an item of a public module, `path`, under another name if `name` is given.
    fn add(
        &mut self,
        id: &ItemId<'d>,
        item: &'d Value,
        path: &str,
        name: Option<&str>,
        parents: &mut Vec<ItemId<'d>>,
    ) {
        let path_of = |name: &str| format!("{path}::{name}");
        match kind(item) {
            "use" => self.add_use(id.0, inner(item), path, parents),
            "module" => self.add_module(id, &path_of(name_of(item, name)), parents),
            "impl" => {}
            _ => _ = self.names.entry(id.clone()).or_insert_with(|| path_of(name_of(item, name))),
        }
    }

    fn add_use(&mut self, krate: &'d str, import: &'d Value, path: &str, parents: &mut Vec<ItemId<'d>>) {
        let docs = self.docs;
        match docs.resolve(krate, &import["id"]) {
            Target::Item(id) if import["is_glob"] == true => match docs.item(&id) {
                Some(item) if kind(item) == "module" => self.add_module(&id, path, parents),
                _ => {}
            },
            Target::Item(id) => {
                if let Some(item) = docs.item(&id) {
                    self.add(&id, item, path, import["name"].as_str(), parents);
                }
            }
            Target::Other(exported) => _ = self.exports.insert(exported),
            Target::Hidden => {}
        }
    }

    /// What the public items mention although it has no public name.
    pub fn mentions(&self) -> Vec<Mention> {
        let mut found = Vec::new();
        self.visit(&mut |id, item, place| self.find(id.0, signature(item), place, &mut found));
        found
    }

    /// The documentation of the public items.
    pub fn texts(&self) -> Vec<(String, &'d str)> {
        let mut texts = Vec::new();
        self.visit(&mut |_, item, place| {
            texts.extend(item["docs"].as_str().map(|text| (place.to_string(), text)));
        });
        texts
    }

    /// Calls `f` with each public item, field, variant, method and associated type.
    fn visit(&self, f: &mut dyn FnMut(&ItemId<'d>, &'d Value, &str)) {
        for (id, name) in &self.names {
            self.visit_item(id, name, f);
        }
    }

    fn visit_item(&self, id: &ItemId<'d>, place: &str, f: &mut dyn FnMut(&ItemId<'d>, &'d Value, &str)) {
        let Some(item) = self.docs.item(id) else { return };
        f(id, item, place);
        let inner = inner(item);
        let kind = &inner["kind"];
        let fields = [&kind["plain"]["fields"], &kind["struct"]["fields"], &kind["tuple"]];
        let members = fields.into_iter().chain([&inner["variants"], &inner["items"]]);
        for member in members.flat_map(ids) {
            self.visit_member((id.0, member.to_string()), place, f);
        }
        for id in ids(&inner["impls"]).map(|implementation| (id.0, implementation.to_string())) {
            self.visit_impl(&id, place, f);
        }
    }

    fn visit_member(&self, id: ItemId<'d>, place: &str, f: &mut dyn FnMut(&ItemId<'d>, &'d Value, &str)) {
        let Some(item) = self.docs.item(&id) else { return };
        if is_public(item) {
            self.visit_item(&id, &format!("{place}::{}", name_of(item, None)), f);
        }
    }

    /// An inherent implementation, or one of a trait that users can name.
    fn visit_impl(&self, id: &ItemId<'d>, place: &str, f: &mut dyn FnMut(&ItemId<'d>, &'d Value, &str)) {
        let Some(item) = self.docs.item(id) else { return };
        let implementation = inner(item);
        let of = &implementation["trait"];
        if !of.is_null() {
            let is_generated =
                implementation["is_synthetic"] == true || !implementation["blanket_impl"].is_null();
            if is_generated || !self.is_for_users(id.0, implementation) {
                return;
            }
            f(id, item, &format!("{place} as {}", of["path"].as_str().unwrap()));
        }
        for member in ids(&implementation["items"]) {
            self.visit_member((id.0, member.to_string()), place, f);
        }
    }

    /// Whether the trait can be named, and no private type is involved: such an implementation serves the
    /// crate itself, like the conversions that serde uses.
    fn is_for_users(&self, krate: &'d str, implementation: &Value) -> bool {
        let of = &implementation["trait"];
        let can_be_named = match self.docs.resolve(krate, &of["id"]) {
            Target::Item(id) => self.names.contains_key(&id),
            Target::Other(path) => is_of_std(&path),
            Target::Hidden => false,
        };
        let mut mentioned = Vec::new();
        references(&of["args"], &mut mentioned);
        references(&implementation["for"], &mut mentioned);
        let is_private = |id: &&Value| match self.docs.resolve(krate, id) {
            Target::Item(id) => self.docs.item(&id).is_none_or(|item| !is_public(item)),
            _ => false,
        };
        can_be_named && !mentioned.iter().any(is_private)
    }

    /// Finds what a signature mentions although it has no public name.
    fn find(&self, krate: &'d str, signature: Vec<&'d Value>, place: &str, found: &mut Vec<Mention>) {
        let mut mentioned = Vec::new();
        signature.into_iter().for_each(|part| references(part, &mut mentioned));
        for id in mentioned {
            let path = match self.docs.resolve(krate, id) {
                Target::Item(id) if self.names.contains_key(&id) => continue,
                Target::Item(id) => self.docs.path(&id),
                Target::Other(path) if is_of_std(&path) || self.is_exported(&path) => continue,
                Target::Other(path) => path,
                Target::Hidden => continue,
            };
            found.push(Mention { path, place: place.to_string() });
        }
    }

    /// Whether an item of another crate, or a module around it, is exported.
    fn is_exported(&self, path: &str) -> bool {
        let is_within = |exported: &String| {
            path.strip_prefix(exported.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        self.exports.iter().any(is_within)
    }
}

fn name_of<'v>(item: &'v Value, name: Option<&'v str>) -> &'v str {
    name.or_else(|| item["name"].as_str()).unwrap_or_default()
}

fn is_of_std(path: &str) -> bool {
    ["std::", "core::", "alloc::"].iter().any(|krate| path.starts_with(krate))
}

/// The parts of an item that belong to its signature, without its members.
fn signature(item: &Value) -> Vec<&Value> {
    let members = ["variants", "items", "impls", "implementations"];
    let is_variant = kind(item) == "variant";
    match inner(item) {
        Value::Object(parts) => {
            let is_part = |name: &str| !(members.contains(&name) || is_variant && name == "kind");
            parts.iter().filter(|(name, _)| is_part(name)).map(|(_, part)| part).collect()
        }
        part => vec![part],
    }
}

/// The ids of the types and traits in a part of a signature.
fn references<'v>(part: &'v Value, found: &mut Vec<&'v Value>) {
    match part {
        Value::Object(fields) => {
            if let (Some(_), Some(id), Some(_)) = (fields.get("path"), fields.get("id"), fields.get("args")) {
                found.push(id);
            }
            fields.values().for_each(|field| references(field, found));
        }
        Value::Array(parts) => parts.iter().for_each(|part| references(part, found)),
        _ => {}
    }
}
