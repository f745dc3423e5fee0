//! Outputs of commands: arrays, profiles, completion scripts, manual pages.

use std::fs;
use std::path::Path;

use crate::{model, scratch, snick, text};

#[test]
fn one_output_is_an_array_and_several_are_an_archive() {
    let folder = scratch("arrays");
    let path = |name: &str| folder.join(name).display().to_string();
    let begins = |name: &str, magic: &[u8]| fs::read(folder.join(name)).unwrap().starts_with(magic);
    let one = model("slice8_01_basic");
    for (name, magic) in [("one.npy", &b"\x93NUMPY"[..]), ("one.NPY", b"\x93NUMPY"), ("one.npz", b"PK")] {
        assert_eq!(snick(&["run", &one, "-o", &path(name)]).status.code(), Some(0));
        assert!(begins(name, magic), "{name}");
    }
    let several = model("split_family");
    let refused = snick(&["run", &several, "-o", &path("several.npy")]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("several.npy") && text(&refused.stderr).contains(".npz"));
    let state = snick(&["run", &one, "--save-state", &path("state.npy")]);
    assert_eq!(state.status.code(), Some(2));
    assert!(!folder.join("several.npy").exists() && !folder.join("state.npy").exists());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_report_is_not_written_under_the_name_of_a_model() {
    let folder = scratch("page");
    for name in ["page.svg", "page.onnx", "page.snick"] {
        let path = folder.join(name);
        let out = snick(&["report", &model("focus_cnn"), "-o", path.to_str().unwrap()]);
        assert_eq!((out.status.code(), path.exists()), (Some(2), false), "{name}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn formats_of_one_name_stand_beside_each_other() {
    let folder = scratch("beside");
    for name in ["model.xml", "model.bin"] {
        let from = Path::new(&model("focus_cnn")).with_file_name(name);
        fs::copy(from, folder.join(name)).unwrap();
    }
    let path = |name: &str| folder.join(name).display().to_string();
    let run = |name: &str| text(&snick(&["run", &path(name)]).stdout);
    let (weights, answer) = (fs::read(folder.join("model.bin")).unwrap(), run("model.xml"));
    for name in ["model.snick", "model.onnx"] {
        let out = snick(&["convert", &path("model.xml"), "-o", &path(name)]);
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        assert_eq!(fs::read(folder.join("model.bin")).unwrap(), weights);
    }
    for name in ["model.xml", "model.snick"] {
        assert_eq!(run(name), answer);
    }
    let over = snick(&["convert", &path("model.onnx"), "-o", &path("model.xml"), "--force"]);
    assert_eq!(over.status.code(), Some(0), "{}", text(&over.stderr));
    assert_eq!((run("model.xml").is_empty(), run("model.snick")), (false, answer));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_profile_has_the_time_of_layers_and_operations() {
    let plain = text(&snick(&["run", &model("focus_cnn")]).stdout);
    let profiled = text(&snick(&["run", &model("focus_cnn"), "--profile"]).stdout);
    let tables = profiled.strip_prefix(&plain).unwrap();
    for part in ["operation", "Concat", "total", "share", "layer"] {
        assert!(tables.contains(part), "{part} is not in {tables}");
    }
    let json = text(&snick(&["run", &model("focus_cnn"), "--profile", "--format", "json"]).stdout);
    for part in [
        "\"profile\":{\"ms\":",
        "\"name\":\"focus\",\"op\":\"Concat\",\"loc\":\"130:3\",\"ms\":",
        "\"ops\":[",
    ] {
        assert!(json.contains(part), "{part} is not in {json}");
    }
    assert!(!text(&snick(&["run", &model("focus_cnn"), "--format", "json"]).stdout).contains("profile"));
}

#[test]
fn a_limit_of_memory_names_the_type_of_the_layer() {
    let out = snick(&["run", &model("focus_cnn"), "--max-memory", "1K"]);
    assert_eq!(out.status.code(), Some(3));
    assert!(text(&out.stderr).contains("a tensor of f32[1,12,8,8]"), "{}", text(&out.stderr));
}

#[test]
fn shells_complete_every_verb() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let out = snick(&["completions", shell]);
        assert_eq!(out.status.code(), Some(0), "{shell}");
        let script = text(&out.stdout);
        for word in ["inspect", "canon", "completions", "max-memory"] {
            assert!(script.contains(word), "{shell} does not complete {word}");
        }
    }
    assert_eq!(snick(&["completions", "tcsh"]).status.code(), Some(2));
}

#[test]
fn manual_pages_are_of_the_program_and_of_its_verbs() {
    let page = text(&snick(&["man"]).stdout);
    assert!(page.contains(".TH snick 1") && page.contains("snick\\-canon"), "{page}");
    let canon = text(&snick(&["man", "canon"]).stdout);
    assert!(canon.contains(".TH snick-canon 1") && canon.contains("max\\-memory"), "{canon}");
    assert_eq!(snick(&["man", "nothing"]).status.code(), Some(2));
}

#[test]
fn inputs_of_onnx_models_keep_their_default_values() {
    let folder = scratch("default_values");
    let path = |name: &str| folder.join(name).display().to_string();
    let graph = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n  \
                 %w = Parameter-1 {element_type: f32, shape: \"2\"} extra {default: tensor f32[2] <1.0, 2.0>}\n  \
                 %sum = Add-1(%x, %w) {auto_broadcast: numpy}\n  %y = Result-1(%sum)\n}\n";
    fs::write(path("model.snick"), graph).unwrap();
    let done = |args: &[&str]| {
        let output = snick(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    done(&["convert", &path("model.snick"), "-o", &path("model.onnx")]);
    done(&["convert", &path("model.onnx"), "-o", &path("again.onnx")]);
    let model = path("again.onnx");
    done(&["run", &model, "-o", &path("default.npz")]);
    // A model whose output `w` provides the value of the input `w`.
    let returned = "snick 1\ngraph \"g\" {\n  %c = Const-1 f32[2] <7.0, 8.0>\n  %w = Result-1(%c)\n}\n";
    fs::write(path("given.snick"), returned).unwrap();
    done(&["run", &path("given.snick"), "-o", &path("given.npz")]);
    done(&["run", &model, "--inputs", &path("given.npz"), "-o", &path("given_y.npz")]);
    let compared = snick(&["run", &model, "--compare", &path("given_y.npz")]);
    assert_eq!(compared.status.code(), Some(1), "{}", text(&compared.stdout));
    done(&["run", &model, "--inputs", &path("given.npz"), "--compare", &path("given_y.npz")]);
    done(&["run", &model, "--compare", &path("default.npz")]);
    // Other formats have no default values, so the input becomes a constant.
    done(&["convert", &model, "-o", &path("model.xml")]);
    done(&["run", &path("model.xml"), "--compare", &path("default.npz")]);
}

#[test]
fn written_files_are_reported_with_size_and_version() {
    let folder = scratch("wrote");
    let [cnn, slice] = ["focus_cnn", "slice8_01_basic"].map(|name| fs::canonicalize(model(name)).unwrap());
    let [cnn, slice] = [&cnn, &slice].map(|path| path.to_str().unwrap());
    // Runs a command and returns its messages, with `SIZE` in place of the sizes of the written files.
    let wrote = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_snick"));
        let out = command.args(args).current_dir(&folder).env("NO_COLOR", "1").output().unwrap();
        assert!(out.status.success(), "{args:?}: {}", text(&out.stderr));
        let mut messages = text(&out.stderr);
        let files =
            [folder.clone(), folder.join("hlo")].into_iter().filter_map(|path| fs::read_dir(path).ok());
        for entry in files.flatten().map(Result::unwrap) {
            let (name, bytes) = (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len());
            messages = messages.replace(&format!("{name} ({bytes} B"), &format!("{name} (SIZE"));
        }
        messages
    };
    for (output, message) in [
        ("y.xml", "wrote y.xml (SIZE, IR v11) and y.bin (SIZE)\n"),
        ("y.onnx", "wrote y.onnx (SIZE, opset 21)\n"),
        ("y.json", "wrote y.json (SIZE, feature level 4.1)\n"),
        ("y.snick", "wrote y.snick (SIZE)\n"),
        ("y.mlir", "wrote y.mlir (SIZE)\n"),
        ("y.dot", "wrote y.dot (SIZE)\n"),
        ("a\u{1b}b.svg", "wrote a\\u{1b}b.svg (2866 B)\n"),
        ("-", ""),
    ] {
        assert_eq!(wrote(&["convert", slice, "-o", output]), message);
    }
    assert_eq!(
        wrote(&["convert", slice, "--to", "stablehlo", "-o", "hlo"]),
        "wrote hlo/model.mlir (SIZE) and hlo/manifest.json (SIZE)\n"
    );
    assert_eq!(wrote(&["canon", slice, "-o", "c.snick"]), "wrote c.snick (SIZE)\n");
    let failing = ["reduce", cnn, "--shape", "[1,3,31,33]", "-o", "small.snick"];
    assert_eq!(wrote(&failing), "wrote small.snick (SIZE)\n");
    assert_eq!(
        wrote(&["run", slice, "-o", "o.npy", "--dump", "slice", "--save-state", "s.npz"]),
        "note: input data is random: f32[10], seed 0\n\
         wrote slice.npy (SIZE)\nwrote o.npy (SIZE)\nwrote s.npz (SIZE)\n"
    );
    let baseline = ["check", slice, "--baseline", "known.txt", "--write-baseline"];
    assert_eq!(wrote(&baseline), "wrote known.txt (SIZE)\n");
    let page = wrote(&["report", slice, "-o", "r.html"]);
    assert!(page.starts_with("wrote r.html (") && page.ends_with(" kB)\n"), "{page}");
    assert_eq!(wrote(&["convert", slice, "-o", "q.dot", "--quiet"]), "");
    assert_eq!(
        wrote(&["convert", slice, "-o", "y.dot", "--error-format", "json"]),
        "{\"severity\":\"note\",\"message\":\"wrote y.dot (SIZE)\"}\n"
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_has_no_json_form_refuses_the_format() {
    for args in [
        &["man"][..],
        &["man", "run"],
        &["completions", "bash"],
        &["ops", "--markdown"],
        &["explain", "--markdown"],
    ] {
        let out = snick(&[args, &["--format", "json"]].concat());
        assert_eq!((out.status.code(), text(&out.stdout)), (Some(2), String::new()), "{args:?}");
        assert_eq!(snick(args).status.code(), Some(0), "{args:?}");
    }
}
