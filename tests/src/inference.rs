//! Compares the inferred shapes of the models in `models/` with OpenVINO's shapes in `expect/shapes.json`,
//! layer by layer.

use std::collections::HashMap;

use serde_json::Value as Json;

use crate::files;

/// Outputs with different shapes (model, layer, port): OpenVINO's shape, snick's shape, and why the latter is
/// right.
const DIFFERENT: &[(&str, &str, usize, &str, &str, &str)] = &[
    (
        "shape_subgraph",
        "flatten",
        0,
        "[2..10,?,?]",
        "[2..10,?,24..48]",
        "the first two dims are copied, 6 x 4..8 is left",
    ),
    ("shape_subgraph", "tail_flat", 0, "[2..10,?,?]", "[2..10,?,24..48]", "its Result"),
    ("split_family", "variadic_moving", 2, "[?,?,3]", "[1..9,?,3]", "4..12 less the other parts, 1 and 2"),
    ("split_family", "rest_at_the_end_2", 0, "[?,?,3]", "[1..9,?,3]", "its Result"),
    ("subgraphs_if", "branch", 0, "[2,?]", "[2,2..5]", "one branch gives the first half, the other all"),
    ("subgraphs_if", "out", 0, "[2,?]", "[2,2..5]", "its Result"),
    ("subgraphs_tensor_iterator", "iterate", 1, "[2,?,5]", "[2,3..8,5]", "one iteration an index of 3..8"),
    ("subgraphs_tensor_iterator", "every", 0, "[2,?,5]", "[2,3..8,5]", "its Result"),
];

#[test]
fn every_layer_has_the_shape_that_openvino_infers() {
    let (mut count, mut wrong) = (0, Vec::new());
    for path in files::models() {
        let folder = path.parent().unwrap();
        let name = folder.file_name().unwrap().to_str().unwrap();
        let Ok(recorded) = std::fs::read_to_string(folder.join("expect/shapes.json")) else { continue };
        let recorded: Json = serde_json::from_str(&recorded).unwrap();
        let mut graph = snick_read::read_file(&path, None).unwrap_or_else(|e| panic!("{e}")).graph;
        snick_ir::infer(&mut graph);
        let by_name: HashMap<&str, _> = graph.ids().map(|id| (graph.node(id).name(), id)).collect();
        for layer in recorded.as_array().unwrap() {
            let Some(&id) = layer["name"].as_str().and_then(|name| by_name.get(name)) else { continue };
            let node = graph.node(id);
            if node.op().is_opaque() {
                continue; // only the declared type is known
            }
            for (port, (expected, out)) in
                layer["outputs"].as_array().unwrap().iter().zip(node.outs()).enumerate()
            {
                let shape = out.fact.shape.display_intervals(graph.symbols()).to_string();
                let (theirs, layer) = (expected["partial_shape"].as_str().unwrap(), node.name());
                let known = DIFFERENT.iter().find(|d| (d.0, d.1, d.2) == (name, layer, port));
                match known {
                    Some(&(.., their_answer, ours, _)) => {
                        assert_eq!((theirs, shape.as_str()), (their_answer, ours))
                    }
                    None => wrong.extend(
                        (shape != theirs)
                            .then(|| format!("{name}: {layer}:{port}: {shape}, OpenVINO {theirs}")),
                    ),
                }
                assert_eq!(
                    out.fact.element_type.name(),
                    expected["element_type"].as_str().unwrap(),
                    "{name}: {layer}"
                );
                count += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 200, "{count}");
}
