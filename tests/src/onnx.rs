//! ONNX in and out: which operators, and that what is written is read again as the same model.

use std::fmt::Write as _;

use snick_ir::Op;
use snick_tensor::Storage;

use crate::files;

fn snapshot(name: &str, text: String) {
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

/// What is read of ONNX, with the operator sets that changed an operator.
#[test]
fn operators_that_are_read() {
    let mut text = String::new();
    for operator in snick_read::onnx::operators() {
        let domain = if operator.domain.is_empty() { "ai.onnx" } else { operator.domain };
        let since: Vec<String> = operator.since.iter().map(ToString::to_string).collect();
        writeln!(text, "{domain}.{} {}", operator.name, since.join(" ")).unwrap();
    }
    snapshot("onnx-in", text);
}

/// Which ops of the IR ONNX can say.
#[test]
fn ops_that_are_written() {
    let written = snick_emit::onnx::written_ops();
    let mut known: Vec<&str> = snick_ir::ops::reference().iter().map(|entry| entry.name.name).collect();
    known.dedup();
    for op in &written {
        assert!(known.contains(op), "{op} is in the table, and no op is called so");
    }
    let sources = ["Const", "Constant", "Parameter", "Result"];
    let mut text = String::new();
    for op in known.into_iter().filter(|op| !sources.contains(op)) {
        writeln!(text, "{} {op}", if written.contains(&op) { "yes" } else { "-  " }).unwrap();
    }
    snapshot("onnx-out", text);
}

/// Every model of `models/` that ONNX can say, and every case of an op, comes back with the same types and shapes of
/// its results.
#[test]
fn what_is_written_is_read_again() {
    let cases = files::root().join("tests/cases/ops");
    let mut paths: Vec<_> = std::fs::read_dir(cases).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.extend(files::models());
    let (mut same, mut refused) = (0, 0);
    for path in paths {
        let mut read = snick_read::read_file(&path, None).unwrap();
        snick_ir::infer(&mut read.graph);
        let files = match snick_emit::onnx::onnx(&read.graph, "case.onnx.data") {
            Ok(files) => files,
            Err(error) => {
                assert!(!error.layer.is_empty() && !error.error.to_string().is_empty());
                refused += 1;
                continue;
            }
        };
        let again = snick_read::onnx::read(&Storage::heap(files.model), None, "case.onnx");
        let mut again = again.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(again.errors.is_empty(), "{}: {:?}", path.display(), again.errors);
        let errors = snick_ir::infer(&mut again.graph);
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
        assert!(again.graph.ids().all(|id| !matches!(again.graph.node(id).op, Op::Opaque(_))));
        let facts = |graph: &snick_ir::Graph| -> Vec<_> {
            graph.results().map(|id| graph.node(id).outs[0].fact.clone()).collect()
        };
        for (before, after) in facts(&read.graph).iter().zip(facts(&again.graph)) {
            assert_eq!(before.element_type, after.element_type, "{}", path.display());
            let (before, after) = (before.shape.as_static(), after.shape.as_static());
            assert!(before.is_none() || after.is_none() || before == after, "{}", path.display());
        }
        same += 1;
    }
    assert!(same > 2 * refused, "{same} models were written, {refused} refused");
}
