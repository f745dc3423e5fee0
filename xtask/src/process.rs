//! Runs commands, and reads and writes files, with errors that name them.

use std::fmt::Display;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::Error;

/// Prints a line. A closed output is not an error.
pub fn say(line: impl Display) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// A command in a folder, with its arguments.
fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(words.first().copied().unwrap_or_default());
    command.args(words.iter().skip(1)).current_dir(folder).stdin(Stdio::null());
    command
}

/// Runs a command and prints how long it took.
pub fn run(folder: &Path, words: &[&str]) -> Result<(), Error> {
    let (line, start) = (words.join(" "), Instant::now());
    say(format_args!("$ {line}"));
    let failed = |detail: String| Error::Command { command: line.clone(), detail };
    let status = command(folder, words).status().map_err(|error| failed(error.to_string()))?;
    if !status.success() {
        return Err(failed(String::new()));
    }
    say(format_args!("took {} s: {line}", start.elapsed().as_secs()));
    Ok(())
}

/// Runs a command and returns what it prints, without white space around it.
pub fn output(folder: &Path, words: &[&str]) -> Result<String, Error> {
    let failed = |detail: String| Error::Command { command: words.join(" "), detail };
    let output = command(folder, words).output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_string()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
}

/// Reads a file.
pub fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|error| file_error(path, &error))
}

/// Writes a file.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|error| file_error(path, &error))
}

/// The error of a file.
pub fn file_error(path: &Path, problem: &dyn Display) -> Error {
    Error::File { path: path.display().to_string(), problem: problem.to_string() }
}
