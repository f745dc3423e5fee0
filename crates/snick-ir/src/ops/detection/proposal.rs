//! Proposal-1 and -4: the best boxes an image, decoded from anchors. Version 4 has a second output, their scores.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Shape, SymExpr};
use snick_tensor::Tensor;

use super::checks::{check_dims, common_dim, dim, expect_float, expect_rank, padded, room};
use super::corners::{Corners, nms};
use super::partial_sort::keep_first;
use super::settings::{Kind, Settings, Table};
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// Class scores `[N, 2 * anchors, H, W]`, box offsets `[N, 4 * anchors, H, W]` and the size of the image to
/// `post_nms_topn` rows of image and box for each of the N. The first row not used has image -1; zeros follow.
#[derive(Clone, PartialEq, Debug)]
pub struct Proposal {
    /// Whether there is a second output.
    pub scores: bool,
    settings: Settings,
}

const TABLE: Table = &[
    ("base_size", Kind::Int),
    ("pre_nms_topn", Kind::Int),
    ("post_nms_topn", Kind::Int),
    ("nms_thresh", Kind::Float),
    ("feat_stride", Kind::Int),
    ("min_size", Kind::Int),
    ("ratio", Kind::Floats),
    ("scale", Kind::Floats),
    ("clip_before_nms", Kind::Bool),
    ("clip_after_nms", Kind::Bool),
    ("normalize", Kind::Bool),
    ("box_size_scale", Kind::Float),
    ("box_coordinate_scale", Kind::Float),
    ("framework", Kind::Text),
];

impl OpDef for Proposal {
    const NAMES: &'static [OpName] = &[OpName::openvino("Proposal", &[1, 4]).was_extension()];
    const ARITY: Arity = Arity::exactly(3);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { scores: raw.since >= 4, settings: Settings::parse(&raw.attrs, TABLE)? })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.settings.attrs()
    }
}

impl InferOp for Proposal {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        (0..3).try_for_each(|port| expect_float(cx, port))?;
        for (port, rank) in [4, 4, 1].into_iter().enumerate() {
            expect_rank(cx, port, rank)?;
        }
        if let Some(size) = dim(cx, 2, 0) {
            let interval = cx.interval(&size);
            if !interval.contains(3) && !interval.contains(4) {
                return Err(OpError::mismatch("the size of input 2", interval, "3 or 4"));
            }
        }
        let batch = common_dim(cx, &[(0, 0), (1, 0)])?;
        if let (Some(scores), Some(offsets)) = (dim(cx, 0, 1), dim(cx, 1, 1)) {
            let twice = cx.mul(&scores, &2.into());
            if cx.merge(&twice, &offsets).is_none() {
                let (scores, offsets) = (cx.interval(&scores), cx.interval(&offsets));
                return Err(OpError::mismatch(
                    "the channels of the offsets",
                    offsets,
                    format!("2 x {scores}"),
                ));
            }
        }
        let rows = cx.mul(&batch, &(self.rows()? as i64).into());
        let dims: SmallVec<[SymExpr; 4]> = smallvec![rows.clone(), 5.into()];
        let element_type = cx.element_type(0);
        let mut facts: Facts = smallvec![Fact::new(element_type, Shape::ranked(dims))];
        if self.scores {
            facts.push(Fact::new(element_type, Shape::ranked([rows])));
        }
        Ok(facts)
    }
}

