//! `snick check` and `snick explain` as seen by other programs: formats, options, folders, settings and exit
//! codes.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A temporary folder with models, removed when dropped.
struct Project(PathBuf);

/// A model with an unused input (S016) and an unused layer (S015).
const UNUSED: &str = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n  \
                      %mask = Parameter-1 {element_type: i64, shape: \"2\"}\n  %lost = Exp-1(%x)\n  \
                      %y = Result-1(%x)\n}\n";
/// A model that adds tensors of incompatible sizes (S020).
const CLASH: &str = "snick 1\ngraph \"g\" {\n  %a = Parameter-1 {element_type: f32, shape: \"2,3\"}\n  \
                     %b = Parameter-1 {element_type: f32, shape: \"2,4\"}\n  %sum = Add-1(%a, %b)\n  \
                     %y = Result-1(%sum)\n}\n";
/// A model with control characters in a name (S007).
const HOSTILE: &str = "<net name=\"n\" version=\"11\"><layers>\n<layer id=\"0\" name=\"x\" type=\"Parameter\" \
                       version=\"opset1\"><data shape=\"2\" element_type=\"f32\"/><output><port id=\"0\"/></output></layer>\n\
                       <layer id=\"1\" name=\"r&#10;::error title=pwned::100%, &lt;b&gt; &amp; &#x202E;\" type=\"Result\" \
                       version=\"opset1\"><input><port id=\"0\"/></input></layer></layers><edges>\n\
                       <edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/></edges></net>\n";

impl Project {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("snick-check-cli-{}-{name}", std::process::id()));
        std::fs::create_dir_all(folder.join("models/deep")).unwrap();
        let project = Self(folder);
        project.write("models/unused.snick", UNUSED);
        project.write("models/deep/clash.snick", CLASH);
        project
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.0.join(path), text).unwrap();
    }

    /// Runs a command in the folder; returns its exit code, standard output and standard error.
    fn snick(&self, args: &[&str]) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_snick"))
            .args(args)
            .current_dir(&self.0)
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// The codes in the text output, in order.
    fn codes(&self, args: &[&str]) -> Vec<String> {
        let (_, text, _) = self.snick(args);
        let lines = text.lines().filter(|line| !line.starts_with(' '));
        let code = |line: &str| {
            line.split(' ').find(|word| word.len() == 4 && word.starts_with('S')).map(str::to_string)
        };
        lines.filter_map(code).collect()
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn folders_are_searched_and_answers_do_not_depend_on_the_threads() {
    let project = Project::new("folders");
    project.write("models/pom.xml", "<project><modelVersion>4</modelVersion></project>");
    project.write("models/package.json", "{\"name\": \"package\"}");
    project.write("models/deep/model.xml", "<html>404 Not Found</html>");
    let (code, one, _) = project.snick(&["check", "models", "--jobs", "1"]);
    assert_eq!((code, &one), (1, &project.snick(&["check", "models", "--jobs", "3"]).1));
    let files: Vec<&str> = one.lines().filter_map(|line| line.split(':').next()).collect();
    for model in ["models/deep/clash.snick", "models/deep/model.xml", "models/unused.snick"] {
        assert!(files.contains(&model), "{one}");
    }
    assert!(one.ends_with("3 models: 2 errors, 2 warnings, 0 notes\n"), "{one}");
    // A model that is given twice is only checked once.
    let twice = project.snick(&["check", "models/unused.snick", "models/unused.snick"]).1;
    assert!(twice.contains("1 model: "), "{twice}");
    let folder = project.0.join("empty");
    std::fs::create_dir_all(&folder).unwrap();
    for nothing in ["empty", "absent.xml"] {
        let (code, out, err) = project.snick(&["check", nothing]);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(nothing), "{err}");
    }
}

