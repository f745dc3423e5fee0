//! Lists candidates for the sizes and integers of random inputs. Only a run shows which candidates a model
//! accepts.

use std::collections::BTreeSet;

use snick_ir::{Graph, Op};
use snick_shape::{DimSpec, ShapeSpec};

use crate::{DimPolicy, InputSpec};

/// Policies for dynamic dims, in the order in which they are tried. A model may require equal dims or
/// multiples of a stride.
const SIZES: [DimPolicy; 14] = [
    DimPolicy::Fitting(0),
    DimPolicy::Fitting(1),
    DimPolicy::Fitting(2),
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

/// Policies for models without dynamic dims. They differ only in the integers.
const STATIC_SIZES: [DimPolicy; 2] = [DimPolicy::Fitting(0), DimPolicy::Smallest];

/// Ranges of integers to try after the default range. Small integers are needed if they are indices into
/// short axes, padding or sizes.
const INTEGERS: [(u8, u8); 6] = [(0, 1), (0, 0), (1, 1), (2, 2), (3, 3), (4, 4)];

/// Maximum length of constants whose elements are tried as input sizes: a short constant may be the target
/// shape of a Reshape.
const MAX_SHAPE_LEN: usize = 8;

/// Maximum element of a constant to try as an input size.
const MAX_SIZE: usize = 4096;

/// Maximum number of sizes of constants to try as input sizes. For example, the shape of weights shows the
/// number of channels.
const MAX_CONSTANT_SIZES: usize = 32;

/// Maximum number of dims to try at one more than their smallest size while all other dims have their
/// smallest size. This fits, for example, a mask over past and present tokens, which is longer than either of
/// the two sequences.
const MAX_LONGER: usize = 32;

/// The specifications to try, in order, until the model runs. The first is the default.
pub fn input_candidates(graph: &Graph) -> impl Iterator<Item = InputSpec> {
    let dynamic = dynamic_dims(graph);
    let sizes = if dynamic > 0 { &SIZES[..] } else { &STATIC_SIZES[..] };
    let of_constants = if dynamic > 0 { sizes_of_constants(graph) } else { BTreeSet::new() };
    let usual = sizes.iter().map(|&dims| InputSpec::from(dims));
    let longer = (0..dynamic.min(MAX_LONGER)).map(|n| InputSpec::from(DimPolicy::Longer(n)));
    let others =
        INTEGERS.into_iter().flat_map(|integers| sizes.iter().map(move |&dims| InputSpec { dims, integers }));
    let multiples = of_constants.into_iter().map(|size| InputSpec::from(DimPolicy::MultipleOf(size)));
    usual.chain(longer).chain(others).chain(multiples)
}

/// The smallest dims of constants, and the smallest integers of small constants.
fn sizes_of_constants(graph: &Graph) -> BTreeSet<usize> {
    let mut sizes = BTreeSet::new();
    for id in graph.ids() {
        if let Op::Const(constant) = graph.node(id).op() {
            sizes.extend(constant.dims().iter().filter(|&&size| size > 1));
            let integers = graph.node(id).outs().first().and_then(|out| out.fact.ints()).unwrap_or_default();
            let integers = integers.iter().filter(|_| integers.len() <= MAX_SHAPE_LEN);
            sizes.extend(
                integers.filter_map(|&n| usize::try_from(n).ok()).filter(|n| (2..=MAX_SIZE).contains(n)),
            );
        }
        while sizes.len() > MAX_CONSTANT_SIZES {
            sizes.pop_last();
        }
    }
    sizes
}

/// Whether a Parameter has a dynamic dim.
pub fn has_dynamic_dims(graph: &Graph) -> bool {
    dynamic_dims(graph) > 0
}

/// The number of dynamic dims of all Parameters; an unknown rank counts as four.
fn dynamic_dims(graph: &Graph) -> usize {
    let is_dynamic =
        |dim: &&DimSpec| !matches!(dim, DimSpec::Interval(interval) if interval.is_exact().is_some());
    let of_parameter = |id| match graph.node(id).op() {
        Op::Parameter(parameter) => match &parameter.shape {
            ShapeSpec::Dims(dims) => dims.iter().filter(is_dynamic).count(),
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
    fn a_mask_over_past_and_present_is_tried() {
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
        // The dims of `new` and `past` are outermost and come last, so the first try lengthens the mask.
        assert_eq!(fits, Some(0));
    }
}
