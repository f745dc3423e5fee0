//! Distributes work among the threads of the current rayon pool. Outside a pool, or without the feature
//! `threads`, the calling thread does all the work.

use std::convert::Infallible;
#[cfg(feature = "threads")]
use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;

#[cfg(feature = "threads")]
use crate::Pool;

/// The minimum number of elements per thread, for kernels that compute or move elements.
pub(crate) const ELEMENTS: usize = 1 << 14;

/// As [`ELEMENTS`], but in multiply-adds, for convolutions.
#[cfg(feature = "kernels")]
pub(crate) const PRODUCTS: usize = 1 << 17;

/// Whether this thread belongs to a pool with several threads.
pub(crate) fn is_shared() -> bool {
    #[cfg(feature = "threads")]
    return rayon::current_thread_index().is_some() && rayon::current_num_threads() > 1;
    #[cfg(not(feature = "threads"))]
    false
}

/// The number of threads of the pool.
fn threads() -> usize {
    #[cfg(feature = "threads")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "threads"))]
    1
}

/// The number of units per part when `len` units are split. Each thread gets a few parts, unless they would
/// be smaller than `least`. With one thread, a single part holds all units.
pub(crate) fn part(len: usize, least: usize) -> usize {
    /// Several parts per thread, so that fast threads can take more of them.
    const EACH: usize = 3;
    share_of(EACH, len, least)
}

/// As [`part`], but one part per thread: for work with a fixed cost per part.
pub(crate) fn share(len: usize, least: usize) -> usize {
    share_of(1, len, least)
}

/// As [`part`], with the given number of parts per thread.
fn share_of(each: usize, len: usize, least: usize) -> usize {
    if !is_shared() {
        return len.max(1);
    }
    // Rounded to the nearest, so that almost two parts make two.
    let (threads, parts) = (threads(), len.saturating_add(least / 2) / least.max(1));
    // A multiple of the number of threads, so that all threads end at the same time.
    let parts = if parts < threads { parts } else { parts.min(each * threads) / threads * threads };
    len.div_ceil(parts.max(1)).max(1)
}

/// Calls `each` with every part, on all threads.
pub(crate) fn for_each<P: Send>(parts: impl Iterator<Item = P>, each: impl Fn(P) + Send + Sync) {
    let Ok(()) = try_for_each(parts, |part| {
        each(part);
        Ok::<(), Infallible>(())
    });
}

/// Calls `each` with every part, on all threads.
///
/// # Errors
/// An error of `each`.
#[cfg(feature = "threads")]
pub fn try_for_each<P: Send, E: Send>(
    mut parts: impl Iterator<Item = P>,
    each: impl Fn(P) -> Result<(), E> + Send + Sync,
) -> Result<(), E> {
    if !is_shared() {
        return parts.try_for_each(each);
    }
    fn unlocked<T>(result: Result<T, PoisonError<T>>) -> T {
        result.unwrap_or_else(PoisonError::into_inner)
    }
    let parts: Vec<_> = parts.map(|part| Mutex::new(Some(part))).collect();
    let failed = Mutex::new(None);
    on_all_threads(parts.len(), &|i| {
        let part = unlocked(parts[i].lock()).take();
        if let Some(Err(error)) = part.map(&each) {
            *unlocked(failed.lock()) = Some(error);
        }
    });
    unlocked(failed.into_inner()).map_or(Ok(()), Err)
}

/// Calls `each` with every part, on all threads.
///
/// # Errors
/// The first error of `each`.
#[cfg(not(feature = "threads"))]
pub fn try_for_each<P: Send, E: Send>(
    mut parts: impl Iterator<Item = P>,
    each: impl Fn(P) -> Result<(), E> + Send + Sync,
) -> Result<(), E> {
    parts.try_for_each(each)
}

/// Splits `all` into parts of whole units of `unit` elements; only the last part may end with an incomplete
/// unit. Calls `some` with the index of each part's first unit and the part, on all threads if there are more
/// than `least` units.
pub(crate) fn in_parts<T: Pod>(
    all: &mut [T],
    unit: usize,
    least: usize,
    some: impl Fn(usize, &mut [T]) + Send + Sync,
) {
    let bytes = unit.max(1).saturating_mul(size_of::<T>());
    in_parts_of_bytes(bytemuck::cast_slice_mut(all), bytes, least, &|first, part| {
        some(first, bytemuck::cast_slice_mut(part));
    });
}

/// [`in_parts`] on bytes, compiled once for all types.
fn in_parts_of_bytes(
    all: &mut [u8],
    unit: usize,
    least: usize,
    some: &(dyn Fn(usize, &mut [u8]) + Send + Sync),
) {
    let units = all.len() / unit;
    let at_once = part(units, least);
    if at_once < units {
        let parts = all.chunks_mut(at_once.saturating_mul(unit)).enumerate();
        for_each(parts, |(i, part)| some(i * at_once, part));
    } else {
        some(0, all);
    }
}

/// Calls `each` with every number below `count`. Not generic, so that rayon's code is compiled once. All
/// threads allocate from the calling thread's buffer pool.
#[cfg(feature = "threads")]
fn on_all_threads(count: usize, each: &(dyn Fn(usize) + Sync)) {
    use rayon::prelude::*;
    let memory = Pool::of_this_thread();
    (0..count).into_par_iter().for_each(|i| memory.scope(|| each(i)));
}

