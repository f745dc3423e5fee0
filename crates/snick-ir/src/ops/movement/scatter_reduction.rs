//! The attribute `reduction` of the scattering ops.

use snick_tensor::kernels::scatter_reduce::Reduction;

/// How updates are combined with what is at their position.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ScatterReduction {
    /// The last update replaces it.
    None,
    /// The sum.
    Sum,
    /// The difference; ScatterNDUpdate only.
    Sub,
    /// The product.
    Prod,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// The mean; ScatterElementsUpdate only.
    Mean,
}

attr_words!(ScatterReduction {
    None = "none", Sum = "sum", Sub = "sub", Prod = "prod", Min = "min", Max = "max", Mean = "mean"
});

impl ScatterReduction {
    /// What the kernel computes; `None` where updates replace.
    pub(super) fn kernel(self) -> Option<Reduction> {
        match self {
            Self::None => None,
            Self::Sum => Some(Reduction::Sum),
            Self::Sub => Some(Reduction::Sub),
            Self::Prod => Some(Reduction::Prod),
            Self::Min => Some(Reduction::Min),
            Self::Max => Some(Reduction::Max),
            Self::Mean => Some(Reduction::Mean),
        }
    }
}
