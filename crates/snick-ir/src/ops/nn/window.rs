//! Sliding windows of convolutions and pooling: shared attributes, symbolic output sizes, and padding for
//! concrete sizes.

use std::fmt::Display;

use snick_shape::IntOp::{Add, CeilDiv, FloorDiv, Min, Mul, Sub};
use snick_shape::{Computed, Integers, Interval, Shape, SymExpr, WideIntegers};
use snick_tensor::kernels::Window;
use snick_tensor::{Dims, SmallVector};

use crate::{Infer, OpError};

/// One integer per spatial axis.
pub type Numbers = SmallVector<i64, 4>;

/// How padding is determined.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum AutoPad {
    /// Uses `pads_begin` and `pads_end`.
    Explicit,
    /// Pads so that the number of windows is size / stride, rounded up; an odd element of padding goes to the
    /// end.
    SameUpper,
    /// Pads so that the number of windows is size / stride, rounded up; an odd element of padding goes to the
    /// start.
    SameLower,
    /// No padding.
    Valid,
}

attr_words!(AutoPad {
    Explicit = "explicit" | "notset",
    SameUpper = "same_upper",
    SameLower = "same_lower",
    Valid = "valid",
});

impl AutoPad {
    /// Whether this is one of the two `same` modes, which compute the padding from the size of the axis.
    pub fn is_same(self) -> bool {
        matches!(self, Self::SameUpper | Self::SameLower)
    }

    /// Splits a total amount of same padding between the start and the end of an axis. A negative total
    /// counts as 0.
    pub fn split(self, total: i128) -> [i128; 2] {
        let total = total.max(0);
        let less = total / 2;
        if self == Self::SameUpper { [less, total - less] } else { [total - less, less] }
    }
}

/// How to treat a last window that extends beyond the padded input.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Rounding {
    /// Drop the window.
    Floor,
    /// Keep the window.
    Ceil,
    /// Keep the window if it starts before the padding at the end.
    CeilTorch,
}

attr_words!(Rounding { Floor = "floor", Ceil = "ceil", CeilTorch = "ceil_torch" });

attrs! {
    /// The placement of windows. Each list is empty or has one entry per spatial axis.
    pub struct Sliding {
        /// Distance between neighbouring windows, at least 1; 1 if empty.
        pub strides: Numbers = Numbers::new(),
        /// Padding before each axis; 0 if empty.
        pub pads_begin: Numbers = Numbers::new(),
        /// Padding after each axis; 0 if empty.
        pub pads_end: Numbers = Numbers::new(),
        /// How padding is determined.
        pub auto_pad: AutoPad = AutoPad::Explicit,
    }
}

attrs! {
    /// The placement of windows and their elements.
    pub struct DilatedSliding {
        /// The placement of windows.
        pub sliding: Sliding = Sliding::default(),
        /// Distance between neighbouring elements of a window, at least 1; 1 if empty.
        pub dilations: Numbers = Numbers::new(),
    }
}

impl Sliding {
    /// The windows with these dilations.
    pub fn windows<'a>(&'a self, dilations: &'a [i64], rounding: Rounding) -> Windows<'a> {
        let Self { strides, pads_begin, pads_end, auto_pad } = self;
        Windows { strides, dilations, pads_begin, pads_end, auto_pad: *auto_pad, rounding }
    }
}

impl DilatedSliding {
    /// The windows; drops a last window that extends beyond the padded input.
    pub fn windows(&self) -> Windows<'_> {
        self.sliding.windows(&self.dilations, Rounding::Floor)
    }
}

/// The windows of an op. Each list has one entry per spatial axis, or is empty, which stands for strides and
/// dilations of 1 and pads of 0.
#[derive(Copy, Clone, Debug)]
pub struct Windows<'a> {
    /// Distance between neighbouring windows.
    pub strides: &'a [i64],
    /// Distance between neighbouring elements of a window.
    pub dilations: &'a [i64],
    /// Padding before each axis.
    pub pads_begin: &'a [i64],
    /// Padding after each axis.
    pub pads_end: &'a [i64],
    /// How padding is determined.
    pub auto_pad: AutoPad,
    /// How to treat a last window that extends beyond the padded input.
    pub rounding: Rounding,
}

