//! `snick edit` and `snick extract`.

use std::fs;
use std::path::Path;

use crate::{model, root, scratch, snick, text};

/// Runs a verb that writes `out`, and returns its exit code.
fn code(args: &[&str], out: &Path) -> Option<i32> {
    snick(&[args, &["-o", &out.display().to_string()]].concat()).status.code()
}

/// The names of the layers of one operation type.
fn layers(path: &Path, op: &str) -> Vec<String> {
    let inferred = text(&snick(&["infer", &path.display().to_string(), "--format", "json"]).stdout);
    let answer: serde_json::Value = serde_json::from_str(&inferred).unwrap();
    let nodes = answer["nodes"].as_array().unwrap().iter().filter(|node| node["op"] == op);
    nodes.map(|node| node["name"].as_str().unwrap().to_string()).collect()
}

#[test]
fn edits_are_applied_in_the_given_order() {
    let (folder, cnn) = (scratch("edit"), model("focus_cnn"));
    let out = folder.join("out.xml");
    let renamed =
        ["edit", &cnn, "--rename", "image=a", "--outputs", "pool", "--rename", "a=b", "--rename", "b=c"];
    assert_eq!(code(&renamed, &out), Some(0));
    assert_eq!(
        (layers(&out, "Parameter"), layers(&out, "Convolution")),
        (vec!["c".into()], vec!["stem_conv".into()])
    );
    assert_eq!(layers(&out, "Result").len(), 1);
    // The layer no longer exists when it is to be renamed.
    let gone = ["edit", &cnn, "--outputs", "pool", "--rename", "softmax=probabilities"];
    assert_eq!(code(&gone, &folder.join("gone.xml")), Some(2));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_refused_edit_writes_nothing() {
    let (folder, cnn) = (scratch("refused"), model("focus_cnn"));
    let out = folder.join("out.xml");
    for (edit, value, exit) in [
        ("--set", "image.shape=1,4,16,16", 1),
        ("--set", "stem_conv.stride=1,1", 1),
        ("--set", "stem_conv=1,1", 2),
        ("--set", "nothing.strides=1,1", 2),
        ("--remove", "focus", 1),
        ("--rename", "image=pool", 1),
        ("--rename", "image", 2),
        ("--outputs", "pol", 2),
        ("--type", "image=f17", 2),
        ("--type", "pool=f16", 2),
        ("--constant", "stem_conv=missing.npy", 2),
    ] {
        let edited = ["edit", &cnn, "--rename", "scores=other", edit, value];
        assert_eq!(code(&edited, &out), Some(exit), "{edit} {value}");
        assert!(!out.exists(), "{edit} {value}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_error_names_the_edit_and_the_layers_that_clash() {
    let edit =
        ["edit", &model("focus_cnn"), "--set", "image.shape=1,4,16,16", "-o", "-", "--error-format", "json"];
    let lines: Vec<serde_json::Value> =
        text(&snick(&edit).stderr).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[0]["message"].as_str().unwrap().contains("--set image.shape=1,4,16,16"));
    assert_eq!(lines[1]["layer"], "stem_conv");
    let origins: Vec<&str> = lines[1]["origins"]
        .as_array()
        .unwrap()
        .iter()
        .map(|origin| origin["layer"].as_str().unwrap())
        .collect();
    assert_eq!(origins, ["focus", "stem_weights"]);
}

#[test]
fn a_replaced_constant_changes_the_outputs() {
    let (folder, slice) = (scratch("constant"), model("slice8_01_basic"));
    let (source, array, out) = (folder.join("m.snick"), folder.join("w.npy"), folder.join("out.snick"));
    let layers = "%w = Const-1 bf16[2] <1, 2>\n  %x = Parameter-1 {element_type: bf16, shape: \"2\"}\n  \
                  %y = Multiply-1(%x, %w) {auto_broadcast: numpy}\n  %z = Result-1(%y)";
    fs::write(&source, format!("snick 1\ngraph \"g\" {{\n  {layers}\n}}\n")).unwrap();
    // numpy has no bf16: `run` writes the bits, and `edit` reads them as such.
    let mut run = std::process::Command::new(env!("CARGO_BIN_EXE_snick"));
    assert!(run.args(["run", "m.snick", "--dump", "w"]).current_dir(&folder).status().unwrap().success());
    let path = array.display().to_string();
    let source_path = source.display().to_string();
    assert_eq!(code(&["edit", &source_path, "--constant", &format!("w={path}")], &out), Some(0));
    assert!(fs::read_to_string(&out).unwrap().contains("bf16[2] <1.0, 2.0>"));
    assert_eq!(code(&["edit", &slice, "--constant", &format!("slice={path}")], &out), Some(1));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_part_is_written_with_its_inputs_in_order() {
    let (folder, cnn) = (scratch("extract"), model("focus_cnn"));
    let out = folder.join("out.xml");
    assert_eq!(code(&["extract", &cnn, "--from", "skip,pool:0", "--to", "scores,head_conv"], &out), Some(0));
    assert_eq!(layers(&out, "Parameter"), ["skip", "pool:0"]);
    assert_eq!(layers(&out, "Result").len(), 2);
    for (option, value) in [("--to", "softmx"), ("--from", "scores,nothing"), ("--to", "pool:7")] {
        assert_eq!(
            code(&["extract", &cnn, option, value], &folder.join("none.xml")),
            Some(2),
            "{option} {value}"
        );
    }
    assert_eq!(
        code(&["extract", &cnn, "--from", "softmax", "--to", "pool"], &folder.join("none.xml")),
        Some(2)
    );
    assert!(!folder.join("none.xml").exists());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn inner_values_are_returned_under_their_names() {
    let run = ["run", &model("focus_cnn"), "--layers", "pool:1,head_conv", "--format", "json"];
    let answer: serde_json::Value = serde_json::from_slice(&snick(&run).stdout).unwrap();
    let outputs = answer["outputs"].as_array().unwrap();
    let names: Vec<&str> = outputs.iter().map(|output| output["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["scores", "pool:1", "head_conv"]);
    assert_eq!(outputs[1]["element_type"], "i64");
    // The value of `relu` has the tensor name `features`.
    let classifier = root().join("docs/examples/classifier.snick").display().to_string();
    let shown = text(&snick(&["run", &classifier, "--layers", "relu"]).stdout);
    let names: Vec<&str> = shown.lines().filter_map(|line| Some(line.split_once(':')?.0)).collect();
    assert_eq!(names, ["scores", "distance", "relu"]);
    let unknown = ["run", &model("focus_cnn"), "--layers", "pool:1,head_con"];
    assert_eq!(snick(&unknown).status.code(), Some(2));
}
