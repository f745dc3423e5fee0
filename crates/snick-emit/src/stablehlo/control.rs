//! If, Loop and TensorIterator. Their regions can read values from enclosing regions.

use snick_ir::ops::control::execute::parts_of;
use snick_ir::ops::control::port_map::{Cut, PortLink, Purpose};
use snick_ir::ops::control::subgraph::{SubGraph, SubGraphKind};
use snick_ir::{Graph, Op, OpError, Value, normalize_axis};
use snick_shape::SymExpr;
use snick_tensor::{ElementType, Tensor};

use super::emitter::{Emitter, FunctionBuilder, OpKind, Operand, Result};
use super::row::OpRow;
use super::types::Type;
use super::unary::converted;
use crate::body::{Body, States};

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    let Op::SubGraph(op) = op else { return None };
    Some(match op.kind {
        SubGraphKind::If => OpRow::new(|e| branches(e, op)),
        SubGraphKind::Loop | SubGraphKind::TensorIterator => OpRow::new(|e| iterated(e, op)),
    })
}

impl FunctionBuilder {
    /// Writes a body in a new scope with the given Parameters, and returns the values of its Results. f16 and
    /// bf16 are rounded on entry and exit.
    fn inline(&mut self, body: &Graph, given: &[Option<Operand>]) -> Result<Vec<Operand>, OpError> {
        let around = std::mem::take(&mut self.scope);
        let graph = self.graph;
        let written = self.inside(body, given);
        let scope = std::mem::replace(&mut self.scope, around);
        let results = scope.results.into_iter().map(|result| self.computed("result", result)).collect();
        self.graph = graph;
        written.map(|()| results)
    }

    fn inside(&mut self, body: &Graph, given: &[Option<Operand>]) -> Result {
        for (id, operand) in body.parameters().zip(given) {
            let Some(operand) = operand else { continue };
            let value = Value { node: id, port: 0 };
            let declared = Type::declared(body.fact(value).ok_or(OpError::NotConnected { port: 0 })?)?;
            let rounded = self.convert("given", operand.clone(), declared.element);
            let rounded = self.computed("given", rounded);
            let ty = self.computed_type(declared);
            self.define(value, same_type("the inputs of a body", &rounded, &ty)?);
        }
        self.bodies += 1;
        self.graph = self.bodies;
        super::layers(body, self).map_err(OpError::Inside)
    }
}

/// Checks that the operand's type prints the same as `ty`.
fn same_type(what: &str, operand: &Operand, ty: &Type) -> Result<Operand> {
    if operand.ty.to_string() != ty.to_string() {
        return Err(OpError::mismatch(what, &operand.ty, ty));
    }
    Ok(Operand { id: operand.id, ty: ty.clone() })
}

/// A value in a type that may have dynamic dims where its own are known.
fn fitted(e: &mut Emitter, what: &str, x: &Operand, ty: &Type) -> Result<Operand> {
    let is_wider = |(own, dim): (&SymExpr, &SymExpr)| dim.as_const().is_none() || own == dim;
    let fits = x.ty.element == ty.element
        && x.ty.rank() == ty.rank()
        && x.ty.dims.iter().zip(&ty.dims).all(is_wider);
    if !e.function.sizes_from_data || !fits || x.ty.to_string() == ty.to_string() {
        return same_type(what, x, ty);
    }
    let scalar = Type { element: ElementType::I32, dims: vec![] };
    let mut sizes = Vec::with_capacity(x.ty.rank());
    for axis in 0..x.ty.rank() {
        let size = e.op(OpKind::GetDimensionSize(axis), &[x], scalar.clone());
        let size = e.convert(&size, ElementType::I64);
        sizes.push(e.reshape(&size, &[1])?);
    }
    let vector = scalar.with(ElementType::I64).sized(&[sizes.len()]);
    let sizes = e.op(OpKind::SizeVector, &sizes.iter().collect::<Vec<_>>(), vector);
    Ok(e.op(OpKind::DynamicReshape, &[x, &sizes], ty.clone()))
}

