//! Outputs without elements, for releases that refuse a known size of 0.

use snick_ir::{Fact, Graph, GraphBuilder, Located, NodeId, OpError, Value, has_empty_fact};
use snick_shape::SymExpr;

/// Gathers from each empty axis of an output with a list that is known only at run time to be empty. Returns false
/// if an input is empty, or if there is no input to compute this list from.
pub(super) fn hide(graph: &mut Graph) -> Result<bool, Box<Located>> {
    let has_empty = |value: Value| graph.fact(value).is_some_and(has_empty_fact);
    let inputs: Vec<Value> = graph.parameters().filter_map(|id| graph.node(id).output(0)).collect();
    let can_compare = |fact: &Fact| {
        let element_type = fact.element_type();
        fact.shape().rank().is_some_and(|rank| rank > 0)
            && (element_type.is_float() || element_type.is_integer())
            && element_type.bit_width().is_some_and(|bits| bits >= 16)
    };
    let input = inputs.iter().find(|&&input| graph.fact(input).is_some_and(can_compare));
    let Some(&input) = input.filter(|_| !inputs.iter().any(|&input| has_empty(input))) else {
        return Ok(false);
    };
    let read = |id: NodeId| graph.node(id).input(0).map(|value| (id, value));
    let outputs: Vec<_> = graph.results().filter_map(read).filter(|&(_, value)| has_empty(value)).collect();
    for (result, value) in outputs {
        // The name stays with the output.
        let names = graph.node(value.node).outs()[value.port as usize].names.clone();
        let scope = graph.node(value.node).shared_name();
        let hidden = gathered(&GraphBuilder::on(graph).scope(scope), input, value);
        let hidden = hidden.and_then(|hidden| graph.connect(hidden, result, 0).map(|()| hidden));
        let hidden = hidden.map_err(|error| graph.located(result, error))?;
        graph.set_tensor_names(value, Vec::new());
        graph.set_tensor_names(hidden, names);
    }
    Ok(true)
}

fn gathered(b: &GraphBuilder, input: Value, value: Value) -> Result<Value, OpError> {
    let less_than_itself = b.non_zero(b.less(input, input)?)?;
    let none = b.gather(less_than_itself, b.int(0)?, 0)?;
    let dims = b.fact(value)?.shape.dims().map(|dims| dims.to_vec()).unwrap_or_default();
    let is_empty = |dim: &SymExpr| dim.as_const() == Some(0);
    let mut axes = (0..).zip(&dims).filter(|(_, dim)| is_empty(dim)).map(|(axis, _)| axis);
    axes.try_fold(value, |value, axis| b.gather(value, none, axis))
}

#[cfg(test)]
mod tests {
    use snick_ir::{Release, infer, text};
    use snick_pass::legalize::from_slice::SliceAs;

    use crate::openvino::for_release;

    fn written(layers: &str, release: Release) -> Result<String, String> {
        let text = format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n");
        let mut graph = text::parse(&text, None).unwrap();
        assert_eq!(infer(&mut graph), []);
        let written = for_release(&graph, SliceAs::default(), release).map(|files| files.xml);
        written.map_err(|error| error.layer.clone())
    }

    #[test]
    fn empty_outputs_have_sizes_that_are_known_at_run_time() {
        let layers = "%x = Parameter-1 {element_type: f32, shape: \"4\"}\n%n = Const-1 i64[1] <4>\n\
                      %one = Const-1 i64[1] <1>\n%y = Slice-8(%x, %n, %n, %one) : _ \"out\"\n\
                      %z = ReLU-1(%y)\n%r = Result-1(%y)\n%s = Result-1(%z)";
        let old = written(layers, Release::new(2023, 0)).unwrap();
        assert_eq!(old.matches("type=\"NonZero\"").count(), 2);
        let named = old.find("names=\"out\"").unwrap();
        assert!(old[..named].rfind("name=\"y/Gather").is_some_and(|at| !old[at..named].contains("</layer>")));
        assert!(!written(layers, Release::new(2024, 0)).unwrap().contains("NonZero"));
    }

    #[test]
    fn other_empty_inputs_and_outputs_are_refused() {
        let input = "%x = Parameter-1 {element_type: f32, shape: \"0\"}\n%r = Result-1(%x)";
        let constant = "%x = Const-1 f32[0] <>\n%r = Result-1(%x)";
        for layers in [input, constant] {
            assert_eq!(written(layers, Release::new(2023, 0)), Err("x".to_string()));
            assert!(written(layers, Release::new(2024, 0)).is_ok());
        }
    }

    #[test]
    fn bodies_may_have_empty_outputs() {
        let layers = "%c = Parameter-1 {element_type: boolean, shape: \"\"}\n%y = If-8(%c) {inputs: [], outputs: [\"0 -> 0\"], \
                      back_edges: [], else_inputs: [], else_outputs: [\"0 -> 0\"], else_back_edges: []}\n\
                      then_body graph \"\" {\n%e = Const-1 f32[0] <>\n%r = Result-1(%e)\n}\n\
                      else_body graph \"\" {\n%e = Const-1 f32[1] <1>\n%r = Result-1(%e)\n}\n%r = Result-1(%y)";
        assert!(written(layers, Release::new(2023, 0)).unwrap().contains("type=\"If\""));
    }
}
