//! Crop: a window of a tensor, in three variants that predate operation sets.

use snick_shape::{AxisSlice, Shape, SymExpr};
use snick_tensor::{SmallVector, Tensor};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, RawNode, normalize_axes};

type Numbers = SmallVector<i64, 4>;

op! {
    /// Crops input 0 to a window on the listed axes. The window is given by `offset` and `dim`; by `offset`
    /// alone, with the size taken from input 1; or by `crop_begin` and `crop_end`, the number of elements to
    /// remove at each end.
    #[op(
        "Crop", since = [1], inputs = Arity::between(1, 2),
        category = Slice, traits = [PURE, MOVES_ELEMENTS, SLICE_LIKE, VIEW, STRIDED], check = Crop::check_lists
    )]
    pub struct Crop {
        /// The axes.
        pub axis: Numbers,
        /// Number of elements before the window, for each axis.
        pub offset: Option<Numbers>,
        /// Size of the window, for each axis.
        pub dim: Option<Numbers>,
        /// Number of elements before the window, for each axis.
        pub crop_begin: Option<Numbers>,
        /// Number of elements after the window, for each axis.
        pub crop_end: Option<Numbers>,
    }
}

/// How the size of the window is given, for each axis.
enum Extent<'c> {
    /// The size of the same axis of input 1.
    Like,
    /// The given sizes.
    Sizes(&'c Numbers),
    /// The window ends this number of elements before the end of the axis.
    End(&'c Numbers),
}

impl InferOp for Crop {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.element_type(0);
        let Some(dims) = cx.shape(0).dims() else {
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        let mut out: SmallVector<SymExpr, 4> = dims.into();
        let (begin, extent) = self.window()?;
        for (i, axis) in normalize_axes(&self.axis, dims.len())?.into_iter().enumerate() {
            let dim = &dims[axis];
            let size = match &extent {
                Extent::Sizes(sizes) => SymExpr::from(sizes[i]),
                Extent::Like => match cx.optional(1).ok_or(OpError::NotConnected { port: 1 })?.shape.dims() {
                    Some(like) => {
                        like.get(axis).cloned().ok_or_else(|| outside(begin[i], self.axis[i], dim))?
                    }
                    None => cx.unknown(cx.interval(dim)),
                },
                Extent::End(end) => {
                    let kept = cx.sub(dim, &SymExpr::from(begin[i]));
                    let kept = cx.sub(&kept, &SymExpr::from(end[i]));
                    cx.as_dim(&kept).ok_or_else(|| outside(begin[i], self.axis[i], dim))?
                }
            };
            let reach = cx.add(&size, &SymExpr::from(begin[i]));
            if cx.interval(&reach).lo() > cx.interval(dim).hi() {
                return Err(outside(begin[i], self.axis[i], dim));
            }
            out[axis] = size;
        }
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(out))))
    }
}

impl EvalOp for Crop {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let mut data = inputs[0].clone();
        let like = inputs.get(1).map(Tensor::dims);
        for (axis, slice) in self.slices(data.dims(), like)? {
            // The window lies within the axis, so start and length fit in usize.
            data = data.slice(axis, slice.start as usize, slice.len as usize, 1)?;
        }
        Ok(vec![data])
    }
}

impl Crop {
    /// The window as slices by ascending axis, for a tensor with these dims; `like` are the dims of input 1.
    ///
    /// # Errors
    /// If the window does not lie within the tensor.
    pub fn slices(
        &self,
        dims: &[usize],
        like: Option<&[usize]>,
    ) -> Result<SmallVector<(usize, AxisSlice), 4>, OpError> {
        let mut slices: SmallVector<(usize, AxisSlice), 4> = SmallVector::new();
        let (begin, extent) = self.window()?;
        for (i, axis) in normalize_axes(&self.axis, dims.len())?.into_iter().enumerate() {
            let (dim, start) = (dims[axis] as i64, begin[i]);
            let outside = || outside(start, self.axis[i], &SymExpr::from(dim));
            let len = match &extent {
                Extent::Sizes(sizes) => Some(sizes[i]),
                Extent::Like => like.and_then(|like| like.get(axis)).map(|&size| size as i64),
                Extent::End(end) => dim.checked_sub(start).and_then(|rest| rest.checked_sub(end[i])),
            };
            let len = len.filter(|&len| len >= 0 && start.checked_add(len).is_some_and(|reach| reach <= dim));
            let len = len.ok_or_else(outside)?;
            slices.push((axis, if len == 0 { AxisSlice::EMPTY } else { AxisSlice { start, len, step: 1 } }));
        }
        slices.sort_by_key(|&(axis, _)| axis);
        Ok(slices)
    }

    /// The start of the window, and its size.
    fn window(&self) -> Result<(&Numbers, Extent<'_>), OpError> {
        let missing = |name| OpError::MissingAttribute { name };
        match &self.crop_begin {
            Some(begin) => {
                let end = self.crop_end.as_ref().ok_or(missing("crop_end"))?;
                Ok((begin, Extent::End(end)))
            }
            None => {
                let begin = self.offset.as_ref().ok_or(missing("offset"))?;
                Ok((begin, self.dim.as_ref().map_or(Extent::Like, Extent::Sizes)))
            }
        }
    }

    fn check_lists(&self, raw: &RawNode) -> Result<(), OpError> {
        let (begin, extent) = self.window()?;
        let numbers = match extent {
            Extent::Like => begin,
            Extent::Sizes(numbers) | Extent::End(numbers) => numbers,
        };
        let fits = |list: &Numbers| list.len() == self.axis.len() && list.iter().all(|&n| n >= 0);
        if fits(begin) && fits(numbers) {
            return Ok(());
        }
        let name = if self.crop_begin.is_some() { "crop_begin" } else { "offset" };
        Err(raw.attrs.bad(name, "as many numbers of 0 or more as `axis`"))
    }
}

fn outside(begin: i64, axis: i64, dim: &SymExpr) -> OpError {
    let size = dim.as_const().map_or("the axis".to_string(), |dim| format!("the axis of {dim} elements"));
    OpError::out_of_range(format!("the window from {begin} on axis"), axis, format!("within {size}"))
}
