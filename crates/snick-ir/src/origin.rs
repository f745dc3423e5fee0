//! Origins of shapes: errors list the inputs of a layer with the layers where their shapes originate.

use std::fmt;

use snick_shape::Shape;

use crate::ops::source::constant::Constant;
use crate::{Fact, Graph, Loc, NodeRef, Op, OpError, Value};

/// The maximum number of layers to trace a shape back through.
const MAX_STEPS: usize = 64;

/// The maximum number of known elements to show.
const MAX_SHOWN: usize = 8;

/// An input that an error is about, and the layer where its shape originates, found by skipping layers that
/// pass the shape on. Displayed as ``f32[2,3] of `a` (Parameter, 3:3)``.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct InputOrigin {
    /// The element type of the input, its shape as expressions, and its elements if known and few:
    /// `i64[2] <1, 2>`.
    pub value: String,
    /// The name of the layer; empty for a value computed by a run.
    pub layer: String,
    /// The operation type of the layer.
    pub op: String,
    /// Line and column of the layer, if the file has them.
    pub loc: Loc,
    /// The byte offset of the elements in the weights file, if they are known and come from that file.
    pub weights_offset: Option<usize>,
}

impl InputOrigin {
    /// A value computed by a run.
    pub fn of_value(value: String) -> Self {
        Self { value, ..Self::default() }
    }
}

impl fmt::Display for InputOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, layer, op, loc, weights_offset } = self;
        if op.is_empty() {
            return f.write_str(value);
        }
        write!(f, "{value} of `{layer}` ({op}")?;
        if loc.line > 0 {
            write!(f, ", {loc}")?;
        }
        if let Some(offset) = weights_offset {
            write!(f, ", byte {offset} of the weights")?;
        }
        f.write_str(")")
    }
}

impl Graph {
    /// Adds the facts of these inputs with their origins if the error is about inputs.
    pub(crate) fn with_origins(&self, inputs: impl IntoIterator<Item = Value>, error: OpError) -> OpError {
        if !error.is_about_inputs() {
            return error;
        }
        let inputs: Vec<InputOrigin> = inputs.into_iter().filter_map(|value| self.origin(value)).collect();
        match inputs.is_empty() {
            true => error,
            false => OpError::WithInputs { error: Box::new(error), inputs },
        }
    }

    fn origin(&self, value: Value) -> Option<InputOrigin> {
        let fact = self.fact(value)?;
        let origin = self.origin_of(value);
        let node = self.node(origin.node);
        let shape = fact.shape.display_labels(self.symbols());
        let numbers = fact.ints().filter(|numbers| numbers.len() <= MAX_SHOWN);
        let numbers = numbers.map(|numbers| format!(" <{}>", join(&numbers))).unwrap_or_default();
        let is_here = origin == value && !numbers.is_empty();
        Some(InputOrigin {
            value: format!("{}{shape}{numbers}", fact.element_type),
            layer: node.name().to_string(),
            op: node.op().type_name().to_string(),
            loc: node.loc(),
            weights_offset: if is_here { weights_offset(node) } else { None },
        })
    }

    /// Follows the shape of `value` back through layers that have exactly one input of that shape.
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

/// The byte offset of a constant in the weights file, if the constant was read from one. Messages include the
/// offset, because wrong elements may mean that the file belongs to another model.
fn weights_offset(node: NodeRef) -> Option<usize> {
    match node.op() {
        Op::Const(Constant::Here(tensor)) => tensor.storage().file_offset(),
        _ => None,
    }
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
              (Parameter, 3:3), f32[N,4] of `b` (Parameter, 4:3))"]
        );
    }
}
