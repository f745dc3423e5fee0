//! Options shared by verbs.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use snick::{Format, Limits};

use super::deadline::parse_time;
use super::memory::parse_size;

/// Options of every verb.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// Format of the results on standard output; the last three are only for `check`
    #[arg(long = "format", global = true, value_enum, default_value_t = ReportFormat::Text)]
    pub report: ReportFormat,
    /// The format for verbs that only have text and JSON
    #[arg(skip = OutputFormat::Text)]
    pub format: OutputFormat,
    /// Colour diagnostics; NO_COLOR is respected
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
    /// Format of the diagnostics on standard error
    #[arg(long, global = true, value_enum, default_value_t = ErrorFormat::Human)]
    pub error_format: ErrorFormat,
    /// Suppress notes; errors are still printed
    #[arg(long, global = true)]
    pub quiet: bool,
    /// End the command after this time: 30s, 500ms, 2m, 1h
    #[arg(long, global = true, value_name = "TIME", value_parser = parse_time)]
    pub timeout: Option<Duration>,
    /// End the command if its tensors need more memory: 2G, 512M [default: three quarters of the machine's
    /// memory]
    #[arg(long, global = true, value_name = "SIZE", value_parser = parse_size)]
    pub max_memory: Option<usize>,
    /// End the command if the model has more layers, including layers of bodies
    #[arg(long, global = true, value_name = "N")]
    pub max_layers: Option<usize>,
    /// End the command if a value is inferred to have more dims
    #[arg(long, global = true, value_name = "N")]
    pub max_rank: Option<usize>,
    /// End a run that computes more elements; also limits constant folding
    #[arg(long, global = true, value_name = "ELEMENTS")]
    pub fuel: Option<usize>,
}

impl Common {
    /// The same options, with the format for verbs that only have text and JSON; `None` for any other format.
    pub fn with_format(&self) -> Option<Self> {
        let format = match self.report {
            ReportFormat::Text => OutputFormat::Text,
            ReportFormat::Json => OutputFormat::Json,
            _ => return None,
        };
        Some(Self { format, ..self.clone() })
    }

    /// The limits for reading, inference, passes and runs. Excludes the time limit, which applies to the
    /// whole command.
    pub fn limits(&self) -> Limits {
        let mut limits = Limits::new();
        (limits.layers, limits.rank, limits.fuel) = (self.max_layers, self.max_rank, self.fuel);
        limits
    }
}

/// Format of findings.
#[derive(ValueEnum, Copy, Clone, PartialEq, Eq, Debug)]
pub enum ReportFormat {
    /// Human-readable
    Text,
    /// Machine-readable
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub workflows
    Github,
    /// JUnit XML, for test reports
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

/// When diagnostics are coloured.
#[derive(ValueEnum, Copy, Clone, PartialEq, Eq, Debug)]
pub enum Color {
    /// If standard error is a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Format of diagnostics.
#[derive(ValueEnum, Copy, Clone, PartialEq, Eq, Debug)]
pub enum ErrorFormat {
    /// One line each
    Human,
    /// One JSON object per line
    Json,
}

fn model_help() -> String {
    format!("The model: {}, or - for text form on standard input", Format::extensions(Format::can_read))
}

/// The model and its input shapes.
#[derive(Args, Clone, Debug)]
pub struct ModelOptions {
    #[arg(help = model_help())]
    pub model: PathBuf,
    /// Weights file, instead of the .bin next to the model
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
    /// TOML file with shape rules of custom operations
    #[arg(long, value_name = "OPS.toml")]
    pub ops: Option<PathBuf>,
    /// Input shapes: "x[1,3,H=32..512,?],mask[1,2*H]", or "[1,3]" for a single input
    #[arg(long = "shape", value_name = "SPEC")]
    pub shapes: Vec<String>,
}
