//! EmbeddingBagOffsetsSum-3, EmbeddingBagPackedSum-3, EmbeddingSegmentsSum-3 and, with means too,
//! EmbeddingBagOffsets-15, EmbeddingBagPacked-15: sums of rows of a table.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::Tensor;

use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// A table `[rows, ..]` and the rows of each bag, to `[bags, ..]`.
#[derive(Clone, PartialEq, Debug)]
pub struct EmbeddingBag {
    row: usize,
    /// Whether a bag is the mean of its rows; versions without a choice give `None`, the sum.
    pub mean: Option<bool>,
}

const NAMES: [OpName; 5] = [
    OpName::openvino("EmbeddingBagOffsetsSum", &[3]),
    OpName::openvino("EmbeddingBagPackedSum", &[3]),
    OpName::openvino("EmbeddingSegmentsSum", &[3]),
    OpName::openvino("EmbeddingBagOffsets", &[15]),
    OpName::openvino("EmbeddingBagPacked", &[15]),
];

/// How the bags are given.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Bags {
    /// Input 2: where each begins.
    Offsets,
    /// Input 1 has a row a bag.
    Packed,
    /// Input 2: the bag of each index; input 3: how many.
    Segments,
}

/// Bags, least and most inputs, which input has weights.
const ROWS: [(Bags, usize, usize, usize); 5] = [
    (Bags::Offsets, 3, 5, 4),
    (Bags::Packed, 2, 3, 2),
    (Bags::Segments, 4, 6, 5),
    (Bags::Offsets, 3, 5, 4),
    (Bags::Packed, 2, 3, 2),
];

const REDUCTIONS: &[(&str, bool)] = &[("sum", false), ("mean", true)];

/// Which bag each index goes to.
struct Filled<'a> {
    owners: Vec<usize>,
    /// How many bags there are.
    count: usize,
    /// Of the row of a bag without indices.
    default: Option<&'a Tensor>,
}

impl Bags {
    /// The bags of a run with so many indices.
    fn fill(self, inputs: &[Tensor], indices: usize) -> Result<Filled<'_>, OpError> {
        match self {
            Self::Packed => {
                let count = inputs[1].dims().first().copied().unwrap_or(0);
                let width = indices.checked_div(count).unwrap_or(1).max(1);
                Ok(Filled { owners: (0..indices).map(|i| i / width).collect(), count, default: None })
            }
            Self::Offsets => {
                let offsets = inputs[2].to_i64_vec()?;
                let owner = |i: usize| offsets.partition_point(|&o| o <= i as i64).checked_sub(1);
                let owners = (0..indices).map(owner).collect::<Option<Vec<_>>>();
                let owners = owners.ok_or_else(|| OpError::mismatch("the first offset", "above 0", 0))?;
                Ok(Filled { owners, count: offsets.len(), default: inputs.get(3) })
            }
            Self::Segments => {
                let segments = inputs[2].to_i64_vec()?;
                let owners = segments.iter().map(|&s| usize::try_from(s).ok()).collect::<Option<Vec<_>>>();
                let count = inputs[3].to_i64_vec()?.first().and_then(|&n| usize::try_from(n).ok());
                let (Some(owners), Some(count)) = (owners, count) else {
                    return Err(OpError::mismatch("a bag", "negative", "0 or more"));
                };
                Ok(Filled { owners, count, default: inputs.get(4) })
            }
        }
    }
}

impl OpDef for EmbeddingBag {
    const NAMES: &'static [OpName] = &NAMES;
    const ARITY: Arity = Arity::between(2, 6);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let row = raw.row(&NAMES);
        let mean = match row {
            0..=2 => None,
            _ => Some(raw.attrs.choice("reduction", REDUCTIONS)?.unwrap_or(false)),
        };
        Ok(Self { row, mean })
    }

    fn attrs(&self) -> Attrs<'static> {
        match self.mean {
            Some(mean) => Attrs::new().with("reduction", REDUCTIONS[usize::from(mean)].0),
            None => Attrs::new(),
        }
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[self.row]
    }
}

