//! The times that a plug-in recorded in an execution graph.

use snick_ir::{Graph, Op};

/// A layer of an execution graph.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct LayerTime {
    /// Its name.
    pub layer: String,
    /// The type of the layer, as named by the plug-in.
    pub op: String,
    /// The time per run in microseconds; `None` if the layer was not executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub microseconds: Option<u64>,
    /// The name of the kernel that computed the layer.
    pub primitive: String,
    /// The layers of the original model that this layer computes.
    pub sources: Vec<String>,
}

/// The layers of an execution graph in execution order; empty if the graph is an ordinary model. OpenVINO
/// writes execution graphs with `CompiledModel.get_runtime_model`.
///
/// ```
/// let text = r#"<net name="n" version="11"><layers>
///   <layer id="0" name="sum" type="Eltwise"><data execOrder="3" execTimeMcs="17"
///     originalLayersNames="sum,relu" primitiveType="jit_avx512_f32"/>
///     <output><port id="0" precision="FP32"><dim>4</dim></port></output></layer>
///   </layers></net>"#;
/// let model = snick::load_bytes(snick::Format::OpenVino, text, None, &snick::LoadOptions::new())?;
/// let times = snick::layer_times(model.graph());
/// assert_eq!((times[0].microseconds, times[0].sources.len()), (Some(17), 2));
/// # Ok::<(), snick::Error>(())
/// ```
pub fn layer_times(graph: &Graph) -> Vec<LayerTime> {
    let times = graph.ids().filter_map(|id| {
        let node = graph.node(id);
        let Op::Opaque(op) = node.op() else { return None };
        let text = |name| op.attrs.text(name).ok().flatten();
        let microseconds = text("execTimeMcs")?.parse().ok();
        let sources = text("originalLayersNames").unwrap_or_default().split(',');
        let sources = sources.filter(|name| !name.is_empty()).map(str::to_string).collect();
        let primitive = text("primitiveType").unwrap_or_default().to_string();
        let order = text("execOrder").and_then(|order| order.parse().ok()).unwrap_or(u64::MAX);
        let (layer, op) = (node.name().to_string(), op.op_type.to_string());
        Some((order, LayerTime { layer, op, microseconds, primitive, sources }))
    });
    let mut times: Vec<_> = times.collect();
    times.sort_by_key(|(order, _)| *order);
    times.into_iter().map(|(_, time)| time).collect()
}
