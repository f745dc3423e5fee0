//! `snick convert`: writes a model in another format.

use std::path::PathBuf;

use clap::Args;

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::options::ModelOptions;
use crate::cli::{model, target};

/// Options of the verb.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    model: ModelOptions,
    /// The file to write; its extension says the format: .xml, .onnx, .snick, .dot
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
}

/// Reads, infers, writes.
pub fn run(options: &Options, console: &Console) -> Result<Outcome, Failure> {
    target::check(&options.model, &options.output)?;
    let mut model = model::load(&options.model, console)?;
    let errors = model.infer();
    errors.iter().for_each(|error| console.located(error));
    model.save(&options.output)?;
    Ok(Outcome::finding(!errors.is_empty()))
}
