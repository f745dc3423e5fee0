//! Random small graphs: what canonicalisation makes of them computes the same, every application of a rule is checked
//! on its own, and a second time there is nothing left to do. A wrong rule among them is found.
//!
//! `SNICK_GRAPHS` says how many graphs to try; `SNICK_SEED` with which to begin.

use snick::{Dims, draw_inputs};
use snick_ir::rewrite::{How, Lowered, Patch, Rule};
use snick_ir::text::{PrintOptions, print};
use snick_ir::{AttrValue, Attrs, Dialect, Graph, Node, NodeId, Op, OpError, RawNode, Value, Version};
use snick_pass::{Checker, Pass, canonicalise, run};
use snick_run::{Options, Session};
use snick_tensor::Tensor;

/// How many graphs an ordinary test run tries.
const GRAPHS: u64 = 500;

/// A wrong rule must be found within so many.
const FOUND_WITHIN: u64 = 100;

fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn canonical_forms_compute_the_same() {
    let first = from_env("SNICK_SEED", 0);
    let (mut applied, mut checked, mut unchecked) = (0, 0, 0);
    for seed in first..first + from_env("SNICK_GRAPHS", GRAPHS) {
        let graph = random_graph(seed);
        let text = || format!("seed {seed}\n{}", print(&graph, PrintOptions::default()));
        let mut canonical = graph.clone();
        let options = snick_pass::Options { check: Some(seed), ..snick_pass::Options::default() };
        let report = canonicalise(&mut canonical, &options).unwrap();
        let errors: Vec<String> = report.errors.iter().map(ToString::to_string).collect();
        assert!(errors.is_empty(), "{}\n{}", errors.join("\n"), text());
        assert!(report.refuted.is_empty(), "{}\n{}", report.refuted[0].report, text());
        assert!(snick_ir::verify(&canonical).is_empty(), "{}", text());
        compare(&graph, &canonical, report.may_round(), &text);
        // Merging duplicates is no rule: only all of it is checked.
        applied += report.applied.iter().filter(|applied| applied.rule != "merge-duplicates").count();
        (checked, unchecked) = (checked + report.checked, unchecked + report.unchecked);
        let again = canonicalise(&mut canonical, &snick_pass::Options::default()).unwrap();
        assert!(again.applied.is_empty(), "fires again: {:?}\n{}", again.applied, text());
    }
    assert_eq!(checked + unchecked, applied);
    // Layers that fail for every size cannot be.
    assert!(unchecked * 10 < checked, "{unchecked} applications could not be checked, {checked} were");
}

fn compare(before: &Graph, after: &Graph, may_round: bool, text: &dyn Fn() -> String) {
    let (old, new) = (Session::new(before).unwrap(), Session::new(after).unwrap());
    for (seed, dims) in [(1, Dims::Smallest), (2, Dims::Drawn), (3, Dims::Drawn)] {
        let inputs = draw_inputs(before, vec![None; before.parameters().count()], seed, dims).unwrap();
        let run = |session: &Session| {
            session.run(&inputs, Options { keep_going: true, check_facts: true, ..Options::default() })
        };
        let (old, new) = (run(&old), run(&new));
        let unsound = new.errors.iter().find(|error| error.to_string().contains("against what was inferred"));
        // Where the graph contradicts itself, nothing holds that follows from it.
        assert!(unsound.is_none() || !old.errors.is_empty(), "{}\n{}", unsound.unwrap(), text());
        for (want, got) in old.values.iter().zip(&new.values) {
            let Some(want) = want else { continue };
            let got = got.as_ref().unwrap_or_else(|| panic!("{:?}\n{}", new.errors, text()));
            assert!(want == got || (may_round && is_close(want, got)), "{want:?}\n{got:?}\n{}", text());
        }
    }
}

fn is_close(a: &Tensor, b: &Tensor) -> bool {
    let (x, y) = (a.to_f64_vec().unwrap(), b.to_f64_vec().unwrap());
    a.dims() == b.dims() && x.iter().zip(&y).all(|(x, y)| (x - y).abs() <= 1e-4 * x.abs().max(1.0))
}

/// Reads what goes backwards forwards: all sizes stay right.
const FORWARDS: Rule = Rule::exact("always-forwards", |patch| {
    reslice(
        patch,
        |start, len, step| if step < 0 { (start + (len - 1) * step, len, -step) } else { (start, len, step) },
    )
});

