//! The text form of all models in `models/` and in the corpus named by `SNICK_CORPUS`.

use snick_ir::text::{PrintOptions, Weights, packed_weights, parse, print};
use snick_tensor::Storage;

use crate::files;

/// Every printed model parses to the identical graph.
#[test]
fn every_model_prints_and_reads_back() {
    let mut count = 0;
    for path in files::models_and_corpus() {
        let read = snick_read::read_file(&path, None).unwrap_or_else(|e| panic!("{e}"));
        let mut graph = read.graph;
        snick_ir::infer(&mut graph);
        let options = PrintOptions::new().weights(Weights::Packed);
        let text = print(&graph, options);
        let bin = Storage::heap(packed_weights(&graph).to_bytes());
        let mut again = parse(&text, Some(&bin)).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        snick_ir::infer(&mut again);
        let text_again = print(&again, options);
        if let Some((a, b)) = text.lines().zip(text_again.lines()).find(|(a, b)| a != b) {
            panic!("{}:\n{a}\n{b}", path.display());
        }
        assert_eq!(text, text_again, "{}", path.display());
        assert!(again == graph, "{}: the graph changed", path.display());
        count += 1;
    }
    assert!(count > 0);
}

/// An opaque layer with the name of an op stays opaque.
#[test]
fn opaque_layers_keep_their_names() {
    let text = "snick 1
graph \"g\" {
  %c = opaque Const-\"opset1$$\" {value: tensor f32[2] <1.0, 2.0>} : f32[2]
  %p = opaque MaxPool-1(%c) {kernel: none} : dynamic[...]
  %s = opaque slice-_(%p) : f32[2]
  %n = opaque opaque-1(%s) : f32[2]
  %o = opaque-1(%n) : f32[2]
}
";
    let graph = parse(text, None).unwrap();
    assert!(graph.ids().all(|id| graph.node(id).op().is_opaque()));
    // The keyword is printed only where it is needed.
    let printed = print(&graph, PrintOptions::default());
    let shorter = text.replace("opaque opaque", "opaque");
    assert_eq!(printed, shorter);
    assert!(parse(&printed, None).unwrap() == graph);
}

#[test]
fn an_attribute_is_given_once() {
    let text = "snick 1\ngraph \"g\" {\n  %c = Nonsense-1 {a: 1, b: 2, a: 3}\n}\n";
    let error = parse(text, None).unwrap_err().to_string();
    assert!(error.contains("attribute `a` is given twice"), "{error}");
}

#[test]
fn the_operation_set_of_a_constant_is_checked() {
    let text = "snick 1\ngraph \"g\" {\n  %c = Const-0 f32[1] <1.0>\n}\n";
    let error = parse(text, None).unwrap_err().to_string();
    assert!(error.contains("Const: the operation set is opset0"), "{error}");
}

#[test]
fn the_version_of_the_ir_is_checked() {
    for version in [9, 12] {
        let error =
            parse(&format!("snick 1\ngraph \"g\" {{\n  ir {version}\n}}\n"), None).unwrap_err().to_string();
        assert!(error.contains("10 or 11"), "{error}");
    }
}
