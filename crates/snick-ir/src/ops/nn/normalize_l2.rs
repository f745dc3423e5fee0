//! NormalizeL2-1: division by the root of the sum of squares along some axes.

use smallvec::{SmallVec, smallvec};
use snick_tensor::kernels::{self, EpsMode};
use snick_tensor::{ElementType, Tensor};

use crate::attrs::missing;
use crate::{
    Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode,
    normalize_axis,
};

/// Divides by the length along the axes of the second input; no axes: every element by its own magnitude.
#[derive(Clone, PartialEq, Debug)]
pub struct NormalizeL2 {
    /// Keeps the divisor from being zero.
    pub eps: f64,
    /// Whether epsilon is the least sum of squares; otherwise it is added.
    pub eps_is_least: bool,
}

const EPS_MODES: &[(&str, bool)] = &[("add", false), ("max", true)];

impl OpDef for NormalizeL2 {
    const NAMES: &'static [OpName] = &[OpName::openvino("NormalizeL2", &[1])];
    const ARITY: Arity = Arity::exactly(2);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::FLOAT_FORMULA);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self {
            eps: raw.attrs.float("eps")?.ok_or(missing("eps"))?,
            eps_is_least: raw.attrs.choice("eps_mode", EPS_MODES)?.unwrap_or(false),
        })
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("eps", self.eps).with("eps_mode", EPS_MODES[usize::from(self.eps_is_least)].0)
    }
}

impl InferOp for NormalizeL2 {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_rank(1, "0 or 1", |rank| rank <= 1)?;
        cx.expect_integer(1);
        if let (Some(rank), Some(axes)) = (cx.shape(0).rank(), cx.input(1).ints()) {
            positions(&axes, rank)?;
        }
        Ok(smallvec![Fact::new(cx.element_type(0), cx.shape(0).clone())])
    }
}

impl EvalOp for NormalizeL2 {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, axes] = inputs else { return Ok(Vec::new()) };
        let axes = positions(&axes.to_i64_vec()?, data.rank())?;
        let mode = if self.eps_is_least { EpsMode::Max } else { EpsMode::InsideSqrt };
        let compute = match data.element_type() {
            real if real.is_float() => real,
            _ => ElementType::F32,
        };
        let normal = kernels::normalize_l2(&data.cast(compute)?, &axes, self.eps, mode)?;
        Ok(vec![normal.cast(data.element_type())?])
    }
}

/// Axes from either end; naming one twice is naming it once.
pub(super) fn positions(axes: &[i64], rank: usize) -> Result<SmallVec<[usize; 4]>, OpError> {
    let mut positions: SmallVec<[usize; 4]> = SmallVec::new();
    for &axis in axes {
        let axis = normalize_axis(axis, rank)?;
        if !positions.contains(&axis) {
            positions.push(axis);
        }
    }
    Ok(positions)
}
