//! `snick explain`: the meaning of a code of `snick check`, an example and the remedy.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::Args;
use serde::Serialize;
use snick::{CheckCode, Example, Severity, check_codes};
use snick_ir::did_you_mean_or;

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::help;
use crate::cli::json::Answer;
use crate::cli::options::{Common, OutputFormat};

/// Options of the verb.
#[derive(Args)]
#[command(after_help = help::ending(
    [
        ("snick explain S023", "What a code means, and how to fix it"),
        ("snick explain", "List all codes"),
    ],
    ""
))]
pub struct Options {
    /// A code such as S015, or its name such as unused-layer; lists all codes if omitted
    #[arg(value_name = "CODE")]
    code: Option<String>,
    /// Print a page of documentation
    #[arg(long, conflicts_with = "format")]
    markdown: bool,
}

/// The width of text on a terminal.
const COLUMNS: usize = 100;

/// The width of text in the documentation.
const PAGE_COLUMNS: usize = 120;

/// Explains a code, or lists all codes.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let codes = check_codes();
    let chosen: Vec<&CheckCode> = match &options.code {
        None => codes,
        Some(name) => codes
            .into_iter()
            .filter(|code| code.code.text().eq_ignore_ascii_case(name) || code.code.name() == name)
            .collect(),
    };
    let text = match (common.format, chosen.as_slice(), &options.code) {
        (_, [], name) => {
            let name = name.as_deref().unwrap_or_default();
            let known = check_codes().into_iter().flat_map(|code| [code.code.text(), code.code.name()]);
            let hint = did_you_mean_or(name, known, "; `snick explain` lists all");
            return Err(Failure::usage(format!("no code `{name}`{hint}")));
        }
        (_, codes, _) if options.markdown => as_markdown(codes),
        (OutputFormat::Json, codes, _) => as_json(codes),
        (OutputFormat::Text, [code], Some(_)) => as_text(code),
        (OutputFormat::Text, codes, _) => as_list(codes),
    };
    console.print(&text)?;
    Ok(Outcome::Fine)
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        _ => "note",
    }
}

fn as_list(codes: &[&CheckCode]) -> String {
    let mut text = String::new();
    for code in codes {
        let on_demand = if code.on_demand { "  (on demand)" } else { "" };
        let _ = writeln!(
            text,
            "{}  {:20}  {}{on_demand}",
            code.code,
            code.code.name(),
            severity(code.code.severity())
        );
    }
    text
}

fn as_text(code: &CheckCode) -> String {
    let mut text = format!("{} {} ({})\n\n", code.code, code.code.name(), severity(code.code.severity()));
    let _ = writeln!(text, "{}", wrapped(code.meaning, COLUMNS, "  "));
    if code.on_demand {
        let _ = writeln!(text, "\nOnly checked if selected: --select {}", code.code);
    }
    let _ = writeln!(text, "\nWhy it matters\n{}", wrapped(code.reason, COLUMNS, "  "));
    let _ = writeln!(text, "\nHow to fix it\n{}", wrapped(code.remedy, COLUMNS, "  "));
    let example = code.example.text().replace('\n', "\n  ");
    let _ = writeln!(text, "\nExample\n  {}", example.trim_end());
    text
}

/// A section for each code.
fn as_markdown(codes: &[&CheckCode]) -> String {
    let mut text = String::new();
    for code in codes {
        let on_demand = if code.on_demand { ", on demand" } else { "" };
        let _ = writeln!(text, "## {} {}\n", code.code, code.code.name());
        let meaning = format!("{}{on_demand}. {}", capitalized(severity(code.code.severity())), code.meaning);
        let (reason, remedy) =
            (format!("Why it matters: {}", code.reason), format!("How to fix it: {}.", code.remedy));
        for paragraph in [meaning, reason, remedy] {
            let _ = writeln!(text, "{}\n", wrapped(&paragraph, PAGE_COLUMNS, ""));
        }
        let (language, example) = match code.example {
            Example::Xml(_) => ("xml", code.example.text()),
            _ => ("text", code.example.text()),
        };
        let _ = writeln!(text, "```{language}\n{}\n```\n", example.trim_end());
    }
    text
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Wraps text at `columns` columns, with an indent.
fn wrapped(text: &str, columns: usize, indent: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("{indent}{word}")),
        }
    }
    lines.join("\n")
}

fn as_json(codes: &[&CheckCode]) -> String {
    let codes = codes.iter().map(|code| Explained {
        code: code.code.text(),
        name: code.code.name(),
        severity: severity(code.code.severity()),
        on_demand: code.on_demand,
        meaning: code.meaning,
        reason: code.reason,
        remedy: code.remedy,
        example: code.example.text(),
    });
    let codes: Vec<Explained> = codes.collect();
    Answer::new("snick.explain/1", BTreeMap::from([("codes", codes)])).text()
}

/// A code.
#[derive(Serialize)]
struct Explained {
    /// The code, such as `S016`.
    code: &'static str,
    /// Its name, such as `unused-input`.
    name: &'static str,
    /// `error`, `warning` or `note`.
    severity: &'static str,
    /// Whether the code is only checked if it is selected.
    on_demand: bool,
    /// What it means.
    meaning: &'static str,
    /// Why it matters.
    reason: &'static str,
    /// How to fix it.
    remedy: &'static str,
    /// A model with such a finding.
    example: String,
}
