//! Inference of If: the branch that a known condition takes, or what both have in common.

use smallvec::SmallVec;
use snick_tensor::ElementType;

use super::iterate::{is_single, truth};
use super::passage::{Passage, join};
use super::port_map::PortMap;
use crate::infer::Work;
use crate::{Fact, Facts, Graph, Infer, OpError};

/// Facts of the outputs; sets those inside both bodies. Of a branch that is never taken, nothing is an error.
pub(super) fn infer(
    maps: [&PortMap; 2],
    bodies: [&mut Graph; 2],
    cx: &mut Infer,
    work: &mut Work,
) -> Result<Facts, OpError> {
    let condition = cx.optional(0).ok_or(OpError::NotConnected { port: 0 })?;
    is_single("the condition", condition)?;
    let taken = truth(condition).map(|holds| if holds { 0 } else { 1 });
    let mut given = SmallVec::<[Facts; 2]>::new();
    for (i, (map, body)) in maps.into_iter().zip(bodies).enumerate() {
        let mark = work.errors.len();
        given.push(branch(map, body, cx, work)?);
        if taken.is_some_and(|taken| taken != i) {
            work.errors.truncate(mark);
        }
    }
    if let Some(taken) = taken {
        return Ok(given.swap_remove(taken));
    }
    let both = given[0].iter().zip(&given[1]).enumerate();
    both.map(|(port, (a, b))| {
        let (x, y) = (a.element_type, b.element_type);
        if x != y && ![x, y].contains(&ElementType::Dynamic) {
            let what = format!("output {port} of the else-body");
            return Err(OpError::element_type(what, y, format!("{x} as of the then-body")));
        }
        Ok(join(a, b, cx))
    })
    .collect()
}

/// What one body gives for the outputs.
fn branch(map: &PortMap, body: &mut Graph, cx: &mut Infer, work: &mut Work) -> Result<Facts, OpError> {
    body.symbols = Default::default();
    let mut passage = Passage::default();
    let mut given = vec![None; body.parameters().count()];
    for link in &map.inputs {
        let (Some(port), Some(slot)) = (link.external, given.get_mut(link.internal)) else { continue };
        let outer = cx.optional(port).ok_or(OpError::NotConnected { port })?;
        *slot = Some(passage.enter(outer, cx.known_symbols(), &mut body.symbols));
    }
    let results = body.infer_body(&given, work);
    let ports = map.outputs.iter().filter_map(|link| link.external);
    let mut facts: Facts = (0..ports.max().map_or(0, |port| port + 1)).map(|_| Fact::unknown()).collect();
    for link in &map.outputs {
        let out = link.external.and_then(|port| facts.get_mut(port));
        if let (Some(out), Some(result)) = (out, results.get(link.internal)) {
            *out = passage.leave(result, &body.symbols, cx);
        }
    }
    Ok(facts)
}
