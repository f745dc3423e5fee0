//! Writes the model of `tests/fancy_pad.xml` for other runtimes, with the values computed by snick:
//! `write_models FOLDER`. `check_runtimes.py FOLDER` compares them.
//!
//! In `decomposed`, FancyPad is registered; in `lowered`, a rule replaces the unregistered layer.

use std::error::Error;
use std::path::Path;

use snick::{LoadOptions, Model, Pass, RewriteOptions, RewriteResult, Rule, Tensor};
use snick_example_custom_op::{FancyPad, registry};

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fancy_pad.xml");

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: write_models FOLDER")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let input = [[1f32, -2., 3., -4., 5., -6.], [0.5, 7., -8., 9., 0., 2.]];
    for (name, model) in [("decomposed", registered()?), ("lowered", lowered()?)] {
        let x = Tensor::from_slice(input.as_flattened(), &[2, 6])?;
        let outputs = model.run([("x", x)])?;
        let y: Vec<&[f32]> = outputs["y"].as_slice()?.chunks(10).collect();
        model.save(folder.join(name).with_extension("xml"))?;
        model.save(folder.join(name).with_extension("onnx"))?;
        let values = format!("{{\"x\": {input:?}, \"y\": {y:?}}}\n");
        std::fs::write(folder.join(name).with_extension("json"), values)?;
    }
    Ok(())
}

/// The model with FancyPad registered. Writers use its decomposition.
fn registered() -> Result<Model, snick::Error> {
    let mut model = snick::load_with(MODEL, &LoadOptions::new().ops(&registry()).strict(true))?;
    model.infer().into_result()?;
    Ok(model)
}

/// The model without registration; a rule lowers the opaque layer to a Pad.
fn lowered() -> Result<Model, snick::Error> {
    let rule = Rule::new("fancy-pad-to-pad", |patch| {
        if patch.node().op().type_name() != "FancyPad" {
            return Ok(RewriteResult::NoMatch);
        }
        let FancyPad { by } = FancyPad::parse(&patch.node().op().attrs())?;
        let data = patch.input(0)?;
        let zero = patch.scalar_like(data, 0.0)?;
        Ok(RewriteResult::one(patch.pad(data, &[0, by], &[0, by], zero)?))
    });
    let mut model = snick::load(MODEL)?;
    model.infer().into_result()?;
    let report = model.apply(&[Pass::new("fancy-pad", [rule])], &RewriteOptions::new())?;
    assert!(report.is_ok(), "{report:?}");
    model.infer().into_result()?;
    Ok(model)
}