#[test]
fn codes_and_severities_decide_the_exit_code() {
    let project = Project::new("codes");
    let check = |args: &[&str]| project.snick(&[&["check", "models"], args].concat()).0;
    assert_eq!(project.codes(&["check", "models"]), ["S020", "S016", "S015"]);
    assert_eq!(project.codes(&["check", "models", "--select", "S015,S020"]), ["S020", "S015"]);
    assert_eq!(project.codes(&["check", "models", "--ignore", "S01"]), ["S020"]);
    assert_eq!(check(&[]), 1);
    assert_eq!(check(&["--fail-on", "never"]), 0);
    assert_eq!(check(&["--ignore", "shape-error"]), 0);
    assert_eq!(check(&["--ignore", "S020", "--fail-on", "warning"]), 1);
    assert_eq!(check(&["--ignore", "S", "--fail-on", "warning"]), 0);
    assert_eq!(check(&["--select", "S99"]), 2);
    assert_eq!(check(&["--target-openvino", "soon"]), 2);
    assert_eq!(check(&["--max-layers", "2"]), 3);
    assert_eq!(project.snick(&["infer", "models/clash.snick", "--format", "sarif"]).0, 2);
}

#[test]
fn shapes_and_weights_are_those_of_the_options() {
    let project = Project::new("shapes");
    let head = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"1,4\"}\n  \
                %to = Const-1 i64[2] <1, 4>\n  %flat = Reshape-1(%x, %to) {special_zero: false}\n  \
                %y = Result-1(%flat)\n}\n";
    project.write("head.snick", head);
    assert_eq!(project.codes(&["check", "head.snick"]), Vec::<String>::new());
    let (code, out, _) = project.snick(&["check", "head.snick", "--shape", "[2,4]"]);
    assert_eq!((code, out.contains("S020")), (1, true), "{out}");
    assert_eq!(project.snick(&["check", "head.snick", "--shape", "other[2,4]"]).0, 2);
    assert_eq!(project.snick(&["convert", "head.snick", "-o", "head.xml"]).0, 0);
    std::fs::rename(project.0.join("head.bin"), project.0.join("w.bin")).unwrap();
    assert_eq!(project.codes(&["check", "head.xml", "--ignore", "S040"]), ["S002"]);
    assert_eq!(
        project.codes(&["check", "head.xml", "--ignore", "S040", "--weights", "w.bin"]),
        Vec::<String>::new()
    );
    // The file declares its ports for other input shapes, which must not be reported as a mismatch.
    let sized = ["check", "head.xml", "--weights", "w.bin", "--ignore", "S040", "--shape", "[2,4]"];
    assert_eq!(project.codes(&sized), ["S020"]);
    let same = ["diff", "head.xml", "head.snick", "--weights", "w.bin"];
    assert_eq!(project.snick(&same).0, 0);
}

#[test]
fn a_baseline_hides_what_it_lists_and_nothing_else() {
    let project = Project::new("baseline");
    let (code, _, err) = project.snick(&["check", "models", "--baseline", "known.txt", "--write-baseline"]);
    assert_eq!(code, 0, "{err}");
    let known = std::fs::read_to_string(project.0.join("known.txt")).unwrap();
    assert!(known.contains("\nS020\tmodels/deep/clash.snick\tsum\n"), "{known}");
    let with = ["check", "models", "--baseline", "known.txt"];
    assert_eq!(project.codes(&with), Vec::<String>::new());
    assert_eq!(project.snick(&with).0, 0);
    // A finding stays known when it moves within its file. A second finding with the same code is new.
    project.write("models/unused.snick", &UNUSED.replace("  %lost", "\n\n  %lost"));
    assert_eq!(project.snick(&with).0, 0);
    project.write("models/other.snick", CLASH);
    assert_eq!(project.codes(&with), ["S020"]);
    assert_eq!(project.snick(&with).0, 1);
    project.write("known.txt", "not a baseline");
    assert_eq!(project.snick(&with).0, 2);
    assert_eq!(project.snick(&["check", "models", "--write-baseline"]).0, 2);
}

