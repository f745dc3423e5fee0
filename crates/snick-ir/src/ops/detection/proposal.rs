//! Proposal-1 and Proposal-4.

use snick_shape::Shape;
use snick_tensor::{Listed, Tensor};

use super::anchor_proposals::cell_by_cell;
use super::checks::{check_dims, common_dim, dim, dims_of, expect_ranks, zero_padded};
use super::corners::Corners;
use super::greedy_nms::nms;
use super::partial_sort::keep_first;
use crate::ops::allocation::reserved;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, Since, exactly};

op! {
    /// Decodes boxes from anchors and selects the best by non-maximum suppression.
    ///
    /// Inputs: class scores `[N, 2 * anchors, H, W]` with the object scores in the second half of the
    /// channels, deltas `[N, 4 * anchors, H, W]`, and the image size `[3 or 4]` of height, width and one or
    /// two scales. Outputs: rows `[N * post_nms_topn, 5]` of image and box, and since opset 4 their scores
    /// `[N * post_nms_topn]`. The first unused row of an image has image -1; zeros follow.
    #[op(
        "Proposal", since = [1, 4], inputs = Arity::exactly(3),
        category = Other, traits = [PURE], name = was_extension()
    )]
    pub struct Proposal {
        /// The version.
        pub since: Since = Since(4),
        /// The size in pixels of an anchor of ratio 1 and scale 1.
        pub base_size: i64 = 0,
        /// The maximum number of boxes per image before suppression.
        pub pre_nms_topn: usize = 0,
        /// The number of output rows per image.
        pub post_nms_topn: usize = 0,
        /// A box is suppressed if its IoU with a box of higher score exceeds this.
        pub nms_thresh: f64 = 0.0,
        /// Pixels per cell.
        pub feat_stride: i64 = 1,
        /// The minimum width and height of a box, before multiplication by the image's scales.
        pub min_size: i64 = 1,
        /// The aspect ratios of anchors.
        pub ratio: Vec<f64> = Vec::new(),
        /// The scales of anchors.
        pub scale: Vec<f64> = Vec::new(),
        /// Whether to clip boxes to the image before suppression.
        pub clip_before_nms: bool = true,
        /// Whether to clip boxes to the image after suppression.
        pub clip_after_nms: bool = false,
        /// Whether to output boxes as fractions of the image.
        pub normalize: bool = false,
        /// Divisor of the size deltas.
        pub box_size_scale: f64 = 1.0,
        /// Divisor of the centre deltas.
        pub box_coordinate_scale: f64 = 1.0,
        /// With `tensorflow`, corners lie between pixels, anchors are centred at 0 and the axes are swapped;
        /// otherwise a box includes the pixels at its corners.
        pub framework: String = String::new(),
    }
}

impl InferOp for Proposal {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        (0..3).try_for_each(|port| cx.expect_real(port))?;
        expect_ranks(cx, &[4, 4, 1])?;
        if let Some(size) = dim(cx, 2, 0) {
            let interval = cx.interval(&size);
            if !interval.contains(3) && !interval.contains(4) {
                return Err(OpError::mismatch("the size of input 2", interval, "3 or 4"));
            }
        }
        let batch = common_dim(cx, &[(0, 0), (1, 0)])?;
        if let (Some(scores), Some(deltas)) = (dim(cx, 0, 1), dim(cx, 1, 1)) {
            let twice = cx.mul(&scores, &2.into());
            if cx.merge(&twice, &deltas).is_none() {
                let (scores, deltas) = (cx.interval(&scores), cx.interval(&deltas));
                let expected = format!("2 x {scores}");
                return Err(OpError::mismatch("the number of channels of the deltas", deltas, expected));
            }
        }
        let rows = cx.mul(&batch, &(self.post_nms_topn as i64).into());
        let element_type = cx.element_type(0);
        let mut facts: Facts = Facts::from(Fact::new(element_type, Shape::ranked([rows.clone(), 5.into()])));
        if self.has_scores() {
            facts.push(Fact::new(element_type, Shape::ranked([rows])));
        }
        Ok(facts)
    }
}

impl EvalOp for Proposal {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [scores, deltas, size] = exactly(inputs)?;
        let [images, channels, height, width] = dims_of("the scores", scores)?;
        let anchors = self.anchors();
        let kinds = anchors.len();
        // Without anchors there are no boxes, so the number of channels does not matter.
        if kinds > 0 && channels != 2 * kinds {
            return Err(OpError::mismatch("the number of channels of the scores", channels, 2 * kinds));
        }
        check_dims("the deltas", deltas, &[images, channels.saturating_mul(2), height, width])?;
        let image = self.image(&size.to_f32_vec()?)?;
        let (et, most) = (scores.element_type(), self.post_nms_topn);
        let scores = scores.slice(1, channels - kinds, kinds, 1)?.permute(&[0, 2, 3, 1])?.to_f32_vec()?;
        let deltas = cell_by_cell(&deltas.slice(1, 0, 4 * kinds, 1)?, kinds)?;
        let each = height.saturating_mul(width).saturating_mul(kinds);
        let all = images.checked_mul(most).ok_or_else(|| OpError::unsupported("an output of this size"))?;
        let mut rows: Vec<f32> = reserved(&[all, 5])?;
        let mut values: Vec<f32> = reserved(&[all])?;
        for index in 0..images {
            let deltas = deltas.as_chunks::<4>().0.iter().skip(index * each);
            let scores = scores.iter().skip(index * each).take(each);
            let mut boxes = scores.zip(deltas);
            let mut candidates = Vec::with_capacity(each);
            for cell in 0..height.saturating_mul(width) {
                let corner = self.corner([cell / width, cell % width]);
                for (&anchor, (&score, &by)) in anchors.iter().zip(&mut boxes) {
                    candidates.push(self.decode(anchor, corner, by, score, &image));
                }
            }
            keep_first(&mut candidates, self.pre_nms_topn, |a, b| a.1 > b.1);
            let threshold = self.nms_thresh as f32;
            let chosen = nms(&candidates, |(corners, _)| *corners, self.unit(), threshold, most);
            let missing = most - chosen.len();
            for (corners, score) in chosen {
                rows.push(index as f32);
                rows.extend(self.output_box(corners, &image).coordinates());
                values.push(score);
            }
            if missing > 0 {
                rows.push(-1.0);
            }
            rows.resize((index + 1) * most * 5, 0.0);
            values.resize((index + 1) * most, 0.0);
        }
        let mut outputs = vec![zero_padded(&[all, 5], rows)?.cast(et)?];
        if self.has_scores() {
            outputs.push(zero_padded(&[all], values)?.cast(et)?);
        }
        Ok(outputs)
    }
}

