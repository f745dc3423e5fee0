//! Turns inputs and outputs into variables.

use std::collections::{HashMap, HashSet};

use snick_ir::ops::source::parameter::Parameter;
use snick_ir::ops::state::assign::Assign;
use snick_ir::ops::state::read_value::ReadValue;
use snick_ir::{BuildMode, Graph, GraphBuilder, Located, NodeId, Op, OpError, Since, Value};
use snick_shape::{DimSpec, ShapeSpec, SymExpr};

use super::{State, names};

/// Turns each input that is named like a past state into a variable, if an output is named like the matching
/// present state: `past_key_values.0.key` and `present.0.key`, or `past.v` and `present.v`. Also infers the
/// graph. The inverse of [`make_stateless`](super::make_stateless).
///
/// A new variable is initially zero. The sizes of its initial value are chosen as follows:
///
/// - A dynamic size with a symbol that another input has, too, is the size of this input.
/// - The first axis is the batch. Its size is the first size of the first input that is not a state.
/// - All other dynamic sizes start at their minimum, which usually is 0.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"B,1,4\"}\n  \
/// #             %\"past.0\" = Parameter-1 {element_type: f32, shape: \"B,P,4\"}\n  \
/// #             %all = Concat-1(%\"past.0\", %x) {axis: 1}\n  \
/// #             %\"present.0\" = Result-1(%all)\n  %y = Result-1(%all)\n}\n";
/// use snick_pass::states::make_stateful;
///
/// let mut graph = snick::text::parse(text, None)?;
/// assert!(snick::infer(&mut graph).is_empty());
/// assert_eq!(make_stateful(&mut graph)?.len(), 1);
/// assert_eq!((graph.parameters().count(), graph.results().count()), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// An error at the input if its element type has no zero, or if inference fails with the variables.
pub fn make_stateful(graph: &mut Graph) -> Result<Vec<State>, Box<Located>> {
    let outputs = results_by_name(graph);
    let pairs: Vec<(NodeId, NodeId, String, String)> = graph
        .parameters()
        .filter_map(|parameter| {
            all_names(graph, parameter, Value { node: parameter, port: 0 }).into_iter().find_map(|input| {
                let output = names::output_of(&input)?;
                Some((parameter, *outputs.get(&output)?, input, output))
            })
        })
        .collect();
    let removed: HashSet<NodeId> = pairs.iter().flat_map(|&(input, output, ..)| [input, output]).collect();
    let sizes = InputSizes::of(graph, &removed);
    let mut states = Vec::new();
    for (parameter, result, input, output) in pairs {
        let variable_id = names::variable_id(&input, &output);
        match add_variable(graph, parameter, result, &variable_id, &sizes) {
            Ok(()) => states.push(State::Passed { variable_id, input, output, initial: String::new() }),
            Err(error) => return Err(graph.located(parameter, error).into()),
        }
    }
    graph.remove_all(&removed);
    match snick_ir::infer(graph).into_iter().next() {
        Some(error) => Err(error.into()),
        None => Ok(states),
    }
}

/// Results by their layer and tensor names.
fn results_by_name(graph: &Graph) -> HashMap<String, NodeId> {
    let named = graph.results().flat_map(|id| {
        let value = graph.node(id).input(0);
        let names = value.map(|value| all_names(graph, id, value)).unwrap_or_default();
        names.into_iter().map(move |name| (name, id))
    });
    named.collect()
}

/// The names that identify an input or output to users.
fn all_names(graph: &Graph, layer: NodeId, value: Value) -> Vec<String> {
    let tensors = graph.output(value).map(|out| out.names().to_vec()).unwrap_or_default();
    [vec![graph.node(layer).name().to_string()], tensors].concat()
}

/// Turns a Parameter and a Result into a variable. The readers of the Parameter then read the variable, so
/// the caller can remove both layers.
fn add_variable(
    graph: &mut Graph,
    parameter: NodeId,
    result: NodeId,
    variable_id: &str,
    sizes: &InputSizes,
) -> Result<(), OpError> {
    let Op::Parameter(Parameter { element_type, .. }) = *graph.node(parameter).op() else { return Ok(()) };
    let Some(assigned) = graph.node(result).input(0) else { return Ok(()) };
    let sizes = sizes.initial(graph, parameter)?;
    let name = graph.node(parameter).shared_name();
    let intervals = graph.node(parameter).outs().first().and_then(|out| {
        let interval = |dim| DimSpec::Interval(graph.symbols().interval(dim));
        Some(ShapeSpec::Dims(out.fact.shape.dims()?.iter().map(interval).collect()))
    });
    let builder = GraphBuilder::on(graph).mode(BuildMode::Lenient).scope(name.clone());
    let sizes = sizes.into_iter().map(|size| match size {
        Size::Known(size) => builder.ints(&[size]),
        Size::Of(value, axis) => builder.size_of(value, axis),
    });
    let sizes = sizes.collect::<Result<Vec<_>, _>>()?;
    let sizes = builder.concat(0, &sizes)?;
    let zero = builder.scalar(element_type, 0.0)?;
    let initial = builder.broadcast_to(zero, sizes)?;
    let read = ReadValue {
        since: Since(6),
        variable_id: variable_id.into(),
        variable_type: Some(element_type),
        variable_shape: Some(intervals.unwrap_or(ShapeSpec::Unranked)),
    };
    let read = builder.op("read", Op::ReadValue(Box::new(read)), &[initial])?;
    let old = Value { node: parameter, port: 0 };
    let assigned = if assigned == old { read } else { assigned };
    builder.op("assign", Assign { variable_id: variable_id.into() }, &[assigned])?;
    graph.replace_outputs(parameter, &[Some(read)]);
    Ok(())
}

