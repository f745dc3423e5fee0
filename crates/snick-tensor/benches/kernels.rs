//! Throughput of the kernels in which models spend most of their time, in multiply-adds or bytes per second.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use snick_tensor::kernels::{
    EpsMode, ReduceOp, UnaryOp, Window, convolution, group_convolution, matmul, max_pool, mvn, softmax,
};
use snick_tensor::{Dims, ElementType, Tensor, TensorError};

fn tensor(dims: &[usize]) -> Result<Tensor, TensorError> {
    let len = dims.iter().product();
    Tensor::from_vec(dims, (0..len).map(|i: usize| (i % 97) as f32 * 0.01 - 0.5).collect())
}

/// Products `[m, k] x [k, n]` with a constant, transposed right operand, whose packed form is cached.
fn products(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("matmul");
    for [m, k, n] in [[1, 1024, 1024], [8, 64, 64], [128, 768, 768], [512, 512, 512]] {
        let (Ok(a), Ok(b)) = (tensor(&[m, k]), tensor(&[n, k])) else { return };
        let b = b.kept();
        group.throughput(Throughput::Elements((m * k * n) as u64));
        group.bench_function(format!("{m}x{k}x{n}"), |bench| {
            bench.iter(|| matmul(black_box(&a), black_box(&b), false, true));
        });
    }
    group.finish();
}

/// Convolutions with constant filters, given by input channels, output channels, image size, kernel size and
/// stride.
fn convolutions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("convolution");
    for [depth, outputs, size, kernel, stride] in
        [[3, 32, 224, 3, 2], [64, 64, 56, 3, 1], [64, 256, 56, 1, 1], [512, 512, 7, 3, 1]]
    {
        let (Ok(image), Ok(filters)) =
            (tensor(&[1, depth, size, size]), tensor(&[outputs, depth, kernel, kernel]))
        else {
            return;
        };
        let filters = filters.kept();
        let pad = (kernel / 2) as isize;
        let window = Window {
            strides: Dims::from_elem(stride, 2),
            pads_begin: [pad; 2].into_iter().collect(),
            pads_end: [pad; 2].into_iter().collect(),
            ..Window::dense(2)
        };
        let windows = (size / stride) * (size / stride);
        group.throughput(Throughput::Elements((windows * depth * outputs * kernel * kernel) as u64));
        group.bench_function(format!("{depth}-{outputs} {size} k{kernel} s{stride}"), |bench| {
            bench.iter(|| convolution(black_box(&image), black_box(&filters), &window));
        });
    }
    if let (Ok(image), Ok(filters)) = (tensor(&[1, 128, 56, 56]), tensor(&[128, 1, 1, 3, 3])) {
        let filters = filters.kept();
        group.throughput(Throughput::Elements(128 * 54 * 54 * 9));
        group.bench_function("depthwise 128 56 k3", |bench| {
            bench.iter(|| group_convolution(black_box(&image), black_box(&filters), &Window::dense(2)));
        });
    }
    group.finish();
}

/// Kernels that read every element of an image: element-wise functions, reductions, pooling and conversions.
fn passes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("passes");
    let Ok(image) = tensor(&[1, 64, 112, 112]) else { return };
    group.throughput(Throughput::Bytes((image.len() * 4) as u64));
    for op in [UnaryOp::Relu, UnaryOp::Exp, UnaryOp::Tanh, UnaryOp::Sigmoid, UnaryOp::GeluErf] {
        group.bench_function(format!("{op:?}"), |bench| bench.iter(|| op.apply(black_box(&image))));
    }
    for axis in [1, 3] {
        group.bench_function(format!("softmax {axis}"), |bench| {
            bench.iter(|| softmax(black_box(&image), axis));
        });
        group.bench_function(format!("sum {axis}"), |bench| {
            bench.iter(|| ReduceOp::Sum.apply(black_box(&image), &[axis], true));
        });
        group.bench_function(format!("mvn {axis}"), |bench| {
            bench.iter(|| mvn(black_box(&image), &[axis], true, 1e-5, EpsMode::InsideSqrt));
        });
    }
    let window = Window { strides: Dims::from_elem(2, 2), ..Window::dense(2) };
    group.bench_function("max_pool 2x2", |bench| {
        bench.iter(|| max_pool(black_box(&image), &[2, 2], &window, &[56, 56]));
    });
    for et in [ElementType::F16, ElementType::U8] {
        let Ok(narrow) = image.cast(et) else { return };
        group.bench_function(format!("{et} to f32"), |bench| {
            bench.iter(|| black_box(&narrow).cast(ElementType::F32));
        });
    }
    group.finish();
}

criterion_group!(benches, products, convolutions, passes);
criterion_main!(benches);