/// The image bounds for clipping.
struct Image {
    /// Width and height are swapped for TensorFlow, like the axes of the boxes.
    width: f32,
    height: f32,
    /// The minimum width and height of a box.
    least: [f32; 2],
}

impl Proposal {
    /// Whether the scores are an output.
    fn has_scores(&self) -> bool {
        self.since.at_least(4)
    }

    fn is_tensorflow(&self) -> bool {
        self.framework.eq_ignore_ascii_case("tensorflow")
    }

    /// The number to add to lengths: 1 if a box includes the pixels at its corners, else 0.
    fn unit(&self) -> f32 {
        if self.is_tensorflow() { 0.0 } else { 1.0 }
    }

    fn image(&self, size: &[f32]) -> Result<Image, OpError> {
        let (height, width, scales) = match *size {
            [height, width, scale] => (height, width, [scale, scale]),
            [height, width, y, x] => (height, width, [x, y]),
            _ => return Err(OpError::mismatch("the number of elements of input 2", size.len(), "3 or 4")),
        };
        // An empty image is valid: all boxes are clipped to its corner.
        if size.iter().any(|number| !(number.is_finite() && *number >= 0.0)) {
            return Err(OpError::mismatch("the size of the image", Listed(size), "numbers of 0 or more"));
        }
        let least = scales.map(|scale| self.min_size as f32 * scale);
        match self.is_tensorflow() {
            true => Ok(Image { width: height, height: width, least }),
            false => Ok(Image { width, height, least }),
        }
    }

    /// The anchors of the cell at the origin, ordered by ratio and then by scale.
    fn anchors(&self) -> Vec<Corners> {
        let base = self.base_size as f32;
        let unit = self.unit();
        let shift = if self.is_tensorflow() { base * 0.5 } else { 0.0 };
        let center = 0.5 * (base - unit);
        let mut anchors = Vec::new();
        for ratio in self.ratio.iter().map(|&ratio| ratio as f32) {
            let width = (base * base / ratio).sqrt();
            let (width, height) = match self.is_tensorflow() {
                true => (width, width * ratio),
                false => (width.round(), (width.round() * ratio).round()),
            };
            anchors.extend(self.scale.iter().map(|&scale| {
                let [x, y] = [width, height].map(|size| 0.5 * (size * scale as f32 - unit));
                Corners::from([center - x, center - y, center + x, center + y].map(|side| side - shift))
            }));
        }
        anchors
    }

    /// The position (x, y) of the anchors of a cell (row, column).
    fn corner(&self, cell: [usize; 2]) -> [f32; 2] {
        let [y, x] = cell.map(|index| index as f32 * self.feat_stride as f32);
        if self.is_tensorflow() { [y, x] } else { [x, y] }
    }

    /// Decodes the box of an anchor moved by `[x, y]`. If the box is too small, its score becomes 0.
    fn decode(
        &self,
        anchor: Corners,
        [x, y]: [f32; 2],
        [dx, dy, dw, dh]: [f32; 4],
        score: f32,
        image: &Image,
    ) -> (Corners, f32) {
        let [left, top, right, bottom] = anchor.coordinates();
        let mut corners = Corners::from([left + x, top + y, right + x, bottom + y]);
        if self.is_tensorflow() {
            corners = corners.clipped(image.width, image.height);
        }
        let (center, size, unit) =
            (self.box_coordinate_scale as f32, self.box_size_scale as f32, self.unit());
        corners = corners.with_deltas([dx / center, dy / center, dw / size, dh / size], unit, f32::INFINITY);
        if self.clip_before_nms {
            corners = corners.clipped(image.width - unit, image.height - unit);
        }
        let [width, height] = corners.size(unit);
        let is_large = image.least[0] <= width && image.least[1] <= height;
        (corners, if is_large { score } else { 0.0 * score })
    }

    /// Converts a selected box to its output form.
    fn output_box(&self, corners: Corners, image: &Image) -> Corners {
        let (width, height) = (image.width, image.height);
        let corners = if self.clip_after_nms { corners.clipped(width, height) } else { corners };
        if self.normalize { corners.divided(width, height) } else { corners }
    }
}
