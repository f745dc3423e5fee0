//! Golden outputs for reading, inference, canonicalisation and writing of the models and cases.
//! `tests/golden/` has a folder per target with a file per model or case. `refused.snap` lists the models and
//! cases that a target cannot express, with the error messages. `INSTA_UPDATE=always` rewrites the files.

mod onnx_text;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use snick::{DimPolicy, FeatureLevel};
use snick_emit::openvino::SliceAs;
use snick_ir::text::{PrintOptions, print};
use snick_ir::{Graph, Located};

use crate::emit::with_fixed_sizes;
use crate::files;

/// The folders of `tests/golden/`.
const TARGETS: [&str; 11] = [
    "canon",
    "directml",
    "directml_read",
    "dot",
    "infer",
    "ngraph",
    "onnx",
    "openvino",
    "read",
    "stablehlo",
    "tables",
];

/// Tables of supported operations, which are checked where they are computed.
const TABLES: [&str; 5] = ["cost", "onnx_read", "onnx_written", "operations", "stablehlo_written"];

/// Models that together cover all parts of a format, for targets without a table of operations.
const CHOSEN: [&str; 8] = [
    "focus_cnn",
    "rotary_embedding",
    "shape_subgraph",
    "subgraphs_if",
    "subgraphs_loop",
    "subgraphs_tensor_iterator",
    "v10_no_precision",
    "weights_types",
];

/// The text of a model or case in a target, or the error message.
type Outcome = Result<String, String>;

