//! How convolutions and pools slide a window: the attributes they share, the sizes that come of them as
//! expressions, and the padding that concrete sizes ask for.

use std::fmt::Display;

use smallvec::SmallVec;
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::Dims;
use snick_tensor::kernels::Window;

use crate::attrs::AttrValue;
use crate::{Attrs, Infer, OpError};

/// One number a spatial axis.
pub type Numbers = SmallVec<[i64; 4]>;

/// Who decides on the padding.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum AutoPad {
    /// The attributes `pads_begin` and `pads_end`.
    #[default]
    Explicit,
    /// So much that every element starts a stride; an odd element goes to the end.
    SameUpper,
    /// So much that every element starts a stride; an odd element goes to the beginning.
    SameLower,
    /// No padding.
    Valid,
}

const AUTO_PADS: &[(&str, AutoPad)] = &[
    ("explicit", AutoPad::Explicit),
    ("notset", AutoPad::Explicit),
    ("same_upper", AutoPad::SameUpper),
    ("same_lower", AutoPad::SameLower),
    ("valid", AutoPad::Valid),
];

impl AutoPad {
    /// Reads `auto_pad`.
    pub fn parse(attrs: &Attrs) -> Result<Option<Self>, OpError> {
        attrs.choice("auto_pad", AUTO_PADS)
    }

    /// The word that files use.
    pub fn name(self) -> &'static str {
        AUTO_PADS.iter().find(|(_, pad)| *pad == self).map_or("", |(name, _)| name)
    }

    /// Whether the size of the output follows from the stride alone.
    pub fn is_same(self) -> bool {
        matches!(self, Self::SameUpper | Self::SameLower)
    }
}

/// What happens to a last window that does not fit wholly.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Rounding {
    /// It is left out.
    #[default]
    Floor,
    /// It is kept.
    Ceil,
    /// It is kept if it starts before the padding at the end.
    CeilTorch,
}

/// The attributes of a sliding window. A list is empty (all ones, all zeros) or has an entry a spatial axis.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sliding {
    /// Distance between neighbouring windows.
    pub strides: Numbers,
    /// Distance between neighbouring elements of a window.
    pub dilations: Numbers,
    /// Elements added before each axis.
    pub pads_begin: Numbers,
    /// Elements added after each axis.
    pub pads_end: Numbers,
    /// Whether the pads count.
    pub auto_pad: AutoPad,
}

/// The window along one axis, its numbers checked.
#[derive(Copy, Clone, Debug)]
pub struct WindowAxis {
    /// Distance between windows, at least 1.
    pub stride: i64,
    /// Distance between elements of a window, at least 1.
    pub dilation: i64,
    /// Elements added before; 0 unless padding is explicit.
    pub begin: i64,
    /// Elements added after; 0 unless padding is explicit.
    pub end: i64,
}

impl Sliding {
    /// Reads `strides`, `dilations`, `pads_begin`, `pads_end` and `auto_pad`; what is left out has its default.
    pub fn parse(attrs: &Attrs) -> Result<Self, OpError> {
        let auto_pad = AutoPad::parse(attrs)?.unwrap_or_default();
        Ok(Self { auto_pad, ..Self::parse_explicit(attrs)? })
    }

    /// The same for ops that have no `auto_pad`.
    pub fn parse_explicit(attrs: &Attrs) -> Result<Self, OpError> {
        Ok(Self {
            strides: attrs.ints("strides")?.unwrap_or_default(),
            dilations: attrs.ints("dilations")?.unwrap_or_default(),
            pads_begin: attrs.ints("pads_begin")?.unwrap_or_default(),
            pads_end: attrs.ints("pads_end")?.unwrap_or_default(),
            auto_pad: AutoPad::Explicit,
        })
    }

