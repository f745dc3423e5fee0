//! The guarantees that `docs/src/safety.md` gives about files, limits and names.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A temporary folder, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("snick-safety-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn model(&self, layers: &str) {
        std::fs::write(self.path("m.snick"), format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n")).unwrap();
    }

    /// Runs the program in the folder; returns its exit code and output.
    fn snick(&self, args: &[&str]) -> (Option<i32>, String) {
        let mut snick = Command::new(env!("CARGO_BIN_EXE_snick"));
        let Output { status, stdout, stderr } =
            snick.args(args).env("NO_COLOR", "1").current_dir(&self.0).output().unwrap();
        (status.code(), String::from_utf8([stdout, stderr].concat()).unwrap())
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A model with two outputs, `y = relu(x)` and `z = -x`.
const TWO_OUTPUTS: &str = "%x = Parameter-1 {element_type: f32, shape: \"2\"}\n%a = ReLU-1(%x)\n\
                           %b = Negative-1(%x)\n%y = Result-1(%a)\n%z = Result-1(%b)";

fn with_outputs(name: &str) -> Scratch {
    let folder = Scratch::new(name);
    folder.model(TWO_OUTPUTS);
    folder.model(TWO_OUTPUTS);
    assert_eq!(folder.snick(&["run", "m.snick", "-o", "want.npz"]).0, Some(0));
    folder
}

#[cfg(unix)]
#[test]
fn only_regular_files_are_replaced_and_they_keep_their_mode() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    let folder = Scratch::new("kinds");
    folder.model(TWO_OUTPUTS);
    let convert = |name: &str| folder.snick(&["convert", "m.snick", "-o", name]);
    let is_new = |path: &Path| std::fs::read_to_string(path).unwrap().starts_with("digraph");
    let set_mode =
        |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();

    let private = folder.path("private.dot");
    std::fs::write(&private, "old").unwrap();
    set_mode(&private, 0o600);
    assert_eq!(convert("private.dot").0, Some(0));
    assert_eq!(std::fs::metadata(&private).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(is_new(&private));

    set_mode(&private, 0o444);
    let (code, said) = convert("private.dot");
    assert_eq!(code, Some(2));
    assert!(said.contains("read-only"), "{said}");

    std::fs::create_dir(folder.path("there")).unwrap();
    symlink("there/target.dot", folder.path("link.dot")).unwrap();
    for _ in 0..2 {
        assert_eq!(convert("link.dot").0, Some(0));
        assert!(std::fs::symlink_metadata(folder.path("link.dot")).unwrap().is_symlink());
        assert!(is_new(&folder.path("there/target.dot")));
    }
    symlink("b.dot", folder.path("a.dot")).unwrap();
    symlink("a.dot", folder.path("b.dot")).unwrap();
    assert_eq!(convert("a.dot").0, Some(2));

    let pipe = folder.path("pipe.dot");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || is_new(&pipe)
    });
    assert_eq!(convert("pipe.dot").0, Some(0));
    assert!(reader.join().unwrap());
    assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());

    std::fs::create_dir(folder.path("folder.dot")).unwrap();
    assert_eq!(convert("folder.dot").0, Some(2));
    let long = format!("{}.dot", "n".repeat(251));
    assert_eq!(convert(&long).0, Some(0));
    assert!(folder.names().iter().all(|name| !name.ends_with(".tmp")), "{:?}", folder.names());
}

/// Opening a pipe would block until there is a writer.
#[cfg(unix)]
#[test]
fn pipes_and_devices_are_not_read() {
    let folder = Scratch::new("pipes");
    folder.model("%x = Parameter-1 {element_type: f32, shape: \"2\"}\n%y = Result-1(%x)");
    for pipe in ["pipe.xml", "m.bin"] {
        assert!(Command::new("mkfifo").arg(folder.path(pipe)).status().unwrap().success());
    }
    for model in ["pipe.xml", "m.snick"] {
        let (code, said) = folder.snick(&["infer", model]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("not a regular file"), "{said}");
    }
}

