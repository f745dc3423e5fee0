//! The canonical form written as OpenVINO IR, as either op, and read back: it computes the same bytes.

use snick::SliceAs;
use snick_emit::openvino::openvino;
use snick_ir::{Graph, infer};
use snick_read::openvino::{Weights, read};
use snick_tensor::ElementType;

use super::model::{Source, canonical, counting, given, load, run, text};
use super::rule::Slicing;

/// Written, read back, inferred.
fn again(graph: &Graph, slice_as: SliceAs) -> Graph {
    let files = openvino(graph, slice_as).unwrap();
    let op = match slice_as {
        SliceAs::Slice => "type=\"StridedSlice\"",
        SliceAs::StridedSlice => "type=\"Slice\"",
    };
    assert!(!files.xml.contains(op), "the other op is in\n{}", files.xml);
    let weights = Weights::from_bytes("slice.bin", files.bin);
    let mut graph = read(&files.xml, &weights, "slice.xml").unwrap().graph;
    assert_eq!(infer(&mut graph), []);
    graph
}

/// Every start, stop and step of a small space on an axis of open size, beside an axis that is sliced statically; the
/// numbers are written in the model, or given when it runs, the sign of the step among them.
#[test]
fn canonical_forms_read_back() {
    let sources = [
        [Source::Constant; 4],
        [Source::Given, Source::Constant, Source::Constant, Source::Constant],
        [Source::Given, Source::Given, Source::Given, Source::Constant],
    ];
    for (step, sources) in [-3, -2, -1, 1, 2, 3].into_iter().flat_map(|step| sources.map(|s| (step, s))) {
        for (start, stop) in
            [-7, -4, -1, 0, 1, 3, 6].into_iter().flat_map(|a| [-7, -1, 0, 2, 5].map(|b| (a, b)))
        {
            let slicing = Slicing {
                masks: None,
                start: vec![start, 1],
                stop: vec![stop, 3],
                step: Some(vec![step, 1]),
                axes: Some(vec![2, 0]),
            };
            let text = text(&slicing, "4,2,?", ElementType::I32, "i64", sources, &[]);
            let graph = load(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let canonical = canonical(&graph);
            let written = [SliceAs::Slice, SliceAs::StridedSlice].map(|slice_as| again(&canonical, slice_as));
            for size in 0..6 {
                let mut inputs = vec![counting(&[4, 2, size])];
                inputs.extend(given(&slicing, sources));
                let expected = run(&graph, &inputs).unwrap();
                for graph in &written {
                    assert_eq!(run(graph, &inputs).unwrap(), expected, "{start}:{stop}:{step} of {size}");
                }
            }
        }
    }
}
