//! Finds the inputs of a model by name, and sets their shapes.

use snick_ir::{AttrValue, Graph, Located, NodeId, Op, OpError, edit_distance};
use snick_shape::ShapeSpec;
use snick_tensor::{ElementType, Tensor};

use crate::Error;

/// Finds a Parameter by layer name, tensor name or index.
///
/// # Errors
/// [`Error::NoInput`], which lists similar names or all inputs.
pub fn find_input(graph: &Graph, name: &str) -> Result<NodeId, Error> {
    let by_layer = graph.parameters().find(|&id| graph.node(id).name() == name);
    let by_tensor = || graph.parameters().find(|&id| has_tensor_name(graph, id, name));
    let by_number = || name.parse().ok().and_then(|n| graph.parameters().nth(n));
    let found = by_layer.or_else(by_tensor).or_else(by_number);
    found.ok_or_else(|| Error::NoInput { name: name.to_string(), hint: hint(graph, name) })
}

fn has_tensor_name(graph: &Graph, id: NodeId, name: &str) -> bool {
    graph.node(id).outs().iter().any(|out| out.names().iter().any(|n| n == name))
}

/// Suggests similar input names, or lists all.
fn hint(graph: &Graph, name: &str) -> String {
    let layers = graph.parameters().map(|id| graph.node(id).name());
    let tensors = graph.parameters().flat_map(|id| graph.node(id).outs().iter().flat_map(|o| o.names()));
    let mut names: Vec<&str> = layers.chain(tensors.map(String::as_str)).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return "the model has no inputs".into();
    }
    let near: Vec<&str> =
        names.iter().copied().filter(|n| edit_distance(n, name) <= n.len().max(3) / 3).collect();
    let (lead, shown, end) = match near.is_empty() {
        true => ("the model has", names, ""),
        false => ("did you mean", near, "?"),
    };
    let list: Vec<String> = shown.iter().take(8).map(|n| format!("`{n}`")).collect();
    let more = if shown.len() > 8 { ", ..." } else { "" };
    format!("{lead} {}{more}{end}", list.join(", "))
}

/// The default value of an input, if it fits the shape of the input.
fn default_value(graph: &Graph, id: NodeId) -> Option<Tensor> {
    let AttrValue::Tensor(default) = graph.node(id).details()?.extra.get("default")? else { return None };
    let shape = &graph.node(id).outs().first()?.fact.shape;
    let fits = shape.as_static().is_none_or(|dims| dims[..] == *default.dims());
    fits.then(|| Tensor::clone(default))
}

/// Orders tensors by Parameter. An input without a tensor gets its default value, if it has one.
///
/// # Errors
/// [`Error::NoInput`]; [`Error::InputTwice`]; [`Error::Invalid`] for a wrong element type, because tensors
/// are not converted.
pub fn by_parameter<N: AsRef<str>>(
    graph: &Graph,
    given: impl IntoIterator<Item = (N, Tensor)>,
) -> Result<Vec<Option<Tensor>>, Error> {
    let parameters: Vec<NodeId> = graph.parameters().collect();
    let mut inputs = vec![None; parameters.len()];
    for (name, tensor) in given {
        let id = find_input(graph, name.as_ref())?;
        let at = parameters.iter().position(|&p| p == id);
        if let Some(slot) = at.and_then(|at| inputs.get_mut(at)) {
            check_type(graph, id, &tensor)?;
            if slot.is_some() {
                let (input, name) = (graph.node(id).name().to_string(), name.as_ref().to_string());
                return Err(Error::InputTwice { input, name });
            }
            *slot = Some(tensor);
        }
    }
    for (slot, &id) in inputs.iter_mut().zip(&parameters).filter(|(slot, _)| slot.is_none()) {
        *slot = default_value(graph, id);
    }
    Ok(inputs)
}

/// Checks that a tensor has the element type of its Parameter.
fn check_type(graph: &Graph, id: NodeId, tensor: &Tensor) -> Result<(), Located> {
    let Op::Parameter(parameter) = graph.node(id).op() else { return Ok(()) };
    let (got, expected) = (tensor.element_type(), parameter.element_type);
    if got == expected || expected == ElementType::Dynamic {
        return Ok(());
    }
    Err(graph.located(id, OpError::element_type("the provided tensor", got, expected.name())))
}

