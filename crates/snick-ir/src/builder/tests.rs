//! Graphs built with the typed methods, and errors of the builder.

use snick_tensor::ElementType;

use super::{BuildMode, GraphBuilder, StridedSliceMasks};
use crate::ops::{self, Reshape};
use crate::{Attrs, Graph, Op, OpError, Value};

fn shape(b: &GraphBuilder, value: Value) -> String {
    b.fact(value).unwrap().shape.display(b.graph().symbols()).to_string()
}

#[test]
fn facts_are_known_at_once() {
    let b = GraphBuilder::new("g");
    let x = b.parameter("x", ElementType::F32, "N,3,H=16..64,8").unwrap();
    assert_eq!(shape(&b, x), "[N,3,H,8]");
    let masks = StridedSliceMasks::new().begin([1, 1]).end([1, 1]).shrink_axis([0, 1]);
    let y = b.strided_slice(x, &[0, 1], &[0, 2], &[1, 1], masks).unwrap();
    assert_eq!(shape(&b, y), "[N,H,8]");
    let z = b.reduce_mean(y, &[-1], false).unwrap();
    let z = b.transpose(z, &[1, 0]).unwrap();
    assert_eq!(shape(&b, z), "[H,N]");
    let size = b.size_of(x, 3).unwrap();
    assert_eq!(b.fact(size).unwrap().ints().unwrap().as_slice(), [8]);
}

#[test]
fn numbers_become_scalars_of_the_other_operands_type() {
    let b = GraphBuilder::new("g");
    let x = b.parameter("x", ElementType::F16, "4").unwrap();
    let y = b.multiply(x, 0.5).unwrap();
    assert_eq!(b.element_type(y), Ok(ElementType::F16));
    let below = b.less(x, 0.0).unwrap();
    let z = b.select(below, 0.0, x).unwrap();
    assert_eq!(b.element_type(z), Ok(ElementType::F16));
    assert!(b.add(1.0, 2.0).is_err());
}

#[test]
fn values_of_other_graphs_are_errors() {
    let other = GraphBuilder::new("other");
    let mut x = other.parameter("x", ElementType::F32, "N").unwrap();
    for _ in 0..3 {
        x = other.relu(x).unwrap();
    }
    let b = GraphBuilder::new("g");
    assert_eq!(b.relu(x), Err(OpError::ForeignValue));
    // A value of another graph is an error even if this graph has a node with the same index.
    b.parameter("own", ElementType::I64, "7").unwrap();
    assert_eq!(b.relu(x), Err(OpError::ForeignValue));
    assert_eq!(b.fact(x).err(), Some(OpError::ForeignValue));
    let y = b.parameter("y", ElementType::F32, "N").unwrap();
    assert_eq!(b.relu(Value { port: 1, ..y }), Err(OpError::ForeignValue));
}

#[test]
fn an_error_leaves_no_node_unless_the_mode_is_lenient() {
    let b = GraphBuilder::new("g");
    let (x, y) = {
        let parameter = |name, shape| b.parameter(name, ElementType::F32, shape).unwrap();
        (parameter("x", "2,3"), parameter("y", "4"))
    };
    assert!(b.add(x, y).is_err());
    assert_eq!((b.graph().len(), b.added().len()), (2, 2));
    assert!(b.parameter("z", ElementType::F32, "N,,").is_err());

    let mut graph = b.finish().unwrap();
    let lenient = GraphBuilder::on(&mut graph).mode(BuildMode::Lenient);
    let sum = lenient.add(x, y).unwrap();
    lenient.result("out", sum).unwrap();
    assert!(lenient.finish().is_err());
}

#[test]
fn nodes_are_named_after_scope_and_op() {
    let mut graph = Graph::new("g");
    let b = GraphBuilder::on(&mut graph).scope("layer");
    let x = b.parameter("x", ElementType::F32, "N").unwrap();
    let y = b.relu(x).unwrap();
    let names = [x, y].map(|value| b.graph().node(value.node).name().to_string());
    assert_eq!(names, ["layer/x", "layer/ReLU"]);
    drop(b);
    assert_eq!(graph.len(), 2);
}

