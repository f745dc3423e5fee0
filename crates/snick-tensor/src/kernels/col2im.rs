//! The adjoint of im2col: OpenVINO's `Col2Im-15`.
//!
//! **Loop nest**, outer to inner: image and channel; tap of the kernel; row of windows; window.
//!
//! **Layout.** Columns are `[N, C, tap, window]`. For one tap, a row of windows is contiguous and is added to
//! every `stride`-th element of one line of the image.

use std::ops::Add;

use crate::buffer::filled;
use crate::kernels::dispatch::{widen, with_number};
use crate::kernels::window::{Window, WindowAxis};
use crate::tensor::stored_bytes;
use crate::{Tensor, TensorError};

/// Adds the windows in `columns` `[N, C * kernel.., windows]` to images `[N, C, size..]`. Elements in the
/// padding are dropped.
///
/// # Errors
/// [`TensorError::ShapeMismatch`] if the columns do not have the dims that kernel and windows require, and
/// the errors of [`Window::output_dims`].
pub fn col2im(
    columns: &Tensor,
    size: [usize; 2],
    kernel: [usize; 2],
    window: &Window,
) -> Result<Tensor, TensorError> {
    let et = columns.element_type();
    let axes = window.axes(&size, &kernel)?;
    let windows = window.output_dims(&size, &kernel)?;
    let (&[height, width], &[rows, row_len]) = (&axes[..], &windows[..]) else {
        return Err(TensorError::argument("expected two spatial axes"));
    };
    let refuse = || TensorError::mismatch("columns {} do not match windows {}", columns.dims(), &windows);
    let &[batch, stacked, count] = columns.dims() else { return Err(refuse()) };
    let taps =
        kernel[0].checked_mul(kernel[1]).filter(|&taps| stacked.is_multiple_of(taps)).ok_or_else(refuse)?;
    if rows.checked_mul(row_len) != Some(count) {
        return Err(refuse());
    }
    let dims = [batch, stacked / taps, size[0], size[1]];
    stored_bytes(et, &dims)?;
    if columns.is_empty() || dims.contains(&0) {
        return Tensor::zeros(et, &dims);
    }
    let [wide] = widen([columns])?;
    with_number!(wide.element_type(), T => {
        let values = wide.units::<T>();
        let mut images = filled(dims.iter().product(), T::default())?;
        let planes = images.chunks_exact_mut(size[0] * size[1]).zip(values.chunks_exact(taps * count));
        for (plane, windows) in planes {
            for (tap, windows) in windows.chunks_exact(count).enumerate() {
                let taps = [tap / kernel[1], tap % kernel[1]];
                add_tap(plane, windows, [&height, &width], taps, row_len);
            }
        }
        Tensor::from_vec(&dims, images)
    })?
    .cast(et)
}

/// Adds one tap of all windows to the image.
fn add_tap<T: Sum>(
    plane: &mut [T],
    windows: &[T],
    [height, width]: [&WindowAxis; 2],
    [tap_y, tap_x]: [usize; 2],
    row_len: usize,
) {
    let Some((inside, first)) = width.outputs_inside(tap_x, row_len) else { return };
    for (row, windows) in windows.chunks_exact(row_len).enumerate() {
        let Some(y) = height.inside(row, tap_y) else { continue };
        let line = plane[y * width.size + first..].iter_mut().step_by(width.stride);
        line.zip(&windows[inside.clone()]).for_each(|(to, &value)| *to = to.plus(value));
    }
}

/// Addition that wraps integers.
trait Sum: Copy {
    fn plus(self, other: Self) -> Self;
}

macro_rules! sum {
    ($plus:ident: $($t:ty),*) => {
        $(impl Sum for $t {
            fn plus(self, other: Self) -> Self {
                self.$plus(other)
            }
        })*
    };
}

sum!(add: f32, f64);
sum!(wrapping_add: i8, i16, i32, i64, u8, u16, u32, u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_patches_add_up() {
        let columns = Tensor::from_vec(&[1, 4, 4], vec![1i32; 16]).unwrap();
        let images = col2im(&columns, [3, 3], [2, 2], &Window::dense(2)).unwrap();
        assert_eq!(images.to_i64_vec().unwrap(), [1, 2, 1, 2, 4, 2, 1, 2, 1]);
        assert!(col2im(&columns, [3, 4], [2, 2], &Window::dense(2)).is_err());
        assert!(col2im(&columns, [3, 3], [3, 2], &Window::dense(2)).is_err());
        let flat = columns.reshape(&[4, 4]).unwrap();
        assert!(col2im(&flat, [3, 3], [2, 2], &Window::dense(2)).is_err());
    }

    #[test]
    fn elements_in_the_padding_are_dropped() {
        let columns = Tensor::from_vec(&[1, 2, 3], vec![1f32, 2., 3., 10., 20., 30.]).unwrap();
        let mut window = Window::dense(2);
        (window.pads_begin[1], window.pads_end[1]) = (1, 1);
        let images = col2im(&columns, [1, 2], [1, 2], &window).unwrap();
        assert_eq!(images.to_f32_vec().unwrap(), [2. + 10., 3. + 20.]);
    }
}
