//! Turns variables into inputs and outputs.

use std::collections::{HashMap, HashSet};

use snick_ir::ops::source::parameter::Parameter;
use snick_ir::ops::source::result::GraphResult;
use snick_ir::{Fact, Graph, Known, Located, Node, NodeId, Op, OpError, Value};
use snick_shape::{DimSpec, ShapeSpec};

use super::{State, names};

/// The layers that read and assign a variable.
#[derive(Default)]
struct Variable {
    reads: Vec<NodeId>,
    assigns: Vec<NodeId>,
}

/// Turns each variable of an inferred graph into an input and an output, in the order of the ReadValues, and
/// infers the graph. The caller must pass the outputs of each run to the inputs of the next run. If the only
/// value assigned to a variable is the value that was read from it, the variable is replaced by its initial
/// value.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n  \
/// #             %zero = Const-1 f32[2] <0.0, 0.0>\n  \
/// #             %old = ReadValue-6(%zero) {variable_id: \"sum\", variable_type: f32, variable_shape: \"2\"}\n  \
/// #             %new = Add-1(%old, %x) {auto_broadcast: \"numpy\"}\n  \
/// #             %put = Assign-6(%new) {variable_id: \"sum\"}\n  %y = Result-1(%new)\n}\n";
/// use snick::State;
/// use snick_pass::states::make_stateless;
///
/// let mut graph = snick::text::parse(text, None)?;
/// assert!(snick::infer(&mut graph).is_empty());
/// let states = make_stateless(&mut graph)?;
/// assert_eq!(graph.node(graph.parameters().last().expect("an input")).name(), "past.sum");
/// assert!(matches!(&states[0], State::Passed { initial, .. } if initial == "f32[2] of 0"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`OpError::Unsupported`] if a body reads or assigns a variable. In that case the graph is unchanged.
pub fn make_stateless(graph: &mut Graph) -> Result<Vec<State>, Box<Located>> {
    let variables = collect(graph)?;
    let mut taken: HashSet<String> = graph.ids().map(|id| graph.node(id).name().to_string()).collect();
    let mut removed = HashSet::new();
    let mut states = Vec::new();
    let mut passed = Vec::new();
    for (variable_id, variable) in variables {
        removed.extend(variable.reads.iter().chain(&variable.assigns));
        if variable.reads.is_empty() {
            continue;
        }
        if is_constant(graph, &variable_id, &variable) {
            for &read in &variable.reads {
                let initial = graph.inputs(read).first().copied().flatten();
                graph.replace_outputs(read, &[initial]);
            }
            states.push(State::Recomputed { variable_id });
            continue;
        }
        let (input, output) = names::input_and_output(&variable_id);
        let (input, output) = (unique(&mut taken, input), unique(&mut taken, output));
        let (value, initial) = add_input(graph, &variable.reads, &input);
        passed.push((value, variable.assigns, output.clone()));
        states.push(State::Passed { variable_id, input, output, initial });
    }
    // Outputs come after all inputs, because the value of one variable may be assigned to another variable.
    for (value, assigns, name) in passed {
        add_output(graph, value, &assigns, &name);
    }
    graph.remove_all(&removed);
    graph.remove_dead_nodes();
    match snick_ir::infer(graph).into_iter().next() {
        Some(error) => Err(error.into()),
        None => Ok(states),
    }
}

/// The variables with their ids, in the order of the first layers that refer to them.
fn collect(graph: &Graph) -> Result<Vec<(String, Variable)>, Box<Located>> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut variables: Vec<(String, Variable)> = Vec::new();
    for id in graph.ids() {
        let node = graph.node(id);
        if node.op().bodies().any(|(_, body)| has_states(body)) {
            let what = "making the variables of a body inputs and outputs";
            return Err(graph.located(id, OpError::unsupported(what)).into());
        }
        let (variable_id, is_read) = match node.op() {
            Op::ReadValue(op) => (&op.variable_id, true),
            Op::Assign(op) => (&op.variable_id, false),
            _ => continue,
        };
        let place = *places.entry(variable_id.clone()).or_insert_with(|| {
            variables.push((variable_id.clone(), Variable::default()));
            variables.len() - 1
        });
        let variable = &mut variables[place].1;
        if is_read { &mut variable.reads } else { &mut variable.assigns }.push(id);
    }
    Ok(variables)
}

