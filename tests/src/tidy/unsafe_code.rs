//! Every use of `unsafe` has a safety comment and is listed in `docs/src/safety.md`.

use std::fmt::Write as _;

use super::{Source, sources};
use crate::documentation::check_documented;

/// A line with unsafe code.
struct Place {
    path: String,
    /// The enclosing function, or the unsafe function, trait or type.
    name: String,
    /// `block`, `fn`, `impl`, `trait`, `extern` or `attribute`.
    kind: &'static str,
    /// The text after `SAFETY:` in the comment above it.
    invariant: Option<String>,
}

/// A line without comments and strings.
fn code_of(line: &str) -> String {
    line.split("//").next().unwrap_or_default().split('"').step_by(2).collect()
}

/// The kind of unsafe code on a line; `None` if there is none.
fn kind(code: &str) -> Option<&'static str> {
    let word = "unsafe";
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let at = code.match_indices(word).map(|(at, _)| at).find(|&at| {
        let (before, after) = (&code[..at], &code[at + word.len()..]);
        // Not part of a longer name.
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })?;
    let after = code[at + word.len()..].trim_start();
    let first = after.split(|c: char| !is_part(c)).next().unwrap_or_default();
    Some(match first {
        "fn" => "fn",
        "impl" => "impl",
        "trait" => "trait",
        "extern" => "extern",
        _ if after.starts_with('(') => "attribute",
        _ => "block",
    })
}

/// The text after `SAFETY:` or `# Safety` in the comment right above line `at`. Attributes may be in between.
fn invariant(lines: &[&str], at: usize) -> Option<String> {
    let above = lines[..at].iter().rev().map(|line| line.trim());
    let comment: Vec<&str> = above
        .skip_while(|line| line.starts_with("#["))
        .map_while(|line| line.strip_prefix("//"))
        .map(|line| line.trim_start_matches('/').trim())
        .collect();
    let text = comment.into_iter().rev().collect::<Vec<_>>().join(" ");
    let (_, invariant) = text.split_once("SAFETY:").or_else(|| text.split_once("# Safety"))?;
    // Documentation may continue with another section.
    Some(invariant.split(" # ").next().unwrap_or_default().trim().to_string())
}

fn places(source: &Source) -> Vec<Place> {
    let lines: Vec<&str> = source.text.lines().collect();
    let mut name = String::new();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = code_of(line);
        for item in ["fn ", "impl ", "trait "] {
            if let Some((before, after)) = code.split_once(item)
                && before.chars().all(|c| c.is_alphabetic() || "() ".contains(c))
            {
                name = after.split(['(', '<', '{']).next().unwrap_or_default().trim().to_string();
            }
        }
        if let Some(kind) = kind(&code) {
            let invariant = invariant(&lines, at);
            // The `impl` documents the contract of methods of an unsafe trait.
            let is_method =
                kind == "fn" && invariant.is_none() && found.iter().any(|place: &Place| place.kind == "impl");
            let (path, name) = (source.path.clone(), name.clone());
            if !is_method {
                found.push(Place { path, name, kind, invariant });
            }
        }
    }
    found
}

#[test]
fn unsafe_code_is_found_in_all_its_forms() {
    let word = ["un", "safe"].concat();
    for (code, expected) in [
        (" impl Send for X {}", Some("impl")),
        (" fn read() {", Some("fn")),
        (" { read() }", Some("block")),
        (" trait T {", Some("trait")),
        (" extern \"C\" {", Some("extern")),
        ("(no_mangle)]", Some("attribute")),
        ("_code", None),
    ] {
        assert_eq!(kind(&format!("{word}{code}")), expected, "{code}");
        assert_eq!(kind(&format!("promote_{word}{code}")), None, "{code}");
    }
    assert_eq!(code_of("a(\"b\", c) // d"), "a(, c) ");
    let lines = ["// SAFETY: it is", "// so.", "#[inline]", "here"];
    assert_eq!(invariant(&lines, 3).as_deref(), Some("it is so."));
    assert_eq!(invariant(&lines, 1).as_deref(), Some("it is"));
    assert_eq!(invariant(&["// Not said.", "here"], 1), None);
}

/// `unsafe` is denied in the workspace, and allowed in the files on the list.
#[test]
fn every_use_of_unsafe_has_its_invariant_in_the_list() {
    let mut list = String::new();
    let allows = ["allow(un", "safe_code"].concat();
    for source in sources().iter().filter(|source| !source.path.ends_with("tidy/unsafe_code.rs")) {
        let places = places(source);
        assert_eq!(source.text.contains(&allows), !places.is_empty(), "{}: {allows})", source.path);
        for Place { path, name, kind, invariant } in places {
            let invariant = invariant.unwrap_or_else(|| panic!("{path}, {name}: no `// SAFETY:` above"));
            let _ = writeln!(list, "- {kind} in `{name}` of `{path}`: {invariant}");
        }
    }
    check_documented("unsafe", &list);
}
