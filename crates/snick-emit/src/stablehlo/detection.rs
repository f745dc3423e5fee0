//! Region pooling and feature extraction for detectors.

use snick_ir::ops::detection::roi_align::{RoiAlignment, RoiPoolMode};
use snick_ir::ops::detection::roi_pooling::RoiPoolingMethod;
use snick_ir::ops::{RoiAlign, RoiFeatureExtractor, RoiPooling};
use snick_ir::{Op, OpError};
use snick_tensor::{ElementType, Tensor};

use super::emitter::{Emitter, Operand, Result};
use super::reduce::{maximum, sum};
use super::row::OpRow;
use super::taps::{Tap, mixed};

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::RoiFeatureExtractor(op) => OpRow::new(|e| feature_extractor(e, op)),
        Op::RoiAlign(op) => OpRow::new(|e| align(e, op)),
        Op::RoiPooling(op) => OpRow::new(|e| pooling(e, op)),
        _ => return None,
    })
}

/// How to pool a region: the numbers of output rows and columns, the number of samples per bin along each
/// axis, and whether to take the maximum of the samples rather than the mean.
struct Bins {
    counts: [usize; 2],
    samples: usize,
    max: bool,
}

impl Bins {
    /// Fails without a fixed number of samples, because the number would depend on the size of each region.
    fn new(counts: [usize; 2], samples: i64, max: bool) -> Result<Self, OpError> {
        match usize::try_from(samples) {
            Ok(samples) if samples > 0 && !counts.contains(&0) => Ok(Self { counts, samples, max }),
            _ => Err(OpError::unsupported("a number of samples that depends on data")),
        }
    }
}

/// The starts and lengths of all regions along one axis, `[R]` each.
struct Side {
    start: Operand,
    size: Operand,
}

/// Pools regions of maps `[N, C, H, W]` to `[R, C, rows, columns]`, in f32.
fn pooled(
    e: &mut Emitter,
    maps: &Operand,
    images: &Operand,
    sides: &[Side; 2],
    bins: &Bins,
) -> Result<Operand> {
    let [rows, columns] = bins.counts;
    let regions = images.ty.size(0)?;
    let too_many = || OpError::unsupported("this many samples of a region");
    let sampled = |count: usize| count.checked_mul(bins.samples).ok_or_else(too_many);
    let grid = [regions, sampled(rows)?, sampled(columns)?];
    let count = grid.iter().try_fold(1usize, |count, &size| count.checked_mul(size)).ok_or_else(too_many)?;
    let mut taps = Vec::with_capacity(2);
    for (axis, side) in sides.iter().enumerate() {
        let at = samples(e, side, bins.counts[axis], bins.samples)?;
        let at = e.spread(&at, &[0, axis + 1], &grid)?;
        let at = e.reshape(&at, &[count])?;
        taps.push(around(e, &at, maps.ty.size(axis + 2)?, 1.0)?);
    }
    let images = e.spread(images, &[0], &grid)?;
    let images = e.reshape(&images, &[count])?;
    let mixture = mixed(e, maps, &images, &taps[0], &taps[1])?;
    let channels = maps.ty.size(1)?;
    let apart = e.reshape(&mixture, &[regions, rows, bins.samples, columns, bins.samples, channels])?;
    let cells = if bins.max {
        let best = maximum(e, &apart, &[2, 4])?;
        // As in the layer, the maximum is at least 0.
        let zero = e.full(0.0, &best.ty)?;
        e.same("maximum", &[&best, &zero])
    } else {
        let sum = sum(e, &apart, &[2, 4])?;
        e.over(&sum, (bins.samples * bins.samples) as f64)?
    };
    Ok(e.transpose(&cells, &[0, 3, 1, 2]))
}

