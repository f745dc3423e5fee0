//! `snick diff`: verdicts, groups, JSON, escaped names, runs of both models, other formats.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A temporary folder, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("snick-diff-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// Writes a file; returns its path.
    fn write(&self, name: &str, content: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The output of `snick diff` on both streams, and its exit code.
fn diff(args: &[&str]) -> (String, String, Option<i32>) {
    diff_in(Path::new("."), args)
}

/// The output of `snick diff` in a folder.
fn diff_in(folder: &Path, args: &[&str]) -> (String, String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_snick"));
    command.arg("diff").args(args).current_dir(folder).env("NO_COLOR", "1").env_remove("COLUMNS");
    let out = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(out.stdout), text(out.stderr), out.status.code())
}

fn focus_cnn() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/focus_cnn/model.xml")
}

/// A model with `op` as activation; `prefix` starts the names of layers, and `factor` is a constant.
fn model(prefix: &str, op: &str, factor: &str) -> String {
    format!(
        "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"N,3\"}}\n  \
         %k = Const-1 f32[] <{factor}>\n  %\"{prefix}p\" = Multiply-1(%x, %k) {{auto_broadcast: numpy}}\n  \
         %\"{prefix}a\" = {op}-1(%\"{prefix}p\")\n  %\"{prefix}b\" = Abs-1(%\"{prefix}a\")\n  \
         %y = Result-1(%\"{prefix}b\")\n}}\n"
    )
}

#[test]
fn exit_codes_say_whether_models_are_equal() {
    let scratch = Scratch::new("codes");
    let a = scratch.write("a.snick", &model("", "ReLU", "2"));
    let renamed = scratch.write("renamed.snick", &model("other_", "ReLU", "2"));
    let other = scratch.write("other.snick", &model("", "Sin", "2"));
    let broken = scratch.write("broken.snick", "snick 1\ngraph \"g\" {\n");
    assert_eq!(diff(&[&a, &renamed]), ("equal: 6 layers, 3 renamed\n".into(), String::new(), Some(0)));
    let (out, _, code) = diff(&[&a, &other]);
    let wanted = format!(
        "different: 1 layer removed, 1 added; 5 layers the same\n\nremoved\n  - ReLU a  {a}:6:3\n\n\
         added\n  + Sin a  {other}:6:3\n"
    );
    assert_eq!((out, code), (wanted, Some(1)));
    for args in [[&a, &broken], [&a, &scratch.path("none.snick")], [&"-".to_string(), &"-".to_string()]] {
        let (out, error, code) = diff(&args.map(String::as_str));
        assert!(out.is_empty() && error.contains("error: ") && code == Some(2), "{args:?}: {error}");
    }
}

#[test]
fn json_has_causes_and_what_follows() {
    let scratch = Scratch::new("json");
    let a = scratch.write("a.snick", &model("", "ReLU", "2"));
    let b = scratch.write("b.snick", &model("", "ReLU", "2.5").replace("N,3", "2,3"));
    let (out, _, code) = diff(&[&a, &b, "--format", "json"]);
    assert_eq!(code, Some(1));
    for part in [
        r#"{"schema":"snick.diff/1","equal":false,"#,
        r#"{"a":"x","b":"x","index":0,"index_b":0,"types":null,"shapes":["[?,3]","[2,3]"],"moved":false,"exchanged":false}"#,
        r#"{"a":"k","b":"k","op":"Const","loc":"4:3","loc_b":"4:3","attrs":{},"inputs":[],"weights":{"differ":1.0,"max_abs":0.5},"types":null,"shapes":null}"#,
        r#""types":null,"shapes":["[N,3]","[2,3]"]}"#,
        r#""shape_drift":{"first":{"a":"p","b":"p","op":"Multiply","loc":"5:3","loc_b":"5:3"},"facts":["f32[?,3]","f32[2,3]"],"layers":4}"#,
        r#""uncompared":0,"#,
        r#""run":null"#,
    ] {
        assert!(out.contains(part), "{part} is not in {out}");
    }
}

