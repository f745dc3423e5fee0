//! Direct conversions between frequent pairs of types.

use bytemuck::Pod;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use crate::ElementType::{self, *};
use crate::buffer::Buffer;
use crate::kernels::broadcast::{Strided, for_each_block};
use crate::kernels::vectors::{Instructions, Vectorised, dispatch_best};
use crate::{Tensor, TensorError};

use super::TOO_LARGE;

/// Converts the tensor if there is a direct conversion.
pub(super) fn convert(tensor: &Tensor, et: ElementType) -> Result<Option<Tensor>, TensorError> {
    macro_rules! ways {
        ($($from:ident($a:ty) => $to:ident($b:ty): $f:expr;)*) => {
            match (tensor.element_type(), et) {
                $(($from, $to) => each::<$a, $b>(tensor, et, $f).map(Some),)*
                (F16, F32) => half::<f16, f32>(tensor, et, |from, to| from.convert_to_f32_slice(to)).map(Some),
                (BF16, F32) => half::<bf16, f32>(tensor, et, |from, to| from.convert_to_f32_slice(to)).map(Some),
                (F32, F16) => half::<f32, f16>(tensor, et, |from, to| to.convert_from_f32_slice(from)).map(Some),
                (F32, BF16) => half::<f32, bf16>(tensor, et, |from, to| to.convert_from_f32_slice(from)).map(Some),
                _ => Ok(None),
            }
        };
    }
    ways! {
        Boolean(u8) => F32(f32): |x| f32::from(u8::from(x != 0));
        U8(u8) => F32(f32): f32::from;
        I8(i8) => F32(f32): f32::from;
        I32(i32) => F32(f32): |x| x as f32;
        I64(i64) => F32(f32): |x| x as f32;
        F32(f32) => F64(f64): f64::from;
        F64(f64) => F32(f32): |x| x as f32;
        F32(f32) => I32(i32): to_i32;
        F32(f32) => I64(i64): |x| x as i64;
        // Narrow integers wrap.
        F32(f32) => I8(i8): |x| to_i32(x) as i8;
        F32(f32) => U8(u8): |x| to_i32(x) as u8;
        F32(f32) => I16(i16): |x| to_i32(x) as i16;
        F32(f32) => Boolean(u8): |x| u8::from(x != 0.0);
        I32(i32) => I64(i64): i64::from;
        I64(i64) => I32(i32): |x| x as i32;
    }
}

/// Truncates. `NaN` and out-of-range values become `i32::MIN`.
#[inline(always)]
fn to_i32(x: f32) -> i32 {
    if x < TOO_LARGE as f32 { x as i32 } else { i32::MIN }
}

fn each<A: Pod, B: Pod + Send + Sync>(
    tensor: &Tensor,
    et: ElementType,
    f: impl Fn(A) -> B,
) -> Result<Tensor, TensorError> {
    by_blocks(tensor, et, |from, to| dispatch_best(Each { from, to, f: &f }))
}

struct Each<'a, A, B, F> {
    from: &'a [A],
    to: &'a mut [B],
    f: &'a F,
}

impl<A: Copy, B, F: Fn(A) -> B> Vectorised for Each<'_, A, B, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        for (to, &x) in self.to.iter_mut().zip(self.from) {
            *to = (self.f)(x);
        }
    }
}

/// Uses the vectorised conversions of the `half` crate.
fn half<A: Pod, B: Pod + Send + Sync>(
    tensor: &Tensor,
    et: ElementType,
    all: impl Fn(&[A], &mut [B]),
) -> Result<Tensor, TensorError> {
    by_blocks(tensor, et, all)
}

/// Calls `convert` for blocks of elements with memory for the results.
fn by_blocks<A: Pod, B: Pod + Send + Sync>(
    tensor: &Tensor,
    et: ElementType,
    convert: impl Fn(&[A], &mut [B]),
) -> Result<Tensor, TensorError> {
    let mut to = Buffer::any(tensor.len())?;
    let mut rest = &mut to[..];
    for_each_block(&Strided::new(tensor), |from| {
        let (part, later) = std::mem::take(&mut rest).split_at_mut(from.len());
        convert(from, part);
        rest = later;
    });
    Tensor::from_buffer(et, tensor.dims(), to)
}
