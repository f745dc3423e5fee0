//! Whatever the checker accepts is true: random graphs of all operations that the table of meanings knows are
//! evaluated at several sizes by an independent interpreter, and values that are proved equal are equal.

use proptest::prelude::*;
use snick_certificate::{Size, SizeOp, Value};

use crate::support::interpreter::{Tensor, evaluate};
use crate::support::{ANY, Builder, ints, of, output, text, texts};

/// Sizes of the two axes that are not known.
const SIZES: [[i64; 2]; 9] = [[0, 2], [1, 1], [1, 3], [2, 1], [2, 2], [3, 2], [4, 3], [5, 4], [3, 0]];

/// Elements of the input of integers.
const INTEGERS: [[i64; 2]; 5] = [[0, 0], [1, -1], [-2, 3], [2, 1], [-4, 5]];

/// Random choices.
struct Choices<'c>(std::slice::Iter<'c, u16>);

impl Choices<'_> {
    /// A number below `count`.
    fn below(&mut self, count: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % count.max(1)
    }

    fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as usize) as i64
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

/// A random graph, the numbers of its inputs, and the values that are compared.
struct Random {
    builder: Builder,
    inputs: [Value; 3],
    values: Vec<Value>,
}

const MOVEMENTS: usize = 27;

impl Random {
    fn new(choices: &mut Choices, count: usize) -> Self {
        let mut builder = Builder::default();
        let x = builder.input("f32", &[ANY, ANY]);
        let y = builder.input("f32", &[Size::Int(2), Size::Dim(x, 1)]);
        let k = builder.input("i64", &[Size::Int(2)]);
        let mut random = Self { builder, inputs: [x, y, k], values: vec![x, y, k] };
        let mut scalars = Vec::new();
        let shape = random.typed("ShapeOf", &[x], &[], "i64", &[Size::Int(2)]);
        for (source, at) in [(shape, 0), (shape, 1), (k, 0), (k, 1)] {
            let (index, axis) = (random.builder.scalar(at), random.builder.scalar(0));
            scalars.push(random.builder.op("Gather", &[source, index, axis], &[], &[]));
        }
        for _ in 0..count {
            if choices.below(4) == 0 {
                let new = random.arithmetic(choices, &scalars);
                scalars.push(new);
            } else {
                random.add_movement(choices, &scalars);
            }
        }
        random.values.extend(scalars);
        random
    }

    fn typed(
        &mut self,
        op: &str,
        inputs: &[Value],
        attributes: &[(&str, snick_certificate::Attribute)],
        element_type: &str,
        dims: &[Size],
    ) -> Value {
        self.builder.typed(op, inputs, attributes, output(element_type, dims))
    }

    fn arithmetic(&mut self, choices: &mut Choices, scalars: &[Value]) -> Value {
        let op = choices.of(&[
            "Add",
            "Subtract",
            "Multiply",
            "Maximum",
            "Minimum",
            "Divide",
            "FloorMod",
            "Mod",
            "Abs",
            "Negative",
            "ReLU",
            "Less",
            "LessEqual",
            "Greater",
            "GreaterEqual",
            "Equal",
            "NotEqual",
        ]);
        let a = choices.of(scalars);
        let small = self.builder.scalar(choices.between(-2, 4));
        let b = if choices.below(3) == 0 { choices.of(scalars) } else { small };
        match op {
            "Abs" | "Negative" | "ReLU" => self.builder.op(op, &[a], &[], &[]),
            "Less" | "LessEqual" | "Greater" | "GreaterEqual" | "Equal" | "NotEqual" => {
                let mut condition = self.typed(op, &[a, b], &[], "boolean", &[]);
                if choices.below(3) == 0 {
                    condition = self.builder.op("LogicalNot", &[condition], &[], &[]);
                }
                self.typed("Select", &[condition, a, b], &[], "i64", &[])
            }
            "Divide" => {
                let is_python = choices.below(2) == 0;
                self.builder.op(op, &[a, b], &[("m_pythondiv", is_python.into())], &[])
            }
            _ => self.builder.op(op, &[a, b], &[], &[]),
        }
    }

