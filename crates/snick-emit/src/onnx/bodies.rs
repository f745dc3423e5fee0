//! Writes If, Loop and TensorIterator as ONNX's If or Loop, whose subgraphs can read names from the enclosing
//! graphs.
//!
//! - A loop-invariant value is read by name.
//! - A sliced input is gathered inside the body by iteration number.
//! - The parts of a concatenated output are stacked by the Loop along a new axis, which is then merged into
//!   the concatenated axis.
//! - An output that returns a value of the last iteration is carried as a state.

use snick_ir::ops::control::port_map::{Cut, PortLink, Purpose};
use snick_ir::ops::control::subgraph::{SubGraph, SubGraphKind};
use snick_ir::{Fact, Graph, NodeId, Op, OpError, Value, normalize_axis};
use snick_onnx as onnx;
use snick_shape::{SymExpr, Symbols};
use snick_tensor::{ElementType, Tensor};

use super::emitter::{Emitter, Result, graph_attribute, ints};
use super::layer;
use super::row::OpRow;
use crate::body::{Body, State, States};

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    let Op::SubGraph(op) = op else { return None };
    let row = match op.kind {
        SubGraphKind::If => OpRow::new(|e| branches(e, op)),
        SubGraphKind::Loop | SubGraphKind::TensorIterator => OpRow::new(|e| iterated(e, op)),
    };
    Some(row.every_type())
}

fn branches(e: &mut Emitter, op: &SubGraph) -> Result {
    let outer = e.inputs();
    let condition = truth(e, e.input(0)?, e.fact(0)?)?;
    let mut graphs = Vec::new();
    for ((name, body), map) in ["then_branch", "else_branch"].into_iter().zip(&op.bodies).zip(&op.maps) {
        let around = e.writer.enter(body, &order(body)?);
        let body = Body::new(body, map);
        for (number, &id) in body.parameters.iter().enumerate() {
            e.writer.names.set(value(id), fed(&body, number, &outer)?);
        }
        inside(e, body.graph)?;
        for port in 0..op.outputs() {
            let link = body.output_link(port);
            let link = link.ok_or_else(|| OpError::mismatch("the port map", port, "every output"))?;
            give(e, &body, link.internal)?;
        }
        graphs.push(graph_attribute(name, e.writer.leave(around)));
    }
    e.last("If", &[condition], graphs)
}

fn iterated(e: &mut Emitter, op: &SubGraph) -> Result {
    let ([body], [map]) = (op.bodies.as_slice(), op.maps.as_slice()) else {
        return Err(OpError::mismatch("the number of bodies", op.bodies.len(), 1));
    };
    let body = Body::new(body, map);
    let outer = e.inputs();
    let (trips, starts) = match op.kind {
        SubGraphKind::Loop => (limit(e)?, truth(e, e.input(1)?, e.fact(1)?)?),
        _ => (parts(e, &body)?, String::new()),
    };
    let states = States::of(map);
    let mut inputs = vec![trips, starts];
    for state in &states.list {
        inputs.push(match state.parameter {
            Some(parameter) => fed(&body, parameter, &outer)?,
            None => placeholder(e, &body, state.result)?,
        });
    }
    let graph = loop_body(e, &body, &states, &outer)?;
    // Concatenated outputs come after the states, in the order of their links.
    let mut made = states.list.len()..;
    let count = states.list.len() + map.outputs.iter().filter(|link| link.cut.is_some()).count();
    let outputs: Vec<String> = (0..count).map(|_| e.fresh("Loop")).collect();
    let parts = map.outputs.iter().filter(|link| link.cut.is_some()).map(|link| body.returned(link.internal));
    for (name, value) in outputs.iter().zip(states.list.iter().map(|state| typed(state, &body)).chain(parts))
    {
        e.writer.checked.types.insert(name.clone(), body.fact(value).element_type);
    }
    let name = e.node.name().to_string();
    e.push("Loop", name, &inputs, outputs.clone(), vec![graph_attribute("body", graph)]);
    for link in &map.outputs {
        let found = if link.cut.is_some() { made.next() } else { states.of_result(link.internal) };
        let Some(port) = link.external else { continue };
        let found = found.and_then(|i| outputs.get(i)).cloned().unwrap_or_default();
        let whole = match link.cut {
            Some(cut) => assembled(e, found, cut, body.fact(body.returned(link.internal)), port)?,
            None => found,
        };
        let output = e.outputs().get(port).cloned().unwrap_or_default();
        e.push("Identity", format!("{}.{port}", e.node.name()), &[whole], vec![output], vec![]);
    }
    Ok(())
}

