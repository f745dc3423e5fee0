//! What it means that two graphs compute the same.

use std::collections::{HashMap, HashSet};

use snick_certificate::BodyProblem;
use snick_ir::{Graph, NodeId, Op, Value};

use super::export::{Exported, Exporter};
use super::search::Task;
use crate::signature::is_same_end;

/// Largest nesting depth of bodies.
const MAX_DEPTH: usize = 8;

/// How inputs and outputs correspond.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Matching {
    /// By name if all names agree, otherwise by order. The second graph accepts all inputs of the first.
    Models,
    /// By order; names and tensor names must be kept.
    Versions,
    /// By order.
    Bodies,
}

/// The claims that outputs of two inferred graphs are equal for equal inputs, in the order of the outputs of the
/// first graph, and then the same for the next values of variables.
///
/// # Errors
/// Why the graphs cannot be compared.
pub(crate) fn task(a: &Graph, b: &Graph) -> Result<Task, String> {
    build(a, b, Matching::Models, 0)
}

/// The same claims for a graph before and after a pass, which keeps all names that callers use.
///
/// # Errors
/// Why the graphs cannot be compared.
pub(super) fn task_of_pass(before: &Graph, after: &Graph) -> Result<Task, String> {
    build(before, after, Matching::Versions, 0)
}

fn build(a: &Graph, b: &Graph, matching: Matching, depth: usize) -> Result<Task, String> {
    if depth > MAX_DEPTH {
        return Err("bodies are nested too deeply".to_string());
    }
    let order = |graph: &Graph| graph.order().map_err(|error| error.to_string());
    let mut exporter = Exporter::default();
    let (mut before, mut after) = (Exported::default(), Exported::default());
    for id in order(a)? {
        exporter.add(a, id, &mut before, false);
    }
    let (ours, theirs): (Vec<NodeId>, Vec<NodeId>) = (a.parameters().collect(), b.parameters().collect());
    let pairs = partners(a, &ours, b, &theirs, matching, "inputs")?;
    for (&input, &partner) in ours.iter().zip(&pairs) {
        let [old, new] = [input, partner].map(|node| Value { node, port: 0 });
        after.share_input((a, old), (b, new), &before, matching != Matching::Bodies)?;
    }
    let mut task = Task::default();
    let names = named_values(a);
    let inputs: HashSet<NodeId> = pairs.into_iter().collect();
    for id in order(b)? {
        if inputs.contains(&id) {
            continue;
        }
        exporter.add(b, id, &mut after, false);
        add_candidates(&mut task, (a, &before), (b, &after), id, &names, &exporter, depth);
    }
    let (ours, theirs): (Vec<NodeId>, Vec<NodeId>) = (a.results().collect(), b.results().collect());
    let pairs = partners(a, &ours, b, &theirs, matching, "outputs")?;
    let ends = ours.into_iter().zip(pairs).chain(variables(a, b)?);
    for (old, new) in ends {
        let value = |graph: &Graph, exported: &Exported, id| {
            let value = graph.node(id).input(0).and_then(|input| exported.values.get(&input).copied());
            value.ok_or_else(|| "an input of an output is missing".to_string())
        };
        task.problem.claims.push((value(a, &before, old)?, value(b, &after, new)?));
    }
    task.problem.graph = exporter.graph;
    Ok(task)
}

/// The partner of each input or output of `a` in `b`.
fn partners(
    a: &Graph,
    ours: &[NodeId],
    b: &Graph,
    theirs: &[NodeId],
    matching: Matching,
    what: &str,
) -> Result<Vec<NodeId>, String> {
    if ours.len() != theirs.len() {
        return Err(format!("the numbers of {what} are {} and {}", ours.len(), theirs.len()));
    }
    let is_kept = |(&old, &new): (&NodeId, &NodeId)| is_same_end((a, old), (b, new));
    if matching == Matching::Versions && !ours.iter().zip(theirs).all(is_kept) {
        return Err(format!("the {what} differ in type or name"));
    }
    let by_name: HashMap<&str, NodeId> = theirs.iter().map(|&id| (b.node(id).name(), id)).collect();
    let named: Option<Vec<NodeId>> = ours.iter().map(|&id| by_name.get(a.node(id).name()).copied()).collect();
    let is_complete = by_name.len() == theirs.len() && matching == Matching::Models;
    Ok(named.filter(|_| is_complete).unwrap_or_else(|| theirs.to_vec()))
}

