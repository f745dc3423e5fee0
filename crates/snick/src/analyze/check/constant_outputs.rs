//! Outputs that are the same in every run.

use std::collections::HashSet;

use snick_ir::{Code, NodeId, Op, OpTraits};

use super::finding::Findings;
use super::subject::Subject;
use super::{CheckCode, Example, Family};

pub(super) static FAMILY: Family = Family { codes: &[&CONSTANT_OUTPUT], find, reads_values: false };

static CONSTANT_OUTPUT: CheckCode = CheckCode {
    code: Code::ConstantOutput,
    meaning: "An output of the model depends on no input.",
    reason: "It is the same in every run. Usually the exporter traced code with fixed data, or an edit removed \
             an edge.",
    remedy: "export the model with this data as an input, or remove the output",
    example: Example::Text(
        "  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n  %a = ReLU-1(%x)\n  %y = Result-1(%a)\n  \
         %mask = Const-1 f32[2] <0.0, 1.0>\n  %b = Exp-1(%mask)\n  %z = Result-1(%b)\n",
    ),
    on_demand: true,
};

fn find(subject: &Subject, findings: &mut Findings) {
    let graph = subject.graph;
    let Ok(order) = graph.order() else { return };
    if !subject.has_all_edges() {
        return;
    }
    let mut varying: HashSet<NodeId> = HashSet::new();
    for id in order {
        let node = graph.node(id);
        let reads_varying = graph.inputs(id).into_iter().flatten().any(|value| varying.contains(&value.node));
        match node.op() {
            Op::Result(_) if !reads_varying => {
                let message = format!("the output `{}` depends on no input", node.name());
                findings.add(&CONSTANT_OUTPUT, node, message);
            }
            // The values of variables and random numbers differ from run to run.
            op if reads_varying || !op.has(OpTraits::PURE) => drop(varying.insert(id)),
            _ => {}
        }
    }
}
