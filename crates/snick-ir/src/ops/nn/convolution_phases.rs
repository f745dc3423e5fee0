//! Computes a strided transposed convolution as several convolutions of stride 1.

use snick_tensor::kernels::{self, Window};
use snick_tensor::{Dims, Tensor};

use crate::OpError;

/// With more phases than this, inserting zeros into the data is cheaper.
const MAX_PHASES: usize = 1 << 12;

/// Computes a transposed convolution by phases. Outputs that are a stride apart use the same filter elements,
/// applied to neighbouring data elements. The outputs at one position within the stride (a phase) are
/// therefore a convolution of stride 1 with part of the filters.
///
/// `window` is the equivalent window over data with inserted zeros. Returns `None` if it pads the start of an
/// axis by the kernel size or more, or if there are too many phases.
pub(super) fn in_phases(
    data: &Tensor,
    filters: &Tensor,
    window: &Window,
    strides: &[usize],
) -> Result<Option<Tensor>, OpError> {
    let (Some(spatial), Some(kernel)) = (data.dims().get(2..), filters.dims().get(3..)) else {
        return Ok(None);
    };
    let phases = strides.iter().try_fold(1usize, |phases, &stride| phases.checked_mul(stride));
    let Some(phases) = phases.filter(|&phases| phases <= MAX_PHASES) else { return Ok(None) };
    let gaps = |(&size, &stride): (&usize, &usize)| Some((size - 1).checked_mul(stride)? + 1);
    let spread: Option<Dims> = spatial.iter().zip(strides).map(gaps).collect();
    let Some(spread) = spread else { return Ok(None) };
    let sizes = window.output_dims(&spread, kernel)?;
    // On each axis, the elements to drop at the start of the full result, and the elements per phase.
    let (mut cut, mut counts) = (Dims::new(), Dims::new());
    for (i, (&stride, &size)) in strides.iter().zip(&sizes).enumerate() {
        let (Some(&reach), Some(&pad)) = (kernel.get(i), window.pads_begin.get(i)) else { return Ok(None) };
        let Ok(before) = usize::try_from(reach as isize - 1 - pad) else { return Ok(None) };
        cut.push(before);
        counts.push((before + size).div_ceil(stride));
    }
    let mut results = Vec::new();
    let mut channels = Dims::from_slice(data.dims().get(..1).unwrap_or_default());
    channels.push(filters.dims().iter().take(2).product());
    for phase in 0..phases {
        let (mut share, mut inner) = (filters.clone(), Window::dense(spatial.len()));
        let mut rest = phase;
        for i in (0..spatial.len()).rev() {
            let (stride, count, size, reach) = (strides[i], counts[i], spatial[i], kernel[i]);
            let first = rest % stride;
            rest /= stride;
            let taps = reach.saturating_sub(first).div_ceil(stride);
            let last = first + taps.saturating_sub(1) * stride;
            share = share.slice(i + 3, if taps == 0 { 0 } else { last }, taps, -(stride as isize))?;
            inner.pads_begin[i] = taps as isize - 1;
            inner.pads_end[i] = count as isize - size as isize;
        }
        let mut dims = channels.clone();
        dims.extend_from_slice(&counts);
        let result = match share.is_empty() {
            true => Tensor::zeros(data.element_type(), &dims)?,
            false => kernels::group_convolution(data, &share, &inner)?,
        };
        results.push(result.unsqueeze(2)?);
    }
    // Interleave the phases: `[N, C, phase.., count..]` to `[N, C, (count, phase)..]`.
    let all = kernels::concat(&results.iter().collect::<Vec<_>>(), 2)?;
    let mut dims = channels.clone();
    dims.extend_from_slice(strides);
    dims.extend_from_slice(&counts);
    let rank = spatial.len();
    let order: Dims = [0, 1].into_iter().chain((0..rank).flat_map(|i| [2 + rank + i, 2 + i])).collect();
    let mut full = channels;
    full.extend(counts.iter().zip(strides).map(|(count, stride)| count * stride));
    let mut result = all.reshape(&dims)?.permute(&order)?.reshape(&full)?;
    for (i, (&before, &size)) in cut.iter().zip(&sizes).enumerate() {
        result = result.slice(i + 2, before, size, 1)?;
    }
    Ok(Some(result))
}
