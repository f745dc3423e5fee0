//! `snick extract`: writes a part of a model as a model of its own.

use std::path::PathBuf;

use clap::Args;
use snick::Format;

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::target::{TargetOptions, is_stdout};
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

/// The help for `-o` of verbs that write a model.
pub(super) fn output_help() -> String {
    let formats = Format::described(Format::can_write);
    format!(
        "File to write; the extension selects the format: {formats}. - writes text form to standard output"
    )
}

/// Reads, extracts, writes.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let model = model::load(&options.model, console)?;
    options.target.check(model.files().iter().map(PathBuf::as_path), &options.output)?;
    let known = |name: &str| model.graph().find_value(name).is_some();
    let [from, to] = [&options.from, &options.to].map(|list| names(list.as_deref().unwrap_or(""), known));
    let part = model.extract(&from, &to)?;
    options.target.write(&part, &options.output, console)?;
    if common.format == OutputFormat::Json && !is_stdout(&options.output) {
        console.print(&json::written("snick.extract/1", &options.output, &[]))?;
    }
    Ok(Outcome::Fine)
}

/// Splits a list at its commas, but not inside known names, which may contain commas.
pub(super) fn names(list: &str, is_known: impl Fn(&str) -> bool) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        let ends = rest.match_indices(',').map(|(at, _)| at).chain([rest.len()]);
        let known = ends.clone().find(|&end| is_known(&rest[..end]));
        let end = known.or_else(|| ends.into_iter().next()).unwrap_or(rest.len());
        names.push(&rest[..end]);
        rest = rest[end..].strip_prefix(',').unwrap_or("");
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_may_contain_commas() {
        let is_known = |name: &str| ["a", "b,c", "d"].contains(&name);
        assert_eq!(names("a,b,c,d", is_known), ["a", "b,c", "d"]);
        assert_eq!(names("a,x,d", is_known), ["a", "x", "d"]);
        assert!(names("", is_known).is_empty());
    }
}