/// The windows on one axis.
#[derive(Copy, Clone, Debug)]
pub struct WindowAxis {
    /// Distance between windows, at least 1.
    pub stride: i64,
    /// Distance between elements of a window, at least 1.
    pub dilation: i64,
    /// Padding before the axis; 0 unless padding is explicit.
    pub begin: i64,
    /// Padding after the axis; 0 unless padding is explicit.
    pub end: i64,
}

impl WindowAxis {
    /// The extent of a dilated window of `kernel` elements: `dilation * (kernel - 1) + 1`.
    pub fn reach(&self, kernel: usize) -> i128 {
        let Ok(reach) = extent(&mut WideIntegers, &(kernel as i128).max(1), self.dilation, &1);
        reach
    }

    /// How far the last of `count` windows extends past the end of an axis of `input` elements, with `begin`
    /// elements of padding before it; negative if the window ends earlier.
    pub fn overhang(&self, input: usize, kernel: usize, count: usize, begin: i64) -> i128 {
        let last = (count as i128 - 1) * i128::from(self.stride);
        last + self.reach(kernel) - i128::from(begin) - input as i128
    }
    /// The number of elements of an explicitly padded axis after the first window, which covers `reach`
    /// elements; negative if the window is larger than the padded axis.
    pub(crate) fn room_of<D: Integers>(&self, d: &mut D, input: &D::Int, reach: &D::Int) -> Computed<D> {
        let before = d.compute(Add, input, &self.begin.into())?;
        let padded = d.compute(Add, &before, &self.end.into())?;
        d.compute(Sub, &padded, reach)
    }
}

/// The extent of `count` parts of `size` elements that start `step` apart: `step * (count - 1) + size`.
/// `count` is at least 1.
pub(crate) fn extent<D: Integers>(d: &mut D, count: &D::Int, step: i64, size: &D::Int) -> Computed<D> {
    let gaps = d.compute(Sub, count, &1.into())?;
    let gaps = d.compute(Mul, &gaps, &step.into())?;
    d.compute(Add, &gaps, size)
}

