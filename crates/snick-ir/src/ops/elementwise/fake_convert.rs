//! FakeConvert-13.

use snick_shape::Shape;
use snick_tensor::kernels::{BinaryOp, UnaryOp};
use snick_tensor::{ElementType, Tensor};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, leading};

op! {
    /// Rounds floats to values of an 8-bit float type, without changing the element type. Inputs: data, a
    /// scale, and optionally a shift of the same shape as the scale; both broadcast to the data. Computes
    /// `data * scale - shift`, rounds it to f16 and then to the 8-bit type, and undoes the shift and the
    /// scale. Values that overflow become the largest value of the 8-bit type.
    #[op("FakeConvert", since = [13], inputs = Arity::between(2, 3), category = Quantisation, traits = [PURE])]
    pub struct FakeConvert {
        /// The 8-bit type.
        pub destination_type: FakeType = FakeType::F8E4M3,
    }
}

/// An 8-bit float type.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum FakeType {
    /// 4 bits of exponent, 3 of mantissa.
    F8E4M3,
    /// 5 bits of exponent, 2 of mantissa.
    F8E5M2,
}

attr_words!(FakeType { F8E4M3 = "f8e4m3", F8E5M2 = "f8e5m2" });

impl FakeType {
    /// The corresponding element type and its largest value.
    pub fn limits(self) -> (ElementType, f64) {
        match self {
            Self::F8E4M3 => (ElementType::F8E4M3, 448.0),
            Self::F8E5M2 => (ElementType::F8E5M2, 57344.0),
        }
    }
}

impl InferOp for FakeConvert {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        use ElementType::{BF16, Dynamic, F16, F32};
        let element_type = cx.common_type(0..cx.len());
        if !matches!(element_type, BF16 | F16 | F32 | Dynamic) {
            return Err(OpError::element_type("data", element_type, "bf16, f16 or f32"));
        }
        let scale = match cx.optional(2) {
            Some(shift) => cx.merge_shapes("scale is {}, shift {}", cx.shape(1), &shift.shape)?,
            None => cx.shape(1).clone(),
        };
        let shape = stretched(cx, &scale)?;
        Ok(Facts::from(Fact::new(element_type, shape)))
    }
}

impl EvalOp for FakeConvert {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let ([data, scale], shift) = leading(inputs)?;
        let (narrow, largest) = self.destination_type.limits();
        let wide = |tensor: &Tensor| tensor.cast(ElementType::F32);
        let scale = wide(scale)?.broadcast_to(data.dims())?;
        let mut value = BinaryOp::Mul.apply(&wide(data)?, &scale)?;
        let shift = shift.first().map(|shift| wide(shift)?.broadcast_to(data.dims())).transpose()?;
        if let Some(shift) = &shift {
            value = BinaryOp::Sub.apply(&value, shift)?;
        }
        let clamped = UnaryOp::Clamp { min: -largest, max: largest }.apply(&value)?;
        let mut rounded = wide(&clamped.cast(ElementType::F16)?.cast(narrow)?)?;
        if let Some(shift) = &shift {
            rounded = BinaryOp::Add.apply(&rounded, shift)?;
        }
        Ok(vec![BinaryOp::Div.apply(&rounded, &scale)?.cast(data.element_type())?])
    }
}

/// The shape of the data, checking that `scale` broadcasts to it.
fn stretched(cx: &mut Infer, scale: &Shape) -> Result<Shape, OpError> {
    let (Some(data), Some(scale_dims)) = (cx.shape(0).dims(), scale.dims()) else {
        return Ok(cx.shape(0).clone());
    };
    let conflict = |cx: &Infer| cx.conflict("cannot broadcast the scale to {} from {}", cx.shape(0), scale);
    let mut dims = data.to_vec();
    let first = dims.len().checked_sub(scale_dims.len()).ok_or_else(|| conflict(cx))?;
    for (dim, scale) in dims[first..].iter_mut().zip(scale_dims) {
        if !cx.interval(scale).contains(1) {
            let both = cx.merge(dim, scale);
            *dim = both.ok_or_else(|| conflict(cx))?;
        }
    }
    Ok(Shape::ranked(dims))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaled_rounded_and_back() {
        let data = Tensor::from_vec(&[4], vec![1.0f32, 1.07, 1000.0, -1000.0]).unwrap();
        let run = |destination_type, numbers: &[f32]| {
            let numbers = numbers.iter().map(|&number| Tensor::scalar(number));
            let inputs: Vec<_> = std::iter::once(data.clone()).chain(numbers).collect();
            FakeConvert { destination_type }.eval(&inputs).unwrap()[0].to_f32_vec().unwrap()
        };
        assert_eq!(run(FakeType::F8E4M3, &[1.0]), [1.0, 1.125, 448.0, -448.0]);
        assert_eq!(run(FakeType::F8E5M2, &[1.0]), [1.0, 1.0, 1024.0, -1024.0]);
        assert_eq!(run(FakeType::F8E4M3, &[0.25, 0.25]), [1.0, 1.0703125, 1025.0, -1023.0]);
    }
}
