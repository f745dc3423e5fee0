//! Interpolation between pixels of a plane, as GridSample and DeformableConvolution need it.

/// A pixel of a plane and its weight.
#[derive(Copy, Clone)]
pub(super) struct WeightedPixel {
    /// Row-major index in the plane, or [`OUTSIDE`].
    pub(super) index: usize,
    pub(super) weight: f32,
}

/// The index of a pixel that counts as 0, even if the weight is infinite or `NaN`.
pub(super) const OUTSIDE: usize = usize::MAX;

/// Writes the weighted sum of each `COUNT` pixels.
pub(super) fn interpolate<const COUNT: usize>(plane: &[f32], pixels: &[WeightedPixel], out: &mut [f32]) {
    for (out, pixels) in out.iter_mut().zip(pixels.as_chunks::<COUNT>().0) {
        let weighted = |pixel: &WeightedPixel| plane.get(pixel.index).map_or(0.0, |x| pixel.weight * x);
        *out = pixels.iter().map(weighted).sum();
    }
}
