//! Compares the shapes declared at ports with inferred shapes.

use snick_ir::{Code, Fact, Graph, NodeRef, Op};
use snick_shape::{SymExpr, Symbols};

use super::finding::Findings;
use super::layers::described;
use super::plug_ins::is_internal;
use super::subject::Subject;
use super::{CheckCode, Example, Family};

pub(super) static FAMILY: Family = Family { codes: &[&PORT_MISMATCH, &PORT_LOOSE], find, reads_values: true };

static PORT_MISMATCH: CheckCode = CheckCode {
    code: Code::PortMismatch,
    meaning: "The shape declared at a port contradicts the inferred shape: no concrete shape satisfies both.",
    reason: "The runtime infers the shapes itself, but tools that trust the file (viewers, converters, \
             accelerators) see a different model. Either the file was edited, or the exporter did not update \
             the port.",
    remedy: "rewrite the file with inferred shapes at the ports: `snick convert model.xml -o new.xml`",
    example: Example::Xml(concat!(
        "<layers>\n<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\">",
        "<data shape=\"2,3\" element_type=\"f32\"/>",
        "<output><port id=\"0\" precision=\"FP32\"><dim>2</dim><dim>3</dim></port></output></layer>\n",
        "<layer id=\"1\" name=\"relu\" type=\"ReLU\" version=\"opset1\"><input><port id=\"0\"/></input>",
        "<output><port id=\"1\" precision=\"FP32\"><dim>2</dim><dim>4</dim></port></output></layer>\n",
        "<layer id=\"2\" name=\"y\" type=\"Result\" version=\"opset1\"><input><port id=\"0\"/></input></layer>\n",
        "</layers>\n<edges>\n<edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>\n",
        "<edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/>\n</edges>\n"
    )),
    on_demand: false,
};

static PORT_LOOSE: CheckCode = CheckCode {
    code: Code::PortLoose,
    meaning: "All dims declared at the ports of a layer are dynamic, although inference determines the value \
              of at least one.",
    reason: "Tools that trust the file have to plan for any size.",
    remedy: "rewrite the file with inferred shapes at the ports: `snick convert model.xml -o new.xml`",
    example: Example::Xml(concat!(
        "<layers>\n<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\">",
        "<data shape=\"2,3\" element_type=\"f32\"/>",
        "<output><port id=\"0\" precision=\"FP32\"><dim>2</dim><dim>3</dim></port></output></layer>\n",
        "<layer id=\"1\" name=\"relu\" type=\"ReLU\" version=\"opset1\"><input><port id=\"0\"/></input>",
        "<output><port id=\"1\" precision=\"FP32\"><dim>-1</dim><dim>-1</dim></port></output></layer>\n",
        "<layer id=\"2\" name=\"y\" type=\"Result\" version=\"opset1\"><input><port id=\"0\"/></input></layer>\n",
        "</layers>\n<edges>\n<edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>\n",
        "<edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/>\n</edges>\n"
    )),
    on_demand: false,
};

fn find(subject: &Subject, findings: &mut Findings) {
    // With other input shapes than those in the file, declared ports naturally differ from inferred shapes.
    if !subject.has_all_edges() || !subject.options.shapes.is_empty() {
        return;
    }
    for graph in subject.graphs() {
        for id in graph.ids() {
            let node = graph.node(id);
            if subject.has_failed(node) || is_internal(node) || matches!(node.op(), Op::Opaque(_)) {
                continue;
            }
            let ports = Ports::of(subject, node, graph);
            let mismatches = ports.mismatches();
            if !mismatches.is_empty() {
                for message in mismatches {
                    let finding = findings.add(&PORT_MISMATCH, node, message);
                    if reads_weights(subject, graph, node) {
                        finding.help = OF_WEIGHTS.to_string();
                    }
                }
            } else if ports.is_loose() {
                let message = "every declared dim is dynamic, but inference knows numbers: ".to_string();
                findings.add(&PORT_LOOSE, node, message + &ports.inferred());
            }
        }
    }
}

/// The help text for a layer whose shape may depend on integers in the weights.
const OF_WEIGHTS: &str = "find out which of the two is right: the layer reads a shape from the weights, which may be those of \
                          another export";

/// Whether a layer reads an integer constant from a weights file. The constant may determine its shape.
fn reads_weights(subject: &Subject, graph: &Graph, node: NodeRef) -> bool {
    let is_integer =
        |source: NodeRef| matches!(source.op(), Op::Const(constant) if constant.element_type().is_integer());
    let mut sources = node.inputs().filter_map(|value| graph.get(value.node));
    subject.weights_file().is_some() && sources.any(is_integer)
}

