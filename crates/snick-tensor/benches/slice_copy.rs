//! Throughput of the strided copy that packs slices, reversals, transposes and broadcasts, in bytes per
//! second.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use snick_tensor::{ElementType, Tensor, TensorError};

/// Views of one image-like tensor, one for each kind of memory access pattern.
fn views(image: &Tensor) -> Result<Vec<(&'static str, Tensor)>, TensorError> {
    let [batch, channels, rows, columns] = [1, 64, 224, 224];
    Ok(vec![
        ("rows 1:-1", image.slice(2, 1, rows - 2, 1)?),
        ("columns 1:-1", image.slice(3, 1, columns - 2, 1)?),
        ("columns ::2", image.slice(3, 0, columns / 2, 2)?),
        ("columns ::7", image.slice(3, 0, columns / 7, 7)?),
        ("columns ::-1", image.slice(3, columns - 1, columns, -1)?),
        ("rows ::-1", image.slice(2, rows - 1, rows, -1)?),
        ("channels ::2", image.slice(1, 0, channels / 2, 2)?),
        ("channels last", image.permute(&[0, 2, 3, 1])?),
        ("transposed", image.permute(&[0, 1, 3, 2])?),
        ("broadcast", image.slice(3, 0, 1, 1)?.broadcast_to(&[batch, channels, rows, columns])?),
    ])
}

fn slice_copy(criterion: &mut Criterion) {
    for et in [ElementType::U8, ElementType::F16, ElementType::F32, ElementType::I64] {
        let mut group = criterion.benchmark_group(et.name());
        let image = Tensor::zeros(et, &[1, 64, 224, 224]).and_then(|image| views(&image));
        for (name, view) in image.unwrap_or_default() {
            let bytes = et.byte_len(view.len()).unwrap_or(0);
            group.throughput(Throughput::Bytes(bytes as u64));
            group.bench_function(name, |b| b.iter(|| black_box(&view).contiguous()));
        }
        group.finish();
    }
}

criterion_group!(benches, slice_copy);
criterion_main!(benches);
