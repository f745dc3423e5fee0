//! Traverses both models and their bodies, and collects the differences.

use std::collections::{HashMap, HashSet};

use snick_ir::ops::source::constant::Constant;
use snick_ir::{Graph, NodeRef, Op};

use super::causes::{self, Symbols};
use super::ends::{self, Pairs};
use super::matching::Matching;
use super::port_map::map_changes;
use super::scope::{Body, Scope};
use super::{AttrChange, EndChange, LayerRef, ModelDiff, ModelEnd, ShapeDrift};
use crate::{Error, public_name};

/// A comparison in progress.
#[derive(Default)]
pub(super) struct Comparison {
    diff: ModelDiff,
    symbols: Symbols,
}

/// The names of the bodies that contain the current layers, for both models; empty outside of bodies.
type Path = [String; 2];

impl Comparison {
    /// Compares two models.
    ///
    /// # Errors
    /// A model has a cycle.
    pub fn of(a: &Graph, b: &Graph) -> Result<ModelDiff, Error> {
        let has_weights = !(lacks_weights(a) || lacks_weights(b));
        let (a, b) = (Scope::new(a, has_weights)?, Scope::new(b, has_weights)?);
        let mut comparison = Self::default();
        let matching = Matching::new(&a, &b, &ends::parameters(&a, &b), None);
        comparison.diff.inputs = end_diffs(&matching, &a.parameters, &b.parameters);
        comparison.diff.outputs = end_diffs(&matching, &a.results, &b.results);
        let pairs = matching.pairs().map(|(x, y)| (a.layers[x].id(), b.layers[y].id()));
        comparison.diff.pairs = pairs.collect();
        comparison.layers(&matching, &Path::default());
        if comparison.diff.is_equal() {
            comparison.diff.shape_drift = None;
        }
        Ok(comparison.diff)
    }

    /// Compares the layers of two graphs, and their bodies.
    fn layers(&mut self, matching: &Matching, path: &Path) {
        let (a, b) = (matching.a, matching.b);
        let left = |layers: &[NodeRef], of: &[Option<usize>], path: &str| {
            let left = layers.iter().zip(of).filter(|(_, other)| other.is_none());
            left.map(|(&node, _)| LayerRef::of(node, path)).collect::<Vec<_>>()
        };
        self.diff.removed.extend(left(&a.layers, &matching.of_a, &path[0]));
        self.diff.added.extend(left(&b.layers, &matching.of_b, &path[1]));
        for (x, y) in matching.pairs() {
            let mut own = causes::compare(matching, x, y, &mut self.symbols);
            self.diff.uncompared += usize::from(own.is_unknown);
            let bodies = (a.bodies.get(&x), b.bodies.get(&y));
            let bodies: Vec<BodyPair> = match bodies {
                (Some(ours), Some(theirs)) => ours.iter().zip(theirs).map(BodyPair::of).collect(),
                _ => Vec::new(),
            };
            let links: Vec<AttrChange> = bodies.iter().flat_map(BodyPair::link_changes).collect();
            if !links.is_empty() {
                own.change.get_or_insert_default().attrs.extend(links);
            }
            match own.change {
                Some(mut change) => {
                    change.a = LayerRef::of(a.layers[x], &path[0]);
                    change.b = LayerRef::of(b.layers[y], &path[1]);
                    self.diff.changed.push(change);
                }
                None => self.unchanged(matching, x, y, path),
            }
            for pair in bodies {
                let inner = |node: NodeRef, path: &str| match path {
                    "" => format!("{}/{}", node.name(), pair.a.role),
                    path => format!("{path}/{}/{}", node.name(), pair.a.role),
                };
                let inside = [inner(a.layers[x], &path[0]), inner(b.layers[y], &path[1])];
                let (a, b) = (&pair.a.scope, &pair.b.scope);
                self.layers(&Matching::new(a, b, &pair.parameters, Some(pair.results)), &inside);
            }
        }
    }

    /// Counts an unchanged layer. If its type or shape differs, this is a consequence of other changes, and
    /// is recorded as shape drift.
    fn unchanged(&mut self, matching: &Matching, x: usize, y: usize, path: &Path) {
        let (a, b) = (matching.a.layers[x], matching.b.layers[y]);
        match a.name() == b.name() {
            true => self.diff.same += 1,
            false => self.diff.renamed += 1,
        }
        let Some((ours, theirs)) = causes::differing_facts(matching, x, y) else { return };
        if let Some(drift) = &mut self.diff.shape_drift {
            drift.layers += 1;
            return;
        }
        let facts = [(ours, matching.a.graph), (theirs, matching.b.graph)].map(|(fact, graph)| {
            format!("{}{}", fact.element_type(), fact.shape().display_intervals(graph.symbols()))
        });
        let first = [LayerRef::of(a, &path[0]), LayerRef::of(b, &path[1])];
        self.diff.shape_drift = Some(ShapeDrift { first, facts, layers: 1 });
    }
}

