//! The command line. Each verb is a file in `cmd`. Results go to standard output, diagnostics to standard
//! error.
//!
//! This is a library, so that other packages can include the command, such as the Python package, which also
//! returns the same [`documents`].

mod cli;
mod cmd;
pub mod documents;
mod npz;

use std::ffi::OsString;

use clap::Parser;
use clap::error::{ContextKind, ContextValue};

use cli::console::{Console, exit_code};

/// Read, infer, canonicalise, run and emit OpenVINO IR models
#[derive(Parser)]
#[command(name = "snick", version, arg_required_else_help = true)]
#[command(after_help = "`snick MODEL` is `snick inspect MODEL`.")]
struct Snick {
    #[command(subcommand)]
    verb: cmd::Verb,
    #[command(flatten)]
    common: cli::options::Common,
}

/// Runs the command line `args`, which starts with the name of the program, and returns the exit code. May
/// end the process if a limit is reached, or if a file becomes shorter while it is read.
pub fn run(args: Vec<OsString>) -> u8 {
    #[cfg(unix)]
    cli::bus_error::report_as_error();
    let parsed = Snick::try_parse_from(&args).or_else(|error| match with_verb(args, &error) {
        Some(args) => Snick::try_parse_from(args),
        None => Err(error),
    });
    match parsed {
        Ok(snick) => {
            let console = Console::new(&snick.common);
            let reporter = console.clone();
            console.deadline().on_overrun(move |failure| {
                reporter.error(&failure.to_string());
                std::process::exit(3);
            });
            exit_code(&console, cmd::run(snick.verb, &snick.common, &console))
        }
        Err(error) => {
            // Ignores the error if the reader of the help text is gone.
            let _ = error.print();
            u8::try_from(error.exit_code()).unwrap_or(2)
        }
    }
}

/// The arguments with the verb `inspect` inserted, if a model is given in place of a verb.
fn with_verb(mut args: Vec<OsString>, error: &clap::Error) -> Option<Vec<OsString>> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let is_model = word == "-" || word.contains(['.', '/', '\\']);
    let at = args.iter().position(|arg| arg == word.as_str()).filter(|_| is_model)?;
    args.insert(at, "inspect".into());
    Some(args)
}
