//! The search for inputs that a model accepts. Decides for which candidates to run the model.

use snick::{Prediction, has_dynamic_dims};
use snick_ir::Graph;
use snick_tensor::Tensor;

/// Maximum number of elements that all runs of the search compute together.
const MAX_ELEMENTS: u64 = 1 << 27;

/// Maximum size of the values of a run. Callers only run a larger candidate if no other candidate ran before.
const MAX_BYTES: u64 = 1 << 30;

/// Maximum number of candidates to consider.
const MAX_CANDIDATES: usize = 200;

/// A search in progress. The search does not depend on time, so it finds the same inputs on every machine.
pub struct Search {
    /// Whether dims are dynamic, so that candidates may differ in size.
    has_sizes: bool,
    looked_at: usize,
    elements: u64,
}

impl Search {
    /// Starts a search.
    pub fn new(graph: &Graph) -> Self {
        Self { has_sizes: has_dynamic_dims(graph), looked_at: 0, elements: 0 }
    }

    /// Whether to run the model on these inputs. Returns `false` if inference finds an error for their
    /// shapes, or if the run would exceed the budget.
    pub fn admits(&mut self, graph: &Graph, steps: &[Vec<Tensor>]) -> bool {
        self.looked_at += 1;
        if !self.has_sizes {
            return true; // all candidates have the same sizes
        }
        let predictions = steps.iter().map(|inputs| Prediction::of(graph, inputs));
        let mut elements = self.elements;
        for prediction in predictions {
            elements = elements.saturating_add(prediction.elements);
            let is_small = prediction.peak_bytes <= MAX_BYTES && elements <= MAX_ELEMENTS;
            if !prediction.errors.is_empty() || !is_small {
                return false;
            }
        }
        self.elements = elements;
        true
    }

    /// Whether to stop the search.
    pub fn is_over(&self) -> bool {
        self.looked_at >= MAX_CANDIDATES || self.elements >= MAX_ELEMENTS
    }
}

#[cfg(test)]
mod tests {
    use snick_tensor::ElementType;

    use super::*;

    #[test]
    fn what_is_refuted_or_large_is_not_run() {
        let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
                    %y = Parameter-1 {element_type: f32, shape: \"2..\"}\n  %one = Const-1 i64[2] <-1, 1>\n  \
                    %r = Reshape-1(%x, %one) {special_zero: false}\n  \
                    %p = Multiply-1(%r, %y) {auto_broadcast: numpy}\n  \
                    %c = Add-1(%x, %y) {auto_broadcast: none}\n  %z = Result-1(%p)\n  %w = Result-1(%c)\n}\n";
        let mut graph = snick_ir::text::parse(text, None).unwrap();
        assert_eq!(snick_ir::infer(&mut graph), []);
        let inputs =
            |x, y| [vec![x, y].into_iter().map(|n| Tensor::zeros(ElementType::F32, &[n]).unwrap()).collect()];
        let mut search = Search::new(&graph);
        assert!(search.admits(&graph, &inputs(3, 3)));
        assert!(!search.admits(&graph, &inputs(3, 4)), "the shapes differ");
        assert!(!search.admits(&graph, &inputs(1 << 15, 1 << 15)), "4 GiB");
        assert!(!search.is_over());
        // Each run computes more than 2^26 elements, so the budget of 2^27 suffices for only one.
        assert!(search.admits(&graph, &inputs(1 << 13, 1 << 13)));
        assert!(!search.admits(&graph, &inputs(1 << 13, 1 << 13)) && !search.is_over());
        assert!(!(0..MAX_CANDIDATES).any(|_| search.admits(&graph, &inputs(3, 4))));
        assert!(search.is_over());
    }
}
