//! Attention: OpenVINO's `ScaledDotProductAttention-13` without masks.

use crate::buffer::Buffer;
use crate::kernels::gemm::{Matrix, PackedLhs, PackedRhs, gemm};
use crate::kernels::matmul::{batches, matrix};
use crate::kernels::softmax::softmax_rows;
use crate::kernels::vectors::Isa;
use crate::kernels::{matmul, sharing, softmax};
use crate::layout::checked_len;
use crate::tensor::stored_bytes;
use crate::{Dims, ElementType, Tensor, TensorError};

/// `softmax(query key^T) value` of query `[.., L, E]`, key `[.., S, E]` and value `[.., S, V]`: to the last bit what
/// [`matmul`] and [`softmax`] give, but all scores are in memory at the same time only if they are few.
///
/// # Errors
/// As [`matmul`] and [`softmax`].
pub fn attention(query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor, TensorError> {
    if are_many(query, key, value) {
        return by_blocks(query, key, value);
    }
    let scores = matmul(query, key, false, true)?;
    let weights = softmax(&scores, scores.rank().saturating_sub(1))?;
    matmul(&weights, value, false, false)
}

/// Queries whose scores are computed together: they stay in the cache, and are whole tiles of a product.
const ROWS: usize = 48;

/// Fewer queries, keys or values have narrow products, which sum in another order.
const LEAST: usize = 16;

/// Whether the scores of `f32` matrices of equal batches are worth blocks.
fn are_many(query: &Tensor, key: &Tensor, value: &Tensor) -> bool {
    let ([batch @ .., rows, depth], [batch_k @ .., keys, depth_k], [batch_v @ .., keys_v, columns]) =
        (query.dims(), key.dims(), value.dims())
    else {
        return false;
    };
    let fit = batch == batch_k && batch == batch_v && depth == depth_k && keys == keys_v;
    let is_f32 = [query, key, value].iter().all(|t| t.element_type() == ElementType::F32);
    let is_large = *rows > ROWS && *keys >= LEAST && *columns >= LEAST && *depth > 0;
    fit && is_f32 && is_large && !query.is_empty() && !batch.is_empty()
}

/// The attention of each matrix of a batch, some queries at a time.
fn by_blocks(query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor, TensorError> {
    let mut dims = Dims::from_slice(query.dims());
    if let (Some(last), Some(&columns)) = (dims.last_mut(), value.dims().last()) {
        *last = columns;
    }
    stored_bytes(ElementType::F32, &dims)?;
    let mut out = Buffer::any(checked_len(&dims).unwrap_or(0))?;
    let (queries, starts_q) = batches::<f32>(query, query.dims())?;
    let (keys, starts_k) = batches::<f32>(key, key.dims())?;
    let (values, starts_v) = batches::<f32>(value, value.dims())?;
    let size = out.len() / starts_q.len().max(1);
    let one = |(out, (q, (k, v))): (&mut [f32], (&usize, (&usize, &usize)))| {
        let [q, k, v] = [(&queries, q), (&keys, k), (&values, v)].map(|(all, &start)| matrix(all, start));
        one_matrix(&q, &k, &v, out)
    };
    let starts = starts_q.iter().zip(starts_k.iter().zip(&starts_v));
    let mut parts = out.chunks_exact_mut(size).zip(starts);
    if sharing::is_shared() && parts.len() > 1 {
        sharing::try_for_each(parts, one)?;
    } else {
        parts.try_for_each(one)?;
    }
    Tensor::from_buffer(ElementType::F32, &dims, out)
}

/// The attention of one matrix of queries.
fn one_matrix(
    query: &Matrix<f32>,
    key: &Matrix<f32>,
    value: &Matrix<f32>,
    out: &mut [f32],
) -> Result<(), TensorError> {
    let (isa, keys, columns) = (Isa::best(), key.rows, value.columns);
    let turned_keys = PackedRhs::new(isa, &key.turned());
    let values = PackedRhs::new(isa, value).into_packed();
    let some = keys.saturating_mul(ROWS);
    let (mut scores, mut weights) = (Buffer::<f32>::any(some)?, Buffer::<f32>::any(some)?);
    for (block, out) in out.chunks_mut(ROWS * columns).enumerate() {
        let rows = out.len() / columns;
        let queries = query.rows_from(block * ROWS, rows);
        let (scores, weights) = (&mut scores[..rows * keys], &mut weights[..rows * keys]);
        gemm(&PackedLhs::pack(isa, &queries), &turned_keys, scores);
        softmax_rows(scores, weights, keys);
        gemm(&PackedLhs::pack(isa, &Matrix::packed(weights, rows, keys)), &values, out);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(dims: &[usize], seed: usize) -> Tensor {
        let len: usize = dims.iter().product();
        let value = |i: usize| ((i * 7919 + seed) % 1013) as f32 / 300.0 - 1.5;
        Tensor::from_vec(dims, (0..len).map(value).collect()).unwrap()
    }

    /// The definition, number by number.
    fn naive(query: &[f32], key: &[f32], value: &[f32], depth: usize, columns: usize) -> Vec<f64> {
        let mut out = Vec::new();
        for query in query.chunks(depth) {
            let dot = |key: &[f32]| query.iter().zip(key).map(|(&q, &k)| f64::from(q) * f64::from(k)).sum();
            let scores: Vec<f64> = key.chunks(depth).map(dot).collect();
            let most = scores.iter().copied().fold(f64::MIN, f64::max);
            let powers: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
            let sum: f64 = powers.iter().sum();
            for column in 0..columns {
                let values = value.iter().skip(column).step_by(columns);
                out.push(powers.iter().zip(values).map(|(p, &v)| p / sum * f64::from(v)).sum());
            }
        }
        out
    }

    #[test]
    fn blocks_give_what_the_three_kernels_give() {
        for [batch, rows, keys, depth, columns] in
            [[2, 100, 33, 24, 16], [1, 49, 1100, 8, 40], [3, 97, 16, 64, 17]]
        {
            let query = floats(&[batch, rows, depth], 1);
            // A view, as heads are.
            let key = floats(&[keys, batch, depth], 5).permute(&[1, 0, 2]).unwrap();
            let value = floats(&[batch, keys, columns], 9);
            assert!(are_many(&query, &key, &value));
            let found = attention(&query, &key, &value).unwrap();
            let scores = matmul(&query, &key, false, true).unwrap();
            let expected = matmul(&softmax(&scores, 2).unwrap(), &value, false, false).unwrap();
            assert_eq!(found, expected);
            let [q, k, v, found] = [&query, &key, &value, &found].map(|t| t.to_f32_vec().unwrap());
            let expected =
                naive(&q[..rows * depth], &k[..keys * depth], &v[..keys * columns], depth, columns);
            for (found, expected) in found.iter().zip(expected) {
                assert!((f64::from(*found) - expected).abs() < 1e-5, "{found} {expected}");
            }
        }
    }

    #[test]
    fn few_scores_and_other_shapes_are_computed_too() {
        let found = attention(&floats(&[1, 3, 4], 0), &floats(&[2, 5, 4], 1), &floats(&[5, 6], 2)).unwrap();
        assert_eq!(found.dims(), [2, 3, 6]);
        assert!(
            attention(&floats(&[1, 60, 4], 0), &floats(&[1, 60, 5], 1), &floats(&[1, 60, 20], 2)).is_err()
        );
    }

    #[cfg(feature = "threads")]
    #[test]
    fn threads_change_no_bit() {
        let [query, key, value] = [1, 2, 3].map(|seed| floats(&[4, 60, 20], seed));
        let one = attention(&query, &key, &value).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        assert_eq!(pool.install(|| attention(&query, &key, &value)).unwrap(), one);
    }
}
