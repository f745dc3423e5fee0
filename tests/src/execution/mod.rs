//! Operators that readers expand to several operations compute what their definitions say.

mod ngraph;
mod onnx_operators;