/// One tensor for each Parameter, in order.
///
/// # Errors
/// Same as [`by_parameter`]; [`Error::Invalid`] for a missing input.
#[cfg(feature = "run")]
pub(crate) fn complete<N: AsRef<str>>(
    graph: &Graph,
    given: impl IntoIterator<Item = (N, Tensor)>,
) -> Result<Vec<Tensor>, Error> {
    let inputs = graph.parameters().zip(by_parameter(graph, given)?);
    let provided = |(id, input): (NodeId, Option<Tensor>)| {
        input.ok_or_else(|| graph.located(id, OpError::InputNotProvided).into())
    };
    inputs.map(provided).collect()
}

/// Sets input shapes from a specification: `x[1,3,H=32..512],mask[1,2*H]`, or `[1,3]` for a single input. On
/// error, no shape changes.
pub(crate) fn reshape(graph: &mut Graph, spec: &str) -> Result<(), Error> {
    let mut shapes: Vec<(NodeId, ShapeSpec)> = Vec::new();
    for item in items(spec) {
        let Some((name, _)) = item.rsplit_once('[').filter(|_| item.ends_with(']')) else {
            return Err(Error::shape(item, "expected NAME[DIMS] or [DIMS]"));
        };
        let shape: ShapeSpec = item[name.len()..].parse().map_err(|error| Error::shape(item, error))?;
        let id = match name.trim() {
            "" => the_only_input(graph, item)?,
            name => find_input(graph, name)?,
        };
        if shapes.iter().any(|(known, _)| *known == id) {
            let layer = graph.node(id).name();
            return Err(Error::shape(
                item,
                format!("the shape of input `{layer}` is given twice; remove one"),
            ));
        }
        shapes.push((id, shape));
    }
    shapes.into_iter().try_for_each(|(id, shape)| Ok(graph.set_parameter_shape(id, shape)?))
}

fn the_only_input(graph: &Graph, item: &str) -> Result<NodeId, Error> {
    let mut inputs = graph.parameters();
    match (inputs.next(), inputs.next()) {
        (Some(id), None) => Ok(id),
        (None, _) => Err(Error::shape(item, "the model has no inputs")),
        (Some(_), Some(_)) => {
            let count = graph.parameters().count();
            Err(Error::shape(item, format!("the model has {count} inputs; name one: NAME{item}")))
        }
    }
}

/// Splits a specification into items. An item ends at a `]` that is followed by a comma or by the end of the
/// text, so names may contain commas and brackets.
fn items(spec: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let mut rest = spec.trim();
    while !rest.is_empty() {
        let ends = rest.match_indices(']').map(|(at, _)| at + 1);
        let end =
            ends.into_iter().find(|&end| matches!(rest[end..].trim_start().chars().next(), None | Some(',')));
        let (item, after) = rest.split_at(end.unwrap_or(rest.len()));
        items.push(item.trim());
        rest = after.trim_start().trim_start_matches(',').trim_start();
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_commas_and_brackets() {
        assert_eq!(items("x[1,3], mask[1,?]"), ["x[1,3]", "mask[1,?]"]);
        assert_eq!(items("[N,H=1..2]"), ["[N,H=1..2]"]);
        assert_eq!(items("a,b[0][1],c[]"), ["a,b[0][1]", "c[]"]);
        assert_eq!(items("x"), ["x"]);
    }

    #[test]
    fn inputs_that_are_not_given_have_their_default_value() {
        let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n  \
                    %w = Parameter-1 {element_type: f32, shape: \"2\"} extra {default: tensor f32[2] <1.0, 2.0>}\n}\n";
        let mut model = crate::parse(text).unwrap();
        model.infer().into_result().unwrap();
        let given = Tensor::from_slice(&[3f32, 4.], &[2]).unwrap();
        let of = |names: &[&str]| {
            let tensors = names.iter().map(|&name| (name, given.clone()));
            by_parameter(model.graph(), tensors).unwrap()
        };
        let default = Tensor::from_slice(&[1f32, 2.], &[2]).unwrap();
        assert_eq!(of(&["x"]), [Some(given.clone()), Some(default)]);
        assert_eq!(of(&["w"]), [None, Some(given.clone())]);
        // A default value is ignored if its shape differs from the shape of the input.
        model.reshape("w[5]").unwrap();
        model.infer().into_result().unwrap();
        assert_eq!(by_parameter(model.graph(), [("x", given)]).unwrap()[1], None);
    }
}
