//! ONNX models.

use snick_ir::{Graph, Op};
use snick_run::{Options, Session};
use snick_tensor::{Storage, Tensor};

use crate::files;

/// Every model and case that can be written as ONNX reads back with the same result types and shapes.
#[test]
fn written_models_are_read_with_the_same_results() {
    let (mut same, mut refused) = (0, 0);
    for path in files::ops_and_models() {
        let mut read = snick_read::read_file(&path, None).unwrap();
        snick_ir::infer(&mut read.graph);
        let files = match snick_emit::onnx::onnx(&read.graph, "case.onnx.data") {
            Ok(files) => files,
            Err(error) => {
                assert!(!error.layer.is_empty() && !error.error.to_string().is_empty());
                // ONNX has no tokenizers.
                refused += usize::from(!has_extensions(&read.graph));
                continue;
            }
        };
        let again = snick_read::onnx::read(&Storage::heap(files.model.to_bytes()), None, "case.onnx");
        let mut again = again.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(again.errors.is_empty(), "{}: {:?}", path.display(), again.errors);
        let errors = snick_ir::infer(&mut again.graph);
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
        assert!(again.graph.ids().all(|id| !matches!(again.graph.node(id).op(), Op::Opaque(_))));
        let facts = |graph: &Graph| -> Vec<_> {
            graph.results().map(|id| graph.node(id).outs()[0].fact.clone()).collect()
        };
        for (before, after) in facts(&read.graph).iter().zip(facts(&again.graph)) {
            assert_eq!(before.element_type, after.element_type, "{}", path.display());
            let (before, after) = (before.shape.as_static(), after.shape.as_static());
            assert!(before.is_none() || after.is_none() || before == after, "{}", path.display());
        }
        same += 1;
    }
    assert!(same > 2 * refused, "{same} models were written, {refused} refused");
}

/// Writes a graph and reads it back.
fn written_and_read(graph: &Graph) -> Graph {
    let files = snick_emit::onnx::onnx(graph, "case.onnx.data").unwrap();
    let mut again =
        snick_read::onnx::read(&Storage::heap(files.model.to_bytes()), None, "case.onnx").unwrap();
    assert_eq!(snick_ir::infer(&mut again.graph), []);
    again.graph
}

/// Interpolate and Resize differ in sizes, in axes of unchanged size, and in ties, but results must not
/// change.
#[test]
fn resized_data_stay_the_same() {
    for (declared, dims, axes, target, attrs) in [
        // 706 * 0.31728044 is 223.99999, to which Interpolate adds an epsilon.
        ("1,706", [1, 706], "1", "f32[1] <0.31728044>", "mode: nearest"),
        ("1,?", [1, 706], "1", "f32[1] <0.31728044>", "mode: nearest"),
        ("2,?", [2, 353], "1", "f32[1] <0.31728044>", "mode: linear_onnx"),
        // Three elements stay three.
        ("3,4", [3, 4], "0, 1", "f32[2] <1.3, 2.0>", "mode: linear_onnx"),
        ("?,?", [3, 4], "0, 1", "f32[2] <1.3, 2.0>", "mode: cubic"),
        ("?,4", [3, 4], "0", "i64[1] <3>", "mode: nearest, nearest_mode: ceil"),
        // A tie that a computation in f32 would miss.
        ("1,20", [1, 20], "1", "i64[1] <6>", "mode: nearest, nearest_mode: round_prefer_ceil"),
        ("1,?", [1, 20], "1", "i64[1] <6>", "mode: nearest, nearest_mode: round_prefer_ceil"),
        ("?,?", [8, 5], "0, 1", "f32[2] <0.6, 1.5>", "mode: nearest, nearest_mode: simple"),
    ] {
        let kind = if target.starts_with('f') { "scales" } else { "sizes" };
        let text = format!(
            "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"{declared}\"}}\n  \
             %t = Const-1 {target}\n  %a = Const-1 i64[{}] <{axes}>\n  \
             %y = Interpolate-11(%x, %t, %a) {{shape_calculation_mode: {kind}, {attrs}}}\n  \
             %r = Result-1(%y)\n}}\n",
            axes.split(',').count(),
        );
        let mut graph = snick_ir::text::parse(&text, None).unwrap();
        assert_eq!(snick_ir::infer(&mut graph), []);
        let values: Vec<f32> = (0..dims[0] * dims[1]).map(|i| (i * i % 101) as f32).collect();
        let data = [Tensor::from_vec(&dims, values).unwrap()];
        let [before, after] = [&graph, &written_and_read(&graph)].map(|graph| {
            let session = Session::new(graph).unwrap();
            session.run(&data, Options::default()).complete().unwrap().remove(0)
        });
        assert_eq!(before.dims(), after.dims(), "{text}");
        let [before, after] = [before, after].map(|tensor| tensor.to_f32_vec().unwrap());
        let is_near = |(x, y): (&f32, &f32)| (x - y).abs() < 1e-3;
        assert!(before.iter().zip(&after).all(is_near), "{text}\n{before:?}\n{after:?}");
    }
}

/// For data with five axes, `linear` is a filter, whose weights become constants in ONNX.
#[test]
fn filtered_volumes_stay_the_same() {
    for (size, coordinates, antialias) in [
        (2, "half_pixel", true),
        (7, "half_pixel", true),
        (9, "align_corners", true),
        (9, "tf_half_pixel_for_nn", false),
    ] {
        let text = format!(
            "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"1,1,1,1,4\"}}\n  \
             %t = Const-1 i64[1] <{size}>\n  %a = Const-1 i64[1] <4>\n  %y = Interpolate-11(%x, %t, %a) \
             {{shape_calculation_mode: sizes, mode: linear, coordinate_transformation_mode: {coordinates}, \
             antialias: {antialias}}}\n  %r = Result-1(%y)\n}}\n"
        );
        let mut graph = snick_ir::text::parse(&text, None).unwrap();
        assert_eq!(snick_ir::infer(&mut graph), []);
        let data = [Tensor::from_vec(&[1, 1, 1, 1, 4], vec![1f32, 10.0, 100.0, 1000.0]).unwrap()];
        let [before, after] = [&graph, &written_and_read(&graph)].map(|graph| {
            let session = Session::new(graph).unwrap();
            session.run(&data, Options::default()).complete().unwrap().remove(0).to_f32_vec().unwrap()
        });
        let is_near = |(x, y): (&f32, &f32)| (x - y).abs() < 1e-3;
        assert!(before.iter().zip(&after).all(is_near), "{text}\n{before:?}\n{after:?}");
    }
}

/// Whether any layer is outside of the operation sets.
fn has_extensions(graph: &Graph) -> bool {
    graph.ids().any(|id| matches!(graph.node(id).version(), snick_ir::Version::Custom(_)))
}
