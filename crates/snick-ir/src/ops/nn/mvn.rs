//! MVN-1 and MVN-6: the mean taken away along some axes and, if asked, the deviation divided out.
//!
//! The first definition names the axes by attributes and adds epsilon inside of the root; from operation set 6 on
//! the axes are an input and an attribute says where epsilon goes.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};
use snick_tensor::kernels::EpsMode;
use snick_tensor::{Tensor, kernels};

use super::window::Numbers;
use crate::attrs::AttrValue;
use crate::{
    Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode,
    normalize_axes, normalize_axis,
};

/// Mean-variance normalisation.
#[derive(Clone, PartialEq, Debug)]
pub struct Mvn {
    /// Where the axes come from.
    pub axes: MvnAxes,
    /// Whether the deviation is divided out.
    pub normalize_variance: bool,
    /// Keeps the divisor from being zero.
    pub eps: f64,
    /// Whether epsilon is added inside of the root.
    pub eps_inside: bool,
}

/// Where the axes come from.
#[derive(Clone, PartialEq, Debug)]
pub enum MvnAxes {
    /// The second input.
    Input,
    /// Attributes of the first definition.
    Attributes {
        /// Whether axis 1 is among them, if no axes are named.
        across_channels: bool,
        /// The axes; none: all from 1 or 2 on.
        reduction_axes: Numbers,
    },
}

/// The axes that the first definition means where it names none.
pub fn unnamed_axes(across_channels: bool, rank: usize) -> Range<usize> {
    if across_channels { 1..rank } else { 2..rank }
}

const EPS_MODES: &[(&str, bool)] = &[("INSIDE_SQRT", true), ("OUTSIDE_SQRT", false)];

impl OpDef for Mvn {
    const NAMES: &'static [OpName] = &[OpName::openvino("MVN", &[1, 6])];
    const ARITY: Arity = Arity::between(1, 2);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::FLOAT_FORMULA);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let attrs = &raw.attrs;
        let normalize_variance = attrs.bool("normalize_variance")?;
        let eps = attrs.float("eps")?.unwrap_or(0.0);
        if raw.since == 1 {
            let axes = MvnAxes::Attributes {
                across_channels: attrs.bool("across_channels")?.unwrap_or(false),
                reduction_axes: attrs.ints("reduction_axes")?.unwrap_or_default(),
            };
            let normalize_variance = normalize_variance.unwrap_or(false);
            return Ok(Self { axes, normalize_variance, eps, eps_inside: true });
        }
        Ok(Self {
            axes: MvnAxes::Input,
            normalize_variance: normalize_variance.unwrap_or(false),
            eps,
            eps_inside: attrs.choice("eps_mode", EPS_MODES)?.unwrap_or(true),
        })
    }

    fn attrs(&self) -> Attrs<'static> {
        let attrs = Attrs::new().with("eps", self.eps).with("normalize_variance", self.normalize_variance);
        match &self.axes {
            MvnAxes::Input => {
                let mode = EPS_MODES[usize::from(!self.eps_inside)].0;
                attrs.with("eps_mode", mode)
            }
            MvnAxes::Attributes { across_channels, reduction_axes } => attrs
                .with("across_channels", *across_channels)
                .with("reduction_axes", AttrValue::Ints(reduction_axes.clone())),
        }
    }
}

impl InferOp for Mvn {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let inputs = if self.axes == MvnAxes::Input { 2 } else { 1 };
        Arity::exactly(inputs).check(cx.len())?;
        if let Some(axes) = cx.optional(1) {
            cx.expect_rank(1, "1", |rank| rank == 1)?;
            cx.expect_integer(1);
            let count = axes.shape.dims().and_then(|dims| dims.first()?.as_const());
            if let (Some(rank), Some(count)) = (cx.shape(0).rank(), count)
                && i64::try_from(rank).is_ok_and(|rank| count > rank)
            {
                return Err(OpError::mismatch("the number of axes", count, format!("{rank} or fewer")));
            }
        }
        Ok(smallvec![Fact::new(cx.element_type(0), cx.shape(0).clone())])
    }
}

impl EvalOp for Mvn {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let Some(data) = inputs.first() else { return Ok(Vec::new()) };
        let rank = data.rank();
        let axes: SmallVec<[usize; 4]> = match (&self.axes, inputs.get(1)) {
            // An axis named twice is an axis.
            (MvnAxes::Input, Some(axes)) => axes
                .to_i64_vec()?
                .into_iter()
                .map(|axis| normalize_axis(axis, rank))
                .collect::<Result<_, _>>()?,
            (MvnAxes::Attributes { across_channels, reduction_axes }, _) if reduction_axes.is_empty() => {
                unnamed_axes(*across_channels, rank).collect()
            }
            (MvnAxes::Attributes { reduction_axes, .. }, _) => normalize_axes(reduction_axes, rank)?,
            (MvnAxes::Input, None) => return Err(OpError::NotConnected { port: 1 }),
        };
        let mode = if self.eps_inside { EpsMode::InsideSqrt } else { EpsMode::OutsideSqrt };
        Ok(vec![kernels::mvn(data, &axes, self.normalize_variance, self.eps, mode)?])
    }
}
