//! Operations that plug-ins create internally.

use snick_ir::{Dialect, NodeRef, Version, ops};

/// Operations that plug-ins create internally and that snick does not know: the classes of `ov::op::internal`
/// and `ov::intel_cpu` in the sources of OpenVINO. [`snick_ir::OpName::is_internal`] covers the operations
/// that snick knows.
const OF_PLUGINS: [&str; 17] = [
    "AUGRUCell",
    "AUGRUSequence",
    "CausalMaskPreprocess",
    "Interaction",
    "LLMMLP",
    "LeakyRelu",
    "MHA",
    "MulticlassNmsIEInternal",
    "Ngram",
    "NmsStaticShapeIE",
    "NonMaxSuppressionIEInternal",
    "PowerStatic",
    "QKVProjection",
    "ScaledDotProductAttentionWithKVCache",
    "SwishCPU",
    "TypeRelaxed",
    "VLSDPA",
];

/// What files contain in place of the operation set of such operations.
const INTERNAL: &str = "ie_internal_opset";

/// Whether plug-ins create this layer internally.
pub(super) fn is_internal(node: NodeRef) -> bool {
    let Version::Custom(set) = node.version() else { return false };
    let op_type = node.op().type_name();
    &**set == INTERNAL
        || &**set == "extension"
            && (OF_PLUGINS.contains(&op_type)
                || ops::find(Dialect::OpenVino, op_type).is_some_and(|entry| entry.name.is_internal()))
}