/// The positions of the samples of each region along an axis, `[R, cells * samples]`.
fn samples(e: &mut Emitter, side: &Side, cells: usize, samples: usize) -> Result<Operand> {
    let all =
        side.start.ty.sized([side.start.ty.dims.as_slice(), &[((cells * samples) as i64).into()]].concat());
    let cell = e.over(&side.size, cells as f64)?;
    let distance = e.over(&cell, samples as f64)?;
    let numbers = |of: fn(usize, usize) -> f32| {
        let numbers = (0..cells * samples).map(|i| of(i, samples)).collect();
        Tensor::from_vec(&[cells * samples], numbers)
    };
    let mut at = e.spread(&side.start, &[0], &all.dims)?;
    for (step, places) in [
        (&cell, numbers(|i, samples| (i / samples) as f32)?),
        (&distance, numbers(|i, samples| (i % samples) as f32 + 0.5)?),
    ] {
        let places = e.constant(&places)?;
        let (step, places) = (e.spread(step, &[0], &all.dims)?, e.spread(&places, &[1], &all.dims)?);
        let reach = e.same("multiply", &[&places, &step]);
        at = e.same("add", &[&at, &reach]);
    }
    Ok(at)
}

/// The two elements between which to interpolate at a position, with their weights. A position that is more
/// than `slack` outside the axis has no elements. Any other position outside the axis uses the border
/// element.
fn around(e: &mut Emitter, at: &Operand, size: usize, slack: f64) -> Result<Vec<Tap>, OpError> {
    let last = size as f64 - 1.0;
    let (first, end) = (e.full(-slack, &at.ty)?, e.full(last + slack, &at.ty)?);
    let (above, below) = (e.compare("GE", at, &first), e.compare("LE", at, &end));
    let inside = e.same("and", &[&above, &below]);
    let near = e.within(at, 0.0, last)?;
    let low = e.same("floor", &[&near]);
    let part = e.same("subtract", &[&near, &low]);
    let negative = e.same("negate", &[&part]);
    let rest = e.plus(&negative, 1.0)?;
    let low = e.convert(&low, ElementType::I64);
    let next = e.plus(&low, 1.0)?;
    let next = e.within(&next, 0.0, last)?;
    Ok(vec![
        Tap { at: low, weight: rest, inside: Some(inside.clone()) },
        Tap { at: next, weight: part, inside: Some(inside) },
    ])
}

/// Column `i` of the regions, in f32.
fn column(e: &mut Emitter, x: &Operand, i: i64) -> Result<Operand> {
    let part = e.part(x, 1, &i.into(), 1.into())?;
    let part = e.convert(&part, ElementType::F32);
    e.reshape(&part, part.ty.dims.get(..1).unwrap_or_default().to_vec())
}

/// Converts regions (x1, y1, x2, y2) to feature-map coordinates, and returns their starts and lengths along y
/// and x. Lengths are at least `least`.
fn sides(
    e: &mut Emitter,
    regions: &Operand,
    least: Option<f64>,
    moved: impl Fn(&mut Emitter, &Operand) -> Result<Operand>,
) -> Result<[Side; 2], OpError> {
    let mut side = |first: i64| {
        let (start, end) = (column(e, regions, first)?, column(e, regions, first + 2)?);
        let (start, end) = (moved(e, &start)?, moved(e, &end)?);
        let mut size = e.same("subtract", &[&end, &start]);
        if let Some(least) = least {
            let least = e.full(least, &size.ty)?;
            size = e.same("maximum", &[&size, &least]);
        }
        Ok::<_, OpError>(Side { start, size })
    };
    Ok([side(1)?, side(0)?])
}

