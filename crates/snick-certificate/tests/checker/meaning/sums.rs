//! Operations that combine elements along axes.

use super::*;

fn reduce(builder: &mut Builder, data: Value, axis: i64, is_kept: bool, dims: &[Size]) -> Value {
    let axes = builder.list(&[axis]);
    builder.op("ReduceSum", &[data, axes], &[("keep_dims", is_kept.into())], dims)
}

#[test]
fn slices_of_reductions() {
    for (is_kept, column) in [(true, 2), (false, 1)] {
        let mut builder = Builder::default();
        let data = builder.input("f32", &[Size::Int(5), ANY, Size::Int(4)]);
        let dims = |columns| match is_kept {
            true => vec![Size::Int(5), Size::Int(1), Size::Int(columns)],
            false => vec![Size::Int(5), Size::Int(columns)],
        };
        let whole = reduce(&mut builder, data, 1, is_kept, &dims(4));
        let before = builder.slice(whole, column, 1, 2);
        let rows = builder.slice(data, 2, 1, 2);
        let after = reduce(&mut builder, rows, -2, is_kept, &dims(2));
        assert!(builder.is_proved(before, after));
        let others = builder.slice(data, 2, 2, 2);
        let wrong = reduce(&mut builder, others, 1, is_kept, &dims(2));
        assert!(!builder.is_proved(before, wrong));
        let other_axis = reduce(&mut builder, data, 0, true, &[Size::Int(1), ANY, Size::Int(4)]);
        let sliced = builder.slice(other_axis, 1, 0, 1);
        assert!(!builder.is_proved(whole, sliced));
    }
}

#[test]
fn a_part_of_the_combined_axis_differs() {
    let (mut builder, data) = with_input(&[4, 3]);
    let part = builder.slice(data, 0, 0, 3);
    let [all, some] = [data, part].map(|data| reduce(&mut builder, data, 0, false, &sizes(&[3])));
    assert!(!builder.is_proved(all, some));
    let axis = [("axis", Attribute::from(0))];
    let [all, some] =
        [(data, 4), (part, 3)].map(|(data, rows)| builder.op("Softmax", &[data], &axis, &sizes(&[rows, 3])));
    let all = builder.slice(all, 0, 0, 3);
    assert!(!builder.is_proved(all, some));
}

#[test]
fn slices_of_softmax() {
    let (mut builder, data) = with_input(&[4, 3]);
    let softmax = |builder: &mut Builder, data, axis: i64, dims: &[i64]| {
        builder.op("Softmax", &[data], &[("axis", Attribute::from(axis))], &sizes(dims))
    };
    let part = builder.slice(data, 0, 1, 2);
    for (axis, is_equal) in [(1, true), (0, false)] {
        let whole = softmax(&mut builder, data, axis, &[4, 3]);
        let before = builder.slice(whole, 0, 1, 2);
        let after = softmax(&mut builder, part, axis, &[2, 3]);
        assert_eq!(builder.is_proved(before, after), is_equal);
    }
}

#[test]
fn slices_of_products() {
    for (is_left, is_right) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut builder = Builder::default();
        let matrix = |rows, columns, is_transposed| match is_transposed {
            true => [columns, rows],
            false => [rows, columns],
        };
        let left = builder.input("f32", &[&[ANY], &matrix(Size::Int(6), Size::Int(3), is_left)[..]].concat());
        let right = builder.input("f32", &matrix(Size::Int(3), Size::Int(5), is_right));
        let attributes = [("transpose_a", is_left.into()), ("transpose_b", is_right.into())];
        let product = |builder: &mut Builder, left, right, rows, columns| {
            builder.op(
                "MatMul",
                &[left, right],
                &attributes,
                &[Size::Dim(left, 0), Size::Int(rows), Size::Int(columns)],
            )
        };
        let whole = product(&mut builder, left, right, 6, 5);
        let rows = builder.slice(whole, 1, 2, 3);
        let columns = builder.slice(whole, 2, 1, 2);
        let part = builder.slice(left, if is_left { 2 } else { 1 }, 2, 3);
        let of_rows = product(&mut builder, part, right, 3, 5);
        let part = builder.slice(right, usize::from(!is_right), 1, 2);
        let of_columns = product(&mut builder, left, part, 6, 2);
        assert!(builder.is_proved(rows, of_rows));
        assert!(builder.is_proved(columns, of_columns));
        let part = builder.slice(right, usize::from(!is_right), 2, 2);
        let wrong = product(&mut builder, left, part, 6, 2);
        assert!(!builder.is_proved(columns, wrong));
        // The axes that are combined have fewer elements, or differ in size.
        let axis = if is_left { 1 } else { 2 };
        let few = builder.slice(left, axis, 0, 2);
        let other = builder.slice(right, usize::from(is_right), 0, 2);
        for (few, other) in [(few, other), (few, right), (left, other)] {
            let wrong = product(&mut builder, few, other, 6, 5);
            assert!(!builder.is_proved(whole, wrong));
        }
    }
}

/// `left` up to an index of an axis, and `right` from there.
fn joined(builder: &mut Builder, [left, right]: [Value; 2], axis: usize, at: i64, size: i64) -> Value {
    let parts = [builder.slice(left, axis, 0, at), builder.slice(right, axis, at, size - at)];
    let dims = builder.dims(left);
    builder.op("Concat", &parts, &[("axis", Attribute::from(axis as i64))], &dims)
}

