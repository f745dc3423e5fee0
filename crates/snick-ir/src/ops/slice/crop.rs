//! Crop: a window of a tensor, in the three forms of IRs that are older than operation sets.

use smallvec::{SmallVec, smallvec};
use snick_shape::{AxisSlice, Shape, SymExpr};
use snick_tensor::Tensor;

use crate::attrs::missing;
use crate::{
    Arity, AttrValue, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode,
    normalize_axes,
};

type Numbers = SmallVec<[i64; 4]>;

/// Removes elements at both ends of the listed axes of input 0; the others are whole.
#[derive(Clone, PartialEq, Debug)]
pub struct Crop {
    /// The axes.
    pub axes: Numbers,
    /// Number of elements before the window, for each of the axes.
    pub begin: Numbers,
    /// The size of the window.
    pub extent: Extent,
}

/// The size of a window, for each of the axes.
#[derive(Clone, PartialEq, Debug)]
pub enum Extent {
    /// That of input 1 along the same axis: attributes `axis`, `offset`.
    Like,
    /// Numbers of elements: attributes `axis`, `offset`, `dim`.
    Sizes(Numbers),
    /// All but a number of elements at the end: attributes `axis`, `crop_begin`, `crop_end`.
    End(Numbers),
}

impl OpDef for Crop {
    const NAMES: &'static [OpName] = &[OpName::openvino("Crop", &[1])];
    const ARITY: Arity = Arity::between(1, 2);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::SLICE_LIKE);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let list = |name: &'static str| raw.attrs.ints(name);
        let axes = list("axis")?.ok_or(missing("axis"))?;
        let (first, begin, extent) = match list("crop_begin")? {
            Some(begin) => ("crop_begin", begin, Extent::End(list("crop_end")?.ok_or(missing("crop_end"))?)),
            None => {
                let extent = list("dim")?.map_or(Extent::Like, Extent::Sizes);
                ("offset", list("offset")?.ok_or(missing("offset"))?, extent)
            }
        };
        let numbers = match &extent {
            Extent::Like => &begin,
            Extent::Sizes(numbers) | Extent::End(numbers) => numbers,
        };
        if begin.len() != axes.len()
            || numbers.len() != axes.len()
            || begin.iter().chain(numbers).any(|&n| n < 0)
        {
            return Err(raw.attrs.bad(first, "as many numbers of 0 or more as `axis`"));
        }
        Ok(Self { axes, begin, extent })
    }

    fn attrs(&self) -> Attrs<'static> {
        let mut attrs = Attrs::new();
        let mut push =
            |name: &'static str, numbers: &Numbers| attrs.push(name.into(), AttrValue::Ints(numbers.clone()));
        push("axis", &self.axes);
        match &self.extent {
            Extent::Like => push("offset", &self.begin),
            Extent::Sizes(sizes) => {
                push("offset", &self.begin);
                push("dim", sizes);
            }
            Extent::End(end) => {
                push("crop_begin", &self.begin);
                push("crop_end", end);
            }
        }
        attrs
    }
}

impl InferOp for Crop {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.element_type(0);
        let Some(dims) = cx.shape(0).dims() else {
            return Ok(smallvec![Fact::new(element_type, Shape::unranked())]);
        };
        let mut out: SmallVec<[SymExpr; 4]> = dims.into();
        for (i, axis) in normalize_axes(&self.axes, dims.len())?.into_iter().enumerate() {
            let dim = &dims[axis];
            let size = match &self.extent {
                Extent::Sizes(sizes) => SymExpr::from(sizes[i]),
                Extent::Like => match cx.optional(1).ok_or(OpError::NotConnected { port: 1 })?.shape.dims() {
                    Some(like) => like.get(axis).cloned().ok_or_else(|| self.outside(i, dim))?,
                    None => cx.unknown(cx.interval(dim)),
                },
                Extent::End(end) => {
                    let kept = cx.sub(dim, &SymExpr::from(self.begin[i]));
                    let kept = cx.sub(&kept, &SymExpr::from(end[i]));
                    cx.as_dim(&kept).ok_or_else(|| self.outside(i, dim))?
                }
            };
            let reach = cx.add(&size, &SymExpr::from(self.begin[i]));
            if cx.interval(&reach).lo() > cx.interval(dim).hi() {
                return Err(self.outside(i, dim));
            }
            out[axis] = size;
        }
        Ok(smallvec![Fact::new(element_type, Shape::ranked(out))])
    }
}

impl EvalOp for Crop {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let mut data = inputs[0].clone();
        let like = inputs.get(1).map(Tensor::dims);
        for (axis, slice) in self.slices(data.dims(), like)? {
            // Within the axis, so both fit.
            data = data.slice(axis, slice.start as usize, slice.len as usize, 1)?;
        }
        Ok(vec![data])
    }
}

impl Crop {
    /// The window of a tensor of these dims, by axis, ascending; `like` are the dims of input 1.
    ///
    /// # Errors
    /// A window that does not lie within the tensor.
    pub fn slices(
        &self,
        dims: &[usize],
        like: Option<&[usize]>,
    ) -> Result<SmallVec<[(usize, AxisSlice); 4]>, OpError> {
        let mut slices: SmallVec<[(usize, AxisSlice); 4]> = SmallVec::new();
        for (i, axis) in normalize_axes(&self.axes, dims.len())?.into_iter().enumerate() {
            let (dim, start) = (dims[axis] as i64, self.begin[i]);
            let outside = || self.outside(i, &SymExpr::from(dim));
            let len = match &self.extent {
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

    fn outside(&self, i: usize, dim: &SymExpr) -> OpError {
        let size = dim.as_const().map_or("the axis".to_string(), |dim| format!("the axis of {dim} elements"));
        OpError::out_of_range(
            format!("the window from {} on axis", self.begin[i]),
            self.axes[i],
            format!("within {size}"),
        )
    }
}
