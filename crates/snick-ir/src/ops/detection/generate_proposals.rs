//! GenerateProposals-9 and ExperimentalDetectronGenerateProposalsSingleImage-6: anchors refined by offsets, and the
//! best of them that do not cover each other.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Shape, SymExpr};
use snick_tensor::{ElementType, Tensor};

use super::checks::{
    check_dims, common_dim, common_float, dim, expect_index_type, expect_rank, expect_size, padded,
    rows_up_to,
};
use super::corners::{Corners, nms};
use super::partial_sort::keep_first;
use super::settings::{Kind, Settings, Table};
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// Sizes of the image, anchors, offsets and scores.
///
/// GenerateProposals: `[N, 3 or 4]`, `[H, W, A, 4]`, `[N, 4 * A, H, W]`, `[N, A, H, W]` to the boxes of all images
/// `[rows, 4]`, their scores, and the number of rows of each image. The other: `[3]`, `[H * W * A, 4]`,
/// `[4 * A, H, W]`, `[A, H, W]` to `post_nms_count` boxes and their scores; rows not used are zeros.
#[derive(Clone, PartialEq, Debug)]
pub struct GenerateProposals {
    /// The type of the number of rows; `None` for a single image.
    pub counts: Option<ElementType>,
    settings: Settings,
}

const NAMES: [OpName; 2] = [
    OpName::openvino("GenerateProposals", &[9]),
    OpName::openvino("ExperimentalDetectronGenerateProposalsSingleImage", &[6]).was_extension(),
];

const TABLE: Table = &[
    ("min_size", Kind::Float),
    ("nms_threshold", Kind::Float),
    ("post_nms_count", Kind::Int),
    ("pre_nms_count", Kind::Int),
    ("normalized", Kind::Bool),
    ("nms_eta", Kind::Float),
];

const SINGLE: Table = &[
    ("min_size", Kind::Float),
    ("nms_threshold", Kind::Float),
    ("post_nms_count", Kind::Int),
    ("pre_nms_count", Kind::Int),
];

/// Boxes grow to at most 1000 / 16 times their anchor.
const GROWTH: f32 = 62.5;

impl OpDef for GenerateProposals {
    const NAMES: &'static [OpName] = &NAMES;
    const ARITY: Arity = Arity::exactly(4);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        if raw.row(&NAMES) == 1 {
            return Ok(Self { counts: None, settings: Settings::parse(&raw.attrs, SINGLE)? });
        }
        let counts = raw.attrs.element_type("roi_num_type")?.unwrap_or(ElementType::I64);
        expect_index_type("roi_num_type", counts)?;
        let settings = Settings::parse(&raw.attrs, TABLE)?;
        if settings.float("nms_eta", 1.0) != 1.0 {
            return Err(raw.attrs.bad("nms_eta", "1"));
        }
        for name in ["pre_nms_count", "post_nms_count"] {
            if settings.int(name, 0) <= 0 {
                return Err(OpError::out_of_range(format!("`{name}`"), settings.int(name, 0), "1 or more"));
            }
        }
        Ok(Self { counts: Some(counts), settings })
    }

    fn attrs(&self) -> Attrs<'static> {
        match self.counts {
            Some(counts) => self.settings.attrs().with("roi_num_type", counts),
            None => self.settings.attrs(),
        }
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[usize::from(self.counts.is_none())]
    }
}

impl InferOp for GenerateProposals {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        match self.counts {
            // Here element types are not looked at before the run.
            Some(counts) => self.infer_batch(cx, counts),
            None => self.infer_single(cx),
        }
    }
}

impl EvalOp for GenerateProposals {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [sizes, anchors, offsets, scores] = inputs else { return Ok(Vec::new()) };
        // A single image is a batch of one.
        let (sizes, offsets, scores) = match self.counts {
            Some(_) => (sizes.clone(), offsets.clone(), scores.clone()),
            None => (sizes.unsqueeze(0)?, offsets.unsqueeze(0)?, scores.unsqueeze(0)?),
        };
        let &[images, kinds, height, width] = scores.dims() else {
            return Err(OpError::rank("the scores", scores.rank(), "4"));
        };
        let &[_, numbers @ 3..=4] = sizes.dims() else {
            let found = format!("{:?}", sizes.dims());
            return Err(OpError::mismatch("the shape of the image sizes", found, "3 or 4 numbers an image"));
        };
        check_dims("the image sizes", &sizes, &[images, numbers])?;
        check_dims("the offsets", &offsets, &[images, kinds.saturating_mul(4), height, width])?;
        match self.counts {
            Some(_) => check_dims("the anchors", anchors, &[height, width, kinds, 4])?,
            None => {
                let all = height.saturating_mul(width).saturating_mul(kinds);
                check_dims("the anchors", anchors, &[all, 4])?;
            }
        }
        // Places lie outermost, as those of the anchors do.
        let offsets = offsets.reshape(&[images, kinds, 4, height, width])?.permute(&[0, 3, 4, 1, 2])?;
        let (offsets, scores) = (offsets.to_f32_vec()?, scores.permute(&[0, 2, 3, 1])?.to_f32_vec()?);
        let anchors = Corners::all(&anchors.to_f32_vec()?);
        let each = anchors.len().max(1);
        let (mut boxes, mut values, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        for (image, size) in sizes.to_f32_vec()?.chunks_exact(numbers).enumerate() {
            let offsets = offsets.as_chunks::<4>().0.iter().skip(image * each);
            let scores = scores.iter().skip(image * each);
            let candidates = anchors.iter().zip(offsets).zip(scores);
            let chosen = self.choose(size, candidates.map(|((anchor, by), score)| (anchor, *by, *score)));
            counts.push(chosen.len() as i64);
            for (corners, score) in chosen {
                boxes.extend(corners.sides());
                values.push(score);
            }
        }
        let et = inputs[0].element_type();
        let rows = if self.counts.is_some() { values.len() } else { self.most()? };
        let mut outputs =
            vec![padded::<f32>(&[rows, 4], boxes)?.cast(et)?, padded::<f32>(&[rows], values)?.cast(et)?];
        if let Some(et) = self.counts {
            outputs.push(Tensor::from_vec(&[images], counts)?.cast(et)?);
        }
        Ok(outputs)
    }
}

