//! Each operation of the table of meanings, element by element: every element of the output is proved equal
//! to the elements of the inputs that it is a copy of, and to no others.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

mod support;

use snick_certificate::{Attribute, Size, Value};

use support::interpreter::{Tensor, evaluate, indices};
use support::{ANY, Builder, ints, node, output, text, texts};

/// Sizes as numbers.
fn sizes(dims: &[i64]) -> Vec<Size> {
    dims.iter().map(|dim| Size::Int(*dim)).collect()
}

/// Every element of a value as a scalar value.
fn elements(builder: &mut Builder, value: Value, dims: &[i64]) -> Vec<Value> {
    let element = |index: Vec<i64>| {
        let axes: Vec<i64> = (0..dims.len() as i64).collect();
        let ones = vec![1; dims.len()];
        let attributes =
            [("axes", ints(&axes)), ("start", ints(&index)), ("len", ints(&ones)), ("step", ints(&ones))];
        let slice = builder.op("slice", &[value], &attributes, &sizes(&ones));
        let shape = builder.list(&[]);
        builder.op("Reshape", &[slice, shape], &[], &[])
    };
    indices(dims).into_iter().map(element).collect()
}

/// An input of type f32 with these sizes, and a graph.
fn with_input(dims: &[i64]) -> (Builder, Value) {
    let mut builder = Builder::default();
    let input = builder.input("f32", &sizes(dims));
    (builder, input)
}

/// Compares every element of `new` with every element of the inputs.
fn check(mut builder: Builder, new: Value) {
    let mut inputs = Vec::new();
    let mut old = Vec::new();
    for number in 0..builder.graph.nodes.len() {
        let value = Value { node: number, port: 0 };
        let is_pad = builder.graph.nodes[number].op == "Const" && builder.element_type(value) == "f32";
        if builder.graph.nodes[number].is_unique || is_pad {
            let dims: Vec<i64> = builder.dims(value).iter().map(static_size).collect();
            if builder.graph.nodes[number].is_unique {
                let labels = (0..dims.iter().product()).map(|at| 100 * number as i64 + at + 7).collect();
                inputs.push((value, Tensor::new(&dims, labels)));
            }
            old.extend(elements(&mut builder, value, &dims));
        }
    }
    let result = evaluate(&builder.graph, &inputs)[new.node][new.port].clone();
    assert!(!result.elements.is_empty(), "nothing is compared");
    let new = elements(&mut builder, new, &result.dims);
    let values = evaluate(&builder.graph, &inputs);
    let element = |value: Value| values[value.node][value.port].elements[0];
    for after in new {
        for &before in &old {
            let is_equal = element(before) == element(after);
            assert_eq!(
                builder.is_proved(before, after),
                is_equal,
                "{before:?} {after:?}\n{}",
                builder.text()
            );
        }
    }
}

fn static_size(size: &Size) -> i64 {
    match size {
        Size::Int(int) => *int,
        _ => panic!("{size:?} is not a number"),
    }
}

/// Checks an operation whose first input is the data, and the others are lists of integers.
fn check_op(op: &str, dims: &[i64], lists: &[&[i64]], attributes: &[(&str, Attribute)], to: &[i64]) {
    let (mut builder, data) = with_input(dims);
    let mut inputs = vec![data];
    inputs.extend(lists.iter().map(|list| builder.list(list)));
    let new = builder.op(op, &inputs, attributes, &sizes(to));
    check(builder, new);
}

#[test]
fn copies() {
    check_op("Identity", &[2, 2], &[], &[], &[2, 2]);
    check_op("Convert", &[3], &[], &[("destination_type", text("f32"))], &[3]);
    check_op("ConvertLike", &[3], &[&[1]], &[], &[3]);
}

#[test]
fn a_conversion_to_another_type_is_no_copy() {
    let (mut builder, data) = with_input(&[2]);
    let half = builder.typed("Convert", &[data], &[], output("f16", &sizes(&[2])));
    let back = builder.typed("Convert", &[half], &[], output("f32", &sizes(&[2])));
    assert!(!builder.is_proved(data, back));
    assert!(!builder.is_proved(data, half));
    let again = builder.typed("Convert", &[half], &[("a", text("b"))], output("f32", &sizes(&[2])));
    assert!(!builder.is_proved(back, again));
}

#[test]
fn slice_primitives() {
    let slice = |axes: &[i64], start: &[i64], len: &[i64], step: &[i64]| {
        [("axes", ints(axes)), ("start", ints(start)), ("len", ints(len)), ("step", ints(step))]
    };
    check_op("slice", &[5], &[], &slice(&[0], &[1], &[2], &[2]), &[2]);
    check_op("slice", &[2, 4], &[], &slice(&[1], &[3], &[4], &[-1]), &[2, 4]);
    check_op("slice", &[3, 3], &[], &slice(&[0, 1], &[1, 0], &[2, 2], &[1, 2]), &[2, 2]);
    let (mut builder, data) = with_input(&[2, 5]);
    let attributes = [
        ("axes", ints(&[0, 1])),
        ("start", texts(&["1", "in 0..3"])),
        ("len", texts(&["1", "2"])),
        ("step", texts(&["1", "in 1..3"])),
    ];
    let (start, step) = (builder.scalar(1), builder.scalar(2));
    let new = builder.op("slice", &[data, start, step], &attributes, &sizes(&[1, 2]));
    check(builder, new);
}

