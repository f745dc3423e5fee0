//! The tests of the rule: checks in the files of `rewrites/`, and a snapshot on a real model.
#![allow(clippy::unwrap_used, reason = "a test")]

use snick_examples::RELU_ONCE;
use snick_testing::Context;

snick_testing::check_files!(rewrites, "tests/rewrites", [RELU_ONCE]);

/// A rotary embedding, which takes halves of tensors: what all passes make of it.
#[test]
fn a_real_model() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/rotary_embedding/model.xml");
    let mut model = snick::load(path).unwrap();
    assert!(model.infer().is_empty());
    let passes: Vec<_> = snick_pass::PASSES.iter().cloned().chain([RELU_ONCE]).collect();
    insta::assert_snapshot!(snick_testing::before_after(&model.graph, &passes, Context::Lines(3)).unwrap());
}
