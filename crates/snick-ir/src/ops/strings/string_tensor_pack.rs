//! StringTensorPack-15.

use snick_tensor::{ElementType, Tensor};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// Creates strings from their start offsets (input 0) and end offsets (input 1) in a vector of bytes
    /// (input 2).
    #[op(
        "StringTensorPack", since = [15], inputs = Arity::exactly(3),
        category = Text, traits = [PURE], name = was_extension()
    )]
    pub struct StringTensorPack;
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
            let positions = [0, 1].into_iter().filter_map(|i| cx.input(i).ints()).flatten();
            if let Some(position) = { positions }.find(|at| *at < 0 || *at > length.hi()) {
                let expected = format!("0 to {}", length.hi());
                return Err(OpError::out_of_range("a position", position, expected));
            }
        }
        let shape = cx.merge_shapes("begins are {}, ends {}", cx.shape(0), cx.shape(1))?;
        Ok(Facts::from(Fact::new(ElementType::String, shape)))
    }
}

impl EvalOp for StringTensorPack {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [begins, ends, bytes] = exactly(inputs)?;
        if begins.dims() != ends.dims() {
            return Err(OpError::dims_conflict("begins are {}, ends {}", begins.dims(), ends.dims()));
        }
        let bytes = bytes.values::<u8>()?;
        let text = |(begin, end): (i64, i64)| {
            let range = usize::try_from(begin).ok().zip(usize::try_from(end).ok());
            let text = range.and_then(|(begin, end)| bytes.get(begin..end));
            let text = text.ok_or_else(|| {
                OpError::mismatch("a string", format!("{begin}..{end}"), format!("within 0..{}", bytes.len()))
            })?;
            let valid = std::str::from_utf8(text);
            valid.map(str::to_string).map_err(|_| OpError::mismatch("a string", "not UTF-8", "UTF-8"))
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
    fn strings_may_overlap_and_must_be_utf8() {
        let bytes = Tensor::from_vec(&[4], "aüb".as_bytes().to_vec()).unwrap();
        let run = |begins: [i32; 2], ends: [i32; 2]| {
            let [begins, ends] = [begins, ends].map(|v| Tensor::from_vec(&[2, 1], v.to_vec()).unwrap());
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