impl InferOp for EmbeddingBag {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let (bags, least, most, weights) = ROWS[self.row];
        Arity::between(least, most).check(cx.len())?;
        cx.expect_rank(0, "1 or more", |rank| rank >= 1)?;
        let index_rank = if bags == Bags::Packed { 2 } else { 1 };
        cx.expect_rank(1, &index_rank.to_string(), |rank| rank == index_rank)?;
        for i in 1..cx.len().min(weights) {
            cx.expect_index(i)?;
        }
        cx.common_type(1..cx.len().min(weights));
        if bags != Bags::Packed {
            cx.expect_rank(2, "1", |rank| rank == 1)?;
        }
        for i in 3..cx.len().min(weights) {
            cx.expect_rank(i, "0", |rank| rank == 0)?;
        }
        let (mut element_type, mut indices) = (cx.element_type(0), cx.shape(1).clone());
        if cx.len() > weights {
            element_type = cx.common_type([0, weights]);
            indices = cx.merge_shapes("indices are {}, their weights {}", cx.shape(1), cx.shape(weights))?;
        }
        if bags == Bags::Segments {
            cx.merge_shapes("indices are {}, their segments {}", cx.shape(1), cx.shape(2))?;
        }
        let first = |shape: &Shape| shape.dims().and_then(|dims| dims.first()).cloned();
        let count = match bags {
            Bags::Offsets => first(cx.shape(2)),
            Bags::Packed => first(&indices),
            Bags::Segments => match cx.input(3).elements().as_deref() {
                Some([count]) => {
                    let interval = cx.interval(count);
                    let dim = cx.as_dim(count);
                    Some(dim.ok_or_else(|| OpError::mismatch("the number of bags", interval, "0 or more"))?)
                }
                _ => None,
            },
        };
        let Some([_, rest @ ..]) = cx.shape(0).dims() else {
            return Ok(smallvec![Fact::new(element_type, Shape::unranked())]);
        };
        let mut dims: SmallVec<[SymExpr; 4]> = smallvec![count.unwrap_or_else(|| cx.unknown(Interval::DIM))];
        dims.extend(rest.iter().cloned());
        Ok(smallvec![Fact::new(element_type, Shape::ranked(dims))])
    }
}

impl EvalOp for EmbeddingBag {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let (bags, least, most, weights) = ROWS[self.row];
        Arity::between(least, most).check(inputs.len())?;
        let table = &inputs[0];
        let Some((&rows, rest)) = table.dims().split_first() else {
            return Err(OpError::rank("the table", 0, "1 or more"));
        };
        let indices = inputs[1].to_i64_vec()?;
        let Filled { owners, count, default } = bags.fill(inputs, indices.len())?;
        if owners.len() != indices.len() || owners.iter().any(|&owner| owner >= count) {
            return Err(OpError::mismatch("a bag", "out of range", format!("below {count}")));
        }
        let default = default.map(Tensor::to_i64_vec).transpose()?.and_then(|v| v.first().copied());
        let weights = inputs.get(weights).map(Tensor::to_f64_vec).transpose()?;
        if weights.as_ref().is_some_and(|weights| weights.len() != indices.len()) {
            return Err(OpError::mismatch("the number of weights", "another", indices.len()));
        }
        let width: usize = rest.iter().product();
        let dims = [&[count], rest].concat();
        let size = count.checked_mul(width).filter(|&n| n < 1 << 32);
        let mut out = vec![0f64; size.ok_or_else(|| OpError::unsupported("an output of this size"))?];
        let values = table.to_f64_vec()?;
        let mut members = vec![0usize; count];
        let mut add = |bag: usize, index: i64, weight: f64| -> Result<(), OpError> {
            let row = usize::try_from(index).ok().filter(|&row| row < rows);
            let row = row.ok_or_else(|| OpError::out_of_range("an index", index, format!("below {rows}")))?;
            let target = out.iter_mut().skip(bag * width).take(width);
            target.zip(values.iter().skip(row * width)).for_each(|(sum, v)| *sum += v * weight);
            Ok(())
        };
        for (i, (&bag, &index)) in owners.iter().zip(&indices).enumerate() {
            add(bag, index, weights.as_ref().and_then(|w| w.get(i)).copied().unwrap_or(1.0))?;
            members[bag] += 1;
        }
        for bag in (0..count).filter(|&bag| members[bag] == 0) {
            if let Some(index) = default.filter(|&index| index >= 0) {
                add(bag, index, 1.0)?;
            }
        }
        if self.mean == Some(true) {
            for (bag, &n) in members.iter().enumerate().filter(|(_, n)| **n > 1) {
                out.iter_mut().skip(bag * width).take(width).for_each(|sum| *sum /= n as f64);
            }
        }
        Ok(vec![Tensor::from_vec(&dims, out)?.cast(table.element_type())?])
    }
}
