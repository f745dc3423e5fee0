//! How ONNX models say that they are spread over devices.

use snick_onnx as onnx;
use snick_tensor::Storage;

/// `y = relu(x)`, `x[8, N]` cut into two halves along each axis, over four devices of which two hold the same.
fn model() -> onnx::Model {
    let part = |dim: onnx::ShardedSize, num_shards| onnx::SimpleShardedDim { dim: Some(dim), num_shards };
    let dim = |axis, part| onnx::ShardedDim { axis, simple_sharding: vec![part] };
    let spec = onnx::ShardingSpec {
        tensor_name: "x".into(),
        device: vec![-1, 2],
        index_to_device_group_map: vec![onnx::DeviceGroup { key: -1, value: vec![0, 1] }],
        sharded_dim: vec![
            dim(0, part(onnx::ShardedSize::Value(8), 2)),
            dim(-1, part(onnx::ShardedSize::Param("N".into()), 2)),
        ],
    };
    let own = onnx::NodeDeviceConfiguration {
        configuration_id: "four".into(),
        sharding_spec: vec![spec],
        pipeline_stage: Some(1),
    };
    let size = |value| onnx::Dim { value: Some(value) };
    let dims = vec![size(onnx::DimValue::Value(8)), size(onnx::DimValue::Param("N".into()))];
    let ty = onnx::TensorType { elem_type: 1, shape: Some(onnx::Shape { dim: dims }) };
    let value =
        |name: &str| onnx::ValueInfo { name: name.into(), ty: Some(onnx::Type { tensor: Some(ty.clone()) }) };
    let node = onnx::Node {
        input: vec!["x".into()],
        output: vec!["y".into()],
        op_type: "Relu".into(),
        device_configurations: vec![own],
        ..onnx::Node::default()
    };
    let graph = onnx::Graph {
        name: "g".into(),
        node: vec![node],
        input: vec![value("x")],
        output: vec![value("y")],
        ..onnx::Graph::default()
    };
    let devices = ["a", "b", "c", "d"].map(String::from).to_vec();
    onnx::Model {
        ir_version: Some(11),
        graph: Some(graph),
        opset_import: vec![onnx::OperatorSet { domain: String::new(), version: Some(21) }],
        configuration: vec![onnx::DeviceConfiguration {
            name: "four".into(),
            num_devices: 4,
            device: devices,
        }],
        ..onnx::Model::default()
    }
}

fn written(graph: &snick_ir::Graph) -> onnx::Model {
    let files = snick_emit::onnx::onnx(graph, "g.onnx.data").unwrap();
    onnx::decode(files.model.into()).unwrap()
}

#[test]
fn device_configurations_are_kept() {
    let model = model();
    let mut read = snick_read::onnx::read(&Storage::heap(onnx::encode(&model)), None, "g.onnx").unwrap();
    assert_eq!(snick_ir::infer(&mut read.graph), []);
    // The text form keeps them, too, and so does the canonical form.
    let mut parsed =
        snick_ir::text::parse(&snick_ir::text::print(&read.graph, Default::default()), None).unwrap();
    assert_eq!(snick_ir::infer(&mut parsed), []);
    snick_pass::canonicalise(&mut read.graph, &Default::default());
    for graph in [&read.graph, &parsed] {
        let again = written(graph);
        assert_eq!(again.ir_version, Some(11));
        assert_eq!(again.configuration, model.configuration);
        let nodes = |model: &onnx::Model| model.graph.as_ref().unwrap().node.clone();
        assert_eq!(nodes(&again)[0].device_configurations, nodes(&model)[0].device_configurations);
    }
}

#[test]
fn other_models_have_no_configurations() {
    let mut model = model();
    model.configuration.clear();
    model.graph.as_mut().unwrap().node[0].device_configurations.clear();
    let mut read = snick_read::onnx::read(&Storage::heap(onnx::encode(&model)), None, "g.onnx").unwrap();
    assert_eq!(read.graph.info, []);
    assert_eq!(snick_ir::infer(&mut read.graph), []);
    assert_eq!(written(&read.graph).ir_version, Some(10));
}
