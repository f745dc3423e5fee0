//! DFT-7, IDFT-7, RDFT-9 and IRDFT-9: discrete Fourier transforms.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::kernels::{self, BinaryOp, PadMode};
use snick_tensor::{Dims, ElementType, SmallVector, Tensor};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, leading, normalize_axes};

op_family! {
    /// A discrete Fourier transform.
    ///
    /// Inputs: data, axes, and optionally the signal size on each axis, to which the data is cropped or
    /// zero-padded; -1 keeps the size. Complex data has a trailing axis `[.., 2]` of real and imaginary
    /// parts, which does not count as an axis. The spectrum of a real signal is symmetric, so only the first
    /// half of the last transformed axis is kept.
    #[family(inputs = Arity::between(2, 3), category = Other, traits = [PURE])]
    pub struct FourierTransform(Fourier) {}
    /// The Fourier transform of a complex signal.
    Dft: "DFT", [7] => Fourier::Forward;
    /// The inverse Fourier transform, to a complex signal.
    Idft: "IDFT", [7] => Fourier::Inverse;
    /// The Fourier transform of a real signal, to half a spectrum.
    Rdft: "RDFT", [9] => Fourier::RealForward;
    /// The inverse Fourier transform of half a spectrum, to a real signal.
    Irdft: "IRDFT", [9] => Fourier::RealInverse;
}

/// The kind of transform.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Fourier {
    /// From a complex signal to its spectrum.
    Forward,
    /// From a spectrum to the complex signal.
    Inverse,
    /// From a real signal to half of its spectrum.
    RealForward,
    /// From half of a spectrum to the real signal.
    RealInverse,
}

impl Fourier {
    /// Whether the signal is real.
    fn is_real(self) -> bool {
        matches!(self, Self::RealForward | Self::RealInverse)
    }
}

impl InferOp for FourierTransform {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.element_type(0);
        use ElementType::{BF16, Dynamic, F16, F32};
        if !matches!(element_type, F32 | F16 | BF16 | Dynamic) {
            return Err(OpError::element_type("input 0", element_type, "f32, f16 or bf16"));
        }
        let axes = cx.shape(1).dims().and_then(|dims| dims.first().map_or(Some(0), SymExpr::as_const));
        let axes = axes.and_then(|axes| usize::try_from(axes).ok()).unwrap_or(0);
        let least = axes.max(1).saturating_add(usize::from(self.takes_parts()));
        cx.expect_rank(0, &format!("{least} or more"), |rank| rank >= least)?;
        for i in 1..cx.len() {
            cx.expect_index(i)?;
            cx.expect_rank(i, "1", |rank| rank == 1)?;
        }
        if cx.len() > 2 {
            cx.merge_shapes("axes are {}, signal sizes {}", cx.shape(1), cx.shape(2))?;
        }
        let Some(dims) = cx.shape(0).dims() else {
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        let mut dims: SmallVector<SymExpr, 4> = dims.iter().cloned().collect();
        let mut parts = SymExpr::from(2);
        if self.takes_parts() {
            parts = dims.pop().unwrap_or(parts);
            if !cx.interval(&parts).contains(2) {
                return Err(OpError::mismatch("the last size", cx.interval(&parts), 2));
            }
        }
        self.infer_signal(cx, &mut dims)?;
        if self.function != Fourier::RealInverse {
            dims.push(parts);
        }
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
    }
}

impl EvalOp for FourierTransform {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let ([data, axes], sizes) = leading(inputs)?;
        let rank = data.rank().checked_sub(usize::from(self.takes_parts()));
        let rank = rank.ok_or_else(|| OpError::rank("input 0", data.rank(), "1 or more"))?;
        let axes = normalize_axes(&axes.to_i64_vec()?, rank)?;
        let mut signal: Dims = axes.iter().map(|&axis| data.dims()[axis]).collect();
        if self.function == Fourier::RealInverse
            && let Some(size) = signal.last_mut()
        {
            *size = 2 * size.saturating_sub(1);
        }
        if let [sizes] = sizes {
            let sizes = sizes.to_i64_vec()?;
            if sizes.len() != signal.len() {
                return Err(OpError::conflict("{} signal sizes for {} axes", sizes.len(), signal.len()));
            }
            for (to, &size) in signal.iter_mut().zip(&sizes) {
                if size != -1 {
                    let refuse = |_| OpError::out_of_range("a size of the signal", size, "-1 or more");
                    *to = usize::try_from(size).map_err(refuse)?;
                }
            }
        }
        if self.function.is_real() && signal.is_empty() {
            return Err(OpError::mismatch("the number of axes", 0, "1 or more"));
        }
        let wide = data.cast(ElementType::F32)?;
        let result = match self.function {
            Fourier::Forward => kernels::fourier(&resized(&wide, &axes, &signal)?, &axes, false)?,
            Fourier::Inverse => kernels::fourier(&resized(&wide, &axes, &signal)?, &axes, true)?,
            Fourier::RealForward => half_spectrum(&resized(&wide, &axes, &signal)?, &axes)?,
            Fourier::RealInverse => signal_of_half(&wide, &axes, &signal)?,
        };
        Ok(vec![result.cast(data.element_type())?])
    }
}

