//! Tests that every serialised value can be deserialised, and that invalid data is rejected.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::fmt::Debug;

use serde::{Serialize, de::DeserializeOwned};
use snick_shape::{
    AxisSlice, DimSpec, Interval, Origin, Shape, ShapeSpec, SliceBound, SymExpr, Symbols, length,
};

fn text<T: Serialize + DeserializeOwned>(value: &T) -> String {
    serde_json::to_string(value).unwrap()
}

fn round_trip<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) -> String {
    let text = text(value);
    assert_eq!(serde_json::from_str::<T>(&text).unwrap(), *value, "{text}");
    text
}

#[test]
fn data_round_trips() {
    assert_eq!(round_trip(&Interval::new(1, 8).unwrap()), r#"{"lo":1,"hi":8}"#);
    assert_eq!(round_trip(&Interval::DIM), r#"{"lo":0,"hi":null}"#);
    assert_eq!(round_trip(&Origin { node: 7, port: 0, axis: 2 }), r#"{"node":7,"port":0,"axis":2}"#);
    assert_eq!(round_trip(&"[N,3,H=1..9]".parse::<ShapeSpec>().unwrap()), r#""N,3,H=1..9""#);
    assert_eq!(round_trip(&"H=1..9".parse::<DimSpec>().unwrap()), r#""H=1..9""#);
    assert_eq!(
        round_trip(&AxisSlice::resolve(9, Some(1), None, 3).unwrap()),
        r#"{"start":1,"len":3,"step":3}"#
    );
    assert_eq!(round_trip(&SliceBound::Masked), r#""masked""#);
    assert_eq!(round_trip(&Shape::from([2, 3])), r#"[{"const":2},{"const":3}]"#);
    assert_eq!(round_trip(&Shape::unranked()), "null");
}

#[test]
fn expressions_and_their_table_round_trip() {
    let mut symbols = Symbols::default();
    let origin = Origin { node: 1, port: 2, axis: 3 };
    let shape = Shape::parse("[N,C=1..,max(N-4,0)/(C+1),2*N*C+3]", &mut symbols, origin).unwrap();
    round_trip(&shape);
    let [n, c] = ["N", "C"].map(|name| SymExpr::from(symbols.find(name).unwrap()));
    symbols.refine(&symbols.sub(&c, &n).unwrap(), Interval::DIM);
    let part = length(&mut symbols, &n, &SliceBound::Unknown, &SliceBound::Masked, Some(1), origin);
    round_trip(&SliceBound::At(part.clone()));

    let again: Symbols = serde_json::from_str(&text(&symbols)).unwrap();
    assert_eq!(text(&again), text(&symbols));
    assert_eq!(shape.display(&again).to_string(), shape.display(&symbols).to_string());
    assert_eq!(again.origin(part.as_symbol().unwrap()), origin);
    assert!(again.le(&n, &c) && again.le(&part, &n) && !again.le(&c, &n));
    assert_eq!(again.parse("N*C*2+3").ok().as_ref(), shape.dims().unwrap().last());
}

#[test]
fn what_is_wrong_is_refused() {
    let refused = |text: &str| serde_json::from_str::<SymExpr>(text).unwrap_err().to_string();
    assert_eq!(
        refused(r#"{"sum":{"terms":[{"coefficient":0,"factors":[{"symbol":0}]}],"constant":1}}"#),
        "the coefficient is 0"
    );
    assert_eq!(
        refused(
            r#"{"sum":{"terms":[{"coefficient":1,"factors":[{"floor_div":[{"symbol":0},{"const":0}]}]}],"constant":1}}"#
        ),
        "the divisor is below 1"
    );
    assert_eq!(
        refused(r#"{"sum":{"terms":[{"coefficient":1,"factors":[]}],"constant":1}}"#),
        "the factors are not sorted"
    );
    assert_eq!(
        refused(r#"{"sum":{"terms":[{"coefficient":1,"factors":[{"min":[{"const":0}]}]}],"constant":1}}"#),
        "a minimum or maximum needs two operands"
    );
    let twice = r#"{"coefficient":1,"factors":[{"symbol":0}]}"#;
    assert_eq!(
        refused(&format!(r#"{{"sum":{{"terms":[{twice},{twice}],"constant":0}}}}"#)),
        "the terms of the sum are not sorted"
    );
    let empty = serde_json::from_str::<Interval>(r#"{"lo":3,"hi":1}"#).unwrap_err();
    assert_eq!(empty.to_string(), "the interval is empty");
    let table = r#"{"symbols":[],"refinements":[[{"symbol":5},{"lo":0,"hi":1}]]}"#;
    let unknown = serde_json::from_str::<Symbols>(table).unwrap_err().to_string();
    assert_eq!(unknown, "an expression mentions a symbol that the table does not have");
}
