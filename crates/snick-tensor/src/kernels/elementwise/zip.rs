//! Applies a function to pairs of elements of two tensors.

use bytemuck::Pod;

use crate::buffer::Buffer;
use crate::kernels::broadcast::{Strided, broadcast_dims};
use crate::kernels::row_reader::{self, BlockSizes, RowReader};
use crate::kernels::sharing;
use crate::kernels::vectors::{Instructions, Number, Vectorised};
use crate::tensor::stored_bytes;
use crate::{Dims, ElementType, Tensor, TensorError};

/// Applies `f` to every pair of elements, with broadcasting. The result has type `et`.
pub(super) fn zip<A: Number, R: Pod + Send + Sync>(
    et: ElementType,
    a: &Tensor,
    b: &Tensor,
    f: impl Fn(A, A) -> R + Send + Sync,
) -> Result<Tensor, TensorError> {
    zip_rows(et, a, b, &|operands, sizes, to| A::dispatch(Zip { operands, sizes, to, f: &f }))
}

/// Computes the next elements of a result from the operands.
type PairKernel<'f, A, R> = dyn Fn(&mut [RowReader<A>; 2], BlockSizes, &mut [R]) + Send + Sync + 'f;

/// A tensor of type `et` whose elements `fill` computes from two tensors, with broadcasting, on all threads. It is not
/// generic over the function of [`zip`], so that it is compiled once for many functions.
fn zip_rows<A: Number, R: Pod + Send + Sync>(
    et: ElementType,
    a: &Tensor,
    b: &Tensor,
    fill: &PairKernel<A, R>,
) -> Result<Tensor, TensorError> {
    let dims = match a.dims() == b.dims() {
        true => Dims::from_slice(a.dims()),
        false => broadcast_dims(a.dims(), b.dims())?,
    };
    stored_bytes(et, &dims)?;
    // If a size is 0, the product of the others may overflow.
    let count = if dims.contains(&0) { 0 } else { dims.iter().product() };
    let mut out = Buffer::<R>::any(count)?;
    if count > 0 {
        let (a, b) = (Strided::<A>::collapsed(a, &dims)?, Strided::<A>::collapsed(b, &dims)?);
        let readers = || [RowReader::new(&a), RowReader::new(&b)];
        row_reader::in_parts(&mut out, sharing::ELEMENTS, readers, fill);
    }
    Tensor::from_buffer(et, &dims, out)
}

/// Applies a function to all pairs of elements.
struct Zip<'z, 'a, A, R, F> {
    operands: &'z mut [RowReader<'a, A>; 2],
    sizes: BlockSizes,
    to: &'z mut [R],
    f: &'z F,
}

impl<A: Pod, R, F: Fn(A, A) -> R> Vectorised for Zip<'_, '_, A, R, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { operands: [x, y], sizes: BlockSizes { part, block }, to, f } = self;
        for part in to.chunks_mut(part) {
            for to in part.chunks_mut(block) {
                let (x, y) = (x.read(to.len()), y.read(to.len()));
                for ((to, &x), &y) in to.iter_mut().zip(x).zip(y) {
                    *to = f(x, y);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::broadcast::for_each_run;
    use crate::kernels::row_reader::BLOCK;

    #[test]
    fn pairs_are_the_same_however_the_operands_lie() {
        let tensor = |dims: &[usize]| {
            let len = dims.iter().product::<usize>();
            Tensor::from_vec(dims, (0..len).map(|i| (i * 37 % 101) as f32 - 50.0).collect()).unwrap()
        };
        let subtract = |a: &Tensor, b: &Tensor| zip(ElementType::F32, a, b, |x: f32, y: f32| x - y).unwrap();
        // The last axis is longer than a block.
        let full = tensor(&[2, 3, BLOCK + 9]);
        let turned = tensor(&[BLOCK + 9, 3, 2]).permute(&[2, 1, 0]).unwrap();
        let backwards = full.slice(2, BLOCK + 8, BLOCK + 9, -1).unwrap();
        let others =
            [tensor(&[3, 1]), tensor(&[BLOCK + 9]), tensor(&[2, 1, 1]), tensor(&[]), tensor(&[1, 1])];
        for a in [&full, &turned, &backwards] {
            for b in others.iter().chain([&full, &turned, &backwards]) {
                let (a_alone, b_alone) = (a.contiguous(), b.contiguous());
                let expected: Vec<f32> = {
                    let [a, b] =
                        [&a_alone, &b_alone].map(|t| Strided::<f32>::broadcast(t, full.dims()).unwrap());
                    let mut all = Vec::new();
                    for_each_run([&a.layout, &b.layout], |[i, j], [p, q], len| {
                        let (x, y) = (a.run(i, p), b.run(j, q));
                        all.extend((0..len).map(|n| x.get(n) - y.get(n)));
                    });
                    all
                };
                assert_eq!(
                    subtract(a, b).to_f32_vec().unwrap(),
                    expected,
                    "{:?} {:?}",
                    a.layout(),
                    b.layout()
                );
                let swapped: Vec<f32> = expected.iter().map(|x| -x).collect();
                assert_eq!(
                    subtract(b, a).to_f32_vec().unwrap(),
                    swapped,
                    "{:?} {:?}",
                    b.layout(),
                    a.layout()
                );
            }
        }
    }
}
