//! MaxPool-1, -8, -14 and AvgPool-1, -14, -16: the greatest element, or the mean, of each window.
//!
//! MaxPool-8 adds dilations and a second output, where each greatest element lies; MaxPool-14 and AvgPool-14 add the
//! rounding `ceil_torch`; AvgPool-16 adds dilations.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::kernels::{self, Window};
use snick_tensor::{ElementType, Tensor};

use super::window::{Numbers, Rounding, Sliding, expect_spatial, spatial_dims};
use crate::attrs::{AttrValue, missing};
use crate::{
    Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode, normalize_axis,
};

/// Pools data `[N, C, spatial..]` to `[N, C, windows..]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Pool {
    /// What a window becomes.
    pub kind: PoolKind,
    /// Elements of a window along each spatial axis.
    pub kernel: Numbers,
    /// How the window slides.
    pub sliding: Sliding,
    /// What happens to a last window that does not fit.
    pub rounding: Rounding,
}

/// What a window becomes.
#[derive(Clone, PartialEq, Debug)]
pub enum PoolKind {
    /// Its greatest element; padding never wins.
    Max {
        /// The second output, from operation set 8 on.
        indices: Option<Indices>,
    },
    /// Its mean.
    Avg {
        /// Whether only elements inside count; otherwise the padding counts as zeros.
        exclude_pad: bool,
        /// Whether the definition is one that has dilations.
        dilated: bool,
    },
}

/// Where the greatest elements lie: positions in the input flattened from `axis` on.
#[derive(Clone, PartialEq, Debug)]
pub struct Indices {
    /// i64 or i32.
    pub element_type: ElementType,
    /// The first axis that is flattened.
    pub axis: i64,
}

const NAMES: [OpName; 2] =
    [OpName::openvino("MaxPool", &[1, 8, 14]), OpName::openvino("AvgPool", &[1, 14, 16])];

const ROUNDINGS: &[(&str, Rounding)] =
    &[("floor", Rounding::Floor), ("ceil", Rounding::Ceil), ("ceil_torch", Rounding::CeilTorch)];

const INDEX_TYPES: &[(&str, ElementType)] = &[("i64", ElementType::I64), ("i32", ElementType::I32)];

impl OpDef for Pool {
    const NAMES: &'static [OpName] = &NAMES;
    const ARITY: Arity = Arity::exactly(1);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let attrs = &raw.attrs;
        let max = raw.op_type.eq_ignore_ascii_case(NAMES[0].name);
        let kind = match (max, raw.since) {
            (true, 1) => PoolKind::Max { indices: None },
            (true, _) => {
                let element_type =
                    attrs.choice("index_element_type", INDEX_TYPES)?.unwrap_or(ElementType::I64);
                let axis = attrs.int("axis")?.unwrap_or(0);
                PoolKind::Max { indices: Some(Indices { element_type, axis }) }
            }
            (false, since) => {
                // Files have it with a hyphen; it must be there.
                let exclude_pad = attrs.bool("exclude-pad")?.or(attrs.bool("exclude_pad")?);
                let exclude_pad = exclude_pad.ok_or(missing("exclude-pad"))?;
                PoolKind::Avg { exclude_pad, dilated: since >= 16 }
            }
        };
        let rounding = attrs.choice("rounding_type", ROUNDINGS)?.unwrap_or_default();
        if rounding == Rounding::CeilTorch && raw.since < 14 {
            return Err(attrs.bad("rounding_type", "floor or ceil"));
        }
        let mut sliding = Sliding::parse(attrs)?;
        if !kind.is_dilated() {
            sliding.dilations = Numbers::new();
        }
        if !max && !attrs.contains("strides") {
            return Err(missing("strides"));
        }
        let kernel = attrs.ints("kernel")?.ok_or(missing("kernel"))?;
        Ok(Self { kind, kernel, sliding, rounding })
    }

    fn attrs(&self) -> Attrs<'static> {
        let rounding = ROUNDINGS.iter().find(|(_, r)| *r == self.rounding).map_or("", |(name, _)| name);
        let attrs = Attrs::new().with("kernel", AttrValue::Ints(self.kernel.clone()));
        let mut attrs = self.sliding.attrs_undilated(attrs).with("rounding_type", rounding);
        if self.kind.is_dilated() {
            attrs = attrs.with("dilations", AttrValue::Ints(self.sliding.dilations.clone()));
        }
        match &self.kind {
            PoolKind::Max { indices: None } => attrs,
            PoolKind::Max { indices: Some(indices) } => {
                attrs.with("index_element_type", indices.element_type).with("axis", indices.axis)
            }
            PoolKind::Avg { exclude_pad, .. } => attrs.with("exclude-pad", *exclude_pad),
        }
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[usize::from(matches!(self.kind, PoolKind::Avg { .. }))]
    }
}

