//! Constants that become arguments: weights, which stay in the files of the model, and folded constants.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use snick_ir::ops::source::constant::Constant;
use snick_ir::{Graph, NodeId, Op};
use snick_tensor::{ElementType, Tensor};

use super::hlo::Operand;

/// Minimum size in bytes of constants that become arguments; smaller ones are part of the text.
const LEAST_BYTES: usize = 1024;

/// A range of a file, and the type of its elements.
type Place = (PathBuf, Range<usize>, ElementType);

/// The large constants of a model, by their place in its files.
#[derive(Default)]
pub(crate) struct Weights {
    stored: HashMap<Place, Stored>,
}

/// A constant as the model stores it.
#[derive(Clone)]
pub(super) struct Stored {
    pub(super) name: String,
    pub(super) dims: Vec<usize>,
    /// The argument for the constant, once it is created.
    pub(super) argument: Option<Operand>,
}

impl Weights {
    /// The large constants of a graph and its bodies. If several constants share a place, the name of the
    /// first is used.
    pub(crate) fn of(graph: &Graph) -> Self {
        let mut weights = Self::default();
        weights.add(graph);
        weights
    }

    fn add(&mut self, graph: &Graph) {
        for id in graph.ids() {
            let node = graph.node(id);
            node.op().bodies().for_each(|(_, body)| self.add(body));
            let Op::Const(Constant::Here(tensor)) = node.op() else { continue };
            let Some((path, range)) = place(tensor) else { continue };
            let stored =
                || Stored { name: node.name().to_string(), dims: tensor.dims().to_vec(), argument: None };
            self.stored.entry((path.to_path_buf(), range, tensor.element_type())).or_insert_with(stored);
        }
    }

    /// The stored constant that has the same bytes as a tensor.
    pub(super) fn get_mut(&mut self, tensor: &Tensor) -> Option<&mut Stored> {
        let (path, range) = place(tensor)?;
        self.stored.get_mut(&(path.to_path_buf(), range, tensor.element_type()))
    }

    fn holds(&self, tensor: &Tensor) -> bool {
        let place = place(tensor).map(|(path, range)| (path.to_path_buf(), range, tensor.element_type()));
        place.is_some_and(|place| self.stored.contains_key(&place))
    }

    /// For each layer, by [`NodeId::index`], whether the module computes its value although inference knows
    /// it. This is the case for values that depend on weights, because a folded value would duplicate the
    /// weights.
    pub(super) fn users(
        &self,
        graph: &Graph,
        order: &[NodeId],
        has_rule: fn(&Graph, NodeId) -> bool,
    ) -> Vec<bool> {
        let (mut follows, mut users) = (vec![false; graph.bound()], vec![false; graph.bound()]);
        for &id in order {
            let known = |tensor: &Tensor| is_large(tensor) && !self.holds(tensor);
            let mut tensors = graph.node(id).outs().iter().filter_map(|out| out.fact.as_tensor());
            let is_const = matches!(graph.node(id).op(), Op::Const(_));
            follows[id.index()] = match is_const {
                true => tensors.any(|tensor| self.holds(tensor)),
                false => {
                    let mut inputs = graph.inputs(id).into_iter().flatten();
                    inputs.any(|value| follows[value.node.index()])
                }
            };
            users[id.index()] = !is_const
                && follows[id.index()]
                && tensors.any(|tensor| known(tensor))
                && has_rule(graph, id);
        }
        users
    }
}

/// Whether a constant becomes an argument.
pub(super) fn is_large(tensor: &Tensor) -> bool {
    tensor.element_type().byte_len(tensor.len()).is_none_or(|bytes| bytes >= LEAST_BYTES)
}

/// The file and range where a large constant is stored.
fn place(tensor: &Tensor) -> Option<(&Path, Range<usize>)> {
    tensor.file_range().filter(|(_, range)| range.len() >= LEAST_BYTES)
}
