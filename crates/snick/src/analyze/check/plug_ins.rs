//! Operations that plug-ins create internally and that models should not contain.

use snick_ir::{Dialect, NodeRef, Version, ops};

/// Internal operations that snick does not know: the classes of `ov::op::internal` and `ov::intel_cpu` in the
/// sources of OpenVINO. For operations that snick knows, see [`snick_ir::OpName::is_internal`].
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

/// The `version` that OpenVINO writes for internal operations.
const INTERNAL: &str = "ie_internal_opset";

/// Whether the operation of a layer is internal to plug-ins.
pub(super) fn is_internal(node: NodeRef) -> bool {
    let Version::Custom(set) = node.version() else { return false };
    let op_type = node.op().type_name();
    &**set == INTERNAL
        || &**set == "extension"
            && (OF_PLUGINS.contains(&op_type)
                || ops::find(Dialect::OpenVino, op_type).is_some_and(|entry| entry.name.is_internal()))
}
