//! `snick completions`: the completion script for a shell.

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use crate::Snick;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::help;

/// Options of the verb.
#[derive(Args)]
#[command(after_help = help::ending(
    [
        ("snick completions bash > snick.bash", "Completion for bash"),
        ("snick completions zsh > _snick", "Completion for zsh"),
    ],
    ""
))]
pub struct Options {
    /// The shell
    shell: Shell,
}

/// Prints the script.
pub fn run(options: &Options, console: &Console) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    generate(options.shell, &mut Snick::command(), "snick", &mut script);
    console.print(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Fine)
}