impl Windows<'_> {
    /// The number of spatial axes, if an attribute determines it.
    pub fn spatial_rank(&self) -> Option<usize> {
        let lists = [self.strides, self.dilations, self.pads_begin, self.pads_end];
        lists.iter().map(|list| list.len()).find(|&len| len > 0)
    }

    /// Requires that every list is empty or has one entry per spatial axis, and that strides and dilations
    /// are positive.
    pub fn check(&self, rank: usize) -> Result<(), OpError> {
        let lists = [
            ("strides", self.strides, 1),
            ("dilations", self.dilations, 1),
            ("pads_begin", self.pads_begin, i64::MIN),
            ("pads_end", self.pads_end, i64::MIN),
        ];
        for (name, list, least) in lists {
            check_count(name, list, rank)?;
            if let Some(&value) = list.iter().find(|&&value| value < least) {
                return Err(OpError::out_of_range(format!("`{name}`"), value, format!("{least} or more")));
            }
        }
        Ok(())
    }

    /// The windows on spatial axis `i`.
    pub fn axis(&self, i: usize) -> WindowAxis {
        let explicit = self.auto_pad == AutoPad::Explicit;
        let pad = |list: &[i64]| list.get(i).copied().filter(|_| explicit).unwrap_or(0);
        WindowAxis {
            stride: self.strides.get(i).copied().unwrap_or(1).max(1),
            dilation: self.dilations.get(i).copied().unwrap_or(1).max(1),
            begin: pad(self.pads_begin),
            end: pad(self.pads_end),
        }
    }

    /// The padding before and after spatial axis `i` of size `input`, for windows of `kernel` elements. The
    /// size may be `None` if the padding does not depend on it.
    ///
    /// # Errors
    /// If a window is larger than the padded input, a size overflows, or the padding depends on an unknown
    /// size.
    pub fn padding(&self, i: usize, input: Option<usize>, kernel: usize) -> Result<[i64; 2], OpError> {
        let axis = self.axis(i);
        let input = match input {
            Some(input) => input,
            None if !self.auto_pad.is_same() => return Ok([axis.begin, axis.end]),
            None if axis.stride == 1 || kernel == 1 => 1,
            None => return Err(OpError::unsupported("padding of data of unknown size")),
        };
        let (begin, end, _) = self.along(i, input, kernel)?;
        let pad = |value: i128| i64::try_from(value).map_err(|_| too_large());
        Ok([pad(begin)?, pad(end)?])
    }

    /// The number of windows of `kernel` elements on spatial axis `i` of size `input`.
    ///
    /// The lower bound is usually 1, because a run fails if the window is larger than the padded input.
    /// Reports an error if every run fails for this reason.
    pub fn count(&self, cx: &mut Infer, i: usize, input: &SymExpr, kernel: &SymExpr) -> SymExpr {
        let (axis, is_same) = (self.axis(i), self.auto_pad.is_same());
        let kernel = at_least(cx, kernel, 1);
        let Ok(reach) = extent(cx, &kernel, axis.dilation, &1.into());
        let Ok(room) = axis.room_of(cx, input, &reach);
        let reaches = cx.interval(&reach);
        if !is_same && cx.interval(&room).hi() < 0 {
            let padded = cx.add(&room, &reach);
            cx.report(exceeds_input(i, reaches, cx.interval(&padded)));
            return cx.unknown(Interval::DIM);
        } else if !is_same {
            cx.demand_at_least(&room, 0);
        }
        if self.rounding != Rounding::Floor && reaches.is_exact().is_none() {
            return cx.unknown(Interval::DIM);
        }
        let Ok(count) = self.count_of(cx, i, input, &room, reaches.lo().into());
        // An empty axis may have no windows. With same padding, their number is size / stride. With torch's
        // rounding, all windows may start in the padding at the end.
        let may_be_none = is_same || self.rounding == Rounding::CeilTorch;
        let is_empty = cx.interval(input).lo().saturating_add(axis.begin) <= 0;
        at_least(cx, &count, if may_be_none && is_empty { 0 } else { 1 })
    }

    /// The number of windows on spatial axis `i` of size `input`, generic over the kind of integers. `room`
    /// is the result of [`WindowAxis::room_of`]. `least` is a lower bound of the extent of a window; it must
    /// be exact unless `rounding` is `Floor`.
    pub(crate) fn count_of<D: Integers>(
        &self,
        d: &mut D,
        i: usize,
        input: &D::Int,
        room: &D::Int,
        least: i128,
    ) -> Computed<D> {
        let axis = self.axis(i);
        let (one, stride) = (D::Int::from(1), D::Int::from(axis.stride));
        let is_gapless = |reach: i128| reach >= axis.stride.into();
        // With same padding, the number of windows is size / stride, rounded up. The exception is ceil
        // rounding with a stride longer than the window: padding is never negative, so there may be one more
        // window.
        if self.auto_pad.is_same() && (self.rounding != Rounding::Ceil || is_gapless(least)) {
            return d.compute(CeilDiv, input, &stride);
        }
        let divide = if self.rounding == Rounding::Floor { FloorDiv } else { CeilDiv };
        let mut steps = d.compute(divide, room, &stride)?;
        let inside = least - i128::from(axis.end);
        if self.rounding == Rounding::CeilTorch && inside < 0 {
            // The last window would always start in the padding at the end, so it is dropped.
            steps = d.compute(Sub, &steps, &one)?;
        } else if self.rounding == Rounding::CeilTorch && !is_gapless(inside) {
            let before = d.compute(Add, input, &axis.begin.into())?;
            let most = d.compute(CeilDiv, &before, &stride)?;
            let most = d.compute(Sub, &most, &one)?;
            steps = d.compute(Min, &steps, &most)?;
        }
        d.compute(Add, &steps, &one)
    }

    /// The padding before and after spatial axis `i` of size `size`, for windows that extend over `reach`
    /// elements.
    pub(crate) fn pads(&self, i: usize, size: i128, reach: i128) -> [i128; 2] {
        let axis = self.axis(i);
        if !self.auto_pad.is_same() {
            return [axis.begin.into(), axis.end.into()];
        }
        let d = &mut WideIntegers;
        let Ok(windows) = d.compute(CeilDiv, &size, &axis.stride.into());
        let Ok(span) = extent(d, &windows, axis.stride, &reach);
        self.auto_pad.split(span - size)
    }

    /// The padding before and after spatial axis `i`, and the number of windows, for concrete sizes.
    fn along(&self, i: usize, input: usize, kernel: usize) -> Result<(i128, i128, i128), OpError> {
        let (size, reach) = (input as i128, self.axis(i).reach(kernel));
        let [begin, end] = self.pads(i, size, reach);
        let padded = size + begin + end;
        if padded < reach {
            return Err(exceeds_input(i, reach, padded));
        }
        let Ok(room) = self.axis(i).room_of(&mut WideIntegers, &size, &reach);
        let Ok(count) = self.count_of(&mut WideIntegers, i, &size, &room, reach);
        Ok((begin, end, count))
    }

    /// The window parameters for `snick_tensor::kernels`, and the number of windows on each axis, for
    /// concrete sizes.
    pub fn concrete(&self, spatial: &[usize], kernel: &[usize]) -> Result<(Window, Dims), OpError> {
        self.check(spatial.len())?;
        let size = |value: i128| usize::try_from(value).map_err(|_| too_large());
        let pad = |value: i128| isize::try_from(value).map_err(|_| too_large());
        let mut window = Window::dense(spatial.len());
        let mut counts = Dims::new();
        for (i, (&input, &kernel)) in spatial.iter().zip(kernel).enumerate() {
            let axis = self.axis(i);
            let (begin, end, count) = self.along(i, input, kernel)?;
            window.strides[i] = size(axis.stride.into())?;
            window.dilations[i] = size(axis.dilation.into())?;
            (window.pads_begin[i], window.pads_end[i]) = (pad(begin)?, pad(end)?);
            counts.push(size(count)?);
        }
        Ok((window, counts))
    }
}

