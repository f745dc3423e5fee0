//! Splits that do not fit the axis also fail in canonical form and in written OpenVINO IR, although plain
//! slices would clamp.

use snick::SliceAs;
use snick_emit::openvino::openvino;
use snick_pass::{RewriteOptions, canonicalise};
use snick_read::openvino::{Weights, read};
use snick_run::Session;
use snick_tensor::{Storage, Tensor};

/// The outputs of each form for an axis of this size: the original, its canonical form, and the canonical
/// form written as OpenVINO IR and read back.
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
    let weights = Weights::in_memory("split.bin", Storage::heap(files.bin.to_bytes()));
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

/// A file may declare more outputs than a VariadicSplit has lengths.
#[test]
fn more_outputs_than_lengths_are_a_named_error() {
    let port = |id: usize| format!("<port id=\"{id}\" precision=\"FP32\"><dim>-1</dim><dim>2</dim></port>");
    for (lengths, size) in [("2", 2), ("?", 2), ("2", -1)] {
        for read_port in [3, 5] {
            let xml = format!(
                "<net name=\"g\" version=\"11\"><layers>\
                 <layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\">\
                 <data element_type=\"f32\" shape=\"{size},2\"/><output>{}</output></layer>\
                 <layer id=\"1\" name=\"n\" type=\"Parameter\" version=\"opset1\">\
                 <data element_type=\"i64\" shape=\"{lengths}\"/><output><port id=\"0\" precision=\"I64\">\
                 <dim>-1</dim></port></output></layer>\
                 <layer id=\"2\" name=\"axis\" type=\"Const\" version=\"opset1\">\
                 <data element_type=\"i64\" shape=\"\" offset=\"0\" size=\"8\"/><output><port id=\"0\" \
                 precision=\"I64\"/></output></layer>\
                 <layer id=\"3\" name=\"s\" type=\"VariadicSplit\" version=\"opset1\"><input><port id=\"0\"/>\
                 <port id=\"1\"/><port id=\"2\"/></input><output>{}{}{}</output></layer>\
                 <layer id=\"4\" name=\"y\" type=\"Result\" version=\"opset1\"><input><port id=\"0\"/></input>\
                 </layer></layers><edges><edge from-layer=\"0\" from-port=\"0\" to-layer=\"3\" to-port=\"0\"/>\
                 <edge from-layer=\"2\" from-port=\"0\" to-layer=\"3\" to-port=\"1\"/>\
                 <edge from-layer=\"1\" from-port=\"0\" to-layer=\"3\" to-port=\"2\"/>\
                 <edge from-layer=\"3\" from-port=\"{read_port}\" to-layer=\"4\" to-port=\"0\"/></edges></net>",
                port(0),
                port(3),
                port(4),
                port(5),
            );
            let weights = Weights::in_memory("s.bin", Storage::heap(vec![0; 8]));
            let mut graph = read(&xml, &weights, "s.xml").unwrap().graph;
            let errors = snick_ir::infer(&mut graph);
            if lengths == "2" && read_port == 5 {
                assert_eq!(errors[0].layer, "s");
                assert!(
                    errors[0].to_string().contains("output that is read is 2, expected below 2"),
                    "{}",
                    errors[0]
                );
            }
            // With any of these lengths, only the split itself may fail.
            let report = canonicalise(&mut graph, &RewriteOptions::new());
            assert!(report.errors.iter().all(|error| error.layer == "s"), "{:?}", report.errors);
        }
    }
}
