//! RoPE, from OpenVINO's plug-ins: declaration, shapes and layouts.

use snick_shape::{Shape, SymExpr};
use snick_tensor::{ElementType, Tensor};

use super::rotation::{Pairs, Positions, Rotation};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Rotary position embedding: rotates pairs of features by angles that depend on the position. Inputs:
    /// data; the cosines and sines of the angles as two tables, or one combined table as both inputs; and the
    /// position of each token, if `gather_position_arg_id` is set. Features beyond `rotary_ndims` are
    /// unchanged. The attributes select the layout:
    ///
    /// - Default: data `[B, H, L, S]`; tables `[.., L, rotary_ndims]` or half as wide.
    /// - `is_interleaved`: data `[B, L, H, S]`; one table holds sines, then cosines.
    /// - `is_qwen`: data `[B, L, ..]`, output `[B, L, head_cnt, head_size]`.
    /// - `is_chatglm`: data `[L, B, ..]`, output `[L, B, head_cnt, head_size]`.
    /// - `is_chatglm` and `support_2d_rope`: data `[B, L, ..]`, output `[B, head_cnt, L, head_size]`.
    ///
    /// Feature `i` is paired with feature `i + rotary_ndims / 2`. With `is_interleaved` or `is_chatglm`,
    /// neighbouring features are paired instead. With `is_chatglm`, a combined table alternates cosines and
    /// sines.
    #[op(
        "RoPE", since = [1], inputs = Arity::between(2, 5),
        category = Elementwise, traits = [PURE], name = internal()
    )]
    pub struct Rope {
        /// Start of the range of features to use.
        #[attr("slice_start" | "config.slice_start")]
        pub slice_start: usize = 0,
        /// End of the range of features to use; the range is the whole axis if this is not greater than the
        /// start.
        #[attr("slice_stop" | "config.slice_stop")]
        pub slice_stop: usize = 0,
        /// Whether the data is `[B, L, H, S]`, and the output `[B, H, L, S]`.
        #[attr("input_trans0213" | "config.input_trans0213")]
        pub input_trans0213: bool = false,
        /// Whether the output of interleaved data is `[B, H, L, S]`.
        #[attr("output_trans0213" | "config.output_trans0213")]
        pub output_trans0213: bool = false,
        /// Whether neighbouring features are paired.
        #[attr("is_interleaved" | "config.is_interleaved")]
        pub is_interleaved: bool = false,
        /// Number of features to rotate; ignored with `is_qwen`, which uses the width of the tables.
        #[attr("rotary_ndims" | "config.rotary_ndims")]
        pub rotary_ndims: usize = 0,
        /// Whether the data has the layout of ChatGLM.
        #[attr("is_chatglm" | "config.is_chatglm")]
        pub is_chatglm: bool = false,
        /// Whether the batch axis comes first in the data of ChatGLM.
        #[attr("support_2d_rope" | "config.support_2d_rope")]
        pub support_2d_rope: bool = false,
        /// Whether positions have three axes; not supported at run time.
        #[attr("support_3d_rope" | "config.support_3d_rope")]
        pub support_3d_rope: bool = false,
        /// Whether the data has the layout of Qwen.
        #[attr("is_qwen" | "config.is_qwen")]
        pub is_qwen: bool = false,
        /// Whether the data has the layout of LTX-Video; not supported at run time.
        #[attr("is_ltx_video" | "config.is_ltx_video")]
        pub is_ltx_video: bool = false,
        /// Whether one table holds both cosines and sines, for `support_2d_rope`.
        #[attr("use_rope_cache" | "config.use_rope_cache")]
        pub use_rope_cache: bool = true,
        /// Number of heads, for ChatGLM and Qwen.
        #[attr("head_cnt" | "config.head_cnt")]
        pub head_cnt: usize = 0,
        /// Number of features per head, for ChatGLM and Qwen.
        #[attr("head_size" | "config.head_size")]
        pub head_size: usize = 0,
        /// The index of the input that holds positions; 0 for none.
        #[attr("gather_position_arg_id" | "config.gather_position_arg_id")]
        pub gather_position_arg_id: usize = 0,
    }
}

