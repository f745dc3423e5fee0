//! The program as seen by other programs: exit codes, streams, JSON, and the recorded answers in
//! `models/*/expect`.

use std::path::Path;
use std::process::Command;

use crate::{model, root, scratch, snick, text};

/// Models that cannot be executed, with the reported reason.
const NOT_EXECUTABLE: &[(&str, &str)] = &[("v10_no_precision", "no implementation to run `FancyOp`")];

#[test]
fn models_give_the_recorded_answers() {
    let mut compared = 0;
    for entry in std::fs::read_dir(root().join("models")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_string();
        let recorded = folder.join("expect/io.npz");
        if !recorded.exists() {
            continue;
        }
        let (npz, path) = (recorded.to_str().unwrap(), model(&name));
        let tolerance = ["--rtol", "1e-3", "--atol", "1e-4", "--equal-nan"];
        for canon in [&[][..], &["--canon"]] {
            let args =
                [&["run", &path, "--inputs", npz, "--ignore-extra", "--compare", npz], &tolerance[..], canon]
                    .concat();
            let out = snick(&args);
            let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
            match NOT_EXECUTABLE.iter().find(|(known, _)| *known == name) {
                Some((_, reason)) => {
                    assert_eq!(out.status.code(), Some(1), "{name}");
                    assert!(stderr.contains(reason), "{name}: {stderr}");
                }
                None => assert_eq!(out.status.code(), Some(0), "{name}: {stdout}{stderr}"),
            }
        }
        compared += 1;
    }
    assert!(compared > 25);
}

#[test]
fn infer_tells_shapes_as_json() {
    let out = snick(&["infer", &model("focus_cnn"), "--format", "json", "--shape", "image[N,3,H=32..64,64]"]);
    let json = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0));
    for part in [
        "\"schema\":\"snick.infer/1\"",
        "\"shape\":\"[?,3,32..64,64]\"",
        "\"symbolic\":\"[N,3,H,64]\"",
        "\"loc\":\"",
    ] {
        assert!(json.contains(part), "{part} is not in {json}");
    }
}

#[test]
fn cost_tells_amounts_as_json() {
    let out = snick(&["cost", &model("focus_cnn"), "--format", "json"]);
    let stdout = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert!(stdout.starts_with("{\"schema\":\"snick.cost/1\","), "{stdout}");
    for key in [
        "parameters",
        "weights_bytes",
        "macs",
        "flops",
        "activation_bytes",
        "peak_bytes",
        "state_bytes",
        "fuel",
    ] {
        assert!(stdout.contains(&format!("\"{key}\":")), "{key}: {stdout}");
    }
    let lines = text(&snick(&["cost", &model("focus_cnn")]).stdout);
    assert!(lines.lines().all(|line| line.chars().count() <= 80), "{lines}");
}

#[test]
fn dims_of_inputs_may_be_expressions() {
    let keys = root().join("docs/examples/masked_keys.snick").display().to_string();
    let shapes = ["--shape", "mask[B,P+T,1]", "--shape", "past[B,P=..8,8],new[B,T=2*3,8]"];
    let out = snick(&[&["infer", &keys], &shapes[..]].concat());
    assert_eq!(out.status.code(), Some(2), "{}", text(&out.stdout));
    let message = "bad dimension `T=2*3`: a name takes an interval";
    assert!(text(&out.stderr).contains(message), "{}", text(&out.stderr));

    let shapes = ["--shape", "mask[B,P+T,1]", "--shape", "past[B,P=..8,8],new[B,T=1..6,8]"];
    let out = snick(&[&["infer", &keys, "--format", "json"], &shapes[..]].concat());
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let masked = "\"shape\":\"[?,1..14,8]\"";
    assert!(text(&out.stdout).contains(masked), "{}", text(&out.stdout));
    assert!(text(&out.stdout).contains("\"symbolic\":\"[B,P+T,8]\""), "{}", text(&out.stdout));

    // Runs on random inputs confirm the expressions.
    let out = snick(&[&["run", &keys, "--check-facts"], &shapes[..]].concat());
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
}

