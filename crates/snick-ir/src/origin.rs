//! The origins of facts: an error names the inputs of the layer, and the layers where their shapes were made.

use snick_shape::Shape;

use crate::ops::source::constant::Constant;
use crate::{Fact, Graph, Loc, NodeId, NodeRef, Op, OpError, Value};

/// The maximum number of layers to trace a shape back through.
const MAX_STEPS: usize = 64;

/// The maximum number of known elements that are shown.
const MAX_SHOWN: usize = 8;

impl Graph {
    /// Adds the facts of the inputs of a node, with the origin of each shape, if the error is about inputs.
    pub(crate) fn with_origins(&self, id: NodeId, error: OpError) -> OpError {
        if !error.is_about_inputs() {
            return error;
        }
        let inputs: Vec<String> =
            self.inputs(id).into_iter().flatten().map(|value| self.origin(value)).collect();
        match inputs.is_empty() {
            true => error,
            false => OpError::WithInputs { error: Box::new(error), inputs },
        }
    }

    /// ``f32[2,3] of `a` (Parameter, 3:3)``
    fn origin(&self, value: Value) -> String {
        let Some(fact) = self.fact(value) else { return String::new() };
        let origin = self.origin_of(value);
        let node = self.node(origin.node);
        let shape = fact.shape.display_intervals(self.symbols());
        let numbers = fact.ints().filter(|numbers| numbers.len() <= MAX_SHOWN);
        let numbers = numbers.map(|numbers| format!(" <{}>", join(&numbers))).unwrap_or_default();
        let is_here = origin == value && !numbers.is_empty();
        let weights = if is_here { weights_place(node) } else { String::new() };
        format!(
            "{}{shape}{numbers} of `{}` ({}{}{})",
            fact.element_type,
            node.name(),
            node.op().type_name(),
            place(node),
            weights,
        )
    }

    /// Traces the shape of `value` back through layers that pass it on from one input.
    fn origin_of(&self, mut value: Value) -> Value {
        let shape = |value: Value| -> Option<&Shape> { self.fact(value).map(|fact: &Fact| &fact.shape) };
        for _ in 0..MAX_STEPS {
            let inputs = self.inputs(value.node);
            let mut same = inputs.into_iter().flatten().filter(|&input| {
                shape(input) == shape(value) && shape(input).is_some_and(|shape| shape.rank() > Some(0))
            });
            match (same.next(), same.next()) {
                (Some(input), None) => value = input,
                _ => break,
            }
        }
        value
    }
}

fn place(node: NodeRef) -> String {
    match node.loc() {
        Loc { line: 0, .. } => String::new(),
        loc => format!(", {loc}"),
    }
}

/// Where the value of a constant is in the file of the weights, if it comes from there: the file may be of another model.
fn weights_place(node: NodeRef) -> String {
    let Op::Const(Constant::Here(tensor)) = node.op() else { return String::new() };
    tensor
        .storage()
        .file_offset()
        .map_or_else(String::new, |offset| format!(", byte {offset} of the weights"))
}

fn join(numbers: &[i64]) -> String {
    numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use crate::{infer, text};

    #[test]
    fn a_conflict_names_both_inputs_and_their_origins() {
        let text = "snick 1\ngraph \"g\" {\n  %a = Parameter-1 {element_type: f32, shape: \"2,3\"}\n  \
                    %b = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  %c = Relu-1(%a)\n  %d = Exp-1(%c)\n  \
                    %e = Add-1(%d, %b) {auto_broadcast: \"numpy\"}\n  %f = Relu-1(%e)\n  %r = Result-1(%f)\n}\n";
        let errors = infer(&mut text::parse(text, None).unwrap());
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            ["7:3: layer `e` (Add): cannot broadcast [2,3] with [N,4] (inputs: f32[2,3] of `a` \
              (Parameter, 3:3), f32[?,4] of `b` (Parameter, 4:3))"]
        );
    }
}
