//! PSROIPooling-1 and DeformablePSROIPooling-1: each bin of a region is read from channels of its own. The
//! deformable one moves its bins by offsets.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};
use snick_shape::{Shape, SymExpr};
use snick_tensor::Tensor;

use super::checks::{common_dim, expect_float, expect_rank, expect_size, padded, room};
use super::sampling::{Maps, Plane};
use super::settings::{Kind, Settings, Table};
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// A map `[N, C, H, W]` and regions `[rois, 5]`, each an image and corners x, y, x, y, to
/// `[rois, output_dim, group_size, group_size]`. The deformable one may have offsets
/// `[rois, 2 * parts, part_size, part_size]`, x and y in turn, in the size of the region.
#[derive(Clone, PartialEq, Debug)]
pub struct PsRoiPooling {
    deformable: bool,
    settings: Settings,
}

const NAMES: [OpName; 2] =
    [OpName::openvino("PSROIPooling", &[1]), OpName::openvino("DeformablePSROIPooling", &[1])];

const DEFORMABLE: Table = &[
    ("output_dim", Kind::Int),
    ("group_size", Kind::Int),
    ("spatial_scale", Kind::Float),
    ("mode", Kind::Text),
    ("spatial_bins_x", Kind::Int),
    ("spatial_bins_y", Kind::Int),
    ("trans_std", Kind::Float),
    ("part_size", Kind::Int),
];

/// All but what moves the parts.
const TABLE: Table = DEFORMABLE.split_at(6).0;

/// How a bin is read.
#[derive(Copy, Clone, PartialEq, Debug)]
enum Mode {
    /// The mean of its places.
    Average,
    /// The mean of bilinear samples, each of channels of its own.
    Bilinear,
    /// The mean of bilinear samples of one channel.
    Deformable,
}

const MODES: &[(&str, Mode)] = &[("average", Mode::Average), ("bilinear", Mode::Bilinear)];
const DEFORMABLE_MODE: &str = "bilinear_deformable";

impl OpDef for PsRoiPooling {
    const NAMES: &'static [OpName] = &NAMES;
    const ARITY: Arity = Arity::between(2, 3);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let deformable = raw.row(&NAMES) == 1;
        // The mode of the deformable op is not looked at before it runs.
        if !deformable && raw.attrs.choice("mode", MODES)?.is_none() {
            return Err(crate::attrs::missing("mode"));
        }
        let table = if deformable { DEFORMABLE } else { TABLE };
        Ok(Self { deformable, settings: Settings::parse(&raw.attrs, table)? })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.settings.attrs()
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[usize::from(self.deformable)]
    }
}

impl InferOp for PsRoiPooling {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        if !self.deformable {
            Arity::exactly(2).check(cx.len())?;
            expect_float(cx, 0)?;
            expect_float(cx, 1)?;
            expect_size(cx, 1, 1, 5)?;
        }
        expect_rank(cx, 0, 4)?;
        expect_rank(cx, 1, 2)?;
        if cx.len() == 3 {
            expect_rank(cx, 2, 4)?;
        }
        let layout = self.layout()?;
        if !self.deformable {
            let scale = self.settings.float("spatial_scale", 0.0);
            if scale.is_nan() || scale <= 0.0 {
                return Err(OpError::mismatch("`spatial_scale`", scale, "a positive number"));
            }
            expect_size(cx, 0, 1, layout.channels()?)?;
        }
        let regions = common_dim(cx, &[(1, 0)])?;
        let group = SymExpr::from(layout.group as i64);
        let dims: SmallVec<[SymExpr; 4]> =
            smallvec![regions, SymExpr::from(layout.depth as i64), group.clone(), group];
        Ok(smallvec![Fact::new(cx.element_type(0), Shape::ranked(dims))])
    }
}