impl Rope {
    /// The number of heads and the size of a head.
    fn heads(&self) -> Result<[SymExpr; 2], OpError> {
        let size = |name, size: usize| {
            i64::try_from(size)
                .map(SymExpr::from)
                .map_err(|_| OpError::out_of_range(name, i64::MAX, "a size"))
        };
        Ok([size("head_cnt", self.head_cnt)?, size("head_size", self.head_size)?])
    }

    /// Length of the range of features, unless it is the whole axis.
    fn sliced(&self) -> Option<usize> {
        self.slice_stop.checked_sub(self.slice_start).filter(|&len| len > 0)
    }
}

impl InferOp for Rope {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.element_type(0);
        if self.is_ltx_video || self.support_3d_rope {
            // These layouts are specific to the kernels of one plug-in, so rely on the declared outputs.
            return Ok(crate::ops::control::opaque::declared_facts(cx));
        }
        let has_heads = self.is_qwen || self.is_chatglm;
        match has_heads {
            true => cx.expect_rank(0, "3", |rank| rank == 3)?,
            false => cx.expect_rank(0, "3 or 4", |rank| rank == 3 || rank == 4)?,
        }
        let Some(dims) = cx.shape(0).dims() else {
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        let mut dims = dims.to_vec();
        if has_heads {
            let [count, size] = self.heads()?;
            let swapped = self.is_chatglm && !self.is_qwen && self.support_2d_rope;
            dims = match swapped {
                true => vec![dims[0].clone(), count, dims[1].clone(), size],
                false => vec![dims[0].clone(), dims[1].clone(), count, size],
            };
        } else {
            if let Some(len) = self.sliced().and_then(|len| i64::try_from(len).ok()) {
                let last = dims.len() - 1;
                dims[last] = len.into();
            }
            if self.input_trans0213 || self.output_trans0213 {
                cx.expect_rank(0, "4", |rank| rank == 4)?;
                dims.swap(1, 2);
            }
        }
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
    }
}

impl Rope {
    /// Converts the inputs to data `[B, H, L, S]` and tables.
    fn rotation(&self, inputs: &[Tensor]) -> Result<Rotation, OpError> {
        let input = |port: usize| -> Result<Tensor, OpError> {
            Ok(inputs.get(port).ok_or(OpError::NotConnected { port })?.cast(ElementType::F32)?)
        };
        let mut data = input(0)?;
        if let Some(len) = self.sliced() {
            data = data.slice(data.rank().saturating_sub(1), self.slice_start, len, 1)?;
        }
        let first = input(1)?;
        let pairs = if self.is_chatglm || self.is_interleaved { Pairs::Neighbours } else { Pairs::Halves };
        let (data, tables, pairs) = match self {
            _ if self.is_qwen => {
                let by_token = |table: Tensor| table.permute(&[0, 2, 1, 3]);
                let tables = [by_token(first)?, by_token(input(2)?)?];
                (self.with_heads(&data)?.permute(&[0, 2, 1, 3])?, tables, Pairs::Halves)
            }
            _ if self.is_chatglm && !self.support_2d_rope => {
                let tables = [0, 1].map(|part| alternating(&first, part, &[1, 0, 2]));
                let [cos, sin] = tables;
                (self.with_heads(&data)?.permute(&[1, 2, 0, 3])?, [cos?, sin?], pairs)
            }
            _ if self.is_chatglm => {
                let data = self.with_heads(&data)?.permute(&[0, 2, 1, 3])?;
                let [cos, sin] = match self.use_rope_cache {
                    true => [0, 1].map(|part| alternating(&first, part, &[0, 1, 2])),
                    false => [Ok(first), input(2)],
                };
                (data, [cos?, sin?], pairs)
            }
            _ if self.is_interleaved => {
                (data.permute(&[0, 2, 1, 3])?, self.sines_and_cosines(&first)?, pairs)
            }
            _ => {
                let data = if data.rank() == 3 { data.unsqueeze(0)? } else { data };
                let data = if self.input_trans0213 { data.permute(&[0, 2, 1, 3])? } else { data };
                (data, [with_four_axes(&first)?, with_four_axes(&input(2)?)?], pairs)
            }
        };
        let width = if self.is_qwen { tables[0].dims()[3] } else { self.rotary_ndims };
        let positions = match self.gather_position_arg_id {
            0 if self.is_qwen => Positions::AtEnd,
            0 => Positions::AsTokens,
            port => Positions::Given(inputs.get(port).ok_or(OpError::NotConnected { port })?.clone()),
        };
        Ok(Rotation { data, tables, width, pairs, positions })
    }