#[test]
fn settings_of_the_project_hold_below_it_and_the_command_line_above_them() {
    let project = Project::new("settings");
    project.write("snick.toml", "[check]\nignore = [\"S020\"]\nfail-on = \"warning\"\n");
    assert_eq!(project.codes(&["check", "models"]), ["S016", "S015"]);
    assert_eq!(project.snick(&["check", "models"]).0, 1);
    assert_eq!(project.snick(&["check", "models", "--fail-on", "error"]).0, 0);
    assert_eq!(project.codes(&["check", "models", "--ignore", "S01"]), ["S020"]);
    // The settings are also found from a subfolder of the project.
    let below = Command::new(env!("CARGO_BIN_EXE_snick"))
        .args(["check", "."])
        .current_dir(project.0.join("models"))
        .output()
        .unwrap();
    assert!(!String::from_utf8(below.stdout).unwrap().contains("S020"));
    for wrong in [
        "[check]\nignored = []\n",
        "[check]\nignore = \"S020\"\n",
        "[check]\nfail-on = \"always\"\n",
        "check = 1\n",
        "[check\n",
    ] {
        project.write("snick.toml", wrong);
        let (code, _, err) = project.snick(&["check", "models"]);
        assert_eq!(code, 2, "{wrong}");
        assert!(err.contains("snick.toml: "), "{err}");
    }
}

#[test]
fn json_has_models_findings_and_a_summary() {
    let project = Project::new("json");
    let (code, json, _) = project.snick(&["check", "models", "--format", "json"]);
    assert_eq!(code, 1);
    for part in [
        "{\"schema\":\"snick.check/1\"",
        "{\"path\":\"models/deep/clash.snick\",\"status\":\"error\",\"seconds\":",
        "{\"code\":\"S020\",\"name\":\"shape-error\",\"severity\":\"error\",\"path\":\"models/deep/clash.snick\",\
         \"layer\":\"sum\",\"op\":\"Add\",\"loc\":\"5:3\",\"message\":\"cannot broadcast [2,3] with [2,4]\"",
        "\"origins\":[\"f32[2,3] of `a` (Parameter, 3:3)\",\"f32[2,4] of `b` (Parameter, 4:3)\"]",
        "\"summary\":{\"models\":2,\"errors\":1,\"warnings\":2,\"notes\":0}",
    ] {
        assert!(json.contains(part), "{part} is not in {json}");
    }
    project.write("models/broken.xml", "<net");
    let (_, json, _) = project.snick(&["check", "models/broken.xml", "--format", "json"]);
    assert!(json.contains("\"status\":\"unreadable\"") && json.contains("\"layer\":null"), "{json}");
}

#[test]
fn no_format_lets_a_name_out_of_its_place() {
    let project = Project::new("formats");
    project.write("models/hostile.xml", HOSTILE);
    let check = |format| project.snick(&["check", "models", "--format", format]).1;
    for format in ["text", "sarif", "github", "junit"] {
        let out = check(format);
        assert!(!out.contains('\u{202e}') && !out.contains("\n::error title=pwned"), "{format}: {out}");
        assert!(out.contains("S007") && out.contains("u{202e}"), "{format}: {out}");
    }
    let annotations = check("github");
    let line = annotations.lines().find(|line| line.contains("S007")).unwrap();
    assert!(
        line.starts_with(
            "::warning file=models/hostile.xml,line=3,col=1,title=S007 control-characters::Result"
        )
    );
    assert!(line.contains("100%25, <b>"), "{line}");
    let junit = check("junit");
    assert!(junit.contains("tests=\"1\" failures=\"1\"") && junit.contains("&lt;b&gt; &amp;"), "{junit}");
    let sarif = check("sarif");
    for part in [
        "\"version\":\"2.1.0\"",
        "\"uri\":\"models/deep/clash.snick\"},\"region\":{\"startLine\":5,\"startColumn\":3}",
        "\"level\":\"error\"",
    ] {
        assert!(sarif.contains(part), "{part} is not in {sarif}");
    }
}

#[test]
fn many_findings_of_one_code_are_counted_in_text() {
    let project = Project::new("many");
    let layers: String = (0..9).map(|at| format!("  %l{at} = Exp-1(%x)\n")).collect();
    project.write("models/many.snick", &UNUSED.replace("  %lost = Exp-1(%x)\n", &layers));
    let (_, text, _) = project.snick(&["check", "models/many.snick", "--select", "S015"]);
    assert_eq!(text.matches("warning S015").count(), 5, "{text}");
    assert!(text.contains("4 more of S015") && text.contains("9 warnings"), "{text}");
    assert_eq!(text.matches("help: ").count(), 1, "{text}");
}