impl EvalOp for Proposal {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [scores, offsets, size] = inputs else { return Ok(Vec::new()) };
        let &[images, channels, height, width] = scores.dims() else {
            return Err(OpError::rank("the scores", scores.rank(), "4"));
        };
        let anchors = self.anchors();
        let kinds = anchors.len();
        // Without any anchor there are no boxes, whatever the channels.
        if kinds > 0 && channels != 2 * kinds {
            return Err(OpError::mismatch("the channels of the scores", channels, 2 * kinds));
        }
        check_dims("the offsets", offsets, &[images, channels.saturating_mul(2), height, width])?;
        let image = Image::new(&size.to_f32_vec()?, &self.settings)?;
        let decoder = Decoder::new(&self.settings);
        // Places lie outermost; the scores of objects are the second half of the channels.
        let scores = scores.slice(1, channels - kinds, kinds, 1)?.permute(&[0, 2, 3, 1])?.to_f32_vec()?;
        let offsets = offsets.slice(1, 0, 4 * kinds, 1)?.reshape(&[images, kinds, 4, height, width])?;
        let offsets = offsets.permute(&[0, 3, 4, 1, 2])?.to_f32_vec()?;
        let each = height.saturating_mul(width).saturating_mul(kinds);
        let most = self.rows()?;
        let all =
            images.checked_mul(most).ok_or_else(|| OpError::unsupported("an output of that many rows"))?;
        let mut rows: Vec<f32> = room(&[all, 5])?;
        let mut values: Vec<f32> = room(&[all])?;
        for index in 0..images {
            let offsets = offsets.as_chunks::<4>().0.iter().skip(index * each);
            let scores = scores.iter().skip(index * each).take(each);
            let mut boxes = scores.zip(offsets);
            let mut candidates = Vec::with_capacity(each);
            for cell in 0..height.saturating_mul(width) {
                let corner = decoder.corner([cell / width, cell % width]);
                for (&anchor, (&score, &by)) in anchors.iter().zip(&mut boxes) {
                    candidates.push(decoder.decode(anchor, corner, by, score, &image));
                }
            }
            let chosen = self.choose(candidates);
            let missing = most - chosen.len();
            for (corners, score) in chosen {
                rows.push(index as f32);
                rows.extend(self.placed(corners, &image).sides());
                values.push(score);
            }
            if missing > 0 {
                rows.push(-1.0);
            }
            rows.resize((index + 1) * most * 5, 0.0);
            values.resize((index + 1) * most, 0.0);
        }
        let et = inputs[0].element_type();
        let mut outputs = vec![padded(&[all, 5], rows)?.cast(et)?];
        if self.scores {
            outputs.push(padded(&[all], values)?.cast(et)?);
        }
        Ok(outputs)
    }
}

/// The image that boxes are cut to.
struct Image {
    /// As the boxes count it: the TensorFlow way exchanges the axes.
    width: f32,
    height: f32,
    /// The least width and height of a box.
    least: [f32; 2],
}

impl Image {
    fn new(size: &[f32], settings: &Settings) -> Result<Self, OpError> {
        let (height, width, scales) = match *size {
            [height, width, scale] => (height, width, [scale, scale]),
            [height, width, y, x] => (height, width, [x, y]),
            _ => return Err(OpError::mismatch("the numbers of the image's size", size.len(), "3 or 4")),
        };
        // All boxes of an empty image are cut to its corner.
        if size.iter().any(|number| !(number.is_finite() && *number >= 0.0)) {
            return Err(OpError::mismatch(
                "the image's size",
                format!("{size:?}"),
                "numbers that are not negative",
            ));
        }
        let least = settings.int("min_size", 1) as f32;
        let least = scales.map(|scale| least * scale);
        match tensorflow(settings) {
            true => Ok(Self { width: height, height: width, least }),
            false => Ok(Self { width, height, least }),
        }
    }
}

/// How anchors and offsets become boxes.
struct Decoder {
    tensorflow: bool,
    stride: f32,
    /// What offsets of places and of sizes are divided by.
    place: f32,
    size: f32,
    unit: f32,
    clip: bool,
}

impl Decoder {
    fn new(settings: &Settings) -> Self {
        Self {
            tensorflow: tensorflow(settings),
            stride: settings.int("feat_stride", 1) as f32,
            place: settings.float("box_coordinate_scale", 1.0) as f32,
            size: settings.float("box_size_scale", 1.0) as f32,
            unit: unit(settings),
            clip: settings.bool("clip_before_nms", true),
        }
    }