/// Requires a list to be empty or to have one entry per spatial axis.
pub(super) fn check_count(name: &str, list: &[i64], spatial: usize) -> Result<(), OpError> {
    if list.is_empty() || list.len() == spatial {
        return Ok(());
    }
    let expected = format!("{spatial}, one a spatial axis");
    Err(OpError::mismatch(format!("the number of entries of `{name}`"), list.len(), expected))
}

fn too_large() -> OpError {
    OpError::unsupported("a window of this size")
}

/// Returns `expr` with a lower bound of `least` on its interval. Every run must satisfy the bound.
pub fn at_least(cx: &mut Infer, expr: &SymExpr, least: i64) -> SymExpr {
    if cx.interval(expr).lo() >= least { expr.clone() } else { cx.max(expr, &least.into()) }
}

/// The dims of `shape` from axis `first`; unknown if the rank is unknown.
pub fn spatial_dims(cx: &mut Infer, shape: &Shape, first: usize, rank: usize) -> SmallVector<SymExpr, 4> {
    match shape.dims() {
        Some(dims) => dims.iter().skip(first).cloned().collect(),
        None => (0..rank).map(|_| cx.unknown(Interval::DIM)).collect(),
    }
}

/// The spatial dims of the output, as listed in input `i`; unknown if the input is unknown.
pub fn given_sizes(cx: &mut Infer, i: usize, spatial: usize) -> Result<SmallVector<SymExpr, 4>, OpError> {
    let sizes = cx.elements_or_unknown(i).filter(|sizes| sizes.len() == spatial);
    let Some(sizes) = sizes else { return Ok((0..spatial).map(|_| cx.unknown(Interval::DIM)).collect()) };
    let negative =
        |cx: &Infer, size| OpError::out_of_range("a size of the output", cx.interval(size).hi(), "0 or more");
    sizes.iter().map(|size| cx.as_dim(size).ok_or_else(|| negative(cx, size))).collect()
}

/// Requires input `i` to have one to three spatial axes in addition to `others` other axes.
pub fn expect_spatial(cx: &Infer, i: usize, others: usize) -> Result<(), OpError> {
    let expected = format!("{} to {}", others + 1, others + 3);
    cx.expect_rank(i, &expected, |rank| (others + 1..=others + 3).contains(&rank))
}

