//! How much an op computes.

use snick_shape::SymExpr;

use super::{FactorKind, OpTraits};
use crate::{Fact, Graph, NodeId};

/// The arithmetic of a layer, without its bodies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OpCost {
    /// None: the layer moves elements or reads shapes.
    None,
    /// The number of operations is the product of these sizes.
    Elementwise(Vec<SymExpr>),
    /// The number of multiply-accumulates is a sum of products. Each inner list holds the factors of one
    /// product.
    MultiplyAdds(Vec<Vec<SymExpr>>),
}

impl OpCost {
    /// For each element of `value`, `product(sizes)` multiply-accumulates.
    pub(crate) fn multiply_adds(value: &Fact, sizes: &[SymExpr]) -> Option<Self> {
        Some(Self::MultiplyAdds(vec![[value.shape.dims()?, sizes].concat()]))
    }
}

impl Graph {
    /// How much a node computes; `None` if the op does not declare it or a rank is unknown.
    ///
    /// ```
    /// # use snick::{text, OpCost};
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2,4\"}\n  \
    /// #   %w = Parameter-1 {element_type: f32, shape: \"4,8\"}\n  %p = MatMul-1(%x, %w)\n  %y = Result-1(%p)\n}\n";
    /// let mut graph = text::parse(text, None)?;
    /// snick::infer(&mut graph);
    /// let cost = graph.cost(graph.find("p").unwrap());
    /// assert_eq!(cost, Some(OpCost::MultiplyAdds(vec![vec![2.into(), 8.into(), 4.into()]])));
    /// # Ok::<(), snick::text::ParseError>(())
    /// ```
    pub fn cost(&self, id: NodeId) -> Option<OpCost> {
        let moves = OpTraits::MOVES_ELEMENTS | OpTraits::NO_ARITHMETIC | OpTraits::BOUNDARY;
        let op = self.node(id).op();
        if op.traits().intersects(moves | OpTraits::HAS_BODIES) {
            return Some(OpCost::None);
        }
        let inputs = self.input_facts(id)?;
        op.arity().check(inputs.len()).ok()?;
        let output = &self.node(id).outs().first()?.fact;
        let adds_up = op.has(OpTraits::CONTRACTION);
        let by_axes = || {
            let map = self.axis_map(id)?;
            let reduced = map.factors.iter().filter(|factor| factor.kind == FactorKind::Reduction);
            let size = |&(input, axis): &(usize, usize)| inputs[input].shape.dims()?.get(axis).cloned();
            let reduced = reduced.map(|factor| factor.inputs.first().and_then(size));
            let sizes = output.shape.dims()?.iter().cloned().map(Some).chain(reduced);
            let sizes = sizes.collect::<Option<_>>()?;
            Some(if adds_up { OpCost::MultiplyAdds(vec![sizes]) } else { OpCost::Elementwise(sizes) })
        };
        // Each row of input 0 is multiplied by all weights.
        let by_weights = || {
            let (_, rows) = inputs[0].shape.dims()?.split_last()?;
            let product = |&port: &usize| Some([rows, inputs[port].shape.dims()?].concat());
            op.weights().iter().map(product).collect::<Option<_>>().map(OpCost::MultiplyAdds)
        };
        let is_dense = adds_up && !op.weights().is_empty();
        op.cost(&inputs, output).or_else(by_axes).or_else(|| is_dense.then(by_weights)?)
    }
}