    /// Where anchors begin at a cell, row and column: x and y.
    fn corner(&self, cell: [usize; 2]) -> [f32; 2] {
        let [y, x] = cell.map(|place| place as f32 * self.stride);
        if self.tensorflow { [y, x] } else { [x, y] }
    }

    /// The box of an anchor that begins at a corner, with its score: 0 where it is too small.
    fn decode(
        &self,
        anchor: Corners,
        [x, y]: [f32; 2],
        by: [f32; 4],
        score: f32,
        image: &Image,
    ) -> (Corners, f32) {
        let [left, top, right, bottom] = anchor.sides();
        let mut corners = Corners::from([left + x, top + y, right + x, bottom + y]);
        if self.tensorflow {
            corners = corners.clipped(image.width, image.height);
        }
        let [dx, dy, dw, dh] = by;
        let by = [dx / self.place, dy / self.place, dw / self.size, dh / self.size];
        corners = corners.refined(by, self.unit, f32::INFINITY);
        if self.clip {
            corners = corners.clipped(image.width - self.unit, image.height - self.unit);
        }
        let [width, height] = corners.size(self.unit);
        let large = image.least[0] <= width && image.least[1] <= height;
        (corners, if large { score } else { 0.0 * score })
    }
}

/// What is added to a length: 1 where corners are pixels.
fn unit(settings: &Settings) -> f32 {
    if tensorflow(settings) { 0.0 } else { 1.0 }
}

/// Whether boxes count as TensorFlow does: corners between pixels, anchors around 0, axes exchanged.
fn tensorflow(settings: &Settings) -> bool {
    settings.text("framework").eq_ignore_ascii_case("tensorflow")
}

impl Proposal {
    /// Rows of an image.
    fn rows(&self) -> Result<usize, OpError> {
        let most = self.settings.int("post_nms_topn", 0);
        usize::try_from(most).map_err(|_| OpError::out_of_range("`post_nms_topn`", most, "0 or more"))
    }

    /// The boxes around a cell, by ratio and then by scale.
    fn anchors(&self) -> Vec<Corners> {
        let base = self.settings.int("base_size", 0) as f32;
        let unit = unit(&self.settings);
        let shift = if tensorflow(&self.settings) { base * 0.5 } else { 0.0 };
        let center = 0.5 * (base - unit);
        let scales = self.settings.floats("scale");
        let mut anchors = Vec::new();
        for ratio in self.settings.floats("ratio") {
            let ratio = ratio as f32;
            let width = (base * base / ratio).sqrt();
            let (width, height) = match tensorflow(&self.settings) {
                true => (width, width * ratio),
                false => (width.round(), (width.round() * ratio).round()),
            };
            anchors.extend(scales.iter().map(|&scale| {
                let [x, y] = [width, height].map(|size| 0.5 * (size * scale as f32 - unit));
                Corners::from([center - x, center - y, center + x, center + y].map(|side| side - shift))
            }));
        }
        anchors
    }

    /// The best boxes that do not cover each other.
    fn choose(&self, mut boxes: Vec<(Corners, f32)>) -> Vec<(Corners, f32)> {
        let most = usize::try_from(self.settings.int("pre_nms_topn", 0)).unwrap_or(0);
        keep_first(&mut boxes, most, |a, b| a.1 > b.1);
        let corners: Vec<Corners> = boxes.iter().map(|(corners, _)| *corners).collect();
        let threshold = self.settings.float("nms_thresh", 0.0) as f32;
        let kept = nms(&corners, unit(&self.settings), threshold, self.rows().unwrap_or(0));
        kept.into_iter().filter_map(|i| boxes.get(i).copied()).collect()
    }

    /// A box as the output has it.
    fn placed(&self, corners: Corners, image: &Image) -> Corners {
        let (width, height) = (image.width, image.height);
        let clip = self.settings.bool("clip_after_nms", false);
        let corners = if clip { corners.clipped(width, height) } else { corners };
        match self.settings.bool("normalize", false) {
            true => {
                let [left, top, right, bottom] = corners.sides();
                Corners::from([left / width, top / height, right / width, bottom / height])
            }
            false => corners,
        }
    }
}
