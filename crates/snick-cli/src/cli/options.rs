//! Options shared by verbs.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser as _, ValueParser};
use clap::{Args, Command, ValueEnum};
use snick::{Format, Limits};

use super::deadline::parse_time;
use super::help;
use super::memory::parse_size;

/// Options of every verb.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// Format of the results on standard output
    #[arg(long = FORMAT, id = FORMAT, global = true, value_name = "FORMAT", default_value = "text",
        help_heading = help::FORMAT, value_parser = formats(&[ReportFormat::Text, ReportFormat::Json]))]
    pub report: ReportFormat,
    /// The same choice for verbs that only support text and JSON
    #[arg(skip = OutputFormat::Text)]
    pub format: OutputFormat,
    /// When to colour the output; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = Color::Auto, help_heading = help::FORMAT)]
    pub color: Color,
    /// Format of the diagnostics on standard error; json: one object per line
    #[arg(long, global = true, value_name = "FORMAT", value_enum, default_value_t = ErrorFormat::Human, help_heading = help::FORMAT)]
    pub error_format: ErrorFormat,
    /// Suppress notes and the names of written files; errors are still printed
    #[arg(long, global = true, help_heading = help::FORMAT)]
    pub quiet: bool,
    /// Stop after this time: 30s, 500ms, 2m, 1h
    #[arg(long, global = true, value_name = "TIME", value_parser = parse_time, help_heading = help::LIMITS)]
    pub timeout: Option<Duration>,
    /// Stop if the tensors need more memory than this: 2G, 512M [default: three quarters of the machine's
    /// memory]
    #[arg(long, global = true, value_name = "SIZE", value_parser = parse_size, help_heading = help::LIMITS)]
    pub max_memory: Option<usize>,
    /// Stop if the model has more layers than this, including layers in bodies
    #[arg(long, global = true, value_name = "N", help_heading = help::LIMITS)]
    pub max_layers: Option<usize>,
    /// Stop if a value has a higher inferred rank than this
    #[arg(long, global = true, value_name = "N", help_heading = help::LIMITS)]
    pub max_rank: Option<usize>,
    /// Stop a run that computes more elements than this; also limits constant folding
    #[arg(long, global = true, value_name = "ELEMENTS", help_heading = help::LIMITS)]
    pub fuel: Option<usize>,
}

impl Common {
    /// The same options, with `format` derived from `report`.
    pub fn with_format(&self) -> Self {
        let format = if self.report == ReportFormat::Text { OutputFormat::Text } else { OutputFormat::Json };
        Self { format, ..self.clone() }
    }

    /// The limits for reading, inference, passes and runs. The console enforces the limits on time and
    /// memory, so these are not included.
    pub fn limits(&self) -> Limits {
        let mut limits = Limits::new();
        (limits.layers, limits.rank, limits.fuel) = (self.max_layers, self.max_rank, self.fuel);
        limits
    }
}

/// The option that selects the format of results.
const FORMAT: &str = "format";

/// A parser that accepts some of the formats.
fn formats(offered: &[ReportFormat]) -> ValueParser {
    let names = PossibleValuesParser::new(offered.iter().filter_map(ValueEnum::to_possible_value));
    ValueParser::new(names.try_map(|name| ReportFormat::from_str(&name, false)))
}

/// Adds `--format` with all formats to `check`. All other verbs only support text and JSON.
pub fn with_formats_of_check(command: Command) -> Command {
    let format = command.get_arguments().find(|arg| arg.get_id() == FORMAT).cloned();
    let format = format.map(|format| format.value_parser(formats(ReportFormat::value_variants())));
    command.mut_subcommand("check", |check| check.args(format))
}

/// Format of findings: text, JSON, SARIF 2.1.0 for code scanning, annotations for GitHub workflows, or JUnit
/// XML for test reports.
#[derive(ValueEnum, Copy, Clone, PartialEq, Eq, Debug)]
pub enum ReportFormat {
    Text,
    Json,
    Sarif,
    Github,
    Junit,
}

/// Format of results.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum OutputFormat {
    /// Human-readable
    Text,
    /// Machine-readable
    Json,
}

/// When output is coloured: on terminals, always or never.
#[derive(ValueEnum, Copy, Clone, PartialEq, Eq, Debug)]
pub enum Color {
    Auto,
    Always,
    Never,
}

/// Format of diagnostics: one line each, or one JSON object per line.
#[derive(ValueEnum, Copy, Clone, PartialEq, Eq, Debug)]
pub enum ErrorFormat {
    Human,
    Json,
}

fn model_help() -> String {
    format!("The model: {}, or - to read text form from standard input", Format::extensions(Format::can_read))
}

/// The model and its input shapes.
#[derive(Args, Clone, Debug)]
pub struct ModelOptions {
    #[arg(help = model_help())]
    pub model: PathBuf,
    /// Weights file, instead of the .bin next to the model
    #[arg(long, value_name = "FILE", help_heading = help::INPUTS)]
    pub weights: Option<PathBuf>,
    /// TOML file with shape rules for custom operations
    #[arg(long, value_name = "OPS.toml", help_heading = help::INPUTS)]
    pub ops: Option<PathBuf>,
    /// Input shapes: "x[1,3,H=32..512,?],mask[1,2*H]", or "[1,3]" for a single input
    #[arg(long = "shape", value_name = "SPEC", help_heading = help::INPUTS)]
    pub shapes: Vec<String>,
}
