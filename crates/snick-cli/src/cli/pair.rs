//! Options of verbs that read two models.

use std::path::{Path, PathBuf};

use clap::Args;

use super::console::Failure;
use super::help::INPUTS;
use super::options::ModelOptions;

/// Options of verbs that read two models.
#[derive(Args, Clone)]
pub struct PairOptions {
    /// Weights file of the first model, instead of the .bin next to it; a second --weights is for the second
    /// model
    #[arg(long, value_name = "FILE", help_heading = INPUTS)]
    weights: Vec<PathBuf>,
    /// TOML file with shape rules for custom operations
    #[arg(long, value_name = "OPS.toml", help_heading = INPUTS)]
    ops: Option<PathBuf>,
    /// Input shapes of both models, as for other verbs
    #[arg(long = "shape", value_name = "SPEC", help_heading = INPUTS)]
    shapes: Vec<String>,
}

impl PairOptions {
    /// The options of both models.
    ///
    /// # Errors
    /// Both models are standard input, or there are more than two files of weights.
    pub fn both(&self, a: &Path, b: &Path) -> Result<[ModelOptions; 2], Failure> {
        if [a, b].iter().all(|path| path.as_os_str() == "-") {
            return Err(Failure::usage("only one of the models can be read from standard input"));
        }
        if self.weights.len() > 2 {
            return Err(Failure::usage("--weights can be given at most twice: once for each model"));
        }
        Ok([self.of(a, 0), self.of(b, 1)])
    }

    /// The options of the only model of a command.
    ///
    /// # Errors
    /// There are several files of weights.
    pub fn one(&self, model: &Path) -> Result<ModelOptions, Failure> {
        match self.weights.len() {
            0 | 1 => Ok(self.of(model, 0)),
            _ => Err(Failure::usage("--weights can be given only once for one model")),
        }
    }

    fn of(&self, model: &Path, at: usize) -> ModelOptions {
        ModelOptions {
            model: model.to_path_buf(),
            weights: self.weights.get(at).cloned(),
            ops: self.ops.clone(),
            shapes: self.shapes.clone(),
        }
    }
}