impl GenerateProposals {
    fn infer_batch(&self, cx: &mut Infer, counts: ElementType) -> Result<Facts, OpError> {
        let element_type = cx.element_type(0);
        expect_rank(cx, 0, 2)?;
        (1..4).try_for_each(|port| expect_rank(cx, port, 4))?;
        if expect_size(cx, 0, 1, 3).is_err() {
            expect_size(cx, 0, 1, 4)?;
        }
        expect_size(cx, 1, 3, 4)?;
        let images = common_dim(cx, &[(0, 0), (2, 0), (3, 0)])?;
        common_dim(cx, &[(1, 0), (2, 2), (3, 2)])?;
        common_dim(cx, &[(1, 1), (2, 3), (3, 3)])?;
        let anchors = common_dim(cx, &[(1, 2), (3, 1)])?;
        self.expect_offsets(cx, 1, &anchors)?;
        let bounds = [cx.interval(&images), self.settings.int("post_nms_count", 0).into()];
        let rows = rows_up_to(cx, &bounds);
        let boxes: SmallVec<[SymExpr; 4]> = smallvec![rows.clone(), 4.into()];
        Ok(smallvec![
            Fact::new(element_type, Shape::ranked(boxes)),
            Fact::new(element_type, Shape::ranked([rows])),
            Fact::new(counts, Shape::ranked([images])),
        ])
    }

    fn infer_single(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = common_float(cx, 0..4)?;
        for (port, rank) in [1, 2, 3, 3].into_iter().enumerate() {
            expect_rank(cx, port, rank)?;
        }
        expect_size(cx, 0, 0, 3)?;
        expect_size(cx, 1, 1, 4)?;
        common_dim(cx, &[(2, 1), (3, 1)])?;
        common_dim(cx, &[(2, 2), (3, 2)])?;
        let rows = SymExpr::from(self.most()? as i64);
        let boxes: SmallVec<[SymExpr; 4]> = smallvec![rows.clone(), 4.into()];
        Ok(smallvec![
            Fact::new(element_type, Shape::ranked(boxes)),
            Fact::new(element_type, Shape::ranked([rows])),
        ])
    }

    /// The offsets have four channels an anchor.
    fn expect_offsets(&self, cx: &mut Infer, axis: usize, anchors: &SymExpr) -> Result<(), OpError> {
        let wanted = cx.mul(anchors, &4.into());
        let Some(channels) = dim(cx, 2, axis) else { return Ok(()) };
        let (got, wanted) = (cx.interval(&channels), cx.interval(&wanted));
        match got.meet(wanted) {
            Some(_) => Ok(()),
            None => Err(OpError::mismatch("the channels of the offsets", got, wanted)),
        }
    }

    /// The most boxes of an image.
    fn most(&self) -> Result<usize, OpError> {
        let most = self.settings.int("post_nms_count", 0);
        usize::try_from(most).map_err(|_| OpError::out_of_range("`post_nms_count`", most, "0 or more"))
    }

    /// The boxes of one image, the best first, with their scores.
    fn choose<'a>(
        &self,
        size: &[f32],
        candidates: impl Iterator<Item = (&'a Corners, [f32; 4], f32)>,
    ) -> Vec<(Corners, f32)> {
        let (height, width, scales) = match *size {
            [height, width, scale] => (height, width, [scale, scale]),
            [height, width, y, x] => (height, width, [y, x]),
            _ => (0.0, 0.0, [0.0, 0.0]),
        };
        let batch = self.counts.is_some();
        let unit = if batch && self.settings.bool("normalized", true) { 0.0 } else { 1.0 };
        let least = self.settings.float("min_size", 0.0) as f32;
        let least = if batch { scales.map(|scale| least * scale) } else { [least, least] };
        let large = |corners: &Corners| {
            let [width, height] = corners.size(unit);
            least[0] <= height && least[1] <= width
        };
        let mut boxes: Vec<(Corners, f32)> = candidates
            .map(|(anchor, by, score)| {
                let refined = anchor.refined(by, unit, GROWTH.ln()).inclusive(unit);
                let corners = refined.clipped(width - unit, height - unit);
                // Boxes that are too small come last in a single image; in a batch they go, but take up a place.
                (corners, if batch || large(&corners) { score } else { 0.0 * score })
            })
            .collect();
        let most = usize::try_from(self.settings.int("pre_nms_count", 0)).unwrap_or(0);
        keep_first(&mut boxes, most, |a, b| a.1 > b.1);
        if batch {
            boxes.retain(|(corners, _)| large(corners));
        }
        let corners: Vec<Corners> = boxes.iter().map(|(corners, _)| *corners).collect();
        let threshold = self.settings.float("nms_threshold", 0.0) as f32;
        // A single image's boxes are compared as if their corners were no pixels.
        let compared = if batch { unit } else { 0.0 };
        let kept = nms(&corners, compared, threshold, self.most().unwrap_or(0));
        kept.into_iter().filter_map(|i| boxes.get(i).copied()).collect()
    }
}
