//! ExperimentalDetectronPriorGridGenerator-6.

use snick_shape::Shape;
use snick_tensor::Tensor;

use super::checks::{common_dim, common_float, dims_of, expect_ranks, expect_size, wrong_shape, zero_padded};
use crate::ops::allocation::reserved;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// Priors at the centre of each cell of a feature map.
    ///
    /// Inputs: priors `[P, 4]`, a map `[N, C, H, W]`, and an image `[N, C, image height, image width]`.
    /// Output: `[H, W, P, 4]`, or `[H * W * P, 4]` with `flatten`.
    #[op(
        "ExperimentalDetectronPriorGridGenerator", since = [6], inputs = Arity::exactly(3),
        category = Other, traits = [PURE],
        name = was_extension()
    )]
    pub struct PriorGridGenerator {
        /// Whether the output has rank 2.
        pub flatten: bool = false,
        /// Rows of the grid; 0 to use the height of the feature map.
        pub h: usize = 0,
        /// Columns of the grid; 0 to use the width of the feature map.
        pub w: usize = 0,
        /// Pixels of the image per column; 0 to divide the width evenly.
        pub stride_x: f64 = 0.0,
        /// Pixels of the image per row; 0 to divide the height evenly.
        pub stride_y: f64 = 0.0,
    }
}

impl InferOp for PriorGridGenerator {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = common_float(cx, 0..3)?;
        expect_ranks(cx, &[2, 4, 4])?;
        expect_size(cx, 0, 1, 4)?;
        common_dim(cx, &[(1, 0), (2, 0)])?;
        let priors = common_dim(cx, &[(0, 0)])?;
        let height = common_dim(cx, &[(1, 2)])?;
        let width = common_dim(cx, &[(1, 3)])?;
        let shape = match self.flatten {
            true => Shape::ranked([cx.product([&height, &width, &priors]), 4.into()]),
            false => Shape::ranked([height, width, priors, 4.into()]),
        };
        Ok(Facts::from(Fact::new(element_type, shape)))
    }
}

impl EvalOp for PriorGridGenerator {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [priors, map, image] = exactly(inputs)?;
        let &[count, 4] = priors.dims() else { return Err(wrong_shape("the priors", priors, "[P,4]")) };
        let [_, _, height, width] = dims_of("the feature map", map)?;
        let [_, _, image_height, image_width] = dims_of("the image", image)?;
        let or_else = |set: usize, size: usize| if set > 0 { set } else { size };
        let (rows, columns) = (or_else(self.h, height), or_else(self.w, width));
        let step = |stride: f64, image: usize, cells: usize| match stride as f32 {
            0.0 => image as f32 / cells as f32,
            stride => stride,
        };
        let steps = [step(self.stride_x, image_width, columns), step(self.stride_y, image_height, rows)];
        let dims = [height, width, count, 4];
        let numbers = priors.to_f32_vec()?;
        let mut grid = reserved(&dims)?;
        // The output has one row per cell of the map, even if the attributes ask for another grid.
        for cell in 0..rows.saturating_mul(columns).min(height.saturating_mul(width)) {
            let (x, y) = (cell % columns, cell / columns);
            let center = [steps[0] * (x as f32 + 0.5), steps[1] * (y as f32 + 0.5)];
            grid.extend(numbers.iter().zip(center.iter().cycle()).map(|(side, center)| side + center));
        }
        let grid = zero_padded(&dims, grid)?.cast(priors.element_type())?;
        Ok(vec![if self.flatten { grid.reshape(&[grid.len() / 4, 4])? } else { grid }])
    }
}
