//! DetectionOutput-1 and DetectionOutput-8.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::Tensor;

use super::checks::{
    check_dims, common_dim, common_float, dim, dims_of, expect_at_least, expect_ranks, expect_size,
    zero_padded,
};
use super::select_detections::{Decoder, Detection, DetectionAttrs, Scores};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, RawNode, Since, leading};

op! {
    /// Decodes boxes from priors and selects the best boxes of each class by non-maximum suppression.
    ///
    /// Inputs: box deltas `[N, priors * classes * 4]`, class scores `[N, priors * classes]`, priors
    /// `[1 or N, 1 or 2, ..]`, whose second row holds variances; and optionally the object scores and box
    /// deltas of a first stage. Output: `[1, 1, rows, 7]`, where a row holds image, class, score and box. The
    /// first unused row has image -1; zeros follow.
    #[op(
        "DetectionOutput", since = [1, 8], inputs = Arity::between(3, 5), category = Other, traits = [PURE],
        check = Self::check_attrs
    )]
    pub struct DetectionOutput {
        /// The version; version 1 has the number of classes as an attribute.
        pub since: Since = Since(8),
        /// The number of classes, at least 1.
        #[until(8)]
        pub num_classes: i64 = 0,
        /// How boxes are decoded and selected.
        pub selection: DetectionAttrs = DetectionAttrs::default(),
    }
}

impl InferOp for DetectionOutput {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        check_inputs(cx.len())?;
        let element_type = common_float(cx, (0..cx.len()).filter(|&port| port != 2))?;
        // Priors may have another type than the other inputs: f16 models keep their priors in f32.
        cx.expect_real(2)?;
        expect_ranks(cx, &[2, 2, 3, 2, 2])?;
        let ports: &[(usize, usize)] = match cx.len() {
            3 => &[(0, 0), (1, 0)],
            _ => &[(0, 0), (1, 0), (3, 0), (4, 0)],
        };
        let batch = common_dim(cx, ports)?;
        if let Some(images) = dim(cx, 2, 0) {
            let (images, batch) = (cx.interval(&images), cx.interval(&batch));
            if !images.contains(1) && images.meet(batch).is_none() {
                let expected = format!("1 or {batch}");
                return Err(OpError::mismatch("the number of images of the priors", images, expected));
            }
        }
        expect_size(cx, 2, 1, self.selection.prior_rows() as i64)?;
        let (priors, classes) = self.counts(cx)?;
        let boxes = match (self.selection.keep(), self.selection.top_k) {
            (keep, _) if keep > 0 => keep.into(),
            (-1, top) if top > 0 => cx.mul(&classes, &top.into()),
            _ => cx.mul(&priors, &classes),
        };
        let rows = cx.mul(&batch, &boxes);
        Ok(Facts::from(Fact::new(element_type, Shape::ranked([1.into(), 1.into(), rows, 7.into()]))))
    }
}

impl EvalOp for DetectionOutput {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        check_inputs(inputs.len())?;
        let ([deltas, scores, priors], first_stage) = leading(inputs)?;
        let Sizes { images, columns, prior_images, prior_columns, count, classes } =
            self.sizes(scores, priors)?;
        let selection = &self.selection;
        let located = if selection.share_location { 1 } else { classes };
        let delta_dims = [images, count.saturating_mul(located).saturating_mul(4)];
        check_dims("the deltas", deltas, &delta_dims)?;
        check_dims("the priors", priors, &[prior_images, selection.prior_rows(), prior_columns])?;
        if let [objects, first] = first_stage {
            check_dims("the object scores", objects, &[images, count * 2])?;
            check_dims("the deltas of the first stage", first, &delta_dims)?;
        }
        if selection.decrease_label_id && selection.background_label_id != 0 {
            return Err(OpError::unsupported("`decrease_label_id` with a background other than class 0"));
        }
        let mut values = Vec::with_capacity(inputs.len());
        for input in inputs {
            values.push(input.to_f32_vec()?);
        }
        let part = |port: usize, image: usize, size: usize| -> &[f32] {
            let values = values.get(port).map_or(&[][..], Vec::as_slice);
            values.get(image * size..(image + 1) * size).unwrap_or_default()
        };
        let mut rows: Vec<f32> = Vec::new();
        for image in 0..images {
            let prior_size = prior_columns * selection.prior_rows();
            let priors = part(2, if prior_images == 1 { 0 } else { image }, prior_size);
            let stages = [4, 0].map(|port| part(port, image, delta_dims[1]));
            let decoder = Decoder::new(selection, priors, count, located, stages);
            let scores = Scores {
                values: part(1, image, columns),
                objects: part(3, image, count * 2),
                classes,
                priors: decoder.used(),
            };
            for Detection { class, score, corners, .. } in selection.select(&decoder, &scores) {
                let label = class as i64 - i64::from(selection.decrease_label_id);
                let corners = if selection.clip_after_nms { corners.clipped(1.0, 1.0) } else { corners };
                rows.extend([image as f32, label as f32, score]);
                rows.extend(corners.coordinates());
            }
        }
        let all = self.rows_per_image(count, classes).and_then(|each| each.checked_mul(images));
        let numbers = all.and_then(|all| Some((all, all.checked_mul(7)?)));
        let (all, numbers) = numbers.ok_or_else(|| OpError::unsupported("an output of this size"))?;
        if rows.len() / 7 < all {
            rows.push(-1.0);
        }
        rows.truncate(numbers);
        Ok(vec![zero_padded(&[1, 1, all, 7], rows)?.cast(deltas.element_type())?])
    }
}

