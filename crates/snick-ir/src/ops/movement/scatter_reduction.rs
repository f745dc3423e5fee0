//! The attribute `reduction` of scatter ops.

use snick_tensor::kernels::scatter_reduce::Reduction;

/// How updates are combined with existing elements.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ScatterReduction {
    /// The last update replaces the element.
    None,
    /// The sum.
    Sum,
    /// The difference; ScatterNDUpdate only.
    Sub,
    /// The product.
    Prod,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
    /// The mean; ScatterElementsUpdate only.
    Mean,
}

attr_words!(ScatterReduction {
    None = "none", Sum = "sum", Sub = "sub", Prod = "prod", Min = "min", Max = "max", Mean = "mean"
});

impl ScatterReduction {
    /// The reduction of the kernel; `None` if updates replace elements.
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