#[test]
fn text_form_goes_through_standard_streams() {
    let folder = scratch("text");
    let (once, again) = (folder.join("a.snick"), folder.join("b.snick"));
    let (once_text, again_text) = (once.to_str().unwrap(), again.to_str().unwrap());
    assert_eq!(snick(&["convert", &model("focus_cnn"), "-o", once_text]).status.code(), Some(0));
    assert_eq!(snick(&["convert", once_text, "-o", again_text]).status.code(), Some(0));
    assert_eq!(std::fs::read(&once).unwrap(), std::fs::read(&again).unwrap());
    assert_eq!(
        std::fs::read(once.with_extension("bin")).unwrap(),
        std::fs::read(again.with_extension("bin")).unwrap()
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn canonical_form_verifies() {
    for name in
        ["focus_cnn", "rotary_embedding", "shape_subgraph", "split_family", "strided_slice_10_ellipsis"]
    {
        let out = snick(&["canon", &model(name), "--verify", "--format", "json"]);
        let json = text(&out.stdout);
        assert_eq!(out.status.code(), Some(0), "{name}: {json}{}", text(&out.stderr));
        assert!(json.contains("\"verified\":true"), "{name}: {json}");
        assert!(json.contains("\"left\":[]"), "{name}: {json}");
    }
}

#[test]
fn without_outputs_nothing_is_verified() {
    let folder = scratch("no-outputs");
    let path = folder.join("m.snick");
    let graph = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n  %y = Relu-1(%x)\n}\n";
    std::fs::write(&path, graph).unwrap();
    let out = snick(&["canon", path.to_str().unwrap(), "--verify"]);
    assert_eq!(out.status.code(), Some(1));
    assert!(text(&out.stdout).contains("nothing was compared"), "{}", text(&out.stdout));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn failures_have_their_exit_codes_and_places() {
    let folder = scratch("failures");
    let file = |name: &str, content: &str| {
        let path = folder.join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_string()
    };
    let old = file("old.xml", "<net name=\"n\" version=\"7\"><layers/></net>");
    let cut = file("cut.xml", "<net name=\"n\" version=\"11\">\n<layers>\n<layer id=\"0\" name=\"x\"");
    let edge = file(
        "edge.xml",
        "<net name=\"n\" version=\"11\"><layers></layers>\n<edges><edge from-layer=\"7\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/></edges></net>",
    );
    let twice = file(
        "twice.xml",
        "<net name=\"n\" version=\"11\"><layers>\n<layer id=\"0\" name=\"a\" type=\"Parameter\" version=\"opset1\">\
         <data shape=\"1\" element_type=\"f32\"/></layer>\n<layer id=\"0\" name=\"b\" type=\"Result\" \
         version=\"opset1\"/></layers><edges/></net>",
    );
    let pointer = file("pointer.xml", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n");
    let clash = file(
        "clash.snick",
        "snick 1\ngraph \"g\" {\n  %a = Parameter-1 {element_type: f32, shape: \"2,3\"}\n  %b = Parameter-1 {element_type: f32, \
         shape: \"2,4\"}\n  %sum = Add-1(%a, %b)\n  %y = Result-1(%sum)\n}\n",
    );
    for (args, code, message) in [
        (vec!["infer", old.as_str()], 2, "IR v7 is not supported; re-export"),
        (vec!["infer", cut.as_str()], 2, "cut.xml:"),
        (vec!["infer", edge.as_str()], 2, "edge.xml:2:8: edge: no layer has the id 1"),
        (vec!["infer", twice.as_str()], 2, "twice.xml:3:1: duplicate layer id 0, also used by `a`"),
        (vec!["infer", pointer.as_str()], 2, "pointer.xml: this is a git-LFS pointer"),
        (
            vec!["infer", clash.as_str()],
            1,
            "clash.snick:5:3: error: layer `sum` (Add): cannot broadcast [2,3] with [2,4]",
        ),
        (vec!["infer", "nowhere.xml"], 2, "nowhere.xml"),
        (vec!["fly"], 2, ""),
        (vec!["infer", clash.as_str(), "--shape", "c[1]"], 2, "`c`"),
        (vec!["infer", clash.as_str(), "--shape", "a[3..1]"], 2, "3..1"),
        (vec!["infer", clash.as_str(), "--shape", "a[2,N+]"], 2, "bad dimension `N+`"),
        (vec!["infer", clash.as_str(), "--shape", "a[2,N-1],b[2,N]"], 1, "dimension `N-1` may be negative"),
        (vec!["infer", clash.as_str(), "--shape", "a[2]", "--shape", "0[2]"], 2, "input `a` is given twice"),
    ] {
        let out = snick(&args);
        let stderr = text(&out.stderr);
        assert_eq!(out.status.code(), Some(code), "{args:?}: {stderr}");
        assert!(stderr.contains(message), "{args:?}: {stderr}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn weights_may_be_missing_for_shapes() {
    let folder = scratch("weights");
    let path = folder.join("model.xml");
    std::fs::copy(model("focus_cnn"), &path).unwrap();
    let path = path.to_str().unwrap();
    // The index constants are missing as well, so fewer values are known. The missing file is reported once,
    // and does not cause a failure.
    let out = snick(&["infer", path]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert_eq!(text(&out.stderr).matches("not found").count(), 1);
    let out = snick(&["run", path]);
    assert_eq!(out.status.code(), Some(1));
    assert!(text(&out.stderr).contains("weights were not found"));
    std::fs::remove_dir_all(folder).unwrap();
}

const TARGETS: [&str; 6] = ["xml", "onnx", "json", "snick", "dot", "mlir"];

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_format_that_is_not_written_is_answered_with_those_that_are() {
    let out = snick(&["convert", &model("focus_cnn"), "-o", "model.pdf"]);
    assert_eq!(out.status.code(), Some(2));
    for extension in [".xml", ".onnx", ".mlir", ".json", ".snick", ".dot"] {
        assert!(text(&out.stderr).contains(extension), "{extension}: {}", text(&out.stderr));
    }
}

#[test]
fn the_input_is_overwritten_only_when_forced() {
    let folder = scratch("overwrite");
    for extension in ["xml", "onnx", "snick", "json"] {
        let path = folder.join(format!("m.{extension}"));
        let name = path.to_str().unwrap();
        let source = model("slice8_01_basic");
        assert_eq!(snick(&["convert", &source, "-o", name]).status.code(), Some(0), "{extension}");
        let before = std::fs::read(&path).unwrap();
        // The output may also be another name for the same file.
        let roundabout = folder.join(".").join(format!("m.{extension}"));
        for target in [name, roundabout.to_str().unwrap()] {
            let out = snick(&["convert", name, "-o", target]);
            assert_eq!(out.status.code(), Some(2), "{extension}");
            assert!(text(&out.stderr).contains("would overwrite the input"), "{extension}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), before);
        let out = snick(&["convert", name, "-o", name, "--force"]);
        assert_eq!(out.status.code(), Some(0), "{extension}: {}", text(&out.stderr));
        assert_eq!(snick(&["infer", name]).status.code(), Some(0), "{extension}");
    }
    // The weights are part of the input, so they must not be overwritten either.
    let [source, named, other] = ["m.xml", "m.bin", "other.xml"].map(|name| folder.join(name));
    std::fs::copy(&source, &other).unwrap();
    let [other, named] = [&other, &named].map(|path| path.to_str().unwrap());
    let out = snick(&["convert", other, "--weights", named, "-o", source.to_str().unwrap()]);
    assert_eq!(out.status.code(), Some(2), "{}", text(&out.stderr));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn nothing_half_written_is_left() {
    let folder = scratch("half");
    for extension in TARGETS {
        // A folder with the name of the output file exists, so the last step of writing fails.
        let taken = folder.join(format!("taken.{extension}"));
        std::fs::create_dir(&taken).unwrap();
        let before = names_in(&folder);
        let out = snick(&["convert", &model("slice8_01_basic"), "-o", taken.to_str().unwrap()]);
        assert_ne!(out.status.code(), Some(0), "{extension}");
        let left: Vec<String> = names_in(&folder).into_iter().filter(|name| !before.contains(name)).collect();
        assert!(left.is_empty(), "{extension}: {left:?}");
    }
    // If the format cannot express the model, the old file is kept.
    for (name, extension) in [("v10_no_precision", "onnx"), ("focus_cnn", "json")] {
        let old = folder.join(format!("old.{extension}"));
        std::fs::write(&old, "old").unwrap();
        let out = snick(&["convert", &model(name), "-o", old.to_str().unwrap()]);
        assert_ne!(out.status.code(), Some(0), "{extension}");
        assert_eq!(std::fs::read(&old).unwrap(), b"old", "{extension}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn inner_values_are_written_and_compared() {
    let folder = scratch("dump");
    let run = |args: &[&str]| {
        let path = model("slice8_01_basic");
        let args = [&["run", path.as_str()], args].concat();
        let program = env!("CARGO_BIN_EXE_snick");
        Command::new(program).args(args).current_dir(&folder).env("NO_COLOR", "1").output().unwrap()
    };
    let layers = text(&snick(&["infer", &model("slice8_01_basic"), "--format", "json"]).stdout);
    assert!(layers.contains("\"data\""), "{layers}");
    let one = run(&["--dump", "data", "-o", "one.npz"]);
    assert_eq!(one.status.code(), Some(0), "{}", text(&one.stderr));
    assert!(folder.join("data.npy").exists());
    let two = run(&["--threads", "2", "--compare", "one.npz", "--rtol", "0", "--atol", "0"]);
    assert_eq!(two.status.code(), Some(0), "{}{}", text(&two.stdout), text(&two.stderr));
    for (args, message) in [
        (&["--dump", "dat"][..], "error: --dump dat: no such layer; did you mean `data`?\n"),
        (
            &["--compare", "one.npz", "--only", "outt"],
            "error: --only outt: the model has no such output; did you mean `out`?\n",
        ),
        (&["--compare", "on.npz"], "error: on.npz: no such file or folder; did you mean `one.npz`?\n"),
    ] {
        let missing = run(args);
        assert_eq!((missing.status.code(), text(&missing.stderr).as_str()), (Some(2), message));
    }
    let other = run(&["--seed", "7", "--compare", "one.npz"]);
    assert_eq!(other.status.code(), Some(1), "{}", text(&other.stdout));
}

#[test]
fn a_model_is_reduced_to_what_fails() {
    let folder = scratch("reduce");
    let out = folder.join("small.snick").display().to_string();
    let snick_path = env!("CARGO_BIN_EXE_snick");
    let command = format!("! {snick_path} infer {{}} | grep -q '^Interpolate'");
    let reduced = snick(&["reduce", &model("focus_cnn"), "--test", &command, "-o", &out]);
    assert_eq!(reduced.status.code(), Some(0), "{}", text(&reduced.stderr));
    let small = std::fs::read_to_string(&out).unwrap();
    assert!(small.starts_with("// RUN: ! ") && small.contains("Interpolate-11("), "{small}");
    assert!(!small.contains("StridedSlice") && small.lines().count() < 16, "{small}");
    let to_nothing =
        snick(&["reduce", &model("focus_cnn"), "--test", "false", "-o", &out, "--format", "json"]);
    let json = text(&to_nothing.stdout);
    assert!(
        json.starts_with("{\"schema\":\"snick.reduce/1\",\"layers_before\":46,\"layers_after\":"),
        "{json}"
    );
    let fine = snick(&["reduce", &model("focus_cnn"), "--test", "true", "-o", &out]);
    assert_eq!(fine.status.code(), Some(2));
    assert!(
        text(&fine.stderr).contains("must exit with 1 on the original model, but it exited with 0"),
        "{}",
        text(&fine.stderr)
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_reduced_model_fails_as_the_whole_one_does() {
    let folder = scratch("reduce-kinds");
    let out = folder.join("small.snick").display().to_string();
    let whole = folder.join("whole.snick").display().to_string();
    let parameter =
        |name: &str, shape| format!("%{name} = Parameter-1 {{element_type: f32, shape: \"{shape}\"}}\n");
    let layers = parameter("x", "2,3")
        + &parameter("y", "4,5")
        + "%a = ReLU-1(%x)\n%bad = MatMul-1(%a, %y)\n%worse = Add-1(%bad, %y)\n%last = Abs-1(%worse)\n\
           %r = Result-1(%last)\n";
    std::fs::write(&whole, format!("snick 1\ngraph \"g\" {{\n{layers}}}\n")).unwrap();
    let reduce = |more: &[&str]| {
        let run = snick(&[&["reduce", &whole, "-o", &out][..], more].concat());
        let small = std::fs::read_to_string(&out).unwrap_or_default();
        let _ = std::fs::remove_file(&out);
        (run.status.code(), text(&run.stderr).to_string(), small)
    };
    // Without a command, the first inference error must remain.
    let (code, stderr, small) = reduce(&[]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(small.contains("MatMul-1(") && !small.contains("Add-1("), "{small}");
    assert_eq!(small.lines().filter(|line| line.contains(" = ")).count(), 3, "{small}");
    // Unless requested, the error must not change to another one.
    let infer = format!("{} infer", env!("CARGO_BIN_EXE_snick"));
    let (_, _, small) = reduce(&["--test", &infer]);
    assert!(small.contains("MatMul-1("), "{small}");
    let (code, _, small) = reduce(&["--stderr-contains", "cannot broadcast", "--any-error"]);
    assert!(code == Some(0) && small.contains("Add-1(") && !small.contains("MatMul-1("), "{small}");
    let with_code = format!("{infer} {{}} > /dev/null; exit 7");
    assert_eq!(reduce(&["--test", &with_code, "--exit", "7", "--any-error"]).0, Some(0));
    // If a command fails for other reasons, this says nothing about the model.
    for (command, says) in [
        ("no-such-command-anywhere {}", "could not start: the shell exited with 127"),
        ("kill -9 $$ #", "was killed by a signal"),
        ("exit 3 #", "it exited with 3"),
    ] {
        let (code, stderr, _) = reduce(&["--test", command]);
        assert!(code == Some(2) && stderr.contains(says), "{command}: {stderr}");
    }
    let crashes = format!(
        "{infer} {{}} > /dev/null 2>&1; grep -q ReLU {{}} || echo 'Traceback (most recent call last):' >&2; exit 1 #"
    );
    assert!(reduce(&["--test", &crashes]).2.contains("ReLU"));
    let (code, stderr, _) = reduce(&["--stderr-contains", "no such text"]);
    assert!(code == Some(2) && stderr.contains("does not contain `no such text`"), "{stderr}");
    let (_, stderr, _) = reduce(&["--max-tests", "1"]);
    assert!(stderr.contains("reached --max-tests 1"), "{stderr}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn canon_checks_every_rewrite() {
    let out = snick(&["canon", &model("rotary_embedding"), "--verify", "--format", "json"]);
    let json = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{json}");
    for part in ["\"verified\":true", "\"unchecked\":0", "\"refuted\":[]"] {
        assert!(json.contains(part), "{part}\n{json}");
    }
    let unknown = snick(&["canon", &model("rotary_embedding"), "--passes", "no-such"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("merge-slices"), "{}", text(&unknown.stderr));
}

#[test]
fn states_are_saved_and_loaded() {
    let cache = root().join("docs/examples/key_cache.snick").display().to_string();
    let folder = scratch("states");
    let state = folder.join("state.npz").display().to_string();
    let step = ["run", &cache, "--shape", "new_keys[1,2,4]"];
    let first = snick(&[&step[..], &["--save-state", &state]].concat());
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    assert!(text(&first.stdout).starts_with("keys: f32[1, 2, 4]"), "{}", text(&first.stdout));
    // The state is only overwritten if requested.
    let again = [&step[..], &["--load-state", &state, "--save-state", &state]].concat();
    assert_eq!(snick(&again).status.code(), Some(2));
    let second = snick(&[&again[..], &["--force"]].concat());
    assert_eq!(second.status.code(), Some(0), "{}", text(&second.stderr));
    assert!(text(&second.stdout).starts_with("keys: f32[1, 4, 4]"), "{}", text(&second.stdout));
    let other = snick(&["run", &model("focus_cnn"), "--load-state", &state]);
    let stderr = text(&other.stderr);
    assert_eq!(other.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("the variable is `past.0present.0`, expected none"), "{stderr}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn stateless_models_run_step_by_step_like_stateful_ones() {
    let cache = root().join("docs/examples/key_cache.snick").display().to_string();
    let folder = scratch("stateless");
    let [stateless, stateful] =
        ["stateless.snick", "stateful.snick"].map(|name| folder.join(name).display().to_string());
    let out = snick(&["convert", &cache, "-o", &stateless, "--stateless"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let note = "note: past.0present.0: input past.0, output present.0; first f32[1,0,4] of 0";
    assert_eq!(text(&out.stderr), format!("{note}\nwrote {stateless} (353 B)\n"));
    let out = snick(&["convert", &stateless, "-o", &stateful, "--stateful"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let [first, second] = ["first.npz", "second.npz"].map(|name| folder.join(name).display().to_string());
    let shapes = "new_keys[1,2,4],past.0[1,0,4]";
    let out = snick(&["run", &stateless, "--shape", shapes, "-o", &first]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    // For the same random tokens, the model with a variable computes the same keys.
    for model in [&cache, &stateful] {
        let out = snick(&[
            "run",
            model,
            "--shape",
            "new_keys[1,2,4]",
            "-o",
            &second,
            "--compare",
            &first,
            "--only",
            "keys",
        ]);
        assert_eq!(out.status.code(), Some(0), "{}{}", text(&out.stdout), text(&out.stderr));
    }
    std::fs::remove_dir_all(folder).unwrap();
}