/// Sizes taken from the inputs.
struct Sizes {
    images: usize,
    /// Scores per image.
    columns: usize,
    /// Number of images with their own priors, or 1 if all images share the priors.
    prior_images: usize,
    /// Size of a row of priors.
    prior_columns: usize,
    /// Priors per image.
    count: usize,
    classes: usize,
}

/// Requires three or five inputs.
fn check_inputs(count: usize) -> Result<(), OpError> {
    match count {
        3 | 5 => Ok(()),
        got => Err(OpError::Arity { expected: "3 or 5".into(), got }),
    }
}

impl DetectionOutput {
    fn check_attrs(&self, _: &RawNode) -> Result<(), OpError> {
        if self.since.at_least(8) { Ok(()) } else { expect_at_least("num_classes", self.num_classes, 1) }
    }

    /// Number of output rows per image; `None` on overflow.
    fn rows_per_image(&self, priors: usize, classes: usize) -> Option<usize> {
        match (self.selection.keep(), self.selection.top_k) {
            (keep, _) if keep > 0 => usize::try_from(keep).ok(),
            (-1, top) if top > 0 => usize::try_from(top).ok()?.checked_mul(classes),
            _ => priors.checked_mul(classes),
        }
    }

    /// Reads the sizes and checks that they are consistent.
    fn sizes(&self, scores: &Tensor, priors: &Tensor) -> Result<Sizes, OpError> {
        let [images, columns] = dims_of("the scores", scores)?;
        let [prior_images, _, prior_columns] = dims_of("the priors", priors)?;
        let width = self.selection.prior_width();
        let count = prior_columns / width;
        if count == 0 || prior_columns % width != 0 || columns % count != 0 {
            let found = format!("{columns} scores for {prior_columns} numbers of priors");
            let expected = format!("{width} numbers per prior, and a score per class and prior");
            return Err(OpError::mismatch("the number of priors", found, expected));
        }
        let classes = columns / count;
        if self.num_classes().is_some_and(|expected| i64::try_from(classes) != Ok(expected)) {
            return Err(OpError::mismatch("the number of classes", classes, self.num_classes));
        }
        if prior_images != 1 && prior_images != images {
            let expected = format!("1 or {images}");
            return Err(OpError::mismatch("the number of images of the priors", prior_images, expected));
        }
        Ok(Sizes { images, columns, prior_images, prior_columns, count, classes })
    }

    /// The number of classes, if it is an attribute.
    fn num_classes(&self) -> Option<i64> {
        (!self.since.at_least(8)).then_some(self.num_classes)
    }

    /// The numbers of priors and classes, derived from every dim that is a multiple of one of them. All dims
    /// must imply the same numbers.
    fn counts(&self, cx: &mut Infer) -> Result<(SymExpr, SymExpr), OpError> {
        let second_stage = cx.len() == 5;
        let mut priors = Common::default();
        priors.divide(cx, (2, 2), self.selection.prior_width() as i64)?;
        if second_stage {
            priors.divide(cx, (3, 1), 2)?;
        }
        let located: &[usize] = if second_stage { &[0, 4] } else { &[0] };
        let (classes, share_location) = (self.num_classes(), self.selection.share_location);
        if let Some(classes) = classes {
            priors.divide(cx, (1, 1), classes)?;
        }
        if let Some(located_classes) = if share_location { Some(1) } else { classes } {
            for &port in located {
                priors.divide(cx, (port, 1), located_classes.saturating_mul(4))?;
            }
        }
        let priors = priors.get(cx);
        let classes = match (classes, priors.as_const()) {
            (Some(classes), _) => classes.into(),
            (None, Some(priors)) if priors > 0 => {
                let mut classes = Common::default();
                classes.divide(cx, (1, 1), priors)?;
                if !share_location {
                    for &port in located {
                        classes.divide(cx, (port, 1), priors.saturating_mul(4))?;
                    }
                }
                classes.get(cx)
            }
            (None, None) if cx.interval(&priors).lo() > 0 => match dim(cx, 1, 1) {
                Some(scores) => cx.floor_div(&scores, &priors),
                None => cx.unknown(Interval::DIM),
            },
            (None, _) => cx.unknown(Interval::DIM),
        };
        Ok((priors, classes))
    }
}

/// A number that can be derived from each of several dims, which must all agree on it.
#[derive(Default)]
struct Common(Option<SymExpr>);

impl Common {
    /// Requires the number to equal a dim divided by `divisor`.
    fn divide(&mut self, cx: &mut Infer, (port, axis): (usize, usize), divisor: i64) -> Result<(), OpError> {
        let Some(dim) = dim(cx, port, axis) else { return Ok(()) };
        let wrong = |cx: &Infer, expected: String| {
            OpError::mismatch(format!("axis {axis} of input {port}"), cx.interval(&dim), expected)
        };
        if dim.as_const().is_some_and(|dim| divisor <= 0 || dim % divisor != 0) {
            return Err(wrong(cx, format!("a multiple of {divisor}")));
        }
        let number = cx.floor_div(&dim, &divisor.into());
        self.0 = Some(match self.0.take() {
            None => number,
            Some(other) => {
                let both = cx.merge(&other, &number);
                both.ok_or_else(|| wrong(cx, format!("{divisor} times {}", cx.interval(&other))))?
            }
        });
        Ok(())
    }

    fn get(self, cx: &mut Infer) -> SymExpr {
        self.0.unwrap_or_else(|| cx.unknown(Interval::DIM))
    }
}