#[test]
fn slices_with_ranges() {
    for (range, length) in [
        ([1, 4, 2], 2),
        ([-3, 9, 1], 3),
        ([-9, -2, 1], 3),
        ([3, -9, -2], 2),
        ([9, 1, -1], 3),
        ([-9, -99, -1], 1),
        ([4, 0, -3], 2),
        ([0, 5, 5], 1),
    ] {
        let [start, stop, step] = range;
        let to = [2, length];
        check_op("Slice", &[2, 5], &[&[start], &[stop], &[step], &[1]], &[], &to);
        check_op("Slice", &[2, 5], &[&[start], &[stop], &[step], &[-1]], &[], &to);
        check_op("Slice", &[5], &[&[start], &[stop], &[step]], &[], &[length]);
        let masks = [("begin_mask", ints(&[1, 0])), ("end_mask", ints(&[1, 0]))];
        check_op("StridedSlice", &[2, 5], &[&[7, start], &[7, stop], &[1, step]], &masks, &to);
    }
}

#[test]
fn masks_of_strided_slices() {
    let names = ["begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask"];
    let run = |entries: [&[i64]; 3], masks: [&[i64]; 5], to: &[i64]| {
        let attributes: Vec<_> = names.into_iter().zip(masks.map(ints)).collect();
        check_op("StridedSlice", &[2, 3, 2], &entries, &attributes, to);
    };
    let none: &[i64] = &[];
    run([&[1], &[2], &[1]], [none; 5], &[1, 3, 2]);
    run([&[1, 1], &[2, 0], &[1, -1]], [&[1, 0], &[0, 1], none, none, none], &[2, 2, 2]);
    // An ellipsis overrides a new axis, which overrides a single index, which overrides open ends.
    run([&[0, 1], &[9, 2], &[1, 1]], [none, none, &[1, 0], none, &[1, 0]], &[2, 3, 1]);
    run([&[1, 1], &[2, 2], &[1, 1]], [none, none, &[1, 0], &[1, 0], none], &[1, 1, 3, 2]);
    run([&[1, -1], &[0, 0], &[1, 1]], [&[1, 1], &[1, 1], none, &[1, 1], none], &[2]);
    run([&[0, 0, 1], &[1, 9, 2], &[1, 1, 1]], [none, none, none, &[1], &[0, 1]], &[3, 1]);
    let (mut builder, data) = with_input(&[4]);
    let (begin, end) = (builder.list(&[1]), builder.list(&[3]));
    let new = builder.op("StridedSlice", &[data, begin, end], &[], &sizes(&[2]));
    check(builder, new);
}

#[test]
fn sizes_of_slices_follow_from_their_ranges() {
    for (range, length) in [([1, 9, 1], 4), ([4, 0, -2], 2), ([3, 3, 1], 0), ([-2, -4, 1], 0), ([0, 4, 3], 2)]
    {
        let [start, stop, step] = range;
        let (mut builder, data) = with_input(&[5, 1]);
        let inputs = [data, builder.list(&[start]), builder.list(&[stop]), builder.list(&[step])];
        let slice = builder.op("Slice", &inputs, &[], &[ANY, Size::Int(1)]);
        let strided = builder.op("StridedSlice", &inputs, &[("begin_mask", ints(&[0]))], &[ANY, ANY]);
        for value in [slice, strided] {
            let shape = builder.typed("ShapeOf", &[value], &[], output("i64", &sizes(&[2])));
            for other in 0..6 {
                let other_shape = builder.list(&[other, 1]);
                assert_eq!(builder.is_proved(shape, other_shape), other == length);
            }
        }
    }
}

#[test]
fn parts() {
    for port in 0..2 {
        for (op, axis, lengths, to) in [
            ("Split", 1, vec![], [[2, 2], [2, 2]]),
            ("Split", -2, vec![], [[1, 4], [1, 4]]),
            ("VariadicSplit", 1, vec![1, 3], [[2, 1], [2, 3]]),
            ("VariadicSplit", -1, vec![-1, 3], [[2, 1], [2, 3]]),
            ("VariadicSplit", 1, vec![3, -1], [[2, 3], [2, 1]]),
        ] {
            let (mut builder, data) = with_input(&[2, 4]);
            let mut inputs = vec![data, builder.scalar(axis)];
            inputs.extend((!lengths.is_empty()).then(|| builder.list(&lengths)));
            let new = builder.parts(op, &inputs, &[&sizes(&to[0]), &sizes(&to[1])])[port];
            check(builder, new);
        }
    }
}

#[test]
fn lengths_of_parts_follow_from_the_lengths() {
    let (mut builder, data) = with_input(&[2, 5]);
    let inputs = [data, builder.scalar(1), builder.list(&[1, -1, 2])];
    let parts = builder.parts("VariadicSplit", &inputs, &[&[ANY, ANY][..]; 3]);
    for (part, length) in parts.into_iter().zip([1, 2, 2]) {
        let shape = builder.typed("ShapeOf", &[part], &[], output("i64", &sizes(&[2])));
        for other in 0..4 {
            let other_shape = builder.list(&[2, other]);
            assert_eq!(builder.is_proved(shape, other_shape), other == length);
        }
    }
}

