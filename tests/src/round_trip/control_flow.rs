//! Loops and branches, canonicalised or not, give the same results after they are written and read back.

use std::path::{Path, PathBuf};

use snick::{DimPolicy, Model, draw_inputs};
use snick_ir::Graph;
use snick_run::{Options, Session};
use snick_tensor::Tensor;

use crate::files;

const CASES: [&str; 4] = ["loop", "loop_while", "tensor_iterator", "if"];

fn load(path: &Path) -> Model {
    let mut model = snick::load(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let errors: Vec<String> = model.infer().errors().iter().map(ToString::to_string).collect();
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

/// The model, canonicalised if `canonical`, written in a format and read back.
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
fn written_loops_and_branches_compute_the_same() {
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
                let given = vec![None; model.graph().parameters().count()];
                let inputs = draw_inputs(model.graph(), given, seed, DimPolicy::MultipleOf(2)).unwrap();
                let (before, after) = (run(model.graph(), &inputs), run(again.graph(), &inputs));
                assert!(
                    before == after,
                    "{name}.{extension} (canonical: {canonical}) computes something else"
                );
            }
        }
    }
}