/// Writes the body of a Loop. Its inputs are the iteration number, the condition and the states. Its outputs
/// are the condition, the states, and the parts of concatenated outputs.
fn loop_body(
    e: &mut Emitter,
    body: &Body,
    states: &States,
    outer: &[String],
) -> Result<onnx::Graph, OpError> {
    let graph = body.graph;
    let around = e.writer.enter(graph, &order(graph)?);
    let (iteration, condition) = (e.fresh("iteration"), e.fresh("condition"));
    e.writer.formal(iteration.clone(), &Fact::new(ElementType::I64, [].into()), graph.symbols())?;
    let scalar = Fact::new(ElementType::Boolean, [].into());
    e.writer.formal(condition.clone(), &scalar, graph.symbols())?;
    for state in &states.list {
        let name = e.fresh("state");
        e.writer.formal(name.clone(), &body.fact(typed(state, body)), graph.symbols())?;
        if let Some(&id) = state.parameter.and_then(|number| body.parameters.get(number)) {
            e.writer.names.set(value(id), name);
        }
    }
    for (number, &id) in body.parameters.iter().enumerate() {
        if states.of_parameter(number).is_some() {
            continue;
        }
        let name = match body.link(number) {
            Some(PortLink { purpose: Some(Purpose::CurrentIteration), .. }) => {
                counter(e, &iteration, &body.fact(Some(value(id))))?
            }
            Some(PortLink { cut: Some(cut), external: Some(port), .. }) => {
                let whole = outer.get(*port).ok_or(OpError::NotConnected { port: *port })?;
                part(e, whole, *cut, &iteration)?
            }
            _ => fed(body, number, outer)?,
        };
        e.writer.names.set(value(id), name);
    }
    inside(e, graph)?;
    match body.map.outputs.iter().find(|link| link.purpose == Some(Purpose::ExecutionCondition)) {
        Some(link) => {
            let returned = body.returned(link.internal).ok_or(OpError::NotConnected { port: 0 })?;
            let goes_on = truth(e, e.writer.names.of(returned), &body.fact(Some(returned)))?;
            let name = e.node("Identity", &[goes_on], vec![]);
            e.writer.output(name, &scalar, graph.symbols())?;
        }
        None => {
            let name = e.node("Identity", &[condition], vec![]);
            e.writer.output(name, &scalar, graph.symbols())?;
        }
    }
    for state in &states.list {
        give(e, body, state.result)?;
    }
    for link in body.map.outputs.iter().filter(|link| link.cut.is_some()) {
        give(e, body, link.internal)?;
    }
    Ok(e.writer.leave(around))
}

/// The value in the body that determines the type of a state.
fn typed(state: &State, body: &Body) -> Option<Value> {
    match state.parameter {
        Some(number) => body.parameters.get(number).map(|&id| value(id)),
        None => body.returned(state.result),
    }
}

fn order(body: &Graph) -> Result<Vec<NodeId>, OpError> {
    body.order().map_err(|cycle| OpError::Inside(Box::new(cycle)))
}

fn value(node: NodeId) -> Value {
    Value { node, port: 0 }
}

/// The name of the value that a link passes to a Parameter as a whole.
fn fed(body: &Body, parameter: usize, outer: &[String]) -> Result<String> {
    let name = body.whole_link(parameter).and_then(|link| outer.get(link.external?));
    name.cloned().ok_or_else(|| {
        let what = format!("Parameter {parameter} of the body");
        OpError::NoValue { what, why: "the port map does not feed it".into() }
    })
}

/// Writes the layers of the body.
fn inside(e: &mut Emitter, body: &Graph) -> Result {
    for id in order(body)? {
        if matches!(body.node(id).op(), Op::Parameter(_) | Op::Result(_)) {
            continue;
        }
        layer(body, id, e.writer).map_err(|error| OpError::Inside(Box::new(body.located(id, error))))?;
    }
    Ok(())
}

/// Adds the value that a Result returns to the outputs of the current graph, under a new name.
fn give(e: &mut Emitter, body: &Body, result: usize) -> Result {
    let returned = body.returned(result).ok_or(OpError::NotConnected { port: 0 })?;
    let name = e.node("Identity", &[e.writer.names.of(returned)], vec![]);
    e.writer.output(name, &body.fact(Some(returned)), body.graph.symbols())
}

