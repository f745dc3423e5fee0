//! Options that several verbs have.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Options of every verb.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// How results are written to standard output
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Colours in diagnostics; NO_COLOR is respected
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
    /// How diagnostics are written to standard error
    #[arg(long, global = true, value_enum, default_value_t = ErrorFormat::Human)]
    pub error_format: ErrorFormat,
    /// No notes on standard error; errors are still told
    #[arg(long, global = true)]
    pub quiet: bool,
}

/// How results are written.
#[derive(ValueEnum, Copy, Clone, PartialEq, Eq, Debug)]
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// When diagnostics are coloured.
#[derive(ValueEnum, Copy, Clone, PartialEq, Eq, Debug)]
pub enum Color {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// How diagnostics are written.
#[derive(ValueEnum, Copy, Clone, PartialEq, Eq, Debug)]
pub enum ErrorFormat {
    /// A line each
    Human,
    /// A JSON object a line each
    Json,
}

/// A model and how to look at it.
#[derive(Args, Clone, Debug)]
pub struct ModelOptions {
    /// The model: x.xml, x.json, x.snick, or - for text form on standard input
    pub model: PathBuf,
    /// The weights, in place of the .bin beside the model
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
    /// Input shapes: "x[1,3,H=32..512,?],mask[1,?]", or "[1,3]" for a single input
    #[arg(long = "shape", value_name = "SPEC")]
    pub shapes: Vec<String>,
}