#[test]
fn runs_are_compared_layer_by_layer() {
    let scratch = Scratch::new("runs");
    let a = scratch.write("a.snick", &model("", "ReLU", "2"));
    let b = scratch.write("b.snick", &model("", "ReLU", "3"));
    let (out, error, code) = diff(&[&a, &b, "--run", "--format", "json"]);
    assert!(error.contains("input x is random: f32[") && code == Some(1), "{error}");
    assert!(out.contains(r#""first_difference":{"a":"p","b":"p","op":"Multiply","#), "{out}");
    assert!(
        out.contains(r#""run":["#) && out.contains(r#""worst_index":[0,"#) && out.contains(r#""ok":false"#)
    );
    // The runs agree within the tolerance, but the layers differ.
    let close = scratch.write("close.snick", &model("", "ReLU", "2.000001"));
    let (out, _, code) = diff(&[&a, &close, "--run", "--format", "json"]);
    assert!(
        out.contains(r#""ok":true"#) && out.contains(r#""first_difference":null"#) && code == Some(1),
        "{out}"
    );
    let (out, _, code) = diff(&[&a, &a, "--run"]);
    let wanted = "equal: 6 layers\n\nrun on the same inputs: 1 output agrees\n    \
                  y: ok: max abs 0.000e0, max rel 0.000e0, 0 outside tolerance\n";
    assert_eq!((out.as_str(), code), (wanted, Some(0)));
    let (out, _, _) = diff(&[&a, &b, "--run"]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        (lines[0], lines[2]),
        ("different: 1 weight changed; 5 layers the same", "run on the same inputs: 1 output differs")
    );
    assert!(
        out.contains(&format!("\n\nfirst layer with different results\n  - Multiply p  {a}:5:3\n")),
        "{out}"
    );
}

/// A model with a body that contains the activation `op`, followed by `count` such activations.
fn model_with_body(op: &str, count: usize) -> String {
    let chain = (0..count).map(|at| {
        let from = if at == 0 { "loop".to_string() } else { format!("a{}", at - 1) };
        format!("  %a{at} = {op}-1(%{from})\n")
    });
    format!(
        "snick 1\ngraph \"g\" {{\n  %n = Const-1 i64[] <2>\n  %c = Const-1 boolean[] <1>\n  \
         %x = Parameter-1 {{element_type: f32, shape: \"1,2\"}}\n  \
         %loop = Loop-5(%n, %c, %x) {{inputs: [\"2 -> 0\"], outputs: [\"_ -> 0 purpose=execution_condition\",\"0 -> 1\"], back_edges: [1,0]}} : f32[1,2]\n    \
         body graph \"\" {{\n      %in = Parameter-1 {{element_type: f32, shape: \"1,2\"}}\n      \
         %on = Const-1 boolean[] <1>\n      %go = Result-1(%on)\n      %inner = {op}-1(%in)\n      \
         %out = Result-1(%inner)\n    }}\n{}  %y = Result-1(%a{})\n}}\n",
        chain.collect::<String>(),
        count - 1
    )
}

#[test]
fn many_differences_are_counted_by_operation_before_examples() {
    let scratch = Scratch::new("many");
    scratch.write("a.snick", &model_with_body("ReLU", 5));
    scratch.write("b.snick", &model_with_body("Sin", 5).replace("<2>", "<3>"));
    let head = "\
different: 6 layers removed, 6 added, 1 weight changed; 8 layers the same

removed  6 ReLU
added    6 Sin
changed  1 Const (weights)
";
    let changed = "
changed
  - Const n  a.snick:3:3
  + Const n  b.snick:3:3
      100.0 % of the elements differ, by 1.000e0 at most
";
    let examples = "
removed
  - ReLU a0  a.snick:14:3
  - ReLU a1  a.snick:15:3
  - ReLU a2  a.snick:16:3
  - ReLU a3  a.snick:17:3
  - ReLU a4  a.snick:18:3
  1 more; --all shows all

added
  + Sin a0  b.snick:14:3
  + Sin a1  b.snick:15:3
  + Sin a2  b.snick:16:3
  + Sin a3  b.snick:17:3
  + Sin a4  b.snick:18:3
  1 more; --all shows all
";
    let all = "
removed
  - ReLU a0                  a.snick:14:3
  - ReLU a1                  a.snick:15:3
  - ReLU a2                  a.snick:16:3
  - ReLU a3                  a.snick:17:3
  - ReLU a4                  a.snick:18:3
  - ReLU inner in loop/body  a.snick:11:7

added
  + Sin a0                  b.snick:14:3
  + Sin a1                  b.snick:15:3
  + Sin a2                  b.snick:16:3
  + Sin a3                  b.snick:17:3
  + Sin a4                  b.snick:18:3
  + Sin inner in loop/body  b.snick:11:7
";
    let (out, errors, code) = diff_in(&scratch.0, &["a.snick", "b.snick"]);
    assert_eq!((errors.as_str(), code), ("", Some(1)));
    assert_eq!(out, format!("{head}{examples}{changed}"));
    assert_eq!(diff_in(&scratch.0, &["a.snick", "b.snick", "--all"]).0, format!("{head}{all}{changed}"));
}

/// The layers of an ONNX model have no locations, and small differences are shown in full.
#[test]
fn layers_without_locations_are_named() {
    let scratch = Scratch::new("onnx");
    for op in ["ReLU", "Sin"] {
        let text = scratch.write(&format!("{op}.snick"), &model("", op, "2"));
        let onnx = scratch.path(&format!("{op}.onnx"));
        let bin = env!("CARGO_BIN_EXE_snick");
        assert!(
            Command::new(bin).args(["convert", &text, "-o", &onnx, "--quiet"]).status().unwrap().success()
        );
    }
    let (out, _, _) = diff_in(&scratch.0, &["ReLU.onnx", "Sin.onnx"]);
    let wanted = "different: 1 layer removed, 1 added; 5 layers the same\n\n\
                  removed\n  - ReLU a\n\nadded\n  + Sin a\n";
    assert_eq!(out, wanted);
}

/// Swapped inputs have the same layers.
#[test]
fn moved_inputs_are_a_verdict() {
    let scratch = Scratch::new("moved");
    let model = |inputs: [&str; 2]| {
        let [a, b] =
            inputs.map(|name| format!("  %{name} = Parameter-1 {{element_type: f32, shape: \"2\"}}\n"));
        format!("snick 1\ngraph \"g\" {{\n{a}{b}  %s = Subtract-1(%x, %y)\n  %z = Result-1(%s)\n}}\n")
    };
    scratch.write("a.snick", &model(["x", "y"]));
    scratch.write("b.snick", &model(["y", "x"]));
    let wanted = "\
different: 2 inputs moved; 4 layers the same

inputs
  - 0  x f32[2]
  + 1  x f32[2]
      moved to another position
  - 1  y f32[2]
  + 0  y f32[2]
      moved to another position
";
    assert_eq!(diff_in(&scratch.0, &["a.snick", "b.snick"]).0, wanted);
}

#[test]
fn names_are_escaped_and_sides_coloured() {
    let scratch = Scratch::new("names");
    let a = scratch.write("a.snick", &model("", "ReLU", "2"));
    let b = scratch.write("b.snick", &model("\\u{1b}[31m", "ReLU", "2"));
    let other = scratch.write("c.snick", &model("\\u{1b}[31m", "Sin", "2"));
    let (out, _, code) = diff(&[&a, &b]);
    assert!(!out.contains('\u{1b}') && code == Some(0), "{out}");
    let (out, _, _) = diff(&[&a, &other]);
    assert!(out.contains(r"+ Sin \u{1b}[31ma") && !out.contains('\u{1b}'), "{out}");
    let (out, _, _) = diff(&[&a, &other, "--color", "always"]);
    assert!(out.contains("\u{1b}[31m  - ReLU a") && out.contains("\u{1b}[32m  + Sin \\u{1b}[31ma"), "{out}");
}

#[test]
fn a_converted_model_is_equal_and_one_without_weights_is_not() {
    let scratch = Scratch::new("formats");
    let original = focus_cnn().display().to_string();
    let text = scratch.path("focus.snick");
    let bin = env!("CARGO_BIN_EXE_snick");
    let converted = Command::new(bin).args(["convert", &original, "-o", &text, "--quiet"]).status().unwrap();
    assert!(converted.success());
    for args in [[&original, &text, "--canon"].as_slice(), &[&text, &original]] {
        let (out, _, code) = diff(args);
        assert!(out.starts_with("equal: ") && code == Some(0), "{args:?}: {out}");
    }
    let bare = scratch.write("bare.xml", &std::fs::read_to_string(focus_cnn()).unwrap());
    let (out, _, code) = diff(&[&bare, &bare]);
    assert_eq!(
        (out.as_str(), code),
        ("equal: 46 layers; 25 constants without weights were not compared\n", Some(0))
    );
    let (out, _, code) = diff(&[&bare, &original]);
    assert!(out.contains("missing from one of the models") && code == Some(1), "{out}");
}

#[test]
fn an_execution_graph_is_joined_to_its_model() {
    let executed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/focus_cnn_executed.xml");
    let (model, executed) = (focus_cnn().display().to_string(), executed.display().to_string());
    let (text, _, code) = diff(&[&model, &executed]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("Convolution stem_conv, Add stem_add, Swish stem_swish"), "{text}");
    assert!(text.contains("added by the plug-in: 4 Const, 2 Reorder, 3 Reshape"), "{text}");

    // The execution graph may come first or second.
    let (json, _, code) = diff(&[&executed, &model, "--format", "json"]);
    assert_eq!(code, Some(0), "{json}");
    assert!(json.contains("\"schema\":\"snick.execution/1\",\"is_of_the_model\":true"), "{json}");
    assert!(json.contains("\"layer\":\"head_conv\""), "{json}");

    let (_, errors, code) = diff(&[&model, &executed, "--run"]);
    assert!(code == Some(2) && errors.contains("cannot be run"), "{errors}");
}

#[test]
fn an_execution_graph_of_another_model_is_a_finding() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples");
    let [other, executed] =
        ["two_inputs.snick", "focus_cnn_executed.xml"].map(|name| examples.join(name).display().to_string());
    let (text, _, code) = diff(&[&other, &executed]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("the execution graph of another model"), "{text}");
}
