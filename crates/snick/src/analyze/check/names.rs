//! Names that several layers or tensors share, and names with invisible characters that could mislead a
//! reader.

use std::collections::BTreeMap;

use snick_ir::text::{Escaped, is_invisible};
use snick_ir::{Code, NodeRef, Op};

use super::finding::Findings;
use super::layers::described;
use super::subject::Subject;
use super::{CheckCode, Example, Family};

pub(super) static FAMILY: Family =
    Family { codes: &[&CONTROL_CHARACTERS, &DUPLICATE_NAME], find, reads_values: false };

static CONTROL_CHARACTERS: CheckCode = CheckCode {
    code: Code::ControlCharacters,
    meaning: "The name of a layer, tensor or attribute contains control characters or marks that reverse the \
              text direction.",
    reason: "In tools that print such names, a model can control the terminal, forge lines of a CI log, or \
             disguise one name as another. snick escapes them.",
    remedy: "rename the layer or tensor; do not trust the model if the origin of these characters is unknown",
    example: Example::Xml(concat!(
        "<layers>\n",
        "<layer id=\"0\" name=\"gpj.&#x202E;exe\" type=\"Parameter\" version=\"opset1\">",
        "<data shape=\"2\" element_type=\"f32\"/><output><port id=\"0\"/></output></layer>\n",
        "<layer id=\"1\" name=\"y\" type=\"Result\" version=\"opset1\">",
        "<input><port id=\"0\"/></input></layer>\n",
        "</layers>\n<edges>\n",
        "<edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>\n</edges>\n"
    )),
    on_demand: false,
};

static DUPLICATE_NAME: CheckCode = CheckCode {
    code: Code::DuplicateName,
    meaning: "Two layers or two tensors have the same name.",
    reason: "Applications that look up inputs, outputs or layers by name may get either of the two. \
             Quantisation tools that collect statistics by name mix them up.",
    remedy: "rename one of them before the export",
    example: Example::Xml(concat!(
        "<layers>\n",
        "<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\">",
        "<data shape=\"2\" element_type=\"f32\"/><output><port id=\"0\"/></output></layer>\n",
        "<layer id=\"1\" name=\"act\" type=\"ReLU\" version=\"opset1\">",
        "<input><port id=\"0\"/></input><output><port id=\"1\"/></output></layer>\n",
        "<layer id=\"2\" name=\"act\" type=\"Exp\" version=\"opset1\">",
        "<input><port id=\"0\"/></input><output><port id=\"1\"/></output></layer>\n",
        "<layer id=\"3\" name=\"y\" type=\"Result\" version=\"opset1\">",
        "<input><port id=\"0\"/></input></layer>\n",
        "</layers>\n<edges>\n",
        "<edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>\n",
        "<edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/>\n",
        "<edge from-layer=\"2\" from-port=\"1\" to-layer=\"3\" to-port=\"0\"/>\n</edges>\n"
    )),
    on_demand: false,
};

fn find(subject: &Subject, findings: &mut Findings) {
    subject.nodes().for_each(|node| find_control_characters(node, findings));
    for graph in subject.graphs() {
        let mut layers: BTreeMap<&str, Vec<NodeRef>> = BTreeMap::new();
        let mut tensors: BTreeMap<&str, Vec<NodeRef>> = BTreeMap::new();
        for id in graph.ids() {
            let node = graph.node(id);
            // If a reader creates several layers from one node of another format, the layers share its name
            // and have no location. Such duplicates are expected.
            if node.loc().line > 0 {
                layers.entry(node.name()).or_default().push(node);
            }
            // A Result has the same tensor names as the value that it returns.
            if !matches!(node.op(), Op::Result(_)) {
                tensor_names(node).into_iter().for_each(|name| tensors.entry(name).or_default().push(node));
            }
        }
        layers.remove("");
        layers.into_iter().for_each(|(name, nodes)| add_duplicates("layer", name, nodes, findings));
        tensors.into_iter().for_each(|(name, nodes)| add_duplicates("tensor", name, nodes, findings));
    }
}

/// The tensor names of all outputs of a layer, without duplicates within an output.
fn tensor_names<'m>(node: NodeRef<'m>) -> Vec<&'m str> {
    let of_each = node.outs().iter().flat_map(|out| {
        let mut names: Vec<&str> = out.names().iter().map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    });
    of_each.collect()
}

/// Reports all layers with this name except one: an input if there is one, otherwise the first by location.
fn add_duplicates(what: &str, name: &str, mut nodes: Vec<NodeRef>, findings: &mut Findings) {
    nodes.sort_by_key(|node| (!matches!(node.op(), Op::Parameter(_)), node.name(), node.loc()));
    let Some((first, others)) = nodes.split_first() else { return };
    others.iter().for_each(|node| add_duplicate(what, name, *node, *first, findings));
}

fn add_duplicate(what: &str, name: &str, node: NodeRef, first: NodeRef, findings: &mut Findings) {
    let (name, other) = (Escaped(name).to_string(), described(first));
    let message = match what {
        "layer" => format!("{other} has the same name `{name}`"),
        _ => format!("the tensor name `{name}` is also one of {other}"),
    };
    findings.add(&DUPLICATE_NAME, node, message).origins.push(other);
}

/// Reports at most one finding per layer, even if several of its names contain invisible characters.
fn find_control_characters(node: NodeRef, findings: &mut Findings) {
    let is_odd = |text: &str| text.chars().any(is_invisible);
    let tensor =
        || node.outs().iter().flat_map(|out| out.names()).map(String::as_str).find(|name| is_odd(name));
    let attribute = || {
        let unknown = node.details().map(|details| &details.extra).into_iter();
        let own = match node.op() {
            Op::Opaque(opaque) => Some(&opaque.attrs),
            _ => None,
        };
        unknown.chain(own).flat_map(|attrs| attrs.iter()).map(|(name, _)| name).find(|name| is_odd(name))
    };
    let (what, name) = match (is_odd(node.name()), tensor()) {
        (true, _) => ("name", node.name()),
        (false, Some(name)) => ("tensor name", name),
        (false, None) => match attribute() {
            Some(name) => ("attribute", name),
            None => return,
        },
    };
    let message = format!("the {what} `{}` contains invisible characters", Escaped(name));
    findings.add(&CONTROL_CHARACTERS, node, message);
}
