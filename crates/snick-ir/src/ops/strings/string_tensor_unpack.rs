//! StringTensorUnpack-15.

use snick_shape::{Interval, Shape};
use snick_tensor::{ElementType, Tensor};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// Splits strings into start offsets (output 0), end offsets (output 1) and bytes (output 2).
    #[op(
        "StringTensorUnpack", since = [15], inputs = Arity::exactly(1),
        category = Text, traits = [PURE], name = was_extension()
    )]
    pub struct StringTensorUnpack;
}

impl InferOp for StringTensorUnpack {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let got = cx.element_type(0);
        if !matches!(got, ElementType::String | ElementType::Dynamic) {
            return Err(OpError::element_type("input 0", got, "string"));
        }
        let texts = cx.input(0).as_tensor().and_then(|texts| texts.as_strings().ok());
        let length = match texts {
            Some(texts) => texts.iter().map(|text| text.len() as i64).sum::<i64>().into(),
            None => {
                let count = cx.shape(0).dims().map(|dims| cx.product(dims));
                let none = count.is_some_and(|count| count.as_const() == Some(0));
                if none { 0.into() } else { cx.unknown(Interval::DIM) }
            }
        };
        let positions = Fact::new(ElementType::I32, cx.shape(0).clone());
        Ok(Facts::from([positions.clone(), positions, Fact::new(ElementType::U8, Shape::ranked([length]))]))
    }
}

impl EvalOp for StringTensorUnpack {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [strings] = exactly(inputs)?;
        let texts = strings.as_strings()?;
        let mut bytes: Vec<u8> = Vec::new();
        let (mut begins, mut ends) = (Vec::with_capacity(texts.len()), Vec::with_capacity(texts.len()));
        let position =
            |at: usize| i32::try_from(at).map_err(|_| OpError::unsupported("a total of 2 GiB of strings"));
        for text in texts {
            begins.push(position(bytes.len())?);
            bytes.extend_from_slice(text.as_bytes());
            ends.push(position(bytes.len())?);
        }
        let dims = strings.dims();
        let bytes = Tensor::from_vec(&[bytes.len()], bytes)?;
        Ok(vec![Tensor::from_vec(dims, begins)?, Tensor::from_vec(dims, ends)?, bytes])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_bytes() {
        let texts = Tensor::strings(&[3], ["aü", "", "b"].map(String::from).into()).unwrap();
        let out = StringTensorUnpack.eval(&[texts]).unwrap();
        assert_eq!(out[0].to_i64_vec().unwrap(), [0, 3, 3]);
        assert_eq!(out[1].to_i64_vec().unwrap(), [3, 3, 4]);
        assert_eq!(out[2].values::<u8>().unwrap()[..], *"aüb".as_bytes());
    }
}