impl EvalOp for PsRoiPooling {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, regions, offsets @ ..] = inputs else { return Ok(Vec::new()) };
        let mode = self.settings.text("mode");
        if self.deformable && !mode.is_empty() && !mode.eq_ignore_ascii_case(DEFORMABLE_MODE) {
            return Err(OpError::unsupported(format!("running DeformablePSROIPooling in mode \"{mode}\"")));
        }
        let maps = Maps::new(data)?;
        let layout = self.layout()?;
        let &[count, 5] = regions.dims() else {
            return Err(OpError::mismatch("the regions", format!("{:?}", regions.dims()), "[rois, 5]"));
        };
        let channels = layout.channels()?;
        if usize::try_from(channels) != Ok(maps.dims()[1]) {
            return Err(OpError::mismatch("the number of channels", maps.dims()[1], channels));
        }
        let offsets =
            offsets.first().map(|offsets| Offsets::new(offsets, self, &layout, count)).transpose()?;
        let dims = [count, layout.depth, layout.group, layout.group];
        let mut out = room(&dims)?;
        for (index, region) in regions.to_f32_vec()?.as_chunks::<5>().0.iter().enumerate() {
            let &[image, x0, y0, x1, y1] = region;
            // The first region of image -1 ends the list: it and what follows are off.
            if image as i64 == -1 {
                break;
            }
            let image = maps.image(image as i64)?;
            let sides = [[y0, y1], [x0, x1]].map(|ends| Side::new(ends, self.scale(), layout.mode));
            let bin = Bin { maps: &maps, image, layout: &layout, sides };
            if layout.mode == Mode::Average {
                bin.averages(&mut out);
                continue;
            }
            for depth in 0..layout.depth {
                for row in 0..layout.group {
                    for column in 0..layout.group {
                        let at = [row, column];
                        out.push(if layout.mode == Mode::Deformable {
                            let moved = offsets.as_ref().map(|offsets| offsets.of(index, depth, at));
                            bin.deformable(depth, at, moved.unwrap_or_default())
                        } else {
                            bin.bilinear(depth, at)
                        });
                    }
                }
            }
        }
        Ok(vec![padded(&dims, out)?.cast(data.element_type())?])
    }
}

/// The sizes that the attributes give.
struct Layout {
    mode: Mode,
    depth: usize,
    group: usize,
    /// Samples of a bin along y and x.
    bins: [usize; 2],
}

impl Layout {
    /// The channels that the map must have.
    fn channels(&self) -> Result<i64, OpError> {
        let cells = match self.mode {
            Mode::Bilinear => self.bins[0].checked_mul(self.bins[1]),
            Mode::Average | Mode::Deformable => self.group.checked_mul(self.group),
        };
        let channels = cells.and_then(|cells| cells.checked_mul(self.depth)).map(i64::try_from);
        channels
            .and_then(Result::ok)
            .ok_or_else(|| OpError::mismatch("the number of channels", "huge", "less"))
    }
}

impl PsRoiPooling {
    fn layout(&self) -> Result<Layout, OpError> {
        let size = |name: &'static str, default: i64, least: i64| {
            let size = self.settings.int(name, default);
            let allowed = usize::try_from(size).ok().filter(|_| size >= least);
            allowed
                .ok_or_else(|| OpError::out_of_range(format!("`{name}`"), size, format!("{least} or more")))
        };
        let (mode, one) = match self.deformable {
            true => (Mode::Deformable, 1),
            false => (self.settings.choice("mode", MODES).unwrap_or(Mode::Average), 0),
        };
        let least = i64::from(mode == Mode::Bilinear);
        Ok(Layout {
            mode,
            depth: size("output_dim", 0, one)?,
            group: size("group_size", one, 1)?,
            bins: [size("spatial_bins_y", one, least)?, size("spatial_bins_x", one, least)?],
        })
    }

    fn scale(&self) -> f32 {
        self.settings.float("spatial_scale", 0.0) as f32
    }
}

/// A region along one axis of the map.
#[derive(Copy, Clone)]
struct Side {
    start: f32,
    length: f32,
}

impl Side {
    fn new([first, last]: [f32; 2], scale: f32, mode: Mode) -> Self {
        let (start, end) = match mode {
            Mode::Average => (first.round() * scale, (last + 1.0).round() * scale),
            Mode::Bilinear => (first * scale, last * scale),
            // Places are the middles of their cells.
            Mode::Deformable => (first.round() * scale - 0.5, (last.round() + 1.0) * scale - 0.5),
        };
        // Pooling by places makes something even of an empty region.
        let least = if mode == Mode::Bilinear { f32::NEG_INFINITY } else { 0.1 };
        Self { start, length: (end - start).max(least) }
    }
}

/// What a bin is read from.
struct Bin<'a> {
    maps: &'a Maps,
    image: usize,
    layout: &'a Layout,
    /// Along y and x.
    sides: [Side; 2],
}