fn has_states(graph: &Graph) -> bool {
    graph.ids().any(|id| {
        let op = graph.node(id).op();
        matches!(op, Op::ReadValue(_) | Op::Assign(_)) || op.bodies().any(|(_, body)| has_states(body))
    })
}

/// Whether a variable always has its initial value: there is an initial value, and the only assignment writes
/// back the value that was read from the variable.
fn is_constant(graph: &Graph, variable_id: &str, variable: &Variable) -> bool {
    let input = |id: &NodeId| graph.inputs(*id).first().copied().flatten();
    let is_own = |value: Value| matches!(graph.node(value.node).op(), Op::ReadValue(op) if op.variable_id == variable_id);
    let initial: Vec<_> = variable.reads.iter().map(input).collect();
    initial.first().is_some_and(|first| first.is_some() && initial.iter().all(|other| other == first))
        && variable.assigns.iter().all(|id| input(id).is_some_and(is_own))
}

/// Makes the readers of a variable read a new input. Returns the input, and a description of the initial
/// value of the variable.
fn add_input(graph: &mut Graph, reads: &[NodeId], name: &str) -> (Value, String) {
    let first = reads.first().map(|&id| graph.node(id));
    let fact = first.and_then(|node| node.outs().first()).map_or_else(Fact::unknown, |out| out.fact.clone());
    let shape = first.map_or(ShapeSpec::Unranked, |node| declared_shape(graph, node.op(), &fact));
    let initial = first.and_then(|node| node.input(0));
    let initial = initial.map(|initial| described(graph, initial)).unwrap_or_default();
    let input = Node::new(name, Op::Parameter(Parameter { element_type: fact.element_type, shape }));
    let node = graph.add(input);
    graph.ensure_outputs(node, 1);
    let value = Value { node, port: 0 };
    for &read in reads {
        graph.replace_outputs(read, &[Some(value)]);
    }
    graph.set_tensor_names(value, vec![name.to_string()]);
    (value, initial)
}

/// The shape that a variable declares; if it declares none, the inferred shape.
fn declared_shape(graph: &Graph, op: &Op, fact: &Fact) -> ShapeSpec {
    let declared = match op {
        Op::ReadValue(op) => op.variable_shape.as_ref(),
        _ => None,
    };
    match (declared, fact.shape.dims()) {
        (Some(declared @ ShapeSpec::Dims(_)), _) => declared.clone(),
        (_, Some(dims)) => {
            let interval = |dim| DimSpec::Interval(graph.symbols().interval(dim));
            ShapeSpec::Dims(dims.iter().map(interval).collect())
        }
        (_, None) => ShapeSpec::Unranked,
    }
}

/// The element type and shape of a value, and its element if all are equal, such as `f32[?,2,0,16] of 0`.
fn described(graph: &Graph, value: Value) -> String {
    let Some(fact) = graph.fact(value) else { return String::new() };
    let shape = fact.shape.display_intervals(graph.symbols());
    let elements = element(graph, value).map(|element| format!(" of {element}")).unwrap_or_default();
    format!("{}{shape}{elements}", fact.element_type)
}

/// The number that all elements of a value are equal to, if known.
fn element(graph: &Graph, mut value: Value) -> Option<f64> {
    while let Op::Broadcast(_) = graph.node(value.node).op() {
        value = graph.node(value.node).input(0)?;
    }
    let Some(Known::Tensor(tensor)) = &graph.fact(value)?.known else { return None };
    let elements = tensor.to_f64_vec().ok()?;
    let (first, rest) = elements.split_first()?;
    rest.iter().all(|other| other == first).then_some(*first)
}

/// Adds an output for the last value assigned to a variable, or for `value` if none is assigned.
fn add_output(graph: &mut Graph, value: Value, assigns: &[NodeId], name: &str) {
    let assigned = |graph: &Graph, assign| graph.node(assign).input(0);
    let last = assigns.last().and_then(|&assign| assigned(graph, assign)).unwrap_or(value);
    for &assign in assigns {
        graph.replace_outputs(assign, &[assigned(graph, assign)]);
    }
    graph.add_wired(Node::new(name, Op::Result(GraphResult {})), &[last]);
    graph.add_tensor_name(last, name.to_string());
}

