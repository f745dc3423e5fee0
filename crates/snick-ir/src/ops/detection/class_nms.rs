//! Shared code of MatrixNms and MulticlassNms: everything except the suppression within a class.

use std::cmp::Ordering;

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::Tensor;

use super::checks::{expect_at_least, limit, rows_up_to};
use super::corners::highest_first;
use crate::ops::index_type::IndexType;
use crate::{Fact, Facts, Infer, OpError};

/// The order of the output rows.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum SortBy {
    /// By image, then score.
    None,
    /// By score.
    Score,
    /// By class, then score.
    Class,
}

attr_words!(SortBy { None = "none", Score = "score", Class = "classid" });

attrs! {
    /// Attributes shared by MatrixNms and MulticlassNms.
    pub struct ClassNms {
        /// The order of the output rows.
        pub sort_result_type: SortBy = SortBy::None,
        /// Maximum number of candidates per class before suppression, chosen by score; -1 for all.
        pub nms_top_k: i64 = -1,
        /// Maximum number of output rows per image; -1 for all.
        pub keep_top_k: i64 = -1,
        /// Whether rows are sorted across images.
        pub sort_result_across_batch: bool = false,
        /// Boxes with a lower score are dropped.
        pub score_threshold: f64 = 0.0,
        /// The class to ignore; -1 for none.
        pub background_class: i64 = -1,
        /// Whether coordinates are fractions of the image; otherwise a box includes the pixels at its
        /// corners.
        pub normalized: bool = true,
        /// Element type of outputs 1 and 2.
        pub output_type: IndexType = IndexType::I64,
    }
}

/// One selected box.
#[derive(Copy, Clone, Debug)]
pub struct SelectedBox {
    /// The image of the box.
    pub image: usize,
    /// The class of the box.
    pub class: usize,
    /// The index of the box among all boxes of the inputs, as in output 1.
    pub index: usize,
    /// The position of the box among the boxes of its image and class.
    pub position: usize,
    /// The score of the box.
    pub score: f32,
    /// The coordinates of the box, as in the input.
    pub coordinates: [f32; 4],
}

impl SelectedBox {
    /// Orders the boxes of an image by score, then class and position.
    fn by_score(a: &Self, b: &Self) -> Ordering {
        highest_first(a.score, b.score).then((a.class, a.position).cmp(&(b.class, b.position)))
    }

    /// Orders the boxes of an image by class, then score and position.
    pub fn by_class(a: &Self, b: &Self) -> Ordering {
        a.class.cmp(&b.class).then(highest_first(a.score, b.score)).then(a.position.cmp(&b.position))
    }
}

impl ClassNms {
    /// Checks the attributes.
    pub fn check(&self) -> Result<(), OpError> {
        expect_at_least("nms_top_k", self.nms_top_k, -1)?;
        expect_at_least("keep_top_k", self.keep_top_k, -1)?;
        expect_at_least("background_class", self.background_class, -1)
    }

    /// Positions and scores of the boxes of a class that pass the threshold, best first, at most `nms_top_k`.
    pub fn candidates(&self, scores: &[f32], passes: fn(&f32, &f32) -> bool) -> Vec<(usize, f32)> {
        let threshold = self.score_threshold as f32;
        let mut good: Vec<(usize, f32)> =
            scores.iter().copied().enumerate().filter(|(_, score)| passes(score, &threshold)).collect();
        good.sort_by(|a, b| highest_first(a.1, b.1));
        good.truncate(limit(self.nms_top_k));
        good
    }

    /// The number to add to side lengths: 1 if a box includes the pixels at its corners, else 0.
    pub fn unit(&self) -> f32 {
        if self.normalized { 0.0 } else { 1.0 }
    }

    /// Whether boxes of this class are selected.
    pub fn selects(&self, class: usize) -> bool {
        class != limit(self.background_class)
    }

    /// The best rows of one image, by descending score.
    pub(super) fn best_rows(&self, mut rows: Vec<SelectedBox>) -> Vec<SelectedBox> {
        rows.sort_by(SelectedBox::by_score);
        rows.truncate(limit(self.keep_top_k));
        rows
    }

    /// Facts of the rows `[rows, 6]`, the indices `[rows, 1]` and the number of rows of each image.
    pub fn infer(&self, cx: &mut Infer, images: SymExpr, classes: &SymExpr, boxes: &SymExpr) -> Facts {
        let up_to =
            |most: i64| Interval::new(0, if most < 0 { i64::MAX } else { most }).unwrap_or(Interval::DIM);
        let boxes = cx.interval(boxes).min(up_to(self.nms_top_k));
        let mut classes = cx.interval(classes);
        if self.background_class >= 0 && self.background_class < classes.lo() {
            classes = classes.sub(1.into());
        }
        let each = boxes.mul(classes).min(up_to(self.keep_top_k));
        let rows = rows_up_to(cx, &[each, cx.interval(&images)]);
        let index = self.output_type.element_type();
        Facts::from_iter([
            Fact::new(cx.element_type(0), Shape::ranked([rows.clone(), 6.into()])),
            Fact::new(index, Shape::ranked([rows, 1.into()])),
            Fact::new(index, Shape::ranked([images])),
        ])
    }

    /// Builds the outputs from the [best rows](Self::best_rows), which are grouped by image. `boxes` is input
    /// 0.
    pub(super) fn outputs(
        &self,
        mut rows: Vec<SelectedBox>,
        images: usize,
        boxes: &Tensor,
    ) -> Result<Vec<Tensor>, OpError> {
        let mut counts = vec![0i64; images];
        for row in &rows {
            if let Some(count) = counts.get_mut(row.image) {
                *count += 1;
            }
        }
        if self.sort_result_across_batch {
            match self.sort_result_type {
                SortBy::None => {}
                SortBy::Score => rows.sort_by(|a, b| {
                    highest_first(a.score, b.score)
                        .then(a.image.cmp(&b.image))
                        .then_with(|| SelectedBox::by_score(a, b))
                }),
                SortBy::Class => rows.sort_by(|a, b| {
                    a.class
                        .cmp(&b.class)
                        .then(a.image.cmp(&b.image))
                        .then_with(|| SelectedBox::by_class(a, b))
                }),
            }
        }
        let numbers = |row: &SelectedBox| {
            let [a, b, c, d] = row.coordinates;
            [row.class as f32, row.score, a, b, c, d]
        };
        let table = Tensor::from_vec::<f32>(&[rows.len(), 6], rows.iter().flat_map(numbers).collect())?;
        let indices = rows.iter().map(|row| row.index as i64).collect();
        let index = self.output_type.element_type();
        Ok(vec![
            table.cast(boxes.element_type())?,
            Tensor::from_vec::<i64>(&[rows.len(), 1], indices)?.cast(index)?,
            Tensor::from_vec(&[images], counts)?.cast(index)?,
        ])
    }
}