    /// Writes them.
    pub fn attrs(&self) -> Attrs<'static> {
        self.attrs_undilated(Attrs::new()).with("dilations", AttrValue::Ints(self.dilations.clone()))
    }

    /// Writes all but `auto_pad`, for ops that have none.
    pub fn attrs_explicit(&self) -> Attrs<'static> {
        Attrs::new()
            .with("strides", AttrValue::Ints(self.strides.clone()))
            .with("dilations", AttrValue::Ints(self.dilations.clone()))
            .with("pads_begin", AttrValue::Ints(self.pads_begin.clone()))
            .with("pads_end", AttrValue::Ints(self.pads_end.clone()))
    }

    /// Writes all but `dilations`, for ops that have none.
    pub fn attrs_undilated(&self, attrs: Attrs<'static>) -> Attrs<'static> {
        attrs
            .with("strides", AttrValue::Ints(self.strides.clone()))
            .with("pads_begin", AttrValue::Ints(self.pads_begin.clone()))
            .with("pads_end", AttrValue::Ints(self.pads_end.clone()))
            .with("auto_pad", self.auto_pad.name())
    }

    /// The number of spatial axes, if a list says it.
    pub fn spatial_rank(&self) -> Option<usize> {
        let lists = [&self.strides, &self.dilations, &self.pads_begin, &self.pads_end];
        lists.iter().map(|list| list.len()).find(|&len| len > 0)
    }

    /// Every list has an entry for each of `rank` spatial axes, or none; strides and dilations are positive.
    pub fn check(&self, rank: usize) -> Result<(), OpError> {
        let lists = [
            ("strides", &self.strides, 1),
            ("dilations", &self.dilations, 1),
            ("pads_begin", &self.pads_begin, i64::MIN),
            ("pads_end", &self.pads_end, i64::MIN),
        ];
        for (name, list, least) in lists {
            if !list.is_empty() && list.len() != rank {
                let expected = format!("{rank}, one a spatial axis");
                return Err(OpError::mismatch(
                    format!("the number of entries of `{name}`"),
                    list.len(),
                    expected,
                ));
            }
            if let Some(&value) = list.iter().find(|&&value| value < least) {
                return Err(OpError::out_of_range(format!("`{name}`"), value, format!("{least} or more")));
            }
        }
        Ok(())
    }

    /// The window along spatial axis `i`.
    pub fn axis(&self, i: usize) -> WindowAxis {
        let explicit = self.auto_pad == AutoPad::Explicit;
        let pad = |list: &Numbers| list.get(i).copied().filter(|_| explicit).unwrap_or(0);
        WindowAxis {
            stride: self.strides.get(i).copied().unwrap_or(1).max(1),
            dilation: self.dilations.get(i).copied().unwrap_or(1).max(1),
            begin: pad(&self.pads_begin),
            end: pad(&self.pads_end),
        }
    }

    /// The padding before and after spatial axis `i` of `input` elements under windows of `kernel` elements.
    ///
    /// # Errors
    /// A window larger than the padded input.
    pub fn padding(
        &self,
        i: usize,
        input: usize,
        kernel: usize,
        rounding: Rounding,
    ) -> Result<[i64; 2], OpError> {
        let axis = self.axis(i);
        let one = Self {
            strides: Numbers::from_slice(&[axis.stride]),
            dilations: Numbers::from_slice(&[axis.dilation]),
            pads_begin: Numbers::from_slice(&[axis.begin]),
            pads_end: Numbers::from_slice(&[axis.end]),
            auto_pad: self.auto_pad,
        };
        let (window, _) = one.concrete(&[input], &[kernel], rounding)?;
        Ok([window.pads_begin[0] as i64, window.pads_end[0] as i64])
    }

    /// The number of windows of `kernel` elements along spatial axis `i` of size `input`.
    ///
    /// A model that runs has no window larger than its padded input, so there is one window at least. A larger one is
    /// reported.
    pub fn windows(
        &self,
        cx: &mut Infer,
        i: usize,
        input: &SymExpr,
        kernel: &SymExpr,
        rounding: Rounding,
    ) -> SymExpr {
        let axis = self.axis(i);
        let (one, stride) = (SymExpr::from(1), SymExpr::from(axis.stride));
        let reach = reach(cx, kernel, axis.dilation);
        if self.auto_pad.is_same() {
            // The padding is never negative: a stride longer than the window leaves a rest to round.
            let exact = rounding == Rounding::Ceil && cx.interval(&reach).lo() < axis.stride;
            if !exact {
                return cx.ceil_div(input, &stride);
            }
            if cx.interval(&reach).is_exact().is_none() {
                let least = cx.interval(input).ceil_div(axis.stride.into());
                return cx.unknown(least.hull(least.add(1.into())));
            }
            let room = cx.sub(input, &reach);
            let steps = cx.ceil_div(&room, &stride);
            let count = cx.add(&steps, &one);
            return at_least(cx, &count, 0);
        }
        let before = cx.add(input, &axis.begin.into());
        let padded = cx.add(&before, &axis.end.into());
        let room = cx.sub(&padded, &reach);
        if cx.interval(&room).hi() < 0 {
            cx.report(exceeds_input(i, cx.interval(&reach), cx.interval(&padded)));
            return cx.unknown(Interval::DIM);
        }
        let steps = match rounding {
            Rounding::Floor => cx.floor_div(&room, &stride),
            Rounding::Ceil => cx.ceil_div(&room, &stride),
            Rounding::CeilTorch => {
                let all = cx.ceil_div(&room, &stride);
                let inside = cx.ceil_div(&before, &stride);
                let inside = cx.sub(&inside, &one);
                let excess = cx.interval(&reach).lo().checked_sub(axis.end);
                match excess {
                    Some(excess) if excess >= axis.stride => all,
                    Some(excess) if excess >= 0 => cx.min(&all, &inside),
                    _ => {
                        // Windows in the padding: one of them, at most, is left out.
                        let span = cx.interval(&all);
                        cx.unknown(span.hull(span.sub(1.into())))
                    }
                }
            }
        };
        let count = cx.add(&steps, &one);
        at_least(cx, &count, 1)
    }

    /// The padding and the number of windows for concrete sizes.
    pub fn concrete(
        &self,
        spatial: &[usize],
        kernel: &[usize],
        rounding: Rounding,
    ) -> Result<(Window, Dims), OpError> {
        self.check(spatial.len())?;
        let mut window = Window::dense(spatial.len());
        let mut outputs = Dims::new();
        for (i, (&size, &kernel)) in spatial.iter().zip(kernel).enumerate() {
            let axis = self.axis(i);
            let (size, stride) = (size as i128, i128::from(axis.stride));
            let reach = (kernel as i128 - 1).max(0) * i128::from(axis.dilation) + 1;
            let (begin, end) = match self.auto_pad {
                AutoPad::Explicit | AutoPad::Valid => (i128::from(axis.begin), i128::from(axis.end)),
                same => {
                    let windows = (size + stride - 1) / stride;
                    let total = ((windows - 1) * stride + reach - size).max(0);
                    let less = total / 2;
                    if same == AutoPad::SameUpper { (less, total - less) } else { (total - less, less) }
                }
            };
            let room = size + begin + end - reach;
            if room < 0 {
                return Err(exceeds_input(i, reach, size + begin + end));
            }
            let up = (room + stride - 1) / stride;
            let count = match rounding {
                Rounding::Floor => room / stride + 1,
                Rounding::Ceil => up + 1,
                Rounding::CeilTorch if up * stride >= size + begin => up,
                Rounding::CeilTorch => up + 1,
            };
            let too_large = || OpError::unsupported("a window of this size");
            let set = |list: &mut [usize], value: i64| -> Result<(), OpError> {
                let slot = list.get_mut(i).ok_or_else(too_large)?;
                *slot = usize::try_from(value).map_err(|_| too_large())?;
                Ok(())
            };
            set(&mut window.strides, axis.stride)?;
            set(&mut window.dilations, axis.dilation)?;
            let pad = |value: i128| isize::try_from(value).map_err(|_| too_large());
            let pads = (window.pads_begin.get_mut(i), window.pads_end.get_mut(i));
            if let (Some(before), Some(after)) = pads {
                (*before, *after) = (pad(begin)?, pad(end)?);
            }
            outputs.push(usize::try_from(count).map_err(|_| too_large())?);
        }
        Ok((window, outputs))
    }
}

