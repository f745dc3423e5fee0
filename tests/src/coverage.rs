//! Coverage: for every operation of every operation set (in the table of releases), whether snick infers and
//! runs it, and the formats that it can be read from and written to. Each mark is measured on the cases of `cases/ops` and
//! the models of `models/`; the README shows the totals.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use snick::{DimPolicy, draw_inputs};
use snick_directml::FeatureLevel;
use snick_emit::openvino::SliceAs;
use snick_ir::{Attrs, Dialect, Graph, Node, NodeId, NodeRef, Op, OpCost, OpError, RawNode, Value, Version};
use snick_run::{Options, Session};
use snick_tensor::Storage;

use crate::emit::with_fixed_sizes;
use crate::{documentation, files, golden};

/// A version of an operation, which is a row of the table.
struct Row {
    op_type: String,
    /// The operation set that defines it.
    since: u8,
    /// The operation sets that contain it.
    sets: Vec<u8>,
}

/// The rows of the table of releases.
fn table() -> Vec<Row> {
    let text = include_str!("../../crates/snick-ir/src/release/openvino.txt");
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    let of_kind = |kind| lines.iter().filter(move |line| line[0] == kind);
    let number = |set: &str| set.strip_prefix("opset").and_then(|number| number.parse::<u8>().ok());
    let sets: Vec<u8> =
        of_kind("set").flat_map(|line| line[2..].iter().filter_map(|set| number(set))).collect();
    let defined: BTreeSet<(&str, u8)> = of_kind("reads")
        .filter_map(|line| Some((number(line[2])?, &line[3..])))
        .flat_map(|(set, ops)| ops.iter().map(move |op| (*op, set)))
        .collect();
    let names = |kind, set| -> Vec<&str> {
        let of_set = of_kind(kind).filter(|line| number(line[1]) == Some(set));
        of_set.flat_map(|line| line[2..].iter().copied()).collect()
    };
    let contains = |op: &str, set| {
        let listed = names("lists", set);
        !names("lacks", set).contains(&op) && (listed.is_empty() || listed.contains(&op))
    };
    let row = |&(op, since): &(&str, u8)| {
        let next = defined.range((op, since + 1)..=(op, u8::MAX)).next().map_or(u8::MAX, |(_, next)| *next);
        let inherited = |set: &u8| (since..next).contains(set) && (*set == since || contains(op, *set));
        Row { op_type: op.to_string(), since, sets: sets.iter().copied().filter(inherited).collect() }
    };
    defined.iter().map(row).collect()
}

fn parse(op_type: &str, set: u8) -> Result<Op, OpError> {
    Op::parse(&mut RawNode::openvino(op_type, Version::Opset(set), Attrs::new(), 1))
}

/// Whether snick knows the operation, even if it is rejected here for lack of attributes.
fn is_known(op_type: &str, set: u8) -> bool {
    !matches!(parse(op_type, set), Ok(Op::Opaque(_)))
}

/// Sets with a layer that snick accepts although no known release has it in them: files from before 2022.1 do.
const FORMER: (&str, std::ops::RangeInclusive<u8>) = ("LSTMSequence", 1..=4);

#[test]
fn versions_are_accepted_as_the_table_says() {
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
            let is_former = op_type == FORMER.0 && FORMER.1.contains(&set);
            assert_eq!(refused, !sets.contains(&set) && !is_former, "{op_type} in opset{set}");
        }
    }
}

/// The capabilities that at least one case shows for an operation.
#[derive(Default)]
struct Done {
    runs: bool,
    /// Formats other than OpenVINO that it was read from.
    sources: [bool; SOURCES.len()],
    /// Formats that it was written to.
    targets: [bool; TARGETS.len()],
}

const SOURCES: [&str; 2] = ["onnx", "ngraph"];

type Emit = fn(&Graph) -> bool;

const TARGETS: [(&str, Emit); 4] = [
    ("openvino", |graph| snick_emit::openvino::openvino(graph, SliceAs::default()).is_ok()),
    ("onnx", |graph| onnx(graph).is_some()),
    ("stablehlo", |graph| snick_emit::stablehlo(graph, snick_emit::Precision::Highest).is_ok()),
    ("directml", |graph| {
        let mut lowered = graph.clone();
        drop(snick_pass::lower_slices(&mut lowered));
        snick_emit::directml(&lowered, FeatureLevel::V4_1).is_ok_and(|text| text.contains("\"type\""))
    }),
];

fn onnx(graph: &Graph) -> Option<Vec<u8>> {
    snick_emit::onnx::onnx(graph, "m.onnx.data").ok().map(|files| files.model.to_bytes())
}

/// Marks the ops read from another format.
fn mark(graph: &Graph, source: usize, rows: &[Row], done: &mut BTreeMap<(String, u8), Done>) {
    for id in graph.ids() {
        let node = graph.node(id);
        if let Some(row) = row_of(node, rows) {
            done.entry((row.op_type.clone(), row.since)).or_default().sources[source] = true;
        }
        node.op().bodies().for_each(|(_, body)| mark(body, source, rows, done));
    }
}

