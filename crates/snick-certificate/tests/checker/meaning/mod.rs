//! Each operation of the table of meanings, element by element: every element of the output is proved equal
//! to the elements of the inputs that it is a copy of, and to no others.

mod cases;
mod functions;
mod moves;
mod numbers;
mod sums;

use snick_certificate::{Attribute, Size, Value};

use crate::support::interpreter::{Tensor, evaluate, indices};
use crate::support::{ANY, Builder, ints, node, output, text, texts};

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
