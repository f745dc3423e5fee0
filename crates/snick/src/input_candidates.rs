//! In which order to try draws of inputs: what a model demands of them is not known before it runs.

use std::collections::BTreeSet;

use snick_ir::{Graph, Op};
use snick_shape::{DimSpec, ShapeSpec};

use crate::{DimPolicy, InputSpec};

/// The sizes of open dims that are tried, in turn. What a model demands of them is not known before it runs: that they
/// are equal, or multiples of a stride.
const SIZES: [DimPolicy; 11] = [
    DimPolicy::Smallest,
    DimPolicy::Drawn,
    DimPolicy::Drawn,
    DimPolicy::Drawn,
    DimPolicy::MultipleOf(16),
    DimPolicy::MultipleOf(2),
    DimPolicy::MultipleOf(4),
    DimPolicy::MultipleOf(8),
    DimPolicy::MultipleOf(32),
    DimPolicy::MultipleOf(64),
    DimPolicy::MultipleOf(128),
];

/// The integers that are tried where others will not do: they may be indices into short axes, padding, sizes.
const INTEGERS: [(u8, u8); 6] = [(0, 1), (0, 0), (1, 1), (2, 2), (3, 3), (4, 4)];

/// Sizes of constants that are tried as sizes of inputs, where nothing else will do: weights tell how many channels
/// there are.
const MAX_CONSTANT_SIZES: usize = 32;

/// Open dims that are tried one longer than the smallest while all others are the smallest: a mask covers what is
/// remembered and what is new, so it is longer than either.
const MAX_LONGER: usize = 32;

/// Draws in the order in which to try them until the model runs; the first one is what [`InputSpec`] gives by itself.
pub fn input_candidates(graph: &Graph) -> impl Iterator<Item = InputSpec> {
    let open = open_dims(graph);
    let sizes = if open > 0 { &SIZES[..] } else { &SIZES[..1] };
    let of_constants = if open > 0 { sizes_of_constants(graph) } else { BTreeSet::new() };
    let usual = sizes.iter().map(|&dims| InputSpec::from(dims));
    let longer = (0..open.min(MAX_LONGER)).map(|n| InputSpec::from(DimPolicy::Longer(n)));
    let others =
        INTEGERS.into_iter().flat_map(|integers| sizes.iter().map(move |&dims| InputSpec { dims, integers }));
    let multiples = of_constants.into_iter().map(|size| InputSpec::from(DimPolicy::MultipleOf(size)));
    usual.chain(longer).chain(others).chain(multiples)
}

/// Sizes that constants have along some axis, the smallest of them.
fn sizes_of_constants(graph: &Graph) -> BTreeSet<usize> {
    let mut sizes = BTreeSet::new();
    for id in graph.ids() {
        if let Op::Const(constant) = &graph.node(id).op {
            sizes.extend(constant.dims().iter().filter(|&&size| size > 1));
        }
        while sizes.len() > MAX_CONSTANT_SIZES {
            sizes.pop_last();
        }
    }
    sizes
}

/// Whether a parameter was declared with a dim that is not a number.
pub fn has_open_dims(graph: &Graph) -> bool {
    open_dims(graph) > 0
}

/// How many dims of parameters were declared open; a parameter of unknown rank is drawn with four.
fn open_dims(graph: &Graph) -> usize {
    let is_open =
        |dim: &&DimSpec| !matches!(dim, DimSpec::Interval(interval) if interval.is_exact().is_some());
    let of_parameter = |id| match &graph.node(id).op {
        Op::Parameter(parameter) => match &parameter.shape {
            ShapeSpec::Dims(dims) => dims.iter().filter(is_open).count(),
            ShapeSpec::Unranked => 4,
        },
        _ => 0,
    };
    graph.parameters().map(of_parameter).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw_inputs;

    #[test]
    fn a_mask_over_past_and_present_is_found() {
        let text = "snick 1\ngraph \"g\" {\n  %new = Parameter-1 {element_type: f32, shape: \"?,2\"}\n  \
                    %past = Parameter-1 {element_type: f32, shape: \"?,2\"}\n  \
                    %mask = Parameter-1 {element_type: f32, shape: \"?\"}\n}\n";
        let mut graph = snick_ir::text::parse(text, None).unwrap();
        assert!(snick_ir::infer(&mut graph).is_empty());
        let mut longer = input_candidates(&graph).filter(|draw| matches!(draw.dims, DimPolicy::Longer(_)));
        let fits = longer.position(|draw| {
            let inputs = draw_inputs(&graph, vec![None; 3], 0, draw).unwrap();
            inputs[0].dims()[0] + inputs[1].dims()[0] == inputs[2].dims()[0]
        });
        assert_eq!(fits, Some(2));
    }
}
