//! Factors: how dims of the values of an operation belong together.

/// What happens along a factor.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum FactorKind {
    /// Each part is computed from the same part.
    PassThrough,
    /// Parts are combined; the result does not have it.
    Reduction,
    /// Looked up: whoever has the element gives it, and all are added.
    Lookup,
    /// Parts move to other devices.
    Permutation,
}

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