    /// Reshapes `[.., features]` to `[.., head_cnt, head_size]`, dropping features beyond
    /// `head_cnt * head_size`.
    fn with_heads(&self, data: &Tensor) -> Result<Tensor, OpError> {
        let &[a, b, features] = data.dims() else { return Err(OpError::rank("data", data.rank(), "3")) };
        let own = self.head_cnt.saturating_mul(self.head_size);
        if own > features {
            return Err(OpError::mismatch("head_cnt * head_size", own, format!("at most {features}")));
        }
        Ok(data.slice(2, 0, own, 1)?.contiguous().reshape(&[a, b, self.head_cnt, self.head_size])?)
    }

    /// Splits a table whose rows hold the sines, then the cosines. Returns the cosines and the sines.
    fn sines_and_cosines(&self, table: &Tensor) -> Result<[Tensor; 2], OpError> {
        let half = self.rotary_ndims / 2;
        let table = match *table.dims() {
            [_, _] => table.unsqueeze(0)?.unsqueeze(0)?,
            [_, _, _] => table.unsqueeze(1)?,
            _ => return Err(OpError::unsupported("is_interleaved with two tables")),
        };
        Ok([table.slice(3, half, half, 1)?, table.slice(3, 0, half, 1)?])
    }

    /// Rejects combinations of attributes that are not supported at run time.
    fn check_executable(&self) -> Result<(), OpError> {
        let refuse = |what: &str| Err(OpError::unsupported(what));
        match self {
            _ if self.support_3d_rope => refuse("support_3d_rope"),
            _ if self.is_ltx_video => refuse("is_ltx_video"),
            _ if self.is_qwen || self.is_chatglm => Ok(()),
            _ if self.is_interleaved
                && (self.sliced().is_some() || self.gather_position_arg_id > 0 || self.input_trans0213) =>
            {
                refuse("is_interleaved with slice_stop, gather_position_arg_id or input_trans0213")
            }
            _ if self.output_trans0213 && !self.is_interleaved => {
                refuse("output_trans0213 without is_interleaved")
            }
            _ => Ok(()),
        }
    }
}

impl EvalOp for Rope {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        self.check_executable()?;
        let data = inputs.first().ok_or(OpError::InputNotProvided)?;
        let expected = if self.is_qwen || self.is_chatglm { 3..=3 } else { 3..=4 };
        if !expected.contains(&data.rank()) || (self.is_interleaved && data.rank() == 3 && !self.is_chatglm) {
            return Err(OpError::rank("data", data.rank(), "the rank of the layout"));
        }
        let turned = self.rotation(inputs)?.turned()?;
        let out = match self {
            _ if self.is_qwen => turned.permute(&[0, 2, 1, 3])?,
            _ if self.is_chatglm && !self.support_2d_rope => turned.permute(&[2, 0, 1, 3])?,
            _ if self.is_chatglm => turned,
            _ if self.is_interleaved && !self.output_trans0213 => turned.permute(&[0, 2, 1, 3])?,
            _ if data.rank() == 3 => turned.squeeze(0)?,
            _ => turned,
        };
        Ok(vec![out.cast(data.element_type())?])
    }
}

