//! Interpolation as matrix products, one per axis.

use snick_tensor::{Tensor, kernels};

use super::Interpolate;
use crate::OpError;

/// Maximum squared size of an axis for which weights are computed. The kernel resizes one unit vector for
/// each element of the axis, so time and memory grow with the square of the size.
const MAX_WEIGHTS: usize = 1 << 24;

impl Interpolate {
    /// For each resized axis, the weights `[output, input]`. `rest` holds the inputs after the data; returns
    /// `None` if an input that determines the weights is unknown.
    ///
    /// # Errors
    /// Same as for evaluation; also if the data is padded.
    pub fn weights(
        &self,
        dims: &[usize],
        rest: &[Option<Tensor>],
    ) -> Result<Option<Vec<(usize, Tensor)>>, OpError> {
        if self.is_padded() {
            return Err(OpError::unsupported("padding before an interpolation"));
        }
        let (target, axes) = self.ports();
        let at = |port: usize| port.checked_sub(1).and_then(|i| rest.get(i));
        let Some(Some(target)) = at(target) else { return Ok(None) };
        let axes = match axes.and_then(at) {
            Some(None) => return Ok(None),
            Some(Some(axes)) => Some(axes),
            None => None,
        };
        let to = self.resized(dims, target, axes)?;
        let kernel = self.kernel(dims.len())?;
        // The unit vectors must have the rank of the data, because the kernel uses a triangle filter for
        // `linear` only from rank 5 on.
        let mut line = vec![1; dims.len().max(1)];
        let last = line.len() - 1;
        let mut all = Vec::with_capacity(to.axes.len());
        for ((&axis, &size), &scale) in to.axes.iter().zip(&to.sizes).zip(&to.scales) {
            let own = dims.get(axis).copied().unwrap_or(1);
            // Interpolate each unit vector; the results are the columns of the weights.
            let count = own.checked_mul(own).filter(|&count| count <= MAX_WEIGHTS);
            let count = count.ok_or_else(|| OpError::unsupported("the weights of an axis of this size"))?;
            let mut single = vec![0.0_f32; count];
            single.iter_mut().step_by(own + 1).for_each(|weight| *weight = 1.0);
            let singles = Tensor::from_vec(&[own, own], single)?;
            line[last] = own;
            let mut columns = Vec::with_capacity(own);
            for i in 0..own {
                let one = singles.slice(0, i, 1, 1)?.reshape(&line)?;
                columns.push(kernels::interpolate(&one, &[last], &[size], &[scale], &kernel)?);
            }
            let columns = columns.iter().map(Tensor::to_f32_vec).collect::<Result<Vec<_>, _>>()?;
            let rows = (0..size).flat_map(|row| columns.iter().map(move |column| column.get(row).copied()));
            let rows: Vec<f32> = rows.map(|weight| weight.unwrap_or(0.0)).collect();
            all.push((axis, Tensor::from_vec(&[size, own], rows)?));
        }
        Ok(Some(all))
    }
}
