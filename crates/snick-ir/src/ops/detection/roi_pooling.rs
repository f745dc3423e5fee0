//! ROIPooling-2.

use std::ops::Range;

use snick_shape::Shape;
use snick_tensor::kernels::greatest;
use snick_tensor::{Listed, SmallVector, Tensor};

use super::checks::{common_dim, common_float, expect_ranks, expect_size, zero_padded};
use super::sampling::{FeatureMaps, LinearTap, Plane};
use crate::ops::allocation::reserved;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// Pools each bin of a region to its maximum, or to one bilinear sample.
    ///
    /// Inputs: a map `[N, C, H, W]` and regions `[rois, 5]`, each `[image, x0, y0, x1, y1]`. Output:
    /// `[rois, C, pooled height, pooled width]`. The first region with image -1 ends the list of regions.
    #[op("ROIPooling", since = [1, 2], inputs = Arity::exactly(2), category = Reduction, traits = [PURE])]
    pub struct RoiPooling {
        /// Height and width of the output, if `output_roi` is absent.
        pub output_size: Option<SmallVector<i64, 4>> = None,
        /// Height and width of the output, if `pooled_h` and `pooled_w` are absent.
        pub output_roi: Option<SmallVector<i64, 4>> = None,
        /// Height of the output.
        pub pooled_h: Option<i64> = None,
        /// Width of the output.
        pub pooled_w: Option<i64> = None,
        /// Scale from region coordinates to elements of the map, for `max`.
        pub spatial_scale: f64 = 0.0,
        /// How bins are computed.
        pub method: RoiPoolingMethod = RoiPoolingMethod::Max,
    }
}

/// How bins are computed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum RoiPoolingMethod {
    /// The maximum of the elements in the bin.
    Max,
    /// One bilinear sample; the corners of regions are fractions of the map's size.
    Bilinear,
}

attr_words!(RoiPoolingMethod { Max = "max", Bilinear = "bilinear" });

impl InferOp for RoiPooling {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = common_float(cx, 0..2)?;
        expect_ranks(cx, &[4, 2])?;
        expect_size(cx, 1, 1, 5)?;
        let regions = common_dim(cx, &[(1, 0)])?;
        let channels = common_dim(cx, &[(0, 1)])?;
        let [height, width] = self.pooled_size()?.map(|size| (size as i64).into());
        self.scale()?;
        Ok(Facts::from(Fact::new(element_type, Shape::ranked([regions, channels, height, width]))))
    }
}

impl EvalOp for RoiPooling {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, regions] = exactly(inputs)?;
        let maps = FeatureMaps::new(data)?;
        let pooled = self.pooled_size()?;
        let scale = self.scale()?;
        let listed = maps.regions(regions)?;
        let [_, channels, height, width] = maps.dims();
        let dims = [regions.dims()[0], channels, pooled[0], pooled[1]];
        let mut out = reserved(&dims)?;
        // The maximum of each column of the map over the rows of a bin.
        let mut tops = vec![0.0; width];
        for (image, [x0, y0, x1, y1]) in listed {
            // The rows and columns to read are the same for all channels.
            let axes = [([y0, y1], pooled[0], height), ([x0, x1], pooled[1], width)];
            let [rows, columns] = axes.map(|(ends, bins, size)| -> Vec<Source> {
                let of = |i| match self.method {
                    RoiPoolingMethod::Bilinear => {
                        Source::Sample(LinearTap::new(sample_position(ends, i, bins, size), size))
                    }
                    RoiPoolingMethod::Max => Source::Bin(bin(ends.map(|v| v * scale), i, bins, size)),
                };
                (0..bins).map(of).collect()
            });
            let span = match (columns.first(), columns.last()) {
                (Some(Source::Bin(first)), Some(Source::Bin(last))) => first.start..last.end,
                _ => 0..0,
            };
            for channel in 0..channels {
                let plane = maps.plane(image, channel);
                for y in &rows {
                    if let Source::Bin(rows) = y {
                        maxima(plane, rows.clone(), span.clone(), &mut tops);
                    }
                    out.extend(columns.iter().map(|x| pooled_at(plane, &tops, y, x)));
                }
            }
        }
        Ok(vec![zero_padded(&dims, out)?.cast(data.element_type())?])
    }
}

