//! Operations that snick does not know, and layers that the OpenVINO runtime cannot read.

use snick_ir::ops::Opaque;
use snick_ir::{Code, NodeRef, Op, OpError, Version};

use super::finding::Findings;
use super::plug_ins::is_internal;
use super::subject::Subject;
use super::{CheckCode, Example, Family};

pub(super) static FAMILY: Family =
    Family { codes: &[&UNKNOWN_OP, &RUNTIME_REFUSES], find, reads_values: false };

static UNKNOWN_OP: CheckCode = CheckCode {
    code: Code::UnknownOp,
    meaning: "snick does not know the operation: it belongs to an extension, or its name is misspelt.",
    reason: "The runtime needs the library of the extension to load the model. Shapes after the layer are only \
             as accurate as the shapes declared in the file.",
    remedy: "load the extension (`core.add_extension`) where the model is deployed; describe its shapes to \
             snick in a file for `--ops`",
    example: Example::Xml(concat!(
        "<layers>\n<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\">",
        "<data shape=\"2\" element_type=\"f32\"/><output><port id=\"0\"/></output></layer>\n",
        "<layer id=\"1\" name=\"fused\" type=\"MyFusedOp\" version=\"extension\"><input><port id=\"0\"/></input>",
        "<output><port id=\"1\" precision=\"FP32\"><dim>2</dim></port></output></layer>\n",
        "<layer id=\"2\" name=\"y\" type=\"Result\" version=\"opset1\"><input><port id=\"0\"/></input></layer>\n",
        "</layers>\n<edges>\n<edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>\n",
        "<edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/>\n</edges>\n"
    )),
    on_demand: false,
};

static RUNTIME_REFUSES: CheckCode = CheckCode {
    code: Code::RuntimeRefuses,
    meaning: "The OpenVINO runtime is known to reject the layer, because it has no operation set or its \
              operation is internal to plug-ins. The runtime also rejects execution graphs, and files in \
              which the name of a tag or an attribute is not valid in XML, for example because it starts \
              with a digit.",
    reason: "`core.read_model` fails. Typical causes are saving a model after compiling it, a script that \
             omits `version`, and `rt_info` with numeric keys, which become invalid tags.",
    remedy: "save the model before compiling it; write the `version` of the layer, such as `opset1`; use \
             `rt_info` keys that start with a letter",
    example: Example::Xml(concat!(
        "<layers>\n<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\">",
        "<data shape=\"2\" element_type=\"f32\"/><output><port id=\"0\"/></output></layer>\n",
        "<layer id=\"1\" name=\"relu\" type=\"ReLU\"><input><port id=\"0\"/></input>",
        "<output><port id=\"1\" precision=\"FP32\"><dim>2</dim></port></output></layer>\n",
        "<layer id=\"2\" name=\"y\" type=\"Result\" version=\"opset1\"><input><port id=\"0\"/></input></layer>\n",
        "</layers>\n<edges>\n<edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>\n",
        "<edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/>\n</edges>\n"
    )),
    on_demand: false,
};

fn find(subject: &Subject, findings: &mut Findings) {
    let is_ir = subject.graph.ir_version.is_some();
    for node in subject.nodes() {
        if is_ir && is_internal(node) {
            let message =
                format!("`{}` is made by plug-ins, and the runtime does not read it", node.op().type_name());
            findings.add(&RUNTIME_REFUSES, node, message);
        } else if is_ir && *node.version() == Version::Unversioned && !matches!(node.op(), Op::Opaque(_)) {
            findings.add(&RUNTIME_REFUSES, node, "the layer names no operation set, which the runtime needs");
        }
        if is_unknown(subject, node) {
            let message =
                format!("snick does not know the operation `{}` of {}", node.op().type_name(), set_of(node));
            findings.add(&UNKNOWN_OP, node, message);
        }
    }
    if let Some((loc, name)) = subject.survey.as_ref().and_then(|survey| survey.refused_name.as_ref()) {
        let message = format!("the runtime rejects the file, because `{name}` is not a valid XML name");
        findings.add_file(&RUNTIME_REFUSES, message).loc = *loc;
    }
    if let Some(node) = subject.nodes().find(|node| is_recorded(*node)) {
        let message =
            "an execution graph, which a plug-in writes for people to read; the runtime does not load it";
        findings.add(&RUNTIME_REFUSES, node, message);
    }
    for error in subject.errors {
        if matches!(error.error, OpError::UnknownOp { .. }) {
            findings.add_error(&UNKNOWN_OP, error);
        }
    }
}

/// Whether a layer is opaque because its operation is unknown. A layer can also be opaque because its
/// attributes are wrong, or because it belongs to an execution graph, whose layers have names of kernels as
/// types.
fn is_unknown(subject: &Subject, node: NodeRef) -> bool {
    match node.op() {
        Op::Opaque(_) => !subject.has_failed(node) && !is_recorded(node),
        _ => false,
    }
}

/// Whether a layer belongs to an execution graph, which a plug-in writes after a run.
fn is_recorded(node: NodeRef) -> bool {
    matches!(node.op(), Op::Opaque(opaque) if Opaque::is_recorded(node.version(), &opaque.attrs))
}

fn set_of(node: NodeRef) -> String {
    match node.version() {
        Version::Unversioned => "no operation set".to_string(),
        version => format!("`{version}`"),
    }
}
