//! Output sizes of Interpolate.

use snick_tensor::{SmallVector, Tensor};

use super::Interpolate;
use crate::OpError;
use crate::ops::nn::scale::Scale;

/// The axes to resize, their new sizes and their scales.
pub(super) struct Resized {
    pub(super) axes: SmallVector<usize, 4>,
    pub(super) sizes: SmallVector<usize, 4>,
    pub(super) scales: SmallVector<f32, 4>,
}

impl Interpolate {
    /// Computes the new sizes for data with these dims; `target` holds sizes or scales.
    pub(super) fn resized(
        &self,
        dims: &[usize],
        target: &Tensor,
        axes: Option<&Tensor>,
    ) -> Result<Resized, OpError> {
        let axes = axes.map(Tensor::to_i64_vec).transpose()?;
        let mut axes = self.resized_axes(axes.as_deref(), dims.len())?;
        let is_surplus = self.is_first_definition() && target.len() > axes.len();
        if target.len() != axes.len() && !is_surplus {
            return Err(OpError::mismatch("the number of sizes or scales", target.len(), axes.len()));
        }
        let own = axes.iter().filter_map(|&a| dims.get(a).copied());
        let (mut sizes, mut scales): (SmallVector<usize, 4>, SmallVector<f32, 4>) = Default::default();
        if self.by_scales() {
            for (i, (scale, size)) in target.to_f32_vec()?.into_iter().zip(own).enumerate() {
                // An axis that is listed twice is scaled twice.
                let earlier = axes[..i].iter().rposition(|axis| *axis == axes[i]);
                let size = earlier.map_or(size, |earlier| sizes[earlier]);
                let to = Scale::new(scale).of_size(i64::try_from(size).unwrap_or(i64::MAX));
                sizes.push(usize::try_from(to).unwrap_or(0));
                scales.push(scale * earlier.map_or(1.0, |earlier| scales[earlier]));
            }
        } else {
            for (to, size) in target.to_i64_vec()?.into_iter().zip(own) {
                sizes
                    .push(usize::try_from(to).map_err(|_| OpError::out_of_range("a size", to, "0 or more"))?);
                scales.push(to as f32 / size as f32);
            }
        }
        // Keep only the last entry of an axis that is listed twice. When resizing by scales, this entry
        // already includes the earlier ones.
        for i in (0..axes.len()).rev() {
            if axes[i + 1..].contains(&axes[i]) {
                axes.remove(i);
                sizes.remove(i);
                scales.remove(i);
            }
        }
        Ok(Resized { axes, sizes, scales })
    }
}
