//! Runs every `console` block of README.md and the book, and compares the output with the page.
//!
//! Lines of a block:
//! - `$ COMMAND` is run in a shell, in a folder that contains `models` and `docs`. All commands of a page
//!   share this folder.
//! - `...` matches any number of lines.
//!
//! In a block marked `console,times`, numbers are not compared. In a block marked `console,fails`, every
//! command must fail; in other blocks, a command may only fail if the next command is `echo $?`.
//!
//! The text between `<!-- output: COMMAND -->` and `<!-- /output -->` must be the output of the command.
//! `INSTA_UPDATE=always` rewrites the pages.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn pages() -> Vec<PathBuf> {
    let book = std::fs::read_dir(root().join("docs/src")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = book.filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    pages.extend(["README.md", "CONTRIBUTING.md"].map(|name| root().join(name)));
    pages.sort();
    pages
}

/// A folder for the commands of one page.
struct Scratch(PathBuf);

impl Scratch {
    fn new(page: &Path) -> Self {
        let name = page.file_stem().unwrap().to_string_lossy();
        let folder = std::env::temp_dir().join(format!("snick-docs-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for shared in ["models", "docs"] {
            std::os::unix::fs::symlink(root().join(shared), folder.join(shared)).unwrap();
        }
        Self(folder)
    }

    /// The output of a command on both streams, and its exit code; `previous` is the value of `$?`.
    fn run(&self, command: &str, previous: i32) -> (String, i32) {
        let bin = Path::new(env!("CARGO_BIN_EXE_snick")).parent().unwrap().display().to_string();
        let command = command.replace("cargo run --release --", "snick");
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1; (exit {previous}); {command}")])
            .current_dir(&self.0)
            .env("PATH", format!("{bin}:{}", std::env::var("PATH").unwrap_or_default()))
            .env("NO_COLOR", "1")
            .env_remove("COLUMNS")
            .output()
            .unwrap();
        (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A command of a page, and the output that the page shows.
struct Example<'p> {
    command: &'p str,
    shown: Vec<&'p str>,
}

fn examples<'p>(block: &[&'p str]) -> Vec<Example<'p>> {
    let mut examples: Vec<Example> = Vec::new();
    for line in block {
        match (line.strip_prefix("$ "), examples.last_mut()) {
            (Some(command), _) => examples.push(Example { command, shown: Vec::new() }),
            (None, Some(example)) => example.shown.push(line),
            (None, None) => panic!("a `console` block begins with `$ COMMAND`, not with `{line}`"),
        }
    }
    examples
}

/// Shortens output to the lines that the page shows before and after `...`.
fn abridged<'o>(printed: &'o str, shown: &[&str]) -> Vec<&'o str> {
    let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
    let Some(at) = shown.iter().position(|line| *line == "...") else { return lines };
    let (head, tail) = (at, shown.len() - at - 1);
    if head + tail > lines.len() {
        return lines;
    }
    [&lines[..head], &["..."], &lines[lines.len() - tail..]].concat()
}

fn without_numbers(lines: &[&str]) -> Vec<String> {
    let word = |word: &str| if word.parse::<f64>().is_ok() { "#".into() } else { word.to_string() };
    let line = |line: &&str| line.split_whitespace().map(word).collect::<Vec<String>>().join(" ");
    lines.iter().map(line).collect()
}

fn is_update() -> bool {
    std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always")
}

/// Marks the end of a section that contains the complete output of a command.
const OUTPUT_END: &str = "<!-- /output -->";

/// Runs the commands of a page and returns the page with the current output. Adds a line to `problems` for
/// each difference.
fn rerun(page: &Path, text: &str, problems: &mut Vec<String>) -> String {
    let scratch = Scratch::new(page);
    let (mut lines, mut result) = (text.lines(), Vec::new());
    while let Some(line) = lines.next() {
        result.push(line.to_string());
        if let Some(command) = line.strip_prefix("<!-- output: ").and_then(|rest| rest.strip_suffix(" -->")) {
            let shown: Vec<&str> = lines.by_ref().take_while(|line| *line != OUTPUT_END).collect();
            let (printed, _) = scratch.run(command, 0);
            if printed.trim() != shown.join("\n").trim() && !is_update() {
                problems.push(format!("{}: the output of `{command}` is out of date", page.display()));
            }
            result.extend([printed.trim().to_string(), OUTPUT_END.to_string()]);
            continue;
        }
        let Some(info) = line.strip_prefix("```console") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let examples = examples(&block);
        let mut code = 0;
        for (at, Example { command, shown }) in examples.iter().enumerate() {
            let (printed, now) = scratch.run(command, code);
            code = now;
            let is_asked = examples.get(at + 1).is_some_and(|next| next.command == "echo $?");
            let fails = info == ",fails";
            if (code != 0) != fails && !is_asked {
                problems.push(format!("{}: `{command}` exits {code}:\n{printed}", page.display()));
            }
            let wanted = abridged(&printed, shown);
            let is_same = match info {
                ",times" => without_numbers(&wanted) == without_numbers(shown),
                _ => wanted == *shown,
            };
            if !is_same && !is_update() {
                problems.push(format!("{}: `{command}` prints:\n{}", page.display(), wanted.join("\n")));
            }
            result.push(format!("$ {command}"));
            result.extend((if is_same { shown } else { &wanted }).iter().map(|line| line.to_string()));
        }
        result.push("```".to_string());
    }
    result.join("\n") + "\n"
}

#[test]
fn commands_print_what_the_pages_show() {
    let mut problems = Vec::new();
    let mut commands = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        commands += text.lines().filter(|line| line.starts_with("$ snick")).count();
        let current = rerun(&page, &text, &mut problems);
        if current != text && is_update() {
            std::fs::write(&page, current).unwrap();
        }
    }
    assert!(commands > 20, "only {commands} commands were found");
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}
