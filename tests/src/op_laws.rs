//! Laws for every op, checked on the cases in `cases/ops/`, the models in `models/` and the corpus:
//!
//! - printed attributes parse as the same op;
//! - computed values agree with the inferred facts: element types, shapes, known elements;
//! - the canonical form gives the same bytes;
//! - slices of outputs can be computed from the slices of inputs that the op declares;
//! - the text form parses to the same graph.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use snick::{DimPolicy, draw_inputs};
use snick_ir::text::{PrintOptions, print};
use snick_ir::{AxisMap, Dialect, Graph, NodeId, Op, OpTraits, RawNode, Value};
use snick_run::{Options, Session};
use snick_tensor::Tensor;

use crate::files;
use crate::soundness::assert_sound;

fn load(path: &Path) -> Graph {
    let read = snick_read::read_file(path, None).unwrap_or_else(|e| panic!("{e}"));
    let mut graph = read.graph;
    let errors: Vec<String> = snick_ir::infer(&mut graph).iter().map(ToString::to_string).collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    graph
}

#[test]
fn attributes_round_trip() {
    for path in files::cases("ops").into_iter().chain(files::models_and_corpus()) {
        let graph = snick_read::read_file(&path, None).unwrap_or_else(|e| panic!("{e}")).graph;
        for id in graph.ids() {
            let node = graph.node(id);
            if matches!(node.op(), Op::SubGraph(_)) {
                continue; // its bodies are not attributes; the test of the text form covers them
            }
            let mut raw = RawNode::openvino(
                node.op().type_name(),
                node.version().clone(),
                node.op().attrs(),
                node.outs().len(),
            );
            raw.dialect = node.op().dialect();
            let again =
                Op::parse(&mut raw).unwrap_or_else(|e| panic!("{}: {}: {e}", path.display(), node.name()));
            assert_eq!(&again, node.op(), "{}: {}", path.display(), node.name());
            if raw.dialect == Dialect::OpenVino && !node.op().is_opaque() {
                assert!(
                    raw.attrs.all_read(),
                    "{}: {} writes attributes it does not read",
                    path.display(),
                    node.name()
                );
            }
        }
    }
}

/// Runs a graph on random inputs. Outputs that fail because the sizes do not suit the model are `None`. A
/// value that contradicts its inferred facts fails the test.
pub fn run(graph: &Graph, seed: u64, dims: DimPolicy) -> Vec<Option<Tensor>> {
    let inputs = draw_inputs(graph, vec![None; graph.parameters().count()], seed, dims).unwrap();
    let outputs = Session::new(graph)
        .unwrap()
        .run(&inputs, Options { keep_going: true, check_facts: true, ..Options::default() });
    assert_sound(&outputs, &String::new);
    outputs.values
}

#[test]
fn cases_compute_values_within_inferred_facts() {
    for path in files::cases("ops") {
        let graph = load(&path);
        let mut ran = vec![false; graph.results().count()];
        for (seed, dims) in sizes() {
            let values = run(&graph, seed, dims);
            ran.iter_mut().zip(values).for_each(|(ran, value)| *ran |= value.is_some());
        }
        assert!(
            !ran.contains(&false),
            "{}: output {:?} never ran",
            path.display(),
            ran.iter().position(|r| !r)
        );
    }
}

#[test]
fn models_compute_values_within_inferred_facts() {
    let (mut ran, mut all) = (0, 0);
    for path in files::models_and_corpus() {
        let mut graph = snick_read::read_file(&path, None).unwrap_or_else(|e| panic!("{e}")).graph;
        snick_ir::infer(&mut graph);
        for (seed, dims) in sizes().take(2) {
            let values = run(&graph, seed, dims);
            ran += values.iter().flatten().count();
            all += values.len();
        }
    }
    assert!(2 * ran > all, "only {ran} of {all} outputs were computed");
}

#[test]
fn cases_compute_the_same_in_canonical_form() {
    for path in files::cases("ops") {
        let graph = load(&path);
        let mut canonical = graph.clone();
        let report = snick_pass::canonicalise(&mut canonical, &snick_pass::RewriteOptions::new());
        let errors: Vec<String> = report.errors.iter().map(ToString::to_string).collect();
        assert!(errors.is_empty(), "{}", errors.join("\n"));
        let mut compared = false;
        for (seed, dims) in sizes() {
            let (before, after) = (run(&graph, seed, dims), run(&canonical, seed, dims));
            assert!(before == after, "{}: the canonical form computes something else", path.display());
            compared |= before.iter().any(Option::is_some);
        }
        assert!(compared, "{}: never ran", path.display());
    }
}

#[test]
fn models_compute_the_same_on_two_threads_and_in_canonical_form() {
    let (mut compared, mut all) = (0, 0);
    for path in files::models_and_corpus() {
        let mut graph = snick_read::read_file(&path, None).unwrap_or_else(|e| panic!("{e}")).graph;
        snick_ir::infer(&mut graph);
        let mut canonical = graph.clone();
        drop(snick_pass::canonicalise(&mut canonical, &snick_pass::RewriteOptions::new()));
        let again = snick_pass::canonicalise(&mut canonical.clone(), &snick_pass::RewriteOptions::new());
        assert!(again.applied.is_empty(), "{}: {:?} in canonical form", path.display(), again.applied);
        let unseen = vec![None; graph.parameters().count()];
        let inputs = draw_inputs(&graph, unseen, 1, DimPolicy::MultipleOf(8)).unwrap();
        let on = |graph: &Graph, threads: usize| {
            let session = Session::new(graph).unwrap().with_threads(threads).unwrap();
            session.run(&inputs, Options { keep_going: true, ..Options::default() }).values
        };
        let expected = on(&graph, 1);
        assert!(expected == on(&graph, 2), "{}: on two threads", path.display());
        // A layer that fails on random inputs may succeed in canonical form.
        let same = |(want, got): (&Option<Tensor>, &Option<Tensor>)| want.is_none() || want == got;
        assert!(expected.iter().zip(&on(&canonical, 1)).all(same), "{}: in canonical form", path.display());
        compared += expected.iter().flatten().count();
        all += expected.len();
    }
    assert!(2 * compared > all, "only {compared} of {all} outputs were computed");
}

