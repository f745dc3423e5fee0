//! The canonical form, written as OpenVINO IR with either op and read back, gives the same bytes.

use snick::SliceAs;
use snick_emit::openvino::openvino;
use snick_ir::{Graph, infer};
use snick_read::openvino::{Weights, read};
use snick_tensor::{ElementType, Storage, Tensor};

use super::model::{Source, canonical, counting, given, load, run, text};
use super::rule::Slicing;

/// Writes, reads back, infers.
fn again(graph: &Graph, slice_as: SliceAs) -> Graph {
    let files = openvino(graph, slice_as).unwrap();
    let other = match slice_as {
        SliceAs::Either => None,
        SliceAs::Slice => Some("type=\"StridedSlice\""),
        SliceAs::StridedSlice => Some("type=\"Slice\""),
    };
    assert!(other.is_none_or(|op| !files.xml.contains(op)), "the other op is in\n{}", files.xml);
    let weights = Weights::in_memory("slice.bin", Storage::heap(files.bin.to_bytes()));
    let mut graph = read(&files.xml, &weights, "slice.xml").unwrap().graph;
    assert_eq!(infer(&mut graph), []);
    graph
}

/// Every start, stop and step of a small space on a dynamic axis, together with a static slice of another
/// axis. All numbers are constants, or inputs of the model.
#[test]
fn canonical_slices_round_trip_through_openvino() {
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
            let written = [SliceAs::Either, SliceAs::Slice, SliceAs::StridedSlice]
                .map(|slice_as| again(&canonical, slice_as));
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

fn graph(lines: &str) -> Graph {
    let text = format!("snick 1\ngraph \"g\" {{\n{lines}\n}}\n");
    load(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn op_types(graph: &Graph) -> Vec<&str> {
    graph.ids().map(|id| graph.node(id).op().type_name()).filter(|&name| name != "Const").collect()
}

/// A slice that clamps is written with the original range, not with arithmetic on sizes.
#[test]
fn clamped_ranges_are_written_without_arithmetic_on_sizes() {
    let read = graph(
        "%x = Parameter-1 {element_type: i32, shape: \"?,2..9\"}
         %begin = Const-1 i64[2] <1, -1>
         %end = Const-1 i64[2] <-2, -9223372036854775808>
         %step = Const-1 i64[2] <2, -1>
         %axes = Const-1 i64[2] <0, 1>
         %y = Slice-8(%x, %begin, %end, %step, %axes)
         %r = Result-1(%y)",
    );
    let written = again(&canonical(&read), SliceAs::default());
    assert_eq!(op_types(&written), ["Parameter", "Slice", "Result"]);
    // The runtime would infer an empty result, since neither the smallest nor the largest size selects
    // anything, so sizes are computed instead.
    let odd = graph(
        "%x = Parameter-1 {element_type: i32, shape: \"..8\"}
         %begin = Const-1 i64[1] <-1>
         %end = Const-1 i64[1] <3>
         %step = Const-1 i64[1] <1>
         %y = Slice-8(%x, %begin, %end, %step)
         %r = Result-1(%y)",
    );
    let written = again(&canonical(&odd), SliceAs::default());
    assert!(op_types(&written).contains(&"ShapeOf"), "{:?}", op_types(&written));
    for size in 0..=8 {
        let expected = run(&odd, &[counting(&[size])]).unwrap();
        assert_eq!(run(&written, &[counting(&[size])]).unwrap(), expected, "{size}");
    }
}

/// The primitive fails if the axis is too short, whereas the op that replaces it would clamp.
#[test]
fn a_slice_beyond_its_axis_fails_after_writing() {
    let read = graph(
        "%x = Parameter-1 {element_type: i32, shape: \"?,4\"}
         %y = slice(%x) {axes: [0], start: [2], len: [3], step: [1]}
         %r = Result-1(%y)",
    );
    let written = [SliceAs::Slice, SliceAs::StridedSlice].map(|slice_as| again(&read, slice_as));
    for graph in [&read].into_iter().chain(&written) {
        assert!(run(graph, &[counting(&[4, 4])]).is_err());
        assert_eq!(run(graph, &[counting(&[6, 4])]).unwrap().dims(), [3, 4]);
    }
}

/// A negative number known only at run time also fails, although the ops would count it from the end.
#[test]
fn a_negative_start_or_length_fails_after_writing() {
    let start = graph(
        "%x = Parameter-1 {element_type: i32, shape: \"?,4\"}
         %n = Parameter-1 {element_type: i32, shape: \"\"}
         %y = slice(%x, %n) {axes: [0], start: [\"in ..\"], len: [2], step: [1]}
         %r = Result-1(%y)",
    );
    let len = graph(
        "%x = Parameter-1 {element_type: i32, shape: \"?,4\"}
         %n = Parameter-1 {element_type: i64, shape: \"\"}
         %y = slice(%x, %n) {axes: [0], start: [1], len: [\"in ..\"], step: [2]}
         %r = Result-1(%y)",
    );
    for (read, ty) in [(start, ElementType::I32), (len, ElementType::I64)] {
        let written = [SliceAs::Slice, SliceAs::StridedSlice].map(|slice_as| again(&read, slice_as));
        for graph in [&read].into_iter().chain(&written) {
            let at = |n: i64| run(graph, &[counting(&[5, 4]), integer(ty, n)]);
            assert!((-3..0).all(|n| at(n).is_err()), "{ty}");
            assert_eq!(at(2).unwrap().dims(), [2, 4]);
        }
    }
}

fn integer(element_type: ElementType, value: i64) -> Tensor {
    match element_type {
        ElementType::I32 => Tensor::from_vec(&[], vec![value as i32]).unwrap(),
        _ => Tensor::from_vec(&[], vec![value]).unwrap(),
    }
}

/// A slice of no axis is also written and keeps its name.
#[test]
fn a_slice_of_no_axis_keeps_its_name() {
    let read = graph(
        "%x = Parameter-1 {element_type: i32, shape: \"4\"}
         %y = slice(%x) {axes: [], start: [], len: [], step: []}
         %r = Result-1(%y)",
    );
    for slice_as in [SliceAs::Either, SliceAs::Slice, SliceAs::StridedSlice] {
        let written = again(&read, slice_as);
        let names: Vec<&str> = written.ids().map(|id| written.node(id).name()).collect();
        assert!(names.contains(&"x") && names.contains(&"y"), "{names:?}");
        assert_eq!(run(&written, &[counting(&[4])]).unwrap(), counting(&[4]));
    }
}