/// The error for a window that is larger than the padded input.
fn exceeds_input(axis: usize, window: impl Display, padded: impl Display) -> OpError {
    OpError::WindowTooLarge { axis, window: window.to_string(), padded: padded.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::AttrWords;
    use crate::text;

    #[test]
    fn the_last_window_overhangs_the_axis() {
        let axis = WindowAxis { stride: 2, dilation: 2, begin: 1, end: 0 };
        // Windows of 3 elements extend over 5 positions, and the third window starts at 4 - 1.
        assert_eq!(axis.overhang(6, 3, 3, 1), 2);
        assert_eq!(axis.overhang(9, 3, 3, 1), -1);
    }

    /// The inferred interval of the only spatial axis of a pool over `sizes` elements; `None` if inference
    /// fails.
    fn inferred(sizes: &str, attrs: &str) -> Option<(i64, i64)> {
        let source = format!(
            "snick 1\ngraph \"t\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"1,1,{sizes}\"}}\n  \
             %y = MaxPool-14(%x) {{{attrs}, index_element_type: i64, axis: 0}}\n  %r = Result-1(%y)\n}}\n"
        );
        let mut graph = text::parse(&source, None).unwrap();
        if !crate::infer(&mut graph).is_empty() {
            return None;
        }
        let order = graph.order().unwrap();
        let pool = order.iter().find(|&&id| graph.node(id).op().type_name() == "MaxPool").unwrap();
        let dims = graph.node(*pool).outs()[0].fact.shape.dims().unwrap().to_vec();
        let interval = graph.symbols.interval(&dims[2]);
        Some((interval.lo(), interval.hi()))
    }

    #[test]
    fn inferred_counts_are_the_hull_of_evaluated_ones() {
        for (pad_name, auto_pad) in AutoPad::WORDS {
            for (name, rounding) in Rounding::WORDS {
                for code in 0..3 * 3 * 2 * 2 * 2 {
                    let (kernel, stride, dilation) = (1 + code % 3, 1 + code / 3 % 3, 1 + code / 9 % 2);
                    let (begin, end) = (code / 18 % 2, 2 * (code / 36 % 2));
                    let windows = Windows {
                        strides: &[stride],
                        dilations: &[dilation],
                        pads_begin: &[begin],
                        pads_end: &[end],
                        auto_pad: *auto_pad,
                        rounding: *rounding,
                    };
                    let run = |size| windows.concrete(&[size], &[kernel as usize]).ok();
                    let counts: Vec<i64> =
                        (1..=9).filter_map(run).map(|(_, outputs)| outputs[0] as i64).collect();
                    let hull = (counts.iter().min().copied(), counts.iter().max().copied());
                    let attrs = format!(
                        "kernel: [{kernel}], strides: [{stride}], dilations: [{dilation}], pads_begin: [{begin}], \
                         pads_end: [{end}], auto_pad: {pad_name}, rounding_type: {name}"
                    );
                    let (lo, hi) = inferred("1..9", &attrs).unwrap();
                    assert!(Some(lo) <= hull.0 && hull.1 <= Some(hi), "{attrs}: {lo}..{hi}, runs {hull:?}");
                    if *rounding != Rounding::CeilTorch {
                        assert_eq!((Some(lo), Some(hi)), hull, "{attrs}");
                    }
                }
            }
        }
    }

    #[test]
    fn all_windows_of_an_empty_axis_may_begin_in_the_padding() {
        let windows = Windows {
            strides: &[],
            dilations: &[],
            pads_begin: &[],
            pads_end: &[1],
            auto_pad: AutoPad::Explicit,
            rounding: Rounding::CeilTorch,
        };
        assert_eq!(windows.concrete(&[0], &[1]).unwrap().1[..], [0]);
        let attrs = "kernel: [1], strides: [1], pads_begin: [0], pads_end: [1], rounding_type: ceil_torch";
        assert_eq!(inferred("0..9", attrs), Some((0, 9)));
        assert_eq!(inferred("1..9", attrs), Some((1, 9)));
    }
}
