//! PriorBox-1 and -8, PriorBoxClustered-1: default boxes around every cell of a feature map. Version 8 of PriorBox
//! adds the order of its boxes.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{ElementType, Tensor};

use super::checks::{expect_rank, expect_whole, room};
use super::settings::{Kind, Settings, Table};
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// The size of the map and of the image, each `[H, W]`, to `[2, 4 * H * W * priors]`: boxes and variances.
#[derive(Clone, PartialEq, Debug)]
pub struct PriorBox {
    /// Whether widths and heights are given one by one.
    pub clustered: bool,
    settings: Settings,
}

const NAMES: [OpName; 2] =
    [OpName::openvino("PriorBox", &[1, 8]), OpName::openvino("PriorBoxClustered", &[1])];

const TABLE: Table = &[
    ("min_size", Kind::Floats),
    ("max_size", Kind::Floats),
    ("aspect_ratio", Kind::Floats),
    ("density", Kind::Floats),
    ("fixed_ratio", Kind::Floats),
    ("fixed_size", Kind::Floats),
    ("clip", Kind::Bool),
    ("flip", Kind::Bool),
    ("step", Kind::Float),
    ("offset", Kind::Float),
    ("variance", Kind::Floats),
    ("scale_all_sizes", Kind::Bool),
    ("min_max_aspect_ratios_order", Kind::Bool),
];

const CLUSTERED: Table = &[
    ("step", Kind::Float),
    ("step_w", Kind::Float),
    ("step_h", Kind::Float),
    ("width", Kind::Floats),
    ("height", Kind::Floats),
    ("clip", Kind::Bool),
    ("offset", Kind::Float),
    ("variance", Kind::Floats),
];

impl OpDef for PriorBox {
    const NAMES: &'static [OpName] = &NAMES;
    const ARITY: Arity = Arity::exactly(2);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let clustered = raw.row(&NAMES) == 1;
        let settings = Settings::parse(&raw.attrs, if clustered { CLUSTERED } else { TABLE })?;
        Ok(Self { clustered, settings })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.settings.attrs()
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[usize::from(self.clustered)]
    }
}

impl InferOp for PriorBox {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let two = SymExpr::from(2);
        expect_whole(cx, 0)?;
        expect_whole(cx, 1)?;
        expect_rank(cx, 0, 1)?;
        expect_rank(cx, 1, 1)?;
        // Only elements that are known are looked at before the run.
        if let Some(size) = cx.input(0).elements()
            && size.len() != 2
        {
            return Err(OpError::mismatch("the number of sizes of the map", size.len(), 2));
        }
        let priors = self.priors()?;
        let columns = match cx.input(0).elements().as_deref() {
            Some([height, width]) => {
                let cells = cx.mul(height, width);
                let columns = cx.mul(&cells, &priors.saturating_mul(4).into());
                cx.as_dim(&columns)
            }
            _ => None,
        };
        let columns = columns.unwrap_or_else(|| cx.unknown(Interval::DIM));
        let dims: SmallVec<[SymExpr; 4]> = smallvec![two, columns];
        Ok(smallvec![Fact::new(ElementType::F32, Shape::ranked(dims))])
    }
}