/// Extracts the cosines (`part` 0) or the sines (`part` 1) from a table that alternates them, as
/// `[B, 1, L, R / 2]`.
fn alternating(table: &Tensor, part: usize, order: &[usize]) -> Result<Tensor, OpError> {
    if table.rank() != 4 {
        return Err(OpError::rank("the table", table.rank(), "4"));
    }
    Ok(table.slice(3, part, 1, 1)?.squeeze(3)?.permute(order)?.unsqueeze(1)?)
}

/// Adds leading axes of size 1 to a table `[L, R]` or `[H, L, R]`, so that it broadcasts to `[B, H, L, R]`.
fn with_four_axes(table: &Tensor) -> Result<Tensor, OpError> {
    match table.rank() {
        2 => Ok(table.unsqueeze(0)?.unsqueeze(0)?),
        3 => Ok(table.unsqueeze(0)?),
        4 => Ok(table.clone()),
        other => Err(OpError::rank("the table", other, "2 to 4")),
    }
}

#[cfg(test)]
mod tests {
    use snick_tensor::kernels;

    use super::*;

    fn numbers(dims: &[usize], of: impl Fn(usize) -> f32) -> Tensor {
        let len: usize = dims.iter().product();
        Tensor::from_vec(dims, (0..len).map(of).collect::<Vec<_>>()).unwrap()
    }

    fn run(op: &Rope, inputs: &[Tensor]) -> (Vec<usize>, Vec<f32>) {
        let out = op.eval(inputs).unwrap();
        (out[0].dims().to_vec(), out[0].to_f32_vec().unwrap())
    }

    /// Reference implementation: rotates the pairs `(i, j)` in each row of 4 features by the row's angle.
    fn by_hand(rows: &[f32], pairs: [(usize, usize); 2], turns: &[[f32; 2]]) -> Vec<f32> {
        let mut out = rows.to_vec();
        for (row, [cos, sin]) in turns.iter().enumerate() {
            for (i, j) in pairs.map(|(i, j)| (row * 4 + i, row * 4 + j)) {
                out[i] = cos * rows[i] - sin * rows[j];
                out[j] = cos * rows[j] + sin * rows[i];
            }
        }
        out
    }

    const HALVES: [(usize, usize); 2] = [(0, 2), (1, 3)];
    const NEIGHBOURS: [(usize, usize); 2] = [(0, 1), (2, 3)];

    /// Tables `[L, R]`: the cosine and sine are 2 and 3 for token 0, 5 and 7 for token 1.
    fn tables(dims: &[usize]) -> [Tensor; 2] {
        let half = dims.iter().product::<usize>() / 2;
        [numbers(dims, |i| [2., 5.][i / half]), numbers(dims, |i| [3., 7.][i / half])]
    }

    #[test]
    fn halves_are_turned_by_the_angle_of_the_token() {
        let data = numbers(&[1, 1, 2, 4], |i| i as f32 + 1.);
        let rows: Vec<f32> = (1..9).map(|i| i as f32).collect();
        let op = Rope { rotary_ndims: 4, ..Rope::default() };
        for width in [2, 4] {
            let [cos, sin] = tables(&[1, 1, 2, width]);
            let expected = by_hand(&rows, HALVES, &[[2., 3.], [5., 7.]]);
            assert_eq!(run(&op, &[data.clone(), cos, sin]), (vec![1, 1, 2, 4], expected));
        }
        let [cos, sin] = tables(&[2, 4]);
        let positions = Tensor::from_vec(&[1, 2], vec![1i32, 0]).unwrap();
        let gathered = Rope { gather_position_arg_id: 3, ..op.clone() };
        let expected = by_hand(&rows, HALVES, &[[5., 7.], [2., 3.]]);
        let inputs = [data.clone(), cos.clone(), sin.clone(), positions];
        assert_eq!(run(&gathered, &inputs).1, expected);
        let beyond = Tensor::from_vec(&[1, 2], vec![2i32, 0]).unwrap();
        assert!(gathered.eval(&[data.clone(), cos.clone(), sin.clone(), beyond]).is_err());
        // [B, L, H, S] to [B, H, L, S], using the last 4 of 6 features.
        let wide = numbers(&[1, 2, 1, 6], |i| if i % 6 < 2 { 0. } else { (i / 6 * 4 + i % 6 - 1) as f32 });
        let sliced = Rope { slice_start: 2, slice_stop: 6, input_trans0213: true, ..op };
        let expected = by_hand(&rows, HALVES, &[[2., 3.], [5., 7.]]);
        assert_eq!(run(&sliced, &[wide, cos, sin]), (vec![1, 1, 2, 4], expected));
    }

