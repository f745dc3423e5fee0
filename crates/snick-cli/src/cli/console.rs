//! Results go to standard output, diagnostics to standard error; and the exit codes of the verbs.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use snick::text::Escaped;
use snick::{Diagnostic, Limits};

use super::deadline::Deadline;
use super::json::{Json, message};
use super::memory::default_limit;
use super::options::{Color, Common, ErrorFormat};
use super::outcome::LIMIT;
pub use super::outcome::{Failure, Outcome};

/// The outputs of a verb, and the time that it may take.
#[derive(Clone)]
pub struct Console {
    error_format: ErrorFormat,
    colored: bool,
    quiet: bool,
    deadline: Deadline,
    memory: usize,
    limits: Limits,
}

impl Console {
    /// The console for these options.
    pub fn new(common: &Common) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let colored = match common.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => !no_color && io::stderr().is_terminal(),
        };
        let deadline = Deadline::start(common.timeout);
        let memory = common.max_memory.or_else(default_limit).unwrap_or(usize::MAX);
        Self {
            error_format: common.error_format,
            colored,
            quiet: common.quiet,
            deadline,
            memory,
            limits: common.limits(),
        }
    }

    /// The bytes that tensors may take.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// The limits of the model and of what is computed.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The time that the command may take.
    pub fn deadline(&self) -> &Deadline {
        &self.deadline
    }

    /// Writes a result.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::Closed),
            Err(error) => Err(Failure::usage(format!("standard output: {error}"))),
        }
    }

    /// Reports the error of a layer.
    pub fn located(&self, error: impl Into<Diagnostic>) {
        let error = error.into();
        if self.error_format == ErrorFormat::Json {
            let mut json = Json::default();
            json.object(|json| {
                json.key("severity").string("error");
                json.key("file").string(&error.file);
                json.key("line").plain(error.loc.line);
                json.key("column").plain(error.loc.column);
                json.key("layer").string(&error.layer);
                json.key("op").string(&error.op);
                json.key("message").string(&message(&error));
            });
            return self.diagnose(&json.finish());
        }
        // The line starts with its location, so that editors and terminals can jump there.
        self.diagnose(&format!("{}\n", self.paint("31", &error.to_string())));
    }

    /// Reports an error of the whole command.
    pub fn error(&self, message: &str) {
        self.say("error", "31;1", message);
    }

    /// Prints a note.
    pub fn note(&self, message: &str) {
        if !self.quiet {
            self.say("note", "36;1", message);
        }
    }

    /// Whether progress may be shown.
    pub fn shows_progress(&self) -> bool {
        !self.quiet && self.error_format == ErrorFormat::Human && io::stderr().is_terminal()
    }

    fn say(&self, severity: &str, color: &str, message: &str) {
        if self.error_format == ErrorFormat::Json {
            let mut json = Json::default();
            json.object(|json| {
                json.key("severity").string(severity);
                json.key("message").string(message);
            });
            return self.diagnose(&json.finish());
        }
        self.diagnose(&format!("{}{}\n", self.paint(color, &format!("{severity}: ")), Escaped(message)));
    }

    fn paint(&self, color: &str, text: &str) -> String {
        if self.colored { format!("\u{1b}[{color}m{text}\u{1b}[0m") } else { text.to_string() }
    }

    /// Writes to standard error. There is no way to report that this fails.
    fn diagnose(&self, text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}

/// Reports a failure and returns the exit code of a verb.
pub fn exit_code(console: &Console, result: Result<Outcome, Failure>) -> ExitCode {
    match result {
        Ok(Outcome::Fine) | Err(Failure::Closed) => ExitCode::SUCCESS,
        Ok(Outcome::Finding) => ExitCode::from(1),
        Ok(Outcome::Limit) => ExitCode::from(3),
        Err(Failure::Layers(errors)) => {
            let is_limit = errors.iter().any(|error| error.code == LIMIT);
            errors.into_iter().for_each(|error| console.located(error));
            ExitCode::from(if is_limit { 3 } else { 1 })
        }
        Err(failure) => {
            console.error(&failure.to_string());
            ExitCode::from(if matches!(failure, Failure::Limit(_)) { 3 } else { 2 })
        }
    }
}
