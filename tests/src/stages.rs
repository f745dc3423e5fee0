//! Snapshots of every model of `models/` after each stage: what was read, what inference says, what canonicalisation
//! makes of it. Read one to see what snick does.

use std::path::Path;

use snick_ir::Graph;
use snick_ir::text::{PrintOptions, print};

/// The model without facts.
fn read(path: &Path) -> Graph {
    let read = snick_read::read_file(path, None).unwrap_or_else(|e| panic!("{e}"));
    assert!(read.errors.is_empty(), "{:?}", read.errors);
    read.graph
}

fn inferred(path: &Path) -> Graph {
    let mut graph = read(path);
    let errors: Vec<String> = snick_ir::infer(&mut graph).iter().map(ToString::to_string).collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    graph
}

fn snapshot(stage: &str, text: String) {
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(stage, text);
    });
}

#[test]
fn models_as_read() {
    insta::glob!("../../models", "*/model.xml", |path| {
        let options = PrintOptions { types: false, ..PrintOptions::default() };
        snapshot("read", print(&read(path), options));
    });
}

#[test]
fn models_inferred() {
    insta::glob!("../../models", "*/model.xml", |path| {
        let options = PrintOptions { symbolic: true, ..PrintOptions::default() };
        snapshot("infer", print(&inferred(path), options));
    });
}

#[test]
fn models_canonical() {
    insta::glob!("../../models", "*/model.xml", |path| {
        let mut graph = inferred(path);
        let report = snick_pass::canonicalise(&mut graph, &snick_pass::Options::default()).unwrap();
        let errors: Vec<String> = report.errors.iter().map(ToString::to_string).collect();
        assert!(errors.is_empty(), "{}", errors.join("\n"));
        assert!(snick_ir::verify(&graph).is_empty());
        let options = PrintOptions { symbolic: true, ..PrintOptions::default() };
        let left =
            report.missed.iter().map(|left| format!("left: {} ({}): {}\n", left.layer, left.op, left.reason));
        let text = print(&graph, options) + &left.collect::<String>();
        snapshot("canon", text);
    });
}
