//! Modules of a crate, and of the Python package, use each other in one direction only. A module that
//! re-exports items of its own submodules does not use them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::library_sources;
use crate::files::{self, root};

/// A module, by its path from the crate's root.
type Module = Vec<String>;

/// The modules of the same crate that each module uses.
type Imports = BTreeMap<Module, BTreeSet<Module>>;

fn module(path: &str) -> Module {
    let (_, inside) = path.split_once("/src/").unwrap();
    let mut parts: Module = inside.trim_end_matches(".rs").split('/').map(String::from).collect();
    parts.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
    parts
}

/// The paths in a `use` tree.
fn paths(tree: &str) -> Vec<String> {
    let Some((prefix, rest)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap().trim().to_string()];
    };
    // A message that recommends a `use` is not an import.
    let Some(inside) = rest.trim_end().strip_suffix('}') else { return Vec::new() };
    let (mut depth, mut part, mut found) = (0, String::new(), Vec::new());
    for c in inside.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ',' && depth == 0 {
            found.push(std::mem::take(&mut part));
        } else {
            part.push(c);
        }
    }
    found.push(part);
    let parts = found.iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| paths(part).into_iter().map(|path| prefix.trim().to_string() + &path)).collect()
}

/// The paths in code outside of `use` trees: `super::weights::find`.
fn inline_paths(code: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = code.split(|c: char| !is_part(c));
    let is_path = |word: &&str| ["crate::", "self::", "super::"].iter().any(|start| word.starts_with(start));
    // A path that ends here continues in braces: a `use` tree.
    words.filter(is_path).filter(|word| !word.ends_with(':')).map(String::from).collect()
}

/// The module of the crate that a path in `own` refers to.
fn target(own: &Module, path: &str, all: &BTreeSet<Module>) -> Option<Module> {
    let mut parts = path.split("::").map(|part| part.trim().to_string()).peekable();
    let mut base = match parts.next()?.as_str() {
        "crate" => Module::new(),
        "self" => own.clone(),
        "super" => own[..own.len().checked_sub(1)?].to_vec(),
        _ => return None,
    };
    while parts.next_if(|part| part == "super").is_some() {
        base.pop();
    }
    base.extend(parts);
    while !all.contains(&base) {
        base.pop()?;
    }
    Some(base)
}

fn imports() -> BTreeMap<String, Imports> {
    let sources = library_sources();
    let mut modules: BTreeMap<&str, BTreeSet<Module>> = BTreeMap::new();
    for source in &sources {
        modules.entry(source.krate()).or_default().insert(module(&source.path));
    }
    let mut imports: BTreeMap<String, Imports> = BTreeMap::new();
    for source in &sources {
        let (own, all) = (module(&source.path), &modules[source.krate()]);
        let code = source.code();
        let statements = code.split(';').filter_map(|statement| {
            let at = statement.rfind("use ")?;
            let is_first = statement[..at]
                .lines()
                .last()
                .is_none_or(|line| line.trim().is_empty() || line.trim().starts_with("pub"));
            is_first.then(|| statement[at + 4..].split_whitespace().collect::<Vec<_>>().join(" "))
        });
        let targets = statements.flat_map(|tree| paths(&tree)).chain(inline_paths(&code));
        let targets = targets.filter_map(|path| target(&own, &path, all));
        let outside = targets.filter(|target| !target.starts_with(&own)).collect();
        imports.entry(source.krate().to_string()).or_default().insert(own, outside);
    }
    imports
}

/// The imports of each module of the Python package, except for annotations.
fn python_imports() -> Imports {
    let mut imports = Imports::new();
    for path in files::with_extension(files::entries(&root().join("crates/snick-python/python/snick")), "py")
    {
        let name = |path: &Path| vec![path.file_stem().unwrap().to_str().unwrap().to_string()];
        let text = fs::read_to_string(&path).unwrap();
        // Imports for annotations are indented, below `if TYPE_CHECKING:`.
        let lines = text.lines().filter_map(|line| line.strip_prefix("from .")?.split_once(" import "));
        let targets = lines.flat_map(|(module, names)| match module {
            "" => names.split(',').map(|name| vec![name.trim().to_string()]).collect(),
            module => vec![vec![module.to_string()]],
        });
        imports.insert(name(&path), targets.collect());
    }
    imports
}

/// All modules that a module uses directly or indirectly.
fn reached(from: &Module, imports: &Imports) -> BTreeSet<Module> {
    let (mut found, mut next) = (BTreeSet::new(), vec![from.clone()]);
    while let Some(module) = next.pop() {
        for target in imports.get(&module).into_iter().flatten() {
            if found.insert(target.clone()) {
                next.push(target.clone());
            }
        }
    }
    found
}

/// The cycles of a crate, each as sorted module names.
fn circles(imports: &Imports) -> BTreeSet<Vec<String>> {
    let reached: BTreeMap<&Module, BTreeSet<Module>> =
        imports.keys().map(|module| (module, reached(module, imports))).collect();
    let on_circle = imports.keys().filter(|module| reached[module].contains(*module));
    let circle = |module: &Module| {
        let others = reached[module].iter().filter(|other| reached[other].contains(module));
        others.map(|other| other.join("/")).collect()
    };
    on_circle.map(circle).collect()
}

#[test]
fn modules_import_each_other_in_one_direction() {
    let python = ("python".to_string(), python_imports());
    let all = imports().into_iter().chain([python]);
    let found = all.flat_map(|(krate, imports)| {
        circles(&imports).into_iter().map(move |circle| format!("{krate}: {}", circle.join(", ")))
    });
    let found: Vec<String> = found.collect();
    assert!(found.is_empty(), "circles of imports:\n{}", found.join("\n"));
}

#[test]
fn a_circle_is_found() {
    let module = |name: &str| vec![name.to_string()];
    let imports = |pairs: &[(&str, &str)]| {
        let mut imports = Imports::new();
        for (from, to) in pairs {
            imports.entry(module(from)).or_default().insert(module(to));
            imports.entry(module(to)).or_default();
        }
        imports
    };
    assert_eq!(circles(&imports(&[("a", "b"), ("b", "c"), ("a", "c")])), BTreeSet::new());
    let circle = BTreeSet::from([vec!["b".to_string(), "c".to_string()]]);
    assert_eq!(circles(&imports(&[("a", "b"), ("b", "c"), ("c", "b")])), circle);
    let code = "if super::weights::find(self, crate::{a, b}) { Self::of::<super::X>(self.y) }";
    assert_eq!(inline_paths(code), ["super::weights::find", "super::X"]);
    assert_eq!(paths("super::{a::{self, B}, c}"), ["super::a::self", "super::a::B", "super::c"]);
}