impl EvalOp for PriorBox {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [map, image] = inputs else { return Ok(Vec::new()) };
        let size = |what: &str, tensor: &Tensor| match *tensor.to_i64_vec()? {
            [height, width] if height >= 0 && width >= 0 => Ok([height, width]),
            ref found => {
                Err(OpError::mismatch(format!("the size of the {what}"), format!("{found:?}"), "two sizes"))
            }
        };
        let (cells, image) = (size("map", map)?, size("image", image)?);
        let priors = usize::try_from(self.priors()?).unwrap_or(0);
        let columns =
            cells.iter().try_fold(priors.saturating_mul(4), |n, &size| n.checked_mul(size as usize));
        let columns = columns.ok_or_else(|| OpError::unsupported("that many boxes"))?;
        let variance: Vec<f32> = match self.settings.floats("variance").as_slice() {
            [] => vec![0.1],
            all @ ([_] | [_, _, _, _]) => all.iter().map(|&v| v as f32).collect(),
            other => return Err(OpError::mismatch("`variance`", format!("{other:?}"), "1 or 4 numbers")),
        };
        let mut boxes = room(&[2, columns])?;
        let [height, width] = cells;
        for row in 0..height {
            for column in 0..width {
                let cell = Cell { at: [row, column], cells, image };
                match self.clustered {
                    true => self.clustered_boxes(&cell, &mut boxes),
                    false => self.boxes(&cell, &mut boxes)?,
                }
            }
        }
        // Fixed ratios may make more boxes, or fewer, than they count for.
        boxes.resize(columns, 0.0);
        if self.settings.bool("clip", self.clustered) {
            boxes.iter_mut().for_each(|side: &mut f32| *side = side.clamp(0.0, 1.0));
        }
        boxes.extend(variance.into_iter().cycle().take(columns));
        Ok(vec![Tensor::from_vec(&[2, columns], boxes)?])
    }
}

/// A cell of the feature map; sizes and places are along y and x.
struct Cell {
    at: [i64; 2],
    cells: [i64; 2],
    image: [i64; 2],
}

impl Cell {
    /// Appends a box by its centre and half its sizes, in parts of the image.
    fn push(&self, [y, x]: [f32; 2], [height, width]: [f32; 2], out: &mut Vec<f32>) {
        let [rows, columns] = self.image.map(|size| 1.0 / size as f32);
        let sides = [(x - width) * columns, (y - height) * rows, (x + width) * columns, (y + height) * rows];
        out.extend(sides);
    }

    /// Cells of the image a cell of the map.
    fn step(&self) -> [f32; 2] {
        [0, 1].map(|axis: usize| self.image[axis] as f32 / self.cells[axis] as f32)
    }
}

impl PriorBox {
    fn sizes(&self, name: &'static str) -> Vec<f32> {
        self.settings.floats(name).iter().map(|&size| size as f32).collect()
    }

    /// The boxes of a cell whose widths and heights are given one by one.
    fn clustered_boxes(&self, cell: &Cell, out: &mut Vec<f32>) {
        let step = self.settings.float("step", 0.0) as f32;
        let mut steps = ["step_h", "step_w"].map(|name| match self.settings.float(name, 0.0) as f32 {
            0.0 => step,
            step => step,
        });
        if steps == [0.0, 0.0] {
            steps = cell.step();
        }
        let offset = self.settings.float("offset", 0.0) as f32;
        let center = [0, 1].map(|axis: usize| (cell.at[axis] as f32 + offset) * steps[axis]);
        for (width, height) in self.sizes("width").into_iter().zip(self.sizes("height")) {
            cell.push(center, [height / 2.0, width / 2.0], out);
        }
    }

    /// The boxes of a cell: those of fixed sizes, then those from each least size.
    fn boxes(&self, cell: &Cell, out: &mut Vec<f32>) -> Result<(), OpError> {
        let all_scaled = self.settings.bool("scale_all_sizes", true);
        let mut step = self.settings.float("step", 0.0) as f32;
        let mut least = self.sizes("min_size");
        if !all_scaled {
            // Sizes are parts of the image's height.
            let [height, _] = cell.image.map(|size| size as f32);
            step = if step == -1.0 { height / cell.cells[0] as f32 } else { step * height };
            least.iter_mut().for_each(|size| *size *= height);
        }
        let center = match step {
            0.0 => {
                let steps = cell.step();
                [0, 1].map(|axis: usize| (cell.at[axis] as f32 + 0.5) * steps[axis])
            }
            step => {
                let offset = self.settings.float("offset", 0.0) as f32;
                cell.at.map(|at| (offset + at as f32) * step)
            }
        };
        self.fixed_boxes(cell, center, out)?;
        // 1 stands for the square, which comes first.
        let ratios: Vec<f32> = self.ratios().into_iter().skip(1).map(f32::sqrt).collect();
        let most = self.sizes("max_size");
        let ordered = self.settings.bool("min_max_aspect_ratios_order", true);
        for (i, &size) in least.iter().enumerate() {
            let half = size * 0.5;
            cell.push(center, [half, half], out);
            let between = most.get(i).map(|most| (size * most).sqrt() * 0.5);
            let between_box = |out: &mut Vec<f32>| {
                if let Some(half) = between {
                    cell.push(center, [half, half], out);
                }
            };
            if ordered {
                between_box(out);
            }
            if all_scaled || i + 1 == least.len() {
                let half = if all_scaled { half } else { least.first().map_or(half, |size| size * 0.5) };
                for ratio in &ratios {
                    cell.push(center, [half / ratio, half * ratio], out);
                }
            }
            if !ordered {
                between_box(out);
            }
        }
        Ok(())
    }

