//! The oldest release of OpenVINO that can read a model.

use snick_ir::{Code, NodeRef, Severity, Version};
use snick_tensor::ElementType;

use super::finding::Findings;
use super::subject::Subject;
use super::{CheckCode, Example, Family, Release};

pub(super) static FAMILY: Family = Family { codes: &[&NEEDS_OPENVINO], find, reads_values: false };

static NEEDS_OPENVINO: CheckCode = CheckCode {
    code: Code::NeedsOpenVino,
    meaning: "The finding names the oldest OpenVINO release that can read the model, and the layer that \
              requires it. It is an error if the release is newer than `--target-openvino`.",
    reason: "A model exported with a newer release than the deployed one may not load.",
    remedy: "deploy the named release, or export the model with the release that is deployed",
    example: Example::Xml(concat!(
        "<layers>\n<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\">",
        "<data shape=\"2\" element_type=\"i32\"/><output><port id=\"0\"/></output></layer>\n",
        "<layer id=\"1\" name=\"not\" type=\"BitwiseNot\" version=\"opset13\"><input><port id=\"0\"/></input>",
        "<output><port id=\"1\" precision=\"I32\"><dim>2</dim></port></output></layer>\n",
        "<layer id=\"2\" name=\"y\" type=\"Result\" version=\"opset1\"><input><port id=\"0\"/></input></layer>\n",
        "</layers>\n<edges>\n<edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>\n",
        "<edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/>\n</edges>\n"
    )),
    on_demand: false,
};
use crate::analyze::counted;

/// The first release that contains a complete operation set, indexed by the number of the set minus 1.
/// Sources:
///
/// - opset1 to opset15: "Available Operation Sets" in the documentation,
///   <https://docs.openvino.ai/2024/documentation/openvino-ir-format/operation-sets/available-opsets.html>
/// - opset16, completed for 2026.0: <https://github.com/openvinotoolkit/openvino/pull/33630>
/// - opset17, started for 2026.2: <https://github.com/openvinotoolkit/openvino/pull/34899>
const OF_OPSETS: [Release; 17] = [
    Release::new(2020, 1),
    Release::new(2020, 2),
    Release::new(2020, 4),
    Release::new(2021, 1),
    Release::new(2021, 2),
    Release::new(2021, 3),
    Release::new(2021, 4),
    Release::new(2022, 1),
    Release::new(2022, 2),
    Release::new(2022, 3),
    Release::new(2023, 0),
    Release::new(2023, 1),
    Release::new(2023, 2),
    Release::new(2024, 0),
    Release::new(2024, 5),
    Release::new(2026, 0),
    Release::new(2026, 2),
];

/// The first release that reads each IR version: version 10 came with opset1, version 11 with API 2.0. See
/// "OpenVINO API 2.0 Transition Guide": <https://docs.openvino.ai/2023.3/openvino_2_0_transition_guide.html>.
const OF_IR_VERSIONS: [(u32, Release); 2] = [(10, Release::new(2020, 1)), (11, Release::new(2022, 1))];

/// The first release that is known to support each of the newer element types.
///
/// According to the lists of element types in the C++ API reference, 2022.3 supports none of these types,
/// 2023.3 supports nf4 and string
/// (<https://docs.openvino.ai/2023.3/api/c_cpp_api/group__ov__element__cpp__api.html>), and 2024 supports all
/// of them (<https://docs.openvino.ai/2024/api/c_cpp_api/group__ov__element__cpp__api.html>). The types f8e4m3
/// and f8e5m2 were added in January 2024 (<https://github.com/openvinotoolkit/openvino/pull/21608>), the
/// others from June 2024 on (<https://github.com/openvinotoolkit/openvino/pull/24923>).
const OF_TYPES: [(ElementType, Release); 9] = [
    (ElementType::NF4, Release::new(2023, 3)),
    (ElementType::String, Release::new(2023, 3)),
    (ElementType::F8E4M3, Release::new(2024, 0)),
    (ElementType::F8E5M2, Release::new(2024, 0)),
    (ElementType::U2, Release::new(2024, 4)),
    (ElementType::U3, Release::new(2024, 4)),
    (ElementType::U6, Release::new(2024, 4)),
    (ElementType::F4E2M1, Release::new(2024, 4)),
    (ElementType::F8E8M0, Release::new(2024, 4)),
];

/// The minimum release that a layer or the file requires, and the feature that requires it.
struct Need<'m> {
    release: Release,
    /// The layer that uses the feature; `None` for a feature of the file.
    node: Option<NodeRef<'m>>,
    what: String,
}

/// Reports the highest requirement of the file and all layers.
fn find(subject: &Subject, findings: &mut Findings) {
    let Some(version) = subject.graph.ir_version else { return };
    let of_file = OF_IR_VERSIONS.iter().rev().find(|(known, _)| *known <= version);
    let Some((_, release)) = of_file else { return };
    let mut highest = Need { release: *release, node: None, what: format!("IR version {version}") };
    let mut layers = 0;
    for node in subject.nodes() {
        let Some((release, what)) = need_of(node) else { continue };
        if release > highest.release {
            (highest, layers) = (Need { release, node: Some(node), what }, 1);
        } else if release == highest.release && highest.node.is_some() {
            layers += 1;
        }
    }
    let Need { release, node, what } = highest;
    let others = match layers {
        0 | 1 => String::new(),
        count => format!(", and for {}", counted(count - 1, "other layer")),
    };
    let too_new = subject.options.target.filter(|target| *target < release);
    let than = too_new.map(|target| format!(", but {target} is to read it")).unwrap_or_default();
    let message = format!("OpenVINO {release} or later is needed for {what}{others}{than}");
    let finding = match node {
        Some(node) => findings.add(&NEEDS_OPENVINO, node, message),
        None => findings.add_file(&NEEDS_OPENVINO, message),
    };
    finding.release = Some(release);
    if too_new.is_some() {
        finding.severity = Severity::Error;
    }
}

/// The first release that supports both the operation set and the output types of a layer.
fn need_of(node: NodeRef) -> Option<(Release, String)> {
    let of_set = match node.version() {
        Version::Opset(set @ 1..) => {
            let release = OF_OPSETS.get(usize::from(*set) - 1);
            release.map(|&release| (release, format!("{} of opset{set}", node.op().type_name())))
        }
        _ => None,
    };
    let of_types = node.outs().iter().filter_map(|out| {
        let element_type = out.fact.element_type();
        let (_, release) = OF_TYPES.iter().find(|(known, _)| *known == element_type)?;
        Some((*release, format!("element type {element_type}")))
    });
    of_set.into_iter().chain(of_types).reduce(|a, b| if b.0 > a.0 { b } else { a })
}
