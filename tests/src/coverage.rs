//! What is covered: every operation of every operation set (`opsets.tsv`) against what snick knows of it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use snick::{Dims, draw_inputs};
use snick_emit::openvino::SliceAs;
use snick_ir::{Attrs, Dialect, Graph, Node, NodeId, Op, OpError, RawNode, Value, Version};
use snick_run::{Options, Session};

use crate::files;

/// A version of an operation: a line of the table.
struct Row {
    op_type: String,
    /// The operation set that defines it.
    since: u8,
    /// The operation sets that contain it.
    sets: Vec<u8>,
}

fn table() -> Vec<Row> {
    let lines = include_str!("../opsets.tsv").lines().filter(|line| !line.starts_with('#'));
    let number = |text: &str| text.parse::<u8>().unwrap();
    let row = |line: &str| {
        let [op_type, since, sets] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let range = |part: &str| match part.split_once('-') {
            Some((first, last)) => number(first)..=number(last),
            None => number(part)..=number(part),
        };
        Row {
            op_type: op_type.to_string(),
            since: number(since),
            sets: sets.split(',').flat_map(range).collect(),
        }
    };
    lines.map(row).collect()
}

fn parse(op_type: &str, set: u8) -> Result<Op, OpError> {
    Op::parse(&mut RawNode::openvino(op_type, Version::Opset(set), Attrs::new(), 1))
}

/// Whether snick knows the operation; without its attributes it may well be refused.
fn is_known(op_type: &str, set: u8) -> bool {
    !matches!(parse(op_type, set), Ok(Op::Opaque(_)))
}

#[test]
fn operation_sets_contain_what_the_table_says() {
    let mut sets: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for row in table() {
        sets.entry(row.op_type).or_default().extend(row.sets);
    }
    for (op_type, sets) in sets {
        for set in (1..=18).filter(|set| is_known(&op_type, *set)) {
            let refused = matches!(
                parse(&op_type, set),
                Err(OpError::Mismatch { what, .. }) if what == "the operation set"
            );
            assert_eq!(refused, !sets.contains(&set), "{op_type} in opset{set}");
        }
    }
}

/// What is done with an operation in the cases that have it.
#[derive(Default)]
struct Done {
    runs: bool,
    /// Formats that can say it.
    targets: [bool; TARGETS.len()],
}

type Emit = fn(&Graph) -> bool;

const TARGETS: [(&str, Emit); 2] = [
    ("openvino", |graph| snick_emit::openvino::openvino(graph, SliceAs::default()).is_ok()),
    ("onnx", |graph| snick_emit::onnx::onnx(graph, "m.onnx.data").is_ok()),
];

#[test]
fn every_operation() {
    let rows = table();
    let mut done: BTreeMap<(String, u8), Done> = BTreeMap::new();
    for path in cases() {
        look_through(&path, &rows, &mut done);
    }
    let mut text = String::new();
    for row in &rows {
        let name = format!("{}-{}", row.op_type, row.since);
        let known = is_known(&row.op_type, row.since);
        let mut marks = vec![if known { "infer" } else { "-" }];
        match done.get(&(row.op_type.clone(), row.since)).filter(|_| known) {
            Some(done) => {
                marks.push(if done.runs { "eval" } else { "-" });
                let targets = TARGETS.iter().zip(done.targets);
                marks.extend(targets.map(|((target, _), can)| if can { *target } else { "-" }));
            }
            None => marks.push("no case"),
        }
        writeln!(text, "{name:<52} {}", marks.join(" ")).unwrap();
    }
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("coverage", text);
    });
}

fn cases() -> Vec<PathBuf> {
    let folder = files::root().join("tests/cases/ops");
    let mut cases: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    cases.into_iter().chain(files::models()).collect()
}

fn look_through(path: &Path, rows: &[Row], done: &mut BTreeMap<(String, u8), Done>) {
    let mut graph = snick_read::read_file(path, None).unwrap_or_else(|e| panic!("{e}")).graph;
    snick_ir::infer(&mut graph);
    for id in graph.ids() {
        let node = graph.node(id);
        let Version::Opset(set) = node.version else { continue };
        if node.op.dialect() != Dialect::OpenVino {
            continue;
        }
        let mut mine = rows.iter().filter(|row| row.op_type == node.op.type_name());
        let Some(row) = mine.find(|row| row.sets.contains(&set)) else { continue };
        let done = done.entry((row.op_type.clone(), row.since)).or_default();
        let mut alone = None;
        for ((_, emit), can) in TARGETS.iter().zip(&mut done.targets).filter(|(_, can)| !**can) {
            *can = emit(alone.get_or_insert_with(|| leading_to(&graph, id)));
        }
        if !done.runs {
            done.runs = runs(alone.get_or_insert_with(|| leading_to(&graph, id)));
        }
    }
}

/// The graph that computes the outputs of one node, and nothing else.
fn leading_to(graph: &Graph, last: NodeId) -> Graph {
    let mut needed = vec![last];
    let mut at = 0;
    while let Some(&id) = needed.get(at) {
        let inputs = graph.inputs(id).into_iter().flatten().map(|value| value.node);
        let new: Vec<NodeId> = inputs.filter(|id| !needed.contains(id)).collect();
        needed.extend(new);
        at += 1;
    }
    let mut alone = Graph::new(graph.name.clone());
    let mut copies: BTreeMap<usize, NodeId> = BTreeMap::new();
    for id in graph.order().unwrap().into_iter().filter(|id| needed.contains(id)) {
        let copy = alone.add(graph.node(id).clone());
        for (port, value) in graph.inputs(id).into_iter().enumerate() {
            let value = value.unwrap();
            let value = Value { node: copies[&value.node.index()], ..value };
            alone.connect(value, copy, port as u32);
        }
        copies.insert(id.index(), copy);
    }
    let node = copies[&last.index()];
    if !matches!(graph.node(last).op, Op::Result(_)) {
        for port in 0..graph.node(last).outs.len() {
            let result = Node::new(format!("result {port}"), parse("Result", 1).unwrap());
            alone.add_wired(result, &[Value { node, port: port as u32 }]);
        }
    }
    snick_ir::infer(&mut alone);
    alone
}

/// Whether it computes something for inputs of one size or another.
fn runs(graph: &Graph) -> bool {
    let inputs =
        |(seed, dims)| draw_inputs(graph, vec![None; graph.parameters().count()], seed, dims).unwrap();
    let sizes = [(1, Dims::MultipleOf(8)), (2, Dims::Smallest)].into_iter();
    sizes.chain((3..12).map(|seed| (seed, Dims::Drawn))).map(inputs).any(|inputs| {
        let session = Session::new(graph).unwrap();
        let outputs =
            session.run(&inputs, Options { keep_going: true, check_facts: false, ..Options::default() });
        outputs.values.iter().any(Option::is_some)
    })
}