/// The row of the table for a layer.
fn row_of<'r>(node: NodeRef, rows: &'r [Row]) -> Option<&'r Row> {
    let Version::Opset(set) = node.version() else { return None };
    if node.op().dialect() != Dialect::OpenVino {
        return None;
    }
    rows.iter().find(|row| row.op_type == node.op().type_name() && row.sets.contains(set))
}

#[test]
fn the_table_of_operations_is_current() {
    let rows = table();
    let mut done: BTreeMap<(String, u8), Done> = BTreeMap::new();
    for path in files::ops_and_models() {
        look_through(&path, &rows, &mut done);
    }
    for path in files::cases("ngraph") {
        if let Ok(read) = snick_read::read_file(&path, None) {
            mark(&read.graph, 1, &rows, &mut done);
        }
    }
    let mut text = String::new();
    // For each type, whether any version is inferred, executed, read, written.
    let mut types: BTreeMap<&str, Marks> = BTreeMap::new();
    for row in &rows {
        let name = format!("{}-{}", row.op_type, row.since);
        let known = is_known(&row.op_type, row.since);
        let nothing = Done::default();
        let done = done.get(&(row.op_type.clone(), row.since)).filter(|_| known).unwrap_or(&nothing);
        let (sources, targets) = (done.sources, done.targets);
        let [onnx_in, ngraph_in] = sources;
        let [openvino, onnx, stablehlo, directml] = targets;
        let marks: Marks = [known, done.runs, known, onnx_in, ngraph_in, openvino, onnx, stablehlo, directml];
        let words = COLUMNS.iter().zip(marks).map(|(word, can)| if can { *word } else { "-" });
        writeln!(text, "{name:<52} {}", words.collect::<Vec<_>>().join(" ")).unwrap();
        let all = types.entry(&row.op_type).or_default();
        all.iter_mut().zip(marks).for_each(|(any, can)| *any |= can);
    }
    golden::check_table("operations", &text);
    check_counts(&types.into_values().collect::<Vec<_>>());
}

/// The marks of an operation, in the order of [`COLUMNS`].
type Marks = [bool; COLUMNS.len()];

const COLUMNS: [&str; 5 + TARGETS.len()] =
    ["infer", "eval", "in: openvino", "onnx", "ngraph", "out: openvino", "onnx", "stablehlo", "directml"];

/// The documents must state these numbers of operation types, in total and by column.
fn check_counts(types: &[Marks]) {
    let all = types.len();
    let counts: [usize; COLUMNS.len()] =
        std::array::from_fn(|column| types.iter().filter(|marks| marks[column]).count());
    // Models with any slice count as written to DirectML, but only their slices are.
    let [infer, eval, from_openvino, from_onnx, from_ngraph, openvino, onnx, stablehlo, _] = counts;
    let table = format!(
        "| of {all} operations | OpenVINO | ONNX | nGraph | StableHLO | DirectML |\n|---|---|---|---|---|---|\n\
         | read from | {from_openvino} | {from_onnx} | {from_ngraph} | | slices |\n\
         | written to | {openvino} | {onnx} | | {stablehlo} | slices |\n\n\
         Shape inference covers {infer} of them, execution {eval}."
    );
    documentation::check_documented("coverage", &table);
}

/// Some formats need fixed sizes.
const SIZES: [DimPolicy; 3] = [DimPolicy::MultipleOf(8), DimPolicy::Smallest, DimPolicy::Drawn];

fn look_through(path: &Path, rows: &[Row], done: &mut BTreeMap<(String, u8), Done>) {
    let mut graph = snick_read::read_file(path, None).unwrap_or_else(|e| panic!("{e}")).graph;
    snick_ir::infer(&mut graph);
    for id in graph.ids() {
        let Some(row) = row_of(graph.node(id), rows) else { continue };
        let own = done.entry((row.op_type.clone(), row.since)).or_default();
        if own.runs && own.targets.iter().all(|can| *can) {
            continue;
        }
        let alone = leading_to(&graph, id);
        own.runs = own.runs || runs(&alone);
        let fixed = SIZES.into_iter().map(|dims| with_fixed_sizes(&alone, dims));
        for graph in std::iter::once(alone.clone()).chain(fixed) {
            for ((_, emit), can) in TARGETS.iter().zip(&mut own.targets).filter(|(_, can)| !**can) {
                *can = emit(&graph);
            }
        }
    }
    if let Some(model) = onnx(&graph) {
        let read = snick_read::onnx::read(&Storage::heap(model), None, "case.onnx");
        let mut read = read.unwrap_or_else(|error| panic!("{}: {error}", path.display())).graph;
        snick_ir::infer(&mut read);
        mark(&read, 0, rows, done);
    }
}