/// Converts a condition of one element to a boolean scalar.
fn truth(e: &mut Emitter, x: &Operand) -> Result<Operand> {
    if x.ty.dims.iter().any(|dim| dim.as_const().is_some_and(|dim| dim != 1)) {
        return Err(OpError::unsupported(format!("a condition of {}", x.ty)));
    }
    let x = e.reshape(x, &[])?;
    converted(e, &x, ElementType::Boolean)
}

fn branches(e: &mut Emitter, op: &SubGraph) -> Result {
    let condition = e.input(0)?;
    let condition = truth(e, &condition)?;
    let outer = e.operands()?;
    let types = (0..op.outputs()).map(|port| e.output(port as u32)).collect::<Result<Vec<_>, _>>()?;
    let mut dims = types.iter().flat_map(|ty| &ty.dims);
    if !e.function.sizes_from_data && !dims.all(|dim| e.function.knows(dim)) {
        return Err(OpError::unsupported("a size that depends on the branch"));
    }
    let given = e.function.values(e.node.name(), types);
    let mut regions = Vec::with_capacity(op.bodies.len());
    for (body, map) in op.bodies.iter().zip(&op.maps) {
        let around = e.function.open();
        let body = Body::new(body, map);
        let taken: Vec<Option<Operand>> = (0..body.parameters.len())
            .map(|number| outer.get(body.link(number)?.external?).cloned())
            .collect();
        let results = e.function.inline(body.graph, &taken)?;
        let mut returned = Vec::with_capacity(given.len());
        for (port, Operand { ty, .. }) in given.iter().enumerate() {
            let result = body.output_link(port).and_then(|link| results.get(link.internal));
            let result = result.ok_or(OpError::NotConnected { port })?;
            returned.push(fitted(e, "the outputs of a branch", result, ty)?);
        }
        regions.push(e.function.close(around, &[], &returned));
    }
    e.function.push(OpKind::If, &[&condition], &given, regions);
    (0..).zip(given).try_for_each(|(port, value)| e.give(port, value))
}

/// The slices of a value along an axis: their number, the start of the first, and the stride between them.
struct Parts {
    axis: usize,
    first: i64,
    count: SymExpr,
    size: i64,
    backwards: bool,
}

impl Parts {
    fn of(cut: Cut, x: &Type) -> Result<Self, OpError> {
        let axis = normalize_axis(cut.axis, x.rank())?;
        let (size, backwards) = (cut.part_size, cut.stride < 0);
        let is_each = size == 1
            && [1, -1].contains(&cut.stride)
            && [cut.start, cut.end].iter().all(|b| [0, -1].contains(b));
        let dim = &x.dims[axis];
        if is_each && dim.as_const().is_none() {
            return Ok(Self { axis, first: 0, count: dim.clone(), size, backwards });
        }
        let (first, count) = parts_of(cut, x.size(axis)?)?;
        Ok(Self { axis, first: first as i64, count: (count as i64).into(), size, backwards })
    }

    /// Whether the number of slices depends on data, so that each iteration appends one.
    fn grows(&self, e: &Emitter) -> bool {
        e.function.sizes_from_data && !e.function.knows(&self.count)
    }

    /// The start index of the slice for one iteration.
    fn place(&self, e: &mut Emitter, number: &Operand) -> Result<Operand> {
        let mut number = number.clone();
        if self.backwards {
            let (count, one) = (e.number(&self.count)?, e.number(&1.into())?);
            let last = e.same("subtract", &[&count, &one]);
            number = e.same("subtract", &[&last, &number]);
        }
        let (size, first) = (e.number(&self.size.into())?, e.number(&self.first.into())?);
        let reach = e.same("multiply", &[&number, &size]);
        Ok(e.same("add", &[&first, &reach]))
    }
}