#[test]
fn crops() {
    let crop = |begin: &'static str| [("axis", ints(&[1, 0])), (begin, ints(&[2, 1]))];
    check_op("Crop", &[2, 4], &[], &crop("offset"), &[1, 2]);
    check_op("Crop", &[2, 4], &[], &crop("crop_begin"), &[1, 2]);
    let both = [("axis", ints(&[0])), ("offset", ints(&[0])), ("crop_begin", ints(&[1]))];
    let (mut builder, data) = with_input(&[3]);
    let begin = [("axis", ints(&[0])), ("crop_begin", ints(&[1]))];
    let new = builder.op("Crop", &[data], &both, &sizes(&[2]));
    let [expected, other] = [1, 0].map(|offset| {
        let begin = [("axis", ints(&[0])), ("offset", ints(&[offset]))];
        builder.op("Crop", &[data], &begin, &sizes(&[2]))
    });
    let same = builder.op("Crop", &[data], &begin, &sizes(&[2]));
    assert!(
        builder.is_proved(expected, new) && builder.is_proved(same, new) && !builder.is_proved(other, new)
    );
}

#[test]
fn reversed_axes() {
    for axes in [&[1][..], &[0, 1], &[0, 0], &[]] {
        check_op("Reverse", &[2, 3], &[axes], &[("mode", text("index"))], &[2, 3]);
    }
    for mask in [[1, 0], [0, 1]] {
        let (mut builder, data) = with_input(&[2, 3]);
        let mask = builder.constant("boolean", &[2], &mask);
        let new = builder.op("Reverse", &[data, mask], &[("mode", text("mask"))], &sizes(&[2, 3]));
        check(builder, new);
    }
}

#[test]
fn gathered_elements() {
    check_op("Gather", &[2, 3], &[&[2, 0], &[1]], &[], &[2, 2]);
    check_op("Gather", &[2, 3], &[&[-1, -3, 1], &[-1]], &[("batch_dims", Attribute::Int(0))], &[2, 3]);
    let (mut builder, data) = with_input(&[2, 3, 2]);
    let indices = builder.constant("i64", &[2, 2], &[0, 2, 1, 1]);
    let axis = builder.scalar(1);
    for (batch, to) in [(0, [2, 2, 2, 2].as_slice()), (1, &[2, 2, 2]), (-1, &[2, 2, 2])] {
        let attributes = [("batch_dims", Attribute::Int(batch))];
        if batch >= 0 {
            let new = builder.op("Gather", &[data, indices, axis], &attributes, &sizes(to));
            check(builder.clone(), new);
        } else {
            let [new, same] = [1, -1].map(|batch| {
                builder.op(
                    "Gather",
                    &[data, indices, axis],
                    &[("batch_dims", Attribute::Int(batch))],
                    &sizes(to),
                )
            });
            assert!(builder.is_proved(same, new));
        }
    }
}

/// An index out of range yields zeros, or is an error with `checks_indices`, which the value after a change
/// must not have.
#[test]
fn gathered_elements_out_of_range() {
    let (mut builder, data) = with_input(&[3]);
    let (axis, zero) = (builder.scalar(0), builder.constant("f32", &[1], &[0]));
    let first = elements(&mut builder, data, &[3])[0];
    let shape = builder.list(&[1]);
    let first = builder.op("Reshape", &[first, shape], &[], &sizes(&[1]));
    for index in [3, -4, 7] {
        let list = builder.list(&[index]);
        let zeros = builder.op("Gather", &[data, list, axis], &[], &sizes(&[1]));
        let checks = [("checks_indices", text("true"))];
        let error = builder.op("Gather", &[data, list, axis], &checks, &sizes(&[1]));
        for other in [first, zero] {
            assert!(!builder.is_proved(other, zeros) && !builder.is_proved(other, error));
        }
        assert!(!builder.is_proved(zeros, error));
        let identity = builder.op("Identity", &[zeros], &[], &sizes(&[1]));
        assert!(builder.is_proved(zeros, identity));
    }
}

#[test]
fn gathered_rows() {
    let rows = |builder: &mut Builder, dims: &[i64], rows: &[i64]| builder.constant("i64", dims, rows);
    let (mut builder, data) = with_input(&[2, 3]);
    for (dims, list, to) in [
        (vec![2, 2], vec![1, -1, 0, 2], vec![2]),
        (vec![2, 1], vec![1, -2], vec![2, 3]),
        (vec![1, 2, 1], vec![0, 1], vec![1, 2, 3]),
    ] {
        let list = rows(&mut builder, &dims, &list);
        for attributes in [&[][..], &[("batch_dims", Attribute::Int(0))]] {
            let new = builder.op("GatherND", &[data, list], attributes, &sizes(&to));
            check(builder.clone(), new);
        }
    }
    let list = rows(&mut builder, &[1, 1], &[2]);
    let out = builder.op("GatherND", &[data, list], &[], &sizes(&[1, 3]));
    let list = rows(&mut builder, &[1, 1], &[1]);
    let last = builder.op("GatherND", &[data, list], &[], &sizes(&[1, 3]));
    assert!(!builder.is_proved(last, out));
    let list = rows(&mut builder, &[2, 1], &[1, 2]);
    let batched = builder.op("GatherND", &[data, list], &[("batch_dims", Attribute::Int(1))], &sizes(&[2]));
    let plain = builder.op("GatherND", &[data, list], &[("batch_dims", Attribute::Int(2))], &sizes(&[2]));
    assert!(!builder.is_proved(batched, plain));
}