/// The elements a window of `kernel` spans: `dilation * (kernel - 1) + 1`.
pub fn reach(cx: &mut Infer, kernel: &SymExpr, dilation: i64) -> SymExpr {
    let kernel = at_least(cx, kernel, 1);
    let gaps = cx.sub(&kernel, &1.into());
    let gaps = cx.mul(&gaps, &dilation.into());
    cx.add(&gaps, &1.into())
}

/// An expression that every run gives `least` or more, so that its interval says it, too.
pub fn at_least(cx: &mut Infer, expr: &SymExpr, least: i64) -> SymExpr {
    if cx.interval(expr).lo() >= least { expr.clone() } else { cx.max(expr, &least.into()) }
}

/// The axes of `shape` from `first` on; unknown ones where the rank is not known.
pub fn spatial_dims(cx: &mut Infer, shape: &Shape, first: usize, rank: usize) -> SmallVec<[SymExpr; 4]> {
    match shape.dims() {
        Some(dims) => dims.iter().skip(first).cloned().collect(),
        None => (0..rank).map(|_| cx.unknown(Interval::DIM)).collect(),
    }
}

/// The sizes of so many spatial axes of the output, as far as input `i` is known, which lists them.
pub fn given_sizes(cx: &mut Infer, i: usize, spatial: usize) -> Result<SmallVec<[SymExpr; 4]>, OpError> {
    let sizes = cx.elements_or_unknown(i).filter(|sizes| sizes.len() == spatial);
    let Some(sizes) = sizes else { return Ok((0..spatial).map(|_| cx.unknown(Interval::DIM)).collect()) };
    let negative =
        |cx: &Infer, size| OpError::out_of_range("a size of the output", cx.interval(size).hi(), "0 or more");
    sizes.iter().map(|size| cx.as_dim(size).ok_or_else(|| negative(cx, size))).collect()
}