    fn add_movement(&mut self, choices: &mut Choices, scalars: &[Value]) {
        let data = choices.of(&self.values);
        let dims = self.builder.dims(data);
        let (rank, size) = (dims.len(), |axis| Size::Dim(data, axis));
        let sizes: Vec<Size> = (0..rank).map(size).collect();
        let changed = |axis: usize, new: Size| {
            let mut sizes = sizes.clone();
            sizes[axis] = new;
            sizes
        };
        let kind = choices.below(MOVEMENTS);
        if rank == 0 && !matches!(kind, 4 | 8 | 13 | 20) {
            return;
        }
        let axis = choices.below(rank);
        let at = self.builder.scalar(axis as i64);
        let b = &mut self.builder;
        let new = match kind {
            0 => {
                let (start, length, step) =
                    (choices.between(0, 2), choices.between(0, 3), choices.of(&[1, 2, -1]));
                let attributes = [
                    ("axes", ints(&[axis as i64])),
                    ("start", ints(&[start])),
                    ("len", ints(&[length])),
                    ("step", ints(&[step])),
                ];
                b.op("slice", &[data], &attributes, &changed(axis, Size::Int(length)))
            }
            1 => {
                let attributes = [
                    ("axes", ints(&[axis as i64])),
                    ("start", texts(&["in"])),
                    ("len", texts(&["1"])),
                    ("step", texts(&["1"])),
                ];
                b.op("slice", &[data, choices.of(scalars)], &attributes, &changed(axis, Size::Int(1)))
            }
            2 => {
                let number = |choices: &mut Choices| choices.of(&[-9, -2, -1, 0, 1, 2, 3, 9]);
                let (start, stop) = (number(choices), number(choices));
                let inputs =
                    [data, b.list(&[start]), b.list(&[stop]), b.list(&[choices.of(&[1, 2, -1, -2])])];
                let axes = b.list(&[axis as i64 - if choices.below(2) == 0 { rank as i64 } else { 0 }]);
                b.op("Slice", &[&inputs[..], &[axes]].concat(), &[], &changed(axis, ANY))
            }
            3 => return self.add_strided(choices, data),
            4 => b.op("Identity", &[data], &[], &sizes),
            5 => {
                let half = of(SizeOp::FloorDivide, size(axis), Size::Int(2));
                let part = changed(axis, half);
                let parts = b.parts("Split", &[data, at], &[&part, &part]);
                choices.of(&parts)
            }
            6 => {
                let length = choices.between(0, 2);
                let lengths = if choices.below(2) == 0 { [length, -1] } else { [-1, length] };
                let part = |length| changed(axis, if length < 0 { ANY } else { Size::Int(length) });
                let inputs = [data, at, b.list(&lengths)];
                let parts = b.parts("VariadicSplit", &inputs, &[&part(lengths[0]), &part(lengths[1])]);
                choices.of(&parts)
            }
            7 => {
                let (offset, length) = (choices.between(0, 2), choices.between(0, 2));
                let attributes =
                    [("axis", ints(&[axis as i64])), ("offset", ints(&[offset])), ("dim", ints(&[length]))];
                b.op("Crop", &[data], &attributes, &changed(axis, Size::Int(length)))
            }
            8 => {
                let mut unsqueezed = vec![Size::Int(1)];
                unsqueezed.extend(sizes.iter().cloned());
                b.op("Unsqueeze", &[data, at], &[], &unsqueezed)
            }
            9 => match choices.below(2) {
                0 => b.op("Reverse", &[data, at], &[("mode", text("index"))], &sizes),
                _ => {
                    let mask: Vec<i64> = (0..rank).map(|_| choices.between(0, 1)).collect();
                    let mask = b.constant("boolean", &[rank as i64], &mask);
                    b.op("Reverse", &[data, mask], &[("mode", text("mask"))], &sizes)
                }
            },
            10 => {
                let picked = [choices.between(-2, 2), choices.between(-2, 2)];
                let checks = ("checks_indices", true.into());
                let attributes = if choices.below(2) == 0 { vec![checks] } else { Vec::new() };
                let picked = b.list(&picked);
                b.op("Gather", &[data, picked, at], &attributes, &changed(axis, Size::Int(2)))
            }
            11 => {
                let kept = [&sizes[..axis], &sizes[axis + 1..]].concat();
                let attributes = [("checks_indices", true.into())];
                b.op("Gather", &[data, choices.of(scalars), at], &attributes, &kept)
            }
            12 => {
                let rows = b.constant("i64", &[2, 1], &[choices.between(-2, 2), choices.between(-2, 2)]);
                b.op("GatherND", &[data, rows], &[], &changed(0, Size::Int(2)))
            }
            13 => {
                if rank == 0 {
                    return;
                }
                let alike: Vec<Value> =
                    self.values.iter().copied().filter(|v| b.dims(*v).len() == rank).collect();
                let (first, second) = (data, choices.of(&alike));
                // Other axes have the same size.
                let other = Size::Int(1);
                let (mut left, mut right) = (first, second);
                for i in (0..rank).filter(|i| *i != axis) {
                    for side in [&mut left, &mut right] {
                        let mut sizes: Vec<Size> = (0..rank).map(|axis| Size::Dim(*side, axis)).collect();
                        sizes[i] = other.clone();
                        let attributes = [
                            ("axes", ints(&[i as i64])),
                            ("start", ints(&[0])),
                            ("len", ints(&[1])),
                            ("step", ints(&[1])),
                        ];
                        *side = b.op("slice", &[*side], &attributes, &sizes);
                    }
                }
                let mut joined: Vec<Size> = (0..rank).map(|_| other.clone()).collect();
                joined[axis] = ANY;
                if b.element_type(left) != b.element_type(right) {
                    return;
                }
                let attribute = snick_certificate::Attribute::from(axis as i64);
                b.op("Concat", &[left, right], &[("axis", attribute)], &joined)
            }
            14 | 15 => {
                let (before, after) = (choices.between(-1, 2), choices.between(-1, 2));
                let pads = |pad: i64| (0..rank).map(|i| if i == axis { pad } else { 0 }).collect::<Vec<_>>();
                let value = b.constant(&b.element_type(data), &[], &[0]);
                let inputs = [data, b.list(&pads(before)), b.list(&pads(after)), value];
                let padded = of(SizeOp::Add, size(axis), Size::Int(before + after));
                b.op("Pad", &inputs, &[("pad_mode", text("constant"))], &changed(axis, padded))
            }
            16 => {
                let mut order: Vec<usize> = (0..rank).collect();
                for i in 1..rank {
                    order.swap(i, choices.below(i + 1));
                }
                let transposed: Vec<Size> = order.iter().map(|axis| size(*axis)).collect();
                let order = b.list(&order.iter().map(|axis| *axis as i64).collect::<Vec<_>>());
                b.op("Transpose", &[data, order], &[], &transposed)
            }
            17 => {
                let count = sizes.iter().cloned().reduce(|a, b| of(SizeOp::Multiply, a, b)).unwrap();
                let shape = b.list(&[-1]);
                b.op("Reshape", &[data, shape], &[], &[count])
            }
            18 => {
                let shape = b.list(&[-1, 2]);
                let count = sizes.iter().cloned().reduce(|a, b| of(SizeOp::Multiply, a, b)).unwrap();
                b.op(
                    "Reshape",
                    &[data, shape],
                    &[],
                    &[of(SizeOp::FloorDivide, count, Size::Int(2)), Size::Int(2)],
                )
            }
            19 => {
                let shape = b.list(&[2, 3]);
                b.op("Reshape", &[data, shape], &[], &[Size::Int(2), Size::Int(3)])
            }
            20 => {
                let least: Vec<i64> = (0..rank).map(|_| choices.between(1, 2)).collect();
                let mut target = vec![Size::Int(2)];
                target.extend(
                    sizes
                        .iter()
                        .zip(&least)
                        .map(|(size, least)| of(SizeOp::Max, size.clone(), Size::Int(*least))),
                );
                // Stands for the computation of the target shape.
                let shape = b.list(&[&[2], &least[..]].concat());
                b.op("Broadcast", &[data, shape], &[("mode", text("numpy"))], &target)
            }
            21 => {
                let repeats: Vec<i64> = (0..rank).map(|_| choices.between(0, 2)).collect();
                let product = |axis: usize| of(SizeOp::Multiply, size(axis), Size::Int(repeats[axis]));
                let tiled: Vec<Size> = (0..rank).map(product).collect();
                let repeats = b.list(&repeats);
                b.op("Tile", &[data, repeats], &[], &tiled)
            }
            22 => {
                let shift = match choices.below(2) {
                    0 => b.scalar(choices.between(-2, 2)),
                    _ => b.list(&[choices.between(-2, 2)]),
                };
                let axes = b.list(&[axis as i64]);
                b.op("Roll", &[data, shift, axes], &[], &sizes)
            }
            23 => {
                let is_kept = choices.below(2) == 0;
                let mut reduced = changed(axis, Size::Int(1));
                if !is_kept {
                    reduced.remove(axis);
                }
                let op = if b.element_type(data) == "f32" { "ReduceMean" } else { "Opaque" };
                b.op(op, &[data, at], &[("keep_dims", is_kept.into())], &reduced)
            }
            24 => {
                let op = if b.element_type(data) == "f32" { "Softmax" } else { "Opaque" };
                b.op(op, &[data], &[("axis", snick_certificate::Attribute::from(axis as i64))], &sizes)
            }
            25 => {
                let matrices: Vec<Value> =
                    self.values.iter().copied().filter(|value| b.dims(*value).len() == 2).collect();
                let (left, right) = (choices.of(&matrices), choices.of(&matrices));
                if b.element_type(left) != "f32" || b.element_type(right) != "f32" {
                    return;
                }
                let [is_left, is_right] = [(); 2].map(|()| choices.below(3) == 0);
                let attributes = [("transpose_a", is_left.into()), ("transpose_b", is_right.into())];
                let dims = [Size::Dim(left, usize::from(is_left)), Size::Dim(right, usize::from(!is_right))];
                b.op("MatMul", &[left, right], &attributes, &dims)
            }
            _ => {
                let f32_values: Vec<Value> =
                    self.values.iter().copied().filter(|value| b.element_type(*value) == "f32").collect();
                let first = choices.of(&f32_values);
                let dims: Vec<Size> = (0..b.dims(first).len()).map(|axis| Size::Dim(first, axis)).collect();
                match choices.below(3) {
                    0 => b.op("Abs", &[first], &[], &dims),
                    1 => b.op("Opaque", &[first], &[], &dims),
                    _ => {
                        let fits = |value: &Value| b.dims(*value).len() <= dims.len();
                        let second = choices.of(&f32_values.iter().copied().filter(fits).collect::<Vec<_>>());
                        let op = choices.of(&["Subtract", "Divide"]);
                        b.op(op, &[first, second], &[], &dims)
                    }
                }
            }
        };
        self.values.push(new);
    }

