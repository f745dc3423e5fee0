//! What newer operations become for older releases, found by rewriting the layers of the cases.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use snick_ir::{Graph, NodeId, Op, Release, Version, infer, needs, op_support, ops, text};
use snick_pass::legalize::{Target, for_target};

use crate::documentation::{check_documented, is_update};

const FOLDERS: [&str; 2] = ["cases/ops", "comparison"];
const TABLE: &str = "../crates/snick-ir/src/release/older_forms.txt";

/// The operations that a layer becomes for a release, or `None` if the release still lacks one of them.
fn older_form(graph: &Graph, id: NodeId, release: Release) -> Option<BTreeSet<String>> {
    let mut graph = graph.clone();
    let layer = graph.node(id).name().to_string();
    let others: HashSet<String> = graph.ids().map(|id| graph.node(id).name().to_string()).collect();
    let is_derived = |name: &str| name == layer || !others.contains(name);
    let lacks = |graph: &Graph, id: NodeId| {
        let is_newer = |since: Option<Release>| since.is_none_or(|since| since > release);
        needs(graph, id).iter().any(|need| is_newer(need.since))
    };
    let can_write = |graph: &Graph, id: NodeId| !is_derived(graph.node(id).name()) || !lacks(graph, id);
    let (computes_in, has_type) = (&|_: &Graph, _| None, &|_| true);
    let target = Target { can_write: &can_write, computes_in, has_type, reads_definitions: true };
    for_target(&mut graph, &target);
    let derived = graph.ids().filter(|&id| is_derived(graph.node(id).name()));
    let derived: Vec<NodeId> = derived.filter(|&id| !matches!(graph.node(id).op(), Op::Const(_))).collect();
    let named = |&id: &NodeId| format!("{}-{}", graph.node(id).op().type_name(), graph.node(id).version());
    (!derived.iter().any(|&id| lacks(&graph, id))).then(|| derived.iter().map(named).collect())
}

/// For each version of an operation that the oldest release lacks, the shortest list of what its layers become for
/// the last release that does not read it.
fn older_forms() -> BTreeMap<(String, u8), BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = FOLDERS.iter().flat_map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let mut sources: Vec<_> = sources.map(|entry| entry.unwrap().path()).collect();
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "snick"));
    sources.sort();
    let mut forms: BTreeMap<(String, u8), BTreeSet<String>> = BTreeMap::new();
    for source in sources {
        let Ok(mut graph) = text::parse(&fs::read_to_string(source).unwrap(), None) else { continue };
        infer(&mut graph);
        for id in graph.ids() {
            let node = graph.node(id);
            let Some(name) = ops::find(node.op().dialect(), node.op().type_name()).map(|entry| entry.name)
            else {
                continue;
            };
            // Operations outside the numbered sets are read with a library.
            let is_numbered = matches!(node.version(), Version::Opset(_));
            let since = name.defining_opset(node.version()).filter(|_| is_numbered);
            let Some(since) = since else { continue };
            let Some(support) = op_support(name.name, &Version::Opset(since)) else { continue };
            let Some(&older) = Release::known().iter().rfind(|release| **release < support.reads) else {
                continue;
            };
            let Some(form) = older_form(&graph, id, older) else { continue };
            let known = forms.entry((name.name.to_string(), since)).or_insert_with(|| form.clone());
            if form.len() < known.len() {
                *known = form;
            }
        }
    }
    forms
}

#[test]
fn the_table_says_what_newer_operations_become() {
    let mut table = String::new();
    let mut page = "| operation | before | becomes |\n|---|---|---|\n".to_string();
    for ((op, since), form) in older_forms() {
        let version = Version::Opset(since);
        let reads = op_support(&op, &version).unwrap().reads;
        let form: Vec<String> = form.into_iter().collect();
        writeln!(table, "{op} {version} {}", form.join(" ")).unwrap();
        let form = if form.is_empty() { "nothing".to_string() } else { form.join(", ").replace('-', " ") };
        writeln!(page, "| {op} {version} | {reads} | {form} |").unwrap();
    }
    check_documented("older forms", &page);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE);
    if fs::read_to_string(&path).ok().as_ref() != Some(&table) {
        assert!(is_update(), "{} is out of date; it should be\n{table}", path.display());
        fs::write(path, table).unwrap();
    }
}