    #[test]
    fn neighbours_are_turned_in_interleaved_data() {
        let rows: Vec<f32> = (1..9).map(|i| i as f32).collect();
        let data = numbers(&[1, 2, 1, 4], |i| i as f32 + 1.);
        // The table holds sines first, then cosines.
        let table = numbers(&[1, 2, 4], |i| [3., 3., 2., 2., 7., 7., 5., 5.][i]);
        let expected = by_hand(&rows, NEIGHBOURS, &[[2., 3.], [5., 7.]]);
        let op = Rope { rotary_ndims: 4, is_interleaved: true, ..Rope::default() };
        let inputs = [data, table.clone(), table];
        assert_eq!(run(&op, &inputs), (vec![1, 2, 1, 4], expected.clone()));
        let swapped = Rope { output_trans0213: true, ..op };
        assert_eq!(run(&swapped, &inputs), (vec![1, 1, 2, 4], expected));
    }

    #[test]
    fn heads_of_chatglm_and_qwen_are_cut_from_the_features() {
        let rows: Vec<f32> = (1..9).map(|i| i as f32).collect();
        let base = Rope { rotary_ndims: 4, head_cnt: 1, head_size: 4, ..Rope::default() };
        let data = numbers(&[2, 1, 4], |i| i as f32 + 1.);
        // [L, B, R/2, 2]: cosine and sine alternate.
        let table = numbers(&[2, 1, 2, 2], |i| [2., 3., 2., 3., 5., 7., 5., 7.][i]);
        let expected = by_hand(&rows, NEIGHBOURS, &[[2., 3.], [5., 7.]]);
        let glm = Rope { is_chatglm: true, ..base.clone() };
        assert_eq!(run(&glm, &[data.clone(), table.clone()]), (vec![2, 1, 1, 4], expected.clone()));
        let batch_first = data.reshape(&[1, 2, 4]).unwrap();
        let table = table.reshape(&[1, 2, 2, 2]).unwrap();
        let flat = Rope { support_2d_rope: true, ..glm };
        assert_eq!(run(&flat, &[batch_first.clone(), table]), (vec![1, 1, 2, 4], expected));
        // Qwen uses the last positions of a longer table.
        let [cos, sin] = tables(&[2, 4]).map(|table| {
            let ahead = Tensor::full(&[1, 4], 100f32).unwrap();
            kernels::concat(&[&ahead, &table], 0).unwrap().reshape(&[1, 3, 1, 4]).unwrap()
        });
        let qwen = Rope { is_qwen: true, ..base };
        let expected = by_hand(&rows, HALVES, &[[2., 3.], [5., 7.]]);
        assert_eq!(run(&qwen, &[batch_first, cos, sin]), (vec![1, 2, 1, 4], expected));
    }

    #[test]
    fn what_is_not_executed_is_named() {
        let data = numbers(&[1, 1, 2, 4], |i| i as f32);
        let [cos, sin] = tables(&[2, 4]);
        let error = Rope { is_ltx_video: true, ..Rope::default() }.eval(&[data, cos, sin]).unwrap_err();
        assert!(error.to_string().contains("is_ltx_video"), "{error}");
    }
}
