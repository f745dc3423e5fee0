//! Written files read back as models that give the same results.

use snick::FeatureLevel;
use snick_ir::ops::source::constant::Constant;
use snick_ir::{Format, Graph, Located, Op, OpError, Value};
use snick_read::Reader;
use snick_tensor::{ElementType, Storage, TensorError};

use super::compare::Tolerance;
use super::run::{Runs, rounds};
use super::{Finding, inferred};

/// Writes a graph in every format. An error must name the layer. If the graph is valid, what reads back must
/// be the same model.
pub(super) fn check(graph: &Graph, is_valid: bool, runs: &Runs) -> Result<(), Finding> {
    let _ = snick_emit::dot(graph, &|_| false);
    let _ = snick_emit::model_explorer(graph);
    let _ = snick_emit::stablehlo(graph, snick_emit::Precision::Highest);
    if let Ok(level) = "6.4".parse::<FeatureLevel>() {
        let _ = snick_emit::directml(graph, level);
    }
    if let Ok(files) = snick_emit::openvino::openvino(graph, Default::default()) {
        let model = Written {
            format: Format::OpenVino,
            model: shared(files.xml.as_bytes()),
            weights: Some(shared(&files.bin.to_bytes())),
        };
        model.check(graph, is_valid, runs, Tolerance::Exact)?;
    }
    if let Ok(files) = snick_emit::onnx::onnx(graph, "data") {
        let model = Written { format: Format::Onnx, model: shared(&files.model.to_bytes()), weights: None };
        let does_round = rounds(graph) || has_bodies(graph);
        let how = if does_round { Tolerance::Rounding } else { Tolerance::Exact };
        model.check(graph, is_valid && searches_in_order(graph), runs, how)?;
    }
    Ok(())
}

/// A file that was written.
struct Written {
    format: Format,
    model: Storage,
    weights: Option<Storage>,
}

fn shared(bytes: &[u8]) -> Storage {
    Storage::heap(bytes.to_vec())
}

impl Written {
    fn oracle(&self) -> &'static str {
        match self.format {
            Format::OpenVino => "written as OpenVINO IR",
            _ => "written as ONNX",
        }
    }

    fn check(&self, graph: &Graph, is_valid: bool, runs: &Runs, how: Tolerance) -> Result<(), Finding> {
        let finding = |detail: String| Err(Finding::of(self.oracle(), detail, graph));
        let read = match Reader::new().bytes(self.format, &self.model, self.weights.clone(), "written") {
            Ok(read) => read,
            Err(error) => return finding(error.to_string()),
        };
        if !is_valid {
            return Ok(());
        }
        let Some((again, errors)) = inferred(&read.graph) else { return Ok(()) };
        if !(read.errors.is_empty() && errors.is_empty()) && runs.none_succeeds(graph) {
            return Ok(());
        }
        if let Some(error) = read.errors.first() {
            return finding(error.to_string());
        }
        let may_fail = |error: &OpError| self.format == Format::Onnx && is_refused_by_onnx(error);
        if let Some(error) = errors.iter().find(|error| !may_fail(&error.error)) {
            return finding(Located::to_string(error));
        }
        let facts = |graph: &Graph| {
            let facts = graph.results().filter_map(|id| graph.node(id).outputs().next().cloned());
            facts.collect::<Vec<_>>()
        };
        let (before, after) = (facts(graph), facts(&again));
        if before.len() != after.len() {
            return finding(format!("{} outputs, expected {}", after.len(), before.len()));
        }
        for (before, after) in before.iter().zip(&after) {
            let shapes = [before, after].map(|fact| fact.shape.as_static());
            let are_empty = |shape: &[usize]| how != Tolerance::Exact && shape.contains(&0);
            let differ = matches!(&shapes, [Some(before), Some(after)]
                if before != after && !(are_empty(before) && are_empty(after)));
            // An IR cannot express an output of known type and unknown rank, unless the layer itself does.
            // Errors and types in a body that never runs are dropped, but then no run of the original
            // succeeds either.
            let is_untyped = after.element_type == ElementType::Dynamic
                && (before.shape.dims().is_none() || runs.none_succeeds(graph));
            if (before.element_type != after.element_type && !is_untyped) || differ {
                return finding(format!("an output is {after:?}, expected {before:?}"));
            }
        }
        runs.compare_unless(self.oracle(), &again, how, may_fail).map_err(|mut finding| {
            finding.graph = format!("{}from\n{}", finding.graph, super::text::printed(graph));
            finding
        })
    }
}

/// Whether an index is out of range or a window is on an empty axis: some ONNX ops reject these where
/// OpenVINO accepts them.
fn is_refused_by_onnx(error: &OpError) -> bool {
    match error {
        OpError::WithInputs { error, .. } => is_refused_by_onnx(error),
        OpError::Inside(located) | OpError::InDecomposition(located) => is_refused_by_onnx(&located.error),
        OpError::Tensor(error) => matches!(error, TensorError::IndexOutOfRange { .. }),
        error => matches!(error, OpError::WindowTooLarge { .. } | OpError::NoSuchIndex { .. }),
    }
}

fn has_bodies(graph: &Graph) -> bool {
    graph.ids().any(|id| graph.node(id).op().bodies().next().is_some())
}

/// Whether all searches are in ascending data. Otherwise they may return anything, even for sizes.
fn searches_in_order(graph: &Graph) -> bool {
    graph.ids().all(|id| match graph.node(id).op() {
        Op::Bucketize(_) => is_ascending(graph, graph.node(id).input(1)),
        Op::SearchSorted(_) => is_ascending(graph, graph.node(id).input(0)),
        _ => true,
    })
}

/// Whether a value is a constant that ascends along its last axis.
fn is_ascending(graph: &Graph, value: Option<Value>) -> bool {
    let Some(Op::Const(Constant::Here(tensor))) = value.map(|value| graph.node(value.node).op()) else {
        return false;
    };
    let length = tensor.dims().last().copied().unwrap_or(1).max(1);
    tensor.to_f64_vec().is_ok_and(|values| values.chunks(length).all(|line| line.is_sorted()))
}
