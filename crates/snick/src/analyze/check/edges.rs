//! Layers and edges that do not form a valid graph. The reader and inference detect these errors; this file
//! only turns them into findings.

use snick_ir::Code;

use super::finding::Findings;
use super::subject::Subject;
use super::{CheckCode, Example, Family};

pub(super) static FAMILY: Family =
    Family { codes: &[&DANGLING_EDGE, &DUPLICATE_ID, &CYCLE, &SECOND_PRODUCER], find, reads_values: false };

static DANGLING_EDGE: CheckCode = CheckCode {
    code: Code::DanglingEdge,
    meaning: "An edge starts or ends at a layer or port that does not exist.",
    reason: "A layer may lack an input. The runtime ignores some of these edges and rejects others.",
    remedy: "export the model again; if a script edits the file, make it remove the edges of the layers it \
             removes",
    example: Example::Xml(concat!(
        "<layers>\n<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\">",
        "<data shape=\"2\" element_type=\"f32\"/><output><port id=\"0\"/></output></layer>\n",
        "<layer id=\"1\" name=\"y\" type=\"Result\" version=\"opset1\"><input><port id=\"0\"/></input></layer>\n",
        "</layers>\n<edges>\n<edge from-layer=\"7\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>\n</edges>\n"
    )),
    on_demand: false,
};

static DUPLICATE_ID: CheckCode = CheckCode {
    code: Code::DuplicateId,
    meaning: "Two layers have the same id.",
    reason: "Edges refer to layers by id, so different programs may connect the layers differently.",
    remedy: "give each layer a unique id; when merging two files, renumber one of them",
    example: Example::Xml(concat!(
        "<layers>\n<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\">",
        "<data shape=\"2\" element_type=\"f32\"/><output><port id=\"0\"/></output></layer>\n",
        "<layer id=\"0\" name=\"y\" type=\"Result\" version=\"opset1\"><input><port id=\"0\"/></input></layer>\n",
        "</layers>\n"
    )),
    on_demand: false,
};

static CYCLE: CheckCode = CheckCode {
    code: Code::Cycle,
    meaning: "A layer depends on its own output.",
    reason: "No order of execution exists in which each layer follows its inputs.",
    remedy: "remove the edge that closes the cycle; express recurrence with a Loop, a TensorIterator or \
             variables",
    example: Example::Xml(concat!(
        "<layers>\n<layer id=\"0\" name=\"a\" type=\"ReLU\" version=\"opset1\">",
        "<input><port id=\"0\"/></input><output><port id=\"1\"/></output></layer>\n",
        "<layer id=\"1\" name=\"b\" type=\"Exp\" version=\"opset1\">",
        "<input><port id=\"0\"/></input><output><port id=\"1\"/></output></layer>\n",
        "</layers>\n<edges>\n<edge from-layer=\"0\" from-port=\"1\" to-layer=\"1\" to-port=\"0\"/>\n",
        "<edge from-layer=\"1\" from-port=\"1\" to-layer=\"0\" to-port=\"0\"/>\n</edges>\n"
    )),
    on_demand: false,
};

static SECOND_PRODUCER: CheckCode = CheckCode {
    code: Code::SecondProducer,
    meaning: "Two edges lead to the same input port.",
    reason: "The model is ambiguous: different programs may pass different values to the layer.",
    remedy: "remove the unintended edge",
    example: Example::Xml(concat!(
        "<layers>\n<layer id=\"0\" name=\"a\" type=\"Parameter\" version=\"opset1\">",
        "<data shape=\"2\" element_type=\"f32\"/><output><port id=\"0\"/></output></layer>\n",
        "<layer id=\"1\" name=\"b\" type=\"Parameter\" version=\"opset1\">",
        "<data shape=\"2\" element_type=\"f32\"/><output><port id=\"0\"/></output></layer>\n",
        "<layer id=\"2\" name=\"y\" type=\"Result\" version=\"opset1\"><input><port id=\"0\"/></input></layer>\n",
        "</layers>\n<edges>\n<edge from-layer=\"0\" from-port=\"0\" to-layer=\"2\" to-port=\"0\"/>\n",
        "<edge from-layer=\"1\" from-port=\"0\" to-layer=\"2\" to-port=\"0\"/>\n</edges>\n"
    )),
    on_demand: false,
};

/// The documentation of a code, if the code belongs to this family.
pub(super) fn code_of(code: Code) -> Option<&'static CheckCode> {
    FAMILY.codes.iter().find(|known| known.code == code).copied()
}

fn find(subject: &Subject, findings: &mut Findings) {
    for error in subject.errors {
        if let Some(code) = code_of(Code::from(&error.error)) {
            findings.add_error(code, error);
        }
    }
}
