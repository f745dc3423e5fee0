//! FancyPad, an operation of the extension opset `my.ops`. snick infers, prints, canonicalises, runs and
//! writes it like a built-in one.

use std::sync::Arc;

use snick::{
    Arity, Attrs, CustomOp, Fact, Facts, Infer, OpError, Patch, Registry, RewriteResult, Shape, Tensor,
};

/// Adds `by` zeros before and after each row.
#[derive(Debug)]
pub struct FancyPad {
    /// Elements to add on each side.
    pub by: i64,
}

impl FancyPad {
    /// Reads the attributes of a layer.
    ///
    /// # Errors
    /// `by` is not a valid number of elements.
    pub fn parse(attrs: &Attrs) -> Result<Self, OpError> {
        match attrs.int("by")?.unwrap_or(1) {
            by @ 0..=0xffff => Ok(Self { by }),
            by => Err(OpError::out_of_range("by", by, "0 to 65535")),
        }
    }
}

impl CustomOp for FancyPad {
    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("by", self.by)
    }

    /// Sizes are expressions, so the last one can grow even if it is unknown.
    fn infer(&self, cx: &mut Infer<'_>) -> Result<Facts, OpError> {
        cx.expect_rank(0, "1 or more", |rank| rank > 0)?;
        let element_type = cx.element_type(0);
        let Some(mut dims) = cx.shape(0).dims().map(<[_]>::to_vec) else {
            return Ok(Fact::new(element_type, Shape::unranked()).into());
        };
        if let Some(last) = dims.last_mut() {
            *last = cx.add(last, &(2 * self.by).into());
        }
        Ok(Fact::new(element_type, Shape::ranked(dims)).into())
    }

    /// Optional: without it, the operation runs as its decomposition.
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let data = inputs[0].to_f32_vec()?;
        let (mut dims, by) = (inputs[0].dims().to_vec(), usize::try_from(self.by).unwrap_or(0));
        let Some(last) = dims.last_mut() else { return Ok(inputs.to_vec()) };
        let row = std::mem::replace(last, *last + 2 * by);
        let zeros = vec![0.0; by];
        let rows = data.chunks(row.max(1)).map(|row| [&zeros, row, &zeros].concat());
        let padded: Vec<f32> = rows.flatten().collect();
        Ok(vec![Tensor::from_vec(&dims, padded)?.cast(inputs[0].element_type())?])
    }

    /// Optional: with it, every format can write the operation.
    fn decompose(&self, b: &mut Patch<'_>) -> Result<RewriteResult, OpError> {
        let data = b.input(0)?;
        let rank = b.rank(data)?;
        let mut pads = vec![0; rank];
        if let Some(last) = pads.last_mut() {
            *last = self.by;
        }
        let zero = b.scalar_like(data, 0.0)?;
        Ok(RewriteResult::one(b.pad(data, &pads, &pads, zero)?))
    }
}

/// snick's operations and FancyPad.
pub fn registry() -> Registry {
    let mut registry = Registry::builtin();
    registry.register("my.ops", "FancyPad", |raw| Ok(Arc::new(FancyPad::parse(raw.attrs())?)));
    registry
}
