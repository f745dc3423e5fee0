//! Tests whether a model still fails, either in a command of the user or in inference.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::Args;
use snick_ir::text::{PrintOptions, Weights, packed_weights, print};
use snick_ir::{Graph, Located};

use super::console::Failure;

/// The expected failure.
#[derive(Args, Clone, Debug)]
pub struct Expected {
    /// The exit code of the failure
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = exit_code)]
    exit: i32,
    /// Text that the failing command prints on standard error
    #[arg(long, value_name = "TEXT")]
    stderr_contains: Option<String>,
}

/// Parses an exit code. Rejects 126 and 127, with which a shell reports that it cannot start a command.
fn exit_code(text: &str) -> Result<i32, String> {
    match text.parse() {
        Ok(126 | 127) => Err("a shell uses this exit code if it cannot start the command".into()),
        Ok(code @ 0..=255) => Ok(code),
        _ => Err("expected an exit code from 0 to 255".into()),
    }
}

/// Messages that show that a script crashed. A crash may have the exit code of the expected failure.
const CRASHES: [&str; 4] =
    ["Traceback (most recent call last)", "panicked at", "Segmentation fault", "command not found"];

/// A command that fails on a model, or inference if there is no command.
pub struct FailingCommand<'o> {
    command: Option<&'o str>,
    expected: &'o Expected,
    folder: Folder,
    /// Messages of [`CRASHES`] that the command also prints for the original model. They are part of the
    /// expected failure.
    crashes: Vec<&'static str>,
}

/// How a command ended.
struct End {
    /// The exit code; `None` if the command was ended by a signal.
    code: Option<i32>,
    stderr: String,
}

impl<'o> FailingCommand<'o> {
    /// Creates the test, and checks that the original model, which has the given errors, fails.
    pub fn new(
        command: Option<&'o str>,
        expected: &'o Expected,
        graph: &Graph,
        errors: &[Located],
    ) -> Result<Self, Failure> {
        let mut test = Self { command, expected, folder: Folder::new()?, crashes: Vec::new() };
        let end = test.run(graph, errors)?;
        if end.code != Some(expected.exit) {
            let ended = match end.code {
                None => "was killed by a signal".to_string(),
                Some(code @ (126 | 127)) => format!("could not start: the shell exited with {code}"),
                Some(code) => format!("exited with {code}"),
            };
            let what = if command.is_some() { "the command" } else { "inference" };
            return Err(Failure::usage(format!(
                "{what} must exit with {} on the original model, but it {ended}",
                expected.exit
            )));
        }
        if let Some(text) = expected.stderr_contains.as_ref().filter(|text| !end.stderr.contains(*text)) {
            let text = snick_ir::text::Escaped(text);
            return Err(Failure::usage(format!(
                "standard error on the original model does not contain `{text}`"
            )));
        }
        test.crashes = crashes(&end.stderr).collect();
        Ok(test)
    }

    /// Whether a model with the given errors fails like the original model.
    pub fn fails(&self, graph: &Graph, errors: &[Located]) -> Result<bool, Failure> {
        let end = self.run(graph, errors)?;
        let text = self.expected.stderr_contains.as_deref().unwrap_or_default();
        let is_new = |crash: &str| !self.crashes.contains(&crash);
        Ok(end.code == Some(self.expected.exit)
            && end.stderr.contains(text)
            && !crashes(&end.stderr).any(is_new))
    }

    fn run(&self, graph: &Graph, errors: &[Located]) -> Result<End, Failure> {
        let Some(command) = self.command else {
            let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
            return Ok(End { code: Some(i32::from(!errors.is_empty())), stderr: lines.join("\n") });
        };
        let path = self.folder.0.join("model.snick");
        let weights = packed_weights(graph);
        let text = print(graph, PrintOptions::new().weights(Weights::Packed));
        let wrote = std::fs::write(&path, text).and_then(|()| match weights.is_empty() {
            true => Ok(()),
            false => std::fs::write(path.with_extension("bin"), weights.to_bytes()),
        });
        wrote.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
        let name = path.display().to_string();
        let command = match command.contains("{}") {
            true => command.replace("{}", &name),
            false => format!("{command} {name}"),
        };
        let (shell, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
        let mut shell = Command::new(shell);
        shell.arg(option).arg(&command).stdin(Stdio::null()).stdout(Stdio::null());
        let output = shell.output().map_err(|error| Failure::usage(format!("{command}: {error}")))?;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(End { code: output.status.code(), stderr })
    }
}

fn crashes(stderr: &str) -> impl Iterator<Item = &'static str> {
    CRASHES.into_iter().filter(|crash| stderr.contains(crash))
}

/// A temporary folder, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("snick-reduce-{}", std::process::id()));
        let made = std::fs::create_dir(&path);
        made.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If this fails, the system removes the folder later.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
