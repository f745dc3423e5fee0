//! The verbs, one a file.

mod bench;
mod canon;
mod convert;
mod infer;
mod inspect;
mod reduce;
mod run;

use clap::Subcommand;

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::options::Common;

/// What to do.
#[derive(Subcommand)]
pub enum Verb {
    /// Inputs, outputs, ops and slices at a glance
    Inspect(inspect::Options),
    /// Shapes and element types of every output of every layer
    Infer(infer::Options),
    /// The canonical form: of the slice family only `slice` is left
    Canon(canon::Options),
    /// Writes the model in another format
    Convert(convert::Options),
    /// Executes the model; inputs not given are drawn from the seed
    Run(run::Options),
    /// The smallest model for which a command still exits 1
    Reduce(reduce::Options),
    /// Time per stage, inside one process
    Bench(bench::Options),
}

/// Does it.
pub fn run(verb: Verb, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    match verb {
        Verb::Inspect(options) => inspect::run(&options, common, console),
        Verb::Infer(options) => infer::run(&options, common, console),
        Verb::Canon(options) => canon::run(&options, common, console),
        Verb::Convert(options) => convert::run(&options, console),
        Verb::Run(options) => run::run(&options, common, console),
        Verb::Reduce(options) => reduce::run(&options, common, console),
        Verb::Bench(options) => bench::run(&options, common, console),
    }
}
