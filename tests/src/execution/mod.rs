//! Operators that readers expand to several operations compute the specified results.

mod ngraph;
mod onnx_operators;
