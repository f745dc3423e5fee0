//! Rows of class, score and box: what MatrixNms and MulticlassNms share, which is all but their choice of boxes.

use std::cmp::Ordering;

use smallvec::SmallVec;
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{ElementType, Tensor};

use super::checks::{expect_index_type, rows_up_to};
use super::corners::best_first;
use super::settings::{Kind, Settings, Table};
use crate::{Attrs, Fact, Facts, Infer, OpError};

/// By what rows are sorted in the end.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum SortBy {
    /// As each image has them: the best first.
    None,
    /// Score.
    Score,
    /// Class, then score.
    Class,
}

/// The names of the orders.
pub const ORDERS: &[(&str, SortBy)] =
    &[("none", SortBy::None), ("score", SortBy::Score), ("classid", SortBy::Class)];

/// One selected box.
#[derive(Copy, Clone, Debug)]
pub struct SelectedBox {
    /// The image it is in.
    pub image: usize,
    /// Its class.
    pub class: usize,
    /// Which box of the inputs it is, as the output says it.
    pub index: usize,
    /// Its place among the boxes of its image and class.
    pub place: usize,
    /// Its score.
    pub score: f32,
    /// Its elements in the input.
    pub sides: [f32; 4],
}

impl SelectedBox {
    /// The order by score, then class and place, within an image.
    pub fn by_score(a: &Self, b: &Self) -> Ordering {
        best_first(a.score, b.score).then((a.class, a.place).cmp(&(b.class, b.place)))
    }

    /// The order by class, then score and place, within an image.
    pub fn by_class(a: &Self, b: &Self) -> Ordering {
        a.class.cmp(&b.class).then(best_first(a.score, b.score)).then(a.place.cmp(&b.place))
    }
}

/// The attributes that the ops share.
const SHARED: Table = &[
    ("sort_result_type", Kind::Text),
    ("nms_top_k", Kind::Int),
    ("keep_top_k", Kind::Int),
    ("sort_result_across_batch", Kind::Bool),
    ("score_threshold", Kind::Float),
    ("background_class", Kind::Int),
    ("normalized", Kind::Bool),
];

/// Reads those and the op's `own` ones, and the type of indices.
pub fn parse(attrs: &Attrs, own: Table) -> Result<(Settings, ElementType), OpError> {
    let settings = Settings::parse(attrs, SHARED.iter().chain(own))?;
    attrs.choice("sort_result_type", ORDERS)?;
    for name in ["nms_top_k", "keep_top_k", "background_class"] {
        let value = settings.int(name, -1);
        if value < -1 {
            return Err(OpError::out_of_range(format!("`{name}`"), value, "-1 or more"));
        }
    }
    let output_type = attrs.element_type("output_type")?.unwrap_or(ElementType::I64);
    expect_index_type("output_type", output_type)?;
    Ok((settings, output_type))
}

/// A number that -1 lifts.
pub fn limit(settings: &Settings, name: &'static str) -> usize {
    usize::try_from(settings.int(name, -1)).unwrap_or(usize::MAX)
}

/// The places and scores of the boxes of a class whose score `passes` the limit, the best first, as many as are
/// wanted.
pub fn candidates(settings: &Settings, scores: &[f32], passes: fn(&f32, &f32) -> bool) -> Vec<(usize, f32)> {
    let least = settings.float("score_threshold", 0.0) as f32;
    let mut good: Vec<(usize, f32)> =
        scores.iter().copied().enumerate().filter(|(_, score)| passes(score, &least)).collect();
    good.sort_by(|a, b| best_first(a.1, b.1));
    good.truncate(limit(settings, "nms_top_k"));
    good
}

/// How much longer a side is than its ends are apart: by a pixel, unless coordinates are parts of the image.
pub fn unit(settings: &Settings) -> f32 {
    if settings.bool("normalized", true) { 0.0 } else { 1.0 }
}

/// Facts of the rows `[rows, 6]`, the indices `[rows, 1]` and the number of rows of each image.
pub fn facts(
    cx: &mut Infer,
    settings: &Settings,
    index: ElementType,
    images: SymExpr,
    classes: &SymExpr,
    boxes: &SymExpr,
) -> Facts {
    let up_to = |most: i64| Interval::new(0, if most < 0 { i64::MAX } else { most }).unwrap_or(Interval::DIM);
    let boxes = cx.interval(boxes).min(up_to(settings.int("nms_top_k", -1)));
    let mut classes = cx.interval(classes);
    let background = settings.int("background_class", -1);
    if background >= 0 && background < classes.lo() {
        classes = classes.sub(1.into());
    }
    let each = boxes.mul(classes).min(up_to(settings.int("keep_top_k", -1)));
    let rows = rows_up_to(cx, &[each, cx.interval(&images)]);
    let table = |columns: i64| -> Shape {
        Shape::ranked(SmallVec::<[SymExpr; 4]>::from_iter([rows.clone(), columns.into()]))
    };
    Facts::from_iter([
        Fact::new(cx.element_type(0), table(6)),
        Fact::new(index, table(1)),
        Fact::new(index, Shape::ranked([images])),
    ])
}

/// The outputs for the rows of all images, each image's in a run, sorted and cut by [`SelectedBox::by_score`].
pub fn outputs(
    settings: &Settings,
    mut rows: Vec<SelectedBox>,
    images: usize,
    index: ElementType,
    element_type: ElementType,
) -> Result<Vec<Tensor>, OpError> {
    let mut counts = vec![0i64; images];
    for row in &rows {
        if let Some(count) = counts.get_mut(row.image) {
            *count += 1;
        }
    }
    if settings.bool("sort_result_across_batch", false) {
        match settings.choice("sort_result_type", ORDERS).unwrap_or(SortBy::None) {
            SortBy::None => {}
            SortBy::Score => rows.sort_by(|a, b| {
                best_first(a.score, b.score)
                    .then(a.image.cmp(&b.image))
                    .then_with(|| SelectedBox::by_score(a, b))
            }),
            SortBy::Class => rows.sort_by(|a, b| {
                a.class.cmp(&b.class).then(a.image.cmp(&b.image)).then_with(|| SelectedBox::by_class(a, b))
            }),
        }
    }
    let numbers = |row: &SelectedBox| {
        let [a, b, c, d] = row.sides;
        [row.class as f32, row.score, a, b, c, d]
    };
    let table = Tensor::from_vec::<f32>(&[rows.len(), 6], rows.iter().flat_map(numbers).collect())?;
    let indices = rows.iter().map(|row| row.index as i64).collect();
    Ok(vec![
        table.cast(element_type)?,
        Tensor::from_vec::<i64>(&[rows.len(), 1], indices)?.cast(index)?,
        Tensor::from_vec(&[images], counts)?.cast(index)?,
    ])
}
