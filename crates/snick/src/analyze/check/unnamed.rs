//! Inputs and outputs without tensor names.

use snick_ir::{Code, Op};

use super::finding::Findings;
use super::subject::Subject;
use super::{CheckCode, Example, Family};

pub(super) static FAMILY: Family = Family { codes: &[&UNNAMED_PORT], find, reads_values: false };

static UNNAMED_PORT: CheckCode = CheckCode {
    code: Code::UnnamedPort,
    meaning: "An input or an output of the model has no tensor name.",
    reason: "`model.input(\"x\")` and `request.get_tensor(\"y\")` look up tensors by name and fail. \
             Applications have to use positions, which may change with the next export.",
    remedy: "name the tensor before saving the model: `model.output(0).get_tensor().set_names({\"y\"})`",
    example: Example::Xml(concat!(
        "<layers>\n<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\">",
        "<data shape=\"2\" element_type=\"f32\"/><output><port id=\"0\"/></output></layer>\n",
        "<layer id=\"1\" name=\"y\" type=\"Result\" version=\"opset1\"><input><port id=\"0\"/></input></layer>\n",
        "</layers>\n<edges>\n<edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>\n</edges>\n"
    )),
    on_demand: true,
};

fn find(subject: &Subject, findings: &mut Findings) {
    let graph = subject.graph;
    if graph.ir_version.is_none() {
        return;
    }
    for id in graph.ids() {
        let node = graph.node(id);
        let has_name =
            |value: snick_ir::Value| graph.output(value).is_some_and(|out| !out.names().is_empty());
        let own = node.outs().iter().any(|out| !out.names().is_empty());
        match node.op() {
            Op::Parameter(_) if !own => {
                findings.add(&UNNAMED_PORT, node, format!("the input `{}` has no tensor name", node.name()));
            }
            Op::Result(_) if !own && !node.input(0).is_some_and(has_name) => {
                findings.add(&UNNAMED_PORT, node, format!("the output `{}` has no tensor name", node.name()));
            }
            _ => {}
        }
    }
}