#[test]
fn joined_tensors() {
    for axis in [1, -1] {
        let (mut builder, a) = with_input(&[2, 2]);
        let b = builder.input("f32", &sizes(&[2, 1]));
        let joined = [("axis", Attribute::Int(axis))];
        let new = builder.op("Concat", &[a, b, a], &joined, &sizes(&[2, 5]));
        let open = builder.op(
            "Concat",
            &[a, b, a],
            &[("axis", Attribute::Int(axis)), ("x", text(""))],
            &[Size::Int(2), ANY],
        );
        check(builder.clone(), new);
        let shape = builder.typed("ShapeOf", &[open], &[], output("i64", &sizes(&[2])));
        for other in 3..7 {
            let other_shape = builder.list(&[2, other]);
            assert_eq!(builder.is_proved(shape, other_shape), other == 5);
        }
    }
}

#[test]
fn padded_tensors() {
    for (before, after, to) in
        [([1, 0], [0, 1], [3, 4]), ([-1, 1], [1, -2], [2, 2]), ([0, -1], [0, 0], [2, 2])]
    {
        let (mut builder, data) = with_input(&[2, 3]);
        let value = builder.constant("f32", &[], &[5]);
        let inputs = [data, builder.list(&before), builder.list(&after), value];
        let new = builder.op("Pad", &inputs, &[("pad_mode", text("constant"))], &sizes(&to));
        check(builder, new);
    }
    let (mut builder, data) = with_input(&[2]);
    let inputs = [data, builder.list(&[1]), builder.list(&[0])];
    let edge = builder.op("Pad", &inputs, &[("pad_mode", text("edge"))], &sizes(&[3]));
    let zeros = builder.op("Pad", &inputs, &[("pad_mode", text("constant"))], &sizes(&[3]));
    assert!(!builder.is_proved(edge, zeros));
}

#[test]
fn transposed_axes() {
    check_op("Transpose", &[2, 3, 2], &[&[1, 2, 0]], &[], &[3, 2, 2]);
    check_op("Transpose", &[2, 3], &[&[0, 1]], &[], &[2, 3]);
    let (mut builder, data) = with_input(&[2, 3, 4]);
    let (order, empty) = (builder.list(&[2, 1, 0]), builder.list(&[]));
    let explicit = builder.op("Transpose", &[data, order], &[], &sizes(&[4, 3, 2]));
    let reversed = builder.op("Transpose", &[data, empty], &[], &sizes(&[4, 3, 2]));
    assert!(builder.is_proved(explicit, reversed));
}

#[test]
fn reshaped_tensors() {
    for (op, from, to) in [
        ("Reshape", vec![2, 3], vec![6]),
        ("Reshape", vec![6], vec![3, 2]),
        ("Reshape", vec![2, 3, 2], vec![3, 4]),
        ("Reshape", vec![4, 3], vec![2, 1, 6]),
        ("Squeeze", vec![1, 3, 1], vec![3]),
        ("Unsqueeze", vec![3, 2], vec![3, 1, 2]),
        ("Flatten", vec![2, 3], vec![6]),
    ] {
        let (mut builder, data) = with_input(&from);
        let shape = builder.list(&to);
        // The interpreter knows Flatten as Reshape.
        let name = if op == "Flatten" { "Reshape" } else { op };
        let new = builder.op(name, &[data, shape], &[], &sizes(&to));
        check(builder.clone(), new);
        let other = builder.op(op, &[data, shape], &[("x", text(""))], &sizes(&to));
        assert!(builder.is_proved(new, other));
    }
}

/// A Reshape exists only if the number of elements is the same.
#[test]
fn reshaping_another_number_of_elements_fails() {
    let mut builder = Builder::default();
    let data = builder.input("f32", &[ANY]);
    let shape = builder.list(&[4]);
    let attributes = [("axes", ints(&[0])), ("start", ints(&[0])), ("len", ints(&[4])), ("step", ints(&[1]))];
    let sliced = builder.op("slice", &[data], &attributes, &sizes(&[4]));
    let reshaped = builder.op("Reshape", &[data, shape], &[], &sizes(&[4]));
    assert!(!builder.is_proved(sliced, reshaped));
    assert!(builder.is_proved(reshaped, sliced));
}

