//! The text form of every model: those of `models/`, and the corpus that `SNICK_CORPUS` names.

use snick_ir::text::{PrintOptions, Weights, packed_weights, parse, print};
use snick_tensor::Storage;

use crate::files;

/// Every printed model parses as the identical graph.
#[test]
fn every_model_prints_and_reads_back() {
    let mut count = 0;
    for path in files::models_and_corpus() {
        let read = snick_read::read_file(&path, None).unwrap_or_else(|e| panic!("{e}"));
        let mut graph = read.graph;
        snick_ir::infer(&mut graph);
        let options = PrintOptions::new().weights(Weights::Packed);
        let text = print(&graph, options);
        let bin = Storage::heap(packed_weights(&graph));
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
