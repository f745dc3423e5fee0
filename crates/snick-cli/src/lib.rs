//! The command line. Each verb is a module in `cmd`. Results go to standard output, diagnostics to standard
//! error.
//!
//! This crate is a library, so that other packages can include the command. The Python package includes it,
//! and also returns the [`documents`] of this crate.

mod cli;
mod cmd;
pub mod documents;
mod npz;

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue};
use clap::{Command, CommandFactory as _, FromArgMatches as _, Parser};
use snick_ir::nearest_name;

use cli::console::{Console, exit_code};

/// Read, infer, canonicalise, run and emit OpenVINO IR models
#[derive(Parser)]
#[command(name = "snick", version = VERSION, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "`snick MODEL` means `snick inspect MODEL`. `snick VERB --help` shows examples.")]
struct Snick {
    #[command(subcommand)]
    verb: cmd::Verb,
    #[command(flatten)]
    common: cli::options::Common,
}

/// The version, followed by the commit if it is known: `0.1.0 (1a2b3c4d5)`.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("SNICK_COMMIT"));

/// The definition of the command line.
fn command() -> Command {
    cli::options::with_formats_of_check(Snick::command())
}

fn parse(args: &[OsString]) -> Result<Snick, clap::Error> {
    let mut matches = command().try_get_matches_from(args)?;
    Snick::from_arg_matches_mut(&mut matches)
}

/// Runs the command line `args`, which starts with the name of the program, and returns the exit code. May
/// end the process if a limit is reached, or if a file becomes shorter while it is read.
pub fn run(args: Vec<OsString>) -> u8 {
    #[cfg(unix)]
    cli::bus_error::report_as_error();
    let parsed = parse(&args).or_else(|error| match with_verb(args, &error) {
        Some(args) => parse(&args),
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
            let code = exit_code(&console, cmd::run(snick.verb, &snick.common, &console));
            console.waiting().interrupt(|| ());
            code
        }
        Err(error) => {
            // Writing fails if the reader of the help text is gone, which is not an error.
            let _ = error.print();
            u8::try_from(error.exit_code()).unwrap_or(2)
        }
    }
}

/// The arguments with the verb `inspect` inserted, if a model is given in place of a verb.
fn with_verb(mut args: Vec<OsString>, error: &clap::Error) -> Option<Vec<OsString>> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let path = Path::new(word);
    let is_model = word == "-" || path.exists() || word.contains(['.', '/', '\\']) && !is_like_verb(path);
    let at = args.iter().position(|arg| arg == word.as_str()).filter(|_| is_model)?;
    args.insert(at, "inspect".into());
    Some(args)
}

/// Whether a path that does not exist is more likely a misspelt verb, such as `./infr`.
fn is_like_verb(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let verbs: Vec<String> = command().get_subcommands().map(|verb| verb.get_name().to_string()).collect();
    nearest_name(name.trim_matches('.'), verbs.iter().map(String::as_str), 1).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits a command like a shell, and drops the redirection at its end.
    fn words(line: &str) -> Vec<OsString> {
        let (mut words, mut quote) = (vec![String::new()], None);
        for letter in line.chars() {
            match (letter, quote) {
                ('"' | '\'', None) => quote = Some(letter),
                (_, Some(open)) if letter == open => quote = None,
                (' ', None) => words.push(String::new()),
                _ => words.iter_mut().last().unwrap().push(letter),
            }
        }
        words.into_iter().take_while(|word| word != ">").map(OsString::from).collect()
    }

    #[test]
    fn the_help_of_every_verb_ends_with_examples_that_parse() {
        let mut command = command();
        command.build();
        let verbs: Vec<&Command> =
            command.get_subcommands().filter(|verb| verb.get_name() != "help").collect();
        assert_eq!(verbs.len(), 20);
        for verb in verbs {
            let ending = verb.get_after_help().unwrap().to_string();
            assert!(ending.contains("Exit codes:\n  0  success\n"), "{ending}");
            assert!(ending.lines().all(|line| line.len() <= 100), "{ending}");
            let examples: Vec<&str> = ending
                .lines()
                .filter_map(|line| line.strip_prefix("  "))
                .filter(|line| line.starts_with("snick"))
                .collect();
            assert_eq!(examples.len(), 2, "{ending}");
            for example in examples {
                let error = parse(&words(example)).err();
                assert!(error.is_none(), "{example}: {}", error.unwrap());
            }
        }
    }

    #[test]
    fn only_check_offers_the_formats_for_other_programs() {
        for (verb, offers) in [("check", true), ("infer", false)] {
            let args: Vec<OsString> =
                ["snick", verb, "m.xml", "--format", "sarif"].map(OsString::from).into();
            assert_eq!(parse(&args).is_ok(), offers, "{verb}");
        }
    }
}