#[test]
fn explain_knows_codes_and_names() {
    let project = Project::new("explain");
    let (code, by_code, _) = project.snick(&["explain", "S024"]);
    assert_eq!((code, &by_code), (0, &project.snick(&["explain", "hard-coded-reshape"]).1));
    for part in ["S024 hard-coded-reshape (warning)", "Why it matters", "How to fix it", "%flat = Reshape-1"]
    {
        assert!(by_code.contains(part), "{part} is not in {by_code}");
    }
    let (code, out, err) = project.snick(&["explain", "S999"]);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    let all = project.snick(&["explain", "--format", "json"]).1;
    assert_eq!(all.matches("\"code\":\"S").count(), project.snick(&["explain"]).1.lines().count());
    // The example can be used as printed.
    let example = by_code.split("Example\n").nth(1).unwrap();
    project.write("models/example.snick", example);
    assert_eq!(project.codes(&["check", "models/example.snick"]), ["S024"]);
}

#[test]
fn answers_for_models_of_this_project_are_stable() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO_BIN_EXE_snick"))
        .args(["check", "models/strided_slice_05_clamped", "models/subgraphs_loop"])
        .current_dir(root)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    for line in [
        "models/strided_slice_05_clamped/model.xml:28:3: warning S030 empty-slice: StridedSlice `strided_slice`: \
         axis 0 is sliced to nothing: [1234:1234, 2:4321:-1]",
        "2 models: 0 errors, 2 warnings, 0 notes; S040: needs OpenVINO 2023.3 or later \
         (models/strided_slice_05_clamped/model.xml:28:3)",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
}

#[test]
fn findings_of_every_model_are_not_repeated_in_the_text() {
    let project = Project::new("repeated");
    // Three sizes of inputs are unbounded, and so is one size of each of two layers, which depends on data.
    project.write(
        "open.snick",
        "snick 1\ngraph \"g\" {\n  ir 11\n  %x = Parameter-1 {element_type: f32, shape: \"?,?\"}\n  \
         %m = Parameter-1 {element_type: f32, shape: \"?,3\"}\n  %y = Result-1(%x)\n  %n = Result-1(%m)\n  \
         %stop = Parameter-1 {element_type: i64, shape: \"\"}\n  %none = Const-1 i64[] <0>\n  \
         %one = Const-1 i64[] <1>\n  %at = Range-4(%none, %stop, %one) {output_type: i64}\n  \
         %r = Result-1(%at)\n  %on = Range-4(%one, %stop, %one) {output_type: i64}\n  %s = Result-1(%on)\n}\n",
    );
    project.write("closed.snick", &UNUSED.replace("graph \"g\" {", "graph \"g\" {\n  ir 11"));
    let (_, text, _) = project.snick(&["check", "open.snick", "closed.snick", "--ignore", "S015,S016"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "open.snick:4:3: warning S023 unbounded-dim: outputs have no upper bound: 3 axes of the inputs `x` \
             and `m` have no upper bound; 2 layers compute sizes without an upper bound: `at` and `on`",
            "    help: bound the inputs, for example: --shape \"x[..1024,..1024],m[..1024,3]\" results in \
             y[s0,s1], n[s2,3]",
            "closed.snick: ok",
            "2 models: 0 errors, 1 warning, 0 notes; S040: needs OpenVINO 2022.1 or later (open.snick)",
        ]
    );
    // JSON contains every finding.
    let (_, json, _) = project.snick(&["check", "open.snick", "--format", "json"]);
    let findings = serde_json::from_str::<serde_json::Value>(&json).unwrap()["findings"].clone();
    let count = |code: &str| findings.as_array().unwrap().iter().filter(|f| f["code"] == code).count();
    assert_eq!((count("S023"), count("S040")), (5, 1));
    // The needed release is shown on request.
    for args in [["--select", "S040"], ["--target-openvino", "2024.0"]] {
        let codes = project.codes(&[&["check", "closed.snick", "--ignore", "S015,S016"][..], &args].concat());
        assert_eq!(codes, ["S040"]);
    }
}