/// Whether the elements of any constant are absent, including constants in bodies.
fn lacks_weights(graph: &Graph) -> bool {
    graph.ids().any(|id| {
        let op = graph.node(id).op();
        matches!(op, Op::Const(Constant::Absent(_))) || op.bodies().any(|(_, body)| lacks_weights(body))
    })
}

/// Two corresponding bodies of two corresponding layers.
struct BodyPair<'s, 'g> {
    a: &'s Body<'g>,
    b: &'s Body<'g>,
    parameters: Pairs,
    results: Pairs,
}

impl<'s, 'g> BodyPair<'s, 'g> {
    fn of((a, b): (&'s Body<'g>, &'s Body<'g>)) -> Self {
        let parameters = ends::of_body(&a.parameters, &b.parameters);
        let results = ends::of_body(&a.results, &b.results);
        Self { a, b, parameters, results }
    }

    /// Differences between the port maps of the two bodies, as attributes.
    fn link_changes(&self) -> Vec<AttrChange> {
        let numbers = |pairs: &Pairs, count: usize| {
            let mut numbers = vec![None; count];
            pairs.iter().for_each(|&(x, y)| numbers[x] = Some(y));
            numbers
        };
        let parameters = numbers(&self.parameters, self.a.parameters.len());
        let results = numbers(&self.results, self.a.results.len());
        let changes = map_changes(self.a.map, self.b.map, &parameters, &results);
        let role = if self.a.role == "else_body" { "else_" } else { "" };
        let attr = |(name, values): (String, [String; 2])| AttrChange {
            name: format!("{role}{name}"),
            values: values.map(Some),
        };
        changes.into_iter().map(attr).collect()
    }
}

/// The inputs or outputs that differ in any way. They are in the order of the first model, followed by the
/// inputs or outputs that only the second model has.
fn end_diffs(matching: &Matching, ours: &[usize], theirs: &[usize]) -> Vec<EndChange> {
    let (a, b) = (matching.a, matching.b);
    let number: HashMap<usize, usize> =
        theirs.iter().enumerate().map(|(number, &end)| (end, number)).collect();
    let of = |x: &usize| matching.of_a[*x].and_then(|y| number.get(&y).copied());
    let places: Vec<Option<usize>> = ours.iter().map(of).collect();
    let rank: HashMap<usize, usize> = {
        let mut shared: Vec<usize> = places.iter().flatten().copied().collect();
        shared.sort_unstable();
        shared.into_iter().enumerate().map(|(rank, place)| (place, rank)).collect()
    };
    let owners = (owners(a, ours), owners(b, theirs));
    let mut next = 0;
    let mut diffs = Vec::new();
    for (index, place) in places.iter().enumerate() {
        let x = end(a, ours[index], index);
        let Some(place) = *place else {
            diffs.push(EndChange { a: Some(x), b: None, is_moved: false, is_exchanged: false });
            continue;
        };
        let y = end(b, theirs[place], place);
        let is_moved = rank.get(&place) != Some(&next);
        next += 1;
        let has_other_owner = |scope: &Scope, of: usize, owners: &HashMap<&str, usize>, own: usize| {
            scope
                .tensor_names(of)
                .iter()
                .any(|name| owners.get(name.as_str()).is_some_and(|&owner| owner != own))
        };
        let is_exchanged = has_other_owner(b, theirs[place], &owners.0, index)
            || has_other_owner(a, ours[index], &owners.1, place);
        let is_same = x.name == y.name && x.element_type == y.element_type && x.shape == y.shape;
        if !is_same || is_moved || is_exchanged {
            diffs.push(EndChange { a: Some(x), b: Some(y), is_moved, is_exchanged });
        }
    }
    let kept: HashSet<usize> = places.into_iter().flatten().collect();
    let added = (0..theirs.len()).filter(|place| !kept.contains(place));
    diffs.extend(added.map(|place| EndChange {
        a: None,
        b: Some(end(b, theirs[place], place)),
        is_moved: false,
        is_exchanged: false,
    }));
    diffs
}

/// Maps each tensor name to the index of the input or output that has the name. Omits names that several
/// inputs or outputs share.
fn owners<'s>(scope: &Scope<'s>, ends: &[usize]) -> HashMap<&'s str, usize> {
    let mut owners = HashMap::new();
    let mut shared = HashSet::new();
    for (number, &end) in ends.iter().enumerate() {
        for name in scope.tensor_names(end) {
            if owners.insert(name.as_str(), number).is_some_and(|before| before != number) {
                shared.insert(name.as_str());
            }
        }
    }
    owners.retain(|name, _| !shared.contains(name));
    owners
}

fn end(scope: &Scope, layer: usize, index: usize) -> ModelEnd {
    let node = scope.layers[layer];
    let fact = node.outputs().next();
    let shape = fact.map(|fact| fact.shape().display_intervals(scope.graph.symbols()).to_string());
    ModelEnd {
        name: public_name(scope.graph, node.id()).to_string(),
        index,
        element_type: fact.map_or(snick_tensor::ElementType::Dynamic, |fact| fact.element_type()),
        shape: shape.unwrap_or_default(),
        loc: node.loc(),
    }
}
