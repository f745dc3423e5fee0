//! Reduces a model as long as it stays interesting, that is, passes a test of the caller. Uses delta
//! debugging.
//!
//! An [`Edit`] makes a model slightly smaller: it removes a layer, replaces it with Parameters, redirects
//! readers, or shrinks shapes, attributes and bodies. `edit.rs` applies edits; `layers.rs`, `shapes.rs`,
//! `attributes.rs` and `bodies.rs` list the possible edits of a model.
//!
//! The edits of a kind are first tried all at once, then in halves, then one by one. This is repeated for all
//! kinds until no single edit keeps the model interesting, so the result is 1-minimal. Each accepted edit
//! makes the model smaller as measured by [`Size`], so the loop terminates.

mod attributes;
mod bodies;
mod diagnostic;
mod edit;
mod layers;
mod shapes;
mod size;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use snick_ir::text::{PrintOptions, print};
use snick_ir::{Graph, Located, infer};

pub use diagnostic::ErrorKind;
use edit::{Edit, applied};
use size::Size;

/// Lists all edits of one kind for a model. Each entry is a sequence of edits that are applied together.
type Edits = fn(&Graph) -> Vec<Vec<Edit>>;

/// All kinds of edits, starting with the kinds that remove the most.
const KINDS: [Edits; 9] = [
    layers::drops,
    bodies::hoists,
    layers::cuts,
    layers::bypasses,
    layers::merges,
    bodies::cuts,
    shapes::common_sizes,
    shapes::single_sizes,
    attributes::defaults,
];

/// A reduced model.
#[derive(Clone, Debug)]
#[must_use]
#[non_exhaustive]
pub struct Reduction {
    /// The model, inferred.
    pub graph: Graph,
    /// Number of models tested.
    pub tests: usize,
    /// Whether no single edit gives a smaller model that is still interesting. `false` if the limit on tests
    /// was reached first.
    pub is_minimal: bool,
}

/// Reduces an inferred graph as long as `is_interesting` holds for it. The function must hold for the graph
/// itself. It receives a graph and the errors of its inference, and is called at most `max_tests` times.
///
/// ```
/// let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4,64\"}\n  \
///             %a = ReLU-1(%x)\n  %b = Abs-1(%a)\n  %c = Sqrt-1(%b)\n  %y = Result-1(%c)\n}\n";
/// let mut model = snick::parse(text)?;
/// model.infer().into_result()?;
/// let has_abs = |graph: &snick::Graph| graph.ids().any(|id| graph.node(id).op().type_name() == "Abs");
/// let reduced = snick::reduce(model.graph(), 1000, &mut |graph, _| has_abs(graph));
/// assert!(reduced.is_minimal);
/// assert_eq!(reduced.graph.len(), 3, "a Parameter, Abs and a Result");
/// # Ok::<(), snick::Error>(())
/// ```
pub fn reduce(
    graph: &Graph,
    max_tests: usize,
    is_interesting: &mut dyn FnMut(&Graph, &[Located]) -> bool,
) -> Reduction {
    let mut tested = HashSet::new();
    tested.insert(fingerprint(graph));
    let (graph, size) = (graph.clone(), Size::of(graph));
    let mut reducer = Reducer { graph, size, tested, is_interesting, tests: 0, max_tests };
    let mut is_minimal = false;
    while !is_minimal && !reducer.is_over() {
        is_minimal = true;
        for edits in KINDS {
            is_minimal &= !reducer.try_all(edits);
        }
    }
    Reduction { tests: reducer.tests, is_minimal: is_minimal && !reducer.is_over(), graph: reducer.graph }
}

/// Identifies a model, to avoid testing it twice.
fn fingerprint(graph: &Graph) -> u64 {
    let mut hasher = DefaultHasher::new();
    print(graph, PrintOptions::new()).hash(&mut hasher);
    hasher.finish()
}

struct Reducer<'t> {
    /// The smallest interesting model so far.
    graph: Graph,
    size: Size,
    /// Fingerprints of the tested models.
    tested: HashSet<u64>,
    is_interesting: &'t mut dyn FnMut(&Graph, &[Located]) -> bool,
    tests: usize,
    max_tests: usize,
}

impl Reducer<'_> {
    fn is_over(&self) -> bool {
        self.tests >= self.max_tests
    }

    /// Tries the edits of a kind, first many at once, then fewer at a time. Returns whether any edit was
    /// accepted.
    fn try_all(&mut self, edits_of: Edits) -> bool {
        let mut edits = edits_of(&self.graph);
        let mut many = edits.len();
        let mut kept = false;
        while many > 0 && !self.is_over() {
            let mut at = 0;
            while at < edits.len() && !self.is_over() {
                let end = (at + many).min(edits.len());
                if self.try_edits(&edits[at..end].concat()) {
                    // Tries the same position again, because the list of edits has changed.
                    edits = edits_of(&self.graph);
                    kept = true;
                } else {
                    at = end;
                }
            }
            many /= 2;
        }
        kept
    }

    /// Accepts the edited model if it is smaller and still interesting.
    fn try_edits(&mut self, edits: &[Edit]) -> bool {
        let Some(mut graph) = applied(&self.graph, edits) else { return false };
        // A model that has Results must keep one.
        let has_results = graph.results().next().is_some() || self.graph.results().next().is_none();
        let size = Size::of(&graph);
        if !has_results || size >= self.size {
            return false;
        }
        let errors = infer(&mut graph);
        if !self.tested.insert(fingerprint(&graph)) {
            return false;
        }
        self.tests += 1;
        let is_kept = (self.is_interesting)(&graph, &errors);
        if is_kept {
            (self.graph, self.size) = (graph, size);
        }
        is_kept
    }
}
