//! EmbeddingBagOffsetsSum-3, EmbeddingBagOffsets-15, EmbeddingBagPackedSum-3, EmbeddingBagPacked-15 and
//! EmbeddingSegmentsSum-3.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{Listed, MAX_BYTES, SmallVector, Tensor};

use super::super::allocation::reserved;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Sums rows of a table for each bag. Inputs: the table `[rows, ..]`, row indices, the offset of each
    /// bag's first index, and optionally the row for empty bags and a weight per index. Output: `[bags, ..]`.
    #[op(
        "EmbeddingBagOffsetsSum", since = [3], inputs = Arity::between(3, 5),
        category = Reduction, traits = [PURE]
    )]
    pub struct EmbeddingBagOffsetsSum;
}

op! {
    /// EmbeddingBagOffsetsSum with a choice of sum or mean.
    #[op(
        "EmbeddingBagOffsets", since = [15], inputs = Arity::between(3, 5),
        category = Reduction, traits = [PURE]
    )]
    pub struct EmbeddingBagOffsets {
        /// How to reduce the rows of a bag.
        pub reduction: BagReduction = BagReduction::Sum,
    }
}

op! {
    /// Sums rows of a table for each bag. Inputs: the table `[rows, ..]`, indices `[bags, indices]`, and
    /// optionally a weight per index. Output: `[bags, ..]`.
    #[op(
        "EmbeddingBagPackedSum", since = [3], inputs = Arity::between(2, 3),
        category = Reduction, traits = [PURE]
    )]
    pub struct EmbeddingBagPackedSum;
}

op! {
    /// EmbeddingBagPackedSum with a choice of sum or mean.
    #[op(
        "EmbeddingBagPacked", since = [15], inputs = Arity::between(2, 3),
        category = Reduction, traits = [PURE]
    )]
    pub struct EmbeddingBagPacked {
        /// How to reduce the rows of a bag.
        pub reduction: BagReduction = BagReduction::Sum,
    }
}

op! {
    /// Sums rows of a table for each segment. Inputs: the table `[rows, ..]`, row indices, the segment of
    /// each index, the number of segments, and optionally the row for empty segments and a weight per index.
    /// Output: `[segments, ..]`.
    #[op(
        "EmbeddingSegmentsSum", since = [3], inputs = Arity::between(4, 6),
        category = Reduction, traits = [PURE]
    )]
    pub struct EmbeddingSegmentsSum;
}

/// How to reduce the rows of a bag.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum BagReduction {
    /// The sum.
    Sum,
    /// The mean.
    Mean,
}

attr_words!(BagReduction { Sum = "sum", Mean = "mean" });

macro_rules! embedding_bag {
    ($op:ident, $bags:expr, |$self:ident| $reduction:expr) => {
        impl InferOp for $op {
            fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
                infer($bags, cx)
            }
        }

        impl EvalOp for $op {
            fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
                let $self = self;
                eval($bags, $reduction, inputs)
            }
        }
    };
}

embedding_bag!(EmbeddingBagOffsetsSum, Bags::Offsets, |_op| BagReduction::Sum);
embedding_bag!(EmbeddingBagOffsets, Bags::Offsets, |op| op.reduction);
embedding_bag!(EmbeddingBagPackedSum, Bags::Packed, |_op| BagReduction::Sum);
embedding_bag!(EmbeddingBagPacked, Bags::Packed, |op| op.reduction);
embedding_bag!(EmbeddingSegmentsSum, Bags::Segments, |_op| BagReduction::Sum);

/// How bags are represented.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Bags {
    /// Input 2 holds the offset of each bag's first index.
    Offsets,
    /// Input 1 has one row per bag.
    Packed,
    /// Input 2 holds the bag of each index, input 3 the number of bags.
    Segments,
}

/// The assignment of indices to bags.
struct Filled<'a> {
    owners: Vec<usize>,
    /// The number of bags.
    count: usize,
    /// The index of the row for empty bags.
    default: Option<&'a Tensor>,
}

impl Bags {
    /// The input that holds the optional weights.
    fn weights(self) -> usize {
        match self {
            Self::Offsets => 4,
            Self::Packed => 2,
            Self::Segments => 5,
        }
    }

    /// Assigns `indices` indices to bags.
    fn fill(self, inputs: &[Tensor], indices: usize) -> Result<Filled<'_>, OpError> {
        match self {
            Self::Packed => {
                let count = inputs[1].dims().first().copied().unwrap_or(0);
                let width = indices.checked_div(count).unwrap_or(1).max(1);
                Ok(Filled { owners: (0..indices).map(|i| i / width).collect(), count, default: None })
            }
            Self::Offsets => {
                let offsets = inputs[2].to_i64_vec()?;
                check_offsets(&offsets)?;
                let owner = |i: usize| offsets.partition_point(|&o| o <= i as i64).checked_sub(1);
                let owners = (0..indices).map(owner).collect::<Option<Vec<_>>>();
                let owners = owners.ok_or_else(|| OpError::mismatch("the number of bags", 0, "1 or more"))?;
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

/// Rejects offsets that decrease or do not start at 0: the OpenVINO runtime reads out of bounds for them.
fn check_offsets(offsets: &[i64]) -> Result<(), OpError> {
    match offsets {
        [first, ..] if *first != 0 => Err(OpError::out_of_range("the first offset", *first, "0")),
        _ if !offsets.is_sorted() => {
            Err(OpError::mismatch("the offsets", Listed(offsets), "none below the one before"))
        }
        _ => Ok(()),
    }
}

fn infer(bags: Bags, cx: &mut Infer) -> Result<Facts, OpError> {
    let weights = bags.weights();
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
    if bags == Bags::Offsets
        && let Some(offsets) = cx.input(2).ints()
    {
        check_offsets(&offsets)?;
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
    let Some([rows, rest @ ..]) = cx.shape(0).dims() else {
        return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
    };
    cx.demand_index(1, rows);
    let mut dims: SmallVector<SymExpr, 4> =
        SmallVector::from([count.unwrap_or_else(|| cx.unknown(Interval::DIM))]);
    dims.extend(rest.iter().cloned());
    Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
}

fn eval(bags: Bags, reduction: BagReduction, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
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
    let weights = inputs.get(bags.weights()).map(Tensor::to_f64_vec).transpose()?;
    if weights.as_ref().is_some_and(|weights| weights.len() != indices.len()) {
        return Err(OpError::mismatch("the number of weights", "another", indices.len()));
    }
    let width: usize = rest.iter().product();
    let dims = [&[count], rest].concat();
    let size = count.checked_mul(width).filter(|&n| n < MAX_BYTES / 16);
    let size = size.ok_or_else(|| OpError::unsupported("an output of this size"))?;
    let mut out = reserved::<f64>(&[size])?;
    out.resize(size, 0.0);
    let values = table.to_f64_vec()?;
    let mut members = reserved::<i64>(&[count])?;
    members.resize(count, 0);
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
    if reduction == BagReduction::Mean {
        for (bag, &n) in members.iter().enumerate().filter(|(_, n)| **n > 1) {
            out.iter_mut().skip(bag * width).take(width).for_each(|sum| *sum /= n as f64);
        }
    }
    Ok(vec![Tensor::from_vec(&dims, out)?.cast(table.element_type())?])
}