/// A size of the initial value of a variable.
#[derive(Copy, Clone)]
enum Size {
    Known(i64),
    /// The size of an axis of another input.
    Of(Value, i64),
}

/// The sizes of the inputs that are not states. Initial values of variables can use them.
struct InputSizes {
    by_dim: HashMap<SymExpr, Size>,
    /// The first size of the first such input that has axes.
    batch: Option<Size>,
}

impl InputSizes {
    fn of(graph: &Graph, states: &HashSet<NodeId>) -> Self {
        let (mut by_dim, mut batch) = (HashMap::new(), None);
        for node in graph.parameters().filter(|id| !states.contains(id)) {
            for (axis, dim) in (0..).zip(dims(graph, node).unwrap_or_default()) {
                let size = Size::Of(Value { node, port: 0 }, axis);
                by_dim.entry(dim.clone()).or_insert(size);
                batch = batch.or(Some(size));
            }
        }
        Self { by_dim, batch }
    }

    /// The sizes of the initial value of the variable that replaces a Parameter.
    fn initial(&self, graph: &Graph, parameter: NodeId) -> Result<Vec<Size>, OpError> {
        let own = dims(graph, parameter).ok_or_else(|| OpError::unsupported("a state of unknown rank"))?;
        let size = |(axis, dim): (usize, &SymExpr)| {
            let interval = graph.symbols().interval(dim);
            let batch = self.batch.filter(|_| axis == 0);
            match interval.is_exact() {
                Some(size) => Size::Known(size),
                None => self.by_dim.get(dim).copied().or(batch).unwrap_or(Size::Known(interval.lo())),
            }
        };
        Ok(own.iter().enumerate().map(size).collect())
    }
}

fn dims(graph: &Graph, parameter: NodeId) -> Option<&[SymExpr]> {
    graph.node(parameter).outs().first()?.fact.shape.dims()
}

#[cfg(test)]
mod tests {
    use snick_ir::{Graph, infer, text};

    use super::super::{State, make_stateful, make_stateless};

    fn graph(layers: &str) -> Graph {
        let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
        assert_eq!(infer(&mut graph), []);
        graph
    }

    const LAYERS: &str = "%x = Parameter-1 {element_type: f32, shape: \"N,1,H\"}
         %past.a = Parameter-1 {element_type: f32, shape: \"?,P,H\"}
         %past.b = Parameter-1 {element_type: f32, shape: \"1,1\"}
         %all = Concat-1(%past.a, %x) {axis: 1}
         %present.a = Result-1(%all)
         %present.b = Result-1(%past.b)
         %y = Result-1(%all)";

    #[test]
    fn initial_sizes_are_those_of_other_inputs() {
        let mut graph = graph(LAYERS);
        assert_eq!(make_stateful(&mut graph).unwrap().len(), 2);
        let read = graph.find("past.a/read").unwrap();
        let initial = graph.fact(graph.node(read).input(0).unwrap()).unwrap();
        assert_eq!(initial.shape.display(graph.symbols()).to_string(), "[N,0,H]");
        assert_eq!(graph.parameters().count(), 1);
        assert_eq!(graph.results().count(), 1);
    }

    #[test]
    fn stateful_and_stateless_are_inverse() {
        let mut graph = graph(LAYERS);
        make_stateful(&mut graph).unwrap();
        let names: Vec<_> = make_stateless(&mut graph)
            .unwrap()
            .into_iter()
            .map(|state| match state {
                State::Passed { input, output, initial, .. } => [input, output, initial],
                State::Recomputed { variable_id } => [variable_id, String::new(), String::new()],
            })
            .collect();
        let passed = ["past.a", "present.a", "f32[?,0,?] of 0"].map(String::from);
        assert_eq!(names, [passed, ["b".into(), String::new(), String::new()]]);
    }
}