/// A sparse file takes no disk space, but reading it would take memory and time.
#[cfg(unix)]
#[test]
fn a_large_file_of_zeros_is_refused_at_once() {
    const BYTES: u64 = 8 << 30;
    let folder = Scratch::new("zeros");
    for (name, head) in [("m.xml", ""), ("m.json", ""), ("m.snick", ""), ("h.xml", "<?xml version=\"1.0\"?>")]
    {
        let file = std::fs::File::create(folder.path(name)).unwrap();
        std::fs::write(folder.path(name), head).unwrap();
        file.set_len(BYTES).unwrap();
        for verb in ["infer", "check"] {
            let (code, said) = folder.snick(&[verb, name, "--max-memory", "100M", "--timeout", "5s"]);
            assert_eq!(code, Some(if verb == "check" { 1 } else { 2 }), "{name}: {said}");
            assert!(said.contains("zeros"), "{name}: {said}");
        }
    }
}

/// The weights are already mapped while the command waits for its input.
#[cfg(unix)]
#[test]
fn weights_that_become_shorter_during_a_run_are_an_error() {
    let folder = Scratch::new("shorter");
    let layers = r#"<layer id="0" name="x" type="Parameter" version="opset1"><data shape="1" element_type="f32"/>
        <output><port id="0"/></output></layer>
        <layer id="1" name="w" type="Const" version="opset1">
        <data element_type="f32" shape="1048576" offset="0" size="4194304"/><output><port id="0"/></output></layer>
        <layer id="2" name="a" type="Add" version="opset1"><input><port id="0"/><port id="1"/></input>
        <output><port id="2"/></output></layer>
        <layer id="3" name="y" type="Result" version="opset1"><input><port id="0"/></input></layer>"#;
    let edges = [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0)].map(|(from, port, to, input)| {
        format!(r#"<edge from-layer="{from}" from-port="{port}" to-layer="{to}" to-port="{input}"/>"#)
    });
    let edges = edges.concat();
    let xml = format!(r#"<net name="n" version="11"><layers>{layers}</layers><edges>{edges}</edges></net>"#);
    std::fs::write(folder.path("m.xml"), xml).unwrap();
    std::fs::write(folder.path("m.bin"), vec![0; 4_194_304]).unwrap();
    assert!(Command::new("mkfifo").arg(folder.path("x.npy")).status().unwrap().success());
    let writer = std::thread::spawn({
        let (pipe, weights) = (folder.path("x.npy"), folder.path("m.bin"));
        move || {
            let mut pipe = std::fs::OpenOptions::new().write(true).open(pipe).unwrap();
            std::fs::write(weights, "").unwrap();
            std::io::Write::write_all(&mut pipe, &npy(1, "<f4", "(1,)", &[0; 4])).unwrap();
        }
    });
    let (code, said) = folder.snick(&["run", "m.xml", "--input", "x=x.npy", "-o", "out.npz"]);
    writer.join().unwrap();
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("became shorter"), "{said}");
}

#[test]
fn inputs_of_a_command_are_not_overwritten() {
    let folder = with_outputs("inputs");
    let before = std::fs::read(folder.path("want.npz")).unwrap();
    let commands: [&[&str]; 2] = [
        &["run", "m.snick", "--compare", "want.npz", "-o", "want.npz"],
        &["run", "m.snick", "--inputs", "want.npz", "--ignore-extra", "-o", "want.npz"],
    ];
    for command in commands {
        let (code, said) = folder.snick(command);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("--force"), "{said}");
        assert_eq!(std::fs::read(folder.path("want.npz")).unwrap(), before);
        assert_eq!(folder.snick(&[command, &["--force"]].concat()).0, Some(0));
    }
}

