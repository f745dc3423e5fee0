//! A model with a layer unknown to snick runs once a rule has lowered it.

use snick::{RewriteOptions, Tensor};
use snick_examples::passes;

type Tested = Result<(), Box<dyn std::error::Error>>;

fn fancy_pad() -> Result<snick::Model, snick::Error> {
    snick::load(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/fancy_pad.xml"))
}

fn input() -> Result<Tensor, Box<dyn std::error::Error>> {
    Ok(Tensor::from_vec(&[1, 6], vec![1.0f32, -2.0, 3.0, -4.0, 5.0, -6.0])?)
}

#[test]
fn a_lowered_layer_runs() -> Tested {
    let mut model = fancy_pad()?;
    model.infer().into_result()?;
    assert!(model.run([("x", input()?)]).is_err(), "no implementation to run FancyPad");

    let report = model.apply(&passes(), &RewriteOptions::new().check(true))?;
    // The unknown layer cannot be executed, so its replacement is unchecked. The second ReLU is dropped with
    // a check.
    assert!(report.errors.is_empty() && report.check_failures.is_empty() && !report.is_ok());
    assert_eq!((report.applied.len(), report.checked, report.unchecked), (2, 1, 1));
    let layers: Vec<&str> = model.graph().ids().map(|id| model.graph().node(id).op().type_name()).collect();
    assert!(!layers.contains(&"FancyPad"), "{layers:?}");

    let outputs = model.run([("x", input()?)])?;
    let values: &[f32] = outputs["y"].as_slice()?;
    assert_eq!(values, [0.0, 0.0, 1.0, 0.0, 3.0, 0.0, 5.0, 0.0, 0.0, 0.0]);
    Ok(())
}

/// The facts of the lowered layer reach the layers after it.
#[test]
fn layers_after_it_are_inferred_again() -> Tested {
    let mut model = fancy_pad()?;
    model.infer().into_result()?;
    let _report = model.apply(&passes(), &RewriteOptions::new())?;
    assert!(model.to_text().contains("%y = Result-1(%relu) : f32[?,10]"), "{}", model.to_text());
    Ok(())
}