fn align(e: &mut Emitter, op: &RoiAlign) -> Result {
    let (maps, regions, images) = (e.input(0)?, e.input(1)?, e.input(2)?);
    let bins = Bins::new(
        [op.regions.pooled_h, op.regions.pooled_w],
        op.regions.sampling_ratio,
        op.mode == RoiPoolMode::Max,
    )?;
    // The offsets to add to corners before and after scaling, and whether regions may be smaller than one
    // element.
    let (before, after, exact) = match op.aligned_mode {
        RoiAlignment::HalfPixelForNn => (0.0, -0.5, true),
        RoiAlignment::HalfPixel => (0.5, -0.5, true),
        RoiAlignment::Asymmetric => (0.0, 0.0, false),
    };
    let wide = e.convert(&maps, ElementType::F32);
    let images = e.convert(&images, ElementType::I64);
    let sides = sides(e, &regions, (!exact).then_some(1.0), |e, corner| {
        let corner = e.plus(corner, before)?;
        let scaled = e.times(&corner, op.regions.spatial_scale)?;
        e.plus(&scaled, after)
    })?;
    let y = pooled(e, &wide, &images, &sides, &bins)?;
    let y = listed(e, &images, &y)?;
    let y = e.convert(&y, maps.ty.element);
    e.give(0, y)
}

/// An image index of -1 marks the end of the list of regions. Sets the results of this region and of all
/// later regions to zero.
fn listed(e: &mut Emitter, images: &Operand, y: &Operand) -> Result<Operand> {
    let places = e.iota(0, images.ty.clone())?;
    let (end, none) = (e.full(-1.0, &images.ty)?, e.full(i64::MAX as f64, &images.ty)?);
    let is_end = e.compare("EQ", images, &end);
    let ends = e.select(&is_end, &places, &none);
    let most = e.full(i64::MAX as f64, &images.ty.sized(&[]))?;
    let first = e.reduce(&ends, &[0], "minimum", &most);
    let first = e.spread(&first, &[], &images.ty.dims)?;
    let is_listed = e.compare("LT", &places, &first);
    let is_listed = e.spread(&is_listed, &[0], &y.ty.dims)?;
    let nothing = e.full(0.0, &y.ty)?;
    Ok(e.select(&is_listed, y, &nothing))
}

/// Pools regions `[image, x1, y1, x2, y2]`, by the maximum of each bin or by bilinear sampling.
fn pooling(e: &mut Emitter, op: &RoiPooling) -> Result {
    let (maps, regions) = (e.input(0)?, e.input(1)?);
    let wide = e.convert(&maps, ElementType::F32);
    let images = column(e, &regions, 0)?;
    let images = e.convert(&images, ElementType::I64);
    let out = e.output(0)?;
    let bilinear = op.method == RoiPoolingMethod::Bilinear;
    let mut ends = Vec::with_capacity(4);
    for i in [2, 4, 1, 3] {
        let end = column(e, &regions, i)?;
        ends.push(if bilinear { end } else { e.times(&end, op.spatial_scale)? });
    }
    let [y0, y1, x0, x1] = ends.as_slice() else { return Err(OpError::NotConnected { port: 1 }) };
    let y = match bilinear {
        true => corner_samples(e, &wide, &images, [[y0, y1], [x0, x1]])?,
        false => greatest(e, &wide, &images, [[y0, y1], [x0, x1]])?,
    };
    let y = listed(e, &images, &y)?;
    let y = e.convert(&y, out.element);
    e.give(0, y)
}

