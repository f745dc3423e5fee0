//! Rotation of pairs of features.

use snick_tensor::Tensor;

use crate::OpError;

/// Which features form a pair.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Pairs {
    /// Feature `i` and feature `i + width / 2`.
    Halves,
    /// Features `2 i` and `2 i + 1`.
    Neighbours,
}

/// Which table row applies to each token.
pub(super) enum Positions {
    /// Row `i` for token `i`.
    AsTokens,
    /// The last rows of the table, one per token.
    AtEnd,
    /// Explicit positions `[B, L]` or `[B, H, L, 1]`.
    Given(Tensor),
}

/// Data and the angles to rotate it by.
pub(super) struct Rotation {
    /// `[B, H, L, S]`, of f32.
    pub data: Tensor,
    /// Cosines and sines for P positions, each `[B, H, P, width]` or half as wide, of f32; axes of size 1
    /// broadcast.
    pub tables: [Tensor; 2],
    /// Number of features to rotate.
    pub width: usize,
    /// Which features form a pair.
    pub pairs: Pairs,
    /// Which table row applies to each token.
    pub positions: Positions,
}

/// A tensor of rank 4 in which axes of size 1 broadcast.
struct Grid {
    dims: [usize; 4],
    values: Vec<f32>,
}

impl Grid {
    fn new(tensor: &Tensor) -> Result<Self, OpError> {
        let dims = tensor.dims().try_into().map_err(|_| OpError::rank("a table", tensor.rank(), "4"))?;
        Ok(Self { dims, values: tensor.to_f32_vec()? })
    }

    /// The row along the last axis, given the indices on the other axes.
    fn row(&self, place: [usize; 3]) -> Result<&[f32], OpError> {
        let mut at = 0;
        for (&index, &size) in place.iter().zip(&self.dims) {
            let index = if size == 1 { 0 } else { index };
            if index >= size {
                let expected = format!("0 to {}", size as i64 - 1);
                return Err(OpError::out_of_range("a place in a table", index as i64, expected));
            }
            at = at * size + index;
        }
        let width = self.dims[3];
        Ok(self.values.get(at * width..(at + 1) * width).unwrap_or_default())
    }
}

impl Rotation {
    /// The rotated data, `[B, H, L, S]`.
    pub fn turned(&self) -> Result<Tensor, OpError> {
        let mut data = Grid::new(&self.data)?;
        let [cos, sin] = [Grid::new(&self.tables[0])?, Grid::new(&self.tables[1])?];
        let [batches, heads, tokens, features] = data.dims;
        let half = self.width / 2;
        let second = self.second_angle(&cos, &sin, features)?;
        let positions = self.given_positions()?;
        for (row, values) in data.values.chunks_mut(features.max(1)).enumerate() {
            let (b, h, l) =
                (row / (heads * tokens).max(1), row / tokens.max(1) % heads.max(1), row % tokens.max(1));
            debug_assert!(b < batches);
            let position = match &positions {
                Some(positions) => whole(positions.row([b, h, l])?)?,
                None if matches!(self.positions, Positions::AtEnd) => {
                    (cos.dims[2] + l).checked_sub(tokens).ok_or_else(|| {
                        OpError::mismatch("the positions", cos.dims[2], format!("{tokens} or more"))
                    })?
                }
                None => l,
            };
            let (cos, sin) = (cos.row([b, h, position])?, sin.row([b, h, position])?);
            for angle in 0..half {
                let (i, j) = match self.pairs {
                    Pairs::Halves => (angle, angle + half),
                    Pairs::Neighbours => (2 * angle, 2 * angle + 1),
                };
                let (x, y) = (values[i], values[j]);
                values[i] = cos[angle] * x - sin[angle] * y;
                values[j] = cos[angle + second] * y + sin[angle + second] * x;
            }
        }
        Ok(Tensor::from_vec(self.data.dims(), data.values)?)
    }

    /// The offset within a table row from the angle of a pair's first feature to the angle of its second
    /// feature. Returns an error if the tables are too narrow.
    fn second_angle(&self, cos: &Grid, sin: &Grid, features: usize) -> Result<usize, OpError> {
        let half = self.width / 2;
        let width = cos.dims[3];
        if self.width > features || !self.width.is_multiple_of(2) {
            return Err(OpError::mismatch(
                "rotary_ndims",
                self.width,
                format!("an even number up to {features}"),
            ));
        }
        let second = match self.pairs {
            Pairs::Halves if width != half => half,
            _ => 0,
        };
        if width != sin.dims[3] || width < half + second {
            let expected = format!("{} of both", half + second);
            return Err(OpError::mismatch("the width of the tables", width, expected));
        }
        Ok(second)
    }

    fn given_positions(&self) -> Result<Option<Grid>, OpError> {
        let Positions::Given(positions) = &self.positions else { return Ok(None) };
        let positions = match *positions.dims() {
            [b, l] => positions.reshape(&[b, 1, l, 1])?,
            [_, _, _, 1] => positions.clone(),
            _ => return Err(OpError::unsupported(format!("positions of dims {:?}", positions.dims()))),
        };
        Grid::new(&positions).map(Some)
    }
}

/// The single element of a row, as an index.
fn whole(row: &[f32]) -> Result<usize, OpError> {
    let number = row.first().copied().unwrap_or_default();
    match number {
        0.0.. => Ok(number as usize),
        _ => Err(OpError::out_of_range("a position", number as i64, "0 or more")),
    }
}
