//! Factors: how dims of the values of an operation belong together.

use snick_ir::{AxisMap, FactorKind};

/// Dims that are spread alike, or parts of dims.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Factor {
    pub(super) size: usize,
    pub(super) kind: FactorKind,
    /// The dims: operands are counted first, then results.
    pub(super) places: Vec<(usize, usize)>,
}

/// The factors of an operation; those of one dim stand from the outermost to the innermost.
#[derive(Clone, Default, Debug)]
pub(super) struct Rule {
    pub(super) factors: Vec<Factor>,
}

impl Rule {
    /// The factors of corresponding dims, with their sizes in these tensors: the operands, then the result.
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

    /// By dim of a tensor, its factors.
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