#[test]
fn softmax_depends_on_the_whole_axis() {
    let (mut builder, data) = with_input(&[2, 3]);
    let other = builder.input("f32", &sizes(&[2, 3]));
    let mixed = joined(&mut builder, [data, other], 1, 2, 3);
    let axis = [("axis", Attribute::from(1))];
    let [old, new] = [data, mixed].map(|data| {
        let softmax = builder.op("Softmax", &[data], &axis, &sizes(&[2, 3]));
        builder.slice(softmax, 1, 0, 1)
    });
    assert!(!builder.is_proved(old, new));
}

#[test]
fn combined_axes_may_be_empty() {
    let mut builder = Builder::default();
    let data = builder.input("i64", &[ANY]);
    let same = builder.op("Transpose", &[data], &[], &[Size::Dim(data, 0)]);
    let shape = builder.typed("ShapeOf", &[data], &[], output("i64", &sizes(&[1])));
    let [zero, one, two] = [0, 1, 2].map(|integer| builder.scalar(integer));
    let size = builder.op("Gather", &[shape, zero, zero], &[], &[]);
    let has_elements = builder.typed("Greater", &[size, zero], &[], output("boolean", &[]));
    let one_or_two = builder.typed("Select", &[has_elements, one, two], &[], output("i64", &[]));
    let [old, new] = [data, same].map(|data| reduce(&mut builder, data, 0, false, &[]));
    assert!(builder.is_proved(old, new));
    let before = builder.op("Add", &[old, one], &[], &[]);
    let after = builder.op("Add", &[new, one_or_two], &[], &[]);
    assert!(!builder.is_proved(before, after));
}

#[test]
fn each_combined_axis_has_its_own_size() {
    let (mut builder, short) = with_input(&[3]);
    let [long, other] = [(); 2].map(|()| builder.input("f32", &sizes(&[5])));
    let same = builder.op("Transpose", &[short], &[], &sizes(&[3]));
    let mixed = joined(&mut builder, [long, other], 0, 3, 5);
    let [a, b, c, d] = [short, same, long, mixed].map(|data| reduce(&mut builder, data, 0, false, &[]));
    let before = builder.op("Subtract", &[a, c], &[], &[]);
    let right = builder.op("Subtract", &[b, c], &[], &[]);
    let wrong = builder.op("Subtract", &[b, d], &[], &[]);
    assert!(builder.is_proved(before, right));
    assert!(!builder.is_proved(before, wrong));
}

#[test]
fn sizes_follow_from_the_inputs() {
    let mut builder = Builder::default();
    let data = builder.input("f32", &[ANY, ANY, ANY]);
    for transposes in [[true, false], [false, true]] {
        let attributes = [("transpose_a", transposes[0].into()), ("transpose_b", transposes[1].into())];
        let product = builder.op("MatMul", &[data, data], &attributes, &[ANY, ANY, ANY]);
        let absolute = builder.op("Abs", &[data], &[], &[ANY, ANY, ANY]);
        let rows = usize::from(transposes[0]) + 1;
        let dims = [0, rows, rows].map(|axis| Size::Dim(absolute, axis));
        let expected = builder.op("Opaque", &[absolute], &attributes, &dims);
        let other = builder.op(
            "Opaque",
            &[absolute],
            &[("axis", Attribute::from(rows))],
            &[dims[0].clone(), dims[1].clone(), Size::Dim(absolute, 3 - rows)],
        );
        let [product, expected, other] = [product, expected, other].map(|value| builder.shape_of(value));
        assert!(builder.is_proved(expected, product));
        assert!(!builder.is_proved(other, product));
    }
    let axis = [("axis", Attribute::from(1))];
    let softmax = builder.op("Softmax", &[data], &axis, &[ANY, ANY, ANY]);
    let [old, new] = [data, softmax].map(|value| builder.shape_of(value));
    assert!(builder.is_proved(old, new));
    for is_kept in [true, false] {
        let mut dims = vec![Size::Dim(data, 0), Size::Int(1), Size::Dim(data, 2)];
        let mut unknown = vec![ANY; 3];
        if !is_kept {
            dims.remove(1);
            unknown.pop();
        }
        let reduced = reduce(&mut builder, data, 1, is_kept, &unknown);
        let expected = builder.op("Opaque", &[data], &[("keep_dims", is_kept.into())], &dims);
        let [old, new] = [expected, reduced].map(|value| builder.shape_of(value));
        assert!(builder.is_proved(old, new));
    }
}

#[test]
fn a_factor_may_be_transposed_by_its_own_layer() {
    let (mut builder, data) = with_input(&[4, 3]);
    let weights = builder.input("f32", &sizes(&[5, 3]));
    let transposed = builder.op("Transpose", &[weights], &[], &sizes(&[3, 5]));
    let mut product = |right, is_transposed: bool, variant: &str| {
        let attributes = [("transpose_b", is_transposed.into()), ("variant", text(variant))];
        builder.op("MatMul", &[data, right], &attributes, &sizes(&[4, 5]))
    };
    let [old, new, other] =
        [product(weights, true, "a"), product(transposed, false, "a"), product(transposed, false, "b")];
    assert!(builder.is_proved(old, new));
    assert!(!builder.is_proved(old, other));
    let (mut builder, square) = with_input(&[3, 3]);
    let [plain, transposed] = [false, true].map(|is_transposed| {
        builder.op("MatMul", &[square, square], &[("transpose_b", is_transposed.into())], &sizes(&[3, 3]))
    });
    assert!(!builder.is_proved(plain, transposed));
}
