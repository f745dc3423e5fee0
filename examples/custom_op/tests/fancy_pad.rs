//! FancyPad in every stage. `fancy_pad.xml` contains a FancyPad layer in the opset `my.ops`.

use std::path::{Path, PathBuf};

use snick::{LoadOptions, Model, Tensor};
use snick_example_custom_op::registry;

type Tested = Result<(), Box<dyn std::error::Error>>;

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fancy_pad.xml")
}

/// The model with FancyPad registered, inferred for rows of 6 elements.
fn model() -> Result<Model, snick::Error> {
    let mut model = snick::load_with(path(), &LoadOptions::new().ops(&registry()).strict(true))?;
    model.reshape("x[N,6]")?;
    model.infer().into_result()?;
    Ok(model)
}

fn input() -> Result<Tensor, Box<dyn std::error::Error>> {
    Ok(Tensor::from_slice(&[1f32, -2., 3., -4., 5., -6.], &[1, 6])?)
}

const PADDED: [f32; 10] = [0., 0., 1., 0., 3., 0., 5., 0., 0., 0.];

#[test]
fn it_infers() -> Tested {
    let model = model()?;
    let graph = model.graph();
    let pad = graph.node(graph.find("pad").expect("the layer"));
    let shapes: Vec<String> =
        pad.outputs().map(|fact| fact.shape().display(graph.symbols()).to_string()).collect();
    assert_eq!(shapes, ["[N,10]"]);
    Ok(())
}

#[test]
fn it_runs_also_in_canonical_form() -> Tested {
    let mut model = model()?;
    assert_eq!(model.run([("x", input()?)])?["y"].as_slice::<f32>()?, PADDED);
    assert!(model.canonicalise().is_ok());
    assert_eq!(model.run([("x", input()?)])?["y"].as_slice::<f32>()?, PADDED);
    Ok(())
}

#[test]
fn it_is_printed_and_read_back() -> Tested {
    let model = model()?;
    let text = model.to_text();
    assert!(text.contains(r#"FancyPad-"my.ops"(%x) {by: 2}"#), "{text}");
    let again = snick::load_bytes(snick::Format::Text, &text, None, &LoadOptions::new().ops(&registry()))?;
    assert_eq!(again.graph(), model.graph());
    Ok(())
}

/// Formats do not know FancyPad, so files contain its decomposition.
#[test]
fn it_is_written_as_what_it_decomposes_to() -> Tested {
    let folder = std::env::temp_dir().join(format!("snick-custom-op-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    for file in ["fancy_pad.xml", "fancy_pad.onnx"] {
        let file = folder.join(file);
        model()?.save(&file)?;
        let mut plain = snick::load_with(&file, &LoadOptions::new().strict(true))?;
        plain.infer().into_result()?;
        assert!(!plain.to_text().contains("FancyPad"), "{}", plain.to_text());
        assert_eq!(plain.run([("x", input()?)])?["y"].as_slice::<f32>()?, PADDED);
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

#[test]
fn bad_attributes_are_errors_with_their_place() -> Tested {
    let text = std::fs::read_to_string(path())?.replace("by=\"2\"", "by=\"-1\"");
    let options = LoadOptions::new().ops(&registry()).strict(true);
    let error = snick::load_bytes(snick::Format::OpenVino, text, None, &options).unwrap_err();
    assert_eq!(error.diagnostics()[0].layer, "pad");
    assert!(error.to_string().contains("by = -1 is out of range, expected 0 to 65535"), "{error}");
    Ok(())
}

/// Without registration the layer stays opaque: it has the types that the file declares, and cannot run.
#[test]
fn unregistered_it_stays_opaque() -> Tested {
    let mut model = snick::load(path())?;
    model.infer().into_result()?;
    let error = model.run([("x", input()?)]).unwrap_err();
    assert_eq!(error.code(), "S050");
    assert!(error.to_string().contains("no implementation to run `FancyPad`"), "{error}");
    Ok(())
}
