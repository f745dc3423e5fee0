//! Explains the error of a layer by the origins of its operands.

use serde::{Serialize, Serializer};
use snick_ir::{Diagnostic, Graph, Loc, NodeId, Part, ValuePart};

use super::tree::Tracer;
use super::{WhyNode, serial};
use crate::{Error, Model};

/// Maximum number of parts to show per input if the conflicting parts are unknown.
const MAX_PARTS: usize = 4;

/// An error of a layer, with the origins of the conflicting sizes and elements.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2,3\"}\n  \
/// #             %y = Parameter-1 {element_type: f32, shape: \"2,4\"}\n  %a = Relu-1(%x)\n  \
/// #             %sum = Add-1(%a, %y)\n  %r = Result-1(%sum)\n}\n";
/// let mut model = snick::parse(text)?;
/// let errors = model.infer();
/// let explained = model.why_error(&errors.errors()[0])?;
/// let births: Vec<_> = explained.operands.iter().map(|node| node.place.layer.as_str()).collect();
/// assert_eq!(births, ["x", "y"]);
/// assert_eq!(explained.parts, [(0, snick::Part::Dim(1)), (1, snick::Part::Dim(1))]);
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ExplainedError {
    /// The error.
    pub error: Diagnostic,
    /// The origins of the conflicting input parts. If these are unknown, the origins of the first few parts
    /// of each input.
    pub operands: Vec<WhyNode>,
    /// For each operand, the index of the input, and the size or element of this input that the operand
    /// explains.
    pub parts: Vec<(usize, Part)>,
}

/// Serialized in the format of `why --error --format json`.
impl Serialize for ExplainedError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Answer<'e> {
            error: Error<'e>,
            operands: Vec<Operand<'e>>,
        }
        #[derive(Serialize)]
        struct Error<'e> {
            name: &'e str,
            op: &'e str,
            #[serde(serialize_with = "serial::loc", skip_serializing_if = "serial::is_nowhere")]
            loc: Loc,
            message: String,
        }
        #[derive(Serialize)]
        struct Operand<'e> {
            input: usize,
            #[serde(skip_serializing_if = "Option::is_none")]
            input_axis: Option<usize>,
            #[serde(skip_serializing_if = "Option::is_none")]
            input_element: Option<usize>,
            #[serde(flatten)]
            tree: &'e WhyNode,
        }
        let Diagnostic { layer, op, loc, .. } = &self.error;
        let error = Error { name: layer, op, loc: *loc, message: self.error.message_with_inputs() };
        let operand = |(tree, &(input, part))| {
            let (input_axis, input_element) = match part {
                Part::Dim(axis) => (Some(axis), None),
                Part::Element(index) => (None, Some(index)),
                _ => (None, None),
            };
            Operand { input, input_axis, input_element, tree }
        };
        let operands = self.operands.iter().zip(&self.parts).map(operand).collect();
        Answer { error, operands }.serialize(serializer)
    }
}

impl Model {
    /// Explains the origins of the sizes in an error that [`Model::infer`] reported.
    ///
    /// # Errors
    /// [`Error::NoOutput`] if the model has no such layer.
    pub fn why_error(&self, error: &Diagnostic) -> Result<ExplainedError, Error> {
        let Some((graph, node)) = find(self.graph(), error) else {
            let message = format!("no layer named `{}`", error.layer);
            return Err(Error::NoOutput { message });
        };
        let mut tracer = Tracer::new(graph);
        let inputs = graph.inputs(node);
        let clash = tracer.clash(node);
        let parts: Vec<(usize, Part)> = match clash.is_empty() {
            false => clash,
            true => {
                inputs.iter().enumerate().flat_map(|(i, value)| leading_parts(graph, i, *value)).collect()
            }
        };
        let values = parts.iter().filter_map(|&(i, part)| Some((inputs.get(i).copied()??, part)));
        let operands = values.map(|(value, part)| tracer.tree(ValuePart::new(value, part))).collect();
        Ok(ExplainedError { error: error.clone(), operands, parts })
    }
}

/// The first few parts of an input.
fn leading_parts(graph: &Graph, i: usize, value: Option<snick_ir::Value>) -> Vec<(usize, Part)> {
    let fact = value.and_then(|value| graph.fact(value));
    fact.into_iter().flat_map(Part::all).take(MAX_PARTS).map(|part| (i, part)).collect()
}

/// The layer with the error, and the graph or body that contains it.
fn find<'g>(graph: &'g Graph, error: &Diagnostic) -> Option<(&'g Graph, NodeId)> {
    for id in graph.ids() {
        let node = graph.node(id);
        if node.name() == error.layer && node.loc() == error.loc && node.op().type_name() == error.op {
            return Some((graph, id));
        }
        if let Some(found) = node.op().bodies().find_map(|(_, body)| find(body, error)) {
            return Some(found);
        }
    }
    None
}
