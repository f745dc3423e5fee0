//! PriorBox-1 and PriorBox-8.

use snick_tensor::{Listed, Tensor};

use super::prior_grid::{self, Cell, single};
use crate::{Arity, EvalOp, Facts, Infer, InferOp, OpError, Since};

op! {
    /// Default boxes of several sizes and aspect ratios around every cell of a feature map.
    ///
    /// Inputs: the size of the map `[H, W]` and the size of the image. Output: `[2, 4 * H * W * priors]`, the
    /// boxes as fractions of the image, then their variances.
    #[op("PriorBox", since = [1, 8], inputs = Arity::exactly(2), category = Other, traits = [PURE])]
    pub struct PriorBox {
        /// The version.
        pub since: Since = Since(8),
        /// Side lengths of square boxes in pixels; without `scale_all_sizes`, as fractions of the image's
        /// height.
        pub min_size: Vec<f64> = Vec::new(),
        /// Side lengths in pixels. Each adds a square box whose side is the geometric mean of this size and
        /// the minimum size at the same index.
        pub max_size: Vec<f64> = Vec::new(),
        /// Aspect ratios in addition to 1.
        pub aspect_ratio: Vec<f64> = Vec::new(),
        /// Boxes per cell and axis for the fixed size at the same index.
        pub density: Vec<f64> = Vec::new(),
        /// Aspect ratios of the boxes of fixed size; if empty, `aspect_ratio` is used.
        pub fixed_ratio: Vec<f64> = Vec::new(),
        /// Sizes of boxes in pixels; `density` gives the number of boxes per cell and axis.
        pub fixed_size: Vec<f64> = Vec::new(),
        /// Whether to clip boxes to the image.
        pub clip: bool = false,
        /// Whether to add the inverse of each aspect ratio.
        pub flip: bool = false,
        /// Pixels of the image per cell; 0 to divide the image evenly. Without `scale_all_sizes`, a fraction
        /// of the image's height, or -1 to divide the height evenly.
        pub step: f64 = 0.0,
        /// Position of the boxes' centre within a cell, in cells; always 0.5 if `step` is 0.
        pub offset: f64 = 0.0,
        /// One or four variances; 0.1 if empty.
        pub variance: Vec<f64> = Vec::new(),
        /// Whether every minimum size has boxes of all aspect ratios; otherwise only the first minimum size
        /// has them.
        pub scale_all_sizes: bool = true,
        /// Whether the square for the maximum size precedes the boxes of other aspect ratios.
        #[since(8)]
        pub min_max_aspect_ratios_order: bool = true,
    }
}

impl InferOp for PriorBox {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        prior_grid::infer(cx, self.priors()?)
    }
}

impl EvalOp for PriorBox {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let boxes = |cell: &Cell, out: &mut Vec<f32>| self.boxes(cell, out);
        prior_grid::eval(inputs, self.priors()?, &self.variance, self.clip, boxes)
    }
}

impl PriorBox {
    /// Appends the boxes of a cell: first the boxes of fixed sizes, then the boxes of each minimum size.
    fn boxes(&self, cell: &Cell, out: &mut Vec<f32>) -> Result<(), OpError> {
        let all_scaled = self.scale_all_sizes;
        let mut step = self.step as f32;
        let mut least = single(&self.min_size);
        if !all_scaled {
            // Sizes and steps are fractions of the image's height; a step of -1 divides the height evenly.
            let height = cell.image[0] as f32;
            step = if step == -1.0 { height / cell.cells[0] as f32 } else { step * height };
            least.iter_mut().for_each(|size| *size *= height);
        }
        let center = match step {
            0.0 => {
                let steps = cell.step();
                [0, 1].map(|axis: usize| (cell.at[axis] as f32 + 0.5) * steps[axis])
            }
            step => cell.at.map(|at| (self.offset as f32 + at as f32) * step),
        };
        self.fixed_boxes(cell, center, out)?;
        // Skip ratio 1, whose box is the square.
        let ratios: Vec<f32> = self.ratios().into_iter().skip(1).map(f32::sqrt).collect();
        let most = single(&self.max_size);
        for (i, &size) in least.iter().enumerate() {
            let half = size * 0.5;
            cell.push(center, [half, half], out);
            let mean_square = |out: &mut Vec<f32>| {
                if let Some(most) = most.get(i) {
                    let half = (size * most).sqrt() * 0.5;
                    cell.push(center, [half, half], out);
                }
            };
            if self.min_max_aspect_ratios_order {
                mean_square(out);
            }
            if all_scaled || i + 1 == least.len() {
                let half = if all_scaled { half } else { least.first().map_or(half, |size| size * 0.5) };
                for ratio in &ratios {
                    cell.push(center, [half / ratio, half * ratio], out);
                }
            }
            if !self.min_max_aspect_ratios_order {
                mean_square(out);
            }
        }
        Ok(())
    }