impl Bin<'_> {
    fn plane(&self, channel: usize) -> Plane<'_> {
        self.maps.plane(self.image, channel)
    }

    /// Height and width of the map.
    fn size(&self) -> [usize; 2] {
        let [_, _, height, width] = self.maps.dims();
        [height, width]
    }

    /// The channel of a bin where each bin has one.
    fn own_channel(&self, depth: usize, at: [usize; 2]) -> usize {
        (depth * self.layout.group + at[0]) * self.layout.group + at[1]
    }

    /// The means of all bins of a region, depth by depth.
    fn averages(&self, out: &mut Vec<f32>) {
        let group = self.layout.group;
        let places = |axis: usize| -> Vec<Range<usize>> {
            let (side, size) = (self.sides[axis], self.size()[axis] as f32);
            let step = side.length / group as f32;
            let bin = |at: usize| {
                let first = (at as f32 * step + side.start).floor();
                let end = ((at + 1) as f32 * step + side.start).ceil();
                first.clamp(0.0, size) as usize..end.clamp(0.0, size) as usize
            };
            (0..group).map(bin).collect()
        };
        let (rows, columns) = (places(0), places(1));
        for depth in 0..self.layout.depth {
            for (row, rows) in rows.iter().enumerate() {
                for (column, columns) in columns.iter().enumerate() {
                    let plane = self.plane(self.own_channel(depth, [row, column]));
                    out.push(mean(plane, rows, columns));
                }
            }
        }
    }

    fn bilinear(&self, depth: usize, at: [usize; 2]) -> f32 {
        let place = |axis: usize, index: usize| {
            let (side, bins, group) = (self.sides[axis], self.layout.bins[axis], self.layout.group);
            let part = side.length / bins as f32;
            let first = side.start + index as f32 * part;
            let last = side.start + (index + 1) as f32 * part;
            let end = self.size()[axis] as f32 - 1.0;
            match group {
                1 => 0.5 * (first + last) * end,
                _ => at[axis] as f32 * ((last - first) * end / (group as f32 - 1.0)) + first * end,
            }
        };
        let [rows, columns] = self.layout.bins;
        let mut sum = 0.0;
        for y in 0..rows {
            for x in 0..columns {
                let channel = depth + (y * columns + x) * self.layout.depth;
                sum += self.plane(channel).sample(place(0, y), place(1, x)).unwrap_or(0.0);
            }
        }
        sum / (rows * columns) as f32
    }

    /// `moved` is the offset along y and x, in the size of the region.
    fn deformable(&self, depth: usize, at: [usize; 2], moved: [f32; 2]) -> f32 {
        let plane = self.plane(self.own_channel(depth, at));
        let place = |axis: usize, index: usize| {
            let (side, size) = (self.sides[axis], self.size()[axis] as f32);
            let step = side.length / self.layout.group as f32;
            let start = at[axis] as f32 * step + side.start + moved[axis] * side.length;
            let place = start + index as f32 * (step / self.layout.bins[axis] as f32);
            (-0.5..=size - 0.5).contains(&place).then(|| place.clamp(0.0, (size - 1.0).max(0.0)))
        };
        let [rows, columns] = self.layout.bins;
        let (mut sum, mut count) = (0.0, 0usize);
        for y in (0..rows).filter_map(|y| place(0, y)) {
            for x in (0..columns).filter_map(|x| place(1, x)) {
                sum += plane.sample(y, x).unwrap_or(0.0);
                count += 1;
            }
        }
        if count == 0 { 0.0 } else { sum / count as f32 }
    }
}

/// The mean of some rows and columns; 0 where there is none.
fn mean(plane: Plane, rows: &Range<usize>, columns: &Range<usize>) -> f32 {
    let count = rows.len() * columns.len();
    if count == 0 {
        return 0.0;
    }
    let row = |y| plane.row(y).get(columns.clone()).unwrap_or_default().iter().sum::<f32>();
    rows.clone().map(row).sum::<f32>() / count as f32
}

/// The offsets of the deformable op.
struct Offsets {
    values: Vec<f32>,
    scale: f32,
    parts: usize,
    part_size: usize,
    /// Output channels that share a part.
    depth_of_part: usize,
    group: usize,
}

impl Offsets {
    fn new(offsets: &Tensor, op: &PsRoiPooling, layout: &Layout, regions: usize) -> Result<Self, OpError> {
        let part_size = op.settings.int("part_size", 1);
        let size = usize::try_from(part_size).unwrap_or(0);
        match *offsets.dims() {
            [count, twice, height, width]
                if count == regions
                    && twice >= 2
                    && twice.is_multiple_of(2)
                    && layout.depth.is_multiple_of(twice / 2)
                    && size >= 1
                    && height == size
                    && width == size =>
            {
                Ok(Self {
                    values: offsets.to_f32_vec()?,
                    scale: op.settings.float("trans_std", 1.0) as f32,
                    parts: twice / 2,
                    part_size: size,
                    depth_of_part: layout.depth / (twice / 2),
                    group: layout.group,
                })
            }
            _ => Err(OpError::mismatch(
                "the shape of the offsets",
                format!("{:?}", offsets.dims()),
                format!("[{regions}, 2 * parts, {part_size}, {part_size}], parts dividing {}", layout.depth),
            )),
        }
    }

    /// The offset of a bin along y and x.
    fn of(&self, region: usize, depth: usize, at: [usize; 2]) -> [f32; 2] {
        let part = region * self.parts + depth / self.depth_of_part;
        let [y, x] = at.map(|place| place * self.part_size / self.group);
        // x stands before y.
        [1, 0].map(|axis| {
            let row = (part * 2 + axis) * self.part_size + y;
            self.values.get(row * self.part_size + x).map_or(0.0, |value| value * self.scale)
        })
    }
}
