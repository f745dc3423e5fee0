//! A module and its program.

use std::path::Path;
use std::sync::Arc;

use snick_ir::OpError;

use super::code::Op;
use super::lower::lower;
use super::lowering::Lowering;
use super::types::Value;
use crate::stablehlo;
use crate::stablehlo::hlo::Place;

/// A module of linalg, tensor and arith operations with one function, `main`. [`std::fmt::Display`] prints it
/// as MLIR.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Module {
    /// The module in StableHLO, which has the same arguments and results.
    pub main: stablehlo::Module,
    pub(super) program: Arc<Program>,
}

/// The operations of a module.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) arguments: Vec<(Value, String)>,
    /// The types of the results.
    pub(super) results: String,
    pub(super) ops: Vec<Op>,
    pub(super) names: Vec<String>,
    pub(super) maps: Vec<String>,
    pub(super) places: Vec<Place>,
    /// The name of the model's file, if it has one.
    pub(super) file: String,
    pub(super) resources: Vec<(String, snick_tensor::Tensor)>,
}

impl Module {
    /// Lowers a module.
    ///
    /// # Errors
    /// An operation that cannot be lowered, with its layer.
    pub(super) fn lower(main: stablehlo::Module, source: &str) -> Result<Self, (Option<Place>, OpError)> {
        let function = Arc::clone(&main.function);
        let mut lowering = Lowering::new(&function, lower);
        let arguments = lowering.arguments();
        let lowered = lowering.region(&function.body).and_then(|()| lowering.finish());
        let results = lowered.map_err(|error| (function.places.get(lowering.code.place).cloned(), error))?;
        let ops = lowering.code.finish();
        let code = lowering.code;
        let program = Program {
            arguments,
            results,
            ops,
            names: code.names,
            maps: code.maps,
            places: function.places.clone(),
            file: Path::new(source).file_name().unwrap_or_default().to_string_lossy().into_owned(),
            resources: code.resources,
        };
        Ok(Self { main, program: Arc::new(program) })
    }
}
