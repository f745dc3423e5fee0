//! `snick extract`: writes a part of a model as a model of its own.

use std::path::PathBuf;

use clap::Args;

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::target::{TargetOptions, is_stdout, output_help};
use crate::cli::value_names::split_names;
use crate::cli::{help, json, model};

/// Options of the verb.
#[derive(Args)]
#[command(after_help = help::ending(
    [
        ("snick extract model.xml --to features -o backbone.xml", "Write the layers that compute a value"),
        ("snick extract model.xml --from lstm:1 --to logits -o head.xml", "Write the layers between two values"),
    ],
    "a layer of the part fails inference, or the format cannot express it"
))]
pub struct Options {
    #[command(flatten)]
    model: ModelOptions,
    /// Values that become inputs, given as LAYER[:PORT] or by tensor name, separated by commas; other inputs
    /// that the part needs stay
    #[arg(long, value_name = "A,B")]
    from: Option<String>,
    /// Values that become outputs, given in the same way [default: the outputs of the model]
    #[arg(long, value_name = "C,D")]
    to: Option<String>,
    #[arg(short, long, value_name = "OUT", help = output_help(), help_heading = help::OUTPUTS)]
    output: PathBuf,
    #[command(flatten)]
    target: TargetOptions,
}

/// Reads, extracts, writes.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let model = model::load(&options.model, console)?;
    options.target.check(model.files().iter().map(PathBuf::as_path), &options.output)?;
    let [from, to] =
        [&options.from, &options.to].map(|list| split_names(list.as_deref().unwrap_or(""), model.graph()));
    let part = model.extract(&from, &to)?;
    options.target.write(&part, &options.output, console)?;
    if common.format == OutputFormat::Json && !is_stdout(&options.output) {
        console.print(&json::written("snick.extract/1", &options.output, &[]))?;
    }
    Ok(Outcome::Fine)
}
