//! Errors of the library: codes and messages.
#![allow(clippy::expect_used, reason = "helpers of tests are tests")]
#![cfg(all(feature = "run", feature = "emit", feature = "onnx"))]

use std::path::{Path, PathBuf};

use snick::{Attrs, Error, Format, GraphBuilder, Limits, LoadOptions, Model, Op, Tensor};

type Tested = Result<(), Box<dyn std::error::Error>>;

/// A folder that is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("snick-errors-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A model with a constant, which the XML form keeps in its `.bin`.
const WITH_WEIGHTS: &str = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4\"}\n  \
     %w = Const-1 f32[4] <1, 2, 3, 4>\n  %s = Add-1(%x, %w)\n  %y = Result-1(%s)\n}\n";

const RELU: &str = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
     %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";

fn saved(text: &str, path: &Path) -> Result<(), Error> {
    let mut model = snick::parse(text)?;
    model.infer().into_result()?;
    model.save(path).map(drop)
}

fn run(model: &Model) -> Error {
    let x = Tensor::full(&[4], 1f32).expect("a tensor");
    model.run([("x", x)]).expect_err("a constant has no value")
}

#[test]
fn truncated_and_missing_weights_have_the_codes_of_check() -> Tested {
    let folder = Folder::new("weights")?;
    let (xml, bin) = (folder.file("m.xml"), folder.file("m.bin"));
    saved(WITH_WEIGHTS, &xml)?;
    std::fs::write(&bin, &std::fs::read(&bin)?[..7])?;
    let mut model = snick::load(&xml)?;
    let error = model.infer().into_result().unwrap_err();
    assert_eq!(error.code(), "S003", "{error}");
    let error = run(&model);
    assert_eq!(error.code(), "S003", "{error}");
    assert!(!error.to_string().contains("not found"), "{error}");
    std::fs::remove_file(&bin)?;
    let mut model = snick::load(&xml)?;
    model.infer().into_result()?;
    let error = run(&model);
    assert_eq!(error.code(), "S002", "{error}");
    Ok(())
}

#[test]
fn weights_that_a_format_does_not_take_are_an_error() -> Tested {
    let folder = Folder::new("onnx")?;
    let onnx = folder.file("m.onnx");
    saved(RELU, &onnx)?;
    let options = LoadOptions::new().weights("/nowhere.bin");
    let error = snick::load_with(&onnx, &options).unwrap_err();
    assert!(error.to_string().contains("/nowhere.bin"), "{error}");
    let error = snick::load_bytes(Format::Text, RELU, None, &options).unwrap_err();
    assert!(error.to_string().contains("/nowhere.bin"), "{error}");
    Ok(())
}

#[test]
fn an_op_by_name_refuses_attributes_that_it_does_not_declare() {
    let error = Op::by_name("Softmax", Attrs::new().with("axsi", 1)).unwrap_err();
    assert_eq!(error.to_string(), "unknown attribute `axsi` of `SoftMax`; did you mean `axis`?");
    assert!(Op::by_name("Softmax", Attrs::new().with("axis", 1)).is_ok());
    let error = Op::by_name("ReLU", Attrs::new().with("slope", 1)).unwrap_err();
    assert_eq!(error.to_string(), "unknown attribute `slope` of `ReLU`");
}

#[test]
fn an_input_given_twice_is_an_error() -> Tested {
    let mut model = snick::parse(RELU)?;
    model.infer().into_result()?;
    let x = Tensor::full(&[4], 1f32)?;
    let error = model.run([("x", x.clone()), ("0", x)]).unwrap_err();
    assert_eq!(error.to_string(), "input `x` is given twice, the second time as `0`; remove one");
    Ok(())
}

#[test]
fn the_debug_form_is_the_message() -> Tested {
    for error in [
        snick::load("no/such.xml").unwrap_err(),
        snick::parse("snick 1 nonsense").unwrap_err(),
        snick::parse(RELU)?.reshape("y[1]").unwrap_err(),
        snick::parse(RELU)?.run([("y", Tensor::full(&[4], 1f32)?)]).unwrap_err(),
    ] {
        assert_eq!(format!("{error:?}"), error.to_string());
    }
    Ok(())
}

#[test]
fn messages_are_plain() -> Tested {
    let b = GraphBuilder::new("g");
    let error = b.add(1.0, 2.0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "an operation on two numbers without a value of the graph is not supported"
    );
    let options = LoadOptions::new().limits(Limits::new().layers(1));
    let error = snick::load_bytes(Format::Text, RELU, None, &options).unwrap_err();
    assert!(error.to_string().starts_with("the limit of 1 layer is reached"), "{error}");
    let error = snick::parse(RELU)?.reshape("x[a b]").unwrap_err();
    let expected = "`x[a b]`: bad dimension `a b`; write a number, a range such as `2..4`, `?` or a name";
    assert_eq!(error.to_string(), expected);
    Ok(())
}
