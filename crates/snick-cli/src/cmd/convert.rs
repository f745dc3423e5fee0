//! `snick convert`: writes a model in another format.

use std::path::PathBuf;

use clap::Args;
use snick::Format;

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::model;
use crate::cli::options::ModelOptions;
use crate::cli::target::TargetOptions;

/// Options of the verb.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    model: ModelOptions,
    #[arg(short, long, value_name = "OUT", help = output_help())]
    output: PathBuf,
    #[command(flatten)]
    target: TargetOptions,
}

fn output_help() -> String {
    format!("File to write; the extension selects the format: {}", Format::described(Format::can_write))
}

/// Reads, infers, writes.
pub fn run(options: &Options, console: &Console) -> Result<Outcome, Failure> {
    options.target.check(&options.model, &options.output)?;
    let mut model = model::load(&options.model, console)?;
    let mut errors = model.infer().into_located();
    // A DirectML description holds slices only, so every slice-like layer is lowered.
    if Format::to_write(&options.output) == Some(Format::DirectMl) {
        errors.extend(snick_pass::lower_slices(model.graph_mut()).errors);
    }
    errors.iter().for_each(|error| console.located(error));
    model.save_with(&options.output, options.target.save())?;
    Ok(Outcome::finding(!errors.is_empty()))
}
