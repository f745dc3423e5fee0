//! Layers in earlier definitions of their operations.

use crate::{AttrValue, Attrs, NodeRef, Op, OpError, RawNode, Version, ops};

/// The op of a layer in the previous definition of the operation, with the operation set of this definition;
/// `None` unless the definition that the layer uses only adds attributes to the previous one.
///
/// # Errors
/// If the previous definition cannot express the value of an attribute.
pub fn earlier_definition(node: NodeRef) -> Result<Option<(Op, Version)>, OpError> {
    previous(node.op(), node.version(), node.outs().len())
}

/// The op of a layer in the oldest definition that expresses it; `None` if the layer uses this definition.
pub fn oldest_definition(node: NodeRef) -> Option<Op> {
    let earlier = |op: &Op, version: &Version| previous(op, version, node.outs().len()).ok().flatten();
    let mut oldest = earlier(node.op(), node.version())?;
    while let Some(older) = earlier(&oldest.0, &oldest.1) {
        oldest = older;
    }
    Some(oldest.0)
}

fn previous(op: &Op, version: &Version, outputs: usize) -> Result<Option<(Op, Version)>, OpError> {
    let Some(entry) = ops::find(op.dialect(), op.type_name()) else { return Ok(None) };
    let since = entry.name.defining_opset(version);
    let Some(earlier) = since.and_then(|since| entry.name.extended_definition(since)) else {
        return Ok(None);
    };
    let mut attrs = op.attrs().into_owned();
    for added in entry.attrs().into_iter().filter(|spec| spec.since > earlier) {
        let given = attrs.get(added.name).map(|value| match value {
            AttrValue::Text(text) => text.to_string(),
            value => value.to_string(),
        });
        if let Some(given) = given.filter(|given| added.default.as_ref() != Some(given)) {
            return Err(OpError::unsupported(format!("{}={given} in opset{earlier}", added.name)));
        }
        attrs = without(&attrs, added.name);
    }
    let version = Version::Opset(earlier);
    let mut raw = RawNode::openvino(entry.name.name, version.clone(), attrs, outputs);
    Ok(Some((Op::parse(&mut raw)?, version)))
}

fn without(attrs: &Attrs<'static>, name: &str) -> Attrs<'static> {
    let others = attrs.iter().filter(|(other, _)| *other != name);
    others.map(|(name, value)| (name.to_string().into(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Since, text};

    /// The earlier definition of layer `y`, from its text.
    fn earlier(layer: &str) -> Result<Option<(Op, Version)>, OpError> {
        let text = format!(
            "snick 1\ngraph \"g\" {{\n%x = Parameter-1 {{element_type: f32, shape: \"2,3\"}}\n\
             %k = Const-1 i64[] <1>\n%y = {layer}\n%r = Result-1(%y)\n}}\n"
        );
        let graph = text::parse(&text, None).unwrap();
        earlier_definition(graph.node(graph.find("y").unwrap()))
    }

    #[test]
    fn defaults_of_added_attributes_stand_for_the_earlier_definition() {
        let top_k = |stable: bool| {
            earlier(&format!(
                "TopK-11(%x, %k) {{axis: 1, mode: max, sort: value, index_element_type: i32, stable: {stable}}}"
            ))
        };
        let (op, version) = top_k(false).unwrap().unwrap();
        assert_eq!(version, Version::Opset(3));
        assert!(!op.attrs().contains("stable") && op.attrs().contains("sort"));
        assert!(matches!(top_k(true), Err(OpError::Unsupported { .. })));
    }

    #[test]
    fn the_oldest_definition_is_several_steps_away() {
        let pool = |rounding: &str| {
            let text = format!(
                "snick 1\ngraph \"g\" {{\n%x = Parameter-1 {{element_type: f32, shape: \"1,1,4\"}}\n\
                 %y = AvgPool-16(%x) {{kernel: [2], strides: [2], pads_begin: [0], pads_end: [0], \
                 rounding_type: {rounding}}}\n%r = Result-1(%y)\n}}\n"
            );
            let graph = text::parse(&text, None).unwrap();
            oldest_definition(graph.node(graph.find("y").unwrap()))
        };
        assert!(matches!(pool("floor"), Some(Op::AvgPool(op)) if op.since == Since(1)));
        assert!(matches!(pool("ceil_torch"), Some(Op::AvgPool(op)) if op.since == Since(14)));
    }

    #[test]
    fn other_definitions_are_left_alone() {
        // Softmax-8 counts negative axes from the end, Softmax-1 does not.
        assert_eq!(earlier("SoftMax-8(%x) {axis: 1}").unwrap(), None);
        assert_eq!(earlier("ReLU-1(%x)").unwrap(), None);
    }
}