/// A port with declared dims, and the inferred fact (type and shape) of its value.
struct Port<'m> {
    name: String,
    declared: &'m [i64],
    fact: &'m Fact,
}

/// The input and output ports of a layer that declare dims. Each input has the layer that produces its value.
struct Ports<'m> {
    symbols: &'m Symbols,
    inputs: Vec<(Port<'m>, NodeRef<'m>)>,
    outputs: Vec<Port<'m>>,
}

impl<'m> Ports<'m> {
    fn of(subject: &'m Subject, node: NodeRef<'m>, graph: &'m Graph) -> Self {
        let declared = subject.survey.as_ref().and_then(|survey| survey.input_ports.get(&node.loc()));
        let inputs = declared.into_iter().flatten().enumerate().filter_map(|(i, dims)| {
            let value = node.input(i)?;
            let port = Port { name: format!("input {i}"), declared: dims, fact: graph.fact(value)? };
            (!dims.is_empty()).then(|| (port, graph.node(value.node)))
        });
        let outputs = node.outs().iter().enumerate().filter_map(|(i, out)| {
            let dims = out.declared.as_ref()?.dims.as_deref().filter(|dims| !dims.is_empty())?;
            Some(Port { name: format!("output {i}"), declared: dims, fact: &out.fact })
        });
        Self { symbols: graph.symbols(), inputs: inputs.collect(), outputs: outputs.collect() }
    }

    /// The contradictions that originate in this layer. Two kinds of ports are excluded:
    ///
    /// - inputs that repeat the declaration of the producing layer, where the contradiction is reported
    /// - outputs, if an input is contradicted, because their contradictions probably follow from the wrong
    ///   input
    fn mismatches(&self) -> Vec<String> {
        let wrong: Vec<_> = self.inputs.iter().filter(|(port, _)| self.contradicts(port)).collect();
        let declared = |port: &Port| format!("{} is declared {}", port.name, dims_text(port.declared));
        if wrong.is_empty() {
            let wrong = self.outputs.iter().filter(|port| self.contradicts(port));
            return wrong
                .map(|port| format!("{}, but {} is inferred", declared(port), self.shape(port)))
                .collect();
        }
        let causes = wrong.into_iter().filter(|(port, source)| !repeats(port.declared, *source));
        causes
            .map(|(port, source)| {
                format!("{}, but {} arrives from {}", declared(port), self.shape(port), described(*source))
            })
            .collect()
    }

    fn contradicts(&self, port: &Port) -> bool {
        let Some(dims) = port.fact.shape().dims() else { return false };
        let fits = |(declared, dim): (&i64, &SymExpr)| {
            *declared < 0 || self.symbols.interval(dim).contains(*declared)
        };
        dims.len() != port.declared.len() || !port.declared.iter().zip(dims).all(fits)
    }

    /// Whether all declared dims are dynamic although inference finds a fixed size for at least one output
    /// dim. If the layer has no outputs, its inputs are used instead.
    fn is_loose(&self) -> bool {
        let mut ports = self.outputs.iter().chain(self.inputs.iter().map(|(port, _)| port));
        let is_number = |port: &Port| {
            port.fact.shape().dims().is_some_and(|dims| dims.iter().any(|dim| dim.as_const().is_some()))
        };
        let mut values = match self.outputs.is_empty() {
            true => self.inputs.iter().map(|(port, _)| port).collect::<Vec<_>>(),
            false => self.outputs.iter().collect(),
        }
        .into_iter();
        ports.all(|port| port.declared.iter().all(|&dim| dim < 0)) && values.any(is_number)
    }

    fn inferred(&self) -> String {
        let shapes = self
            .outputs
            .iter()
            .chain(self.inputs.iter().map(|(port, _)| port).take(usize::from(self.outputs.is_empty())));
        shapes.map(|port| format!("{} is {}", port.name, self.shape(port))).collect::<Vec<_>>().join(", ")
    }

    fn shape(&self, port: &Port) -> String {
        port.fact.shape().display_intervals(self.symbols).to_string()
    }
}

/// Whether a layer declares exactly these dims for one of its outputs.
fn repeats(dims: &[i64], source: NodeRef) -> bool {
    let declared = source.outs().iter().filter_map(|out| out.declared.as_ref()?.dims.as_deref());
    declared.into_iter().any(|declared| declared == dims)
}

/// Dims as a shape, such as `[2,?]`.
fn dims_text(dims: &[i64]) -> String {
    let text = |&dim: &i64| if dim < 0 { "?".to_string() } else { dim.to_string() };
    format!("[{}]", dims.iter().map(text).collect::<Vec<_>>().join(","))
}
