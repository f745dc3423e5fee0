//! Custom ops that omit optional methods, or whose methods contradict each other.
#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]
#![cfg(all(feature = "run", feature = "emit", feature = "onnx"))]

use std::sync::Arc;

use snick::{
    Arity, BuildMode, Custom, CustomOp, ElementType, Error, Fact, Facts, Format, GraphBuilder, Infer,
    Interval, LoadOptions, Model, OpError, Patch, Registry, RewriteResult, Shape, SymExpr, Symbols, Tensor,
};

type Tested = Result<(), Box<dyn std::error::Error>>;

/// Multiplies by `by`, which is an attribute, but does not implement `attrs`.
#[derive(Debug)]
struct Scale {
    by: i64,
}

impl CustomOp for Scale {
    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<Facts, OpError> {
        Ok(cx.input(0).clone().into())
    }

    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let scaled: Vec<i64> = inputs[0].to_i64_vec()?.iter().map(|element| element * self.by).collect();
        Ok(vec![Tensor::from_vec(inputs[0].dims(), scaled)?])
    }
}

/// Infers and computes what its fields say, even if these contradict each other.
#[derive(Clone, Debug)]
struct Stated {
    element_type: ElementType,
    dims: &'static [i64],
    values: Vec<Tensor>,
}

impl CustomOp for Stated {
    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<Facts, OpError> {
        let dims: Vec<_> = self.dims.iter().map(|&dim| dim.into()).collect();
        Ok(Fact::new(self.element_type, Shape::ranked(dims)).into())
    }

    fn eval(&self, _: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(self.values.clone())
    }
}

/// An op whose decomposition always fails.
#[derive(Debug)]
struct Odd;

impl CustomOp for Odd {
    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<Facts, OpError> {
        Ok(cx.input(0).clone().into())
    }

    fn decompose(&self, _: &mut Patch<'_>) -> Result<RewriteResult, OpError> {
        Err(OpError::unsupported("an odd last dim"))
    }
}

/// Selects the first element.
#[derive(Debug)]
struct Head;

impl CustomOp for Head {
    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<Facts, OpError> {
        Ok(Fact::new(cx.element_type(0), Shape::from([1])).into())
    }

    fn decompose(&self, b: &mut Patch<'_>) -> Result<RewriteResult, OpError> {
        let x = b.input(0)?;
        Ok(RewriteResult::one(b.slice_range(x, 0, 0, 1)?))
    }
}

fn registry() -> Registry {
    let mut registry = Registry::builtin();
    registry
        .register("my.ops", "Scale", |raw| Ok(Arc::new(Scale { by: raw.attrs().int("by")?.unwrap_or(1) })))
        .register("my.ops", "Head", |_| Ok(Arc::new(Head)))
        .register("my.ops", "Odd", |_| Ok(Arc::new(Odd)));
    registry
}

fn parsed(text: &str, registry: &Registry) -> Result<Model, Error> {
    let mut model = snick::load_bytes(Format::Text, text, None, &LoadOptions::new().ops(registry))?;
    model.infer().into_result()?;
    Ok(model)
}

/// A model that applies one op to `x`, three i64 elements.
fn layer(op: &str, registry: &Registry) -> Result<Model, Error> {
    let text = format!(
        "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: i64, shape: \"3\"}}\n  \
         %a = {op}-\"my.ops\"(%x)\n  %y = Result-1(%a)\n}}\n"
    );
    parsed(&text, registry)
}

fn input() -> Tensor {
    Tensor::from_slice(&[1i64, 2, 3], &[3]).expect("three elements")
}

fn scaled(model: &Model) -> Result<[Vec<i64>; 2], Box<dyn std::error::Error>> {
    let outputs = model.run([("x", input())])?;
    Ok([outputs["y"].to_i64_vec()?, outputs["z"].to_i64_vec()?])
}

#[test]
fn attributes_are_kept_without_attrs() -> Tested {
    let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: i64, shape: \"3\"}\n  \
         %a = Scale-\"my.ops\"(%x) {by: 1}\n  %b = Scale-\"my.ops\"(%x) {by: 2}\n  \
         %y = Result-1(%a)\n  %z = Result-1(%b)\n}\n";
    let mut model = parsed(text, &registry())?;
    assert_eq!(scaled(&model)?, [vec![1, 2, 3], vec![2, 4, 6]]);
    let _ = model.canonicalise();
    assert_eq!(scaled(&model)?, [vec![1, 2, 3], vec![2, 4, 6]]);
    let printed = model.to_text();
    assert!(printed.contains("{by: 1}") && printed.contains("{by: 2}"), "{printed}");
    assert_eq!(parsed(&printed, &registry())?.graph(), model.graph());
    Ok(())
}

