//! Splits that do not fit the axis fail in canonical form, too, though slices alone would take what there is.

use snick_pass::{Options, canonicalise};
use snick_run::Session;
use snick_tensor::Tensor;

/// By the size of the axis and the lengths asked for, what each form gives.
fn both(layers: &str, size: usize, lengths: &[i64]) -> [Result<Vec<Tensor>, String>; 2] {
    let text = format!(
        "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"?,2\"}}\n{layers}}}\n"
    );
    let mut graph = snick_ir::text::parse(&text, None).unwrap();
    assert!(snick_ir::infer(&mut graph).is_empty());
    let mut canonical = graph.clone();
    assert!(canonicalise(&mut canonical, &Options::default()).unwrap().left.is_empty());
    let mut inputs = vec![Tensor::from_vec(&[size, 2], (0..2 * size).map(|i| i as f32).collect()).unwrap()];
    if graph.parameters().count() == 2 {
        inputs.push(Tensor::from_vec(&[lengths.len()], lengths.to_vec()).unwrap());
    }
    [graph, canonical].map(|graph| {
        let outputs = Session::new(&graph).unwrap().run(&inputs, snick_run::Options::default());
        outputs.complete().map_err(|error| error.to_string())
    })
}

#[test]
fn what_does_not_fit_fails_in_either_form() {
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
            let [read, canonical] = both(layers, size, lengths);
            assert_eq!(
                read.is_ok(),
                canonical.is_ok(),
                "{size} {lengths:?}\n{layers}{read:?}\n{canonical:?}"
            );
            if let (Ok(read), Ok(canonical)) = (read, canonical) {
                assert_eq!(read, canonical);
                fits += 1;
            }
        }
    }
    assert_eq!(fits, 2 + 1 + 5 + 5 + 1 + 5 + 6);
}