impl FourierTransform {
    /// Whether the data is complex.
    fn takes_parts(&self) -> bool {
        self.function != Fourier::RealForward
    }

    /// Replaces the dims of the data with the dims of the result; both omit the axis of real and imaginary
    /// parts.
    fn infer_signal(&self, cx: &mut Infer, dims: &mut [SymExpr]) -> Result<(), OpError> {
        let Some(axes) = cx.input(1).ints() else {
            let resized = cx.len() > 2;
            for dim in dims {
                if resized {
                    *dim = cx.unknown(Interval::DIM);
                } else if self.function.is_real() {
                    // The axes are unknown: any axis may be the last transformed one, whose size is about
                    // halved or doubled.
                    let changed = self.real_size(cx, dim);
                    let hull = cx.interval(&changed).hull(cx.interval(dim));
                    *dim = cx.unknown(hull);
                }
            }
            return Ok(());
        };
        let axes = normalize_axes(&axes, dims.len())?;
        let sizes = cx.optional(2).map(Fact::elements);
        for (i, &axis) in axes.iter().enumerate() {
            let last = self.function.is_real() && i + 1 == axes.len();
            let inverse = self.function == Fourier::RealInverse;
            let Some(slot) = dims.get_mut(axis) else { continue };
            let own = if last && inverse { self.real_size(cx, slot) } else { slot.clone() };
            let size = match &sizes {
                None => own,
                Some(sizes) => resized_dim(cx, &own, sizes.as_ref().and_then(|sizes| sizes.get(i)))?,
            };
            *slot = if last && !inverse { self.real_size(cx, &size) } else { size };
        }
        Ok(())
    }

    /// The size of the half spectrum of a real signal with `size` elements; for the inverse transform, the
    /// size of the signal for a half spectrum of `size` elements.
    fn real_size(&self, cx: &mut Infer, size: &SymExpr) -> SymExpr {
        if self.function == Fourier::RealInverse {
            let steps = cx.sub(size, &1.into());
            let steps = cx.max(&steps, &0.into());
            return cx.mul(&steps, &2.into());
        }
        let half = cx.floor_div(size, &2.into());
        let kept = cx.add(&half, &1.into());
        // The spectrum of an empty signal is empty.
        if cx.interval(size).lo() >= 1 { kept } else { cx.min(&kept, size) }
    }
}

/// The size of the signal on an axis: `size`, or `own` if `size` is -1.
fn resized_dim(cx: &mut Infer, own: &SymExpr, size: Option<&SymExpr>) -> Result<SymExpr, OpError> {
    let Some(size) = size else { return Ok(cx.unknown(Interval::DIM)) };
    let interval = cx.interval(size);
    if interval.lo() >= 0 {
        return Ok(size.clone());
    }
    let positive = interval.meet(Interval::DIM);
    match (interval.contains(-1), positive) {
        (true, None) => Ok(own.clone()),
        (true, Some(positive)) => {
            let hull = positive.hull(cx.interval(own));
            Ok(cx.unknown(hull))
        }
        (false, Some(positive)) => Ok(cx.unknown(positive)),
        (false, None) => Err(OpError::mismatch("a size of the signal", interval, "-1 or more")),
    }
}

