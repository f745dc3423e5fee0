//! What goes from iteration to iteration of a TensorIterator or a Loop, for formats whose loops name all of it.

use snick_ir::ops::control::port_map::PortMap;

/// A value that goes from iteration to iteration.
pub(crate) struct State {
    /// The Parameter that takes it; `None` where only the last one is wanted.
    pub(crate) parameter: Option<usize>,
    /// The Result that gives the next one.
    pub(crate) result: usize,
}

/// The back edges, and what else is wanted of the last iteration.
pub(crate) fn states(map: &PortMap) -> Vec<State> {
    let edges = map.back_edges.iter();
    let mut states: Vec<State> =
        edges.map(|&(result, parameter)| State { parameter: Some(parameter), result }).collect();
    for link in map.outputs.iter().filter(|link| link.cut.is_none() && link.external.is_some()) {
        if !states.iter().any(|state| state.result == link.internal) {
            states.push(State { parameter: None, result: link.internal });
        }
    }
    states
}
