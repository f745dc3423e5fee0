//! Writes results to standard output and diagnostics to standard error, and maps the outcome of a verb to an
//! exit code.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use snick::text::Escaped;
use snick::{Diagnostic, InputOrigin, Limits, WrittenFile};
use snick_ir::Located;

use super::deadline::Deadline;
use super::json;
use super::layout::Layout;
use super::memory::default_limit;
use super::options::{Color, Common, ErrorFormat};
use super::outcome::diagnostic;
pub use super::outcome::{Failure, Outcome};
use super::quantity;
use super::waiting::Waiting;

/// A diagnostic about the whole command, in JSON.
#[derive(Serialize)]
struct Message<'m> {
    /// `error` or `note`.
    severity: &'m str,
    /// What is wrong.
    message: &'m str,
}

/// A diagnostic about a layer, in JSON.
#[derive(Serialize)]
struct LayerMessage<'m> {
    /// `error`.
    severity: &'m str,
    /// The file of the model.
    file: &'m str,
    /// 0 if unknown.
    line: u32,
    /// 0 if unknown.
    column: u32,
    /// The name of the layer.
    layer: &'m str,
    /// Its operation type.
    op: &'m str,
    /// What is wrong.
    message: String,
    /// The inputs that the error is about.
    origins: Vec<json::Origin>,
}

/// The outputs of a verb, and its time limit.
#[derive(Clone)]
pub struct Console {
    error_format: ErrorFormat,
    colored: bool,
    colors_results: bool,
    quiet: bool,
    deadline: Deadline,
    memory: usize,
    limits: Limits,
    layout: Layout,
    is_silent: bool,
    waiting: Waiting,
}

impl Console {
    /// Creates a console that writes no diagnostics.
    pub fn silent(mut limits: Limits) -> Self {
        let (time, memory) = (limits.time.take(), limits.memory.take());
        Self {
            error_format: ErrorFormat::Human,
            colored: false,
            colors_results: false,
            quiet: true,
            deadline: Deadline::start(time),
            memory: memory.or_else(default_limit).unwrap_or(usize::MAX),
            limits,
            layout: Layout::default(),
            is_silent: true,
            waiting: Waiting::default(),
        }
    }