/// Evaluates an op on all but the first index of each output axis that corresponds to input axes, and
/// compares the result with the same part of the output. Returns whether there was such an axis.
fn assert_axes_follow(op: &Op, map: &AxisMap, inputs: &[Tensor], output: &Tensor) -> bool {
    let mut followed = false;
    for (axis, &size) in output.dims().iter().enumerate() {
        let Some(factor) = map.source(axis).filter(|_| size > 1) else { continue };
        let want = output.slice(axis, 1, size - 1, 1).unwrap();
        let mut parts = inputs.to_vec();
        for &(input, at) in &factor.inputs {
            let part = parts[input].slice(at, 1, size - 1, 1);
            parts[input] = part.unwrap_or_else(|error| panic!("{}: axis {axis}: {error}", op.type_name()));
        }
        if let Some(port) = map.sizes {
            let sizes: Vec<i64> = want.dims().iter().map(|&size| size as i64).collect();
            parts[port] = Tensor::from_slice(&sizes, &[sizes.len()]).unwrap();
        }
        let got = op.eval(&parts).unwrap_or_else(|error| panic!("{}: axis {axis}: {error}", op.type_name()));
        let (got, name) = (&got[0], op.type_name());
        assert_eq!(got.dims(), want.dims(), "{name}: axis {axis}");
        if map.rounds {
            let (got, want) = (got.to_f64_vec().unwrap(), want.to_f64_vec().unwrap());
            let is_near = |(got, want): (&f64, &f64)| (got - want).abs() <= 1e-5 * want.abs().max(1.0);
            assert!(got.iter().zip(&want).all(is_near), "{name}: axis {axis}: {got:?}, expected {want:?}");
        } else {
            assert!(*got == want, "{name}: axis {axis}: {got:?}, expected {want:?}");
        }
        followed = true;
    }
    followed
}

/// Evaluates each op of the cases, and passes it to `check` with its inputs and outputs.
fn for_each_op(mut check: impl FnMut(&Graph, NodeId, &[Tensor], &[Tensor])) {
    for path in files::cases("ops") {
        let graph = load(&path);
        let unseen = vec![None; graph.parameters().count()];
        let drawn = draw_inputs(&graph, unseen, 1, DimPolicy::MultipleOf(8)).unwrap();
        let parameters = graph.parameters().map(|node| Value { node, port: 0 });
        let mut values: HashMap<Value, Tensor> = parameters.zip(drawn).collect();
        for id in graph.order().unwrap() {
            let ports = graph.inputs(id);
            let inputs: Option<Vec<Tensor>> =
                ports.iter().map(|input| values.get(&(*input)?).cloned()).collect();
            let (Some(inputs), op) = (inputs, graph.node(id).op()) else { continue };
            let Ok(outputs) = op.eval(&inputs) else { continue };
            check(&graph, id, &inputs, &outputs);
            values.extend((0..).zip(outputs).map(|(port, value)| (Value { node: id, port }, value)));
        }
    }
}

#[test]
fn views_share_the_memory_of_their_input() {
    let mut viewed = BTreeSet::new();
    for_each_op(|graph, id, inputs, outputs| {
        let op = graph.node(id).op();
        let Some(input) = inputs.first().filter(|input| input.is_contiguous() && op.has(OpTraits::VIEW))
        else {
            return;
        };
        for output in outputs.iter().filter(|output| !output.is_empty()) {
            let name = op.type_name();
            assert!(output.storage().shares_with(input.storage()), "{name} copies");
            assert!(op.has(OpTraits::STRIDED) || output.is_contiguous(), "{name} is strided");
            viewed.insert(name.to_string());
        }
    });
    assert!(viewed.len() > 10, "only {} ops: {viewed:?}", viewed.len());
}

#[test]
fn axes_follow_those_that_ops_declare() {
    let mut followed = BTreeSet::new();
    for_each_op(|graph, id, inputs, outputs| {
        let op = graph.node(id).op();
        if let Some(map) = graph.axis_map(id)
            && assert_axes_follow(op, &map, inputs, &outputs[0])
        {
            followed.insert(op.type_name().to_string());
        }
    });
    assert!(followed.len() > 50, "only {} ops: {followed:?}", followed.len());
}

#[test]
fn cases_round_trip_through_text() {
    for path in files::cases("ops") {
        let graph = load(&path);
        let text = print(&graph, PrintOptions::default());
        let mut again =
            snick_ir::text::parse(&text, None).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        snick_ir::infer(&mut again);
        assert!(again == graph, "{}: the graph changed", path.display());
        assert_eq!(print(&again, PrintOptions::default()), text);
    }
}

/// Sizes of dynamic dims to try: the smallest, random ones, and one large enough for windows.
fn sizes() -> impl Iterator<Item = (u64, DimPolicy)> {
    let drawn = (5..12).map(|seed| (seed, DimPolicy::Drawn));
    [
        (1, DimPolicy::MultipleOf(8)),
        (2, DimPolicy::Drawn),
        (3, DimPolicy::Smallest),
        (4, DimPolicy::MultipleOf(2)),
    ]
    .into_iter()
    .chain(drawn)
}