/// Bilinear samples at evenly spaced positions that include both ends of a region. `ends` are the ends of the
/// regions along y and x, as fractions of the axis.
fn corner_samples(
    e: &mut Emitter,
    maps: &Operand,
    images: &Operand,
    ends: [[&Operand; 2]; 2],
) -> Result<Operand> {
    let out = e.output(0)?.fixed()?;
    let &[regions, channels, rows, columns] = out.as_slice() else {
        return Err(OpError::rank("the output", out.len(), "4"));
    };
    let grid = [regions, rows, columns];
    let count = regions * rows * columns;
    let mut taps = Vec::with_capacity(2);
    for (axis, [first, last]) in ends.into_iter().enumerate() {
        let (bins, size) = (grid[axis + 1], maps.ty.size(axis + 2)?);
        let end = size as f64 - 1.0;
        let mut places = Vec::with_capacity(bins);
        for i in 0..bins {
            let place = if bins == 1 {
                let both = e.same("add", &[first, last]);
                let middle = e.times(&both, 0.5)?;
                e.times(&middle, end)?
            } else if i + 1 == bins {
                // Uses `last` directly, because rounding could move the computed position outside the region.
                e.times(last, end)?
            } else {
                let length = e.same("subtract", &[last, first]);
                let length = e.times(&length, end)?;
                let step = e.over(&length, bins as f64 - 1.0)?;
                let reach = e.times(&step, i as f64)?;
                let start = e.times(first, end)?;
                e.same("add", &[&reach, &start])
            };
            places.push(e.reshape(&place, &[regions, 1])?);
        }
        let places = e.concatenate(&places, 1)?;
        let places = e.spread(&places, &[0, axis + 1], &grid)?;
        let places = e.reshape(&places, &[count])?;
        taps.push(around(e, &places, size, 0.0)?);
    }
    let images = e.spread(images, &[0], &grid)?;
    let images = e.reshape(&images, &[count])?;
    let mixture = mixed(e, maps, &images, &taps[0], &taps[1])?;
    let mixture = e.reshape(&mixture, &[regions, rows, columns, channels])?;
    Ok(e.transpose(&mixture, &[0, 3, 1, 2]))
}

/// The maximum over the rows and columns of each bin; 0 for an empty bin.
fn greatest(e: &mut Emitter, maps: &Operand, images: &Operand, ends: [[&Operand; 2]; 2]) -> Result<Operand> {
    let out = e.output(0)?.fixed()?;
    let &[regions, ..] = out.as_slice() else { return Err(OpError::rank("the output", 0, "4")) };
    let places = e.reshape(images, &[regions, 1])?;
    let mut y = super::lookup::along(e, maps, &places, 0)?;
    let lowest = e.full(f32::MIN.into(), &maps.ty.sized(&[]))?;
    let mut empty: Option<Operand> = None;
    for (axis, ends) in [(3, ends[1]), (2, ends[0])] {
        let size = maps.ty.size(axis)?;
        let covered = covered(e, ends, out[axis], size)?;
        let none = e.full(0.0, &covered.ty.sized(&[]))?;
        let any = e.reduce(&covered, &[2], "or", &none);
        let is_empty = e.same("not", &[&any]);
        let is_empty = e.spread(&is_empty, &[0, axis], &out)?;
        empty = Some(match empty {
            Some(other) => e.same("or", &[&other, &is_empty]),
            None => is_empty,
        });
        // Adds an axis of bins, and masks the elements that are outside each bin.
        let mut each = y.ty.dims.clone();
        each.insert(axis, (out[axis] as i64).into());
        let apart: Vec<usize> = (0..each.len()).filter(|&own| own != axis).collect();
        let all = e.spread(&y, &apart, &each)?;
        let covered = e.spread(&covered, &[0, axis, axis + 1], &each)?;
        let nothing = e.spread(&lowest, &[], &each)?;
        let seen = e.select(&covered, &all, &nothing);
        y = e.reduce(&seen, &[axis + 1], "maximum", &lowest);
    }
    let Some(empty) = empty else { return Ok(y) };
    let zero = e.full(0.0, &y.ty)?;
    Ok(e.select(&empty, &zero, &y))
}

