//! Truncate, from openvino_tokenizers.

use snick_tensor::{ElementType, Tensor};

use super::rows::{RowWriter, Rows, expect_vector, infer_rows, row_facts};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Truncates the rows of one ragged tensor or of a pair, each given by three inputs: start offsets, end
    /// offsets and data. The next inputs are the maximum length; the side to cut, `left` or `right`; and
    /// which rows of a pair to cut: `only_first`, `only_second`, or `longest_first` for both.
    #[op(
        "Truncate", since = [1], inputs = Arity::between(6, 9),
        category = Text, traits = [PURE], name = only_extension()
    )]
    pub struct Truncate {
        /// The number of ragged tensors; ignored, because it follows from the number of inputs.
        #[attr("m_num_inputs")]
        pub num_inputs: i64 = 0,
    }
}

/// The number of ragged tensors: one with 6 inputs, two with 9.
fn tensors(inputs: usize) -> Result<usize, OpError> {
    match inputs {
        6 => Ok(1),
        9 => Ok(2),
        got => Err(OpError::Arity { expected: "6 or 9".to_string(), got }),
    }
}

impl InferOp for Truncate {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let count = tensors(cx.len())?;
        let mut facts = Facts::new();
        let mut first = None;
        for at in (0..count).map(|i| 3 * i) {
            let rows = infer_rows(cx, at)?;
            expect_vector(cx, at + 2)?;
            let rows = match first.take() {
                Some(first) => cx.merge_shapes("the first rows are {}, the second {}", &first, &rows)?,
                None => rows,
            };
            row_facts(&rows).into_iter().for_each(|fact| facts.push(fact));
            facts.push(Fact::new(cx.element_type(at + 2), cx.shape(at + 2).clone()));
            first = Some(rows);
        }
        cx.expect_rank(3 * count, "0", |rank| rank == 0)?;
        for i in 3 * count + 1..cx.len() {
            let got = cx.element_type(i);
            if !matches!(got, ElementType::U8 | ElementType::Dynamic) {
                return Err(OpError::element_type(format!("input {i}"), got, "u8"));
            }
        }
        Ok(facts)
    }
}

impl EvalOp for Truncate {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let count = tensors(inputs.len())?;
        let word = |i: usize| -> Result<String, OpError> {
            Ok(String::from_utf8_lossy(&inputs[i].values::<u8>()?).into_owned())
        };
        let most = inputs[3 * count].to_i64_vec()?.first().copied().unwrap_or(0);
        let most =
            usize::try_from(most).map_err(|_| OpError::out_of_range("the length", most, "0 or more"))?;
        let (side, mode) = (word(3 * count + 1)?, word(3 * count + 2)?);
        let is_right = match side.as_str() {
            "right" => true,
            "left" => false,
            _ => return Err(OpError::mismatch("the side", side, "left or right")),
        };
        let rows: Vec<Rows> = (0..count)
            .map(|i| Rows::new(&inputs[3 * i], &inputs[3 * i + 1], inputs[3 * i + 2].len()))
            .collect::<Result<_, _>>()?;
        if let [first, second] = &rows[..]
            && first.len() != second.len()
        {
            return Err(OpError::mismatch("the number of second rows", second.len(), first.len()));
        }
        let mut out: Vec<RowWriter> = rows.iter().map(|_| RowWriter::default()).collect();
        for i in 0..rows[0].len() {
            let lengths = match &rows[..] {
                [first, second] => pair_lengths(first.row(i).len(), second.row(i).len(), most, &mode)?,
                _ => [rows[0].row(i).len().min(most); 2],
            };
            for ((rows, out), len) in rows.iter().zip(&mut out).zip(lengths) {
                let row = rows.row(i);
                out.push(if is_right { row.start..row.start + len } else { row.end - len..row.end })?;
            }
        }
        let mut outputs = Vec::new();
        for (i, out) in out.into_iter().enumerate() {
            outputs.extend(out.into_tensors(inputs[3 * i].dims())?);
            outputs.push(inputs[3 * i + 2].clone());
        }
        Ok(outputs)
    }
}

/// The lengths to truncate the rows of a pair to.
fn pair_lengths(first: usize, second: usize, most: usize, mode: &str) -> Result<[usize; 2], OpError> {
    if !matches!(mode, "only_first" | "only_second" | "longest_first") {
        return Err(OpError::mismatch("the mode", mode, "only_first, only_second or longest_first"));
    }
    if first + second <= most {
        return Ok([first, second]);
    }
    let (half, odd) = (most / 2, most % 2);
    Ok(match mode {
        "only_first" => [first.min(most), second],
        "only_second" => [first, second.min(most)],
        _ if first >= half + odd && second <= half => [most - second, second],
        _ if first < half + odd && second > half => [first, most - first],
        _ if first >= second => [half + odd, half],
        _ => [half, half + odd],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Tensor {
        Tensor::from_slice(text.as_bytes(), &[text.len()]).unwrap()
    }

    fn tensor(values: &[i32]) -> Tensor {
        Tensor::from_slice(values, &[values.len()]).unwrap()
    }

    fn run(most: i32, side: &str) -> Option<(Vec<i64>, Vec<i64>)> {
        let data = tensor(&[0; 6]);
        let inputs = [tensor(&[0, 4]), tensor(&[4, 6]), data, Tensor::scalar(most), text(side), text("")];
        let out = Truncate::default().eval(&inputs).ok()?;
        Some((out[0].to_i64_vec().unwrap(), out[1].to_i64_vec().unwrap()))
    }

    #[test]
    fn rows_are_cut_at_a_side() {
        assert_eq!(run(3, "right"), Some((vec![0, 4], vec![3, 6])));
        assert_eq!(run(3, "left"), Some((vec![1, 4], vec![4, 6])));
        assert_eq!(run(-1, "left"), None);
        assert_eq!(run(3, "up"), None);
    }

    #[test]
    fn pairs_share_the_length() {
        let longest = |first, second, most| pair_lengths(first, second, most, "longest_first").unwrap();
        assert_eq!(longest(9, 2, 10), [8, 2]);
        assert_eq!(longest(2, 9, 10), [2, 8]);
        assert_eq!(longest(9, 9, 11), [6, 5]);
        assert_eq!(longest(8, 9, 11), [5, 6]);
        assert_eq!(longest(2, 3, 11), [2, 3]);
        assert_eq!(pair_lengths(9, 9, 4, "only_first"), Ok([4, 9]));
        assert_eq!(pair_lengths(9, 9, 4, "only_second"), Ok([9, 4]));
        assert!(pair_lengths(9, 9, 4, "both").is_err());
    }
}