    /// Appends the boxes of fixed sizes: `density` boxes per axis for each aspect ratio.
    fn fixed_boxes(&self, cell: &Cell, center: [f32; 2], out: &mut Vec<f32>) -> Result<(), OpError> {
        let fixed_ratios = single(&self.fixed_ratio);
        let ratios = if fixed_ratios.is_empty() { self.ratios() } else { fixed_ratios };
        for (i, size) in single(&self.fixed_size).into_iter().enumerate() {
            let density = self.density.get(i).map_or(0, |&density| density as f32 as i64);
            if density < 1 {
                let expected = "1 or more for each fixed size";
                return Err(OpError::mismatch("`density`", Listed(&self.density), expected));
            }
            let shift = (size / density as f32).trunc();
            for ratio in ratios.iter().map(|ratio| ratio.sqrt()) {
                let half = [size * 0.5 / ratio, size * 0.5 * ratio];
                for row in 0..density {
                    for column in 0..density {
                        // Half the size is rounded down to whole pixels.
                        let start = center.map(|at| at - (size.trunc() / 2.0).trunc() + shift / 2.0);
                        let at = [start[0] + row as f32 * shift, start[1] + column as f32 * shift];
                        let first = out.len();
                        cell.push(at, half, out);
                        for (k, side) in out.iter_mut().skip(first).enumerate() {
                            *side = if k < 2 { side.max(0.0) } else { side.min(1.0) };
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Boxes per cell.
    fn priors(&self) -> Result<i64, OpError> {
        let count = |numbers: &[f64]| numbers.len() as i64;
        let ratios = self.ratios().len() as i64;
        let mut priors = match self.scale_all_sizes {
            true => ratios * count(&self.min_size) + count(&self.max_size),
            false => ratios + count(&self.min_size) - 1,
        };
        if !self.fixed_size.is_empty() {
            priors = ratios * count(&self.fixed_size);
        }
        let each = if self.fixed_ratio.is_empty() { ratios } else { count(&self.fixed_ratio) };
        for &density in &self.density {
            let density = density as i64;
            let more =
                density.checked_mul(density).map(|square| square - 1).and_then(|n| n.checked_mul(each));
            let sum = more.and_then(|more| priors.checked_add(more));
            priors = sum.ok_or_else(|| OpError::out_of_range("`density`", density, "a small number"))?;
        }
        match priors >= 0 {
            true => Ok(priors),
            false => Err(OpError::out_of_range("the number of boxes per cell", priors, "0 or more")),
        }
    }

    /// The distinct aspect ratios in output order, starting with 1.
    fn ratios(&self) -> Vec<f32> {
        let mut ratios: Vec<f32> = vec![1.0];
        for ratio in single(&self.aspect_ratio) {
            let flipped = self.flip.then(|| 1.0 / ratio);
            for ratio in [Some(ratio), flipped].into_iter().flatten() {
                if !ratios.iter().any(|known| (known - ratio).abs() < 1e-6) {
                    ratios.push(ratio);
                }
            }
        }
        ratios
    }
}