#[test]
fn broadcast_tensors() {
    for (from, to) in
        [(vec![3], vec![2, 3]), (vec![2, 1], vec![2, 2]), (vec![], vec![2]), (vec![1, 3], vec![2, 2, 3])]
    {
        for mode in ["numpy", "bidirectional"] {
            check_op("Broadcast", &from, &[&to], &[("mode", text(mode))], &to);
        }
    }
    let mode = [("mode", text("explicit"))];
    check_op("Broadcast", &[2], &[&[2, 3], &[0]], &mode, &[2, 3]);
    check_op("Broadcast", &[2, 1], &[&[2, 3, 2], &[0, 2]], &mode, &[2, 3, 2]);
    let (mut builder, data) = with_input(&[2]);
    let (target, mapping) = (builder.list(&[2, 2]), builder.list(&[0]));
    let [explicit, none] = ["explicit", "none"].map(|mode| {
        builder.op("Broadcast", &[data, target, mapping], &[("mode", text(mode))], &sizes(&[2, 2]))
    });
    assert!(builder.is_proved(explicit, none));
    let numpy = builder.op("Broadcast", &[data, target], &[("mode", text("numpy"))], &sizes(&[2, 2]));
    assert!(!builder.is_proved(explicit, numpy));
    let [pdpd, unknown] = [[("mode", text("pdpd"))].to_vec(), Vec::new()]
        .map(|attributes| builder.op("Broadcast", &[data, target], &attributes, &sizes(&[2, 2])));
    assert!(!builder.is_proved(numpy, pdpd) && !builder.is_proved(numpy, unknown));
}

/// A Broadcast exists only if the sizes agree.
#[test]
fn broadcasting_to_another_size_fails() {
    let mut builder = Builder::default();
    let data = builder.input("f32", &[ANY]);
    let shape = builder.list(&[4]);
    let attributes = [("axes", ints(&[0])), ("start", ints(&[0])), ("len", ints(&[4])), ("step", ints(&[1]))];
    let sliced = builder.op("slice", &[data], &attributes, &sizes(&[4]));
    let broadcast = builder.op("Broadcast", &[data, shape], &[("mode", text("numpy"))], &sizes(&[4]));
    assert!(!builder.is_proved(sliced, broadcast));
}

#[test]
fn tiled_and_rolled_tensors() {
    check_op("Tile", &[2, 2], &[&[2, 1]], &[], &[4, 2]);
    check_op("Tile", &[2], &[&[2, 2]], &[], &[2, 4]);
    check_op("Roll", &[2, 3], &[&[1], &[1]], &[], &[2, 3]);
    check_op("Roll", &[2, 3], &[&[-1, 2], &[0, -1]], &[], &[2, 3]);
    check_op("Roll", &[2, 3], &[&[1, 1], &[1, 1]], &[], &[2, 3]);
    let (mut builder, data) = with_input(&[2, 3]);
    let inputs = [data, builder.scalar(1), builder.list(&[0, 1])];
    let new = builder.op("Roll", &inputs, &[], &sizes(&[2, 3]));
    check(builder, new);
}

/// A function of the elements at the same index: equal on equal operands, and different for other operations,
/// attributes, types and orders of operands.
#[test]
fn element_wise_operations() {
    let (mut builder, a) = with_input(&[2, 3]);
    let b = builder.input("f32", &sizes(&[3]));
    let moved = |builder: &mut Builder,
                 value: Value,
                 op: &str,
                 inputs: &[Value],
                 attributes: &[(&str, Attribute)]| {
        let dims = builder.dims(value);
        let copies: Vec<Value> = inputs
            .iter()
            .map(|input| {
                let dims = builder.dims(*input);
                builder.op("Identity", &[*input], &[("copy", text(""))], &dims)
            })
            .collect();
        builder.op(op, &copies, attributes, &dims)
    };
    let numpy = [("auto_broadcast", text("numpy"))];
    for (op, is_commutative) in
        [("Add", true), ("Subtract", false), ("Multiply", true), ("Divide", false), ("Power", false)]
    {
        let new = builder.op(op, &[a, b], &numpy, &sizes(&[2, 3]));
        let same = moved(&mut builder, new, op, &[a, b], &numpy);
        assert!(builder.is_proved(new, same), "{op}");
        let swapped = moved(&mut builder, new, op, &[b, a], &numpy);
        assert_eq!(builder.is_proved(new, swapped), is_commutative, "{op}");
        for other in [
            moved(&mut builder, new, op, &[a, a], &numpy),
            moved(&mut builder, new, "Maximum", &[a, b], &numpy),
            moved(&mut builder, new, op, &[a, b], &[("auto_broadcast", text("pdpd"))]),
            moved(
                &mut builder,
                new,
                op,
                &[a, b],
                &[("auto_broadcast", text("numpy")), ("variant", Attribute::Int(1))],
            ),
        ] {
            assert!(!builder.is_proved(new, other), "{op}");
        }
    }
    let pdpd = [("auto_broadcast", text("pdpd"))];
    let [left, right] = [[a, b], [b, a]].map(|inputs| moved(&mut builder, a, "Add", &inputs, &pdpd));
    assert!(!builder.is_proved(left, right));
}

#[test]
fn layers_that_are_not_functions_of_their_inputs_equal_only_themselves() {
    for op in ["Abs", "Add", "Identity", "ShapeOf", "Range", "Reshape", "Concat", "Opaque"] {
        for is_unique in [true, false] {
            let mut builder = Builder::default();
            let [a, b] = [(), ()].map(|()| {
                let new = snick_certificate::Node { is_unique, ..node(op, &[], &[]) };
                builder.push(new, vec![output("i64", &sizes(&[2]))])
            });
            assert!(!builder.is_proved(a, b), "{op}");
        }
        let (mut builder, data) = with_input(&[2]);
        let [a, b] = [(), ()].map(|()| {
            let new = snick_certificate::Node { is_unique: true, ..node(op, &[data], &[]) };
            builder.push(new, vec![output("f32", &sizes(&[2]))])
        });
        assert!(!builder.is_proved(a, b) && !builder.is_proved(data, a), "{op}");
    }
}

