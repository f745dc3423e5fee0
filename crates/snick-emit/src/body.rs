//! A body of an If, a Loop or a TensorIterator, with its port map.

use std::collections::{HashMap, HashSet};

#[cfg(feature = "onnx")]
use snick_ir::Fact;
use snick_ir::ops::control::port_map::{PortLink, PortMap};
use snick_ir::{Graph, NodeId, Value};

/// A body and its port map. A port map refers to Parameters and Results by index. This type indexes them
/// once, because searching the body for each of them would take quadratic time.
pub(crate) struct Body<'g> {
    pub(crate) graph: &'g Graph,
    pub(crate) map: &'g PortMap,
    pub(crate) parameters: Vec<NodeId>,
    results: Vec<NodeId>,
    /// The first link into each Parameter, by Parameter index.
    links: HashMap<usize, &'g PortLink>,
    /// The first link into each Parameter that passes the whole value rather than one slice per iteration.
    #[cfg(feature = "onnx")]
    whole: HashMap<usize, &'g PortLink>,
    /// The first link to each output of the op, by output port.
    outputs: HashMap<usize, &'g PortLink>,
}

impl<'g> Body<'g> {
    pub(crate) fn new(graph: &'g Graph, map: &'g PortMap) -> Self {
        let mut links = HashMap::new();
        #[cfg(feature = "onnx")]
        let mut whole = HashMap::new();
        for link in &map.inputs {
            links.entry(link.internal).or_insert(link);
            #[cfg(feature = "onnx")]
            if link.cut.is_none() {
                whole.entry(link.internal).or_insert(link);
            }
        }
        let mut outputs = HashMap::new();
        for link in &map.outputs {
            link.external.map(|port| outputs.entry(port).or_insert(link));
        }
        let (parameters, results) = (graph.parameters().collect(), graph.results().collect());
        Self {
            graph,
            map,
            parameters,
            results,
            links,
            #[cfg(feature = "onnx")]
            whole,
            outputs,
        }
    }

    /// The link into a Parameter.
    pub(crate) fn link(&self, parameter: usize) -> Option<&'g PortLink> {
        self.links.get(&parameter).copied()
    }

    /// The link that passes a whole value to a Parameter.
    #[cfg(feature = "onnx")]
    pub(crate) fn whole_link(&self, parameter: usize) -> Option<&'g PortLink> {
        self.whole.get(&parameter).copied()
    }

    /// The link to an output of the op.
    pub(crate) fn output_link(&self, port: usize) -> Option<&'g PortLink> {
        self.outputs.get(&port).copied()
    }

    /// The value that a Result returns.
    pub(crate) fn returned(&self, result: usize) -> Option<Value> {
        let &id = self.results.get(result)?;
        self.graph.inputs(id).first().copied().flatten()
    }

    /// The fact of a value of the body.
    #[cfg(feature = "onnx")]
    pub(crate) fn fact(&self, value: Option<Value>) -> Fact {
        value.and_then(|value| self.graph.fact(value)).cloned().unwrap_or_else(Fact::unknown)
    }
}

/// A loop-carried value.
pub(crate) struct State {
    /// The Parameter that receives the value; `None` if only the final value is used.
    pub(crate) parameter: Option<usize>,
    /// The Result that produces the value for the next iteration.
    pub(crate) result: usize,
}

/// The loop-carried values of a TensorIterator or a Loop, for formats in which a loop must declare all of
/// them. These are the values with a back edge, and the values that the op outputs after the last iteration.
pub(crate) struct States {
    pub(crate) list: Vec<State>,
    /// The first state of each Parameter.
    of_parameter: HashMap<usize, usize>,
    /// The first state of each Result.
    of_result: HashMap<usize, usize>,
}

impl States {
    pub(crate) fn of(map: &PortMap) -> Self {
        let edges = map.back_edges.iter();
        let mut list: Vec<State> =
            edges.map(|&(result, parameter)| State { parameter: Some(parameter), result }).collect();
        let mut named: HashSet<usize> = list.iter().map(|state| state.result).collect();
        for link in map.outputs.iter().filter(|link| link.cut.is_none() && link.external.is_some()) {
            if named.insert(link.internal) {
                list.push(State { parameter: None, result: link.internal });
            }
        }
        let (mut of_parameter, mut of_result) = (HashMap::new(), HashMap::new());
        for (number, state) in list.iter().enumerate() {
            state.parameter.map(|parameter| of_parameter.entry(parameter).or_insert(number));
            of_result.entry(state.result).or_insert(number);
        }
        Self { list, of_parameter, of_result }
    }

    /// The index of the state that a Parameter receives.
    pub(crate) fn of_parameter(&self, parameter: usize) -> Option<usize> {
        self.of_parameter.get(&parameter).copied()
    }

    /// The index of the state that a Result produces.
    pub(crate) fn of_result(&self, result: usize) -> Option<usize> {
        self.of_result.get(&result).copied()
    }
}
