//! Edits of single layers: attributes, constants and the types of inputs.

use std::sync::Arc;

use snick_ir::ops::elementwise::convert::Convert;
use snick_ir::ops::source::constant::Constant;
use snick_ir::ops::source::parameter::Parameter;
use snick_ir::text::Escaped;
use snick_ir::{AttrValue, Graph, NodeId, Op, OpError, Value};
use snick_tensor::{ElementType, Tensor};

use super::{Editor, find_layer};
use crate::Error;
use crate::inputs::find_input;

impl Editor {
    /// Sets an attribute of a layer, by its name in OpenVINO IR. A text is parsed as in an IR: `"1,1"`. For an
    /// input, `shape` and `element_type` can be set.
    ///
    /// # Errors
    /// [`Error::Edit`] if there is no such layer, if its op does not declare the attribute or refuses the
    /// value, or if the model does not infer. Attributes of constants, of ops with bodies and of custom ops
    /// cannot be set.
    pub fn set_attr(
        &mut self,
        layer: &str,
        attr: &str,
        value: impl Into<AttrValue<'static>>,
    ) -> Result<(), Error> {
        let value = value.into();
        let edit = format!("set `{}` of `{}`", Escaped(attr), Escaped(layer));
        self.attempt(edit, |graph| {
            let id = find_layer(graph, layer)?;
            set_attr(graph, id, attr, value).map_err(|error| graph.located(id, error).into())
        })
    }

    /// Replaces the value of a constant. Another shape or element type is allowed if the model still infers.
    ///
    /// # Errors
    /// [`Error::Edit`] if there is no such layer, if it is not a constant, or if the model does not infer.
    pub fn replace_constant(&mut self, layer: &str, value: &Tensor) -> Result<(), Error> {
        self.attempt(format!("replace the constant `{}`", Escaped(layer)), |graph| {
            let id = find_layer(graph, layer)?;
            let op = graph.node(id).op();
            if !matches!(op, Op::Const(_)) {
                let error = OpError::mismatch("the layer", op.type_name(), "a Const");
                return Err(graph.located(id, error).into());
            }
            graph.set_op(id, Op::from(Constant::new(Arc::new(value.clone()))));
            Ok(())
        })
    }

    /// Changes the element type of an input, and converts the input back to its previous type for the layers
    /// that read it. The input can also be given by its number, as for a run.
    ///
    /// # Errors
    /// [`Error::Edit`] if there is no such input, or if the model does not infer.
    pub fn set_input_type(&mut self, input: &str, element_type: ElementType) -> Result<(), Error> {
        let edit = format!("change the type of `{}` to {element_type}", Escaped(input));
        self.attempt(edit, |graph| set_input_type(graph, find_input(graph, input)?, element_type))
    }
}

fn set_attr(graph: &mut Graph, id: NodeId, attr: &str, value: AttrValue<'static>) -> Result<(), OpError> {
    let names: Vec<Vec<String>> = graph.node(id).outs().iter().map(|out| out.names().to_vec()).collect();
    let op = graph.node(id).op_with(attr, value)?;
    graph.set_op(id, op);
    // The layer may have another number of outputs now. Those that it still has keep their names. An error is
    // found again when the model is inferred.
    let _ = graph.infer_node(id);
    for (port, names) in (0..).zip(names) {
        graph.set_tensor_names(Value { node: id, port }, names);
    }
    Ok(())
}

fn set_input_type(graph: &mut Graph, id: NodeId, element_type: ElementType) -> Result<(), Error> {
    let Op::Parameter(parameter) = graph.node(id).op() else { return Ok(()) };
    let old = parameter.element_type;
    if old == element_type {
        return Ok(());
    }
    for (what, known) in [("the input", old), ("the new input", element_type)] {
        if known == ElementType::Dynamic {
            return Err(graph.located(id, OpError::element_type(what, known, "a known type")).into());
        }
    }
    let shape = parameter.shape.clone();
    let convert = Op::from(Convert { destination_type: old });
    super::layers::insert_after(graph, Value { node: id, port: 0 }, None, convert)?;
    graph.set_op(id, Op::from(Parameter { element_type, shape }));
    Ok(())
}
