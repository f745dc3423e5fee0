//! The placement of nodes on devices. It is kept in the metadata of the model under the names of the nodes'
//! outputs, so that it survives rewrites.

use snick_ir::Info;
use snick_onnx as onnx;

/// The name of the metadata element that contains the whole placement.
const NAME: &str = "device_configurations";

/// The device groups, and the nodes placed on each; `None` if the file contains no placement.
pub(super) fn info(model: &onnx::Model, main: &onnx::Graph) -> Option<Info> {
    let mut children: Vec<Info> = model.configuration.iter().map(group).collect();
    children.extend(main.node.iter().filter(|node| !node.device_configurations.is_empty()).map(node));
    (!children.is_empty()).then(|| element(NAME, vec![], children))
}

fn element(name: &str, attrs: Vec<(&str, String)>, children: Vec<Info>) -> Info {
    let attrs = attrs.into_iter().map(|(key, value)| (key.to_string(), value)).collect();
    Info { name: name.into(), attrs, children, text: String::new() }
}

/// Numbers as a text, such as `0,1`.
fn list(numbers: &[i64]) -> String {
    numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

fn group(group: &onnx::DeviceConfiguration) -> Info {
    let devices = group.device.iter().map(|name| element("device", vec![("name", name.clone())], vec![]));
    let attrs = vec![("name", group.name.clone()), ("num_devices", group.num_devices.to_string())];
    element("configuration", attrs, devices.collect())
}

fn node(node: &onnx::Node) -> Info {
    let output = node.output.iter().find(|output| !output.is_empty()).cloned().unwrap_or_default();
    let children = node.device_configurations.iter().map(|own| {
        let mut attrs = vec![("configuration_id", own.configuration_id.clone())];
        attrs.extend(own.pipeline_stage.map(|stage| ("pipeline_stage", stage.to_string())));
        element("device_configuration", attrs, own.sharding_spec.iter().map(sharding).collect())
    });
    element("node", vec![("output", output)], children.collect())
}

fn sharding(spec: &onnx::ShardingSpec) -> Info {
    let groups = spec.index_to_device_group_map.iter().map(|group| {
        element("device_group", vec![("key", group.key.to_string()), ("value", list(&group.value))], vec![])
    });
    let dims = spec.sharded_dim.iter().map(|dim| {
        let parts = dim.simple_sharding.iter().map(|part| {
            let mut attrs = vec![("num_shards", part.num_shards.to_string())];
            attrs.extend(part.dim.as_ref().map(|size| match size {
                onnx::ShardedSize::Value(size) => ("dim_value", size.to_string()),
                onnx::ShardedSize::Param(name) => ("dim_param", name.clone()),
            }));
            element("simple_sharding", attrs, vec![])
        });
        element("sharded_dim", vec![("axis", dim.axis.to_string())], parts.collect())
    });
    let attrs = vec![("tensor_name", spec.tensor_name.clone()), ("device", list(&spec.device))];
    element("sharding_spec", attrs, groups.chain(dims).collect())
}
