//! StringTensorPack-15: texts out of one run of bytes.

use smallvec::smallvec;
use snick_tensor::{ElementType, Tensor};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// Where texts begin (input 0) and end (input 1) in the bytes of input 2, to those texts.
#[derive(Clone, PartialEq, Debug)]
pub struct StringTensorPack;

impl OpDef for StringTensorPack {
    const NAMES: &'static [OpName] = &[OpName::openvino("StringTensorPack", &[15])];
    const ARITY: Arity = Arity::exactly(3);

    fn parse(_: &RawNode) -> Result<Self, OpError> {
        Ok(Self)
    }
}

impl InferOp for StringTensorPack {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_index(0).and_then(|()| cx.expect_index(1))?;
        cx.common_type([0, 1]);
        let bytes = cx.element_type(2);
        if !matches!(bytes, ElementType::U8 | ElementType::Dynamic) {
            return Err(OpError::element_type("input 2", bytes, "u8"));
        }
        cx.expect_rank(2, "1", |rank| rank == 1)?;
        if let Some([length]) = cx.shape(2).dims() {
            let length = cx.interval(length);
            let places = [0, 1].into_iter().filter_map(|i| cx.input(i).ints()).flatten();
            if let Some(place) = { places }.find(|place| *place < 0 || *place > length.hi()) {
                return Err(OpError::out_of_range(
                    "a place",
                    place,
                    format!("0 or more, up to {}", length.hi()),
                ));
            }
        }
        let shape = cx.merge_shapes("begins are {}, ends {}", cx.shape(0), cx.shape(1))?;
        Ok(smallvec![Fact::new(ElementType::String, shape)])
    }
}

impl EvalOp for StringTensorPack {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [begins, ends, bytes] = inputs else { return Ok(Vec::new()) };
        if begins.dims() != ends.dims() {
            return Err(OpError::dims_conflict("begins are {}, ends {}", begins.dims(), ends.dims()));
        }
        let symbols = bytes.values::<u8>()?;
        let text = |(begin, end): (i64, i64)| {
            let range = usize::try_from(begin).ok().zip(usize::try_from(end).ok());
            let text = range.and_then(|(begin, end)| symbols.get(begin..end));
            let text = text.ok_or_else(|| {
                OpError::mismatch("a text", format!("{begin}..{end}"), format!("within 0..{}", symbols.len()))
            })?;
            let valid = std::str::from_utf8(text);
            valid.map(str::to_string).map_err(|_| OpError::mismatch("a text", "not UTF-8", "UTF-8"))
        };
        let texts =
            begins.to_i64_vec()?.into_iter().zip(ends.to_i64_vec()?).map(text).collect::<Result<_, _>>()?;
        Ok(vec![Tensor::strings(begins.dims(), texts)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_may_overlap() {
        let bytes = Tensor::from_vec(&[4], "aüb".as_bytes().to_vec()).unwrap();
        let run = |begins: [i32; 2], ends: [i32; 2]| {
            let places = [begins, ends].map(|v| Tensor::from_vec(&[2, 1], v.to_vec()).unwrap());
            let [begins, ends] = places;
            let out = StringTensorPack.eval(&[begins, ends, bytes.clone()]).ok()?;
            Some(out[0].as_strings().unwrap().iter().map(|t| t.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(run([0, 1], [3, 4]), Some(vec!["aü".into(), "üb".into()]));
        assert_eq!(run([0, 4], [0, 4]), Some(vec![String::new(); 2]));
        assert_eq!(run([0, 2], [1, 4]), None);
        assert_eq!(run([0, 2], [1, 1]), None);
        assert_eq!(run([0, -1], [1, 1]), None);
        assert_eq!(run([0, 0], [1, 5]), None);
    }
}