/// Takes the elements one before, where there are any.
const ONE_BEFORE: Rule =
    Rule::exact("one-before", |patch| reslice(patch, |start, len, step| ((start - 1).max(0), len, step)));

fn reslice(patch: &mut Patch, change: fn(i64, i64, i64) -> (i64, i64, i64)) -> Result<Lowered, OpError> {
    use snick_ir::ops::slice::primitive::{Axis, Slice};
    let Op::Slice(slice) = &patch.node().op else { return Ok(Lowered::Keep) };
    let Some(old) = slice.axes.iter().map(Axis::as_static).collect::<Option<Vec<_>>>() else {
        return Ok(Lowered::Keep);
    };
    let axes = slice.axes.iter().zip(&old).map(|(axis, &slice)| {
        let (start, len, step) = change(slice.start, slice.len, slice.step);
        (axis.axis, snick_shape::AxisSlice { start, len, step })
    });
    let new = Slice::fixed(axes.collect::<Vec<_>>());
    let data = patch.input(0)?;
    if new.axes == slice.axes { Ok(Lowered::Keep) } else { patch.add(new, &[data]).map(Lowered::one) }
}

#[test]
fn wrong_rules_are_found() {
    let wrong: [&'static [Rule]; 2] = [&[FORWARDS], &[ONE_BEFORE]];
    for rules in wrong {
        let found = (0..FOUND_WITHIN).find(|&seed| {
            let mut graph = random_graph(seed);
            canonicalise(&mut graph, &snick_pass::Options::lower_only()).unwrap();
            let mut checker = Checker::new(seed);
            let how = How { check: Some(&mut checker), stop_after: Some(20) };
            !run(&mut graph, &[Pass::of_rules("wrong", rules)], how).refuted.is_empty()
        });
        assert!(found.is_some(), "{} passes {FOUND_WITHIN} graphs", rules[0].name);
    }
}

/// A graph under construction.
struct Builder {
    graph: Graph,
    values: Vec<Value>,
    random: Random,
}

/// Two or three inputs and about ten layers, most of them of the slice family or ops that slices move through. Every
/// value that nobody reads is an output.
fn random_graph(seed: u64) -> Graph {
    let mut b = Builder { graph: Graph::new("random"), values: Vec::new(), random: Random(seed) };
    for _ in 0..2 + b.random.below(2) {
        b.parameter();
    }
    let layers = 4 + b.random.below(9);
    let mut tries = 0;
    while b.graph.len() < 40 && tries < layers * 3 {
        tries += 1;
        // What does not fit together is taken back.
        let before = (b.graph.clone(), b.values.len());
        if b.layer().is_none() {
            b.graph = before.0;
            b.values.truncate(before.1);
        }
    }
    let unread: Vec<Value> = b.values.iter().copied().filter(|&v| b.graph.uses(v).is_empty()).collect();
    for value in unread {
        b.node("Result", Attrs::new(), &[value]).unwrap();
    }
    b.graph
}

impl Builder {
    fn node(&mut self, op: &str, attrs: Attrs<'static>, inputs: &[Value]) -> Option<NodeId> {
        let mut raw = RawNode::openvino(op, Version::Unversioned, attrs, 1);
        raw.dialect = if op == "slice" { Dialect::Snick } else { Dialect::OpenVino };
        let op = Op::parse(&mut raw).ok()?;
        let name = format!("{}{}", op.type_name().to_lowercase(), self.graph.len());
        let id = self.graph.add_wired(Node::new(name, op), inputs);
        self.graph.infer_node(id).ok()?;
        Some(id)
    }

    fn add(&mut self, op: &str, attrs: Attrs<'static>, inputs: &[Value]) -> Option<()> {
        let id = self.node(op, attrs, inputs)?;
        for port in (0..).take(self.graph.node(id).outs.len()) {
            self.values.push(Value { node: id, port });
        }
        Some(())
    }

    fn parameter(&mut self) {
        let rank = 1 + self.random.below(4) as usize;
        let dims: Vec<String> = (0..rank).map(|_| self.random.dim()).collect();
        let element_type = *self.random.pick(&["f32", "f32", "f32", "i64", "f16", "u8"]);
        let attrs = Attrs::new().with("element_type", element_type).with("shape", dims.join(","));
        self.add("Parameter", attrs, &[]).unwrap();
    }

    fn ints(&mut self, dims: &[usize], values: &[i64]) -> Value {
        let tensor = Tensor::from_vec(dims, values.to_vec()).unwrap();
        let op = Op::from(snick_ir::ops::source::constant::Constant::new(std::sync::Arc::new(tensor)));
        let id = self.graph.add(Node::new(format!("c{}", self.graph.len()), op));
        self.graph.infer_node(id).unwrap();
        Value { node: id, port: 0 }
    }

    fn list(&mut self, values: &[i64]) -> Value {
        self.ints(&[values.len()], values)
    }

    /// A value, its rank, and its dims where they are numbers.
    fn any(&mut self) -> (Value, usize, Vec<Option<i64>>) {
        let value = *self.random.pick(&self.values);
        let shape = &self.graph.fact(value).unwrap().shape;
        let dims: Vec<Option<i64>> = shape.dims().unwrap_or_default().iter().map(|d| d.as_const()).collect();
        (value, dims.len(), dims)
    }

    fn bound(&mut self) -> i64 {
        self.random.below(15) as i64 - 7
    }

    fn step(&mut self) -> i64 {
        *self.random.pick(&[1, 1, 1, 2, 3, -1, -2])
    }

    fn layer(&mut self) -> Option<()> {
        let (x, rank, dims) = self.any();
        let axis = self.random.below(rank.max(1) as u64) as usize;
        let dim = dims.get(axis).copied().flatten();
        match self.random.below(28) {
            0..=3 => {
                let n = 1 + self.random.below(rank.max(1) as u64) as usize;
                let mut axes: Vec<i64> = (0..rank as i64).collect();
                self.random.shuffle(&mut axes);
                axes.truncate(n);
                let lists: [Vec<i64>; 3] = [
                    axes.iter().map(|_| self.bound()).collect(),
                    axes.iter().map(|_| self.bound()).collect(),
                    axes.iter().map(|_| self.step()).collect(),
                ];
                let mut inputs = vec![x];
                for list in lists.iter().chain([&axes]) {
                    inputs.push(self.list(list));
                }
                self.add("Slice", Attrs::new(), &inputs)
            }
            4..=6 => {
                let n = 1 + self.random.below(rank as u64 + 1) as usize;
                let begin: Vec<i64> = (0..n).map(|_| self.bound()).collect();
                let end: Vec<i64> = (0..n).map(|_| self.bound()).collect();
                let step: Vec<i64> = (0..n).map(|_| self.step()).collect();
                let inputs = [x, self.list(&begin), self.list(&end), self.list(&step)];
                let mut attrs = Attrs::new();
                for (name, one_in) in [
                    ("begin_mask", 3),
                    ("end_mask", 3),
                    ("new_axis_mask", 8),
                    ("shrink_axis_mask", 8),
                    ("ellipsis_mask", 12),
                ] {
                    let mask: Vec<i64> = (0..n).map(|_| i64::from(self.random.below(one_in) == 0)).collect();
                    attrs = attrs.with(name, AttrValue::Ints(mask.into()));
                }
                self.add("StridedSlice", attrs, &inputs)
            }
            7 => {
                let count = *self.random.pick(&[2, 3]);
                let axis = self.ints(&[], &[axis as i64]);
                self.add("Split", Attrs::new().with("num_splits", count), &[x, axis])
            }
            8 => {
                let dim = dim.filter(|&dim| dim > 1)?;
                let first = 1 + self.random.below(dim as u64 - 1) as i64;
                let inputs = [x, self.ints(&[], &[axis as i64]), self.list(&[first, -1])];
                self.add("VariadicSplit", Attrs::new(), &inputs)
            }
            9 | 10 => {
                let dim = dim.filter(|&dim| dim > 0)?;
                let at = self.random.below(dim as u64) as i64;
                let indices = match self.random.below(4) {
                    0 => self.ints(&[], &[at]),
                    1 => self.ints(&[1], &[at - dim]),
                    2 => self.list(&(at..dim).collect::<Vec<_>>()),
                    _ => self.list(&(0..=at).rev().step_by(2).collect::<Vec<_>>()),
                };
                let axis = self.ints(&[], &[axis as i64]);
                self.add("Gather", Attrs::new().with("batch_dims", 0), &[x, indices, axis])
            }
            11 | 12 => {
                let op = *self.random.pick(&["ReLU", "Abs", "Negative", "Sign", "Convert"]);
                let attrs = match op {
                    "Convert" => Attrs::new().with("destination_type", *self.random.pick(&["f32", "i32"])),
                    _ => Attrs::new(),
                };
                self.add(op, attrs, &[x])
            }
            13 | 14 => {
                let (y, ..) = self.any();
                let op = *self.random.pick(&["Add", "Multiply", "Subtract", "Maximum"]);
                self.add(op, Attrs::new(), &[x, y])
            }
            15 | 16 => {
                let mut order: Vec<i64> = (0..rank as i64).collect();
                self.random.shuffle(&mut order);
                let order = self.list(&order);
                self.add("Transpose", Attrs::new(), &[x, order])
            }
            17 => {
                let count = dims.iter().try_fold(1i64, |n, dim| Some(n * (*dim)?))?;
                let outer = *self.random.pick(&[1, 2, 3, 4, 6]);
                let target = match self.random.below(3) {
                    0 => vec![count],
                    _ if count % outer == 0 => vec![outer, count / outer],
                    _ => vec![1, count],
                };
                let target = self.list(&target);
                self.add("Reshape", Attrs::new().with("special_zero", false), &[x, target])
            }
            18 | 19 => {
                let mut inputs = vec![x];
                for _ in 0..1 + self.random.below(2) {
                    inputs.push(if self.random.below(3) == 0 { x } else { self.any().0 });
                }
                self.add("Concat", Attrs::new().with("axis", axis as i64), &inputs)
            }
            20 => {
                let (y, ..) = self.any();
                let flag = |random: &mut Random| random.below(2) == 0;
                let (a, b) = (flag(&mut self.random), flag(&mut self.random));
                self.add("MatMul", Attrs::new().with("transpose_a", a).with("transpose_b", b), &[x, y])
            }
            21 => {
                let target: Vec<i64> = dims
                    .iter()
                    .map(|dim| dim.map(|dim| if dim == 1 { 3 } else { dim }))
                    .collect::<Option<_>>()?;
                let target = self.list(&[&[2][..], &target].concat());
                self.add("Broadcast", Attrs::new().with("mode", "numpy"), &[x, target])
            }
            22 => {
                let axes = self.list(&[axis as i64]);
                match self.random.below(3) {
                    0 => self.add("Unsqueeze", Attrs::new(), &[x, axes]),
                    1 => self.add("Squeeze", Attrs::new(), &[x, axes]),
                    _ => self.add("Reverse", Attrs::new().with("mode", "index"), &[x, axes]),
                }
            }
            23 => {
                let op = *self.random.pick(&["SoftMax", "LogSoftmax"]);
                self.add(op, Attrs::new().with("axis", axis as i64), &[x])
            }
            24 => {
                let op = *self.random.pick(&["ReduceSum", "ReduceMax", "ReduceMean", "CumSum"]);
                let attrs = match op {
                    "CumSum" => Attrs::new().with("reverse", self.random.below(2) == 0),
                    _ => Attrs::new().with("keep_dims", self.random.below(2) == 0),
                };
                let axis = self.ints(&[], &[axis as i64]);
                self.add(op, attrs, &[x, axis])
            }
            25 => {
                let repeats: Vec<i64> = (0..rank + 1).map(|_| *self.random.pick(&[1, 1, 2])).collect();
                let first = self.random.below(2) as usize;
                let repeats = self.list(&repeats[first..]);
                self.add("Tile", Attrs::new(), &[x, repeats])
            }
            26 => {
                let dim = dim.filter(|&dim| dim > 0)?;
                let count = 1 + self.random.below(2) as usize;
                let places: Vec<i64> = (0..3 * count).map(|_| self.random.below(dim as u64) as i64).collect();
                let dims = if count == 1 { vec![3] } else { vec![count, 3] };
                let (indices, axis) = (self.ints(&dims, &places), self.ints(&[], &[axis as i64]));
                self.add("Gather", Attrs::new().with("batch_dims", 0), &[x, indices, axis])
            }
            _ => {
                let pad =
                    |random: &mut Random| (0..rank).map(|_| random.below(4) as i64 - 2).collect::<Vec<_>>();
                let (begin, end) = (pad(&mut self.random), pad(&mut self.random));
                let inputs = [x, self.list(&begin), self.list(&end)];
                self.add("Pad", Attrs::new().with("pad_mode", "constant"), &inputs)
            }
        }
    }
}

/// The splitmix64 generator (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 32) % n
    }

    fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len() as u64) as usize]
    }

    fn shuffle(&mut self, items: &mut [i64]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }

    /// A dim as a Parameter's shape says it: mostly a number.
    fn dim(&mut self) -> String {
        match self.below(10) {
            0 => "N".into(),
            1 => "M".into(),
            2 => "?".into(),
            3 => "2..5".into(),
            n => (n - 2).to_string(),
        }
    }
}
