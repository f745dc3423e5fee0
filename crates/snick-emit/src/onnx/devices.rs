//! Restores messages about device placement, which the ONNX reader keeps in the metadata of the model.

use snick_ir::{Graph, Info};
use snick_onnx as onnx;

/// The first file format version that has these messages.
const IR_VERSION: i64 = 11;

/// Adds the device metadata of the graph to the model and its nodes. Metadata of nodes that no longer exist
/// is dropped. If the user asked for an operator set, which `is_version_fixed` says, an IR version without metadata
/// stays, and all metadata is dropped.
pub(super) fn add(graph: &Graph, model: &mut onnx::Model, is_version_fixed: bool) {
    let kept = || {
        let roots = graph.info.iter().filter(|info| info.name == "device_configurations");
        roots.flat_map(|info| &info.children)
    };
    if kept().next().is_none() || is_version_fixed && model.ir_version < Some(IR_VERSION) {
        return;
    }
    model.ir_version = model.ir_version.max(Some(IR_VERSION));
    for info in kept() {
        match info.name.as_str() {
            "configuration" => model.configuration.push(onnx::DeviceConfiguration {
                name: text(info, "name"),
                num_devices: number(info, "num_devices"),
                device: info.children.iter().map(|device| text(device, "name")).collect(),
            }),
            "node" => {
                let output = text(info, "output");
                let mut nodes = model.graph.iter_mut().flat_map(|graph| &mut graph.node);
                if let Some(node) = nodes.find(|node| node.output.contains(&output)) {
                    node.device_configurations = info.children.iter().map(configuration).collect();
                }
            }
            _ => {}
        }
    }
}

fn attr<'i>(info: &'i Info, name: &str) -> Option<&'i str> {
    info.attrs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

fn text(info: &Info, name: &str) -> String {
    attr(info, name).unwrap_or_default().to_string()
}

fn number<N: std::str::FromStr + Default>(info: &Info, name: &str) -> N {
    attr(info, name).and_then(|value| value.parse().ok()).unwrap_or_default()
}

fn list(info: &Info, name: &str) -> Vec<i64> {
    attr(info, name).unwrap_or_default().split(',').filter_map(|number| number.trim().parse().ok()).collect()
}

fn children<'i>(info: &'i Info, name: &'static str) -> impl Iterator<Item = &'i Info> {
    info.children.iter().filter(move |child| child.name == name)
}

fn configuration(info: &Info) -> onnx::NodeDeviceConfiguration {
    onnx::NodeDeviceConfiguration {
        configuration_id: text(info, "configuration_id"),
        sharding_spec: children(info, "sharding_spec").map(sharding).collect(),
        pipeline_stage: attr(info, "pipeline_stage").and_then(|stage| stage.parse().ok()),
    }
}

fn sharding(info: &Info) -> onnx::ShardingSpec {
    onnx::ShardingSpec {
        tensor_name: text(info, "tensor_name"),
        device: list(info, "device"),
        index_to_device_group_map: children(info, "device_group")
            .map(|group| onnx::DeviceGroup { key: number(group, "key"), value: list(group, "value") })
            .collect(),
        sharded_dim: children(info, "sharded_dim")
            .map(|dim| onnx::ShardedDim {
                axis: number(dim, "axis"),
                simple_sharding: children(dim, "simple_sharding").map(part).collect(),
            })
            .collect(),
    }
}

fn part(info: &Info) -> onnx::SimpleShardedDim {
    let value = attr(info, "dim_value").and_then(|size| size.parse().ok()).map(onnx::ShardedSize::Value);
    let name = attr(info, "dim_param").map(|name| onnx::ShardedSize::Param(name.into()));
    onnx::SimpleShardedDim { dim: value.or(name), num_shards: number(info, "num_shards") }
}
