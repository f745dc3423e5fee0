//! The search for inputs that a model runs with: which candidates are worth a run.

use snick::{Prediction, has_dynamic_dims};
use snick_ir::Graph;
use snick_tensor::Tensor;

/// The elements of all values of all tried runs together, beyond which no further one is tried.
const MAX_ELEMENTS: u64 = 1 << 27;

/// The bytes of the values of a run, above which it is tried only if nothing else can be.
const MAX_BYTES: u64 = 1 << 30;

/// The most candidates that are looked at.
const MAX_CANDIDATES: usize = 200;

/// The candidates looked at so far. What is tried does not depend on the time that it takes: on every machine the same
/// inputs are found.
pub struct Search {
    /// Whether sizes are to be chosen.
    has_sizes: bool,
    looked_at: usize,
    elements: u64,
}

impl Search {
    /// Nothing is looked at yet.
    pub fn new(graph: &Graph) -> Self {
        Self { has_sizes: has_dynamic_dims(graph), looked_at: 0, elements: 0 }
    }

    /// Whether inputs are worth a run: inference does not refute them, and what they take is left.
    pub fn admits(&mut self, graph: &Graph, steps: &[Vec<Tensor>]) -> bool {
        self.looked_at += 1;
        if !self.has_sizes {
            return true; // all candidates are of the same sizes
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

    /// Whether no further candidate is to be looked at.
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
        // Runs of 2^26 elements each: the budget is for one.
        assert!(search.admits(&graph, &inputs(1 << 13, 1 << 13)));
        assert!(!search.admits(&graph, &inputs(1 << 13, 1 << 13)) && !search.is_over());
        assert!(!(0..MAX_CANDIDATES).any(|_| search.admits(&graph, &inputs(3, 4))));
        assert!(search.is_over());
    }
}
