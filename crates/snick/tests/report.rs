//! The data in the report.
#![cfg(all(feature = "view", feature = "analyze"))]

use snick::{Error, ReportOptions};

#[test]
fn slices_are_listed_as_read_and_canonical() -> Result<(), Error> {
    let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4\"}\n  \
        %start = Const-1 i64[1] <0>\n  %stop = Const-1 i64[1] <3>\n  %step = Const-1 i64[1] <2>\n  \
        %a = Slice-8(%x, %start, %stop, %step)\n  %y = Result-1(%a)\n}\n";
    let mut model = snick::parse(text)?;
    model.infer().into_result()?;
    let as_read = model.report_data(&ReportOptions::new())?;
    assert!(as_read.contains(r#""numpy":["[:3:2]"],"primitives":[{"text":"[0:4:2]""#), "{as_read}");
    let report = model.canonicalise();
    assert!(report.errors.is_empty());
    let canonical = model.report_data(&ReportOptions::new())?;
    assert!(canonical.contains(r#""numpy":["[0:4:2]"],"primitives":[{"text":"[0:4:2]""#), "{canonical}");
    Ok(())
}

/// A model that adds a constant of `count` elements to its input.
fn with_weights(count: usize) -> Result<snick::Model, Error> {
    let values: Vec<f32> = (0..count).map(|i| i as f32 / 7.0).collect();
    let builder = snick::GraphBuilder::new("g");
    let x = builder.parameter("x", snick::ElementType::F32, &count.to_string())?;
    let weights = builder.constant(snick::Tensor::from_vec(&[count], values)?)?;
    let sum = builder.add(x, weights)?;
    builder.result("y", sum)?;
    Ok(snick::Model::from(builder.finish()?))
}

#[test]
fn a_report_does_not_grow_with_weights() -> Result<(), Error> {
    let small = with_weights(65)?;
    let large = with_weights(1_000_000)?;
    let length = |model: &snick::Model, options| model.report(options).map(|page| page.len());
    let alone = ReportOptions::new();
    assert!(length(&large, &alone)? < length(&small, &alone)? + 1000);
    let other = with_weights(999_999)?;
    assert!(length(&large, &ReportOptions::new().diff(&other))? < 2 * length(&small, &alone)?);
    let data = large.report_data(&alone)?;
    assert!(data.contains(r#""of":1000000,"#) && data.contains("(1000000 in all)"), "{data}");
    Ok(())
}