/// Checks a text against `tests/golden/TARGET/NAME.snap`.
fn check(target: &str, name: &str, text: &str) {
    let folder = files::root().join("tests/golden").join(target);
    insta::with_settings!({ snapshot_path => folder, prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

/// Checks a table of supported operations.
pub fn check_table(name: &str, text: &str) {
    assert!(TABLES.contains(&name), "{name} is not in the list of tables");
    check("tables", name, text);
}

/// Checks a target's output for models and cases, and that its folder contains nothing else.
fn check_all(target: &str, paths: Vec<PathBuf>, mut outcome: impl FnMut(&Path) -> Outcome) {
    let root = format!("{}/", files::root().display());
    let (mut texts, mut refused) = (Vec::new(), String::new());
    for path in paths {
        let name = files::name(&path);
        match outcome(&path) {
            Ok(text) => texts.push((name, text)),
            Err(message) => refused += &format!("{name}: {}\n", message.replace(&root, "")),
        }
    }
    if !refused.is_empty() {
        texts.push(("refused".into(), refused));
    }
    let differs = |(name, text): &&(String, String)| {
        catch_unwind(AssertUnwindSafe(|| check(target, name, text))).is_err()
    };
    let wrong: Vec<&String> = texts.iter().filter(differs).map(|(name, _)| name).collect();
    assert!(wrong.is_empty(), "{target} of {wrong:?} differs from the golden output");
    assert_no_stale_files(target, texts.iter().map(|(name, _)| name.as_str()).collect());
}

fn assert_no_stale_files(target: &str, claimed: BTreeSet<&str>) {
    let found =
        files::with_extension(files::entries(&files::root().join("tests/golden").join(target)), "snap");
    let stale: Vec<String> =
        found.iter().map(|path| files::name(path)).filter(|name| !claimed.contains(name.as_str())).collect();
    assert!(stale.is_empty(), "no test checks these files of tests/golden/{target}: {stale:?}");
}

/// The graph as read, and the errors.
fn read(path: &Path) -> (Graph, Vec<Located>) {
    let read = snick_read::read_file(path, None).unwrap_or_else(|e| panic!("{e}"));
    (read.graph, read.errors)
}

fn inferred(path: &Path) -> Graph {
    let (mut graph, mut errors) = read(path);
    errors.extend(snick_ir::infer(&mut graph));
    assert!(errors.is_empty(), "{}", listed(&errors));
    graph
}

fn listed(errors: &[Located]) -> String {
    errors.iter().map(|error| format!("{error}\n")).collect()
}

/// The text form, with facts as expressions.
fn printed(graph: &Graph) -> String {
    print(graph, PrintOptions::new().symbolic(true))
}

fn chosen() -> Vec<PathBuf> {
    let mut models = files::models();
    models.retain(|path| CHOSEN.contains(&files::name(path).as_str()));
    models
}

#[test]
fn every_golden_file_is_checked() {
    let folders = files::entries(&files::root().join("tests/golden"));
    let folders: Vec<String> = folders.iter().map(|folder| files::name(folder)).collect();
    assert_eq!(folders, TARGETS);
    assert_no_stale_files("tables", TABLES.into());
}

#[test]
fn models_as_read() {
    check_all("read", files::models(), |path| {
        let (graph, errors) = read(path);
        let options = PrintOptions::new().types(false);
        Ok(listed(&errors) + &print(&graph, options))
    });
}

#[test]
fn models_and_cases_as_inferred() {
    check_all("infer", files::ops_and_models(), |path| Ok(printed(&inferred(path))));
}

#[test]
fn models_as_canonicalised() {
    check_all("canon", files::models(), |path| {
        let mut graph = inferred(path);
        let report = snick_pass::canonicalise(&mut graph, &snick_pass::RewriteOptions::new());
        assert!(report.errors.is_empty(), "{}", listed(&report.errors));
        assert!(snick_ir::verify(&graph).is_empty());
        let missed = report.missed.iter();
        let missed =
            missed.map(|missed| format!("left: {} ({}): {}\n", missed.layer, missed.op, missed.reason));
        Ok(printed(&graph) + &missed.collect::<String>())
    });
}

/// Reads and infers JSON and prints it with all errors, or returns why it cannot be read.
fn json(path: &Path) -> Outcome {
    let text = std::fs::read_to_string(path).unwrap();
    let mut read = snick_read::read_json(&text, "case.json").map_err(|error| error.to_string())?;
    read.errors.extend(snick_ir::infer(&mut read.graph));
    Ok(listed(&read.errors) + &printed(&read.graph))
}

#[test]
fn ngraph_functions_as_read() {
    check_all("ngraph", files::cases("ngraph"), json);
}

#[test]
fn directml_descriptions_as_read() {
    check_all("directml_read", files::cases("directml"), json);
}

/// Checks an emitter's output for models, or for models and cases of operations. Also checks the emitter
/// cases in `cases/emit/TARGET/`, and if `with_shared`, the cases shared by all emitters.
///
/// Returns the operation types in the models and cases that were written.
fn check_emitter(
    target: &str,
    paths: Vec<PathBuf>,
    with_shared: bool,
    write: fn(&Graph) -> Outcome,
) -> BTreeSet<String> {
    let is_case = |path: &PathBuf| path.is_file();
    let shared = files::cases("emit").into_iter().filter(is_case).filter(|_| with_shared);
    let own = files::cases("emit").into_iter().filter(|path| path.is_dir() && path.ends_with(target));
    let own = own.flat_map(|folder| files::entries(&folder));
    let cases: Vec<PathBuf> = shared.chain(own).collect();
    let paths = paths.into_iter().chain(cases.iter().cloned()).collect();
    let mut written = BTreeSet::new();
    check_all(target, paths, |path| {
        if cases.iter().any(|case| case == path) {
            return Ok(split_case(path, write, &mut written));
        }
        let graph = inferred(path);
        let outcome = write(&graph).or_else(|message| {
            // Some layers can only be written with fixed input sizes.
            let fixed = write(&with_fixed_sizes(&graph, DimPolicy::MultipleOf(8)));
            fixed.map(|text| format!("// with fixed sizes\n{text}")).map_err(|_| message)
        });
        if outcome.is_ok() {
            add_types(&graph, &mut written);
        }
        outcome
    });
    written
}

fn add_types(graph: &Graph, types: &mut BTreeSet<String>) {
    for id in graph.ids() {
        let op = graph.node(id).op();
        types.insert(op.type_name().to_string());
        op.bodies().for_each(|(_, body)| add_types(body, types));
    }
}

/// Checks that every operation marked as writable to a format occurs in one of its golden files.
fn assert_covers_table(column_from_the_end: usize, written: &BTreeSet<String>) {
    let table = files::root().join("tests/golden/tables/operations.snap");
    let table = std::fs::read_to_string(table).unwrap();
    let marked = table.lines().filter_map(|line| {
        let (name, _) = line.split_once(' ')?.0.rsplit_once('-')?;
        (line.rsplit(' ').nth(column_from_the_end)? != "-").then_some(name)
    });
    let missing: BTreeSet<&str> = marked.filter(|name| !written.contains(*name)).collect();
    assert!(missing.is_empty(), "no golden file shows how these are written: {missing:?}");
}

/// For a file with several graphs: the output or error message of each, below its comment.
fn split_case(path: &Path, write: fn(&Graph) -> Outcome, written: &mut BTreeSet<String>) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let mut part = |part: &str| {
        let read = snick_read::read_text(part, None, "");
        let mut graph = read.unwrap_or_else(|e| panic!("{}: {e}\n{part}", path.display())).graph;
        assert_eq!(snick_ir::infer(&mut graph), [], "{}:\n{part}", path.display());
        let outcome = write(&graph);
        if outcome.is_ok() {
            add_types(&graph, written);
        }
        let outcome = outcome.unwrap_or_else(|message| format!("refused: {message}\n"));
        format!("{}\n{outcome}", part.lines().next().unwrap())
    };
    text.split("// -----\n").map(&mut part).collect::<Vec<_>>().join("\n")
}

fn lowered(graph: &Graph) -> Graph {
    let mut graph = graph.clone();
    drop(snick_pass::lower_slices(&mut graph));
    graph
}

#[test]
fn openvino_models_as_written() {
    check_emitter("openvino", chosen(), true, |graph| {
        let files = snick_emit::openvino::openvino(&lowered(graph), SliceAs::default());
        files.map(|files| files.xml).map_err(|error| error.to_string())
    });
}

#[test]
fn onnx_models_as_written() {
    let written = check_emitter("onnx", files::ops_and_models(), true, |graph| {
        let files = snick_emit::onnx::onnx(graph, "model.onnx.data");
        let model = files.map_err(|error| error.to_string())?.model;
        Ok(onnx_text::text(&snick_onnx::decode(model.to_bytes().into()).unwrap()))
    });
    assert_covers_table(2, &written);
}

#[test]
fn stablehlo_modules_as_written() {
    let written = check_emitter("stablehlo", files::ops_and_models(), true, |graph| {
        snick_emit::stablehlo(graph, snick_emit::Precision::Highest)
            .map(|module| module.to_string())
            .map_err(|error| error.to_string())
    });
    assert_covers_table(1, &written);
}

#[test]
fn directml_descriptions_as_written() {
    check_emitter("directml", files::models(), false, |graph| {
        snick_emit::directml(&lowered(graph), FeatureLevel::V4_1).map_err(|error| error.to_string())
    });
}

#[test]
fn graphviz_pictures_as_written() {
    let pictures = ["focus_cnn", "subgraphs_loop", "weights_types"].map(String::from);
    let models = files::models().into_iter().filter(|path| pictures.contains(&files::name(path)));
    check_all("dot", models.collect(), |path| Ok(snick_emit::dot(&inferred(path), &|_| false)));
}