    /// Creates the console for these options.
    pub fn new(common: &Common) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let is_colored = |is_terminal: bool| match common.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => !no_color && is_terminal,
        };
        let deadline = Deadline::start(common.timeout);
        let memory = common.max_memory.or_else(default_limit).unwrap_or(usize::MAX);
        let console = Self {
            error_format: common.error_format,
            colored: is_colored(io::stderr().is_terminal()),
            colors_results: is_colored(io::stdout().is_terminal()),
            quiet: common.quiet,
            deadline,
            memory,
            limits: common.limits(),
            layout: Layout::of_stdout(),
            is_silent: false,
            waiting: Waiting::default(),
        };
        let waiting = if console.shows_progress() { Waiting::start() } else { Waiting::default() };
        Self { waiting, ..console }
    }

    /// The status line for commands that print nothing for a while.
    pub fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// A copy of this console that prints no notes.
    pub fn quietly(&self) -> Self {
        Self { quiet: true, ..self.clone() }
    }

    /// Maximum total bytes of all tensors of a run.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// The limits on the model and on computations.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Options for running a model within the limits.
    pub fn run_options(&self) -> snick_run::Options {
        snick_run::Options { memory: self.memory, fuel: self.limits.fuel, ..Default::default() }
    }

    /// The deadline of the command.
    pub fn deadline(&self) -> &Deadline {
        &self.deadline
    }

    /// The layout of results.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Writes a result.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout();
        let printed = self.waiting.interrupt(|| out.write_all(text.as_bytes()).and_then(|()| out.flush()));
        match printed {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::Closed),
            Err(error) => Err(Failure::usage(format!("standard output: {error}"))),
        }
    }

    /// Reports the error of a layer.
    pub fn located(&self, error: &Located) {
        self.diagnostic(&diagnostic(error));
    }

    fn diagnostic(&self, error: &Diagnostic) {
        if self.error_format == ErrorFormat::Json {
            return self.diagnose(&json::line(&LayerMessage {
                severity: "error",
                file: &error.file,
                line: error.loc.line,
                column: error.loc.column,
                layer: &error.layer,
                op: &error.op,
                message: error.message_with_inputs(),
                origins: error.origins.iter().cloned().map(json::Origin::from).collect(),
            }));
        }
        let mut text = format!("{}{}{}", error.place(), self.paint(ERROR, "error: "), error.headline());
        if error.origins.iter().all(|origin| origin.op.is_empty()) {
            text += &error.inputs_in_parentheses();
            return self.diagnose(&self.folded(format!("{text}\n")));
        }
        let notes: String = error.origins.iter().map(|origin| self.origin(&error.file, origin)).collect();
        self.diagnose(&self.folded(format!("{text}\n{notes}")));
    }

    /// A line about an input of a failed layer. It starts with a location, so that editors and terminals can
    /// jump to it.
    fn origin(&self, file: &str, origin: &InputOrigin) -> String {
        let place = match (file, origin.loc.line) {
            (_, 0) => String::new(),
            ("", _) => format!("{}: ", origin.loc),
            (file, _) => format!("{}:{}: ", Escaped(file), origin.loc),
        };
        let [value, layer, op] =
            [&origin.value, &origin.layer, &origin.op].map(|text| Escaped(text.as_str()));
        let weights = match origin.weights_offset {
            Some(offset) => format!(", byte {offset} of the weights"),
            None => String::new(),
        };
        let note = self.paint(NOTE, "note: ");
        format!("{place}{note}{value} of layer `{layer}` ({op}){weights}\n")
    }

    /// Reports an error that is not about a layer.
    pub fn error(&self, message: &str) {
        self.say("error", ERROR, message);
    }

    /// Prints a note.
    pub fn note(&self, message: &str) {
        if !self.quiet {
            self.say("note", NOTE, message);
        }
    }

    /// Reports the files that were written for a model or another result, given in the order of writing.
    pub fn wrote(&self, files: &[WrittenFile]) {
        if self.quiet || files.is_empty() {
            return;
        }
        // A model is written after its weights.
        let files: Vec<String> = files.iter().rev().map(described).collect();
        let message = match files.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("wrote {} and {last}", rest.join(", ")),
            _ => format!("wrote {}", files.join("")),
        };
        match self.error_format {
            ErrorFormat::Json => self.say("note", "", &message),
            ErrorFormat::Human => self.diagnose(&self.folded(format!("{}\n", Escaped(&message)))),
        }
    }

    /// Whether progress may be shown.
    pub fn shows_progress(&self) -> bool {
        !self.quiet && self.error_format == ErrorFormat::Human && io::stderr().is_terminal()
    }

    fn say(&self, severity: &str, color: &str, message: &str) {
        if self.error_format == ErrorFormat::Json {
            return self.diagnose(&json::line(&Message { severity, message }));
        }
        let text = format!("{}{}\n", self.paint(color, &format!("{severity}: ")), Escaped(message));
        self.diagnose(&self.folded(text));
    }

    /// Folds long lines if standard output and standard error are both terminals. The width is known for
    /// standard output only.
    fn folded(&self, text: String) -> String {
        if io::stderr().is_terminal() { self.layout.fold(&text).into_owned() } else { text }
    }

    fn paint(&self, color: &str, text: &str) -> String {
        if self.colored { colored(color, text) } else { text.to_string() }
    }

    /// Colours a part of a result if results are coloured.
    pub fn paint_result(&self, color: &str, text: &str) -> String {
        if self.colors_results { colored(color, text) } else { text.to_string() }
    }

    /// Writes to standard error. Errors are ignored, because there is no other place to report them.
    fn diagnose(&self, text: &str) {
        if !self.is_silent {
            let _ = self.waiting.interrupt(|| io::stderr().write_all(text.as_bytes()));
        }
    }
}

/// The colour of the word `error`.
pub const ERROR: &str = "31;1";
/// The colour of the word `warning`.
pub const WARNING: &str = "33;1";
/// The colour of the word `note`.
pub const NOTE: &str = "36;1";
/// The colour of the word `ok`.
pub const OK: &str = "32;1";

/// `model.onnx (1.90 MB, opset 21)`
fn described(file: &WrittenFile) -> String {
    let version = file.version.as_ref().map(|version| format!(", {version}")).unwrap_or_default();
    format!("{} ({}{version})", file.path.display(), quantity::bytes(file.bytes))
}

fn colored(color: &str, text: &str) -> String {
    format!("\u{1b}[{color}m{text}\u{1b}[0m")
}

/// Reports a failure, and returns the exit code for the result of a verb.
pub fn exit_code(console: &Console, result: Result<Outcome, Failure>) -> u8 {
    match result {
        Ok(Outcome::Fine) | Err(Failure::Closed) => 0,
        Ok(Outcome::Finding) => 1,
        Ok(Outcome::Limit) => 3,
        Err(failure) => {
            match &failure {
                Failure::Layers(errors) => errors.iter().for_each(|error| console.diagnostic(error)),
                failure => console.error(&failure.to_string()),
            }
            match failure {
                _ if failure.is_limit() => 3,
                Failure::Layers(_) => 1,
                _ => 2,
            }
        }
    }
}
