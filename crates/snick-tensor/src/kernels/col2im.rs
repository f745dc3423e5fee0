//! Sums patches into an image: OpenVINO's `Col2Im-15`.

use crate::buffer::filled;
use crate::kernels::dispatch::{widen, with_number};
use crate::kernels::window::{Window, WindowAxis};
use crate::tensor::stored_bytes;
use crate::{Tensor, TensorError};
/// `columns` `[N, C * kernel.., windows]`, each column a window of an image, to images `[N, C, size..]`. Overlapping
/// elements are added; elements in the padding are dropped.
///
/// # Errors
/// [`TensorError::ShapeMismatch`] if rows or columns are not as many as kernel and windows ask for, and what
/// [`Window::output_dims`] refuses.
pub fn col2im(
    columns: &Tensor,
    size: [usize; 2],
    kernel: [usize; 2],
    window: &Window,
) -> Result<Tensor, TensorError> {
    let et = columns.element_type();
    let axes = window.axes(&size, &kernel)?;
    let windows = window.output_dims(&size, &kernel)?;
    let (&[height, width], &[rows, lines]) = (&axes[..], &windows[..]) else {
        return Err(TensorError::argument("expected two spatial axes"));
    };
    let taps = kernel[0].checked_mul(kernel[1]).filter(|&taps| taps > 0);
    let fits = |&[_, c, l]: &[usize; 3]| {
        taps.is_some_and(|taps| c % taps == 0) && rows.checked_mul(lines) == Some(l)
    };
    let dims: [usize; 3] = columns.dims().try_into().unwrap_or([0, 1, 0]);
    let (Some(taps), true) = (taps, columns.rank() == 3 && fits(&dims)) else {
        return Err(TensorError::mismatch("columns {} do not match windows {}", columns.dims(), &windows));
    };
    let [batch, stacked, count] = dims;
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
        for (plane, patches) in planes {
            for (tap, patch) in patches.chunks_exact(count).enumerate() {
                let (down, along) = (tap / kernel[1], tap % kernel[1]);
                add_tap(plane, patch, (&height, down), (&width, along), lines);
            }
        }
        Tensor::from_vec(&dims, images)
    })?
    .cast(et)
}

/// Adds the elements of one tap of the kernel in every window to their positions in the image.
fn add_tap<T: Sum>(
    plane: &mut [T],
    patch: &[T],
    (height, down): (&WindowAxis, usize),
    (width, along): (&WindowAxis, usize),
    lines: usize,
) {
    let inside = width.outputs_inside(along, lines);
    let Some(first) = width.inside(inside.start, along).filter(|_| !inside.is_empty()) else { return };
    for (row, seen) in patch.chunks_exact(lines).enumerate() {
        let Some(y) = height.inside(row, down) else { continue };
        let line = plane[y * width.size + first..].iter_mut().step_by(width.stride);
        line.zip(&seen[inside.clone()]).for_each(|(to, &value)| *to = to.plus(value));
    }
}

/// Numbers with addition; integers wrap.
trait Sum: Copy {
    fn plus(self, other: Self) -> Self;
}

macro_rules! sum {
    ($plus:ident: $($t:ty),*) => {
        $(impl Sum for $t {
            fn plus(self, other: Self) -> Self {
                sum!(@ $plus, self, other)
            }
        })*
    };
    (@ real, $a:expr, $b:expr) => { $a + $b };
    (@ wrapping, $a:expr, $b:expr) => { $a.wrapping_add($b) };
}

sum!(real: f32, f64);
sum!(wrapping: i8, i16, i32, i64, u8, u16, u32, u64);

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
