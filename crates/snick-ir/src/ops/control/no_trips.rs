//! Outputs of a Loop with zero iterations, in runs and in inference.
//!
//! An output concatenated from parts has size 0 on the axis of concatenation. Its other dims are computed as
//! in the body if they depend only on sizes of inputs; otherwise they are 0, as in the OpenVINO runtime.

use std::collections::HashMap;

use snick_shape::{Birth, Interval, SymExpr, SymbolId};
use snick_tensor::{ElementType, Tensor};

use super::port_map::{Cut, PortMap};
use super::symbol_map::SymbolMap;
use crate::{Graph, Infer, OpError, normalize_axis};

/// Maps each symbol of the body that is the size of an input to the port and the axis of that input. For a
/// state, this requires that every iteration keeps the size; otherwise the symbol is not the initial size.
pub(super) fn input_sizes(body: &Graph, map: &PortMap) -> HashMap<SymbolId, (usize, usize)> {
    let parameters: Vec<_> = body.parameters().collect();
    let results: Vec<_> = body.results().collect();
    let dims = |id: Option<&_>| {
        let out = id.and_then(|&id| body.node(id).outs().first());
        out.and_then(|out| out.fact.shape.dims()).unwrap_or_default()
    };
    let mut sizes = HashMap::new();
    for link in &map.inputs {
        let Some(port) = link.external else { continue };
        let next =
            map.back_edges.iter().find(|(_, to)| *to == link.internal).map(|(from, _)| results.get(*from));
        for (axis, dim) in dims(parameters.get(link.internal)).iter().enumerate() {
            let is_kept = next.is_none_or(|next| dims(next).get(axis) == Some(dim));
            if let Some(symbol) = dim.as_symbol().filter(|_| is_kept) {
                sizes.entry(symbol).or_insert((port, axis));
            }
        }
    }
    sizes
}

/// Explains why a size may differ from the size after the last iteration.
const MAYBE_NO_TRIP: &str = "the size after the last iteration, or the initial one if there is none";

/// The size of an output axis, other than the concatenated one, of a Loop that may have no iterations.
/// `inside` is the dim in the body, `outside` the dim after at least one iteration.
pub(super) fn with_no_trips(
    inside: &SymExpr,
    outside: SymExpr,
    sizes: &HashMap<SymbolId, (usize, usize)>,
    symbol_map: &SymbolMap,
    trips: &SymExpr,
    cx: &mut Infer,
) -> SymExpr {
    let symbols = inside.symbols();
    if symbols.iter().all(|symbol| sizes.contains_key(symbol)) {
        let is_same = symbols.iter().all(|&symbol| symbol_map.has_entered(symbol));
        return if is_same {
            outside
        } else {
            cx.born(Interval::DIM, || Birth::Merged(MAYBE_NO_TRIP.into()))
        };
    }
    if trips.as_const() == Some(0) {
        return SymExpr::from(0);
    }
    let either = cx.interval(&outside).hull(Interval::exact(0));
    cx.born(either, || Birth::either(&outside, &SymExpr::from(0)))
}

/// The concatenated output for Result `number` when there are no parts.
///
/// # Errors
/// If the rank or the type is unknown.
pub(super) fn no_parts(
    body: &Graph,
    map: &PortMap,
    number: usize,
    cut: Cut,
    inputs: &[Tensor],
) -> Result<Tensor, OpError> {
    let out = body.results().nth(number).and_then(|id| body.node(id).outs().first());
    let fact = out.map(|out| &out.fact);
    let known = fact.and_then(|fact| fact.shape.dims().filter(|_| fact.element_type != ElementType::Dynamic));
    let (Some(fact), Some(known)) = (fact, known) else {
        let (what, why) = (format!("Result {number} of the body"), "no iteration runs".to_string());
        return Err(OpError::NoValue { what, why });
    };
    let sizes = input_sizes(body, map);
    let size_of = |symbol| {
        let (port, axis) = sizes.get(&symbol)?;
        i64::try_from(*inputs.get(*port)?.dims().get(*axis)?).ok()
    };
    let size =
        |dim| body.symbols().eval(dim, &size_of).and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
    let mut dims: Vec<usize> = known.iter().map(size).collect();
    if dims.is_empty() {
        dims.push(0);
    }
    let axis = normalize_axis(cut.axis, dims.len())?;
    dims[axis] = 0;
    Ok(Tensor::zeros(fact.element_type, &dims)?)
}
