//! nGraph functions, in `cases/ngraph`.

use snick_ir::Graph;
use snick_run::{Options, Session};
use snick_tensor::Tensor;

use crate::files;

/// The inferred and lowered graph of an nGraph function in `cases/ngraph`.
fn canonical(case: &str) -> Graph {
    let path = files::root().join("tests/cases/ngraph").join(case);
    let mut read = snick_read::read_file(&path, None).unwrap();
    assert!(read.errors.is_empty(), "{:?}", read.errors);
    assert_eq!(snick_ir::infer(&mut read.graph), []);
    let report = snick_pass::lower_slices(&mut read.graph);
    assert!(report.errors.is_empty() && report.missed.is_empty(), "{:?}", report.missed);
    read.graph
}

/// The outputs of a case for inputs that count up from 0, without the outputs of opaque layers.
fn run(case: &str) -> Vec<Tensor> {
    let graph = canonical(case);
    let inputs = graph.parameters().map(|id| {
        let fact = &graph.node(id).outs()[0].fact;
        let dims = fact.shape.as_static().unwrap();
        let count = dims.iter().product::<usize>() as i64;
        Tensor::from_vec(&dims, (0..count).collect()).unwrap().cast(fact.element_type).unwrap()
    });
    let inputs: Vec<Tensor> = inputs.collect();
    let how = Options { keep_going: true, ..Options::default() };
    Session::new(&graph).unwrap().run(&inputs, how).values.into_iter().flatten().collect()
}

#[test]
fn replace_slice_replaces_the_range() {
    let outputs = run("replace_slice.json");
    let mut dense: Vec<i64> = (0..30).collect();
    let mut strided = dense.clone();
    for k in 0..6 {
        dense[(1 + k / 3) * 6 + 2 + k % 3] = k as i64;
    }
    for k in 0..4 {
        strided[(1 + 3 * (k / 2)) * 6 + 4 * (k % 2)] = k as i64;
    }
    let outputs: Vec<Vec<i64>> = outputs.iter().map(|output| output.to_i64_vec().unwrap()).collect();
    assert_eq!(outputs, [dense, strided, (0..4).collect()]);
}

#[test]
fn dot_reduces_the_inner_axes() {
    let outputs = run("dot.json");
    let outputs: Vec<Vec<i64>> = outputs.iter().map(|output| output.to_i64_vec().unwrap()).collect();
    let sum = |terms: &dyn Fn(i64) -> i64, count: i64| (0..count).map(terms).sum::<i64>();
    let both = (0..10).map(|at| sum(&|k| (at / 5 * 12 + k) * (k * 5 + at % 5), 12)).collect();
    let last = (0..6).map(|at| sum(&|k| (at * 4 + k) * k, 4)).collect();
    let outer = (0..16).map(|at| (at / 4) * (at % 4)).collect();
    // The scalar also counts up from 0.
    assert_eq!(outputs, [both, vec![0; 24], last, outer, vec![14]]);
}

/// The gradient with respect to the data is the adjoint of the convolution:
/// `<conv(x, w), d> = <x, gradient(w, d)>`.
#[test]
fn convolution_gradients_are_adjoint() {
    let outputs = run("gradient.json");
    let sums: Vec<f64> = outputs[..2].iter().flat_map(|output| output.to_f64_vec().unwrap()).collect();
    assert_eq!(sums[0], sums[1]);
    assert!(sums[0] > 0.0);
    assert_eq!(outputs.len(), 5);
}

/// The same holds for all kinds of windows with strides, dilations and padding. Outputs come in pairs.
#[test]
fn window_gradients_are_adjoint() {
    let outputs = run("adjoint.json");
    let sums: Vec<f64> = outputs.iter().flat_map(|output| output.to_f64_vec().unwrap()).collect();
    assert_eq!(sums.len(), 14);
    for pair in sums.chunks(2) {
        assert!(pair[0] > 0.0 && (pair[0] - pair[1]).abs() <= 1e-12 * pair[0], "{sums:?}");
    }
}