/// Converts a condition to a boolean scalar.
fn truth(e: &mut Emitter, name: String, fact: &Fact) -> Result<String> {
    let truth = e.cast(name, fact.element_type, ElementType::Boolean)?;
    first(e, truth, fact)
}

/// The first element of a vector as a scalar. A vector of unknown length is assumed not to be empty.
fn first(e: &mut Emitter, name: String, fact: &Fact) -> Result<String> {
    match fact.shape.dims() {
        Some([]) => Ok(name),
        Some([dim]) if dim.as_const() == Some(1) => {
            let shape = e.vector(&[])?;
            Ok(e.node("Reshape", &[name, shape], vec![]))
        }
        _ => {
            let (all, zero) = (e.vector(&[-1])?, e.number(ElementType::I64, 0.0)?);
            let elements = e.node("Reshape", &[name, all], vec![]);
            Ok(e.node("Gather", &[elements, zero], vec![]))
        }
    }
}

/// The maximum trip count of a Loop. A missing or negative count means no limit.
fn limit(e: &mut Emitter) -> Result<String> {
    let known = e.known(0).and_then(|known| known.first().copied());
    if known.is_some_and(|known| known < 0) {
        return Ok(String::new());
    }
    let trips = e.input_i64(0)?;
    let trips = first(e, trips, e.fact(0)?)?;
    if is_counted(e.graph.symbols(), e.fact(0)?) {
        return Ok(trips);
    }
    let (zero, most) = (e.number(ElementType::I64, 0.0)?, e.tensor(&Tensor::scalar(i64::MAX))?);
    let unlimited = e.node("Less", &[&trips, &zero], vec![]);
    Ok(e.node("Where", &[unlimited, most, trips], vec![]))
}

/// Whether the trip count is known not to be negative.
fn is_counted(symbols: &Symbols, number: &Fact) -> bool {
    let first = number.elements().and_then(|elements| elements.first().cloned());
    first.is_some_and(|first| symbols.interval(&first).lo() >= 0)
}

/// The trip count of a TensorIterator, that is, the number of parts of a sliced input.
fn parts(e: &mut Emitter, body: &Body) -> Result<String> {
    let cut = body.map.inputs.iter().find_map(|link| Some((link.external?, link.cut?)));
    let (port, cut) = cut.ok_or_else(|| OpError::unsupported("no input that is cut"))?;
    let axis = normalize_axis(cut.axis, e.rank(port)?)?;
    let (first, last) = if cut.stride < 0 { (cut.end, cut.start) } else { (cut.start, cut.end) };
    // Negative bounds count from the end of the axis: -1 is its size, -2 is its size minus 1.
    let behind = |at: i64| if at < 0 { (1, at.saturating_add(1)) } else { (0, at) };
    let ((first_sizes, first), (last_sizes, last)) = (behind(first), behind(last));
    let shape = e.node("Shape", &[e.input(port)?], vec![]);
    let index = e.number(ElementType::I64, axis as f64)?;
    let size = e.node("Gather", &[shape, index], vec![]);
    let sizes = e.tensor(&Tensor::scalar(i64::from(last_sizes - first_sizes)))?;
    let more = e.tensor(&Tensor::scalar(last.saturating_sub(first)))?;
    let step = e.tensor(&Tensor::scalar(cut.stride.saturating_abs()))?;
    let size = e.node("Mul", &[size, sizes], vec![]);
    let length = e.node("Add", &[size, more], vec![]);
    Ok(e.node("Div", &[length, step], vec![]))
}

/// The initial value of a state that no iteration reads before it is written. A loop without iterations
/// returns this value, so its sizes must lie within the inferred intervals of the state.
fn placeholder(e: &mut Emitter, body: &Body, result: usize) -> Result<String> {
    let fact = body.fact(body.returned(result));
    let dims = fact.shape.dims().ok_or_else(|| OpError::unsupported("an output of unknown rank"))?;
    let symbols = body.graph.symbols();
    let sizes: Vec<i64> =
        dims.iter().map(|dim| symbols.interval(dim)).map(|dim| dim.hi().min(1).max(dim.lo())).collect();
    let zero = e.tensor(&Tensor::zeros(fact.element_type, &vec![1; dims.len()])?)?;
    if sizes.iter().all(|&size| size == 1) {
        return Ok(zero);
    }
    let sizes = e.vector(&sizes)?;
    Ok(e.node("Expand", &[zero, sizes], vec![]))
}

