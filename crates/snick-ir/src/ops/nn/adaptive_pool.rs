//! AdaptiveAvgPool-8 and AdaptiveMaxPool-8: pools to a given size, whatever the size of the input.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Shape, SymExpr};
use snick_tensor::{ElementType, Tensor};

use super::window::{expect_spatial, given_sizes};
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// Data `[N, C, spatial..]` and the spatial sizes of the output. Window `i` of `n` over `size` elements goes from
/// `floor(i * size / n)` to `ceil((i + 1) * size / n)`.
#[derive(Clone, PartialEq, Debug)]
pub enum AdaptivePool {
    /// The mean of each window; of integers the nearest one, or the even one of two.
    Avg,
    /// The greatest element, and where in its channel the first such lies.
    Max {
        /// i64 or i32.
        index_element_type: ElementType,
    },
}

const NAMES: [OpName; 2] =
    [OpName::openvino("AdaptiveAvgPool", &[8]), OpName::openvino("AdaptiveMaxPool", &[8])];

const INDEX_TYPES: &[(&str, ElementType)] = &[("i64", ElementType::I64), ("i32", ElementType::I32)];

impl OpDef for AdaptivePool {
    const NAMES: &'static [OpName] = &NAMES;
    const ARITY: Arity = Arity::exactly(2);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        if raw.op_type.eq_ignore_ascii_case(NAMES[0].name) {
            return Ok(Self::Avg);
        }
        let index_element_type = raw.attrs.choice("index_element_type", INDEX_TYPES)?;
        Ok(Self::Max { index_element_type: index_element_type.unwrap_or(ElementType::I64) })
    }

    fn attrs(&self) -> Attrs<'static> {
        match self {
            Self::Avg => Attrs::new(),
            Self::Max { index_element_type } => Attrs::new().with("index_element_type", *index_element_type),
        }
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[usize::from(matches!(self, Self::Max { .. }))]
    }
}

impl InferOp for AdaptivePool {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        expect_spatial(cx, 0, 2)?;
        cx.expect_rank(1, "0 or 1", |rank| rank <= 1)?;
        cx.expect_integer(1);
        let shape = match cx.shape(0).dims() {
            None => Shape::unranked(),
            Some(dims) => {
                let count =
                    cx.shape(1).dims().and_then(|dims| dims.first().map_or(Some(1), SymExpr::as_const));
                let spatial = dims.len().saturating_sub(2);
                if let Some(count) = count.filter(|&count| i64::try_from(spatial) != Ok(count)) {
                    return Err(OpError::mismatch("the number of sizes of the output", count, spatial));
                }
                let mut pooled: SmallVec<[SymExpr; 4]> = dims.iter().take(2).cloned().collect();
                pooled.extend(given_sizes(cx, 1, spatial)?);
                Shape::ranked(pooled)
            }
        };
        let pooled = Fact::new(cx.element_type(0), shape.clone());
        Ok(match self {
            Self::Avg => smallvec![pooled],
            Self::Max { index_element_type } => smallvec![pooled, Fact::new(*index_element_type, shape)],
        })
    }
}

impl EvalOp for AdaptivePool {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, sizes] = inputs else { return Ok(Vec::new()) };
        let sizes = sizes.to_i64_vec()?;
        let [_, _, spatial @ ..] = data.dims() else {
            return Err(OpError::rank("data", data.rank(), "3 to 5"));
        };
        if !(1..=3).contains(&spatial.len()) || sizes.len() != spatial.len() || spatial.contains(&0) {
            return Err(OpError::mismatch("the number of sizes of the output", sizes.len(), spatial.len()));
        }
        let mut dims: SmallVec<[usize; 6]> = data.dims().iter().take(2).copied().collect();
        for &size in &sizes {
            dims.push(usize::try_from(size).map_err(|_| OpError::out_of_range("a size", size, "0 or more"))?);
        }
        // Checks the size of the result before memory is taken.
        Tensor::scalar(0f64).broadcast_to(&dims)?;
        let windows = Windows::new(spatial, dims.get(2..).unwrap_or_default());
        let (values, is_whole) = (data.to_f64_vec()?, data.element_type().is_integer());
        let channel: usize = spatial.iter().product();
        let mut pooled = Vec::new();
        let mut places: Vec<i64> = Vec::new();
        for channel in values.chunks_exact(channel) {
            windows.each(|elements| {
                let elements = elements.filter_map(|at| Some((at, *channel.get(at)?)));
                match self {
                    Self::Avg => {
                        let (count, sum) = elements.fold((0usize, 0.0), |(n, sum), (_, x)| (n + 1, sum + x));
                        let mean = sum / count as f64;
                        pooled.push(if is_whole { mean.round_ties_even() } else { mean });
                    }
                    Self::Max { .. } => {
                        let first = (0, f64::NEG_INFINITY);
                        let (at, x) =
                            elements.fold(first, |best, next| if next.1 > best.1 { next } else { best });
                        pooled.push(x);
                        places.push(at as i64);
                    }
                }
            });
        }
        let pooled = Tensor::from_vec(&dims, pooled)?.cast(data.element_type())?;
        Ok(match self {
            Self::Avg => vec![pooled],
            Self::Max { index_element_type } => {
                vec![pooled, Tensor::from_vec(&dims, places)?.cast(*index_element_type)?]
            }
        })
    }
}

/// The windows along three axes, absent ones first, with the distance of their elements in a channel.
struct Windows([(Vec<(usize, usize)>, usize); 3]);

impl Windows {
    fn new(spatial: &[usize], outputs: &[usize]) -> Self {
        let mut axes: [(Vec<(usize, usize)>, usize); 3] =
            [(vec![(0, 1)], 0), (vec![(0, 1)], 0), (vec![(0, 1)], 0)];
        let mut distance = 1;
        for (axis, (&size, &count)) in
            axes.iter_mut().rev().zip(spatial.iter().rev().zip(outputs.iter().rev()))
        {
            let (size_wide, count_wide) = (size as u128, count as u128);
            let window = |i: u128| {
                let end = ((i + 1) * size_wide).div_ceil(count_wide);
                ((i * size_wide / count_wide) as usize, end as usize)
            };
            *axis = ((0..count_wide).map(window).collect(), distance);
            distance *= size;
        }
        Self(axes)
    }

    /// Calls `visit` with the positions of each window's elements.
    fn each(&self, mut visit: impl FnMut(&mut dyn Iterator<Item = usize>)) {
        let [z, y, x] = &self.0;
        for &(z0, z1) in &z.0 {
            for &(y0, y1) in &y.0 {
                for &(x0, x1) in &x.0 {
                    let mut elements = (z0..z1).flat_map(|i| {
                        (y0..y1).flat_map(move |j| (x0..x1).map(move |k| i * z.1 + j * y.1 + k * x.1))
                    });
                    visit(&mut elements);
                }
            }
        }
    }
}
