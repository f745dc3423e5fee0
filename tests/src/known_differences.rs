//! Outputs of the corpus on which snick and the OpenVINO runtime differ. `runtime_differences.tsv` lists them
//! with the kind of difference. For each kind, a case of this name in `cases/known_differences/` proves that
//! the inferred sizes are exact; it runs here for every input size.

use std::collections::BTreeSet;
use std::path::Path;

use snick::{DimPolicy, InputSpec, Model, draw_inputs};
use snick_ir::{Fact, Graph};
use snick_run::{Options, Session};
use snick_shape::Interval;

use crate::files;

/// Number of sizes to try for an unbounded axis, starting from the smallest.
const OPEN: i64 = 20;

/// Number of runs with different values for a case at each size.
const SEEDS: u64 = 64;

/// A test does not reach an upper bound this large, so only the smallest size must be equal.
const LARGE: i64 = 1 << 20;

fn load(path: &Path) -> Model {
    snick::load(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The inferred sizes of a value by axis.
fn sizes(graph: &Graph, fact: &Fact) -> Vec<Interval> {
    fact.shape.dims().unwrap().iter().map(|dim| graph.symbols().interval(dim)).collect()
}

/// Every choice of one number from each interval.
fn choices(intervals: &[Interval]) -> Vec<Vec<i64>> {
    intervals.iter().fold(vec![vec![]], |choices, interval| {
        let last = if interval.has_upper() { interval.hi() } else { interval.lo() + OPEN };
        let longer = |choice: &Vec<i64>| {
            let choice = choice.clone();
            (interval.lo()..=last).map(move |size| [choice.as_slice(), &[size]].concat())
        };
        choices.iter().flat_map(longer).collect()
    })
}

/// The `--shape` argument that sets all axes of inputs with these ranks.
fn spec(ranks: &[usize], choice: &[i64]) -> String {
    let mut choice = choice.iter().map(i64::to_string);
    let inputs = ranks.iter().enumerate().map(|(i, &rank)| {
        let sizes: Vec<String> = choice.by_ref().take(rank).collect();
        format!("{i}[{}]", sizes.join(","))
    });
    inputs.collect::<Vec<_>>().join(",")
}

/// Runs a case several times with one choice of sizes, and returns the output dims of each successful run.
fn run(path: &Path, spec: &str) -> Vec<Vec<Vec<i64>>> {
    let mut model = load(path);
    model.reshape(spec).unwrap();
    if !model.infer().is_ok() {
        return Vec::new(); // no run at these sizes
    }
    let graph = model.graph();
    let session = Session::new(graph).unwrap();
    let outputs = (0..SEEDS).filter_map(|seed| {
        let draw = InputSpec { dims: DimPolicy::Smallest, integers: (0, 9) };
        let inputs = draw_inputs(graph, vec![None; graph.parameters().count()], seed, draw).unwrap();
        let outputs = session.run(&inputs, Options::default()).complete().ok()?;
        Some(outputs.iter().map(|output| output.dims().iter().map(|&size| size as i64).collect()).collect())
    });
    outputs.collect()
}

#[test]
fn inferred_sizes_are_exactly_those_that_occur() {
    for path in files::cases("known_differences") {
        let name = path.display();
        let mut model = load(&path);
        let errors = model.infer();
        assert!(errors.is_ok(), "{name}: {}", errors.errors()[0]);
        let graph = model.graph();
        let facts = |id| &graph.node(id).outs()[0].fact;
        let inputs: Vec<Vec<Interval>> = graph.parameters().map(|id| sizes(graph, facts(id))).collect();
        let inferred: Vec<Vec<Interval>> = graph.results().map(|id| sizes(graph, facts(id))).collect();
        let ranks: Vec<usize> = inputs.iter().map(Vec::len).collect();

        let mut found: Vec<Vec<Option<Interval>>> =
            inferred.iter().map(|sizes| vec![None; sizes.len()]).collect();
        for choice in choices(&inputs.concat()) {
            for outputs in run(&path, &spec(&ranks, &choice)) {
                for (found, dims) in found.iter_mut().zip(outputs) {
                    assert_eq!(found.len(), dims.len(), "{name}: at {choice:?}");
                    for (found, size) in found.iter_mut().zip(dims) {
                        let size = Interval::exact(size);
                        *found = Some(found.map_or(size, |found| found.hull(size)));
                    }
                }
            }
        }
        for (output, (inferred, found)) in inferred.iter().zip(&found).enumerate() {
            for (axis, (inferred, found)) in inferred.iter().zip(found).enumerate() {
                let found = found.unwrap_or_else(|| panic!("{name}: never runs"));
                let met = match inferred.hi() {
                    hi if hi < LARGE => found == *inferred,
                    _ => found.lo() == inferred.lo() && inferred.covers(&found),
                };
                assert!(met, "{name}: axis {axis} of output {output} is {found}, inferred {inferred}");
            }
        }
    }
}

#[test]
fn every_listed_difference_has_a_case() {
    let list = std::fs::read_to_string(files::root().join("tests/runtime_differences.tsv")).unwrap();
    let proofs: BTreeSet<String> =
        files::cases("known_differences").iter().map(|path| files::name(path)).collect();
    let mut used = BTreeSet::new();
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let &[_, _, _, _, kind] = line.split('\t').collect::<Vec<_>>().as_slice() else {
            panic!("not five columns: {line}");
        };
        assert!(proofs.contains(kind), "no case `{kind}`: {line}");
        used.insert(kind.to_owned());
    }
    assert!(!used.is_empty());
}
