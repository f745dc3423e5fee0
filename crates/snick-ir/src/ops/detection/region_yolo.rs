//! RegionYolo-1.

use snick_shape::{Shape, SymExpr};
use snick_tensor::kernels::{self, UnaryOp};
use snick_tensor::{ElementType, SmallVector, Tensor};

use super::checks::{dims_of, expect_ranks};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly, normalize_axis};

op! {
    /// The output layer of YOLO networks: applies activations to `[N, boxes * (coords + 1 + classes), H, W]`.
    ///
    /// With `do_softmax` there are `num` boxes per cell, and the axes from `axis` to `end_axis` are
    /// flattened; otherwise there is one box per entry of `mask`.
    #[op("RegionYolo", since = [1], inputs = Arity::exactly(1), category = Other, traits = [PURE])]
    pub struct RegionYolo {
        /// Sizes of anchors; ignored.
        pub anchors: Vec<f64> = Vec::new(),
        /// The first axis to flatten.
        pub axis: i64 = 0,
        /// Coordinates per box.
        pub coords: usize = 0,
        /// Number of classes.
        pub classes: usize = 0,
        /// The last axis to flatten.
        pub end_axis: i64 = 0,
        /// Boxes per cell if `do_softmax` is set.
        pub num: usize = 0,
        /// Whether to apply a softmax to the classes, rather than a sigmoid to each class.
        pub do_softmax: bool = false,
        /// The anchors in use if `do_softmax` is not set.
        pub mask: SmallVector<i64, 4> = SmallVector::new(),
    }
}

impl InferOp for RegionYolo {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        expect_ranks(cx, &[4])?;
        cx.expect_real(0)?;
        let element_type = cx.element_type(0);
        let Some(data) = cx.shape(0).dims() else {
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        let mut dims: SmallVector<SymExpr, 4> = data.into();
        if self.do_softmax {
            let [first, end] = self.flattened(data.len())?;
            let flat = cx.product(data.iter().take(end).skip(first));
            dims = data.iter().take(first).cloned().collect();
            dims.push(flat);
            dims.extend(data.iter().skip(end).cloned());
        } else if let (Some(slot), Some(channels)) = (dims.get_mut(1), self.channels()) {
            *slot = (channels as i64).into();
        }
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
    }
}

impl EvalOp for RegionYolo {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data] = exactly(inputs)?;
        let [images, channels, height, width] = dims_of("the data", data)?;
        let (coords, classes, softmax) = (self.coords, self.classes, self.do_softmax);
        let used = self.channels();
        if used != Some(channels) {
            let expected = used.map_or("fewer".to_string(), |used| used.to_string());
            return Err(OpError::mismatch("the number of channels", channels, expected));
        }
        let mut out = data.clone();
        // Empty data has no elements to activate.
        if !data.is_empty() {
            let entry = coords + 1 + classes;
            let boxes =
                data.cast(ElementType::F32)?.reshape(&[images, self.boxes(), entry, height, width])?;
            let part = |first: usize, count: usize| boxes.slice(2, first, count, 1);
            let squashed = |first, count| UnaryOp::Sigmoid.apply(&part(first, count)?);
            let center = coords.min(2);
            let mut parts = vec![squashed(0, center)?, part(center, coords - center)?];
            if softmax {
                parts.extend([squashed(coords, 1)?, kernels::softmax(&part(coords + 1, classes)?, 2)?]);
            } else {
                parts.push(squashed(coords, 1 + classes)?);
            }
            let all = kernels::concat(&parts.iter().collect::<Vec<_>>(), 2)?;
            out = all.reshape(data.dims())?.cast(data.element_type())?;
        }
        if softmax {
            let [first, end] = self.flattened(4)?;
            let (head, rest) = data.dims().split_at(first);
            let (flat, tail) = rest.split_at(end - first);
            let dims = [head, &[flat.iter().product()], tail].concat();
            out = out.reshape(&dims)?;
        }
        Ok(vec![out])
    }
}

impl RegionYolo {
    /// Boxes per cell.
    fn boxes(&self) -> usize {
        if self.do_softmax { self.num } else { self.mask.len() }
    }

    /// The total number of channels; `None` on overflow.
    fn channels(&self) -> Option<usize> {
        let entry = self.coords.checked_add(self.classes)?.checked_add(1)?;
        entry.checked_mul(self.boxes()).filter(|&channels| i64::try_from(channels).is_ok())
    }

    /// The range of flattened axes, as start and end.
    fn flattened(&self, rank: usize) -> Result<[usize; 2], OpError> {
        let first = normalize_axis(self.axis, rank)?;
        Ok([first, (normalize_axis(self.end_axis, rank)? + 1).max(first)])
    }
}
