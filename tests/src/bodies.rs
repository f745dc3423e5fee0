//! Ops with bodies on their way through every stage: canonicalised, written, read back and run.

use std::path::{Path, PathBuf};

use snick::{DimPolicy, Model, draw_inputs};
use snick_ir::{Graph, Op};
use snick_run::{Options, Session};
use snick_tensor::Tensor;

use crate::files;

const CASES: [&str; 4] = ["loop", "loop_while", "tensor_iterator", "if"];

fn load(path: &Path) -> Model {
    let mut model = snick::load(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let errors: Vec<String> = model.infer().iter().map(ToString::to_string).collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    model
}

fn case(name: &str) -> Model {
    load(&files::root().join(format!("tests/cases/ops/{name}.snick")))
}

fn run(graph: &Graph, inputs: &[Tensor]) -> Vec<Tensor> {
    let outputs = Session::new(graph).unwrap().run(inputs, Options::default()).complete();
    outputs.unwrap_or_else(|e| panic!("{e}"))
}

/// The model, canonicalised if asked for, written in a format and read back.
fn written(name: &str, extension: &str, canonical: bool) -> Model {
    let mut model = case(name);
    if canonical {
        assert!(model.canonicalise().errors.is_empty());
    }
    let path: PathBuf = std::env::temp_dir()
        .join(format!("snick-bodies-{}-{name}-{canonical}.{extension}", std::process::id()));
    model.save(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
    let again = load(&path);
    for file in [path.clone(), path.with_extension("bin")] {
        let _ = std::fs::remove_file(file);
    }
    again
}

#[test]
fn formats_keep_what_is_computed() {
    for name in CASES {
        let model = case(name);
        for (extension, canonical) in [
            ("snick", false),
            ("snick", true),
            ("xml", false),
            ("xml", true),
            ("onnx", false),
            ("onnx", true),
        ] {
            let again = written(name, extension, canonical);
            for seed in 0..4 {
                let given = vec![None; model.graph.parameters().count()];
                let inputs = draw_inputs(&model.graph, given, seed, DimPolicy::MultipleOf(2)).unwrap();
                let (before, after) = (run(&model.graph, &inputs), run(&again.graph, &inputs));
                assert!(
                    before == after,
                    "{name}.{extension} (canonical: {canonical}) computes something else"
                );
            }
        }
    }
}

#[test]
fn slices_in_bodies_are_lowered() {
    fn slices(graph: &Graph) -> [usize; 2] {
        let mut found = [0, 0];
        for id in graph.ids() {
            let op = &graph.node(id).op;
            found[0] += usize::from(snick_pass::is_slice_like(op));
            found[1] += usize::from(matches!(op, Op::Slice(_)));
            for (_, body) in op.bodies() {
                let [like, lowered] = slices(body);
                (found[0], found[1]) = (found[0] + like, found[1] + lowered);
            }
        }
        found
    }
    // The Gather of one row in the loop is a slice, too.
    for (name, lowered) in [("loop", 2), ("tensor_iterator", 1), ("if", 1)] {
        let mut model = case(name);
        assert_eq!(slices(&model.graph), [1, 0], "{name}");
        let report = model.canonicalise();
        assert_eq!(slices(&model.graph), [0, lowered], "{name}");
        let counts = (report.slice_like_before, report.slice_after, report.missed.len());
        assert_eq!(counts, (lowered, lowered, 0), "{name}");
    }
}
