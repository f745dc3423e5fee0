//! `snick man`: manual pages.

use clap::{Args, CommandFactory};
use snick_ir::did_you_mean;

use crate::Snick;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::help;

/// Options of the verb.
#[derive(Args)]
#[command(after_help = help::ending(
    [
        ("snick man > snick.1", "The page of the program"),
        ("snick man infer > snick-infer.1", "The page of a verb"),
    ],
    ""
))]
pub struct Options {
    /// The verb whose page to print; if omitted, the page of the program, which lists the verbs
    verb: Option<String>,
}

/// Prints a page in man format.
pub fn run(options: &Options, console: &Console) -> Result<Outcome, Failure> {
    let mut command = Snick::command().bin_name("snick");
    // Adds the common options to the pages of verbs, and gives these pages the name snick-VERB.
    command.build();
    let page = match &options.verb {
        None => command,
        Some(verb) => command.find_subcommand(verb).cloned().ok_or_else(|| {
            let hint = did_you_mean(verb, command.get_subcommands().map(clap::Command::get_name));
            Failure::usage(format!("no verb `{verb}`{hint}"))
        })?,
    };
    let title = page.get_bin_name().unwrap_or_default().replace(' ', "-");
    let mut text = Vec::new();
    let rendered = clap_mangen::Man::new(page.display_name(title)).render(&mut text);
    rendered.map_err(|error| Failure::usage(error.to_string()))?;
    console.print(&String::from_utf8_lossy(&text))?;
    Ok(Outcome::Fine)
}