/// The layers that assign to each variable.
fn variables(a: &Graph, b: &Graph) -> Result<Vec<(NodeId, NodeId)>, String> {
    let assigned = |graph: &Graph| -> HashMap<String, NodeId> {
        let assigned = graph.ids().filter_map(|id| match graph.node(id).op() {
            Op::Assign(op) => Some((op.variable_id.clone(), id)),
            _ => None,
        });
        assigned.collect()
    };
    let (ours, theirs) = (assigned(a), assigned(b));
    let mut pairs: Vec<(NodeId, NodeId)> =
        ours.iter().filter_map(|(name, &id)| Some((id, *theirs.get(name)?))).collect();
    if pairs.len() != ours.len() || ours.len() != theirs.len() {
        return Err("the variables differ".to_string());
    }
    pairs.sort_unstable();
    Ok(pairs)
}

/// Values by the names of layers and tensors. An output of the graph may have the name of another layer.
fn named_values(graph: &Graph) -> HashMap<&str, Value> {
    let mut names = HashMap::new();
    let layers = || graph.ids().filter(|&id| !matches!(graph.node(id).op(), Op::Result(_)));
    for id in layers() {
        for (port, out) in (0..).zip(graph.node(id).outs()) {
            let value = Value { node: id, port };
            out.names().iter().for_each(|name| {
                names.insert(name.as_str(), value);
            });
        }
    }
    for id in layers() {
        names.insert(graph.node(id).name(), Value { node: id, port: 0 });
    }
    names
}

/// Adds pairs of values that are probably equal: the outputs and inputs of the layers with the same name.
fn add_candidates(
    task: &mut Task,
    (a, before): (&Graph, &Exported),
    (b, after): (&Graph, &Exported),
    id: NodeId,
    names: &HashMap<&str, Value>,
    exporter: &Exporter,
    depth: usize,
) {
    let node = b.node(id);
    let mut partner = names.get(node.name()).copied();
    for out in node.outs() {
        partner = partner.or_else(|| out.names().iter().find_map(|name| names.get(name.as_str()).copied()));
    }
    let Some(partner) = partner else { return };
    let other = a.node(partner.node);
    let mut add = |old: Value, new: Value| {
        if let (Some(&old), Some(&new)) = (before.values.get(&old), after.values.get(&new)) {
            task.candidates.push((old, new));
        }
    };
    if other.op().type_name() == node.op().type_name() {
        for (old, new) in a.inputs(partner.node).into_iter().zip(b.inputs(id)) {
            if let (Some(old), Some(new)) = (old, new) {
                add(old, new);
            }
        }
    }
    for (port, out) in (0..).zip(node.outs()) {
        let named = out.names().iter().find_map(|name| names.get(name.as_str()).copied());
        let old = named.unwrap_or(Value { port: partner.port + port, ..partner });
        add(old, Value { node: id, port });
    }
    for ((_, old), (_, new)) in other.op().bodies().zip(node.op().bodies()) {
        let number = |body| exporter.bodies.iter().position(|known| *known == body);
        if let (Some(old_number), Some(new_number)) = (number(old), number(new))
            && old_number != new_number
            && let Ok(body) = build(old, new, Matching::Bodies, depth + 1)
        {
            let problem = body.problem.clone();
            task.problem.bodies.push(BodyProblem { before: old_number, after: new_number, problem });
            task.bodies.push(body);
        }
    }
}
