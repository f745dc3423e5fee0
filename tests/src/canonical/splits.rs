//! Splits that do not fit the axis fail in canonical form and after writing it as OpenVINO IR, too, although slices
//! alone would clamp.

use snick::SliceAs;
use snick_emit::openvino::openvino;
use snick_pass::{RewriteOptions, canonicalise};
use snick_read::openvino::{Weights, read};
use snick_run::Session;
use snick_tensor::Tensor;

/// The outputs of each form for an axis of this size: as read, canonical, and the canonical form written as
/// OpenVINO IR and read back.
fn forms(layers: &str, size: usize, lengths: &[i64]) -> [Result<Vec<Tensor>, String>; 3] {
    let text = format!(
        "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"?,2\"}}\n{layers}}}\n"
    );
    let mut graph = snick_ir::text::parse(&text, None).unwrap();
    assert!(snick_ir::infer(&mut graph).is_empty());
    let mut canonical = graph.clone();
    assert!(canonicalise(&mut canonical, &RewriteOptions::new()).missed.is_empty());
    let mut inputs = vec![Tensor::from_vec(&[size, 2], (0..2 * size).map(|i| i as f32).collect()).unwrap()];
    if graph.parameters().count() == 2 {
        inputs.push(Tensor::from_vec(&[lengths.len()], lengths.to_vec()).unwrap());
    }
    let files = openvino(&canonical, SliceAs::default()).unwrap();
    let weights = Weights::from_bytes("split.bin", files.bin);
    let mut written = read(&files.xml, &weights, "split.xml").unwrap().graph;
    assert_eq!(snick_ir::infer(&mut written), []);
    [graph, canonical, written].map(|graph| {
        let outputs = Session::new(&graph).unwrap().run(&inputs, snick_run::Options::default());
        outputs.complete().map_err(|error| error.to_string())
    })
}

#[test]
fn splits_that_do_not_fit_fail_in_every_form() {
    let split = "  %axis = Const-1 i64[] <0>\n  %a = Split-1(%x, %axis) {num_splits: 3}\n  \
                 %y = Result-1(%a:1)\n  %z = Result-1(%a:2)\n";
    let fixed = "  %axis = Const-1 i64[] <0>\n  %n = Const-1 i64[2] <1, 3>\n  \
                 %a = VariadicSplit-1(%x, %axis, %n)\n  %y = Result-1(%a:0)\n";
    let open = "  %axis = Const-1 i64[] <0>\n  %n = Const-1 i64[3] <2, -1, 1>\n  \
                %a = VariadicSplit-1(%x, %axis, %n)\n  %y = Result-1(%a:1)\n";
    let beside = open.replace("%a:1", "%a:0");
    let given = "  %n = Parameter-1 {element_type: i64, shape: \"2\"}\n  %axis = Const-1 i64[] <-2>\n  \
                 %a = VariadicSplit-1(%x, %axis, %n)\n  %y = Result-1(%a:0)\n  %z = Result-1(%a:1)\n";
    let mut fits = 0;
    for (layers, lengths) in [
        (split, &[][..]),
        (fixed, &[]),
        (open, &[]),
        (&beside, &[]),
        (given, &[1, 3]),
        (given, &[-1, 3]),
        (given, &[2, -1]),
        (given, &[0, 0]),
    ] {
        for size in 1..8 {
            let [as_read, canonical, written] = forms(layers, size, lengths);
            fits += usize::from(as_read.is_ok());
            for other in [canonical, written] {
                let case = format!("{size} {lengths:?}\n{layers}{as_read:?}\n{other:?}");
                assert_eq!(as_read.is_ok(), other.is_ok(), "{case}");
                if let (Ok(as_read), Ok(other)) = (&as_read, other) {
                    assert_eq!(*as_read, other);
                }
            }
        }
    }
    assert_eq!(fits, 2 + 1 + 5 + 5 + 1 + 5 + 6);
}