/// The subgraph that computes the outputs of one node.
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
        let copy = alone.add(graph.node(id).to_node());
        for (port, value) in graph.inputs(id).into_iter().enumerate() {
            let value = value.unwrap();
            let value = Value { node: copies[&value.node.index()], ..value };
            alone.connect(value, copy, port as u32).unwrap();
        }
        copies.insert(id.index(), copy);
    }
    let node = copies[&last.index()];
    if !matches!(graph.node(last).op(), Op::Result(_)) {
        for port in 0..graph.node(last).outs().len() {
            let result = Node::new(format!("result {port}"), parse("Result", 1).unwrap());
            alone.add_wired(result, &[Value { node, port: port as u32 }]);
        }
    }
    snick_ir::infer(&mut alone);
    alone
}

/// Whether a graph runs with inputs of at least one size.
fn runs(graph: &Graph) -> bool {
    let inputs =
        |(seed, dims)| draw_inputs(graph, vec![None; graph.parameters().count()], seed, dims).unwrap();
    let sizes = [(1, DimPolicy::MultipleOf(8)), (2, DimPolicy::Smallest)].into_iter();
    sizes.chain((3..12).map(|seed| (seed, DimPolicy::Drawn))).map(inputs).any(|inputs| {
        let session = Session::new(graph).unwrap();
        let outputs =
            session.run(&inputs, Options { keep_going: true, check_facts: false, ..Options::default() });
        outputs.values.iter().any(Option::is_some)
    })
}

/// The supported ONNX operators, with the operator sets that changed them.
#[test]
fn the_table_of_onnx_operators_read_is_current() {
    let mut text = String::new();
    for operator in snick_read::onnx::operators() {
        let domain = if operator.domain.is_empty() { "ai.onnx" } else { operator.domain };
        let since: Vec<String> = operator.since.iter().map(ToString::to_string).collect();
        writeln!(text, "{domain}.{} {}", operator.name, since.join(" ")).unwrap();
    }
    golden::check_table("onnx_read", &text);
}

type IsWritten = fn(&Op) -> bool;

/// The operations that ONNX and StableHLO can express. A new operation without a row shows up in these tables
/// as a gap.
#[test]
fn the_tables_of_operations_written_are_current() {
    let formats: [(&str, IsWritten); 2] = [
        ("onnx_written", snick_emit::onnx::has_operator),
        ("stablehlo_written", snick_emit::stablehlo::has_operator),
    ];
    let graphs: Vec<Graph> = files::ops_and_models()
        .iter()
        .map(|path| snick_read::read_file(path, None).unwrap_or_else(|e| panic!("{e}")).graph)
        .collect();
    let mut ops: BTreeMap<&str, Vec<&Op>> = BTreeMap::new();
    graphs.iter().for_each(|graph| collect_ops(graph, &mut ops));
    let mut known: Vec<&str> = snick_ir::ops::reference().iter().map(|entry| entry.name.name).collect();
    known.dedup();
    let sources = ["Const", "Constant", "Parameter", "Result"];
    known.retain(|name| !sources.contains(name));
    for (table, has_operator) in formats {
        let mut text = String::new();
        for name in &known {
            let is_written = ops.get(name).is_some_and(|ops| ops.iter().any(|op| has_operator(op)));
            writeln!(text, "{} {name}", if is_written { "yes" } else { "-  " }).unwrap();
        }
        golden::check_table(table, &text);
    }
}

/// The kind of work of each operation, and its inputs that hold weights. A new operation that declares no
/// work appears in this table as a gap: `snick cost` assumes one operation for each element of the output.
#[test]
fn the_table_of_costs_is_current() {
    let mut known: BTreeMap<&str, (u8, &str, &[usize])> = BTreeMap::new();
    for entry in snick_ir::ops::reference() {
        known.insert(entry.name.name, (0, "-", &[]));
    }
    for path in files::ops_and_models() {
        let mut graph = snick_read::read_file(&path, None).unwrap_or_else(|e| panic!("{e}")).graph;
        snick_ir::infer(&mut graph);
        for id in graph.ids() {
            let op = graph.node(id).op();
            let (rank, work) = match graph.cost(id) {
                None => continue,
                Some(OpCost::None) => (1, "none"),
                Some(OpCost::Elementwise(_)) => (2, "operations"),
                Some(OpCost::MultiplyAdds(_)) => (3, "multiply-accumulates"),
            };
            if let Some(most) = known.get_mut(op.type_name()) {
                *most = (*most).max((rank, work, op.weights()));
            }
        }
    }
    let mut text = String::new();
    for (name, (_, work, weights)) in known {
        let weights = if weights.is_empty() { String::new() } else { format!(" {weights:?}") };
        writeln!(text, "{name:48} {work}{weights}").unwrap();
    }
    golden::check_table("cost", &text);
}

/// Adds the operations of a graph and its bodies by type.
fn collect_ops<'g>(graph: &'g Graph, ops: &mut BTreeMap<&'g str, Vec<&'g Op>>) {
    for id in graph.ids() {
        let op = graph.node(id).op();
        if op.is_builtin() {
            ops.entry(op.type_name()).or_default().push(op);
        }
        op.bodies().for_each(|(_, body)| collect_ops(body, ops));
    }
}
