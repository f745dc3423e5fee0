//! The verbs, one a file.

mod bench;
mod infer;
mod run;

use clap::Subcommand;

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::options::Common;

/// What to do.
#[derive(Subcommand)]
pub enum Verb {
    /// Shapes and element types of every output of every layer
    Infer(infer::Options),
    /// Executes the model; inputs not given are drawn from the seed
    Run(run::Options),
    /// Time per stage, inside one process
    Bench(bench::Options),
}

/// Does it.
pub fn run(verb: Verb, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    match verb {
        Verb::Infer(options) => infer::run(&options, common, console),
        Verb::Run(options) => run::run(&options, common, console),
        Verb::Bench(options) => bench::run(&options, common, console),
    }
}
