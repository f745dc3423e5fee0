//! ReorgYolo-2.

use snick_shape::Shape;
use snick_tensor::{Tensor, kernels};

use super::checks::{dims_of, expect_ranks, wrong_shape};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, RawNode, exactly};

op! {
    /// Moves blocks of `[N, C, H, W]` to channels in Darknet's order:
    /// `[N, C * stride^2, H / stride, W / stride]`.
    #[op(
        "ReorgYolo", since = [1, 2], inputs = Arity::exactly(1),
        category = Movement, traits = [PURE], check = Self::check_stride
    )]
    pub struct ReorgYolo {
        /// The height and width of a block, at least 1.
        pub stride: usize,
    }
}

impl InferOp for ReorgYolo {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        expect_ranks(cx, &[4])?;
        let element_type = cx.element_type(0);
        let Some([batch, channels, height, width]) = cx.shape(0).dims() else {
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        let stride = self.stride as i64;
        let area = stride.checked_mul(stride);
        let area = area.ok_or_else(|| OpError::out_of_range("`stride`", stride, "a small number"))?;
        let count = cx.interval(channels);
        if count.hi() < area {
            return Err(OpError::mismatch("the number of channels", count, format!("{area} or more")));
        }
        let [height, width] = [height, width].map(|dim| {
            let part = cx.exact_div(dim, &stride.into());
            let expected = || format!("a multiple of {stride}");
            part.ok_or_else(|| OpError::mismatch("a size", cx.interval(dim), expected()))
        });
        let shape = Shape::ranked([batch.clone(), cx.mul(channels, &area.into()), height?, width?]);
        Ok(Facts::from(Fact::new(element_type, shape)))
    }
}

impl EvalOp for ReorgYolo {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data] = exactly(inputs)?;
        let [n, c, h, w] = dims_of("the data", data)?;
        let s = self.stride.max(1);
        let area = s.saturating_mul(s);
        if c < area || h % s != 0 || w % s != 0 {
            let expected = format!("{area} channels or more, height and width multiples of {s}");
            return Err(wrong_shape("the data", data, expected));
        }
        let dims = [n, c.saturating_mul(area), h / s, w / s];
        // Darknet reads the data as if it had `C / stride^2` channels of `stride` times the height and width.
        let channels = c / area;
        let counted = channels * area;
        let flat = data.reshape(&[n, c * h * w])?;
        let image = flat.slice(1, 0, counted * h * w, 1)?.reshape(&[n, channels, h, s, w, s])?;
        if counted == c {
            return Ok(vec![image.permute(&[0, 3, 5, 1, 2, 4])?.reshape(&dims)?]);
        }
        let mut parts = Vec::with_capacity(area + 1);
        for block in 0..area {
            let part = image.slice(3, block / s, 1, 1)?.slice(5, block % s, 1, 1)?;
            parts.push(part.reshape(&[n, channels, h, w])?);
        }
        // If `C` is not a multiple of `stride^2`, the remaining channels follow the same formula, with block
        // positions of `stride^2` and above.
        let indices: Vec<i64> = (counted..c)
            .flat_map(|channel| {
                let block = channel / channels;
                let first = (channel % channels * h * s + block / s) * w * s + block % s;
                (0..h).flat_map(move |y| (0..w).map(move |x| (first + (y * w * s + x) * s) as i64))
            })
            .collect();
        let indices = Tensor::from_vec(&[c - counted, h, w], indices)?;
        parts.push(kernels::gather(&flat, &indices, 1, 0)?);
        let parts: Vec<&Tensor> = parts.iter().collect();
        Ok(vec![kernels::concat(&parts, 1)?.reshape(&dims)?])
    }
}

impl ReorgYolo {
    fn check_stride(&self, raw: &RawNode) -> Result<(), OpError> {
        if self.stride > 0 { Ok(()) } else { Err(raw.attrs.bad("stride", "1 or more")) }
    }
}
