//! Linalg and tensor operations as MLIR text, the input of compilers such as IREE.
//!
//! The graph is first written as a typed StableHLO module (`stablehlo`), so that all decompositions are shared.
//! Each operation of this module is then lowered: `lower.rs` calls one file per family of operations. An
//! operation of the result is a list of text parts and values (`code.rs`); `print.rs` prints them.
//!
//! Dynamic sizes are numbers of type `index` (`numbers.rs`). Operations that only compute sizes become
//! arithmetic on these numbers (`shape.rs`) and read no tensors.

mod code;
mod control;
mod convolution;
mod elementwise;
mod gather;
mod generic;
mod lower;
mod lowering;
mod module;
mod movement;
mod numbers;
mod print;
mod product;
mod reduce;
mod reshape;
mod scalar;
mod scatter;
mod shape;
mod slices;
mod sort;
mod types;
mod window;

#[cfg(test)]
mod tests;

use snick_ir::{Graph, Located, OpError};

pub use self::module::Module;
use crate::stablehlo::hlo::Place;
use crate::stablehlo::{self, FormatTraits, Precision, Weights};

const FORMAT: FormatTraits =
    FormatTraits { name: "linalg", schema: "snick.linalg/1", sizes_from_data: true, assertions: true };

/// Writes an inferred graph as an MLIR module of one function, `main`, with all constants in the text.
///
/// # Errors
/// Names the layer that cannot be expressed, such as one with types that MLIR lacks.
pub fn linalg(graph: &Graph, precision: Precision) -> Result<Module, Box<Located>> {
    written(graph, precision, None)
}

/// Writes an inferred graph as an MLIR module of one function, `main`. Constants of 1 KiB or more become
/// arguments. Constants that are stored in the model's files are only referred to; their bytes are not read.
///
/// # Errors
/// Same as [`linalg`].
pub fn module(graph: &Graph, precision: Precision) -> Result<Module, Box<Located>> {
    written(graph, precision, Some(Weights::of(graph)))
}

fn written(graph: &Graph, precision: Precision, weights: Option<Weights>) -> Result<Module, Box<Located>> {
    let main = stablehlo::written(graph, precision, weights, FORMAT)?;
    Module::lower(main, &graph.source).map_err(|(place, error)| {
        let error = match error {
            OpError::Unsupported { what } => OpError::CannotWrite { what, format: FORMAT.name },
            error => error,
        };
        let mut located = Located::of_model(&graph.source, &graph.name, error);
        if let Some(Place { layer, op, loc }) = place {
            (located.layer, located.op, located.loc) = (layer, op, loc);
        }
        located.into()
    })
}