/// A mask `[R, bins, size]` of the elements of an axis that are in each bin. The region, including both ends,
/// is divided into equal bins, which are clipped to the map.
fn covered(e: &mut Emitter, ends: [&Operand; 2], bins: usize, size: usize) -> Result<Operand> {
    let mut whole = Vec::with_capacity(2);
    for end in ends {
        let near = e.same("round_nearest_afz", &[end]);
        let near = e.convert(&near, ElementType::I64);
        // Clamps so that products with the number of bins do not overflow.
        let bound = (1_i64 << 40) as f64;
        whole.push(e.within(&near, -bound, bound)?);
    }
    let [first, last] = whole.as_slice() else { return Err(OpError::NotConnected { port: 1 }) };
    let gaps = e.same("subtract", &[last, first]);
    let length = e.plus(&gaps, 1.0)?;
    let one = e.full(1.0, &length.ty)?;
    let length = e.same("maximum", &[&length, &one]);
    let regions = first.ty.size(0)?;
    let all = first.ty.sized(&[regions, bins, size]);
    let mut bound = |next: f64, up: f64| {
        let index = e.iota(1, first.ty.sized(&[regions, bins]))?;
        let index = e.plus(&index, next)?;
        let length = e.spread(&length, &[0], &index.ty.dims)?;
        let reach = e.same("multiply", &[&index, &length]);
        let reach = e.plus(&reach, up)?;
        let reach = e.over(&reach, bins as f64)?;
        let first = e.spread(first, &[0], &reach.ty.dims)?;
        let place = e.same("add", &[&first, &reach]);
        e.spread(&place, &[0, 1], &all.dims)
    };
    let (begin, end) = (bound(0.0, 0.0)?, bound(1.0, bins as f64 - 1.0)?);
    let places = e.iota(2, all)?;
    let (above, below) = (e.compare("GE", &places, &begin), e.compare("LT", &places, &end));
    Ok(e.same("and", &[&above, &below]))
}

/// Pools each region on all levels of a pyramid, and selects the level that suits its size.
fn feature_extractor(e: &mut Emitter, op: &RoiFeatureExtractor) -> Result {
    /// The side length of a square region that belongs to level 2.
    const CANONICAL_SIZE: f64 = 224.0;
    const CANONICAL_LEVEL: f64 = 2.0;
    let regions = e.input(0)?;
    let bins = Bins::new([op.output_size; 2], op.sampling_ratio, false)?;
    let shift = if op.aligned { -0.5 } else { 0.0 };
    let scales = &op.pyramid_scales;
    let own = sides(e, &regions, None, |_, corner| Ok(corner.clone()))?;
    let area = e.same("multiply", &[&own[1].size, &own[0].size]);
    let levels = e.len().saturating_sub(1);
    let root = e.same("sqrt", &[&area]);
    let share = e.over(&root, CANONICAL_SIZE)?;
    let raised = e.plus(&share, 1e-6)?;
    let natural = e.same("log", &[&raised]);
    let level = e.over(&natural, std::f64::consts::LN_2)?;
    let level = e.plus(&level, CANONICAL_LEVEL)?;
    let level = e.same("floor", &[&level]);
    let level = e.within(&level, 0.0, levels.saturating_sub(1) as f64)?;
    // A region without area belongs to no level, and its features are 0.
    let zero = e.full(0.0, &area.ty)?;
    let has_area = e.compare("GT", &area, &zero);
    let images = e.full(0.0, &area.ty.with(ElementType::I64))?;
    let mut y: Option<Operand> = None;
    for number in 0..levels {
        let maps = e.input(number + 1)?;
        let maps = e.convert(&maps, ElementType::F32);
        let scale = scales.get(number).copied().filter(|&scale| scale != 0);
        let scale = scale.ok_or_else(|| OpError::mismatch("`pyramid_scales`", scales.len(), levels))?;
        let sides = sides(e, &regions, Some(1.0), |e, corner| {
            let scaled = e.times(corner, f64::from(1.0 / scale as f32))?;
            e.plus(&scaled, shift)
        })?;
        let features = pooled(e, &maps, &images, &sides, &bins)?;
        let before = match y {
            Some(before) => before,
            None => e.full(0.0, &features.ty)?,
        };
        let number = e.full(number as f64, &level.ty)?;
        let is_level = e.compare("EQ", &level, &number);
        let is_level = e.same("and", &[&is_level, &has_area]);
        let is_level = e.spread(&is_level, &[0], &features.ty.dims)?;
        y = Some(e.select(&is_level, &features, &before));
    }
    let y = y.ok_or(OpError::NotConnected { port: 1 })?;
    let element = e.output(0)?.element;
    let y = e.convert(&y, element);
    e.give(0, y)?;
    e.give(1, regions)
}
