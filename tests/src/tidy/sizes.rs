//! Files and functions are short enough to read in one go.

use super::{Source, library_sources, sources};

/// Maximum number of lines in a file without its tests.
const FILE: usize = 480;

/// Maximum number of lines in a function.
const FUNCTION: usize = 80;

/// The functions of a file with their line counts, from the signature to the closing brace at its
/// indentation.
fn functions(source: &Source) -> Vec<(String, usize)> {
    let lines: Vec<&str> = source.text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let Some((before, after)) = code.split_once("fn ") else { continue };
        if !before
            .split_whitespace()
            .all(|word| word.starts_with("pub") || ["const", "unsafe"].contains(&word))
        {
            continue;
        }
        let end = " ".repeat(line.len() - code.len()) + "}";
        // A declaration without a body ends with a semicolon on its first line.
        if let Some(length) =
            lines[at..].iter().position(|line| **line == end).filter(|_| !line.ends_with(';'))
        {
            found.push((after.split(['(', '<']).next().unwrap().to_string(), length));
        }
    }
    found
}

#[test]
fn files_are_short() {
    let lines = |source: &Source| source.without_tests().lines().count();
    let long: Vec<String> = sources()
        .iter()
        .filter(|source| lines(source) > FILE)
        .map(|source| format!("{}: {} lines", source.path, lines(source)))
        .collect();
    assert!(long.is_empty(), "longer than {FILE} lines without tests:\n{}", long.join("\n"));
}

#[test]
fn functions_are_short() {
    let mut long = Vec::new();
    for source in library_sources() {
        let functions = functions(&source).into_iter().filter(|(_, lines)| *lines > FUNCTION);
        long.extend(functions.map(|(name, lines)| format!("{}: {name}: {lines} lines", source.path)));
    }
    assert!(long.is_empty(), "longer than {FUNCTION} lines:\n{}", long.join("\n"));
}