#[test]
fn opaque_operations_are_functions_of_their_inputs() {
    let (mut builder, data) = with_input(&[2]);
    let dims = sizes(&[2]);
    let copy = builder.op("Identity", &[data], &[], &dims);
    let a = builder.op("Softmax", &[data], &[("axis", Attribute::Int(0))], &dims);
    let b = builder.op("Softmax", &[copy], &[("axis", Attribute::Int(0))], &dims);
    let others = [
        builder.op("Softmax", &[data], &[("axis", Attribute::Int(1))], &dims),
        builder.op("LogSoftmax", &[data], &[("axis", Attribute::Int(0))], &dims),
        builder.op("Softmax", &[data, data], &[("axis", Attribute::Int(0))], &dims),
        builder.typed("Softmax", &[data], &[], output("f16", &dims)),
    ];
    let mut equalities = snick_certificate::Equalities::new(&builder.graph, []);
    equalities.prove(data, copy, &mut support::guide::Elimination::default()).unwrap();
    equalities.advance(builder.graph.nodes.len());
    assert_eq!(equalities.first(a), equalities.first(b));
    assert!(others.iter().all(|other| equalities.first(*other) != equalities.first(a)));
    assert!(others.iter().all(|other| !builder.is_proved(a, *other)));
}

/// Arithmetic on the sizes 7 and 3, compared with all results nearby.
#[test]
fn integer_arithmetic() {
    let python = [("m_pythondiv", text("true"))];
    let c = [("m_pythondiv", text("false"))];
    for (op, attributes, expected) in [
        ("Add", &[][..], 10),
        ("Subtract", &[], 4),
        ("Multiply", &[], 21),
        ("Maximum", &[], 7),
        ("Minimum", &[], 3),
        ("Divide", &python, 2),
        ("Divide", &c, 2),
        ("Mod", &[], 1),
        ("FloorMod", &[], 1),
    ] {
        check_integers(op, attributes, [7, 3], Some(expected));
    }
    // The dividend is -4: numbers are rounded down, or nothing is known.
    check_integers("Divide", &python, [-4, 3], Some(-2));
    check_integers("FloorMod", &[], [-4, 3], Some(2));
    check_integers("Divide", &c, [-4, 3], None);
    check_integers("Mod", &[], [-4, 3], None);
    check_integers("Divide", &python, [3, 0], None);
    check_integers("Divide", &python, [3, -1], None);
    for (op, results) in [
        ("Less", [0, 1, 0]),
        ("LessEqual", [0, 1, 1]),
        ("Greater", [1, 0, 0]),
        ("GreaterEqual", [1, 0, 1]),
        ("Equal", [0, 0, 1]),
        ("NotEqual", [1, 1, 0]),
    ] {
        for (numbers, result) in [[7, 3], [3, 7], [3, 3]].into_iter().zip(results) {
            check_integers(op, &[], numbers, Some(if result == 1 { numbers[0] } else { numbers[1] + 1 }));
        }
    }
}

/// Compares the result of an operation on two sizes with numbers. For comparisons, the result is the first
/// number if the comparison holds, and otherwise the second number plus 1.
fn check_integers(op: &str, attributes: &[(&str, Attribute)], numbers: [i64; 2], expected: Option<i64>) {
    let mut builder = Builder::default();
    let scalars = numbers.map(|number| {
        let data = builder.input("f32", &sizes(&[number.abs()]));
        let shape = builder.typed("ShapeOf", &[data], &[], output("i64", &sizes(&[1])));
        let empty = builder.list(&[]);
        let scalar = builder.op("Reshape", &[shape, empty], &[], &[]);
        if number < 0 { builder.op("Negative", &[scalar], &[], &[]) } else { scalar }
    });
    let is_comparison =
        matches!(op, "Less" | "LessEqual" | "Greater" | "GreaterEqual" | "Equal" | "NotEqual");
    let result = if is_comparison {
        let condition = builder.typed(op, &scalars, attributes, output("boolean", &[]));
        let not = builder.op("LogicalNot", &[condition], &[], &[]);
        let both = builder.op("LogicalAnd", &[condition, condition], &[], &[]);
        let one = builder.scalar(1);
        let next = builder.op("Add", &[scalars[1], one], &[], &[]);
        let direct = builder.typed("Select", &[both, scalars[0], next], &[], output("i64", &[]));
        let turned = builder.typed("Select", &[not, next, scalars[0]], &[], output("i64", &[]));
        assert!(builder.is_proved(direct, turned), "{op}");
        direct
    } else {
        builder.op(op, &scalars, attributes, &[])
    };
    for other in -12..25 {
        let constant = builder.scalar(other);
        assert_eq!(builder.is_proved(constant, result), expected == Some(other), "{op} {numbers:?} {other}");
    }
}

