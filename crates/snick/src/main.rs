//! The command line. A verb is a file in `cmd`; results go to standard output, diagnostics to standard error.

mod cli;
mod cmd;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use cli::console::{Console, exit_code};

/// Read, infer, canonicalise, run and emit OpenVINO IR models
#[derive(Parser)]
#[command(name = "snick", version, arg_required_else_help = true)]
struct Snick {
    #[command(subcommand)]
    verb: cmd::Verb,
    #[command(flatten)]
    common: cli::options::Common,
}

fn main() -> ExitCode {
    match Snick::try_parse_from(with_verb(std::env::args_os().collect())) {
        Ok(snick) => {
            let console = Console::new(&snick.common);
            exit_code(&console, cmd::run(snick.verb, &snick.common, &console))
        }
        Err(error) => {
            // A closed pipe behind `--help` is no failure.
            let _ = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
    }
}

/// `snick MODEL` is `snick inspect MODEL`.
fn with_verb(mut args: Vec<OsString>) -> Vec<OsString> {
    let is_model = args.get(1).and_then(|arg| arg.to_str()).is_some_and(|arg| {
        let verb = Snick::command().get_subcommands().any(|verb| verb.get_name() == arg);
        !verb && (arg == "-" || (!arg.starts_with('-') && (arg.contains('.') || arg.contains('/'))))
    });
    if is_model {
        args.insert(1, "inspect".into());
    }
    args
}