/// Crops or zero-pads `data` at the end to `sizes` on `axes`.
fn resized(data: &Tensor, axes: &[usize], sizes: &[usize]) -> Result<Tensor, OpError> {
    let too_large = || OpError::unsupported("a signal of this size");
    let none: SmallVector<isize, 6> = SmallVector::from_elem(0, data.rank());
    let mut end = none.clone();
    for (&axis, &size) in axes.iter().zip(sizes) {
        let added = isize::try_from(size).ok().and_then(|size| size.checked_sub_unsigned(data.dims()[axis]));
        end[axis] = added.ok_or_else(too_large)?;
    }
    Ok(kernels::pad(data, &none, &end, PadMode::Constant, None)?)
}

/// The spectrum of a real signal, keeping only the first half of the last of `axes`, which must not be empty.
pub(super) fn half_spectrum(signal: &Tensor, axes: &[usize]) -> Result<Tensor, OpError> {
    let parts = signal.rank();
    let complex = resized(&signal.unsqueeze(parts)?, &[parts], &[2])?;
    let Some((&last, others)) = axes.split_last() else { return Ok(complex) };
    let size = signal.dims()[last];
    let spectrum = kernels::fourier(&complex, &[last], false)?;
    let half = spectrum.slice(last, 0, size.min(size / 2 + 1), 1)?;
    Ok(kernels::fourier(&half, others, false)?)
}

/// The real signal with `sizes` on `axes` whose half spectrum is `half`. There must be at least one axis.
pub(super) fn signal_of_half(half: &Tensor, axes: &[usize], sizes: &[usize]) -> Result<Tensor, OpError> {
    let (Some((&last, others)), Some((&size, other_sizes))) = (axes.split_last(), sizes.split_last()) else {
        return Ok(half.clone());
    };
    let outer = kernels::fourier(&resized(half, others, other_sizes)?, others, true)?;
    // The other half is the mirrored conjugate of the first: element n - j is the conjugate of element j.
    let middle = size.min(size / 2 + 1);
    let kept = resized(&outer, &[last], &[middle])?;
    let spectrum = match size - middle {
        0 => kept,
        mirrored => {
            let conjugate = Tensor::from_vec(&[2], vec![1f32, -1.0])?.cast(kept.element_type())?;
            let tail = BinaryOp::Mul.apply(&kept.slice(last, mirrored, mirrored, -1)?, &conjugate)?;
            kernels::concat(&[&kept, &tail], last)?
        }
    };
    let signal = kernels::fourier(&spectrum, &[last], true)?;
    let parts = signal.rank() - 1;
    Ok(signal.slice(parts, 0, 1, 1)?.squeeze(parts)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(function: Fourier, data: &Tensor, axes: &[i64], sizes: &[i64]) -> Tensor {
        let index = |values: &[i64]| Tensor::from_vec(&[values.len()], values.to_vec()).unwrap();
        FourierTransform { function }.eval(&[data.clone(), index(axes), index(sizes)]).unwrap().remove(0)
    }

    #[test]
    fn the_inverse_of_a_half_spectrum_is_the_signal() {
        for (rows, columns) in [(3, 4), (2, 5), (1, 1), (4, 2)] {
            let values: Vec<f32> = (0..rows * columns).map(|i| (i * 5 % 7) as f32 - 2.0).collect();
            let signal = Tensor::from_vec(&[rows, columns], values.clone()).unwrap();
            let spectrum = eval(Fourier::RealForward, &signal, &[0, 1], &[-1, -1]);
            assert_eq!(spectrum.dims(), [rows, columns / 2 + 1, 2]);
            let back = eval(Fourier::RealInverse, &spectrum, &[0, 1], &[-1, columns as i64]);
            assert!(back.to_f32_vec().unwrap().iter().zip(&values).all(|(a, b)| (a - b).abs() < 1e-5));
        }
    }

    #[test]
    fn a_half_spectrum_is_the_first_half_of_the_whole() {
        let signal = Tensor::from_vec(&[5], vec![1f32, 4., -2., 0., 3.]).unwrap();
        let complex = resized(&signal.unsqueeze(1).unwrap(), &[1], &[2]).unwrap();
        for size in [3, 5, 8] {
            let half = eval(Fourier::RealForward, &signal, &[0], &[size]);
            let whole = eval(Fourier::Forward, &complex, &[0], &[size]);
            let (half, whole) = (half.to_f32_vec().unwrap(), whole.to_f32_vec().unwrap());
            assert!(half.iter().zip(&whole).all(|(a, b)| (a - b).abs() < 1e-5));
        }
    }
}