impl InferOp for Pool {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        expect_spatial(cx, 0, 2)?;
        let data = cx.shape(0);
        let spatial = self.kernel.len();
        if let Some(rank) = data.rank().filter(|&rank| rank != spatial + 2) {
            return Err(OpError::mismatch(
                "the number of entries of `kernel`",
                spatial,
                rank.saturating_sub(2),
            ));
        }
        self.sliding.check(spatial)?;
        if let Some(&size) = self.kernel.iter().find(|&&size| size < 1) {
            return Err(OpError::out_of_range("`kernel`", size, "1 or more"));
        }
        if let (PoolKind::Max { indices: Some(indices) }, Some(rank)) = (&self.kind, data.rank()) {
            normalize_axis(indices.axis, rank)?;
        }
        let outside = spatial_dims(cx, data, 0, 2);
        let mut dims: SmallVec<[SymExpr; 4]> = outside.into_iter().take(2).collect();
        if let Some(what) = ["batch", "channels"].iter().zip(&dims).find(|(_, dim)| dim.as_const() == Some(0))
        {
            return Err(OpError::out_of_range(format!("the size of the {}", what.0), 0, "1 or more"));
        }
        for (i, (size, &kernel)) in spatial_dims(cx, data, 2, spatial).iter().zip(&self.kernel).enumerate() {
            if self.sliding.auto_pad.is_same() && cx.interval(size).hi() == 0 {
                return Err(OpError::out_of_range(format!("the size of spatial axis {i}"), 0, "1 or more"));
            }
            let count = self.sliding.windows(cx, i, size, &kernel.into(), self.rounding);
            dims.push(if self.rounding == Rounding::CeilTorch {
                cx.as_dim(&count).unwrap_or_else(|| cx.unknown(Interval::DIM))
            } else {
                count
            });
        }
        let shape = Shape::ranked(dims);
        let pooled = Fact::new(cx.element_type(0), shape.clone());
        Ok(match &self.kind {
            PoolKind::Max { indices: Some(indices) } => {
                smallvec![pooled, Fact::new(indices.element_type, shape)]
            }
            _ => smallvec![pooled],
        })
    }
}

impl EvalOp for Pool {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data] = inputs else { return Ok(Vec::new()) };
        let kernel: SmallVec<[usize; 4]> = self.kernel.iter().filter_map(|&k| k.try_into().ok()).collect();
        let spatial = data.dims().get(2..).unwrap_or_default();
        if spatial.is_empty() || spatial.len() != kernel.len() {
            return Err(OpError::rank("data", data.rank(), format!("{}", self.kernel.len() + 2)));
        }
        let (mut window, outputs) = self.sliding.concrete(spatial, &kernel, self.rounding)?;
        let padded = window.pads_begin.iter().chain(&window.pads_end).any(|&pad| pad != 0);
        if self.rounding == Rounding::Ceil {
            pad_all(&mut window, spatial, &kernel, &outputs);
        }
        Ok(match &self.kind {
            PoolKind::Max { indices: None } => {
                vec![kernels::max_pool(data, &kernel, &window, &outputs)?]
            }
            PoolKind::Max { indices: Some(indices) } => {
                let axis = normalize_axis(indices.axis, data.rank())?;
                let (values, places) = kernels::max_pool_indices(data, &kernel, &window, &outputs, axis)?;
                vec![values, places.cast(indices.element_type)?]
            }
            PoolKind::Avg { exclude_pad, .. } => {
                vec![kernels::avg_pool(data, &kernel, &window, &outputs, *exclude_pad || !padded)?]
            }
        })
    }

    fn prune_outputs(&self, is_read: &[bool]) -> Option<Self> {
        match (&self.kind, is_read) {
            (PoolKind::Max { indices: Some(_) }, [_, false]) => {
                Some(Self { kind: PoolKind::Max { indices: None }, ..self.clone() })
            }
            _ => None,
        }
    }
}

/// Padding to the end of the last window: what it has beyond the padding counts as zeros, too.
fn pad_all(window: &mut Window, spatial: &[usize], kernel: &[usize], outputs: &[usize]) {
    let steps = window.strides.iter().zip(&window.dilations);
    let sizes = spatial.iter().zip(kernel).zip(outputs);
    let pads = window.pads_begin.iter().zip(window.pads_end.iter_mut());
    for (((&stride, &dilation), ((&size, &kernel), &count)), (&begin, end)) in steps.zip(sizes).zip(pads) {
        let last = (count as i128 - 1) * stride as i128 + (kernel as i128 - 1) * dilation as i128 + 1;
        if let Ok(beyond) = isize::try_from(last - size as i128 - begin as i128) {
            *end = beyond.max(*end);
        }
    }
}

impl PoolKind {
    fn is_dilated(&self) -> bool {
        match self {
            Self::Max { indices } => indices.is_some(),
            Self::Avg { dilated, .. } => *dilated,
        }
    }
}
