//! Picture files.

use crate::{model, scratch, snick, text};

#[test]
fn pictures_show_what_is_asked_for() {
    let folder = scratch("pictures");
    let out = folder.join("near.svg").display().to_string();
    let convert = |args: &[&str]| snick(&[&["convert", &model("focus_cnn"), "-o"], args].concat());
    assert_eq!(convert(&[&out, "--depth", "1"]).status.code(), Some(0));
    let folded = std::fs::read_to_string(&out).unwrap();
    assert_eq!(convert(&[&out, "--around", "resize", "--steps", "0"]).status.code(), Some(0));
    let one = std::fs::read_to_string(&out).unwrap();
    assert_eq!([&folded, &one].map(|picture| picture.matches("<rect").count()), [21, 1]);
    let failed = convert(&[&out, "--around", "resise"]);
    assert_eq!(failed.status.code(), Some(2));
    assert_eq!(text(&failed.stderr), "error: --around resise: no such layer; did you mean `resize`?\n");
    let failed = convert(&[&folder.join("x.dot").display().to_string(), "--depth", "1"]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(text(&failed.stderr).contains(".svg"));
    std::fs::remove_dir_all(folder).unwrap();
}

/// Consecutive blocks of two layers, each block in a scope of its own.
fn blocks(count: usize) -> String {
    let mut text =
        "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n".to_string();
    let mut last = "x".to_string();
    for block in 0..count {
        text += &format!(
            "  %\"h.{block}/a\" = ReLU-1(%\"{last}\")\n  %\"h.{block}/b\" = Tanh-1(%\"h.{block}/a\")\n"
        );
        last = format!("h.{block}/b");
    }
    text + &format!("  %y = Result-1(%\"{last}\")\n}}\n")
}

#[test]
fn of_blocks_of_the_same_structure_the_first_is_opened() {
    let folder = scratch("repeats");
    let path = folder.join("m.snick");
    std::fs::write(&path, blocks(5)).unwrap();
    let out = folder.join("m.svg").display().to_string();
    let convert = |args: &[&str]| {
        let run = snick(&[&["convert", &path.display().to_string(), "-o", &out], args].concat());
        assert_eq!(run.status.code(), Some(0));
        std::fs::read_to_string(&out).unwrap()
    };
    let once = convert(&[]);
    assert_eq!(once.matches("<rect").count(), 5);
    assert!(once.contains(">ReLU<") && once.contains(">4 × 2 layers<"));
    assert_eq!(once.matches("class=\"way\"").count(), 4);
    assert_eq!(convert(&["--each-repeat"]).matches("<rect").count(), 12);
    assert!(convert(&["--depth", "1"]).contains(">5 × 2 layers<"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn pictures_for_graphviz_have_colours() {
    let folder = scratch("colours");
    let out = folder.join("m.dot").display().to_string();
    assert_eq!(snick(&["convert", &model("shape_subgraph"), "-o", &out]).status.code(), Some(0));
    let dot = std::fs::read_to_string(&out).unwrap();
    assert!(
        dot.contains("fontcolor=\"#a86200\"")
            && dot.contains("\\nslice[2:4]\", style=filled, fillcolor=\"#e6f5e9\"")
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn graphs_for_model_explorer_have_scopes_and_bodies() {
    let folder = scratch("explorer");
    let path = folder.join("m.snick");
    std::fs::write(&path, blocks(1)).unwrap();
    let out = folder.join("m.graph.json").display().to_string();
    let convert = |model: &str| {
        assert_eq!(snick(&["convert", model, "-o", &out]).status.code(), Some(0));
        std::fs::read_to_string(&out).unwrap()
    };
    let graph = convert(&path.display().to_string());
    assert!(graph.starts_with(r#"[{"label":"g","graphs":["#));
    assert!(graph.contains(r#"{"id":"1","label":"ReLU","namespace":"h/0","#));
    let edge = r#""incomingEdges":[{"sourceNodeId":"0","sourceNodeOutputId":"0","targetNodeInputId":"0"}]"#;
    assert!(graph.contains(edge) && graph.contains(r#"{"key":"tensor_shape","value":"f32[N]"}"#));
    let graph = convert(&model("subgraphs_loop"));
    let body = graph.split("\"subgraphIds\":[\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(graph.contains(&format!("{{\"id\":\"{body}\",\"nodes\":[")), "{body}");
    std::fs::remove_dir_all(folder).unwrap();
}
