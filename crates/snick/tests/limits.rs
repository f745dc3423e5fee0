//! Limits: what counts towards them, and which layer an error names.
#![cfg(feature = "run")]

use snick::{Error, Format, InferOptions, Limits, LoadOptions, RunOptions, Tensor};

type Tested = Result<(), Box<dyn std::error::Error>>;

/// Fuel is the number of elements that a run may compute; a body counts in each iteration. A layer that is
/// known to exceed the remaining fuel is refused before it is computed: the second model would take 64 GB.
#[test]
fn fuel_of_a_run_is_limited() -> Tested {
    let ends_at = |layers: &str, fuel: usize| {
        let mut model = snick::parse(&format!(
            "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"N\"}}\n{layers}\n}}\n"
        ))?;
        model.infer().into_result()?;
        let limits = RunOptions::new().limits(Limits::new().fuel(fuel));
        match model.session()?.run_with([("x", Tensor::full(&[4], 1f32)?)], &limits) {
            Err(Error::Limit { layer, limit }) => Ok(Some(format!("{layer}: {limit}"))),
            result => result.map(|_| None),
        }
    };
    let chain = "  %a = ReLU-1(%x)\n  %b = SoftMax-8(%a) {axis: 0}\n  %y = Result-1(%b)";
    assert_eq!(ends_at(chain, 64)?, None);
    let short = ends_at(chain, 5)?.unwrap();
    assert!(short.contains("fuel: computes 4 elements, more than the 1 of fuel"), "{short}");
    let wide = "  %shape = Const-1 i64[2] <4294967296, 4>\n  %wide = Broadcast-3(%x, %shape) {mode: numpy}\n  \
                %more = ReLU-1(%wide)\n  %y = Result-1(%more)";
    assert!(ends_at(wide, 1 << 20)?.unwrap().starts_with("wide: fuel"));
    let endless = "  %trips = Const-1 i64[] <4611686018427387904>\n  %starts = Const-1 boolean[] <1>\n  \
                   %loop = Loop-5(%trips, %starts, %x) {inputs: [\"2 -> 0\"], \
                   outputs: [\"_ -> 0 purpose=execution_condition\", \"0 -> 1\"], back_edges: [1,0]}\n  \
                   body graph \"\" {\n    %state = Parameter-1 {element_type: f32, shape: \"N\"}\n    \
                   %goes_on = Const-1 boolean[] <1>\n    %next = Add-1(%state, %state)\n    \
                   %r0 = Result-1(%goes_on)\n    %r1 = Result-1(%next)\n  }\n  %y = Result-1(%loop)";
    assert!(ends_at(endless, 1000)?.unwrap().starts_with("loop: fuel"));
    Ok(())
}

#[test]
fn rank_text_and_nesting_are_limited() -> Tested {
    let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2,3\"}\n  \
                %axes = Const-1 i64[2] <0, 1>\n  %wide = Unsqueeze-1(%x, %axes)\n  %c = Const-1 boolean[] <1>\n  \
                %if = If-8(%c, %wide) {inputs: [\"1 -> 0\"], outputs: [\"0 -> 0\"], back_edges: [], \
                else_inputs: [\"1 -> 0\"], else_outputs: [\"0 -> 0\"], else_back_edges: []}\n  \
                then_body graph \"\" {\n    %p = Parameter-1 {element_type: f32, shape: \"?,?,?,?\"}\n    \
                %r = Result-1(%p)\n  }\n  \
                else_body graph \"\" {\n    %p = Parameter-1 {element_type: f32, shape: \"?,?,?,?\"}\n    \
                %r = Result-1(%p)\n  }\n  %y = Result-1(%if)\n}\n";
    let read = |limits| snick::load_bytes(Format::Text, text, None, &LoadOptions::new().limits(limits));
    let mut model = read(Limits::new().text_bytes(text.len()).nesting(1))?;
    let error = read(Limits::new().text_bytes(text.len() - 1)).unwrap_err();
    assert_eq!(error.to_string(), format!("the limit of {} bytes of text is reached", text.len() - 1));
    let error = read(Limits::new().nesting(0)).unwrap_err();
    assert_eq!(error.to_string(), "the limit of 0 nested bodies is reached at layer `if`");
    let rank = |rank| InferOptions::new().limits(Limits::new().rank(rank));
    model.infer_with(&rank(4))?.into_result()?;
    let error = model.infer_with(&rank(3)).unwrap_err();
    assert_eq!(error.to_string(), "the limit of rank 3 is reached at layer `wide`");
    Ok(())
}