    fn add_strided(&mut self, choices: &mut Choices, data: Value) {
        let rank = self.builder.dims(data).len();
        let (mut masks, mut dims) = (vec![Vec::new(); 5], Vec::new());
        let (mut begins, mut ends, mut strides) = (Vec::new(), Vec::new(), Vec::new());
        let (mut axis, mut has_ellipsis) = (0, false);
        for _ in 0..choices.between(1, 3) {
            let is_ellipsis = !has_ellipsis && choices.below(5) == 0;
            let is_new = choices.below(5) == 0;
            let is_single = choices.below(4) == 0;
            if !is_ellipsis && !is_new && axis == rank {
                break;
            }
            let bits = [choices.below(2) == 0, choices.below(2) == 0, is_new, is_single, is_ellipsis];
            masks.iter_mut().zip(bits).for_each(|(mask, bit)| mask.push(i64::from(bit)));
            begins.push(choices.of(&[-3, -1, 0, 1, 2]));
            ends.push(choices.of(&[-9, -1, 0, 1, 2, 9]));
            strides.push(choices.of(&[1, 2, -1]));
            has_ellipsis |= is_ellipsis;
            if is_ellipsis {
                dims.push(None);
            } else if is_new {
                dims.push(Some(Size::Int(1)));
            } else {
                dims.extend((!is_single).then_some(Some(ANY)));
                axis += 1;
            }
        }
        if has_ellipsis {
            let at = dims.iter().position(Option::is_none).unwrap();
            let whole = (0..rank - axis).map(|_| Some(ANY)).collect::<Vec<_>>();
            dims.splice(at..=at, whole);
        } else {
            dims.extend((axis..rank).map(|_| Some(ANY)));
        }
        let names = ["begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask"];
        let attributes: Vec<_> = names.into_iter().zip(masks.iter().map(|mask| ints(mask))).collect();
        let b = &mut self.builder;
        let inputs = [data, b.list(&begins), b.list(&ends), b.list(&strides)];
        let dims: Vec<Size> = dims.into_iter().flatten().collect();
        let new = b.op("StridedSlice", &inputs, &attributes, &dims);
        self.values.push(new);
    }

