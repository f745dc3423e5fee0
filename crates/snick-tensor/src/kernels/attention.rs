//! Attention: OpenVINO's `ScaledDotProductAttention-13` without masks.
//!
//! **Source.** Blocks queries as FlashAttention does, but not keys: each block holds all scores of its
//! queries, so softmax needs no rescaling.
//!
//! **Loop nest**, outer to inner: batch and heads; blocks of [`QUERIES`] queries. Each block computes the
//! product with the keys, the softmax, and the product with the values.
//!
//! **Layout.** Scores are stored transposed: the queries of a block are adjacent for each key. Softmax
//! therefore vectorises over queries and writes its weights directly as packed tiles, which are never copied.
//! Both products are [`gemm`](crate::kernels::gemm). Keys and values are packed once per head.
//!
//! **Threads.** Each thread computes some heads.

use crate::buffer::Buffer;
use crate::kernels::gemm::{Matrix, PackedLhs, PackedRhs, gemm, gemm_in_rows, tile_rows};
use crate::kernels::math::exp_or_zero;
use crate::kernels::matmul::algorithm::is_narrow;
use crate::kernels::matmul::{batches, matrix};
use crate::kernels::rows::PARTS;
use crate::kernels::vectors::{Instructions, Isa, Vectorised, dispatch_on};
use crate::kernels::{matmul, sharing, softmax};
use crate::layout::checked_len;
use crate::tensor::stored_bytes;
use crate::{Dims, ElementType, Tensor, TensorError};

/// `softmax(query key^T) value` of query `[.., L, E]`, key `[.., S, E]` and value `[.., S, V]`. The result is
/// bit-identical to calling [`matmul`], [`softmax`] and [`matmul`]. If the queries are processed in blocks,
/// the full score matrix is never stored.
///
/// # Errors
/// Same as [`matmul`] and [`softmax`].
pub fn attention(query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor, TensorError> {
    if pays_in_blocks(query, key, value) {
        return in_blocks(query, key, value);
    }
    let scores = matmul(query, key, false, true)?;
    let weights = softmax(&scores, scores.rank().saturating_sub(1))?;
    matmul(&weights, value, false, false)
}

/// Queries per block: a multiple of the tile height and the panel width, small enough for the scores of a
/// block to stay in the cache.
const QUERIES: usize = 2 * WHOLE;

/// The smallest number of queries that is a multiple of the tile height and the vector length on every
/// instruction set. Blocks are used only for more queries than this: on four such shapes, calling the three
/// kernels in sequence took about 1.4 to 1.7 times as long.
const WHOLE: usize = 48;

/// Whether blocks are faster: for `f32` tensors with equal batches whose products would be tiled.
fn pays_in_blocks(query: &Tensor, key: &Tensor, value: &Tensor) -> bool {
    let ([batch @ .., rows, depth], [batch_k @ .., keys, depth_k], [batch_v @ .., keys_v, columns]) =
        (query.dims(), key.dims(), value.dims())
    else {
        return false;
    };
    let fit = batch == batch_k && batch == batch_v && depth == depth_k && keys == keys_v;
    let is_f32 = [query, key, value].iter().all(|t| t.element_type() == ElementType::F32);
    // `matmul` sums narrow products in another order, so blocks would not be bit-identical.
    let is_tiled = !is_narrow(*keys, *depth) && !is_narrow(*columns, *keys);
    fit && is_f32 && is_tiled && *rows > WHOLE && *depth > 0 && !query.is_empty() && !batch.is_empty()
}

/// Computes each matrix of a batch in blocks of queries.
fn in_blocks(query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor, TensorError> {
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
    sharing::try_for_each(out.chunks_exact_mut(size).zip(starts), one)?;
    Tensor::from_buffer(ElementType::F32, &dims, out)
}

/// Computes one matrix of queries in blocks.
fn one_matrix(
    query: &Matrix<f32>,
    key: &Matrix<f32>,
    value: &Matrix<f32>,
    out: &mut [f32],
) -> Result<(), TensorError> {
    let (isa, keys, columns) = (Isa::best(), key.rows, value.columns);
    let packed_keys = PackedLhs::pack(isa, key);
    let values = PackedRhs::new(isa, value).into_packed();
    let mut scores = Buffer::<f32>::any(keys.saturating_mul(QUERIES))?;
    for (block, out) in out.chunks_mut(QUERIES * columns).enumerate() {
        let queries = out.len() / columns;
        let queries_of_block = query.rows_from(block * QUERIES, queries).transposed();
        let row_len = queries.next_multiple_of(WHOLE);
        let scores = &mut scores[..keys * row_len];
        gemm_in_rows(&packed_keys, &PackedRhs::new(isa, &queries_of_block), scores, row_len);
        let height = tile_rows(isa);
        let mut tiles = Buffer::any(queries.next_multiple_of(height) * keys)?;
        dispatch_on(isa, Weights { scores, row_len, tiles: &mut tiles, height });
        gemm(&PackedLhs::of_tiles(isa, queries, keys, tiles), &values, out);
    }
    Ok(())
}

/// Computes the softmax of each column of scores into packed tiles of weights, bit-identical to [`softmax`].
struct Weights<'a> {
    /// For each key, the scores of `row_len` queries.
    scores: &'a mut [f32],
    row_len: usize,
    /// Tiles of `height` queries, each with the weights of all keys.
    tiles: &'a mut [f32],
    height: usize,
}

/// Queries in a vector.
const LANES: usize = 16;

impl Vectorised for Weights<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { scores, row_len, tiles, height } = self;
        let mut scales = [0.0; QUERIES];
        for (first, scales) in (0..row_len).step_by(LANES).zip(scales.as_chunks_mut().0) {
            *scales = exponentials::<I>(scores, row_len, first);
        }
        let size = scores.len() / row_len * height;
        for (tile, first) in tiles.chunks_exact_mut(size.max(1)).zip((0..).step_by(height)) {
            let (scores, scales) = (&scores[first..], &scales[first..]);
            // `tile_rows` returns only these heights.
            match height {
                12 => scaled::<12>(tile, scores, row_len, scales),
                6 => scaled::<6>(tile, scores, row_len, scales),
                _ => scaled::<4>(tile, scores, row_len, scales),
            }
        }
    }
}

