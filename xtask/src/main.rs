//! Tasks of maintainers: `cargo xtask release 0.2.0 --dry-run`. RELEASING.md describes them.

mod changelog;
mod process;
mod release;
mod versions;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::process::say;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Tasks of maintainers of snick")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Builds and tests everything that a release publishes, and pushes the tag that publishes it
    Release(release::Options),
}

/// Why a task failed.
#[derive(thiserror::Error, Debug)]
enum Error {
    #[error("`{command}` failed{}", if detail.is_empty() { String::new() } else { format!(": {detail}") })]
    Command { command: String, detail: String },
    #[error("{path}: {problem}")]
    File { path: String, problem: String },
    #[error("{0}")]
    Refused(String),
}

fn main() -> ExitCode {
    let done = match Cli::parse().task {
        Task::Release(options) => release::make(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(format_args!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}
