//! One of two elements.

use bytemuck::Pod;

use crate::ElementType::Boolean;
use crate::buffer::Buffer;
use crate::kernels::broadcast::{Strided, broadcast_dims, for_each_run};
use crate::kernels::dispatch::{moving, with_unit};
use crate::tensor::stored_bytes;
use crate::{Dims, Tensor, TensorError};

/// `then` where `condition` holds, `otherwise` elsewhere; all three broadcast.
///
/// # Errors
/// [`TensorError::TypeMismatch`] unless the condition is boolean and the others of one type,
/// [`TensorError::ShapeMismatch`].
pub fn select(condition: &Tensor, then: &Tensor, otherwise: &Tensor) -> Result<Tensor, TensorError> {
    condition.expect(Boolean)?;
    let dims = broadcast_dims("Select", then.dims(), otherwise.dims())?;
    let dims = broadcast_dims("Select", &dims, condition.dims())?;
    moving(&[then, otherwise], |units| match units {
        [then, otherwise] => {
            with_unit!("Select", then.element_type(), T => choose::<T>(&dims, condition, then, otherwise))
        }
        _ => Err(TensorError::argument("Select", "two branches are needed")),
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
        let (c, y, n) = (condition.run(c, cs), yes.run(y, ys), no.run(n, ns));
        for (i, to) in out[next..next + len].iter_mut().enumerate() {
            *to = if c.get(i) != 0 { y.get(i) } else { n.get(i) };
        }
        next += len;
    });
    Tensor::from_buffer(then.element_type(), dims, out)
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
    fn texts_of_two_tables_join() {
        let condition = Tensor::from_bools(&[2], &[true, false]).unwrap();
        let a = Tensor::strings(&[], vec!["a".to_owned()]).unwrap();
        let b = Tensor::strings(&[2], vec!["b".to_owned(), "c".to_owned()]).unwrap();
        assert_eq!(select(&condition, &a, &b).unwrap().as_strings().unwrap(), ["a", "c"]);
    }
}
