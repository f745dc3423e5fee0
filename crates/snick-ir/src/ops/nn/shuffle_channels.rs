//! ShuffleChannels-1: the elements of an axis, in groups, taken in turn from each group.

use smallvec::smallvec;
use snick_tensor::{Dims, Tensor};

use crate::{
    Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode, normalize_axis,
};

/// The axis as `[group, rest]`, transposed.
#[derive(Clone, PartialEq, Debug)]
pub struct ShuffleChannels {
    /// The axis, counted from either end.
    pub axis: i64,
    /// Number of groups; divides the axis.
    pub group: i64,
}

impl OpDef for ShuffleChannels {
    const NAMES: &'static [OpName] = &[OpName::openvino("ShuffleChannels", &[1]).missing_in(2, 2)];
    const ARITY: Arity = Arity::exactly(1);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { axis: raw.attrs.int("axis")?.unwrap_or(1), group: raw.attrs.int("group")?.unwrap_or(1) })
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("axis", self.axis).with("group", self.group)
    }
}

impl InferOp for ShuffleChannels {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        if self.group < 1 {
            return Err(OpError::out_of_range("`group`", self.group, "1 or more"));
        }
        cx.expect_rank(0, "1 or more", |rank| rank >= 1)?;
        if let Some(dims) = cx.shape(0).dims() {
            let axis = normalize_axis(self.axis, dims.len())?;
            let size = dims.get(axis).and_then(|dim| dim.as_const());
            if let Some(size) = size.filter(|size| size % self.group != 0) {
                return Err(OpError::mismatch(
                    "the size of the axis",
                    size,
                    format!("a multiple of {}", self.group),
                ));
            }
        }
        Ok(smallvec![Fact::new(cx.element_type(0), cx.shape(0).clone())])
    }
}

impl EvalOp for ShuffleChannels {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data] = inputs else { return Ok(Vec::new()) };
        let axis = normalize_axis(self.axis, data.rank())?;
        let size = data.dims().get(axis).copied().unwrap_or(0);
        let group = usize::try_from(self.group).unwrap_or(0);
        if group == 0 || size % group != 0 {
            return Err(OpError::mismatch("the size of the axis", size, format!("a multiple of {group}")));
        }
        let mut dims = Dims::from_slice(data.dims());
        if let Some(slot) = dims.get_mut(axis) {
            *slot = group;
        }
        dims.insert(axis + 1, size / group);
        let mut order: Dims = (0..dims.len()).collect();
        order.swap(axis, axis + 1);
        Ok(vec![data.reshape(&dims)?.permute(&order)?.reshape(data.dims())?])
    }
}