/// The body of a Loop or TensorIterator, with the inputs of the layer.
struct Iterated<'g> {
    body: Body<'g>,
    states: States,
    /// The concatenated outputs.
    made: Vec<(&'g PortLink, Parts)>,
    outer: Vec<Operand>,
    /// The Result that decides whether to continue; `None` if the loop always continues.
    condition: Option<usize>,
}

fn iterated(e: &mut Emitter, op: &SubGraph) -> Result {
    let ([body], [map]) = (op.bodies.as_slice(), op.maps.as_slice()) else {
        return Err(OpError::mismatch("the number of bodies", op.bodies.len(), 1));
    };
    let body = Body::new(body, map);
    let outer = e.operands()?;
    let states = States::of(map);
    let mut made = Vec::new();
    for link in &map.outputs {
        if let (Some(cut), Some(port)) = (link.cut, link.external) {
            made.push((link, Parts::of(cut, &e.output(port as u32)?)?));
        }
    }
    let count = match op.kind {
        SubGraphKind::Loop => limit(e)?,
        _ => number_of_parts(e, &body, &outer)?,
    };
    let condition = if op.kind == SubGraphKind::Loop { condition(e, &body) } else { None };
    let mut start = Vec::new();
    for state in &states.list {
        start.push(match state.parameter {
            Some(parameter) => fed(&body, parameter, &outer)?,
            None => {
                let ty = e.function.type_of(&returned(&body, state.result)?)?;
                e.full(0.0, &ty)?
            }
        });
    }
    for (link, parts) in &made {
        let ty = e.output(link.external.unwrap_or(0) as u32)?;
        start.push(if parts.grows(e) { nothing(e, &ty, parts.axis)? } else { e.full(0.0, &ty)? });
    }
    let goes_on = match condition {
        Some(_) => {
            let first = e.input(1)?;
            start.push(truth(e, &first)?);
            Some(start.len() - 1)
        }
        None => None,
    };
    let iterated = Iterated { body, states, made, outer, condition };
    let last =
        e.repeat(&count, &start, goes_on, |e, number, carried| iteration(e, &iterated, number, carried))?;
    // Concatenated outputs come after the states, in the order of their links.
    let mut made = iterated.states.list.len()..;
    for link in &map.outputs {
        let Some(port) = link.external else { continue };
        let place = if link.cut.is_some() { made.next() } else { iterated.states.of_result(link.internal) };
        let value = place.and_then(|place| last.get(place)).cloned();
        e.give(port as u32, value.ok_or(OpError::NotConnected { port })?)?;
    }
    Ok(())
}

/// Computes the loop-carried values of the next iteration from the values of this iteration.
fn iteration(
    e: &mut Emitter,
    of: &Iterated,
    number: &Operand,
    carried: &[Operand],
) -> Result<Vec<Operand>, OpError> {
    let parameters = &of.body.parameters;
    let mut given = Vec::with_capacity(parameters.len());
    for (parameter, &id) in parameters.iter().enumerate() {
        given.push(match (of.states.of_parameter(parameter), of.body.link(parameter)) {
            (Some(state), _) => carried.get(state).cloned(),
            (None, Some(PortLink { purpose: Some(Purpose::CurrentIteration), .. })) => {
                let fact = of.body.graph.fact(Value { node: id, port: 0 });
                let ty = e.function.type_of(fact.ok_or(OpError::NotConnected { port: 0 })?)?;
                let shaped = e.reshape(number, &ty.dims)?;
                Some(e.convert(&shaped, ty.element))
            }
            (None, Some(PortLink { cut: Some(cut), external: Some(port), .. })) => {
                let whole = of.outer.get(*port).ok_or(OpError::NotConnected { port: *port })?;
                let parts = Parts::of(*cut, &whole.ty)?;
                let place = parts.place(e, number)?;
                Some(e.pick(whole, parts.axis, &place, &parts.size.into())?)
            }
            _ => Some(fed(&of.body, parameter, &of.outer)?),
        });
    }
    let results = e.function.inline(of.body.graph, &given)?;
    let result = |number: usize| results.get(number).ok_or(OpError::NotConnected { port: number });
    let mut next = Vec::with_capacity(carried.len());
    for (state, old) in of.states.list.iter().zip(carried) {
        next.push(fitted(e, "the outputs of an iteration", result(state.result)?, &old.ty)?);
    }
    for ((link, parts), whole) in of.made.iter().zip(carried.iter().skip(of.states.list.len())) {
        let mut part = result(link.internal)?.clone();
        if part.ty.rank() + 1 == whole.ty.rank() {
            let mut dims = part.ty.dims.clone();
            dims.insert(parts.axis, 1.into());
            part = e.reshape(&part, dims)?;
        }
        next.push(if parts.grows(e) {
            let both = if parts.backwards { [&part, whole] } else { [whole, &part] };
            e.op(OpKind::Concatenate(parts.axis), &both, whole.ty.clone())
        } else {
            let place = parts.place(e, number)?;
            e.put(whole, &part, parts.axis, &place)?
        });
    }
    if let Some(condition) = of.condition {
        let goes_on = result(condition)?.clone();
        next.push(truth(e, &goes_on)?);
    }
    Ok(next)
}

