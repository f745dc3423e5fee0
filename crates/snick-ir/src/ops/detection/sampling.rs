//! Bilinear samples of feature maps, and their mean or maximum over the bins of a region.

use snick_tensor::Tensor;
use snick_tensor::kernels::greatest;

use super::checks::{dims_of, wrong_shape};
use crate::OpError;

/// Maximum number of samples per bin, which bounds the work for malicious regions.
const MAX_SAMPLES: usize = 1 << 24;

/// Feature maps `[N, C, H, W]`.
pub struct FeatureMaps {
    values: Vec<f32>,
    dims: [usize; 4],
}

impl FeatureMaps {
    /// The maps of a tensor of rank 4.
    pub fn new(tensor: &Tensor) -> Result<Self, OpError> {
        Ok(Self { dims: dims_of("the feature maps", tensor)?, values: tensor.to_f32_vec()? })
    }

    /// Images, channels, height, width.
    pub fn dims(&self) -> [usize; 4] {
        self.dims
    }

    /// Checks that the image of a region exists.
    pub fn image(&self, index: i64) -> Result<usize, OpError> {
        match usize::try_from(index) {
            Ok(image) if image < self.dims[0] => Ok(image),
            _ => {
                let expected = format!("0 or more, below {}", self.dims[0]);
                Err(OpError::out_of_range("the image of a region", index, expected))
            }
        }
    }

    /// The image index and corners `[x0, y0, x1, y1]` of the regions `[rois, 5]`. The first region with image
    /// -1 ends the list.
    pub fn regions(&self, regions: &Tensor) -> Result<Vec<(usize, [f32; 4])>, OpError> {
        let &[_, 5] = regions.dims() else { return Err(wrong_shape("the regions", regions, "[rois,5]")) };
        let numbers = regions.to_f32_vec()?;
        let listed = numbers.as_chunks::<5>().0.iter().take_while(|region| region[0] as i64 != -1);
        listed.map(|&[image, x0, y0, x1, y1]| Ok((self.image(image as i64)?, [x0, y0, x1, y1]))).collect()
    }

    /// One channel of one image.
    pub fn plane(&self, image: usize, channel: usize) -> Plane<'_> {
        let [_, channels, height, width] = self.dims;
        let area = height.saturating_mul(width);
        let first = image.saturating_mul(channels).saturating_add(channel).saturating_mul(area);
        let values = self.values.get(first..first.saturating_add(area)).unwrap_or_default();
        Plane { values, height, width }
    }
}

/// One channel of one image, row by row.
#[derive(Copy, Clone)]
pub struct Plane<'a> {
    values: &'a [f32],
    height: usize,
    width: usize,
}

impl Plane<'_> {
    /// The element at a position; 0 outside the plane.
    pub fn at(&self, y: usize, x: usize) -> f32 {
        self.values.get(y * self.width + x).copied().unwrap_or(0.0)
    }

    /// The elements of a row; empty outside the plane.
    pub fn row(&self, y: usize) -> &[f32] {
        let first = y.saturating_mul(self.width);
        self.values.get(first..first.saturating_add(self.width)).unwrap_or_default()
    }

    /// The bilinear sample at a position; `None` outside the plane.
    pub fn sample(&self, y: f32, x: f32) -> Option<f32> {
        Some(self.interpolated(&LinearTap::new(y, self.height)?, &LinearTap::new(x, self.width)?))
    }

    /// The bilinear sample for two taps.
    pub fn interpolated(&self, y: &LinearTap, x: &LinearTap) -> f32 {
        let along = |y: usize| {
            let (low, high) = (self.at(y, x.low), self.at(y, x.high));
            low + (high - low) * x.part
        };
        let (upper, lower) = (along(y.low), along(y.high));
        upper + (lower - upper) * y.part
    }
}

/// A position on an axis: the elements before and after it, and its distance from the element before it.
#[derive(Copy, Clone, Debug)]
pub struct LinearTap {
    low: usize,
    high: usize,
    part: f32,
}

impl LinearTap {
    /// The tap for a position on an axis of `size` elements; `None` if the position is outside the axis.
    pub fn new(at: f32, size: usize) -> Option<Self> {
        let last = size.checked_sub(1)?;
        if !(0.0..=last as f32).contains(&at) {
            return None;
        }
        let low = at as usize;
        let part = at - low as f32;
        Some(Self { low, high: (low + usize::from(part > 0.0)).min(last), part })
    }
}

/// A region in the coordinates of a plane.
#[derive(Copy, Clone, Debug)]
pub struct Region {
    /// Minimum y and minimum x.
    pub start: [f32; 2],
    /// Height and width.
    pub size: [f32; 2],
}

/// How a region is pooled.
#[derive(Copy, Clone, Debug)]
pub struct Bins {
    /// Height and width of the output.
    pub counts: [usize; 2],
    /// Samples per bin and axis; 0 for about one sample per element.
    pub samples: usize,
    /// Whether to take the maximum of the samples, at least 0, rather than their mean.
    pub max: bool,
}