    /// The values at all sizes, and with all integers.
    fn evaluate(&self) -> Vec<Vec<Vec<Tensor>>> {
        let run = |(number, [n, m]): (usize, [i64; 2])| {
            let label = |input: i64, dims: [i64; 2]| {
                Tensor::new(&dims, (0..dims[0] * dims[1]).map(|at| 1000 * input + at).collect())
            };
            let [x, y, k] = self.inputs;
            let integers = INTEGERS[number % INTEGERS.len()];
            let k = (k, Tensor::new(&[2], integers.to_vec()));
            evaluate(&self.builder.graph, &[(x, label(1, [n, m])), (y, label(2, [2, m])), k])
        };
        SIZES.into_iter().enumerate().map(run).collect()
    }
}

/// Whether two values are equal at all sizes where the first one exists.
fn are_equal(runs: &[Vec<Vec<Tensor>>], before: Value, after: Value) -> bool {
    runs.iter().all(|run| {
        let [a, b] = [before, after].map(|value| &run[value.node][value.port]);
        !a.exists || a.dims == b.dims && a.elements == b.elements
    })
}

fn check(choices: &[u16]) -> Result<[usize; 2], TestCaseError> {
    let random = Random::new(&mut Choices(choices.iter()), 14);
    let runs = random.evaluate();
    let (mut equal, mut proved) = (0, 0);
    for &before in &random.values {
        for &after in &random.values {
            let alike = |value| (random.builder.element_type(value), random.builder.dims(value).len());
            if before == after || alike(before) != alike(after) {
                continue;
            }
            let are_equal = are_equal(&runs, before, after);
            let is_proved = random.builder.is_proved(before, after);
            prop_assert!(are_equal || !is_proved, "{before:?} {after:?} of\n{}", random.builder.text());
            equal += usize::from(are_equal);
            proved += usize::from(is_proved);
        }
    }
    Ok([equal, proved])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn values_that_are_proved_equal_are_equal(choices in prop::collection::vec(any::<u16>(), 150)) {
        check(&choices)?;
    }
}

#[test]
fn many_equal_values_are_proved_equal() {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 40) as u16
    };
    let (mut equal, mut proved) = (0, 0);
    for _ in 0..60 {
        let choices: Vec<u16> = (0..150).map(|_| next()).collect();
        let [a, b] = check(&choices).unwrap();
        (equal, proved) = (equal + a, proved + b);
    }
    println!("{proved} of {equal}");
    assert!(proved * 5 > equal * 2, "{proved} of {equal} pairs are proved");
}
