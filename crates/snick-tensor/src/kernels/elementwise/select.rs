//! Selects one of two elements by a condition.

use bytemuck::Pod;

use crate::ElementType::Boolean;
use crate::buffer::Buffer;
use crate::kernels::broadcast::{Run, Strided, broadcast_dims, for_each_run};
use crate::kernels::dispatch::{moving, with_unit};
use crate::kernels::vectors::{Instructions, Isa, Vectorised, dispatch_best, dispatch_on};
use crate::tensor::stored_bytes;
use crate::{Dims, Tensor, TensorError};

/// `then` where `condition` is true and `otherwise` elsewhere. All three broadcast.
///
/// # Errors
/// [`TensorError::TypeMismatch`] unless the condition is boolean and the others of one type,
/// [`TensorError::ShapeMismatch`].
pub fn select(condition: &Tensor, then: &Tensor, otherwise: &Tensor) -> Result<Tensor, TensorError> {
    condition.expect(Boolean)?;
    let dims = broadcast_dims(then.dims(), otherwise.dims())?;
    let dims = broadcast_dims(&dims, condition.dims())?;
    moving(&[then, otherwise], |units| match units {
        [then, otherwise] => {
            with_unit!(then.element_type(), T => choose::<T>(&dims, condition, then, otherwise))
        }
        _ => Err(TensorError::argument("expected two branches")),
    })
}

fn choose<T: Pod + Send + Sync>(
    dims: &Dims,
    condition: &Tensor,
    then: &Tensor,
    otherwise: &Tensor,
) -> Result<Tensor, TensorError> {
    stored_bytes(then.element_type(), dims)?;
    let condition = Strided::<u8>::broadcast(condition, dims)?;
    let yes = Strided::<T>::broadcast(then, dims)?;
    let no = Strided::<T>::broadcast(otherwise, dims)?;
    let mut out = Buffer::<T>::any(condition.layout.len())?;
    let mut next = 0;
    let layouts = [&condition.layout, &yes.layout, &no.layout];
    for_each_run(layouts, |[c, y, n], [cs, ys, ns], len| {
        let (condition, yes, no) = (condition.run(c, cs), yes.run(y, ys), no.run(n, ns));
        let row = SelectRow { condition, yes, no, to: &mut out[next..next + len] };
        // Models mostly use elements of this size; kernels for every size would be large.
        if size_of::<T>() == 4 {
            dispatch_best(row)
        } else {
            dispatch_on(Isa::Baseline, row)
        }
        next += len;
    });
    Tensor::from_buffer(then.element_type(), dims, out)
}

/// A run of all three inputs and of the result.
struct SelectRow<'a, T> {
    condition: Run<'a, u8>,
    yes: Run<'a, T>,
    no: Run<'a, T>,
    to: &'a mut [T],
}

impl<T: Pod> Vectorised for SelectRow<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { condition, yes, no, to } = self;
        let len = to.len();
        let Some(conditions) = condition.slice(len) else {
            for (i, to) in to.iter_mut().enumerate() {
                *to = if condition.get(i) != 0 { yes.get(i) } else { no.get(i) };
            }
            return;
        };
        let chosen = to.iter_mut().zip(conditions);
        match (yes.slice(len), no.slice(len), yes.constant(), no.constant()) {
            (Some(yes), Some(no), ..) => {
                for ((to, &c), (&y, &n)) in chosen.zip(yes.iter().zip(no)) {
                    *to = if c != 0 { y } else { n };
                }
            }
            (Some(yes), _, _, Some(n)) => {
                for ((to, &c), &y) in chosen.zip(yes) {
                    *to = if c != 0 { y } else { n };
                }
            }
            (_, Some(no), Some(y), _) => {
                for ((to, &c), &n) in chosen.zip(no) {
                    *to = if c != 0 { y } else { n };
                }
            }
            (_, _, Some(y), Some(n)) => {
                for (to, &c) in chosen {
                    *to = if c != 0 { y } else { n };
                }
            }
            _ => {
                for (i, (to, &c)) in chosen.enumerate() {
                    *to = if c != 0 { yes.get(i) } else { no.get(i) };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_and_condition_broadcast() {
        let condition = Tensor::from_bools(&[2, 1], &[true, false]).unwrap();
        let row = Tensor::from_vec(&[2], vec![1.0f32, 2.0]).unwrap();
        let chosen = select(&condition, &row, &Tensor::scalar(0.0f32)).unwrap();
        assert_eq!(chosen.dims(), [2, 2]);
        assert_eq!(chosen.to_f32_vec().unwrap(), [1.0, 2.0, 0.0, 0.0]);
    }

    #[test]
    fn string_tables_are_merged() {
        let condition = Tensor::from_bools(&[2], &[true, false]).unwrap();
        let a = Tensor::strings(&[], vec!["a".to_owned()]).unwrap();
        let b = Tensor::strings(&[2], vec!["b".to_owned(), "c".to_owned()]).unwrap();
        assert_eq!(select(&condition, &a, &b).unwrap().as_strings().unwrap(), ["a", "c"]);
    }
}
