//! Adaptive windows, which divide an input of any size into a given number of windows, shared by
//! AdaptiveAvgPool and AdaptiveMaxPool. Window `i` of `n` over `size` elements extends from
//! `floor(i * size / n)` to `ceil((i + 1) * size / n)`.

use std::ops::Range;

use snick_shape::{Shape, SymExpr};
use snick_tensor::{Dims, SmallVector, Tensor};

use super::window::{expect_spatial, given_sizes};
use crate::ops::movement::indices::count;
use crate::{Infer, OpError};

fn sizes_differ(count: impl ToString, spatial: usize) -> OpError {
    OpError::mismatch("the number of output sizes", count, format!("{spatial}, one a spatial axis"))
}

/// Infers the shape of the output, whose spatial sizes are in input 1.
pub(super) fn infer_shape(cx: &mut Infer) -> Result<Shape, OpError> {
    expect_spatial(cx, 0, 2)?;
    cx.expect_rank(1, "0 or 1", |rank| rank <= 1)?;
    cx.expect_integer(1);
    let Some(dims) = cx.shape(0).dims() else { return Ok(Shape::unranked()) };
    let count = cx.shape(1).dims().and_then(|dims| dims.first().map_or(Some(1), SymExpr::as_const));
    let spatial = dims.len().saturating_sub(2);
    if let Some(count) = count.filter(|&count| i64::try_from(spatial) != Ok(count)) {
        return Err(sizes_differ(count, spatial));
    }
    let mut pooled: SmallVector<SymExpr, 4> = dims.iter().take(2).cloned().collect();
    pooled.extend(given_sizes(cx, 1, spatial)?);
    Ok(Shape::ranked(pooled))
}

/// The concrete dims of the output.
pub(super) fn output_dims(data: &Tensor, sizes: &Tensor) -> Result<Dims, OpError> {
    let sizes = sizes.to_i64_vec()?;
    let [_, _, spatial @ ..] = data.dims() else {
        return Err(OpError::rank("data", data.rank(), "3 to 5"));
    };
    if !(1..=3).contains(&spatial.len()) || sizes.len() != spatial.len() || spatial.contains(&0) {
        return Err(sizes_differ(sizes.len(), spatial.len()));
    }
    let mut dims: Dims = data.dims().iter().take(2).copied().collect();
    for &size in &sizes {
        dims.push(usize::try_from(size).map_err(|_| OpError::out_of_range("a size", size, "0 or more"))?);
    }
    // Reject a result that is too large before allocating memory: creating a view checks the size.
    Tensor::scalar(0f64).broadcast_to(&dims)?;
    Ok(dims)
}

/// The rows of a window: their elements, and the position of the first in its channel.
pub(super) type Rows<'a, 'c> = &'a mut dyn Iterator<Item = (usize, &'c [f64])>;

/// Calls `visit` with the rows of each window. `dims` are the dims of the output.
pub(super) fn each_window(
    data: &Tensor,
    dims: &[usize],
    mut visit: impl FnMut(Rows<'_, '_>),
) -> Result<(), OpError> {
    let [spatial, outputs] = [data.dims(), dims].map(|dims| dims.get(2..).unwrap_or_default());
    let (windows, area) = (Windows::new(spatial, outputs), count(spatial));
    let channels = data.reshape(&[data.len().checked_div(area).unwrap_or(0), area])?;
    for channel in 0..channels.dims()[0] {
        // A converted channel fits in the cache.
        let channel = channels.slice(0, channel, 1, 1)?.to_f64_vec()?;
        windows.each(|rows| visit(&mut rows.filter_map(|row| Some((row.start, channel.get(row)?)))));
    }
    Ok(())
}

/// For each of three axes, the start and end of every window, and the stride of the axis within a channel, which
/// is 1 for the last.
/// Missing leading axes have size 1.
struct Windows([(Vec<(usize, usize)>, usize); 3]);

impl Windows {
    fn new(spatial: &[usize], outputs: &[usize]) -> Self {
        let mut axes: [(Vec<(usize, usize)>, usize); 3] =
            [(vec![(0, 1)], 0), (vec![(0, 1)], 0), (vec![(0, 1)], 0)];
        let mut distance = 1;
        for (axis, (&size, &count)) in
            axes.iter_mut().rev().zip(spatial.iter().rev().zip(outputs.iter().rev()))
        {
            let (size_wide, count_wide) = (size as u128, count as u128);
            let window = |i: u128| {
                let end = ((i + 1) * size_wide).div_ceil(count_wide);
                ((i * size_wide / count_wide) as usize, end as usize)
            };
            *axis = ((0..count_wide).map(window).collect(), distance);
            distance *= size;
        }
        Self(axes)
    }

    /// Calls `visit` with the positions of the rows of each window.
    fn each(&self, mut visit: impl FnMut(&mut dyn Iterator<Item = Range<usize>>)) {
        let [z, y, x] = &self.0;
        for &(z0, z1) in &z.0 {
            for &(y0, y1) in &y.0 {
                for &(x0, x1) in &x.0 {
                    let starts = (z0..z1).flat_map(|i| (y0..y1).map(move |j| i * z.1 + j * y.1));
                    visit(&mut starts.map(|start| start + x0..start + x1));
                }
            }
        }
    }
}
