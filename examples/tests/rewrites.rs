//! The tests of the rules: one for each file of `rewrites/`, and a snapshot of their effect on a model.

use snick_examples::passes;
use snick_testing::Context;

snick_testing::check_files!(rewrites, "tests/rewrites", passes());

#[test]
fn fancy_pad() -> Result<(), Box<dyn std::error::Error>> {
    let model = snick::load(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/fancy_pad.xml"))?;
    insta::assert_snapshot!(snick_testing::before_after(&model, &passes(), Context::Lines(1))?);
    Ok(())
}