    /// Boxes of fixed sizes, as many a side as `density` says, each in each ratio.
    fn fixed_boxes(&self, cell: &Cell, center: [f32; 2], out: &mut Vec<f32>) -> Result<(), OpError> {
        let densities = self.sizes("density");
        let fixed_ratios = self.sizes("fixed_ratio");
        let ratios = if fixed_ratios.is_empty() { self.ratios() } else { fixed_ratios };
        for (i, size) in self.sizes("fixed_size").into_iter().enumerate() {
            let density = densities.get(i).map_or(0, |&density| density as i64);
            if density < 1 {
                return Err(OpError::mismatch(
                    "`density`",
                    format!("{densities:?}"),
                    "1 or more for each fixed size",
                ));
            }
            let shift = (size / density as f32).trunc();
            for ratio in ratios.iter().map(|ratio| ratio.sqrt()) {
                let half = [size * 0.5 / ratio, size * 0.5 * ratio];
                for row in 0..density {
                    for column in 0..density {
                        // Half the size counts in whole pixels.
                        let start = center.map(|at| at - (size.trunc() / 2.0).trunc() + shift / 2.0);
                        let at = [start[0] + row as f32 * shift, start[1] + column as f32 * shift];
                        let first = out.len();
                        cell.push(at, half, out);
                        for (k, side) in out.iter_mut().skip(first).enumerate() {
                            *side = if k < 2 { side.max(0.0) } else { side.min(1.0) };
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Boxes a cell.
    fn priors(&self) -> Result<i64, OpError> {
        let count = |name: &'static str| self.settings.floats(name).len() as i64;
        if self.clustered {
            let (widths, heights) = (count("width"), count("height"));
            if widths != heights {
                return Err(OpError::conflict("`width` has {} entries, `height` has {}", widths, heights));
            }
            return Ok(widths);
        }
        let ratios = self.ratios().len() as i64;
        let mut priors = match self.settings.bool("scale_all_sizes", true) {
            true => ratios * count("min_size") + count("max_size"),
            false => ratios + count("min_size") - 1,
        };
        if count("fixed_size") > 0 {
            priors = ratios * count("fixed_size");
        }
        let each = if count("fixed_ratio") > 0 { count("fixed_ratio") } else { ratios };
        for density in self.settings.floats("density") {
            let density = density as i64;
            let more =
                density.checked_mul(density).map(|square| square - 1).and_then(|n| n.checked_mul(each));
            let sum = more.and_then(|more| priors.checked_add(more));
            priors = sum.ok_or_else(|| OpError::out_of_range("`density`", density, "a small number"))?;
        }
        if priors < 0 {
            return Err(OpError::out_of_range("the number of boxes a cell", priors, "0 or more"));
        }
        Ok(priors)
    }

    /// The different aspect ratios in the order of the boxes, 1 before all others.
    fn ratios(&self) -> Vec<f32> {
        let mut ratios: Vec<f32> = vec![1.0];
        let flip = self.settings.bool("flip", false);
        for ratio in self.sizes("aspect_ratio") {
            let flipped = flip.then(|| 1.0 / ratio);
            for ratio in [Some(ratio), flipped].into_iter().flatten() {
                if !ratios.iter().any(|known| (known - ratio).abs() < 1e-6) {
                    ratios.push(ratio);
                }
            }
        }
        ratios
    }
}
