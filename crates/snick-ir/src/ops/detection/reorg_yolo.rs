//! ReorgYolo-2: blocks of space to channels, as Darknet orders them. Opset 1 has it too.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Shape, SymExpr};
use snick_tensor::{Tensor, kernels};

use crate::attrs::missing;
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// `[N, C, H, W]` to `[N, C * stride^2, H / stride, W / stride]`.
#[derive(Clone, PartialEq, Debug)]
pub struct ReorgYolo {
    /// The size of a block.
    pub stride: i64,
}

impl OpDef for ReorgYolo {
    const NAMES: &'static [OpName] = &[OpName::openvino("ReorgYolo", &[1, 2])];
    const ARITY: Arity = Arity::exactly(1);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let strides = raw.attrs.ints("stride")?.ok_or(missing("stride"))?;
        match strides.first() {
            Some(&stride) if stride >= 1 => Ok(Self { stride }),
            _ => Err(raw.attrs.bad("stride", "1 or more")),
        }
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("stride", self.stride)
    }
}

impl InferOp for ReorgYolo {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_rank(0, "4", |rank| rank == 4)?;
        let element_type = cx.element_type(0);
        let Some([batch, channels, height, width]) = cx.shape(0).dims() else {
            return Ok(smallvec![Fact::new(element_type, Shape::unranked())]);
        };
        let area = self.stride.checked_mul(self.stride);
        let area = area.ok_or_else(|| OpError::out_of_range("`stride`", self.stride, "a small number"))?;
        if cx.interval(channels).hi() < area {
            return Err(OpError::mismatch(
                "the number of channels",
                cx.interval(channels),
                format!("{area} or more"),
            ));
        }
        let [height, width] = [height, width].map(|dim| {
            let part = cx.divided(dim, &self.stride.into());
            let expected = || format!("a multiple of {}", self.stride);
            part.ok_or_else(|| OpError::mismatch("a size", cx.interval(dim), expected()))
        });
        let dims: SmallVec<[SymExpr; 4]> =
            smallvec![batch.clone(), cx.mul(channels, &area.into()), height?, width?,];
        Ok(smallvec![Fact::new(element_type, Shape::ranked(dims))])
    }
}

impl EvalOp for ReorgYolo {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data] = inputs else { return Ok(Vec::new()) };
        let &[n, c, h, w] = data.dims() else {
            return Err(OpError::rank("data", data.rank(), "4"));
        };
        let s = usize::try_from(self.stride).unwrap_or(1);
        let area = s.saturating_mul(s);
        if c < area || h % s != 0 || w % s != 0 {
            let expected = format!("{area} channels or more and multiples of {s} places");
            return Err(OpError::mismatch("the shape of data", format!("{:?}", data.dims()), expected));
        }
        let dims = [n, c.saturating_mul(area), h / s, w / s];
        // Darknet reads the data as if it had C / stride^2 channels of stride times the height and width.
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
        // Where channels do not divide, it counts on through the elements.
        let places: Vec<i64> = (counted..c)
            .flat_map(|channel| {
                let block = channel / channels;
                let first = (channel % channels * h * s + block / s) * w * s + block % s;
                (0..h).flat_map(move |y| (0..w).map(move |x| (first + (y * w * s + x) * s) as i64))
            })
            .collect();
        let places = Tensor::from_vec(&[c - counted, h, w], places)?;
        parts.push(kernels::gather(&flat, &places, 1, 0)?);
        let parts: Vec<&Tensor> = parts.iter().collect();
        Ok(vec![kernels::concat(&parts, 1)?.reshape(&dims)?])
    }
}
