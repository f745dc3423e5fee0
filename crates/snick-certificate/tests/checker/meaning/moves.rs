//! Operations that move elements.

use super::*;

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
    check_op("Gather", &[2, 3], &[&[-1, -3, 1], &[-1]], &[("batch_dims", Attribute::from(0))], &[2, 3]);
    let (mut builder, data) = with_input(&[2, 3, 2]);
    let indices = builder.constant("i64", &[2, 2], &[0, 2, 1, 1]);
    let axis = builder.scalar(1);
    for (batch, to) in [(0, [2, 2, 2, 2].as_slice()), (1, &[2, 2, 2]), (-1, &[2, 2, 2])] {
        let attributes = [("batch_dims", Attribute::from(batch))];
        if batch >= 0 {
            let new = builder.op("Gather", &[data, indices, axis], &attributes, &sizes(to));
            check(builder.clone(), new);
        } else {
            let [new, same] = [1, -1].map(|batch| {
                builder.op(
                    "Gather",
                    &[data, indices, axis],
                    &[("batch_dims", Attribute::from(batch))],
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
        let checks = [("checks_indices", true.into())];
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
        for attributes in [&[][..], &[("batch_dims", Attribute::from(0))]] {
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
    let batched = builder.op("GatherND", &[data, list], &[("batch_dims", Attribute::from(1))], &sizes(&[2]));
    let plain = builder.op("GatherND", &[data, list], &[("batch_dims", Attribute::from(2))], &sizes(&[2]));
    assert!(!builder.is_proved(batched, plain));
}

#[test]
fn joined_tensors() {
    for axis in [1, -1] {
        let (mut builder, a) = with_input(&[2, 2]);
        let b = builder.input("f32", &sizes(&[2, 1]));
        let joined = [("axis", Attribute::from(axis))];
        let new = builder.op("Concat", &[a, b, a], &joined, &sizes(&[2, 5]));
        let open = builder.op(
            "Concat",
            &[a, b, a],
            &[("axis", Attribute::from(axis)), ("x", text(""))],
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
fn padded_sizes() {
    let mut builder = Builder::default();
    let data = builder.input("f32", &[Size::Any(0, None)]);
    let (before, after) = (builder.input("i64", &sizes(&[1])), builder.input("i64", &sizes(&[1])));
    let reversed = builder.op("Transpose", &[data], &[], &[Size::Dim(data, 0)]);
    let mut padded = |data, before, after| {
        builder.op("Pad", &[data, before, after], &[("pad_mode", text("edge"))], &[Size::Any(0, None)])
    };
    let (old, new, other) =
        (padded(data, before, after), padded(reversed, before, after), padded(data, after, before));
    let [old, new, other] = [old, new, other].map(|padded| builder.shape_of(padded));
    assert!(builder.is_proved(old, new));
    assert!(builder.is_proved(old, other));
    let unpadded = builder.shape_of(data);
    assert!(!builder.is_proved(old, unpadded));
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
    let sliced = builder.slice(data, 0, 0, 4);
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
    let sliced = builder.slice(data, 0, 0, 4);
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

#[test]
fn constants_that_change_nothing() {
    let (mut builder, data) = with_input(&[2, 3]);
    let [one, zero, ones, mixed] = [&[1][..], &[0], &[1, 1, 1], &[1, 1, 0]]
        .map(|list| builder.constant("f32", &[list.len() as i64], list));
    for (op, constant, is_equal) in [
        ("Multiply", one, true),
        ("Multiply", ones, true),
        ("Multiply", mixed, false),
        ("Multiply", zero, false),
        ("Divide", one, true),
        ("Divide", zero, false),
        ("Subtract", zero, true),
        ("Subtract", one, false),
        ("Add", one, false),
        // The sum of -0.0 and 0.0 is 0.0.
        ("Add", zero, false),
    ] {
        let [new, swapped] = [([data, constant], 0), ([constant, data], 1)].map(|(inputs, number)| {
            // Otherwise, the two products are known to be equal.
            builder.op(op, &inputs, &[("number", Attribute::from(number))], &sizes(&[2, 3]))
        });
        assert_eq!(builder.is_proved(data, new), is_equal, "{op}");
        assert_eq!(builder.is_proved(data, swapped), is_equal && op == "Multiply", "{op}");
    }
}