impl Bins {
    /// Appends the bins of a region for all channels. `to_map` maps a point `[y, x]` of the region's plane to
    /// the feature maps.
    pub fn pool(
        &self,
        maps: &FeatureMaps,
        image: usize,
        region: &Region,
        to_map: impl Fn([f32; 2]) -> [f32; 2],
        out: &mut Vec<f32>,
    ) -> Result<(), OpError> {
        let [rows, columns] = self.counts;
        let [_, channels, height, width] = maps.dims();
        let cells = rows.saturating_mul(columns);
        if cells == 0 {
            return Ok(());
        }
        let bin = [region.size[0] / rows as f32, region.size[1] / columns as f32];
        let count =
            bin.map(|size| if self.samples > 0 { self.samples } else { size.ceil().max(0.0) as usize });
        let all = count[0].checked_mul(count[1]).filter(|&all| all <= MAX_SAMPLES);
        let all = all.ok_or_else(|| {
            let found = format!("{} x {}", count[0], count[1]);
            OpError::mismatch("the number of samples per bin", found, format!("at most {MAX_SAMPLES}"))
        })?;
        let distance = [bin[0] / count[0] as f32, bin[1] / count[1] as f32];
        let first = out.len();
        out.resize(first + channels.saturating_mul(cells), 0.0);
        let mut taps: Vec<[Tap; 4]> = Vec::new();
        for cell in 0..cells {
            let at = [(cell / columns) as f32, (cell % columns) as f32];
            let sample = |axis: usize, i: usize| {
                region.start[axis] + at[axis] * bin[axis] + distance[axis] * (i as f32 + 0.5)
            };
            taps.clear();
            for y in 0..count[0] {
                for x in 0..count[1] {
                    let [y, x] = to_map([sample(0, y), sample(1, x)]);
                    taps.extend(around(y, x, height, width));
                }
            }
            let cells_of_channels = out.iter_mut().skip(first + cell).step_by(cells);
            for (channel, cell) in cells_of_channels.enumerate() {
                let plane = maps.plane(image, channel);
                let read = |tap: &Tap| tap.weight * plane.values.get(tap.index).copied().unwrap_or(0.0);
                let samples = taps.iter().map(|taps| taps.iter().map(read).sum::<f32>());
                *cell = match self.max {
                    true => samples.fold(0.0, greatest),
                    false if all == 0 => 0.0,
                    false => samples.sum::<f32>() / all as f32,
                };
            }
        }
        Ok(())
    }
}

/// An element and its weight in a sample.
#[derive(Copy, Clone)]
struct Tap {
    index: usize,
    weight: f32,
}

/// The four elements around a position; `None` if it is more than one element outside the map, where samples
/// are 0.
fn around(y: f32, x: f32, height: usize, width: usize) -> Option<[Tap; 4]> {
    let (bottom, right) = (height.checked_sub(1)?, width.checked_sub(1)?);
    if !(-1.0..=height as f32).contains(&y) || !(-1.0..=width as f32).contains(&x) {
        return None;
    }
    // Positions beyond the last element take its value, without interpolation.
    let along = |at: f32, last: usize| {
        let low = at.max(0.0) as usize;
        if low >= last { (last, last, 0.0) } else { (low, low + 1, at.max(0.0) - low as f32) }
    };
    let ((y0, y1, dy), (x0, x1, dx)) = (along(y, bottom), along(x, right));
    Some([
        Tap { index: y0 * width + x0, weight: (1.0 - dy) * (1.0 - dx) },
        Tap { index: y0 * width + x1, weight: (1.0 - dy) * dx },
        Tap { index: y1 * width + x0, weight: dy * (1.0 - dx) },
        Tap { index: y1 * width + x1, weight: dy * dx },
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp() -> FeatureMaps {
        FeatureMaps::new(&Tensor::from_vec(&[1, 1, 2, 3], vec![0f32, 1., 2., 3., 4., 5.]).unwrap()).unwrap()
    }

    #[test]
    fn samples_are_interpolated() {
        let maps = ramp();
        let plane = maps.plane(0, 0);
        assert_eq!(plane.sample(0.5, 0.5), Some(2.0));
        assert_eq!(plane.sample(1.0, 2.0), Some(5.0));
        assert_eq!(plane.sample(1.1, 0.0), None);
    }

    #[test]
    fn bins_are_means_or_maxima() {
        let maps = ramp();
        let region = Region { start: [0.0, 0.0], size: [1.0, 2.0] };
        let mut out = Vec::new();
        let mean = Bins { counts: [1, 2], samples: 1, max: false };
        mean.pool(&maps, 0, &region, |at| at, &mut out).unwrap();
        assert_eq!(out, [2.0, 3.0]);
        Bins { max: true, ..mean }.pool(&maps, 0, &region, |at| at, &mut out).unwrap();
        assert_eq!(out[2..], [2.0, 3.0]);
    }

    #[test]
    fn regions_with_too_many_samples_are_refused() {
        let region = Region { start: [0.0, 0.0], size: [f32::INFINITY, 1e30] };
        let bins = Bins { counts: [1, 1], samples: 0, max: false };
        assert!(bins.pool(&ramp(), 0, &region, |at| at, &mut Vec::new()).is_err());
    }
}