/// Replaces the scores of a vector of queries with `exp(score - max)`. Returns the reciprocals of their sums.
#[inline(always)]
fn exponentials<I: Instructions>(scores: &mut [f32], row_len: usize, first: usize) -> [f32; LANES] {
    let mut greatest = [f32::NEG_INFINITY; LANES];
    for row in scores.chunks_exact(row_len) {
        let Some(row) = row[first..].first_chunk::<LANES>() else { continue };
        for (most, &x) in greatest.iter_mut().zip(row) {
            *most = if *most < x { x } else { *most };
        }
    }
    let mut sums = [[0.0; LANES]; PARTS];
    for (i, rows) in scores.chunks_mut(PARTS * row_len).enumerate() {
        // Adds the keys of an incomplete last group to the last sums, in the same order as `fold_in_parts`.
        let others = if i > 0 { PARTS - rows.len() / row_len } else { 0 };
        for (row, sum) in rows.chunks_exact_mut(row_len).zip(&mut sums[others..]) {
            let Some(row) = row[first..].first_chunk_mut::<LANES>() else { continue };
            *row = std::array::from_fn(|i| exp_or_zero::<I>(row[i] - greatest[i]));
            *sum = std::array::from_fn(|i| sum[i] + row[i]);
        }
    }
    let mut total = [0.0; LANES];
    for sum in sums {
        total = std::array::from_fn(|i| total[i] + sum[i]);
    }
    total.map(|total| 1.0 / total)
}

/// Copies the first elements of each row, multiplied by their scales, to a column of a tile.
#[inline(always)]
fn scaled<const HEIGHT: usize>(tile: &mut [f32], rows: &[f32], row_len: usize, scales: &[f32]) {
    let Some(scales) = scales.first_chunk::<HEIGHT>() else { return };
    for (column, row) in tile.as_chunks_mut::<HEIGHT>().0.iter_mut().zip(rows.chunks(row_len)) {
        let Some(row) = row.first_chunk::<HEIGHT>() else { continue };
        *column = std::array::from_fn(|i| row[i] * scales[i]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(dims: &[usize], seed: usize) -> Tensor {
        let len: usize = dims.iter().product();
        let value = |i: usize| ((i * 7919 + seed) % 1013) as f32 / 300.0 - 1.5;
        Tensor::from_vec(dims, (0..len).map(value).collect()).unwrap()
    }

    /// The definition, element by element.
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
            // A view, like the heads of real models.
            let key = floats(&[keys, batch, depth], 5).permute(&[1, 0, 2]).unwrap();
            let value = floats(&[batch, keys, columns], 9);
            assert!(pays_in_blocks(&query, &key, &value));
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
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        // Several matrices, and a single one with an incomplete last block.
        for [batch, queries, keys, depth] in [[4, 60, 60, 20], [1, 50, 30, 2000]] {
            let [key, value] = [2, 3].map(|seed| floats(&[batch, keys, depth], seed));
            let query = floats(&[batch, queries, depth], 1);
            let one = attention(&query, &key, &value).unwrap();
            assert_eq!(pool.install(|| attention(&query, &key, &value)).unwrap(), one);
        }
    }
}