#[test]
fn arrays_that_are_no_input_are_refused() {
    let folder = with_outputs("extra");
    let (code, said) = folder.snick(&["run", "m.snick", "--inputs", "want.npz"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("no input named `y`") && said.contains("--ignore-extra"), "{said}");
    assert_eq!(folder.snick(&["run", "m.snick", "--inputs", "want.npz", "--ignore-extra"]).0, Some(0));
}

/// An array for an `.npz` file: an `.npy` header, followed by elements, which may be fewer than declared.
fn npy(version: u8, descr: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = match version {
        1 => u16::try_from(header.len()).unwrap().to_le_bytes().to_vec(),
        _ => u32::try_from(header.len()).unwrap().to_le_bytes().to_vec(),
    };
    [b"\x93NUMPY", &[version, 0][..], &length, header.as_bytes(), elements].concat()
}

/// These arrays have no elements, so reading elements first would cause a different error.
#[test]
fn headers_of_arrays_are_checked_before_elements_are_read() {
    let folder = Scratch::new("headers");
    folder.model(TWO_OUTPUTS);
    let run = |arrays: &[(&str, Vec<u8>)], more: &[&str]| {
        let mut archive = zip::ZipWriter::new(std::fs::File::create(folder.path("in.npz")).unwrap());
        for (name, bytes) in arrays {
            archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            std::io::Write::write_all(&mut archive, bytes).unwrap();
        }
        archive.finish().unwrap();
        folder.snick(&[&["run", "m.snick", "--inputs", "in.npz"], more].concat())
    };
    let expect = |arrays: &[(&str, Vec<u8>)], more: &[&str], code: i32, message: &str| {
        let (got, said) = run(arrays, more);
        assert!(got == Some(code) && said.contains(message), "{got:?}: {said}");
    };
    let good = || ("x.npy", npy(1, "<f4", "(2,)", &[0; 8]));
    expect(&[good()], &[], 0, "");
    // The key is not an input.
    let other = || ("other.npy", b"no array".to_vec());
    expect(&[other(), good()], &[], 2, "no input named `other`");
    expect(&[other(), good()], &["--ignore-extra"], 0, "");
    // The shape or the type is wrong.
    expect(&[("x.npy", npy(1, "<f4", "(268435456,)", &[]))], &[], 2, "f32[268435456]");
    expect(&[("x.npy", npy(1, "<i8", "(2,)", &[]))], &[], 2, "element type i64");
    expect(&[("x.npy", npy(9, "<f4", "(2,)", &[0; 8]))], &[], 2, "version 9.0");
    // The array needs more memory than allowed.
    folder.model("%x = Parameter-1 {element_type: f32, shape: \"?\"}\n%y = Result-1(%x)");
    let limited = ["--max-memory", "64M"];
    expect(&[("x.npy", npy(1, "<f4", "(268435456,)", &[]))], &limited, 3, "1073741824 bytes");
    expect(&[("x.npy", npy(1, "<f4", "(268435456,)", &[]))], &["--max-memory", "4G"], 2, "truncated?");
    folder.model("%x = Parameter-1 {element_type: string, shape: \"?\"}\n%y = Result-1(%x)");
    expect(&[("x.npy", npy(1, "<U0", "(1099511627776,)", &[]))], &limited, 3, "--max-memory");
}

#[test]
fn what_is_drawn_is_said() {
    let folder = Scratch::new("drawn");
    folder.model(
        "%x = Parameter-1 {element_type: f32, shape: \"?,?\"}\n%six = Const-1 i64[2] <-1, 6>\n\
         %r = Reshape-1(%x, %six) {special_zero: false}\n%y = Result-1(%r)",
    );
    let (code, said) = folder.snick(&["run", "m.snick", "--seed", "7"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("input x is random: f32[") && said.contains("seed 7"), "{said}");
    assert!(said.contains("y: f32[") && said.contains(" NaN 0 inf 0"), "{said}");
}

#[test]
fn a_comparison_is_complete_and_strict() {
    let folder = with_outputs("compare");
    let compare =
        |more: &[&str]| folder.snick(&[&["run", "m.snick", "--compare", "want.npz"], more].concat());
    assert_eq!(compare(&[]).0, Some(0));
    for tolerance in ["--rtol=nan", "--atol=nan", "--rtol=-1", "--atol=-1"] {
        assert_eq!(compare(&[tolerance]).0, Some(2), "{tolerance}");
    }
    assert_eq!(compare(&["--only", "nosuch"]).0, Some(2));
    // Now the model has one output more than the file.
    folder.model(&format!("{TWO_OUTPUTS}\n%w = Result-1(%x)"));
    let (code, said) = compare(&[]);
    assert_eq!(code, Some(1));
    assert!(said.contains("contains no output `w`"), "{said}");
    assert_eq!(compare(&["--only", "y", "--only", "z"]).0, Some(0));
    // NaN is not equal to anything, unless requested.
    folder.model("%x = Const-1 f32[1] <NaN>\n%y = Result-1(%x)");
    assert_eq!(folder.snick(&["run", "m.snick", "-o", "nan.npz"]).0, Some(0));
    let nan = |more: &[&str]| folder.snick(&[&["run", "m.snick", "--compare", "nan.npz"], more].concat()).0;
    assert_eq!((nan(&[]), nan(&["--equal-nan"])), (Some(1), Some(0)));
}

#[test]
fn time_and_memory_are_limited() {
    let folder = Scratch::new("limits");
    folder.model(
        "%x = Parameter-1 {element_type: f32, shape: \"2\"}
         %trips = Const-1 i64[] <4611686018427387904>
         %starts = Const-1 boolean[] <1>
         %endless = Loop-5(%trips, %starts, %x) {inputs: [\"2 -> 0\"], \
           outputs: [\"_ -> 0 purpose=execution_condition\", \"0 -> 1\"], back_edges: [1,0]}
           body graph \"\" {
             %state = Parameter-1 {element_type: f32, shape: \"2\"}
             %goes_on = Const-1 boolean[] <1>
             %next = Add-1(%state, %state)
             %r0 = Result-1(%goes_on)
             %r1 = Result-1(%next)
           }
         %y = Result-1(%endless)",
    );
    for command in [
        &["run", "m.snick"][..],
        &["canon", "m.snick", "--verify"],
        &["diff", "m.snick", "m.snick", "--run"],
        &["bench", "m.snick"],
    ] {
        let (code, said) = folder.snick(&[command, &["--timeout", "300ms"]].concat());
        assert_eq!(code, Some(3), "{said}");
        assert!(said.contains("timed out after 300ms (--timeout) at layer `endless`"), "{said}");
    }
    folder.model(
        "%x = Parameter-1 {element_type: f32, shape: \"1\"}\n%shape = Const-1 i64[2] <131072, 131072>\n\
         %wide = Broadcast-3(%x, %shape) {mode: numpy}\n%y = Result-1(%wide)",
    );
    let (code, said) = folder.snick(&["run", "m.snick", "--max-memory", "64M"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("`wide`"), "{said}");
    for option in ["--timeout=nan", "--timeout=-1s", "--max-memory=lots", "--max-memory=0"] {
        assert_eq!(folder.snick(&["run", "m.snick", option]).0, Some(2), "{option}");
    }
}

#[test]
fn layers_rank_and_fuel_are_limited() {
    let folder = Scratch::new("fuel");
    folder.model(
        "%x = Parameter-1 {element_type: f32, shape: \"1\"}\n%shape = Const-1 i64[2] <131072, 131072>\n\
         %wide = Broadcast-3(%x, %shape) {mode: numpy}\n%y = Result-1(%wide)",
    );
    for (command, said) in [
        (["infer", "m.snick", "--max-layers=3"], "the limit of 3 layers is reached"),
        (["canon", "m.snick", "--max-layers=3"], "the limit of 3 layers is reached"),
        (["infer", "m.snick", "--max-rank=1"], "the limit of rank 1 is reached at layer `wide`"),
        (["run", "m.snick", "--fuel=1000000"], "computes 17179869184 elements"),
    ] {
        let (code, text) = folder.snick(&command);
        assert_eq!(code, Some(3), "{command:?}: {text}");
        assert!(text.contains(said), "{command:?}: {text}");
    }
    assert_eq!(folder.snick(&["infer", "m.snick", "--max-layers=4", "--max-rank=2", "--fuel=0"]).0, Some(0));
}

/// No verb may report a limit as a finding.
#[test]
fn every_verb_ends_at_a_limit() {
    let folder = Scratch::new("verbs");
    folder.model(
        "%x = Parameter-1 {element_type: f32, shape: \"1000\"}\n%y = Abs-1(%x)\n%z = Sqrt-1(%y)\n\
         %w = Result-1(%z)",
    );
    for limit in ["--max-memory=1K", "--fuel=10", "--max-layers=3"] {
        for command in [
            &["run", "m.snick"][..],
            &["run", "m.snick", "--canon"],
            &["diff", "m.snick", "m.snick", "--run"],
            &["canon", "m.snick", "--verify"],
            &["canon", "m.snick", "m.snick", "--verify"],
            &["bench", "m.snick", "-n", "1"],
            &["check", "m.snick"],
            &["reduce", "m.snick", "--test", "false", "-o", "small.snick"],
        ] {
            let executes = !matches!(command[0], "check" | "reduce");
            let expected = if executes || limit.starts_with("--max-layers") { 3 } else { 0 };
            let (code, said) = folder.snick(&[command, &[limit]].concat());
            assert_eq!(code, Some(expected), "{command:?} {limit}: {said}");
            let option = limit.split_once('=').unwrap().0;
            let names_limit = command[0] != "run" || said.contains(option) || option == "--max-layers";
            assert!(names_limit, "{command:?} {limit}: {said}");
        }
    }
    let (_, said) = folder.snick(&["run", "m.snick", "--max-memory=1K"]);
    assert!(["f32[1000]", "4000", "1024", "--max-memory"].iter().all(|part| said.contains(part)), "{said}");
    let (_, said) = folder.snick(&["diff", "m.snick", "m.snick", "--run", "--max-memory=1K"]);
    assert!(!said.contains("differs"), "{said}");
}

#[test]
fn names_of_models_are_escaped() {
    let folder = Scratch::new("names");
    let attack = r"a\n::error title=x::\u{1b}[31m\u{202e}b";
    folder.model(&format!(
        "%\"x{attack}\" = Parameter-1 {{element_type: f32, shape: \"?,4\"}}\n\
         %\"s{attack}\" = Const-1 f32[5] <1, 2, 3, 4, 5>\n\
         %\"bad{attack}\" = Add-1(%\"x{attack}\", %\"s{attack}\")\n%\"y{attack}\" = Result-1(%\"x{attack}\")"
    ));
    let commands: [&[&str]; 5] = [
        &["inspect", "m.snick"],
        &["infer", "m.snick"],
        &["canon", "m.snick"],
        &["run", "m.snick", "--keep-going"],
        &["run", "m.snick", "--input", "no\n::error\u{1b}=x.npy"],
    ];
    for command in commands {
        let (_, said) = folder.snick(command);
        assert!(!said.contains(['\u{1b}', '\u{202e}']), "{said}");
        assert!(!said.lines().any(|line| line.trim_start().starts_with("::error")), "{said}");
    }
    let (_, json) = folder.snick(&["infer", "m.snick", "--format", "json"]);
    assert!(json.contains(r"x"), "{json}");
    assert_eq!(folder.snick(&["convert", "m.snick", "-o", "m.dot"]).0, Some(1));
    let dot = std::fs::read_to_string(folder.path("m.dot")).unwrap();
    assert!(!dot.contains(['\u{1b}', '\u{202e}']), "{dot}");
}
