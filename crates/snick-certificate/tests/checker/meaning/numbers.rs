//! Integers, sizes and constants.

use super::*;

/// Arithmetic on the sizes 7 and 3, compared with all results nearby.
#[test]
fn integer_arithmetic() {
    let python = [("m_pythondiv", true.into())];
    let c = [("m_pythondiv", false.into())];
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
            Some(bound) => Attribute::from(bound),
            None => text("open"),
        });
        let step = builder.scalar(step);
        let attributes =
            [("size", Attribute::from(10)), ("start", start), ("stop", stop), ("step", text("in"))];
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
        let kept =
            builder.op("Gather", &[data, one_by_one, axis], &[("checks_indices", true.into())], &sizes(&[3]));
        assert_eq!(builder.is_proved(broadcast, repeated), high == 1 || high == 2, "{low} {high}");
        assert_eq!(builder.is_proved(broadcast, kept), low == 2, "{low} {high}");
    }
}

/// Sizes of element-wise operations follow from broadcasting.
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
    let [first, last] = [0, 2].map(|start| builder.slice(data, 0, start, 2));
    let tail = builder.slice(data, 0, 1, 3);
    let same_last = builder.slice(tail, 0, 1, 2);
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

/// A scalar that is a size of an input.
fn size(builder: &mut Builder) -> Value {
    let data = builder.input("f32", &[ANY]);
    let shape = builder.typed("ShapeOf", &[data], &[], output("i64", &sizes(&[1])));
    let zero = builder.scalar(0);
    builder.op("Gather", &[shape, zero, zero], &[], &[])
}

#[test]
fn conversions_that_lose_a_part() {
    for (element_type, is_exact) in
        [("i64", true), ("i32", true), ("u8", false), ("boolean", false), ("f16", false)]
    {
        let mut builder = Builder::default();
        let size = size(&mut builder);
        let narrow = builder.typed("Convert", &[size], &[], output(element_type, &[]));
        let wide = builder.typed("Convert", &[narrow], &[], output("i64", &[]));
        assert_eq!(builder.is_proved(size, wide), is_exact, "{element_type}");
    }
}

#[test]
fn elements_are_in_the_range_of_their_type() {
    for (element_type, least, most) in [
        ("i32", i32::MIN.into(), i32::MAX.into()),
        ("i16", i16::MIN.into(), i16::MAX.into()),
        ("i8", i8::MIN.into(), i8::MAX.into()),
        ("u32", 0, u32::MAX.into()),
        ("u16", 0, u16::MAX.into()),
        ("u8", 0, u8::MAX.into()),
    ] {
        for (op, bound, keeps) in [
            ("Minimum", most, true),
            ("Minimum", most - 1, false),
            ("Maximum", least, true),
            ("Maximum", least + 1, false),
        ] {
            let mut builder = Builder::default();
            let element = builder.input(element_type, &[]);
            let wide = builder.typed("Convert", &[element], &[], output("i64", &[]));
            let bound = builder.scalar(bound);
            let bounded = builder.op(op, &[wide, bound], &[], &[]);
            assert_eq!(builder.is_proved(wide, bounded), keeps, "{op} of {element_type}");
        }
    }
}

/// Half of an element may be too large for a narrower type, unlike half of a size.
#[test]
fn a_part_of_an_element_may_overflow() {
    for is_size in [true, false] {
        let mut builder = Builder::default();
        let number = if is_size { size(&mut builder) } else { builder.input("i64", &[]) };
        let [zero, two] = [0, 2].map(|integer| builder.scalar(integer));
        let number = builder.op("Maximum", &[number, zero], &[], &[]);
        let half = builder.op("Divide", &[number, two], &[], &[]);
        let narrow = builder.typed("Convert", &[half], &[], output("i32", &[]));
        let wide = builder.typed("Convert", &[narrow], &[], output("i64", &[]));
        assert_eq!(builder.is_proved(half, wide), is_size);
    }
}

#[test]
fn ranges_with_a_fraction() {
    for (element_type, is_whole) in [("i64", true), ("f32", false)] {
        let mut builder = Builder::default();
        let (zero, nine) = (builder.scalar(0), builder.scalar(9));
        let step = builder.input(element_type, &[]);
        let [one, two] = [1, 2].map(|at| builder.scalar(at));
        let mut element = |range: [Value; 3], at| {
            let range = builder.typed("Range", &range, &[], output("i64", &sizes(&[3])));
            builder.op("Gather", &[range, at, zero], &[], &[])
        };
        let first = element([zero, nine, step], one);
        let second = element([zero, nine, step], two);
        let twice = element([first, nine, first], one);
        assert_eq!(builder.is_proved(second, twice), is_whole, "{element_type}");
    }
}
