//! Interpolated samples for deformable convolution.

use super::weighted_pixels::{OUTSIDE, WeightedPixel, interpolate};

/// How to sample an image. The sizes have been checked for consistency.
pub(super) struct SamplingPlan {
    pub(super) channels: usize,
    pub(super) groups: usize,
    pub(super) deformable_groups: usize,
    /// Height and width of the image.
    pub(super) image: [usize; 2],
    /// Height and width of the filters.
    pub(super) kernel: [usize; 2],
    /// Number of windows on each axis.
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// The position of a tap is `window * stride + tap * dilation - pad`, plus its offset.
    pub(super) strides: [f32; 2],
    pub(super) dilations: [f32; 2],
    pub(super) pads: [f32; 2],
    /// Whether positions up to one pixel outside the image are sampled.
    pub(super) padded: bool,
}

impl SamplingPlan {
    /// The samples `[channels, taps, windows]` of an image.
    pub(super) fn sample(&self, image: &[f32], offsets: &[f32], mask: Option<&[f32]>) -> Vec<f32> {
        let (places, taps) = (self.rows * self.columns, self.kernel[0] * self.kernel[1]);
        let area = self.image[0] * self.image[1];
        let in_group = self.channels / self.deformable_groups;
        let mut seen = vec![0f32; self.channels * taps * places];
        if area == 0 {
            return seen;
        }
        // All channels of a deformable group share the sampled positions.
        let mut pixels: Vec<WeightedPixel> = Vec::with_capacity(4 * places);
        for number in 0..self.deformable_groups * taps {
            let (group, tap) = (number / taps, number % taps);
            let tap_at = [tap / self.kernel[1], tap % self.kernel[1]];
            pixels.clear();
            pixels.extend((0..places).flat_map(|place| {
                let window = [place / self.columns, place % self.columns];
                let position = [0, 1].map(|i| {
                    let base = window[i] as f32 * self.strides[i] + tap_at[i] as f32 * self.dilations[i]
                        - self.pads[i];
                    base + offsets[(2 * number + i) * places + place]
                });
                self.pixels(position)
            }));
            let scales = mask.map(|mask| &mask[number * places..][..places]);
            for channel in group * in_group..(group + 1) * in_group {
                let plane = &image[channel * area..][..area];
                let row = &mut seen[(channel * taps + tap) * places..][..places];
                interpolate::<4>(plane, &pixels, row);
                if let Some(scales) = scales {
                    row.iter_mut().zip(scales).for_each(|(to, &scale)| *to *= scale);
                }
            }
        }
        seen
    }

    /// The pixels to interpolate at a position. Pixels with weight 0 do not count, because they may be infinite.
    fn pixels(&self, position: [f32; 2]) -> [WeightedPixel; 4] {
        let ends = self.image.map(|size| size as f32);
        let least = if self.padded { -1.0 } else { 0.0 };
        let inside = |i: usize| {
            let at = position[i];
            (if self.padded { at > least } else { at >= least }) && at < ends[i]
        };
        let mut pixels = [WeightedPixel { index: OUTSIDE, weight: 0.0 }; 4];
        if !inside(0) || !inside(1) {
            return pixels;
        }
        let [y, x] = [0, 1].map(|i| {
            let below = position[i].floor();
            let part = position[i] - below;
            // Without padding, the last pixel is repeated beyond the edge.
            let above = if self.padded { below + 1.0 } else { (below + 1.0).min(ends[i] - 1.0) };
            [(below, 1.0 - part), (above, part)]
                .map(|(at, weight)| if at >= 0.0 && at < ends[i] { (at as usize, weight) } else { (0, 0.0) })
        });
        let corners = y.iter().flat_map(|&(row, a)| x.iter().map(move |&(column, b)| (row, column, a * b)));
        for (pixel, (row, column, weight)) in pixels.iter_mut().zip(corners) {
            let index = if weight == 0.0 { OUTSIDE } else { row * self.image[1] + column };
            *pixel = WeightedPixel { index, weight };
        }
        pixels
    }
}