/// The iteration number in the type and shape of the body's Parameter.
fn counter(e: &mut Emitter, iteration: &str, fact: &Fact) -> Result<String> {
    let number = e.cast(iteration.to_string(), ElementType::I64, fact.element_type)?;
    if fact.shape.rank() == Some(0) {
        return Ok(number);
    }
    let shape = e.vector(&[1])?;
    Ok(e.node("Reshape", &[number, shape], vec![]))
}

/// The slice for one iteration. Its indices may be negative: Gather counts these from the end.
fn part(e: &mut Emitter, whole: &str, cut: Cut, iteration: &str) -> Result<String> {
    let border = if cut.start < 0 { cut.start.saturating_add(1) } else { cut.start };
    let first = if cut.stride < 0 { border.saturating_sub(cut.part_size) } else { border };
    let size = usize::try_from(cut.part_size).ok().filter(|&size| size <= MAX_PART);
    let size =
        size.ok_or_else(|| OpError::out_of_range("part_size", cut.part_size, format!("1 to {MAX_PART}")))?;
    let offsets: Vec<i64> = (0..size as i64).map(|i| first.saturating_add(i)).collect();
    let (offsets, stride) = (e.vector(&offsets)?, e.tensor(&Tensor::scalar(cut.stride))?);
    let shift = e.node("Mul", &[iteration, &stride], vec![]);
    let indices = e.node("Add", &[shift, offsets], vec![]);
    Ok(e.node("Gather", &[whole, &indices], vec![super::emitter::int("axis", cut.axis)]))
}

/// Maximum size of a part along its axis: the part is gathered with one index per element.
const MAX_PART: usize = 1 << 16;

/// Concatenates parts along their axis. The Loop has stacked them along a new first axis.
fn assembled(e: &mut Emitter, stacked: String, cut: Cut, part: Fact, port: usize) -> Result<String> {
    let dims = part.shape.dims().ok_or_else(|| OpError::unsupported("parts of unknown rank"))?;
    let rank = dims.len();
    let mut whole = stacked;
    if cut.stride < 0 {
        let bounds = [e.vector(&[-1])?, e.vector(&[i64::MIN])?, e.vector(&[0])?, e.vector(&[-1])?];
        let [start, end, axes, step] = bounds;
        whole = e.node("Slice", &[whole, start, end, axes, step], vec![]);
    }
    if rank == 0 {
        return Ok(whole);
    }
    let axis = normalize_axis(cut.axis, rank)?;
    if axis > 0 {
        let order = (1..=axis).chain([0]).chain(axis + 1..=rank).map(|i| i as i64).collect();
        whole = e.node("Transpose", &[whole], vec![ints("perm", order)]);
    }
    let all = e.node.outs().get(port).and_then(|out| out.fact.shape.dims()?.get(axis));
    let is_empty = all.and_then(SymExpr::as_const) == Some(0);
    // Uses the part size that the body computes, because the link may declare a different one. If the output
    // is empty, the axis is not squeezed, because the stack of a loop without iterations may have any sizes.
    if dims[axis].as_const() == Some(1) && !is_empty {
        let single = e.vector(&[axis as i64 + 1])?;
        return Ok(e.node("Squeeze", &[whole, single], vec![]));
    }
    // Merges the stacking axis into the concatenated axis; the axes before and after these two stay.
    let shape = e.node("Shape", &[&whole], vec![]);
    let zero = e.vector(&[0])?;
    let at = e.vector(&[axis as i64])?;
    let (next, behind) = (e.vector(&[axis as i64 + 1])?, e.vector(&[axis as i64 + 2])?);
    let last = e.vector(&[i64::MAX])?;
    let before = e.node("Slice", &[&shape, &zero, &at], vec![]);
    let after = e.node("Slice", &[&shape, &behind, &last], vec![]);
    let count = e.node("Slice", &[&shape, &at, &next], vec![]);
    let size = e.node("Slice", &[&shape, &next, &behind], vec![]);
    let joined = e.node("Mul", &[count, size], vec![]);
    let sizes = e.node("Concat", &[before, joined, after], vec![super::emitter::int("axis", 0)]);
    Ok(e.reshaped_to(&whole, &sizes))
}