/// The rank of input `i`, if it is known, must be that of one to three spatial axes beside `others`.
pub fn expect_spatial(cx: &Infer, i: usize, others: usize) -> Result<(), OpError> {
    let expected = format!("{} to {}", others + 1, others + 3);
    cx.expect_rank(i, &expected, |rank| (others + 1..=others + 3).contains(&rank))
}

/// The error for windows that no size of the input can hold.
fn exceeds_input(axis: usize, window: impl Display, padded: impl Display) -> OpError {
    let sentence = format!("window of {{}} exceeds the padded input of {{}} on spatial axis {axis}");
    OpError::conflict(sentence, window, padded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    /// The interval of the only spatial axis of a pool over `1..9` elements; `None` if it is refused.
    fn inferred(attrs: &str) -> Option<(i64, i64)> {
        let source = format!(
            "snick 1\ngraph \"t\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"1,1,1..9\"}}\n  \
             %y = MaxPool-14(%x) {{{attrs}, index_element_type: i64, axis: 0}}\n  %r = Result-1(%y)\n}}\n"
        );
        let mut graph = text::parse(&source, None).unwrap();
        if !crate::infer(&mut graph).is_empty() {
            return None;
        }
        let order = graph.order().unwrap();
        let pool = order.iter().find(|&&id| graph.node(id).op.type_name() == "MaxPool").unwrap();
        let dims = graph.node(*pool).outs[0].fact.shape.dims().unwrap().to_vec();
        let interval = graph.symbols.interval(&dims[2]);
        Some((interval.lo(), interval.hi()))
    }

    #[test]
    fn what_is_inferred_is_the_hull_of_what_runs() {
        let roundings =
            [("floor", Rounding::Floor), ("ceil", Rounding::Ceil), ("ceil_torch", Rounding::CeilTorch)];
        for (pad_name, auto_pad) in AUTO_PADS {
            for (name, rounding) in roundings {
                for code in 0..3 * 3 * 2 * 2 * 2 {
                    let (kernel, stride, dilation) = (1 + code % 3, 1 + code / 3 % 3, 1 + code / 9 % 2);
                    let (begin, end) = (code / 18 % 2, 2 * (code / 36 % 2));
                    let sliding = Sliding {
                        strides: smallvec::smallvec![stride],
                        dilations: smallvec::smallvec![dilation],
                        pads_begin: smallvec::smallvec![begin],
                        pads_end: smallvec::smallvec![end],
                        auto_pad: *auto_pad,
                    };
                    let run = |size| sliding.concrete(&[size], &[kernel as usize], rounding).ok();
                    let counts: Vec<i64> =
                        (1..=9).filter_map(run).map(|(_, outputs)| outputs[0] as i64).collect();
                    let hull = (counts.iter().min().copied(), counts.iter().max().copied());
                    let attrs = format!(
                        "kernel: [{kernel}], strides: [{stride}], dilations: [{dilation}], pads_begin: [{begin}], \
                         pads_end: [{end}], auto_pad: {pad_name}, rounding_type: {name}"
                    );
                    let (lo, hi) = inferred(&attrs).unwrap();
                    assert!(Some(lo) <= hull.0 && hull.1 <= Some(hi), "{attrs}: {lo}..{hi}, runs {hull:?}");
                    if rounding != Rounding::CeilTorch {
                        assert_eq!((Some(lo), Some(hi)), hull, "{attrs}");
                    }
                }
            }
        }
    }
}
