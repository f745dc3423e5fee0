//! nGraph functions, in `cases/ngraph`.

use snick_ir::Graph;
use snick_run::{Options, Session};
use snick_tensor::Tensor;

use crate::files;

/// The inferred graph of a nGraph function in `cases/ngraph`, with its slices lowered.
fn canonical(case: &str) -> Graph {
    let path = files::root().join("tests/cases/ngraph").join(case);
    let mut read = snick_read::read_file(&path, None).unwrap();
    assert!(read.errors.is_empty(), "{:?}", read.errors);
    assert_eq!(snick_ir::infer(&mut read.graph), []);
    let report = snick_pass::canonicalise(&mut read.graph, &snick_pass::Options::lower_only()).unwrap();
    assert!(report.errors.is_empty() && report.missed.is_empty(), "{:?}", report.missed);
    read.graph
}

/// The outputs of a case for inputs that count up from 0, but for those of opaque layers.
fn run(case: &str) -> Vec<Tensor> {
    let graph = canonical(case);
    let inputs = graph.parameters().map(|id| {
        let fact = &graph.node(id).outs[0].fact;
        let dims = fact.shape.as_static().unwrap();
        let count = dims.iter().product::<usize>() as i64;
        Tensor::from_vec(&dims, (0..count).collect()).unwrap().cast(fact.element_type).unwrap()
    });
    let inputs: Vec<Tensor> = inputs.collect();
    let how = Options { keep_going: true, ..Options::default() };
    Session::new(&graph).unwrap().run(&inputs, how).values.into_iter().flatten().collect()
}

#[test]
fn slices_are_replaced() {
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
fn dots_reduce_the_axes_between() {
    let outputs = run("dot.json");
    let outputs: Vec<Vec<i64>> = outputs.iter().map(|output| output.to_i64_vec().unwrap()).collect();
    let sum = |terms: &dyn Fn(i64) -> i64, count: i64| (0..count).map(terms).sum::<i64>();
    let both = (0..10).map(|at| sum(&|k| (at / 5 * 12 + k) * (k * 5 + at % 5), 12)).collect();
    let last = (0..6).map(|at| sum(&|k| (at * 4 + k) * k, 4)).collect();
    let outer = (0..16).map(|at| (at / 4) * (at % 4)).collect();
    // The scalar counts up from 0, too.
    assert_eq!(outputs, [both, vec![0; 24], last, outer, vec![14]]);
}

/// What a convolution makes of its data, its gradient takes back: `<conv(x, w), d> = <x, gradient(w, d)>`.
#[test]
fn gradients_are_adjoint() {
    let outputs = run("gradient.json");
    let sums: Vec<f64> = outputs[..2].iter().flat_map(|output| output.to_f64_vec().unwrap()).collect();
    assert_eq!(sums[0], sums[1]);
    assert!(sums[0] > 0.0);
    assert_eq!(outputs.len(), 5);
}

/// The same for all windows, as they move, with what is padded, cut off or set apart: outputs come in pairs.
#[test]
fn windows_take_back_what_they_give() {
    let outputs = run("adjoint.json");
    let sums: Vec<f64> = outputs.iter().flat_map(|output| output.to_f64_vec().unwrap()).collect();
    assert_eq!(sums.len(), 14);
    for pair in sums.chunks(2) {
        assert!(pair[0] > 0.0 && (pair[0] - pair[1]).abs() <= 1e-12 * pair[0], "{sums:?}");
    }
}

/// Normalised data has the mean beta and the deviation gamma, and gradients are what small steps show: here of the sum
/// of the normalised data, each element as often as the square of its number.
#[test]
fn batches_are_normalised() {
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
