//! ONNX models.

use snick_ir::Op;
use snick_tensor::Storage;

use crate::files;

/// Every model and case that can be written as ONNX is read with the same types and shapes of
/// its results.
#[test]
fn written_models_are_read_with_the_same_results() {
    let (mut same, mut refused) = (0, 0);
    for path in files::ops_and_models() {
        let mut read = snick_read::read_file(&path, None).unwrap();
        snick_ir::infer(&mut read.graph);
        let files = match snick_emit::onnx::onnx(&read.graph, "case.onnx.data") {
            Ok(files) => files,
            Err(error) => {
                assert!(!error.layer.is_empty() && !error.error.to_string().is_empty());
                // ONNX has no tokenizers.
                refused += usize::from(!has_extensions(&read.graph));
                continue;
            }
        };
        let again = snick_read::onnx::read(&Storage::heap(files.model.to_bytes()), None, "case.onnx");
        let mut again = again.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(again.errors.is_empty(), "{}: {:?}", path.display(), again.errors);
        let errors = snick_ir::infer(&mut again.graph);
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
        assert!(again.graph.ids().all(|id| !matches!(again.graph.node(id).op(), Op::Opaque(_))));
        let facts = |graph: &snick_ir::Graph| -> Vec<_> {
            graph.results().map(|id| graph.node(id).outs()[0].fact.clone()).collect()
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

/// Whether a layer is of no operation set.
fn has_extensions(graph: &snick_ir::Graph) -> bool {
    graph.ids().any(|id| matches!(graph.node(id).version(), snick_ir::Version::Custom(_)))
}