impl RoiPooling {
    /// Height and width of the output. If several attributes set them, the last declared one takes
    /// precedence.
    ///
    /// # Errors
    /// If a size is less than 1, or a list does not have two numbers.
    pub fn pooled_size(&self) -> Result<[usize; 2], OpError> {
        let lists = [("`output_roi`", &self.output_roi), ("`output_size`", &self.output_size)];
        let mut lists = lists.into_iter().filter_map(|(name, list)| Some((name, list.as_deref()?)));
        let [height, width] = match lists.find(|(_, list)| !list.is_empty()) {
            None => [0, 0],
            Some((_, &[height, width])) => [height, width],
            Some((name, list)) => return Err(OpError::mismatch(name, Listed(list), "height and width")),
        };
        let (height, width) = (self.pooled_h.unwrap_or(height), self.pooled_w.unwrap_or(width));
        let size = |size: i64| match usize::try_from(size) {
            Ok(size) if size > 0 => Ok(size),
            _ => Err(OpError::out_of_range("the pooled size", size, "1 or more")),
        };
        Ok([size(height)?, size(width)?])
    }

    fn scale(&self) -> Result<f32, OpError> {
        match self.spatial_scale {
            scale if scale > 0.0 => Ok(scale as f32),
            scale => Err(OpError::mismatch("`spatial_scale`", scale, "a positive number")),
        }
    }
}

/// The input elements on one axis from which an output element is computed.
enum Source {
    /// A bilinear sample; `None` outside the map.
    Sample(Option<LinearTap>),
    /// The maximum over some elements.
    Bin(Range<usize>),
}

/// The output element for a source on each axis: two samples or two bins. For a bin, `tops` holds the maximum of each
/// column over the rows of the bin.
fn pooled_at(plane: Plane, tops: &[f32], y: &Source, x: &Source) -> f32 {
    match (y, x) {
        (Source::Bin(rows), Source::Bin(columns)) if !rows.is_empty() => {
            let tops = tops.get(columns.clone()).unwrap_or_default();
            tops.iter().copied().reduce(greatest).unwrap_or(0.0)
        }
        (Source::Sample(Some(y)), Source::Sample(Some(x))) => plane.interpolated(y, x),
        _ => 0.0,
    }
}

/// The elements of a bin on one axis: the region is divided into `bins` and clipped to the map.
fn bin(ends: [f32; 2], index: usize, bins: usize, size: usize) -> Range<usize> {
    // Clamping keeps the products below exact; no map is this large.
    let [first, last] = ends.map(|end| (end.round() as i64).clamp(-(1 << 40), 1 << 40));
    let (bins, index) = (bins as i128, index as i128);
    let length = i128::from((last - first + 1).max(1));
    let on_map = |index: i128| (index + i128::from(first)).clamp(0, size as i128) as usize;
    on_map(index * length / bins)..on_map(((index + 1) * length + bins - 1) / bins)
}

/// Writes the maximum of each of some columns over some rows to `tops`; at least the lowest finite number.
fn maxima(plane: Plane, rows: Range<usize>, columns: Range<usize>, tops: &mut [f32]) {
    let tops = tops.get_mut(columns.clone()).unwrap_or_default();
    tops.fill(f32::MIN);
    for y in rows {
        let row = plane.row(y).get(columns.clone()).unwrap_or_default();
        tops.iter_mut().zip(row).for_each(|(top, &x)| *top = greatest(x, *top));
    }
}

/// The position of a bin's sample on an axis of `size` elements. `ends` are fractions of the axis.
fn sample_position(ends: [f32; 2], index: usize, bins: usize, size: usize) -> f32 {
    let ([first, last], end) = (ends, size as f32 - 1.0);
    match bins {
        1 => 0.5 * (first + last) * end,
        // The last sample is computed without the rounding of the general formula, because a sample beyond
        // the end would be 0.
        _ if index + 1 == bins => last * end,
        _ => index as f32 * ((last - first) * end / (bins as f32 - 1.0)) + first * end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_overlap_and_are_clipped_to_the_map() {
        assert_eq!(bin([0.0, 4.0], 0, 2, 5), 0..3);
        assert_eq!(bin([0.0, 4.0], 1, 2, 5), 2..5);
        assert_eq!(bin([3.0, 1.0], 0, 1, 5), 3..4);
        assert!(bin([-9.0, -8.0], 0, 1, 5).is_empty());
        assert_eq!(bin([f32::NEG_INFINITY, f32::INFINITY], 0, 1, 5), 0..5);
    }
}