#[test]
fn integer_functions_of_one_number() {
    for (number, op, expected) in [
        (5, "Negative", -5),
        (5, "Abs", 5),
        (-5, "Abs", 5),
        (5, "ReLU", 5),
        (-5, "ReLU", 0),
        (-5, "Convert", -5),
    ] {
        let mut builder = Builder::default();
        let one = builder.scalar(1);
        let near = builder.scalar(number - 1);
        let sum = builder.op("Add", &[near, one], &[], &[]);
        let result = builder.typed(op, &[sum], &[], output("i32", &[]));
        for other in -6..7 {
            let constant = builder.constant("i32", &[], &[other]);
            assert_eq!(builder.is_proved(constant, result), other == expected, "{op} {number} {other}");
        }
    }
}

/// A number that means "to the end" may overflow its type.
#[test]
fn huge_constants_may_overflow() {
    let mut builder = Builder::default();
    let (huge, one) = (builder.scalar(i64::MAX), builder.scalar(1));
    let sum = builder.op("Add", &[huge, one], &[], &[]);
    let back = builder.op("Subtract", &[sum, one], &[], &[]);
    assert!(!builder.is_proved(huge, back));
    let same = builder.op("Minimum", &[huge, one], &[], &[]);
    assert!(builder.is_proved(one, same));
    let narrow = builder.typed("Convert", &[huge], &[], output("i32", &[]));
    let wide = builder.typed("Convert", &[narrow], &[], output("i64", &[]));
    assert!(!builder.is_proved(huge, wide));
}

#[test]
fn reductions_of_short_lists() {
    for (op, expected) in [("ReduceProd", 24), ("ReduceSum", 9), ("ReduceMax", 4), ("ReduceMin", 2)] {
        let (mut builder, data) = with_input(&[3, 2, 4]);
        let shape = builder.typed("ShapeOf", &[data], &[], output("i64", &sizes(&[3])));
        let (axis, other_axis) = (builder.list(&[0]), builder.list(&[1]));
        let result = builder.op(op, &[shape, axis], &[], &[]);
        let unknown = builder.op(op, &[shape, other_axis], &[], &[]);
        for other in 0..30 {
            let constant = builder.scalar(other);
            assert_eq!(builder.is_proved(constant, result), other == expected, "{op} {other}");
            assert!(!builder.is_proved(constant, unknown));
        }
    }
}

#[test]
fn ranges_and_bounds() {
    let (mut builder, data) = with_input(&[20]);
    let inputs = [builder.scalar(3), builder.scalar(99), builder.scalar(2)];
    let range = builder.typed("Range", &inputs, &[], output("i64", &sizes(&[4])));
    let axis = builder.scalar(0);
    let gathered = builder.op("Gather", &[data, range, axis], &[], &sizes(&[4]));
    check(builder, gathered);
    for (range, step, expected) in [
        ([Some(1), Some(-1)], 2, [1, 4]),
        ([None, Some(4)], 1, [0, 4]),
        ([Some(7), None], -3, [7, 3]),
        ([None, None], -1, [9, 10]),
        ([Some(5), Some(2)], 1, [5, 0]),
    ] {
        let mut builder = Builder::default();
        let [start, stop] = range.map(|bound| match bound {
            Some(bound) => Attribute::Int(bound),
            None => text("open"),
        });
        let step = builder.scalar(step);
        let attributes =
            [("size", Attribute::Int(10)), ("start", start), ("stop", stop), ("step", text("in"))];
        let first =
            builder.push(node("bounds", &[step], &attributes), vec![output("i64", &[]), output("i64", &[])]);
        for (port, expected) in expected.into_iter().enumerate() {
            for other in -1..12 {
                let constant = builder.scalar(other);
                assert_eq!(builder.is_proved(constant, Value { port, ..first }), other == expected);
            }
        }
    }
}

/// Long lists of indices are known if they are arithmetic progressions.
#[test]
fn long_progressions_are_known() {
    let (mut builder, data) = with_input(&[40]);
    let axis = builder.scalar(0);
    let slice = [("axes", ints(&[0])), ("start", ints(&[1])), ("len", ints(&[18])), ("step", ints(&[2]))];
    let old = builder.op("slice", &[data], &slice, &sizes(&[18]));
    let mut numbers: Vec<i64> = (0..18).map(|at| 1 + 2 * at).collect();
    let list = builder.list(&numbers);
    let new = builder.op("Gather", &[data, list, axis], &[], &sizes(&[18]));
    assert!(builder.is_proved(old, new));
    numbers[17] += 1;
    let list = builder.list(&numbers);
    let new = builder.op("Gather", &[data, list, axis], &[], &sizes(&[18]));
    assert!(!builder.is_proved(old, new));
}