/// The name; if it is taken, a number is appended.
fn unique(taken: &mut HashSet<String>, name: String) -> String {
    let mut unique = name.clone();
    for number in 1usize.. {
        if taken.insert(unique.clone()) {
            break;
        }
        unique = format!("{name}_{number}");
    }
    unique
}

#[cfg(test)]
mod tests {
    use snick_ir::{infer, text};

    use super::super::{State, make_stateless};

    fn graph(layers: &str) -> snick_ir::Graph {
        let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
        assert_eq!(infer(&mut graph), []);
        graph
    }

    fn names(ids: impl Iterator<Item = snick_ir::NodeId>, graph: &snick_ir::Graph) -> Vec<String> {
        ids.map(|id| graph.node(id).name().to_string()).collect()
    }

    #[test]
    fn a_cache_is_passed_and_a_constant_one_is_recomputed() {
        let mut graph = graph(
            "%x = Parameter-1 {element_type: f32, shape: \"B,T,4\"}
             %hidden = Parameter-1 {element_type: f32, shape: \"B,S,4\"}
             %zero = Const-1 f32[] <0.0>
             %sizes = Const-1 i64[3] <2, 0, 4>
             %init = Broadcast-3(%zero, %sizes) {mode: numpy}
             %past = ReadValue-6(%init) {variable_id: \"past.0present.0\", variable_type: f32, variable_shape: \"?,?,4\"}
             %all = Concat-1(%past, %x) {axis: 1}
             %put = Assign-6(%all) {variable_id: \"past.0present.0\"}
             %keys = ReLU-1(%hidden)
             %kept = ReadValue-6(%keys) {variable_id: \"k\", variable_type: dynamic, variable_shape: \"...\"}
             %keep = Assign-6(%kept) {variable_id: \"k\"}
             %y = Result-1(%all)
             %z = Result-1(%kept)",
        );
        let states = make_stateless(&mut graph).unwrap();
        let passed = State::Passed {
            variable_id: "past.0present.0".into(),
            input: "past.0".into(),
            output: "present.0".into(),
            initial: "f32[2,0,4] of 0".into(),
        };
        assert_eq!(states, [passed, State::Recomputed { variable_id: "k".into() }]);
        assert_eq!(names(graph.parameters(), &graph), ["x", "hidden", "past.0"]);
        assert_eq!(names(graph.results(), &graph), ["y", "z", "present.0"]);
        assert_eq!(graph.find("init"), None);
    }

    #[test]
    fn what_is_read_from_one_variable_may_be_assigned_to_another() {
        let mut graph = graph(
            "%x = Parameter-1 {element_type: f32, shape: \"2\"}
             %a = ReadValue-6(%x) {variable_id: \"a\", variable_type: f32, variable_shape: \"2\"}
             %b = ReadValue-6(%x) {variable_id: \"b\", variable_type: f32, variable_shape: \"2\"}
             %sum = Add-1(%a, %b) {auto_broadcast: \"numpy\"}
             %put_a = Assign-6(%b) {variable_id: \"a\"}
             %put_b = Assign-6(%sum) {variable_id: \"b\"}
             %y = Result-1(%sum)",
        );
        make_stateless(&mut graph).unwrap();
        let sources: Vec<_> = graph.results().map(|id| graph.node(id).input(0).unwrap().node).collect();
        let sources = names(sources.into_iter(), &graph);
        assert_eq!(sources, ["sum", "past.b", "sum"]);
    }

    #[test]
    fn names_that_are_taken_get_a_number() {
        let mut graph = graph(
            "%\"past.v\" = Parameter-1 {element_type: f32, shape: \"2\"}
             %v = ReadValue-6(%\"past.v\") {variable_id: \"v\", variable_type: f32, variable_shape: \"2\"}
             %w = ReLU-1(%v)
             %put = Assign-6(%w) {variable_id: \"v\"}
             %y = Result-1(%v)",
        );
        make_stateless(&mut graph).unwrap();
        assert_eq!(names(graph.parameters(), &graph), ["past.v", "past.v_1"]);
    }
}
