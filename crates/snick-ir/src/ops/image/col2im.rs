//! Col2Im-15.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{SmallVector, Tensor, kernels};

use crate::ops::nn::blocks::divided;
use crate::ops::nn::window::{AutoPad, Numbers, Rounding, Windows};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, RawNode, exactly};

op! {
    /// Assembles images from sliding windows, adding overlapping elements. Inputs: columns
    /// `[N, C * kernel.., windows]` or `[C * kernel.., windows]`, the size of the image, and the size of the
    /// kernel. Output: `[N, C, size..]` or `[C, size..]`.
    #[op(
        "Col2Im", since = [15], inputs = Arity::exactly(3),
        category = Movement, traits = [PURE], check = Self::check_windows
    )]
    pub struct Col2Im {
        /// Distance between neighbouring windows, at least 1; 1 if empty.
        pub strides: Numbers = Numbers::new(),
        /// Distance between neighbouring elements of a window, at least 1; 1 if empty.
        pub dilations: Numbers = Numbers::new(),
        /// Padding before each axis; 0 if empty.
        pub pads_begin: Numbers = Numbers::new(),
        /// Padding after each axis; 0 if empty.
        pub pads_end: Numbers = Numbers::new(),
    }
}

impl InferOp for Col2Im {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_rank(0, "2 or 3", |rank| rank == 2 || rank == 3)?;
        let two = Shape::ranked([SymExpr::from(2)]);
        for i in 1..3 {
            cx.expect_index(i)?;
            cx.merge_shapes("sizes are {}, expected {}", cx.shape(i), &two)?;
        }
        let element_type = cx.element_type(0);
        let Some([batch @ .., stacked, windows]) = cx.shape(0).dims() else {
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        let kernel = cx.input(2).ints().filter(|kernel| kernel.len() == 2);
        let area = kernel.as_ref().and_then(|kernel| kernel[0].checked_mul(kernel[1]));
        let channels = match area {
            Some(area) if area > 0 => divided(cx, stacked, area),
            Some(area) => return Err(OpError::out_of_range("the area of the kernel", area, "1 or more")),
            None => {
                let most = cx.interval(stacked).hi();
                cx.unknown(Interval::new(0, most).unwrap_or(Interval::DIM))
            }
        };
        let mut dims: SmallVector<SymExpr, 4> = batch.iter().cloned().collect();
        dims.push(channels);
        let sizes = cx.input(1).elements().filter(|sizes| sizes.len() == 2);
        let mut count = Some(SymExpr::from(1));
        for i in 0..2 {
            let Some(size) = sizes.as_ref().map(|sizes| &sizes[i]) else {
                dims.push(cx.unknown(Interval::DIM));
                count = None;
                continue;
            };
            let dim = cx
                .as_dim(size)
                .ok_or_else(|| OpError::mismatch("a size of the image", cx.interval(size), "0 or more"))?;
            if let (Some(kernel), Some(all)) = (&kernel, &count) {
                let along = self.windows().count(cx, i, &dim, &kernel[i].into());
                count = Some(cx.mul(all, &along));
            }
            dims.push(dim);
        }
        if let (Some(count), Some(_)) = (&count, &kernel) {
            cx.merge_or_report("numbers of windows", count, windows);
        }
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
    }
}

impl EvalOp for Col2Im {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [columns, sizes, kernel] = exactly(inputs)?;
        let batched = match columns.rank() {
            2 => columns.unsqueeze(0)?,
            3 => columns.clone(),
            rank => return Err(OpError::rank("columns", rank, "2 or 3")),
        };
        let (size, kernel) = (pair("a size of the image", sizes)?, pair("a size of the kernel", kernel)?);
        let (window, _) = self.windows().concrete(&size, &kernel)?;
        let images = kernels::col2im(&batched, size, kernel, &window)?;
        Ok(vec![if columns.rank() == 2 { images.squeeze(0)? } else { images }])
    }
}

impl Col2Im {
    fn check_windows(&self, _: &RawNode) -> Result<(), OpError> {
        self.windows().check(2)
    }

    /// The window parameters.
    pub fn windows(&self) -> Windows<'_> {
        let Self { strides, dilations, pads_begin, pads_end } = self;
        let (auto_pad, rounding) = (AutoPad::Explicit, Rounding::Floor);
        Windows { strides, dilations, pads_begin, pads_end, auto_pad, rounding }
    }
}

/// Reads two sizes from a vector.
fn pair(what: &str, tensor: &Tensor) -> Result<[usize; 2], OpError> {
    let &[rows, columns] = tensor.to_i64_vec()?.as_slice() else {
        return Err(OpError::mismatch(format!("the number of {what}"), tensor.len(), 2));
    };
    let size =
        |value: i64| usize::try_from(value).map_err(|_| OpError::out_of_range(what, value, "0 or more"));
    Ok([size(rows)?, size(columns)?])
}
