//! The facts that the report shows.
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
