//! The part of a model to explain, written as `LAYER`, `LAYER:PORT` or `LAYER:PORT:AXIS`.

use snick_ir::{Graph, NodeId, Part, Value, ValuePart, did_you_mean_or};

use crate::{Error, Model};

/// An output, and optionally one of its axes.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,3\"}\n  \
/// #             %y = Relu-1(%x)\n  %r = Result-1(%y)\n}\n";
/// # let mut model = snick::parse(text)?;
/// # model.infer().into_result()?;
/// let target = model.target("y:1:0")?; // port 1 as the file counts: the first output follows the only input
/// assert_eq!(target.value, model.graph().node(model.graph().find("y").expect("layer")).output(0).expect("output"));
/// assert_eq!((target.axis, target.parts(&model).len()), (Some(0), 1));
/// assert_eq!(model.target("y:0:0")?, target); // no output has the number 0, so this is the first output
/// assert_eq!(model.target("y")?.parts(&model).len(), 2);
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Target {
    /// The output to explain.
    pub value: Value,
    /// The axis to explain. `None` stands for all elements of a scalar or vector with known elements, and for
    /// all sizes of any other value.
    pub axis: Option<usize>,
}

impl Target {
    /// The sizes or elements that the target refers to.
    pub fn parts(&self, model: &Model) -> Vec<ValuePart> {
        let Some(fact) = model.graph().fact(self.value) else { return Vec::new() };
        let is_vector = fact.shape().rank().is_some_and(|rank| rank <= 1);
        let elements = || Part::all(fact).filter(|part| matches!(part, Part::Element(_)));
        let parts: Vec<Part> = match self.axis {
            Some(axis) => vec![Part::Dim(axis)],
            None if is_vector && elements().next().is_some() => elements().collect(),
            None => Part::dims(fact).collect(),
        };
        parts.into_iter().map(|part| ValuePart::new(self.value, part)).collect()
    }
}

impl Model {
    /// Finds the output named by `LAYER`, `LAYER:PORT` or `LAYER:PORT:AXIS`, where `LAYER` is the name of a
    /// layer or a tensor. Ports are numbered as in the file. Without a port, returns the first output of the
    /// layer. Port 0 also means the first output if the file gives no output the number 0. A tensor can be
    /// followed by just an axis.
    ///
    /// # Errors
    /// [`Error::NoOutput`], with a suggestion, if there is no such output.
    pub fn target(&self, text: &str) -> Result<Target, Error> {
        let graph = self.graph();
        // Splits numbers off from the end, because a name may itself contain colons and numbers.
        let mut rest = text;
        let mut numbers: Vec<usize> = Vec::new();
        loop {
            if let Some(target) = named(graph, rest, &numbers)? {
                return Ok(target);
            }
            let Some((name, number)) = rest.rsplit_once(':').filter(|_| numbers.len() < 2) else { break };
            let Ok(number) = number.parse() else { break };
            numbers.insert(0, number);
            rest = name;
        }
        Err(Error::NoOutput {
            message: format!("no layer or tensor named `{text}`{}", suggestion(graph, rest)),
        })
    }
}

/// The output of the layer or tensor with exactly this name, for the given port and axis.
fn named(graph: &Graph, name: &str, numbers: &[usize]) -> Result<Option<Target>, Error> {
    let (value, axis) = match (graph.find(name), numbers) {
        (Some(node), []) => (output(graph, node, None)?, None),
        (Some(node), [port]) => (output(graph, node, Some(*port))?, None),
        (Some(node), [port, axis, ..]) => (output(graph, node, Some(*port))?, Some(*axis)),
        (None, _) => match (graph.find_tensor(name), numbers) {
            (Some(value), []) => (value, None),
            // A tensor is a single value with port 0, so a single number is an axis.
            (Some(value), [axis] | [0, axis]) => (value, Some(*axis)),
            _ => return Ok(None),
        },
    };
    if let Some(axis) = axis {
        let of = value.axis(axis);
        let has_axis = graph.fact(value).is_some_and(|fact| of.part.of(fact).is_some());
        if !has_axis {
            return Err(no_part(graph, of));
        }
    }
    Ok(Some(Target { value, axis }))
}

fn output(graph: &Graph, id: NodeId, port: Option<usize>) -> Result<Value, Error> {
    let (node, inputs) = (graph.node(id), graph.inputs(id).len());
    let ids: Vec<usize> = (0..node.outs().len()).map(|i| node.output_id(i, inputs) as usize).collect();
    let at = match port {
        // Few files give an output the number 0. In all other files, port 0 means the first output.
        Some(port) => ids.iter().position(|&id| id == port).or((port == 0 && !ids.is_empty()).then_some(0)),
        None => Some(0).filter(|_| !ids.is_empty()),
    };
    at.and_then(|at| node.output(at)).ok_or_else(|| {
        let known: Vec<String> = ids.iter().map(usize::to_string).collect();
        let has = match known.as_slice() {
            [] => "it has no outputs".to_string(),
            [one] => format!("its output port is {one}"),
            many => format!("its output ports are {}", many.join(", ")),
        };
        let port = port.map(|port| format!(" {port}")).unwrap_or_default();
        Error::NoOutput { message: format!("layer `{}` has no output port{port}; {has}", node.name()) }
    })
}

/// The error for a size or element that does not exist.
pub(super) fn no_part(graph: &Graph, of: ValuePart) -> Error {
    let name = graph.get(of.value.node).map_or("", |node| node.name());
    let shape = graph.fact(of.value).map(|fact| fact.shape().display_labels(graph.symbols()).to_string());
    let shape = shape.unwrap_or_default();
    Error::NoOutput {
        message: match of.part {
            Part::Dim(axis) => format!("no axis {axis} in the shape {shape} of `{name}`"),
            _ => format!("the elements of `{name}` are not known before a run"),
        },
    }
}

/// The end of an error message: the most similar layer name, or how to list all layers.
fn suggestion(graph: &Graph, name: &str) -> String {
    let layers = graph.ids().map(|id| graph.node(id).name());
    let tensors = graph.ids().flat_map(|id| graph.node(id).outs()).flat_map(|out| out.names());
    let names = layers.chain(tensors.map(String::as_str));
    did_you_mean_or(name, names, "; `snick infer` lists all layers")
}