/// The value outside the loop that a link passes to a Parameter, without slicing.
fn fed(body: &Body, parameter: usize, outer: &[Operand]) -> Result<Operand> {
    let value = body.link(parameter).and_then(|link| outer.get(link.external?));
    value.cloned().ok_or_else(|| {
        OpError::mismatch("the port map", format!("Parameter {parameter} without a source"), "one")
    })
}

/// A value without elements: one axis has size 0, although its dim in the type is dynamic.
fn nothing(e: &mut Emitter, ty: &Type, axis: usize) -> Result<Operand> {
    let mut dims = ty.dims.clone();
    dims[axis] = 0.into();
    let sizes = e.vector(dims)?;
    let zero = e.full(0.0, &ty.sized(&[]))?;
    Ok(e.op(OpKind::DynamicBroadcastInDim(vec![]), &[&zero, &sizes], ty.clone()))
}

fn returned(body: &Body, result: usize) -> Result<snick_ir::Fact, OpError> {
    let fact = body.returned(result).and_then(|value| body.graph.fact(value)).cloned();
    fact.ok_or(OpError::NotConnected { port: result })
}

/// The maximum trip count of a Loop. A negative count means no limit.
fn limit(e: &mut Emitter) -> Result<Operand> {
    let limit = e.input(0)?;
    match e.known(0).as_deref() {
        Some(&[limit]) => e.constant(&Tensor::scalar(if limit < 0 { i64::MAX } else { limit })),
        _ => {
            let limit = e.index(&limit)?;
            let (zero, most) = (e.number(&0.into())?, e.number(&i64::MAX.into())?);
            let is_none = e.compare("LT", &limit, &zero);
            Ok(e.select(&is_none, &most, &limit))
        }
    }
}

/// The Result that decides whether a Loop continues; `None` if the Loop always continues.
fn condition(e: &Emitter, body: &Body) -> Option<usize> {
    let link = body.map.outputs.iter().find(|link| link.purpose == Some(Purpose::ExecutionCondition))?;
    let next = returned(body, link.internal).ok().and_then(|fact| fact.ints());
    let sure = next.is_some_and(|next| next.iter().all(|&v| v != 0)) && e.known(1).is_some_and(|v| v != [0]);
    (!sure).then_some(link.internal)
}

fn number_of_parts(e: &mut Emitter, body: &Body, outer: &[Operand]) -> Result<Operand> {
    let cut = body.map.inputs.iter().find_map(|link| Some((outer.get(link.external?)?, link.cut?)));
    let (whole, cut) = cut.ok_or_else(|| OpError::unsupported("iterations of unknown number"))?;
    let parts = Parts::of(cut, &whole.ty)?;
    e.number(&parts.count)
}
