//! Convolution-1 and GroupConvolution-1: filters slid over one to three spatial axes.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{ElementType, Tensor, kernels};

use super::window::{Rounding, Sliding, expect_spatial, spatial_dims};
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode};

/// The conflict of shapes.
pub(super) const CANNOT_CONVOLVE: &str = "cannot convolve {} with filters {}";

/// Data `[N, C, spatial..]` by filters `[O, C, kernel..]`, or, grouped, data `[N, G * C, spatial..]` by filters
/// `[G, O, C, kernel..]`: `[N, O or G * O, windows..]`. Filters are not flipped.
#[derive(Clone, PartialEq, Debug)]
pub struct Convolution {
    /// Whether the filters have an axis of groups in front.
    pub grouped: bool,
    /// How the filters slide.
    pub sliding: Sliding,
}

const NAMES: [OpName; 2] =
    [OpName::openvino("Convolution", &[1]), OpName::openvino("GroupConvolution", &[1])];

impl OpDef for Convolution {
    const NAMES: &'static [OpName] = &NAMES;
    const ARITY: Arity = Arity::exactly(2);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::CONTRACTION);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let grouped = raw.op_type.eq_ignore_ascii_case(NAMES[1].name);
        Ok(Self { grouped, sliding: Sliding::parse(&raw.attrs)? })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.sliding.attrs()
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[usize::from(self.grouped)]
    }
}

impl InferOp for Convolution {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = operand_type(cx)?;
        let shape = infer_shape(cx, &self.sliding, self.grouped)?;
        Ok(smallvec![Fact::new(element_type, shape)])
    }
}

impl EvalOp for Convolution {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, filters] = inputs else { return Ok(Vec::new()) };
        let groups = usize::from(self.grouped);
        let (Some(spatial), Some(kernel)) = (data.dims().get(2..), filters.dims().get(groups + 2..)) else {
            return Err(OpError::rank("data or filters", data.rank().min(filters.rank()), "3 or more"));
        };
        if spatial.len() != kernel.len() {
            return Err(ranks_differ(data.rank(), filters.rank()));
        }
        let (window, _) = self.sliding.concrete(spatial, kernel, Rounding::Floor)?;
        Ok(vec![if self.grouped {
            kernels::group_convolution(data, filters, &window)?
        } else {
            kernels::convolution(data, filters, &window)?
        }])
    }
}

/// The shape of the output: data is input 0 and filters are input 1, with an axis of groups in front or not.
pub(super) fn infer_shape(cx: &mut Infer, sliding: &Sliding, grouped: bool) -> Result<Shape, OpError> {
    let groups = usize::from(grouped);
    let Some(spatial) = spatial_rank(cx, sliding, groups)? else { return Ok(Shape::unranked()) };
    sliding.check(spatial)?;
    let (data, filters) = (cx.shape(0), cx.shape(1));
    let batch = data.dims().and_then(|dims| dims.first().cloned());
    let channels = data.dims().and_then(|dims| dims.get(1).cloned());
    let filter = |axis: usize| filters.dims().and_then(|dims| dims.get(axis).cloned());
    let (outs, per_group) = (filter(groups), filter(groups + 1));
    let group = if grouped { filter(0) } else { Some(1.into()) };
    let group = known_group(cx, group, channels.as_ref(), per_group.as_ref())?;

    let mut dims: SmallVec<[SymExpr; 4]> = SmallVec::new();
    dims.push(batch.unwrap_or_else(|| cx.unknown(Interval::DIM)));
    dims.push(match (&group, &outs) {
        (Some(group), Some(outs)) => cx.mul(group, outs),
        _ => cx.unknown(Interval::DIM),
    });
    let sizes = spatial_dims(cx, data, 2, spatial);
    let kernels = spatial_dims(cx, filters, groups + 2, spatial);
    for (i, (size, kernel)) in sizes.iter().zip(&kernels).enumerate() {
        dims.push(sliding.windows(cx, i, size, kernel, Rounding::Floor));
    }
    Ok(Shape::ranked(dims))
}

fn ranks_differ(data: usize, filters: usize) -> OpError {
    OpError::conflict("data has rank {}, filters have rank {}", data, filters)
}

/// The error for data of other channels than the filters multiply.
pub(super) fn channels_differ(data: Interval, filters: Interval) -> OpError {
    let channels = if data == Interval::exact(1) { "channel" } else { "channels" };
    OpError::conflict(format!("data has {{}} {channels}, filters expect {{}}"), data, filters)
}

/// The element type that data and filters share: a number.
pub(super) fn operand_type(cx: &mut Infer) -> Result<ElementType, OpError> {
    let element_type = cx.common_type([0, 1]);
    if element_type == ElementType::Boolean {
        return Err(OpError::element_type("data", element_type, "a number"));
    }
    Ok(element_type)
}

/// The number of spatial axes, from data, filters (which have `groups` axes more) and attributes; all must agree.
pub(super) fn spatial_rank(cx: &Infer, sliding: &Sliding, groups: usize) -> Result<Option<usize>, OpError> {
    expect_spatial(cx, 0, 2)?;
    expect_spatial(cx, 1, 2 + groups)?;
    let data = cx.shape(0).rank().map(|rank| rank.saturating_sub(2));
    let filters = cx.shape(1).rank().map(|rank| rank.saturating_sub(2 + groups));
    match (data, filters) {
        (Some(d), Some(f)) if d != f => Err(ranks_differ(d + 2, f + 2 + groups)),
        _ => Ok(data.or(filters).or(sliding.spatial_rank())),
    }
}

/// The number of groups: as the filters have it, or as the channels of data divide. `data = groups * filters` must
/// be possible.
fn known_group(
    cx: &mut Infer,
    group: Option<SymExpr>,
    data: Option<&SymExpr>,
    filters: Option<&SymExpr>,
) -> Result<Option<SymExpr>, OpError> {
    let (Some(data), Some(filters)) = (data, filters) else { return Ok(group) };
    if let Some(group) = &group {
        let wanted = cx.mul(group, filters);
        if cx.merge(&wanted, data).is_none() {
            return Err(channels_differ(cx.interval(data), cx.interval(&wanted)));
        }
    }
    match (&group, data.as_const(), filters.as_const()) {
        (Some(group), Some(data), Some(filters))
            if group.as_const().is_none() && filters > 0 && data % filters == 0 =>
        {
            Ok(Some((data / filters).into()))
        }
        _ => Ok(group),
    }
}