#[test]
fn equal_attributes_are_merged_without_attrs() -> Tested {
    let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: i64, shape: \"3\"}\n  \
         %a = Scale-\"my.ops\"(%x) {by: 2}\n  %b = Scale-\"my.ops\"(%x) {by: 2}\n  \
         %y = Result-1(%a)\n  %z = Result-1(%b)\n}\n";
    let mut model = parsed(text, &registry())?;
    let _ = model.canonicalise();
    assert_eq!(model.to_text().matches("Scale").count(), 1, "{}", model.to_text());
    Ok(())
}

#[test]
fn attributes_of_an_ir_are_kept_once() -> Tested {
    let xml = r#"<?xml version="1.0"?><net name="g" version="11"><layers>
        <layer id="0" name="x" type="Parameter" version="opset1"><data shape="3" element_type="i64"/>
        <output><port id="0" precision="I64"><dim>3</dim></port></output></layer>
        <layer id="1" name="a" type="Scale" version="my.ops"><data by="2" note="kept"/>
        <input><port id="0"><dim>3</dim></port></input>
        <output><port id="1" precision="I64"><dim>3</dim></port></output></layer>
        <layer id="2" name="y" type="Result" version="opset1"><input><port id="0"><dim>3</dim></port></input></layer>
        </layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
        <edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></net>"#;
    let mut model = snick::load_bytes(Format::OpenVino, xml, None, &LoadOptions::new().ops(&registry()))?;
    model.infer().into_result()?;
    let text = model.to_text();
    assert!(text.contains(r#"{by: "2", note: kept}"#) && !text.contains("extra"), "{text}");
    Ok(())
}

#[test]
fn ops_made_in_code_without_attrs_are_not_merged() -> Tested {
    let b = GraphBuilder::new("g");
    let x = b.parameter("x", ElementType::I64, "3")?;
    for (name, by) in [("y", 1), ("z", 2)] {
        let scaled = b.add_op(Custom::new("my.ops", "Scale", Arc::new(Scale { by })), &[x])?;
        b.result(name, scaled)?;
    }
    let mut model = Model::from(b.finish()?);
    let _ = model.canonicalise();
    assert_eq!(scaled(&model)?, [vec![1, 2, 3], vec![2, 4, 6]]);
    Ok(())
}

/// The error of a run with an op that infers one type and shape, and computes another.
fn stated(element_type: ElementType, dims: &'static [i64], values: Vec<Tensor>) -> Error {
    let op = Stated { element_type, dims, values };
    let mut registry = Registry::builtin();
    registry.register("my.ops", "Stated", move |_| Ok(Arc::new(op.clone())));
    match layer("Stated", &registry).and_then(|model| model.run([("x", input())])) {
        Ok(outputs) => panic!("{outputs:?}"),
        Err(error) => error,
    }
}

#[test]
fn values_that_contradict_inference_are_errors_of_the_run() -> Tested {
    let f32s = || Tensor::from_slice(&[1f32, 2., 3.], &[3]);
    for error in [
        stated(ElementType::I64, &[3], vec![f32s()?]),
        stated(ElementType::F32, &[1, 6], vec![f32s()?]),
        stated(ElementType::F32, &[3], vec![f32s()?, f32s()?]),
        stated(ElementType::F32, &[3], vec![]),
    ] {
        let diagnostic = &error.diagnostics()[0];
        assert_eq!(diagnostic.layer, "a");
        assert!(diagnostic.error().is_contradiction(), "{error}");
    }
    let error = stated(ElementType::I64, &[-3], vec![input()]);
    assert!(!error.diagnostics()[0].error().is_contradiction(), "{error}");
    Ok(())
}

/// Infers a dim or element that is a symbol from another symbol table.
#[derive(Debug)]
struct Foreign {
    symbol: SymExpr,
    is_element: bool,
}

impl CustomOp for Foreign {
    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<Facts, OpError> {
        let fact = Fact::new(cx.element_type(0), Shape::from([1]));
        Ok(match self.is_element {
            true => fact.with_elements(Some(vec![self.symbol.clone()])),
            false => Fact::new(cx.element_type(0), Shape::ranked([self.symbol.clone()])),
        }
        .into())
    }
}

#[test]
fn symbols_of_another_table_are_errors_of_the_layer() -> Tested {
    let mut other = Symbols::default();
    let symbol = other.named("H", Interval::DIM, Default::default())?;
    for expr in [symbol.clone(), other.add(&symbol, &1.into()).ok_or("no sum")?] {
        for is_element in [false, true] {
            let symbol = expr.clone();
            let mut registry = Registry::builtin();
            registry.register("my.ops", "Foreign", move |_| {
                Ok(Arc::new(Foreign { symbol: symbol.clone(), is_element }))
            });
            let error = layer("Foreign", &registry).unwrap_err();
            let [found] = error.diagnostics() else { panic!("{error}") };
            assert_eq!(found.layer, "a");
            assert!(matches!(found.error(), OpError::ForeignSymbol { .. }), "{error}");
        }
    }
    Ok(())
}

/// Values that are computed before the first run are checked as well.
#[test]
fn values_of_constants_that_contradict_inference_are_errors_of_the_run() -> Tested {
    let op = Stated { element_type: ElementType::I64, dims: &[3], values: vec![Tensor::scalar(1f32)] };
    let b = GraphBuilder::new("g");
    let x = b.ints(&[1, 2, 3])?;
    let y = b.add_op(Custom::new("my.ops", "Stated", Arc::new(op)), &[x])?;
    b.result("y", y)?;
    let mut model = Model::from(b.finish()?);
    let none: [(&str, Tensor); 0] = [];
    let error = model.run(none.clone()).unwrap_err().to_string();
    assert!(error.contains("output 0 is f32[], expected i64[3]"), "{error}");
    let _ = model.canonicalise();
    let error = model.run(none).unwrap_err().to_string();
    assert!(error.contains("output 0 is f32[], expected i64[3]"), "{error}");
    Ok(())
}

#[test]
fn an_inferred_negative_dim_is_an_error() -> Tested {
    let error = stated(ElementType::I64, &[-3], vec![input()]).to_string();
    assert!(
        error.contains("layer `a` (Stated): dim 0 of output 0 = -3 is out of range, expected 0 or more"),
        "{error}"
    );
    Ok(())
}

#[test]
fn the_reason_of_a_failed_decomposition_is_reported() -> Tested {
    let model = layer("Odd", &registry())?;
    let folder = std::env::temp_dir().join(format!("snick-odd-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    for file in ["odd.xml", "odd.onnx", "odd.mlir"] {
        let error = model.save(folder.join(file)).unwrap_err().to_string();
        assert!(error.contains("layer `a` (Odd)") && error.contains("an odd last dim"), "{file}: {error}");
    }
    std::fs::remove_dir_all(&folder)?;
    let error = model.run([("x", input())]).unwrap_err().to_string();
    assert!(error.contains("layer `a` (Odd): an odd last dim is not supported"), "{error}");
    Ok(())
}

/// A DirectML description can only hold slices; any other layer is an error and is not dropped.
#[test]
fn a_description_of_other_layers_than_slices_is_an_error() -> Tested {
    let path = std::env::temp_dir().join(format!("snick-scale-{}.json", std::process::id()));
    let error = layer("Scale", &registry())?.save(&path).unwrap_err().to_string();
    assert!(error.contains("layer `a` (Scale): cannot write this operation to DirectML"), "{error}");
    let error = layer("Odd", &registry())?.save(&path).unwrap_err().to_string();
    assert!(error.contains("layer `a` (Odd): an odd last dim"), "{error}");
    assert!(!path.exists());
    // The slices in the decomposition of a custom op can be described.
    layer("Head", &registry())?.save(&path)?;
    let text = std::fs::read_to_string(&path)?;
    std::fs::remove_file(&path)?;
    assert!(text.contains("DML_OPERATOR_SLICE"), "{text}");
    Ok(())
}

#[test]
fn numbers_of_outputs_are_limited() -> Tested {
    let b = GraphBuilder::new("g");
    let x = b.parameter("x", ElementType::F32, "N")?;
    for count in [0, (1 << 16) + 1, 1 << 40, 1 << 62] {
        let split = b.split(x, 0, count);
        assert!(split.is_err_and(|error| error.to_string().contains("1 to 65536")), "{count}");
        let many = b.add_op_with_outputs(snick::ops::Relu, &[x], count);
        assert_eq!(many.is_err(), count > 0, "{count}");
        let lenient = GraphBuilder::new("lenient").mode(BuildMode::Lenient);
        let x = lenient.parameter("x", ElementType::F32, "N")?;
        let many = lenient.add_op_with_outputs(snick::ops::Relu, &[x], count);
        assert_eq!(many.is_err(), count > 0, "{count}");
    }
    Ok(())
}
