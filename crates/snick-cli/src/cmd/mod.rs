//! The verbs, one file each.

mod bench;
pub mod canon;
pub mod certify;
mod check;
mod completions;
mod convert;
pub mod cost;
pub mod diff;
mod edit;
mod explain;
mod extract;
pub mod infer;
mod inspect;
mod man;
mod ops;
mod plan;
mod reduce;
mod report;
pub mod run;
pub mod why;

use clap::Subcommand;

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::options::{Common, OutputFormat};

/// The verbs.
#[derive(Subcommand)]
pub enum Verb {
    /// Show inputs, outputs, operations and slices
    Inspect(inspect::Options),
    /// Infer the shapes and element types of every layer
    Infer(infer::Options),
    /// Print or write the canonical form, in which all slice-like layers are `slice`
    Canon(canon::Options),
    /// Prove the rewrites of the canonical form for all sizes, or that another model computes the same
    Certify(certify::Options),
    /// Write the model in another format
    Convert(convert::Options),
    /// Write a part of the model as a model of its own
    Extract(extract::Options),
    /// Change the model: rename, set attributes, replace constants, remove layers, choose outputs
    Edit(edit::Options),
    /// Execute the model; inputs not provided are random
    Run(run::Options),
    /// Show where a size, a known value or an error comes from
    Why(why::Options),
    /// Count multiply-accumulates, operations and memory of a run
    Cost(cost::Options),
    /// Plan a run on several devices: memory and traffic of each, and how to shard the model
    Plan(plan::Options),
    /// Show how two models differ: layers are matched by structure, not by name or order
    Diff(diff::Options),
    /// Check models and folders of models for defects and likely mistakes
    Check(check::Options),
    /// Explain a code of `snick check`
    Explain(explain::Options),
    /// Write an HTML page that shows the model: its graph, sizes, cost, slices and findings
    Report(report::Options),
    /// Reduce a model that fails to a small one that still fails in the same way
    Reduce(reduce::Options),
    /// Measure the time of each stage
    Bench(bench::Options),
    /// Show the operations: attributes with types, defaults and versions
    Ops(ops::Options),
    /// Print the completion script for a shell
    Completions(completions::Options),
    /// Print the manual page of the program or of a verb
    Man(man::Options),
}

/// Runs a verb.
pub fn run(verb: Verb, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    if let Verb::Check(options) = verb {
        return check::run(&options, common, console);
    }
    let common = &common.with_format();
    match verb {
        Verb::Check(_) => Ok(Outcome::Fine),
        Verb::Completions(_) | Verb::Man(_) if common.format == OutputFormat::Json => {
            Err(Failure::usage("completion scripts and manual pages have no JSON form"))
        }
        Verb::Explain(options) => explain::run(&options, common, console),
        Verb::Inspect(options) => inspect::run(&options, common, console),
        Verb::Infer(options) => infer::run(&options, common, console),
        Verb::Canon(options) => canon::run(&options, common, console),
        Verb::Certify(options) => certify::run(&options, common, console),
        Verb::Cost(options) => cost::run(&options, common, console),
        Verb::Plan(options) => plan::run(&options, common, console),
        Verb::Diff(options) => diff::run(&options, common, console),
        Verb::Convert(options) => convert::run(&options, common, console),
        Verb::Extract(options) => extract::run(&options, common, console),
        Verb::Edit(options) => edit::run(&options, common, console),
        Verb::Report(options) => report::run(&options, common, console),
        Verb::Run(options) => run::run(&options, common, console),
        Verb::Why(options) => why::run(&options, common, console),
        Verb::Reduce(options) => reduce::run(&options, common, console),
        Verb::Bench(options) => bench::run(&options, common, console),
        Verb::Ops(options) => ops::run(&options, common, console),
        Verb::Completions(options) => completions::run(&options, console),
        Verb::Man(options) => man::run(&options, console),
    }
}