#[test]
fn short_forms_are_the_ops_of_their_names() {
    let b = GraphBuilder::new("g");
    let x = b.parameter("x", ElementType::F32, "2,3").unwrap();
    let k = b.int(1).unwrap();
    let op = |b: &GraphBuilder, value: Value| b.graph().node(value.node).op().clone();
    let by_name = |name, attrs| Op::by_name(name, attrs).unwrap();
    let y = b.add(x, x).unwrap();
    assert_eq!(op(&b, y), by_name("Add", Attrs::new()));
    let y = b.squeeze(x, &[]).unwrap();
    assert_eq!(op(&b, y), by_name("Squeeze", Attrs::new()));
    let y = b.gather(x, k, 1).unwrap();
    assert_eq!(op(&b, y), by_name("Gather", Attrs::new()));
    let y = b.softmax(x, -1).unwrap();
    assert_eq!(op(&b, y), by_name("Softmax", Attrs::new().with("axis", -1)));
    let [_, y] = b.top_k(x, k, 1, ops::movement::top_k::TopKMode::Max).unwrap();
    let attrs = Attrs::new().with("axis", 1).with("mode", "max").with("sort", "value");
    let attrs = attrs.with("index_element_type", "i64").with("stable", true);
    assert_eq!(op(&b, y), by_name("TopK", attrs));
    let parts = b.split(x, 1, 3).unwrap();
    assert_eq!(op(&b, parts[2]), by_name("Split", Attrs::new().with("num_splits", 3)));
    let target = b.ints(&[0, -1]).unwrap();
    let y = b.op("named", Reshape { special_zero: true }, &[x, target]).unwrap();
    assert_eq!(b.graph().node(y.node).name(), "named");
}

#[test]
fn unknown_names_are_errors_with_the_nearest_one() {
    let message = |name: &str| Op::by_name(name, Attrs::new()).unwrap_err().to_string();
    assert_eq!(message("MatMull"), "unknown operation `MatMull`; did you mean `MatMul`?");
    assert_eq!(message("Sausage"), "unknown operation `Sausage`");
}

#[test]
fn references_stay_valid_while_nodes_are_added() {
    let b = GraphBuilder::new("g");
    let x = b.parameter("x", ElementType::F32, "N,4").unwrap();
    let (fact, graph) = (b.fact(x).unwrap(), b.graph());
    let sum = b.add(b.relu(x).unwrap(), b.multiply(b.exp(x).unwrap(), 0.5).unwrap()).unwrap();
    assert_eq!((graph.len(), fact.shape.rank()), (1, Some(2)));
    assert!(std::ptr::eq(fact, b.fact(x).unwrap()));
    assert_eq!((b.graph().len(), shape(&b, sum)), (6, "[N,4]".into()));
    assert!(std::ptr::eq(b.graph(), b.graph()), "copied only after a change");
    assert_eq!(b.finish().unwrap().len(), 6);
}

#[test]
fn constants_are_recognised() {
    let b = GraphBuilder::new("g");
    let x = b.parameter("x", ElementType::I64, "2").unwrap();
    let (ints, splat) = (b.ints(&[3, 4]).unwrap(), b.ints(&[3, 3]).unwrap());
    assert_eq!([ints, splat, x].map(|value| b.splat_value(value)), [None, Some(3.0), None]);
    assert_eq!([ints, x].map(|value| b.constant_value(value).map(|tensor| tensor.len())), [Some(2), None]);
    let foreign = GraphBuilder::new("other").int(3).unwrap();
    assert_eq!((b.constant_value(foreign), b.splat_value(b.ints(&[]).unwrap())), (None, None));
}