/// Normalised data has mean beta and deviation gamma. Gradients match finite differences of the sum of the
/// normalised data, with each element weighted by the square of its index.
#[test]
fn batch_norm_gradients_match_finite_differences() {
    let outputs = run("batch_norm.json");
    let outputs: Vec<Vec<f64>> = outputs.iter().map(|output| output.to_f64_vec().unwrap()).collect();
    let [value, mean, variance, by_data, by_gamma, by_beta] = outputs.as_slice() else {
        panic!("{outputs:?}")
    };
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
    for channel in 0..2 {
        let places = || (0..12).map(|at| at / 4 * 8 + channel * 4 + at % 4);
        let mean_of = |of: &dyn Fn(usize) -> f64| places().map(of).sum::<f64>() / 12.0;
        // Parameters count up from 0.
        let data = |at: usize| at as f64;
        let centre = mean_of(&data);
        let spread = mean_of(&|at| (data(at) - centre).powi(2));
        close(mean[channel], centre);
        close(variance[channel], spread);
        let (gamma, beta) = (channel as f64, channel as f64);
        let normal = |at: usize| (data(at) - centre) / spread.sqrt();
        places().for_each(|at| close(value[at], normal(at) * gamma + beta));
        let delta = |at: usize| data(at) * data(at);
        close(by_beta[channel], mean_of(&delta) * 12.0);
        close(by_gamma[channel], mean_of(&|at| delta(at) * normal(at)) * 12.0);
        for at in places() {
            let loss = |step: f64| {
                let data = |other: usize| data(other) + if other == at { step } else { 0.0 };
                let centre = mean_of(&data);
                let spread = mean_of(&|at| (data(at) - centre).powi(2));
                mean_of(&|at| delta(at) * gamma * (data(at) - centre) / spread.sqrt()) * 12.0
            };
            let slope = (loss(1e-4) - loss(-1e-4)) / 2e-4;
            assert!((by_data[at] - slope).abs() < 1e-5, "{} {slope}", by_data[at]);
        }
    }
}

/// Contracts the last axis of one operand with an axis of the other. Inputs count up from 0.
#[test]
fn products_and_grouped_filters_sum_as_defined() {
    let outputs = run("products.json");
    let outputs: Vec<Vec<f64>> = outputs.iter().map(|output| output.to_f64_vec().unwrap()).collect();
    let [plain, transposed, other_form, grouped, ..] = outputs.as_slice() else { panic!("{outputs:?}") };
    let a = |batch: usize, i: usize, k: usize| ((batch * 3 + i) * 4 + k) as f64;
    let mut want = [Vec::new(), Vec::new()];
    for (batch, i, j) in (0..30).map(|at| (at / 15, at / 5 % 3, at % 5)) {
        let sum = |b: &dyn Fn(usize) -> usize| (0..4).map(|k| a(batch, i, k) * b(k) as f64).sum::<f64>();
        want[0].push(sum(&|k| (batch * 4 + k) * 5 + j));
        want[1].push(sum(&|k| (batch * 5 + j) * 4 + k));
    }
    assert_eq!([plain, transposed, other_form], [&want[0], &want[1], &want[1]]);
    // Six filters in two groups read two channels each, with one element of padding in front.
    let data = |channel: usize, at: usize| at.checked_sub(1).map_or(0.0, |at| (channel * 5 + at) as f64);
    let filtered = (0..30).map(|n| (n / 5, n % 5)).map(|(filter, at)| {
        let terms = (0..4).map(|n| (n / 2, n % 2));
        let term = |(channel, k): (usize, usize)| {
            data(filter / 3 * 2 + channel, at + k) * ((filter * 2 + channel) * 2 + k) as f64
        };
        terms.map(term).sum::<f64>()
    });
    assert_eq!(*grouped, filtered.collect::<Vec<f64>>());
}

#[test]
fn reductions_join_elements_by_their_function() {
    let outputs = run("reductions.json");
    let outputs: Vec<Vec<f64>> = outputs.iter().map(|output| output.to_f64_vec().unwrap()).collect();
    let [max, min, product, sum, all, any, by_input, arg_max, joined] = outputs.as_slice() else {
        panic!("{outputs:?}")
    };
    let x = |i: usize, j: usize, k: usize| ((i * 3 + j) * 4 + k) as f64;
    let outer = |j: usize| (0..8).map(move |at| x(at / 4, j, at % 4));
    let by_axis = |fold: &dyn Fn(usize) -> f64| (0..3).map(fold).collect::<Vec<f64>>();
    assert_eq!(*max, by_axis(&|j| outer(j).fold(f64::MIN, f64::max)));
    assert_eq!(*min, by_axis(&|j| outer(j).fold(f64::MAX, f64::min)));
    assert_eq!(*product, by_axis(&|j| outer(j).product()));
    assert_eq!(*sum, by_axis(&|j| outer(j).sum()));
    // The booleans also count up: all but the first are true.
    assert_eq!((all.as_slice(), any.as_slice()), (&[0.0, 1.0][..], &[1.0, 1.0][..]));
    let inner = |at: usize| (0..3).map(move |j| x(at / 4, j, at % 4));
    assert_eq!(*by_input, (0..8).map(|at| inner(at).sum()).collect::<Vec<f64>>());
    assert_eq!(*arg_max, [2.0; 8]);
    // A product that starts from the second input, which is 2.
    assert_eq!(*joined, (0..8).map(|at| 2.0 * inner(at).product::<f64>()).collect::<Vec<f64>>());
}

#[test]
fn sigmoid_gradient_matches_finite_differences() {
    let outputs = run("unary.json");
    let gradient = outputs.last().unwrap().to_f64_vec().unwrap();
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    for (x, gradient) in (0..6).map(f64::from).zip(gradient) {
        let slope = (sigmoid(x + 1e-5) - sigmoid(x - 1e-5)) / 2e-5;
        assert!((gradient - slope * x).abs() < 1e-8, "{gradient} at {x}, expected {}", slope * x);
    }
}