#[cfg(feature = "threads")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::elementwise::{BinaryOp, CompareOp, UnaryOp};
    use crate::kernels::window::Window;
    use crate::kernels::{
        Coordinates, Interpolate, InterpolateMode, Nearest, QuantizedMaxPool, Quantizer, avg_pool, concat,
        gather, group_convolution, interpolate, matmul, max_pool,
    };
    use crate::{ElementType, Tensor, TensorError};

    fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
    }

    #[test]
    fn threads_get_equal_numbers_of_parts() {
        assert_eq!(part(184, 74), 184);
        let cases = [
            (2, 184, 74, 92),
            (2, 300, 60, 75),
            (2, 100, 60, 50),
            (2, 100, 80, 100),
            (4, 100, 40, 34),
            (2, 600, 1, 100),
        ];
        for (threads, len, least, expected) in cases {
            assert_eq!(
                on_threads(threads, || part(len, least)),
                expected,
                "{len} units on {threads} threads"
            );
        }
        assert_eq!(on_threads(2, || share(600, 1)), 300);
        assert_eq!(on_threads(2, || part(3, usize::MAX)), 3);
    }

    #[test]
    fn every_part_gets_whole_units_once() {
        for threads in 1..=4 {
            let mut all = vec![0u32; 1003];
            on_threads(threads, || {
                in_parts(&mut all, 10, 7, |first, part| {
                    // An incomplete unit follows the last one.
                    assert!(part.len().is_multiple_of(10) || first * 10 + part.len() == 1003);
                    part.iter_mut().zip(first as u32 * 10..).for_each(|(x, i)| *x += i + 1);
                });
            });
            assert!(all.into_iter().eq(1..=1003), "{threads} threads");
        }
    }

    #[test]
    fn threads_change_no_bit() {
        let x = Tensor::from_vec(&[4, 16, 56, 58], (0..207_872).map(|i| (i * 7919 % 1013) as f32).collect());
        let x = x.unwrap();
        let levels = x.cast(ElementType::U32).unwrap();
        let window = Window { strides: [2, 2][..].into(), ..Window::dense(2) };
        let wide = |mode| {
            let how = Interpolate {
                mode,
                nearest: Nearest::Floor,
                coordinates: Coordinates::HalfPixel,
                antialias: false,
                cube_coeff: -0.75,
            };
            interpolate(&x, &[2, 3], &[70, 87], &[1.25, 1.5], &how)
        };
        let [low, high] = [0.0f32, 1013.0].map(Tensor::scalar);
        let ends = [&low, &high, &low, &high];
        let image_codes = Quantizer::new(ends, 256, 16).unwrap();
        let element_codes = Quantizer::of_elements(ends, 256).unwrap();
        let filters =
            Tensor::from_vec(&[1, 5, 16, 3, 3], (0..720).map(|i| (i % 11) as f32).collect()).unwrap();
        let padded = Window { pads_begin: [1, 1][..].into(), pads_end: [1, 1][..].into(), ..window.clone() };
        let lines = x.reshape(&[64, 56 * 58]).unwrap();
        let picks = Tensor::from_vec(&[40], (0..40i64).map(|i| i * 7 % 16).collect()).unwrap();
        let results = || -> Result<Vec<Tensor>, TensorError> {
            let codes = image_codes.quantize(&x)?;
            let byte_codes = element_codes.quantize(&x)?;
            Ok(vec![
                image_codes.dequantize(&codes)?,
                Quantizer::add([(&image_codes, &codes), (&image_codes, &codes)], &image_codes)?,
                codes,
                element_codes.dequantize(&byte_codes)?,
                byte_codes,
                group_convolution(&x, &filters, &padded)?,
                concat(&[&x, &x], 0)?,
                concat(&[&x, &x.slice(1, 0, 3, 1)?], 1)?,
                concat(&[&x, &x], 3)?,
                gather(&x, &picks, 1, 0)?,
                gather(&lines, &picks, 0, 0)?,
                matmul(&lines.slice(0, 0, 1, 1)?, &lines, false, true)?,
                matmul(&lines.slice(0, 9, 5, 1)?, &lines, false, true)?,
                matmul(&lines, &lines.slice(0, 9, 5, 1)?, false, true)?,
                max_pool(&x, &[3, 3], &window, &[27, 28])?,
                avg_pool(&x, &[3, 3], &window, &[27, 28], false)?,
                QuantizedMaxPool::new([56, 58], &[3, 3], &window, &[27, 28]).unwrap().run(&levels)?,
                wide(InterpolateMode::Nearest)?,
                wide(InterpolateMode::LinearOnnx)?,
                UnaryOp::Sin.apply(&x)?,
                UnaryOp::Exp.apply(&x.slice(3, 57, 58, -1)?)?,
                BinaryOp::FloorMod.apply(&x, &x.slice(3, 5, 1, 1)?)?,
                CompareOp::Less.apply(&x, &x.slice(2, 5, 1, 1)?)?,
            ])
        };
        let expected = results().unwrap();
        for threads in [2, 3] {
            assert!(on_threads(threads, results).unwrap() == expected, "{threads} threads");
        }
    }
}