/// Sizes that are not numbers but known to be 1 are repeated.
#[test]
fn unknown_sizes_are_repeated_if_they_are_1() {
    for (low, high) in [(1, 1), (0, 1), (1, 2), (2, 3)] {
        let mut builder = Builder::default();
        let data = builder.input("f32", &[Size::Any(low, Some(high))]);
        let (target, axis) = (builder.list(&[3]), builder.scalar(0));
        let broadcast = builder.op("Broadcast", &[data, target], &[("mode", text("numpy"))], &sizes(&[3]));
        let first = builder.list(&[0, 0, 0]);
        let repeated = builder.op("Gather", &[data, first, axis], &[], &sizes(&[3]));
        let one_by_one = builder.list(&[0, 1, 2]);
        let kept = builder.op(
            "Gather",
            &[data, one_by_one, axis],
            &[("checks_indices", text("true"))],
            &sizes(&[3]),
        );
        assert_eq!(builder.is_proved(broadcast, repeated), high == 1 || high == 2, "{low} {high}");
        assert_eq!(builder.is_proved(broadcast, kept), low == 2, "{low} {high}");
    }
}

/// The size of an element-wise operation is that of the operand whose size is not 1.
#[test]
fn sizes_of_element_wise_operations() {
    let sizes_of_operands = [[1, 3], [3, 1], [2, 1], [1, 2], [3, 3], [1, 1], [0, 1], [1, 0]];
    for (dims, expected) in sizes_of_operands.into_iter().zip([3, 3, 2, 2, 3, 1, 0, 0]) {
        let mut builder = Builder::default();
        let operands = dims.map(|dim| builder.input("f32", &[Size::Any(dim, Some(dim))]));
        let sum = builder.op("Subtract", &operands, &[], &[ANY]);
        let shape = builder.typed("ShapeOf", &[sum], &[], output("i64", &sizes(&[1])));
        for other in 0..5 {
            let constant = builder.list(&[other]);
            assert_eq!(builder.is_proved(constant, shape), other == expected, "{dims:?} {other}");
        }
    }
}

#[test]
fn outputs_of_opaque_operations_differ() {
    let (mut builder, data) = with_input(&[2]);
    let copies: Vec<Value> = (0..2).map(|_| builder.op("Abs", &[data], &[], &sizes(&[2]))).collect();
    let outputs: Vec<Value> = copies
        .iter()
        .flat_map(|copy| builder.parts("TopK", &[*copy], &[&sizes(&[2]), &sizes(&[2])]))
        .collect();
    assert!(builder.is_proved(outputs[0], outputs[2]) && builder.is_proved(outputs[1], outputs[3]));
    assert!(!builder.is_proved(outputs[0], outputs[1]) && !builder.is_proved(outputs[0], outputs[3]));
}

/// Operands that are equal only element by element, in the other order.
#[test]
fn operands_of_commutative_operations_may_be_exchanged() {
    let (mut builder, data) = with_input(&[4]);
    let slice = |builder: &mut Builder, data: Value, start: i64, length: i64| {
        let attributes =
            [("axes", ints(&[0])), ("start", ints(&[start])), ("len", ints(&[length])), ("step", ints(&[1]))];
        builder.op("slice", &[data], &attributes, &sizes(&[length]))
    };
    let [first, last] = [0, 2].map(|start| slice(&mut builder, data, start, 2));
    let tail = slice(&mut builder, data, 1, 3);
    let same_last = slice(&mut builder, tail, 1, 2);
    for (op, is_commutative) in [("Add", true), ("Subtract", false), ("Maximum", false)] {
        let old = builder.op(op, &[first, last], &[], &sizes(&[2]));
        // Before the next layer, to which it is known to be equal.
        let swapped = builder.op(op, &[same_last, first], &[], &sizes(&[2]));
        let new = builder.op(op, &[first, same_last], &[], &sizes(&[2]));
        let other = builder.op(op, &[same_last, same_last], &[], &sizes(&[2]));
        assert!(builder.is_proved(old, new), "{op}");
        assert_eq!(builder.is_proved(old, swapped), is_commutative, "{op}");
        assert!(!builder.is_proved(old, other), "{op}");
    }
}

/// A layer that is not a function of its inputs differs from one with the same inputs that is.
#[test]
fn functions_differ_from_layers_that_are_none() {
    let (mut builder, data) = with_input(&[2]);
    for op in ["Abs", "Softmax"] {
        let [a, b] = [true, false].map(|is_unique| {
            let new = snick_certificate::Node { is_unique, ..node(op, &[data], &[]) };
            builder.push(new, vec![output("f32", &sizes(&[2]))])
        });
        assert!(!builder.is_proved(a, b) && !builder.is_proved(b, a), "{op}");
    }
}

/// Constants that differ in shape only have the same elements at the same row-major position.
#[test]
fn constants_of_other_shapes_have_the_same_elements() {
    let mut builder = Builder::default();
    let numbers = [5, 1, 9, 9, 4, 2];
    let list = builder.constant("f32", &[6], &numbers);
    let matrix = builder.constant("f32", &[3, 2], &numbers);
    let wide = builder.constant("f32", &[2, 3], &numbers);
    let shape = builder.list(&[3, 2]);
    let reshaped = builder.op("Reshape", &[list, shape], &[], &sizes(&[3, 2]));
    assert!(builder.is_proved(reshaped, matrix));
    let order = builder.list(&[1, 0]);
    let transposed = builder.op("Transpose", &[wide, order], &[], &sizes(&[3, 2]));
    assert!(!builder.is_proved(matrix, transposed));
    let other = builder.constant("f32", &[3, 2], &[5, 1, 9, 9, 4, 3]);
    assert!(!builder.is_proved(reshaped, other));
}
