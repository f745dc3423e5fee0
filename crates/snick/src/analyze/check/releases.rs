//! The oldest release of OpenVINO that can read a model.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::ptr;

use snick_ir::{
    Code, Graph, IrFeature, Need, NeedCause, NodeRef, Op, Release, Severity, empty_need, feature_support,
    needs,
};

use super::finding::Findings;
use super::subject::Subject;
use super::{CheckCode, Example, Family};
use crate::analyze::counted;

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

/// Reports the highest requirement of the file and all layers.
fn find(subject: &Subject, findings: &mut Findings) {
    let version = match subject.graph.ir_version {
        Some(10) => IrFeature::Version10,
        Some(11) => IrFeature::Version11,
        _ => return,
    };
    let (mut highest, mut highest_node, mut layers) = (feature_need(version), None, 0);
    for (need, node) in subject.graphs().into_iter().flat_map(|graph| of_layers(graph, subject.graph)) {
        match order(&need).cmp(&order(&highest)) {
            Ordering::Greater => (highest, highest_node, layers) = (need, Some(node), 1),
            Ordering::Equal => layers += 1,
            Ordering::Less => {}
        }
    }
    let target = subject.options.target;
    let too_old = target.filter(|&target| highest.since.is_none_or(|since| target < since));
    let message = message(&highest, layers, too_old);
    let finding = match highest_node {
        Some(node) => findings.add(&NEEDS_OPENVINO, node, message),
        None => findings.add_file(&NEEDS_OPENVINO, message),
    };
    finding.release = highest.since;
    if let Some(target) = too_old {
        finding.severity = Severity::Error;
        if can_convert(subject.graph, target) {
            finding.help = format!(
                "`snick convert MODEL -o OUT --for openvino={target}` writes a model that OpenVINO {target} reads"
            );
        }
    }
}

/// Whether the layers that a release cannot read can be rewritten for it.
#[cfg(feature = "emit")]
fn can_convert(graph: &Graph, release: Release) -> bool {
    snick_emit::openvino::for_release(graph, Default::default(), release).is_ok()
}

#[cfg(not(feature = "emit"))]
fn can_convert(_: &Graph, _: Release) -> bool {
    false
}

/// The highest requirement of each layer. A name that another layer has, too, is a requirement of the layer.
fn of_layers<'m>(graph: &'m Graph, model: &Graph) -> Vec<(Need, NodeRef<'m>)> {
    let mut names = HashSet::new();
    let mut found = Vec::new();
    for node in graph.ids().map(|id| graph.node(id)) {
        let is_repeated = !matches!(node.op(), Op::Result(_)) && !names.insert(node.name());
        let of_name = is_repeated.then(|| feature_need(IrFeature::EqualNames));
        // What all known releases have is no requirement.
        let is_later = |need: &Need| need.since.as_ref() != Release::known().first();
        let is_of_model = ptr::eq(graph, model);
        let of_model = is_of_model.then(|| empty_need(graph, node.id())).flatten();
        let all = needs(graph, node.id()).into_iter().chain(of_name).chain(of_model);
        let highest = all.filter(is_later).max_by_key(order);
        found.extend(highest.map(|need| (need, node)));
    }
    found
}

fn feature_need(feature: IrFeature) -> Need {
    Need { since: feature_support(feature), cause: NeedCause::IrFeature(feature) }
}

/// Orders requirements by release; a requirement that no release fulfils is the highest. If two need the same
/// release, an operation comes after a detail of a layer, because it says more.
fn order(need: &Need) -> (bool, Option<Release>, bool) {
    (need.since.is_none(), need.since, matches!(need.cause, NeedCause::Op { .. }))
}

/// The text of the finding; `layers` is the number of layers with this requirement, and `too_old` a release that
/// should read the model but cannot.
fn message(need: &Need, layers: usize, too_old: Option<Release>) -> String {
    let others = match layers {
        0 | 1 => String::new(),
        count => format!(", and for {}", counted(count - 1, "other layer")),
    };
    let cause = &need.cause;
    let oldest = Release::known().first();
    let needed = match need.since {
        None => format!("no known release of OpenVINO reads {cause}"),
        Some(release) if Some(&release) == oldest => format!("OpenVINO {release} or later reads this model"),
        Some(release) => format!("OpenVINO {release} or later is needed for {cause}{others}"),
    };
    let but = too_old.map(|target| format!(", but {target} is to read it")).unwrap_or_default();
    format!("{needed}{but}")
}
