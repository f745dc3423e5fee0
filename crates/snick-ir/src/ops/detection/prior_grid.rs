//! Default boxes around every cell of a feature map, shared by PriorBox and PriorBoxClustered.

use snick_shape::{Interval, Shape};
use snick_tensor::{ElementType, Listed, Tensor};

use super::checks::{expect_integer_or_nf4, expect_ranks};
use crate::ops::allocation::reserved;
use crate::{Fact, Facts, Infer, OpError, exactly};

/// Infers `[2, 4 * H * W * priors]` from the size of the map `[H, W]` and the size of the image.
pub fn infer(cx: &mut Infer, priors: i64) -> Result<Facts, OpError> {
    expect_integer_or_nf4(cx, 0)?;
    expect_integer_or_nf4(cx, 1)?;
    expect_ranks(cx, &[1, 1])?;
    // The number of elements of each size input is checked only if the elements are known.
    let elements = cx.input(0).elements();
    let columns = match elements.as_deref() {
        Some([height, width]) => {
            let cells = cx.mul(height, width);
            let columns = cx.mul(&cells, &priors.saturating_mul(4).into());
            cx.as_dim(&columns)
        }
        Some(sizes) => return Err(OpError::mismatch("the number of sizes of the map", sizes.len(), 2)),
        None => None,
    };
    let columns = columns.unwrap_or_else(|| cx.unknown(Interval::DIM));
    Ok(Facts::from(Fact::new(ElementType::F32, Shape::ranked([2.into(), columns]))))
}

/// Computes `[2, 4 * H * W * priors]`: the boxes, then their variances. `boxes` appends the boxes of one
/// cell.
pub fn eval(
    inputs: &[Tensor],
    priors: i64,
    variance: &[f64],
    clip: bool,
    boxes: impl Fn(&Cell, &mut Vec<f32>) -> Result<(), OpError>,
) -> Result<Vec<Tensor>, OpError> {
    let [map, image] = exactly(inputs)?;
    let size = |what: &str, tensor: &Tensor| match *tensor.to_i64_vec()? {
        [height, width] if height >= 0 && width >= 0 => Ok([height, width]),
        ref found => {
            Err(OpError::mismatch(format!("the size of the {what}"), Listed(found), "height and width"))
        }
    };
    let (cells, image) = (size("map", map)?, size("image", image)?);
    let priors = usize::try_from(priors).unwrap_or(0);
    let columns = cells
        .iter()
        .try_fold(priors.saturating_mul(4), |n, &size| n.checked_mul(usize::try_from(size).ok()?));
    let columns = columns.ok_or_else(|| OpError::unsupported("an output of this size"))?;
    let variance: Vec<f32> = match variance {
        [] => vec![0.1],
        all @ ([_] | [_, _, _, _]) => all.iter().map(|&v| v as f32).collect(),
        other => return Err(OpError::mismatch("`variance`", Listed(other), "1 or 4 numbers")),
    };
    let mut out = reserved(&[2, columns])?;
    let [height, width] = cells;
    // Do not loop over millions of cells without boxes.
    let rows = if columns == 0 { 0 } else { height };
    for at in (0..rows).flat_map(|row| (0..width).map(move |column| [row, column])) {
        // With fixed ratios, the boxes of a cell may be more or fewer than `priors`, so stop once the output
        // is full.
        if out.len() >= columns {
            break;
        }
        boxes(&Cell { at, cells, image }, &mut out)?;
    }
    out.resize(columns, 0.0);
    if clip {
        out.iter_mut().for_each(|side: &mut f32| *side = side.clamp(0.0, 1.0));
    }
    out.extend(variance.into_iter().cycle().take(columns));
    Ok(vec![Tensor::from_vec(&[2, columns], out)?])
}

/// A cell of the feature map; pairs are (y, x).
pub struct Cell {
    /// The row and column of the cell.
    pub at: [i64; 2],
    /// The size of the map in cells.
    pub cells: [i64; 2],
    /// The size of the image in pixels.
    pub image: [i64; 2],
}

impl Cell {
    /// Appends a box, given by its centre and half its size in pixels, as fractions of the image.
    pub fn push(&self, [y, x]: [f32; 2], [height, width]: [f32; 2], out: &mut Vec<f32>) {
        let [rows, columns] = self.image.map(|size| 1.0 / size as f32);
        let sides = [(x - width) * columns, (y - height) * rows, (x + width) * columns, (y + height) * rows];
        out.extend(sides);
    }

    /// Pixels of the image per cell.
    pub fn step(&self) -> [f32; 2] {
        [0, 1].map(|axis: usize| self.image[axis] as f32 / self.cells[axis] as f32)
    }
}

/// Converts the numbers of an attribute to f32, in which boxes are computed.
pub fn single(numbers: &[f64]) -> Vec<f32> {
    numbers.iter().map(|&number| number as f32).collect()
}
