//! Operators that readers expand to several operations compute what is specified.

mod ngraph;
mod onnx_operators;
