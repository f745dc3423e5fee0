//! Shape inference of Interpolate.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{ElementType, SmallVector};

use super::{Interpolate, pad_of};
use crate::ops::nn::scale::Scale;
use crate::{Fact, Facts, Infer, InferOp, OpError};

impl InferOp for Interpolate {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        self.arity().check(cx.len())?;
        let element_type = self.data_type(cx)?;
        let (target, axes_input) = self.ports();
        cx.expect_rank(target, "0 or 1", |rank| rank <= 1)?;
        self.check_types(cx, target, axes_input)?;
        let Some(dims) = cx.shape(0).dims() else {
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        let rank = dims.len();
        let axes = match axes_input.and_then(|port| cx.optional(port)) {
            None => self.resized_axes(None, rank)?,
            Some(axes) => match axes.ints() {
                Some(axes) => self.resized_axes(Some(&axes), rank)?,
                None => return Ok(Facts::from(Fact::new(element_type, cx.unknown_dims(rank)))),
            },
        };
        self.check_count(cx, target, axes.len());
        let mut resized: SmallVector<SymExpr, 4> = SmallVector::with_capacity(rank);
        for (axis, dim) in dims.iter().enumerate() {
            let pads = pad_of(&self.pads_begin, axis)?.saturating_add(pad_of(&self.pads_end, axis)?);
            resized.push(cx.add(dim, &pads.into()));
        }
        if self.by_scales() {
            let scales = cx.input(target).as_tensor().filter(|scales| scales.len() == axes.len());
            let scales = scales.map(|scales| scales.to_f32_vec()).transpose()?;
            for (i, &axis) in axes.iter().enumerate() {
                resized[axis] = match &scales {
                    Some(scales) => Scale::new(scales[i]).of_dim(cx, &resized[axis]),
                    None => cx.unknown(Interval::DIM),
                };
            }
        } else {
            let sizes = cx.elements_or_unknown(target);
            for (i, &axis) in axes.iter().enumerate() {
                resized[axis] = match sizes.as_ref().and_then(|sizes| sizes.get(i)) {
                    Some(size) => cx.as_dim(size).ok_or_else(|| {
                        OpError::out_of_range("a size", cx.interval(size).hi(), "0 or more")
                    })?,
                    None => cx.unknown(Interval::DIM),
                };
            }
        }
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(resized))))
    }
}

impl Interpolate {
    fn data_type(&self, cx: &Infer) -> Result<ElementType, OpError> {
        use ElementType::{BF16, Dynamic, F16, F32, F64, I8, I32, I64, U8};
        let element_type = cx.element_type(0);
        let fits = matches!(element_type, Dynamic | F32 | F16 | BF16 | F64 | I8 | U8 | I32 | I64);
        if fits || self.is_first_definition() {
            return Ok(element_type);
        }
        Err(OpError::element_type("data", element_type, "f32, f16, bf16, f64, i8, u8, i32 or i64"))
    }

    /// Requires integer sizes, real scales and a vector of axes.
    fn check_types(&self, cx: &mut Infer, target: usize, axes: Option<usize>) -> Result<(), OpError> {
        use ElementType::{BF16, Dynamic, F16, F32, I32, I64, U32, U64};
        let scales = match self.since.0 {
            4..11 => Some(2),
            _ => self.by_scales().then_some(1),
        };
        if scales != Some(target) {
            cx.expect_integer(target);
        }
        if let Some(scales) = scales
            && let got = cx.element_type(scales)
            && !matches!(got, Dynamic | F32 | F16 | BF16)
        {
            return Err(OpError::element_type("scales", got, "f32, f16 or bf16"));
        }
        let Some(axes) = axes.filter(|axes| *axes < cx.len()) else { return Ok(()) };
        cx.expect_rank(axes, "1", |rank| rank == 1)?;
        match cx.element_type(axes) {
            Dynamic | I32 | I64 | U32 | U64 => Ok(()),
            got => Err(OpError::element_type("axes", got, "i32, i64, u32 or u64")),
        }
    }

    /// Requires one size or scale per axis.
    fn check_count(&self, cx: &mut Infer, target: usize, axes: usize) {
        let count = cx.shape(target).dims().and_then(|dims| dims.first().map_or(Some(1), SymExpr::as_const));
        match count {
            // Version 1 ignores sizes beyond the number of axes.
            Some(count) if self.is_first_definition() && count >= axes as i64 => {}
            Some(count) if i64::try_from(axes) != Ok(count) => {
                let expected = format!("{axes}, one for each axis");
                cx.report(OpError::mismatch("the number of sizes or scales", count, expected));
            }
            _ => {}
        }
    }
}
