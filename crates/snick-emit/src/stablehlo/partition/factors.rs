//! Factors. Each factor of an operation stands for dims of its operands and results that correspond to each
//! other.

use snick_ir::{AxisMap, FactorKind};

/// Dims, or factors of dims, that are sharded in the same way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Factor {
    pub(super) size: usize,
    pub(super) kind: FactorKind,
    /// The dims, each as tensor index and dim. Operands come first, then results.
    pub(super) places: Vec<(usize, usize)>,
}

/// The factors of an operation. If a dim has several factors, they are ordered from outermost to innermost.
#[derive(Clone, Default, Debug)]
pub(super) struct Rule {
    pub(super) factors: Vec<Factor>,
}

impl Rule {
    /// The rule for a map of corresponding dims. `tensors` holds the sizes of the operands, followed by those
    /// of the result.
    pub(super) fn sized(map: AxisMap, tensors: &[&[usize]]) -> Self {
        let mut rule = Self::default();
        for factor in map.factors {
            let result = factor.output.map(|dim| (tensors.len().saturating_sub(1), dim));
            let places: Vec<(usize, usize)> = factor.inputs.into_iter().chain(result).collect();
            let sizes = places.iter().filter_map(|&(tensor, dim)| tensors.get(tensor)?.get(dim));
            rule.add(sizes.copied().max().unwrap_or(1), factor.kind, places);
        }
        rule
    }

    pub(super) fn add(
        &mut self,
        size: usize,
        kind: FactorKind,
        places: impl IntoIterator<Item = (usize, usize)>,
    ) {
        self.factors.push(Factor { size, kind, places: places.into_iter().collect() });
    }

    /// The factors of each dim of a tensor.
    pub(super) fn of_tensor(&self, tensor: usize, rank: usize) -> Vec<Vec<usize>> {
        let mut dims = vec![Vec::new(); rank];
        for (at, factor) in self.factors.iter().enumerate() {
            for &(_, dim) in factor.places.iter().filter(|(own, _)| *own == tensor) {
                if let Some(dim) = dims.get_mut(dim) {
                    dim.push(at);
                }
            }
        }
        dims
    }
}
