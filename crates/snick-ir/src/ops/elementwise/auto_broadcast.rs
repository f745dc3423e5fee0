//! The attribute `auto_broadcast`: how shapes are broadcast.

use std::borrow::Cow;

use snick_shape::{Shape, SymExpr};
use snick_tensor::{Dims, SmallVector, Tensor};

use crate::error::CANNOT_BROADCAST;
use crate::{AttrField, AttrSpec, AttrValue, Attrs, Infer, OpError, RawNode};

/// How the shapes of two inputs are broadcast.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum AutoBroadcast {
    /// The shapes must be equal.
    None,
    /// numpy broadcasting: shapes are aligned at the last axis, and either input may have dims of 1.
    #[default]
    Numpy,
    /// PaddlePaddle broadcasting: input 1 is aligned with input 0 from `axis`, and only input 1 is broadcast.
    /// -1 aligns the last axes.
    Pdpd {
        /// The axis of input 0 that the first axis of input 1 is aligned with.
        axis: i64,
    },
}

impl AutoBroadcast {
    /// Whether both inputs are broadcast alike.
    pub(super) fn is_symmetric(self) -> bool {
        !matches!(self, Self::Pdpd { .. })
    }
}

/// Reads two attributes: the rule, and the axis for `pdpd`.
impl AttrField for AutoBroadcast {
    fn kind() -> Cow<'static, str> {
        "one of numpy, none, pdpd".into()
    }

    fn parse(raw: &RawNode, _: &'static str) -> Result<Option<Self>, OpError> {
        let pdpd = Self::Pdpd { axis: raw.attrs.int(Self::PDPD_AXIS)?.unwrap_or(0) };
        let words = [("numpy", Self::Numpy), ("none", Self::None), ("explicit", Self::None), ("pdpd", pdpd)];
        let Some(text) = raw.attrs.text(Self::NAME)? else { return Ok(None) };
        let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text.trim()));
        found.map(|&(_, rule)| Some(rule)).ok_or_else(|| raw.attrs.bad(Self::NAME, &Self::kind()))
    }

    fn value(&self) -> Option<AttrValue<'static>> {
        Some(AttrValue::from(self.word()))
    }

    fn write(&self, _: &'static str, attrs: &mut Attrs<'static>) {
        attrs.extend(self.value().into_iter().map(|value| (Self::NAME.into(), value)).collect());
        if let Self::Pdpd { axis } = self {
            attrs.push(Self::PDPD_AXIS.into(), AttrValue::Int(*axis));
        }
    }

    fn describe(spec: AttrSpec, specs: &mut Vec<AttrSpec>) {
        specs.push(AttrSpec { name: Self::NAME, kind: Self::kind(), ..spec.clone() });
        let doc =
            "With `pdpd`: the axis of the first input where the second begins; -1 aligns the last axes.";
        specs.push(AttrSpec {
            name: Self::PDPD_AXIS,
            kind: i64::kind(),
            default: Some("0".into()),
            doc,
            ..spec
        });
    }
}

impl AutoBroadcast {
    /// Name of the attribute with the rule.
    pub const NAME: &str = "auto_broadcast";
    /// Name of the attribute with the axis for `pdpd`.
    pub const PDPD_AXIS: &str = "auto_broadcast.auto_broadcast_axis";

    /// The value of the attribute `auto_broadcast`.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Numpy => "numpy",
            Self::Pdpd { .. } => "pdpd",
        }
    }

    /// The broadcast shape.
    pub fn infer(self, cx: &mut Infer, a: &Shape, b: &Shape) -> Result<Shape, OpError> {
        match self {
            Self::None => cx.merge_shapes("shapes differ: {} and {}", a, b),
            Self::Numpy => cx.broadcast(a, b),
            Self::Pdpd { axis } => {
                let (Some(over), Some(under)) = (a.dims(), b.dims()) else { return Ok(Shape::unranked()) };
                let first = pdpd_axis(axis, over.len(), under.len())?;
                let mut dims: SmallVector<SymExpr, 4> = over.into();
                for (dim, other) in dims.iter_mut().skip(first).zip(under) {
                    if !cx.interval(other).contains(1) {
                        *dim = cx.merge(dim, other).ok_or_else(|| cx.conflict(CANNOT_BROADCAST, a, b))?;
                    }
                }
                Ok(Shape::ranked(dims))
            }
        }
    }

    /// Aligns the dims of the second input for numpy broadcasting with a first input of this rank.
    pub fn aligned(self, rank: usize, dims: &[usize]) -> Result<Dims, OpError> {
        let mut dims = Dims::from_slice(dims);
        if let Self::Pdpd { axis } = self {
            let first = pdpd_axis(axis, rank, dims.len())?;
            dims.resize(rank.saturating_sub(first), 1);
        }
        Ok(dims)
    }

    /// The second tensor, reshaped and broadcast so that numpy broadcasting with `a` gives the result of this
    /// rule.
    pub fn second<'t>(self, a: &Tensor, b: &'t Tensor) -> Result<Cow<'t, Tensor>, OpError> {
        let conflict = || OpError::dims_conflict(CANNOT_BROADCAST, a.dims(), b.dims());
        match self {
            Self::None if a.dims() != b.dims() => Err(conflict()),
            Self::None | Self::Numpy => Ok(Cow::Borrowed(b)),
            Self::Pdpd { .. } => {
                let aligned = b.reshape(&self.aligned(a.rank(), b.dims())?)?;
                // Only the second tensor may be broadcast.
                Ok(Cow::Owned(aligned.broadcast_to(a.dims()).map_err(|_| conflict())?))
            }
        }
    }
}

/// The axis of the first input that the first axis of the second input is aligned with.
fn pdpd_axis(axis: i64, rank: usize, other: usize) -> Result<usize, OpError> {
    let room = rank.checked_sub(other);
    let first = match axis {
        -1 => room,
        _ => usize::try_from(axis).ok().filter(|&first| room.is_some_and(|room| first <= room)),
    };
    let expected = || format!("an axis from which {other} axes fit into {rank}");
    first.ok_or_else(|| OpError::out_of_range(AutoBroadcast::PDPD_AXIS, axis, expected()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pdpd_lays_the_second_over_the_first() {
        let pdpd = AutoBroadcast::Pdpd { axis: 1 };
        assert_eq!(pdpd.aligned(4, &[3]).unwrap()[..], [3, 1, 1]);
        assert_eq!(AutoBroadcast::Pdpd { axis: -1 }.aligned(4, &[3]).unwrap()[..], [3]);
        assert!(pdpd.aligned(2, &[3, 4]).is_err());
        let a = Tensor::full(&[2, 3], 1f32).unwrap();
        let b = Tensor::full(&[2], 1f32).unwrap();
        assert_eq!(AutoBroadcast::Pdpd { axis: 0 }.second(&a, &b).unwrap().dims(), [2, 3]);
        assert!(pdpd.second(&a, &b).is_err());
        assert!(AutoBroadcast::None.second(&a, &b).is_err());
    }
}
