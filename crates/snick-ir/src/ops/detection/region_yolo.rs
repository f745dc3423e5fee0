//! RegionYolo-1: the output layer of the YOLO networks.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Shape, SymExpr};
use snick_tensor::kernels::{self, UnaryOp};
use snick_tensor::{ElementType, Tensor};

use super::checks::expect_float;
use super::settings::{Kind, Settings, Table};
use crate::{
    Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode, normalize_axis,
};

/// `[N, boxes * (coords + 1 + classes), H, W]` with activations applied; with a softmax over the classes of all
/// `num` boxes the axes from `axis` to `end_axis` become one, else the boxes of `mask` stay.
#[derive(Clone, PartialEq, Debug)]
pub struct RegionYolo {
    settings: Settings,
}

const TABLE: Table = &[
    ("anchors", Kind::Floats),
    ("axis", Kind::Int),
    ("coords", Kind::Int),
    ("classes", Kind::Int),
    ("end_axis", Kind::Int),
    ("num", Kind::Int),
    ("do_softmax", Kind::Bool),
    ("mask", Kind::Ints),
];

impl OpDef for RegionYolo {
    const NAMES: &'static [OpName] = &[OpName::openvino("RegionYolo", &[1])];
    const ARITY: Arity = Arity::exactly(1);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { settings: Settings::parse(&raw.attrs, TABLE)? })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.settings.attrs()
    }
}

impl InferOp for RegionYolo {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_rank(0, "4", |rank| rank == 4)?;
        expect_float(cx, 0)?;
        let element_type = cx.element_type(0);
        let Some(data) = cx.shape(0).dims() else {
            return Ok(smallvec![Fact::new(element_type, Shape::unranked())]);
        };
        let mut dims: SmallVec<[SymExpr; 4]> = SmallVec::new();
        if self.settings.bool("do_softmax", true) {
            let first = normalize_axis(self.settings.int("axis", 0), data.len())?;
            let last = normalize_axis(self.settings.int("end_axis", 0), data.len())?;
            dims.extend(data.iter().take(first).cloned());
            let flat = data.iter().skip(first).take((last + 1).saturating_sub(first));
            dims.push(cx.product(flat));
            dims.extend(data.iter().skip(last + 1).cloned());
        } else {
            dims.extend(data.iter().cloned());
            let channels = self.channels(self.settings.ints("mask").len() as i64);
            if let (Some(slot), Some(channels)) = (dims.get_mut(1), channels) {
                *slot = channels.into();
            }
        }
        Ok(smallvec![Fact::new(element_type, Shape::ranked(dims))])
    }
}

impl EvalOp for RegionYolo {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data] = inputs else { return Ok(Vec::new()) };
        let softmax = self.settings.bool("do_softmax", true);
        let &[images, channels, height, width] = data.dims() else {
            return Err(OpError::rank("data", data.rank(), "4"));
        };
        let boxes =
            if softmax { self.settings.int("num", 0) } else { self.settings.ints("mask").len() as i64 };
        let size = |value: i64| usize::try_from(value).unwrap_or(0);
        let (boxes, coords, classes) =
            (size(boxes), size(self.settings.int("coords", 0)), size(self.settings.int("classes", 0)));
        let used = self.channels(boxes as i64).map(size);
        if used != Some(channels) {
            let expected = used.map_or("a number that fits".to_string(), |used| used.to_string());
            return Err(OpError::mismatch("the number of channels", channels, expected));
        }
        let mut out = data.clone();
        // Nothing to activate; and sizes beside a 0 may be any.
        if !data.is_empty() {
            let entry = coords + 1 + classes;
            let boxes = data.cast(ElementType::F32)?.reshape(&[images, boxes, entry, height, width])?;
            let part = |first: usize, count: usize| boxes.slice(2, first, count, 1);
            let squashed = |first, count| UnaryOp::Sigmoid.apply(&part(first, count)?);
            let place = coords.min(2);
            let mut parts = vec![squashed(0, place)?, part(place, coords - place)?];
            if softmax {
                parts.extend([squashed(coords, 1)?, kernels::softmax(&part(coords + 1, classes)?, 2)?]);
            } else {
                parts.push(squashed(coords, 1 + classes)?);
            }
            let all = kernels::concat(&parts.iter().collect::<Vec<_>>(), 2)?;
            out = all.reshape(data.dims())?.cast(data.element_type())?;
        }
        if softmax {
            let first = normalize_axis(self.settings.int("axis", 0), 4)?;
            let last = normalize_axis(self.settings.int("end_axis", 0), 4)?;
            let (head, rest) = data.dims().split_at(first);
            let (flat, tail) = rest.split_at((last + 1).saturating_sub(first));
            let dims = [head, &[flat.iter().product()], tail].concat();
            out = out.reshape(&dims)?;
        }
        Ok(vec![out])
    }
}

impl RegionYolo {
    /// Channels of this many boxes.
    fn channels(&self, boxes: i64) -> Option<i64> {
        let entry =
            self.settings.int("coords", 0).checked_add(self.settings.int("classes", 0))?.checked_add(1)?;
        entry.checked_mul(boxes).filter(|&n| n >= 0)
    }
}
