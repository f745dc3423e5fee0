//! Edits that remove layers.

use snick_ir::text::INLINE;
use snick_ir::{Graph, NodeId, Op};

use super::edit::{Edit, is_computed, is_leaf, is_read};

/// Removes layers without readers. These include Results.
pub(super) fn drops(graph: &Graph) -> Vec<Vec<Edit>> {
    let unread: Vec<NodeId> = graph.ids().filter(|&id| !is_read(graph, id)).collect();
    // The model must keep at least one Result.
    let results = graph.results().count();
    let can_go = |id: &NodeId| results > 1 || !matches!(graph.node(*id).op(), Op::Result(_));
    unread.into_iter().filter(can_go).map(|id| vec![Edit::Drop(id)]).collect()
}

/// Replaces layers with Parameters, in order. These layers include constants that are too large to print.
pub(super) fn cuts(graph: &Graph) -> Vec<Vec<Edit>> {
    let can_go = |id: &NodeId| match graph.node(*id).op() {
        Op::Const(constant) => constant.dims().iter().product::<usize>() > INLINE,
        op => is_computed(op),
    };
    graph.order().unwrap_or_default().into_iter().filter(can_go).map(|id| vec![Edit::Cut(id)]).collect()
}

/// Redirects the readers of a layer to one of its inputs. Inputs with the same type and shape as the layer
/// come first.
pub(super) fn bypasses(graph: &Graph) -> Vec<Vec<Edit>> {
    let mut same = Vec::new();
    let mut others = Vec::new();
    for id in graph.order().unwrap_or_default() {
        if !is_computed(graph.node(id).op()) {
            continue;
        }
        let out = graph.node(id).outs().first().map(|out| &out.fact);
        let mut inputs: Vec<usize> =
            graph.inputs(id).iter().enumerate().filter_map(|(port, input)| input.map(|_| port)).collect();
        let like = inputs.iter().position(|&port| {
            let input = graph.node(id).input(port).and_then(|input| graph.fact(input));
            input.zip(out).is_some_and(|(a, b)| a.element_type == b.element_type && a.shape == b.shape)
        });
        if let Some(like) = like {
            same.push(vec![Edit::Bypass(id, inputs.remove(like))]);
        }
        others.extend(inputs.into_iter().map(|port| vec![Edit::Bypass(id, port)]));
    }
    same.extend(others);
    same
}

/// Redirects the readers of a Parameter or constant to an earlier Parameter or constant of the same type,
/// preferably of the same shape.
pub(super) fn merges(graph: &Graph) -> Vec<Vec<Edit>> {
    let leaves: Vec<NodeId> = graph.ids().filter(|&id| is_leaf(graph.node(id).op())).collect();
    let fact = |id: NodeId| graph.node(id).outs().first().map(|out| &out.fact);
    let mut edits = Vec::new();
    for (at, &id) in leaves.iter().enumerate() {
        let Some(own) = fact(id) else { continue };
        let earlier = || leaves[..at].iter().copied();
        let is_alike =
            |other: &NodeId| fact(*other).is_some_and(|fact| fact.element_type == own.element_type);
        let is_same = |other: &NodeId| fact(*other).is_some_and(|fact| fact.shape == own.shape);
        let same = earlier().find(|other| is_alike(other) && is_same(other));
        let alike = earlier().find(|other| is_alike(other) && !is_same(other));
        edits.extend([same, alike].into_iter().flatten().map(|other| vec![Edit::Merge(id, other)]));
    }
    edits
}
