//! CTCGreedyDecoder-1 and CTCGreedyDecoderSeqLen-6: the likeliest class at every time, blanks left out.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{ElementType, Tensor};

use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// The decoder of either name.
#[derive(Clone, PartialEq, Debug)]
pub struct CtcGreedyDecoder {
    /// Whether equal neighbours count once.
    pub merge_repeated: bool,
    /// CTCGreedyDecoderSeqLen: the types of classes and lengths.
    pub lengths: Option<[ElementType; 2]>,
}

const NAMES: [OpName; 2] =
    [OpName::openvino("CTCGreedyDecoder", &[1]), OpName::openvino("CTCGreedyDecoderSeqLen", &[6])];

impl OpDef for CtcGreedyDecoder {
    const NAMES: &'static [OpName] = &NAMES;
    const ARITY: Arity = Arity::between(2, 3);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        if raw.row(&NAMES) == 0 {
            return Ok(Self {
                merge_repeated: raw.attrs.bool("ctc_merge_repeated")?.unwrap_or(true),
                lengths: None,
            });
        }
        let classes = raw.attrs.element_type("classes_index_type")?.unwrap_or(ElementType::I32);
        let lengths = raw.attrs.element_type("sequence_length_type")?.unwrap_or(ElementType::I32);
        Ok(Self {
            merge_repeated: raw.attrs.bool("merge_repeated")?.unwrap_or(true),
            lengths: Some([classes, lengths]),
        })
    }

    fn attrs(&self) -> Attrs<'static> {
        match self.lengths {
            None => Attrs::new().with("ctc_merge_repeated", self.merge_repeated),
            Some([classes, lengths]) => Attrs::new()
                .with("merge_repeated", self.merge_repeated)
                .with("classes_index_type", classes)
                .with("sequence_length_type", lengths),
        }
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[usize::from(self.lengths.is_some())]
    }
}

impl InferOp for CtcGreedyDecoder {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_rank(0, "3", |rank| rank == 3)?;
        let other = if self.lengths.is_some() { 1 } else { 2 };
        cx.expect_rank(1, &other.to_string(), |rank| rank == other)?;
        let axis = |cx: &Infer, i: usize, axis: usize| cx.shape(i).dims().and_then(|d| d.get(axis)).cloned();
        let both = |cx: &mut Infer, a: Option<SymExpr>, b: Option<SymExpr>| match (a, b) {
            (Some(a), Some(b)) => {
                let both = cx.merge(&a, &b);
                both.ok_or_else(|| {
                    cx.conflict("logits are {}, sequence lengths or mask {}", cx.shape(0), cx.shape(1))
                })
            }
            (Some(one), None) | (None, Some(one)) => Ok(one),
            (None, None) => Ok(cx.unknown(Interval::DIM)),
        };
        let Some([classes, lengths]) = self.lengths else {
            let (a, b) = (axis(cx, 0, 0), axis(cx, 1, 0));
            let time = both(cx, a, b)?;
            let (a, b) = (axis(cx, 0, 1), axis(cx, 1, 1));
            let batch = both(cx, a, b)?;
            let dims: SmallVec<[SymExpr; 4]> = smallvec![batch, time, 1.into(), 1.into()];
            return Ok(smallvec![Fact::new(cx.element_type(0), Shape::ranked(dims))]);
        };
        let (a, b) = (axis(cx, 0, 0), axis(cx, 1, 0));
        let batch = both(cx, a, b)?;
        let a = axis(cx, 0, 1);
        let time = both(cx, a, None)?;
        Ok(smallvec![
            Fact::new(classes, Shape::ranked([batch.clone(), time])),
            Fact::new(lengths, Shape::ranked([batch])),
        ])
    }
}

impl EvalOp for CtcGreedyDecoder {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, mask, blank @ ..] = inputs else { return Ok(Vec::new()) };
        let data = if self.lengths.is_some() { data.clone() } else { data.permute(&swapped(data.rank())?)? };
        let &[batch, time, classes] = data.dims() else {
            return Err(OpError::rank("data", data.rank(), "3"));
        };
        let masks = mask.to_f64_vec()?;
        let per_batch = if self.lengths.is_some() { 1 } else { time };
        if classes == 0 || masks.len() != batch * per_batch {
            return Err(OpError::mismatch("the number of lengths", masks.len(), batch * per_batch));
        }
        let blank = match blank.first() {
            Some(blank) => usize::try_from(blank.to_i64_vec()?.first().copied().unwrap_or(-1)).ok(),
            None => Some(classes - 1),
        };
        let values = data.to_f32_vec()?;
        let mut out = vec![-1i64; batch * time];
        let mut counts = Vec::with_capacity(batch);
        for (b, out) in out.chunks_mut(time.max(1)).take(batch).enumerate() {
            let steps = match self.lengths {
                Some(_) => masks.get(b).map_or(0, |&n| n.max(0.0) as usize).min(time),
                // Row `t` of the mask has an entry an image; the first 0 ends the sequence.
                None => (0..time).take_while(|t| masks.get(t * batch + b).is_some_and(|&m| m != 0.0)).count(),
            };
            let mut last = None;
            let mut count = 0;
            for row in values.chunks_exact(classes).skip(b * time).take(steps) {
                let best =
                    row.iter().enumerate().fold(0, |best, (i, v)| if *v > row[best] { i } else { best });
                if Some(best) != blank && !(self.merge_repeated && last == Some(best)) {
                    out[count] = best as i64;
                    count += 1;
                }
                last = Some(best);
            }
            counts.push(count as i64);
        }
        match self.lengths {
            Some([types, lengths]) => Ok(vec![
                Tensor::from_vec(&[batch, time], out)?.cast(types)?,
                Tensor::from_vec(&[batch], counts)?.cast(lengths)?,
            ]),
            None => Ok(vec![Tensor::from_vec(&[batch, time, 1, 1], out)?.cast(data.element_type())?]),
        }
    }
}

/// Time and batch exchanged.
fn swapped(rank: usize) -> Result<[usize; 3], OpError> {
    if rank == 3 { Ok([1, 0, 2]) } else { Err(OpError::rank("data", rank, "3")) }
}
