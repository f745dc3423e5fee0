//! Cases, premises and limits.

use super::*;

/// Slice-8 of the only axis.
fn slice(builder: &mut Builder, data: Value, range: [i64; 3]) -> Value {
    let [start, stop, step] = range.map(|bound| builder.list(&[bound]));
    builder.op("Slice", &[data, start, stop, step], &[], &[ANY])
}

#[test]
fn minima_are_distinguished_where_that_is_needed() {
    let mut builder = Builder::default();
    let data = builder.input("f32", &[ANY]);
    let inner = slice(&mut builder, data, [0, 5, 1]);
    let twice = slice(&mut builder, inner, [0, 3, 1]);
    let once = slice(&mut builder, data, [0, 3, 1]);
    let other = slice(&mut builder, data, [0, 4, 1]);
    assert!(builder.is_proved(twice, once));
    assert!(builder.is_proved(once, twice));
    assert!(!builder.is_proved(twice, other));
    assert!(!builder.is_proved(inner, once));
}

#[test]
fn a_value_that_never_exists_equals_any() {
    let (mut builder, data) = with_input(&[3]);
    let axis = builder.scalar(0);
    let mut gathered = |at| {
        let at = builder.list(&[at]);
        builder.op("Gather", &[data, at, axis], &[("checks_indices", true.into())], &sizes(&[1]))
    };
    let (first, last, beyond) = (gathered(0), gathered(2), gathered(3));
    assert!(builder.is_proved(beyond, first));
    assert!(!builder.is_proved(first, beyond));
    assert!(!builder.is_proved(last, first));
}

#[test]
fn a_value_does_not_exist_if_its_conditions_contradict_each_other() {
    let mut builder = Builder::default();
    let (data, list) = (builder.input("f32", &[ANY]), builder.input("f32", &sizes(&[3])));
    let size = builder.typed("ShapeOf", &[data], &[], output("i64", &sizes(&[1])));
    let axis = builder.scalar(0);
    // The size is below 3, and above 4.
    let gathered =
        builder.op("Gather", &[list, size, axis], &[("checks_indices", true.into())], &sizes(&[1]));
    let [at_four, at_one, at_zero] = [4, 1, 0].map(|start| builder.slice(data, 0, start, 1));
    let mut sum = |part| builder.op("Subtract", &[gathered, part], &[], &sizes(&[1]));
    let [never, sometimes, other] = [sum(at_four), sum(at_one), sum(at_zero)];
    assert!(builder.is_proved(never, other));
    assert!(!builder.is_proved(sometimes, other));
}

#[test]
fn chains_are_longer_than_calls_are_deep() {
    let (mut builder, data) = with_input(&[2, 3]);
    let dims = [sizes(&[3, 2]), sizes(&[2, 3])];
    let last = (0..300).fold(data, |value, i| builder.op("Transpose", &[value], &[], &dims[i % 2]));
    assert!(builder.is_proved(data, last));
}

#[test]
fn quotients_change_at_multiples_of_the_divisor() {
    let mut builder = Builder::default();
    let [start, stop, step, four] = [0, 6, 1, 4].map(|bound| builder.scalar(bound));
    let range = builder.typed("Range", &[start, stop, step], &[], output("i64", &sizes(&[6])));
    let quotient = builder.op("Divide", &[range, four], &[("m_pythondiv", true.into())], &sizes(&[6]));
    let remainder = builder.op("FloorMod", &[range, four], &[], &sizes(&[6]));
    let right = builder.list(&[0, 0, 0, 0, 1, 1]);
    assert!(builder.is_proved(right, quotient));
    for wrong in [[0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1]] {
        let wrong = builder.list(&wrong);
        assert!(!builder.is_proved(wrong, quotient));
    }
    for wrong in [[0, 1, 2, 3, 4, 1], [0, 1, 2, 3, 4, 5], [0, 1, 2, -1, 0, 1]] {
        let wrong = builder.list(&wrong);
        assert!(!builder.is_proved(wrong, remainder));
    }
}

#[test]
fn sizes_do_not_overflow() {
    let mut builder = Builder::default();
    let data = builder.input("f32", &[ANY, ANY]);
    let shape = builder.typed("ShapeOf", &[data], &[], output("i64", &sizes(&[2])));
    let unknown = builder.input("i64", &sizes(&[2]));
    for (numbers, is_known) in [(shape, true), (unknown, false)] {
        let [a, b] = [0, 1].map(|at| {
            let (at, axis) = (builder.scalar(at), builder.scalar(0));
            builder.op("Gather", &[numbers, at, axis], &[], &[])
        });
        let mut of = |op, a, b| builder.op(op, &[a, b], &[], &[]);
        let (double, product) = (of("Add", a, a), of("Multiply", a, b));
        let (first, second) = (of("Multiply", double, b), of("Add", product, product));
        assert_eq!(builder.is_proved(first, second), is_known);
        let quotient = builder.op("Divide", &[product, a], &[("m_pythondiv", true.into())], &[]);
        assert!(!builder.is_proved(quotient, b), "the divisor may be 0");
    }
}
