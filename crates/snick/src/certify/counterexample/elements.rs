//! Random elements of inputs.

use snick_ir::{Graph, NodeId};
use snick_tensor::{ElementType, SplitMix, Tensor, TensorError};

use crate::random_inputs::{element_type, tensor};

/// A distribution of elements. Different mistakes need different elements to show: few values for
/// comparisons, tiny values for small terms such as epsilons, and large values for bounds.
#[derive(Copy, Clone)]
pub(super) struct Distribution {
    floats: Floats,
    /// The largest integer.
    most: u8,
}

#[derive(Copy, Clone)]
enum Floats {
    /// Whole numbers from -2 to 2.
    Few,
    /// Numbers with this standard deviation, at most three times as large.
    Scaled(f64),
}

impl Distribution {
    pub(super) const ALL: [Self; 4] = [
        Self { floats: Floats::Scaled(1.0), most: 2 },
        Self { floats: Floats::Few, most: 1 },
        Self { floats: Floats::Scaled(1e-3), most: 0 },
        Self { floats: Floats::Scaled(30.0), most: 8 },
    ];

    /// One tensor of these sizes per input.
    pub(super) fn draw(
        self,
        graph: &Graph,
        dims: &[Vec<usize>],
        random: &mut SplitMix,
    ) -> Result<Vec<Tensor>, TensorError> {
        let inputs = graph.parameters().zip(dims);
        inputs.map(|(id, dims): (NodeId, _)| self.tensor(element_type(graph, id), dims, random)).collect()
    }

    fn tensor(
        self,
        element_type: ElementType,
        dims: &[usize],
        random: &mut SplitMix,
    ) -> Result<Tensor, TensorError> {
        if !element_type.is_float() {
            return tensor(element_type, dims, (0, self.most), random);
        }
        let mut float = || match self.floats {
            Floats::Few => random.below(5) as f64 - 2.0,
            // The sum of three uniform numbers has variance 1 and is close to a normal distribution.
            Floats::Scaled(scale) => scale * (random.unit() + random.unit() + random.unit()),
        };
        let count = dims.iter().product();
        Tensor::from_vec(dims, (0..count).map(|_| float()).collect::<Vec<f64>>())?.cast(element_type)
    }
}
