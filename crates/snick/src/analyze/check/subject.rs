//! The model to check, with data that several checks need.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::path::PathBuf;

use snick_ir::ops::source::constant::Constant;
use snick_ir::{Code, Graph, Loc, Located, NodeId, NodeRef, Op, OpError};
use snick_read::openvino::Survey;

use super::CheckOptions;
use super::fixed_sizes::FixedSizes;
use super::layers::readers;
use super::plug_ins::is_internal;
use crate::Model;

/// Identifies a layer in errors: location and name.
type LayerKey<'m> = (Loc, &'m str);

/// An inferred model, with facts about its file.
pub(super) struct Subject<'m> {
    pub(super) model: &'m Model,
    pub(super) graph: &'m Graph,
    /// The errors found while the file was read and while the model was inferred.
    pub(super) errors: &'m [Located],
    pub(super) survey: Option<Survey>,
    pub(super) options: &'m CheckOptions,
    /// Layers with errors, including layers with an error in a body.
    failed: HashSet<LayerKey<'m>>,
    /// Layers downstream of layers with errors or of operations internal to plug-ins.
    behind: HashSet<LayerKey<'m>>,
    /// The subset of `behind` that depends on a shape inferred downstream of an error. Such a shape may be
    /// wrong, so errors of these layers are not reported.
    misled: HashSet<LayerKey<'m>>,
    fixed_sizes: OnceCell<FixedSizes>,
}

/// Errors with these codes remove edges from the graph. Other findings could merely be consequences of the
/// missing edges.
const OF_EDGES: [Code; 3] = [Code::DanglingEdge, Code::Cycle, Code::SecondProducer];

impl<'m> Subject<'m> {
    pub(super) fn new(
        model: &'m Model,
        errors: &'m [Located],
        survey: Option<Survey>,
        options: &'m CheckOptions,
    ) -> Self {
        let failed = errors.iter().flat_map(levels).collect();
        let (behind, misled) = (HashSet::new(), HashSet::new());
        let mut subject = Self {
            model,
            graph: model.graph(),
            errors,
            survey,
            options,
            failed,
            behind,
            misled,
            fixed_sizes: OnceCell::new(),
        };
        [subject.behind, subject.misled] = subject.layers_behind_failures();
        subject
    }

    /// Whether the graph has all of its edges: no error has removed one.
    pub(super) fn has_all_edges(&self) -> bool {
        self.errors.iter().all(|error| !OF_EDGES.contains(&Code::from(&error.error)))
    }

    /// Whether the values of all constants are available.
    pub(super) fn has_all_weights(&self) -> bool {
        let is_without = |error: &Located| {
            matches!(Code::from(&error.error), Code::WeightsMissing | Code::WeightsTruncated)
        };
        !self.errors.iter().any(is_without) && self.constants_without_bytes().next().is_none()
    }

    /// The constants without values because the weights file is missing.
    pub(super) fn constants_without_bytes(&self) -> impl Iterator<Item = NodeRef<'m>> {
        let is_absent = |node: &NodeRef| {
            matches!(node.op(), Op::Const(Constant::Absent(absent))
                if !absent.is_truncated && !absent.dims.contains(&0) && absent.digest.is_none())
        };
        self.nodes().filter(is_absent)
    }

    /// The input sizes that are declared dynamic but fixed by a layer.
    pub(super) fn fixed_sizes(&self) -> &FixedSizes {
        self.fixed_sizes.get_or_init(|| match self.has_all_edges() {
            true => FixedSizes::of(self.graph),
            false => FixedSizes::default(),
        })
    }

    /// Whether a layer has an error.
    pub(super) fn has_failed(&self, node: NodeRef) -> bool {
        self.failed.contains(&(node.loc(), node.name()))
    }

    /// Whether an error may be a consequence of another error.
    pub(super) fn is_misled(&self, error: &'m Located) -> bool {
        levels(error).any(|layer| self.misled.contains(&layer))
    }

    /// Whether a layer is downstream of a layer with an error or of an operation internal to plug-ins.
    pub(super) fn is_behind_failure(&self, node: NodeRef) -> bool {
        self.behind.contains(&(node.loc(), node.name()))
    }

    /// The sets `behind` and `misled`.
    fn layers_behind_failures(&self) -> [HashSet<LayerKey<'m>>; 2] {
        let has_shape = |node: NodeRef| node.outs().iter().any(|out| out.fact.shape().rank().is_some());
        [self.reached(|_| true), self.reached(has_shape)]
    }

    /// The layers downstream of layers with errors or of internal operations. Follows the outputs of a layer
    /// only if `passes_on` accepts the layer.
    fn reached(&self, passes_on: impl Fn(NodeRef) -> bool) -> HashSet<LayerKey<'m>> {
        let mut reached = HashSet::new();
        for graph in self.graphs() {
            let is_source = |&id: &NodeId| self.has_failed(graph.node(id)) || is_internal(graph.node(id));
            let mut todo: Vec<NodeId> = graph.ids().filter(is_source).collect();
            if todo.is_empty() {
                continue;
            }
            let readers = readers(graph);
            let mut seen: HashSet<NodeId> = HashSet::new();
            while let Some(id) = todo.pop() {
                if passes_on(graph.node(id)) {
                    todo.extend(
                        readers.get(&id).into_iter().flatten().filter(|&&reader| seen.insert(reader)),
                    );
                }
            }
            reached.extend(seen.into_iter().map(|id| (graph.node(id).loc(), graph.node(id).name())));
        }
        reached
    }

    /// The weights file of an OpenVINO IR.
    pub(super) fn weights_file(&self) -> Option<&'m PathBuf> {
        let is_bin = |path: &&PathBuf| path.extension().is_some_and(|name| name.eq_ignore_ascii_case("bin"));
        self.survey.as_ref().and_then(|_| self.model.files().iter().find(is_bin))
    }

    /// The graph of the model and all bodies. A graph precedes the bodies of its layers.
    pub(super) fn graphs(&self) -> Vec<&'m Graph> {
        let mut found = vec![self.graph];
        let mut at = 0;
        while let Some(&graph) = found.get(at) {
            at += 1;
            found.extend(graph.ids().flat_map(|id| graph.node(id).op().bodies().map(|(_, body)| body)));
        }
        found
    }

    /// The layers of the model and its bodies.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeRef<'m>> {
        self.graphs().into_iter().flat_map(|graph| graph.ids().map(|id| graph.node(id)))
    }
}

/// The layer that reports an error; if it passes on an error from its body, then the layer in the body, and
/// so on.
fn levels(error: &Located) -> impl Iterator<Item = LayerKey<'_>> {
    fn inner<'e>(error: &&'e Located) -> Option<&'e Located> {
        let error: &'e Located = error;
        match &error.error {
            OpError::Inside(inner) => Some(inner),
            _ => None,
        }
    }
    std::iter::successors(Some(error), inner).map(|error| (error.loc, error.layer.as_str()))
}
