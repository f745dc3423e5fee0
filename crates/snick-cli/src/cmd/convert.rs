//! `snick convert`: writes a model in another format.

use std::path::PathBuf;

use clap::Args;
use snick::Format;

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::model;
use crate::cli::options::ModelOptions;
use crate::cli::target::{TargetOptions, is_stdout};

/// Options of the verb.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    model: ModelOptions,
    #[arg(short, long, value_name = "OUT", help = output_help())]
    output: PathBuf,
    #[command(flatten)]
    target: TargetOptions,
    /// Turn variables into inputs (past…) and outputs (present…), and say what each begins with
    #[arg(long, conflicts_with = "stateful")]
    stateless: bool,
    /// Turn inputs named past… and outputs named present… into variables
    #[arg(long)]
    stateful: bool,
}

fn output_help() -> String {
    let formats = Format::described(Format::can_write);
    format!("File to write; the extension selects the format: {formats}. - is text form on standard output")
}

/// Reads, infers, writes.
pub fn run(options: &Options, console: &Console) -> Result<Outcome, Failure> {
    let mut model = model::load(&options.model, console)?;
    options.target.check(model.files().iter().map(PathBuf::as_path), &options.output)?;
    let mut errors = model::infer(&mut model, console)?;
    if options.stateless || options.stateful {
        let states = if options.stateless { model.make_stateless() } else { model.make_stateful() };
        states?.iter().for_each(|state| console.note(&state.to_string()));
    }
    // A DirectML description holds slices only, so every slice-like layer is lowered.
    if Format::to_write(&options.output) == Some(Format::DirectMl) {
        errors.extend(snick_pass::lower_slices(model.graph_mut()).errors);
    }
    errors.iter().for_each(|error| console.located(error));
    match is_stdout(&options.output) {
        true => console.print(&model.to_text())?,
        false => model.save_with(&options.output, options.target.save())?,
    }
    Ok(Outcome::finding(!errors.is_empty()))
}
