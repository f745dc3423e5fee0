//! Tests that Resize becomes suitable layers of OpenVINO.

use snick_ir::Op;
use snick_onnx as onnx;

use super::{model, node, read, vector, words};

/// The OpenVINO runtime rejects negative axes of Interpolate.
#[test]
fn resized_axes_count_from_the_front() {
    let mut resize = node("Resize", &["x", "", "", "sizes"], &["y"]);
    let (ints, kind) = (vec![-1, -2], Some(onnx::kind::INTS));
    resize.attribute = vec![
        onnx::Attribute { name: "axes".into(), ints, kind, ..onnx::Attribute::default() },
        words("mode", "linear"),
    ];
    let mut model = model(vec![resize], vec![vector("sizes", &[20, 3])]);
    model.opset_import[0].version = Some(18);
    let graph = read(&model).unwrap().graph;
    let resized = graph.ids().find(|&id| matches!(graph.node(id).op(), Op::Interpolate(_))).unwrap();
    let axes = graph.node(resized).input(2).unwrap();
    assert_eq!(graph.fact(axes).unwrap().ints().unwrap()[..], [1, 0]);
}

/// The index must be clamped by a Maximum first and then by a Minimum. In the reverse order, the OpenVINO
/// runtime folds the index to a scalar if both bounds are equal.
#[test]
fn the_last_bound_of_a_nearest_element_is_the_size() {
    let mut resize = node("Resize", &["x", "", "", "sizes"], &["y"]);
    resize.attribute = vec![
        words("mode", "nearest"),
        words("nearest_mode", "round_prefer_floor"),
        words("coordinate_transformation_mode", "pytorch_half_pixel"),
    ];
    let graph = read(&model(vec![resize], vec![vector("sizes", &[1, 10])])).unwrap().graph;
    let gathers = |&id: &snick_ir::NodeId| {
        let node = graph.node(id);
        let data = node.input(0).map(|data| graph.node(data.node).op().type_name());
        matches!(node.op(), Op::Gather(_)) && data == Some("Parameter")
    };
    let gather = graph.ids().find(gathers).unwrap();
    let index = graph.node(graph.node(gather).input(1).unwrap().node);
    assert_eq!(index.op().type_name(), "Minimum");
}
