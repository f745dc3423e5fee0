//! Dot: contracts the last axes of the first input with the first axes of the second.

use snick_ir::{OpError, Value};
use snick_tensor::Listed;

use super::layers::product;
use super::site::Site;

/// Adds a MatMul for a Dot. Reshapes inputs that are not matrices.
pub(super) fn dot(site: &mut Site) -> Result<Value, OpError> {
    let (a, b) = (site.input(0)?, site.input(1)?);
    let ranks = site.dims(a).zip(site.dims(b)).map(|(a, b)| (a.len(), b.len()));
    let count = match (site.node.attrs.int("reduction_axes_count")?, ranks) {
        (Some(count), _) => count,
        // Old files omit the count. It defaults to 1, or to 0 if an input is a scalar.
        (None, Some((a, b))) => i64::from(a > 0 && b > 0),
        (None, None) => return Err(OpError::MissingAttribute { name: "reduction_axes_count" }),
    };
    let Some((rank_a, rank_b)) = ranks else {
        return Err(OpError::unsupported("a Dot of inputs of unknown rank"));
    };
    let count =
        usize::try_from(count).ok().filter(|&count| count <= rank_a.min(rank_b)).ok_or_else(|| {
            let expected = format!("0 to {}, the ranks of the inputs", rank_a.min(rank_b));
            OpError::out_of_range("reduction_axes_count", count, expected)
        })?;
    match (count, rank_a, rank_b) {
        (0, 0, _) | (0, _, 0) => site.multiply(a, b),
        (1, 1.., 1 | 2) => site.matmul(a, b),
        _ => by_matrices(site, a, b, count),
    }
}

fn by_matrices(site: &mut Site, a: Value, b: Value, count: usize) -> Result<Value, OpError> {
    let (Some(dims_a), Some(dims_b)) = (site.sizes(a), site.sizes(b)) else {
        return Err(OpError::unsupported("a Dot over several axes of unknown size"));
    };
    let (rows, inner) = dims_a.split_at(dims_a.len() - count);
    let (against, columns) = dims_b.split_at(count);
    if inner != against {
        return Err(OpError::conflict("the reduced axes differ: {} and {}", Listed(inner), Listed(against)));
    }
    let reduced = product(inner)?;
    let left = site.reshape(a, &[product(rows)?, reduced])?;
    let right = site.reshape(b, &[reduced, product(columns)?])?;
    let matrix = site.matmul(left, right)?;
    site.reshape(matrix, &[rows, columns].concat())
}
