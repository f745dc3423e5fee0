//! The directives in the comments of a test: commands to run, and checks on their output.

use std::fmt;

use snick_ir::edit_distance;
use snick_ir::text::comments;

use crate::pattern::{Captures, Pattern, PatternError, Resolved, one_blank};

/// A directive of a test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Directive {
    /// `RUN:` runs the command.
    Run(String),
    /// `CHECK:` requires that a line after the last match contains this text.
    Check(String),
    /// `CHECK-NEXT:` requires that the line right after the last match contains this text.
    Next(String),
    /// `CHECK-NOT:` requires that no line between the last match and the next one contains this text.
    Not(String),
    /// `CHECK-TRACE:` requires that a line in the trace of rewrites, after the last match in the trace,
    /// contains this text.
    Trace(String),
    /// `CHECK-TRACE-NOT:` requires that no line of the trace, between the last match in the trace and the
    /// next one, contains this text.
    TraceNot(String),
}

/// The directives of a test, each with its line number from 1.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Directives(Vec<(usize, Directive)>);

/// The error for a comment that looks like a directive but is not one. If such a comment were ignored, the
/// test would check less than it seems to.
///
/// ```
/// use snick_testing::Directives;
///
/// let error = Directives::parse("// RUN: snick infer\n// CHECK-NOTT: ReLU").unwrap_err();
/// assert_eq!(error.line, 2);
/// assert_eq!(error.to_string(), "line 2: unknown directive `CHECK-NOTT:`; did you mean `CHECK-NOT:`?");
/// ```
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("line {line}: {fault}")]
pub struct DirectiveError {
    /// The line of the test, from 1.
    pub line: usize,
    /// The problem.
    pub fault: DirectiveFault,
}

/// The problem with a directive.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DirectiveFault {
    /// No directive has this name.
    #[error("unknown directive `{name}:`; {}", suggestion(*nearest))]
    Unknown {
        /// The name.
        name: String,
        /// The directive whose name is most similar, if any.
        nearest: Option<&'static str>,
    },
    /// No colon follows the name.
    #[error("`{name}` needs a colon")]
    NoColon {
        /// The directive.
        name: &'static str,
    },
    /// Nothing follows the colon, so any line would match.
    #[error("`{name}:` says nothing")]
    Empty {
        /// The directive.
        name: &'static str,
    },
    /// The text is not a valid pattern.
    #[error(transparent)]
    Pattern(#[from] PatternError),
}

fn suggestion(nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("did you mean `{nearest}:`?"),
        None => {
            let names: Vec<String> = KINDS.iter().map(|(name, _)| format!("`{name}:`")).collect();
            format!("the directives are {}", names.join(", "))
        }
    }
}

type MakeDirective = fn(String) -> Directive;

/// The directives by name.
const KINDS: &[(&str, MakeDirective)] = &[
    ("RUN", Directive::Run),
    ("CHECK", Directive::Check),
    ("CHECK-NEXT", Directive::Next),
    ("CHECK-NOT", Directive::Not),
    ("CHECK-TRACE", Directive::Trace),
    ("CHECK-TRACE-NOT", Directive::TraceNot),
];

/// Suffixes of directives of snick and of LLVM's FileCheck. A name that starts with one of them looks like a
/// directive that lacks `CHECK-`.
const SUFFIXES: &[&str] = &["NEXT", "NOT", "TRACE", "COUNT", "DAG", "EMPTY", "LABEL", "SAME"];

fn kind(name: &str) -> Option<(&'static str, MakeDirective)> {
    KINDS.iter().copied().find(|(kind, _)| *kind == name)
}

fn is_in_capitals(word: &str) -> bool {
    word.contains(char::is_uppercase) && !word.contains(char::is_lowercase)
}

/// The directive that is most similar to a name, or to the start of the name, as in `CHECK-NOT{LITERAL}`.
fn nearest(name: &str) -> Option<&'static str> {
    let start = name.split(|c: char| !c.is_ascii_alphabetic() && c != '-').next().unwrap_or_default();
    [name, start].iter().find_map(|name| {
        let nearest = KINDS.iter().map(|&(kind, _)| (edit_distance(name, kind), kind)).min();
        nearest.filter(|(edits, _)| *edits <= 2).map(|(_, kind)| kind)
    })
}

impl Directive {
    /// The directive in a comment; `None` if the comment is ordinary text.
    fn parse(comment: &str) -> Result<Option<Self>, DirectiveFault> {
        let comment = comment.trim_start_matches(['/', '#', '!']).trim_start();
        let (word, text) = match comment.split_once(':') {
            Some((word, text)) => (word.trim_end(), Some(text.trim())),
            None => (comment, None),
        };
        if let (Some(text), Some((name, make))) = (text, kind(word)) {
            return match text {
                "" => Err(DirectiveFault::Empty { name }),
                text => Ok(Some(make(text.to_string()))),
            };
        }
        // If all words before the colon look like a name, they are the name of the directive. Otherwise, the
        // name is the first word.
        let dashed = word.to_uppercase().replace([' ', '_'], "-");
        let is_name = text.is_some() && (is_in_capitals(word) || kind(&dashed).is_some());
        let name = if is_name { word } else { word.split_whitespace().next().unwrap_or_default() };
        if let Some((name, _)) = kind(name) {
            return Err(DirectiveFault::NoColon { name });
        }
        let is_suffix = SUFFIXES.contains(&name.split('-').next().unwrap_or_default());
        let nearest = match is_suffix {
            true => nearest(&format!("CHECK-{name}")),
            false => nearest(name),
        };
        // A comment that begins with `CHECK` or `RUN` is meant as a directive if its name is in capitals or
        // is the only word before a colon. Any other comment must meet both conditions, and its name must
        // resemble a directive.
        let has_colon = text.is_some() && name == word;
        let is_meant = match ["CHECK", "RUN"].iter().any(|prefix| dashed.starts_with(prefix)) {
            true => has_colon || is_in_capitals(name),
            false => has_colon && is_in_capitals(name) && (is_suffix || nearest.is_some() && name.len() > 2),
        };
        match is_meant {
            true => Err(DirectiveFault::Unknown { name: name.to_string(), nearest }),
            false => Ok(None),
        }
    }

    /// The pattern of a directive; `None` for `RUN:`.
    fn pattern(&self) -> Option<&str> {
        match self {
            Self::Run(_) => None,
            Self::Check(text)
            | Self::Next(text)
            | Self::Not(text)
            | Self::Trace(text)
            | Self::TraceNot(text) => Some(text),
        }
    }
}

/// A check that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unmet {
    /// The line of the test.
    pub line: usize,
    /// The check.
    pub check: Directive,
    /// If the check excludes text: the line number, from 1, at which the text was found in the graph or
    /// trace.
    pub found: Option<usize>,
    /// Whether a `CHECK:` did not find its text in the graph, but the text occurs in the trace.
    pub is_in_trace: bool,
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (place, text) = match &self.check {
            Directive::Trace(text) | Directive::TraceNot(text) => ("trace", text),
            Directive::Run(text) | Directive::Check(text) | Directive::Next(text) | Directive::Not(text) => {
                ("graph", text)
            }
        };
        write!(f, "line {}: `{text}` ", self.line)?;
        match (&self.check, self.found) {
            (_, Some(at)) => write!(f, "found in line {at} of the {place}"),
            (Directive::Next(_), _) => f.write_str("not found in the next line"),
            (_, None) if self.is_in_trace => {
                write!(f, "not found in the {place}; use CHECK-TRACE for the trace of rewrites")
            }
            (_, None) => write!(f, "not found in the {place}"),
        }
    }
}

impl Directives {
    /// Parses the directives of a test. Comments start with `//` or `#`, and may follow code on a line.
    ///
    /// # Errors
    /// A comment that looks like a directive but is not one, or an invalid pattern.
    pub fn parse(text: &str) -> Result<Self, DirectiveError> {
        let mut all = Vec::new();
        let mut defined = Vec::new();
        for (line, comment) in comments(text) {
            let line = line as usize;
            let failed = |fault| DirectiveError { line, fault };
            let Some(directive) = Directive::parse(comment).map_err(failed)? else { continue };
            if let Some(text) = directive.pattern() {
                let names = Pattern::parse(text)
                    .and_then(|pattern| pattern.check(&defined))
                    .map_err(|error| failed(error.into()))?;
                let captures = !matches!(directive, Directive::Not(_) | Directive::TraceNot(_));
                defined.extend(names.into_iter().filter(|_| captures));
            }
            all.push((line, directive));
        }
        Ok(Self(all))
    }

    /// The commands, in order.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|(_, directive)| match directive {
            Directive::Run(command) => Some(command.as_str()),
            _ => None,
        })
    }

    /// The number of checks.
    pub fn checks(&self) -> usize {
        self.0.len() - self.commands().count()
    }

    /// Checks the text form of the graph and the trace of rewrites. The checks of each must match in order.
    ///
    /// A run of blanks is treated as one blank. `{{REGEX}}` matches a regular expression within a line.
    /// `[[NAME:REGEX]]` also captures the match; afterwards, `[[NAME]]` matches the captured text.
    ///
    /// # Errors
    /// The first failed check.
    pub fn check(&self, graph: &str, trace: &str) -> Result<(), Unmet> {
        let (mut graph, mut trace) = (Cursor::new(graph), Cursor::new(trace));
        let mut captures = Captures::new();
        for (line, directive) in &self.0 {
            let Some(text) = directive.pattern() else { continue };
            let pattern = Pattern::parse(text).and_then(|pattern| pattern.resolve(&captures));
            let found = match (directive, pattern) {
                // `parse` has already rejected invalid patterns.
                (_, Err(_)) => Err(None),
                (Directive::Run(_), Ok(_)) => Ok(()),
                (Directive::Check(_), Ok(pattern)) => graph.find(&pattern, &mut captures),
                (Directive::Next(_), Ok(pattern)) => graph.next(&pattern, &mut captures),
                (Directive::Trace(_), Ok(pattern)) => trace.find(&pattern, &mut captures),
                (Directive::Not(_), Ok(pattern)) => graph.exclude(*line, directive, pattern),
                (Directive::TraceNot(_), Ok(pattern)) => trace.exclude(*line, directive, pattern),
            };
            found.map_err(|unmet: Option<Unmet>| {
                unmet.unwrap_or_else(|| {
                    let is_in_trace =
                        matches!(directive, Directive::Check(text) if trace.contains(text, &captures));
                    Unmet { line: *line, check: directive.clone(), found: None, is_in_trace }
                })
            })?;
        }
        [graph, trace].iter_mut().try_for_each(Cursor::finish)
    }
}

/// The lines of an output, and the position up to which they were checked.
struct Cursor<'a> {
    /// The lines, with runs of blanks collapsed.
    lines: Vec<String>,
    at: usize,
    /// Patterns that must not match before the next match.
    excluded: Vec<(usize, &'a Directive, Resolved)>,
}

/// The result of a check. The error is the failed `-NOT` check, or `None` if the current check itself failed.
type Checked = Result<(), Option<Unmet>>;

impl<'a> Cursor<'a> {
    fn new(output: &str) -> Self {
        Self { lines: output.lines().map(one_blank).collect(), at: 0, excluded: Vec::new() }
    }

    fn find(&mut self, pattern: &Resolved, captures: &mut Captures) -> Checked {
        let found = (self.at..self.lines.len()).find(|&i| pattern.capture(&self.lines[i], captures));
        self.advance(found)
    }

    fn next(&mut self, pattern: &Resolved, captures: &mut Captures) -> Checked {
        let found = self.lines.get(self.at).filter(|line| pattern.capture(line, captures));
        self.advance(found.map(|_| self.at))
    }

    fn exclude(&mut self, line: usize, directive: &'a Directive, pattern: Resolved) -> Checked {
        self.excluded.push((line, directive, pattern));
        Ok(())
    }

    fn advance(&mut self, found: Option<usize>) -> Checked {
        let found = found.ok_or(None)?;
        self.none_excluded(found)?;
        self.at = found + 1;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Unmet> {
        self.none_excluded(self.lines.len())
    }

    /// Checks that no excluded text occurs in the lines up to `end`.
    fn none_excluded(&mut self, end: usize) -> Result<(), Unmet> {
        for (line, directive, pattern) in self.excluded.drain(..) {
            if let Some(at) = (self.at..end).find(|&i| pattern.is_in(&self.lines[i])) {
                let check = directive.clone();
                return Err(Unmet { line, check, found: Some(at + 1), is_in_trace: false });
            }
        }
        Ok(())
    }

    fn contains(&self, text: &str, captures: &Captures) -> bool {
        let pattern = Pattern::parse(text).and_then(|pattern| pattern.resolve(captures));
        pattern.is_ok_and(|pattern| self.lines.iter().any(|line| pattern.is_in(line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unmet(checks: &str) -> Option<usize> {
        Directives::parse(checks)
            .unwrap()
            .check("a  = one\nb = two\nc = one\n", "x\ny\n")
            .err()
            .map(|unmet| unmet.line)
    }

    #[test]
    fn checks_match_in_order() {
        assert_eq!(unmet("// CHECK: a = one\n# CHECK: one"), None);
        assert_eq!(unmet("// CHECK: b\n// CHECK: a"), Some(2));
        assert_eq!(unmet("// CHECK: a\n// CHECK-NEXT: b"), None);
        assert_eq!(unmet("// CHECK: a\n// CHECK-NEXT: c"), Some(2));
        assert_eq!(unmet("// CHECK: c{{.*}}one"), None);
        assert_eq!(unmet("// CHECK: a{{.*}}two"), Some(1));
        assert_eq!(unmet("// CHECK: {{[ab]{1}}} = one"), None);
    }

    #[test]
    fn excluded_text_fails() {
        assert_eq!(unmet("// CHECK-NOT: three"), None);
        assert_eq!(unmet("// CHECK-NOT: two"), Some(1));
        assert_eq!(unmet("// CHECK: a\n// CHECK-NOT: two\n// CHECK: c"), Some(2));
        assert_eq!(unmet("// CHECK: b\n// CHECK-NOT: two\n// CHECK: c"), None);
    }

    #[test]
    fn the_trace_has_checks_of_its_own() {
        assert_eq!(unmet("// CHECK-TRACE: x\n// CHECK: a\n// CHECK-TRACE: y"), None);
        assert_eq!(unmet("// CHECK-TRACE: y\n// CHECK-TRACE: x"), Some(2));
        assert_eq!(unmet("// CHECK-TRACE: a"), Some(1));
        assert_eq!(unmet("// CHECK-NOT: x"), None);
        assert_eq!(unmet("// CHECK-TRACE-NOT: a"), None);
        assert_eq!(unmet("// CHECK-TRACE-NOT: y"), Some(1));
        assert_eq!(unmet("// CHECK-TRACE-NOT: y\n// CHECK-TRACE: x"), None);
    }

    #[test]
    fn captures_match_themselves() {
        assert_eq!(unmet("// CHECK: [[X:\\w]] = [[VALUE:\\w+]]\n// CHECK: c = [[VALUE]]"), None);
        assert_eq!(unmet("// CHECK: b = [[VALUE:\\w+]]\n// CHECK: c = [[VALUE]]"), Some(2));
        assert_eq!(unmet("// CHECK: [[X:o]]n[[Y:e]]\n// CHECK-NOT: tw[[X]]\n// CHECK: c"), Some(2));
        assert_eq!(unmet("// CHECK: {{^[ab]}} = [[V:(one|two)]]\n// CHECK-NEXT: b{{ = t}}"), None);
        // A capture can be used in the pattern that defines it.
        assert_eq!(unmet("// CHECK: [[X:[a-z]]]{{.*}} = on{{[a-e]}}"), None);
        assert_eq!(unmet("// CHECK: [[X:[a-z]]] = [[X]]"), Some(1));
        assert_eq!(unmet("// CHECK-TRACE: [[X:x]]\n// CHECK-NOT: [[X]]"), None);
    }

    fn fault(text: &str) -> Option<(usize, DirectiveFault)> {
        Directives::parse(text).err().map(|error| (error.line, error.fault))
    }

    #[test]
    fn what_looks_like_a_directive_is_one() {
        let unknown = |name: &str, nearest| Some((2, DirectiveFault::Unknown { name: name.into(), nearest }));
        let second = |line: &str| fault(&format!("// RUN: snick infer\n{line}\n// CHECK: x"));
        assert_eq!(second("// CHECK-NOTT: x"), unknown("CHECK-NOTT", Some("CHECK-NOT")));
        assert_eq!(second("// CHECK-DAG: nonsense"), unknown("CHECK-DAG", None));
        assert_eq!(second("# CHEK: x"), unknown("CHEK", Some("CHECK")));
        assert_eq!(second("// CHECK_NEXT: x"), unknown("CHECK_NEXT", Some("CHECK-NEXT")));
        assert_eq!(second("// CHECK NOT: x"), unknown("CHECK NOT", Some("CHECK-NOT")));
        assert_eq!(second("// RUNS: x"), unknown("RUNS", Some("RUN")));
        assert_eq!(second("// check-not: x"), unknown("check-not", Some("CHECK-NOT")));
        assert_eq!(second("// CHECK-NOT x"), Some((2, DirectiveFault::NoColon { name: "CHECK-NOT" })));
        assert_eq!(second("// CHECK:"), Some((2, DirectiveFault::Empty { name: "CHECK" })));
        for (name, nearest) in [
            ("CHECK-COUNT-2", None),
            ("CHECK-N0T", Some("CHECK-NOT")),
            ("CHECK2", Some("CHECK")),
            ("CHECK-1", Some("CHECK")),
            ("CHECK-NOT{LITERAL}", Some("CHECK-NOT")),
            ("CHECK.NOT", Some("CHECK-NOT")),
            ("CHECK;", Some("CHECK")),
            ("CHECK\u{2011}NOT", Some("CHECK-NOT")),
            ("check", Some("CHECK")),
            ("Run", Some("RUN")),
            ("check not", Some("CHECK-NOT")),
            ("NOT", Some("CHECK-NOT")),
            ("NEXT", Some("CHECK-NEXT")),
            ("TRACE-NOT", Some("CHECK-TRACE-NOT")),
            ("COUNT-2", None),
            ("DAG", None),
        ] {
            for line in [format!("// {name}: ReLU"), format!("/// {name}: x"), format!("%a // {name}: x")] {
                assert_eq!(second(&line), unknown(name, nearest), "{line}");
            }
        }
        assert_eq!(second("// CHECK-EMPTY"), unknown("CHECK-EMPTY", None));
        assert_eq!(second("// RUN snick infer"), Some((2, DirectiveFault::NoColon { name: "RUN" })));
        assert_eq!(second("// CHECK that: x"), Some((2, DirectiveFault::NoColon { name: "CHECK" })));
        for prose in [
            "// A note: nothing",
            "// NOTE: x",
            "// N: the batch",
            "//",
            "// Checks this: x",
            "// checks that",
            "// Run it twice",
            "// Not: x",
            "// see https://a.b",
            "# a",
            "%a = Const-1 string[] <\"// CHECK-NOTT: x\">",
        ] {
            assert_eq!(second(prose), None, "{prose}");
        }
    }

    #[test]
    fn directives_of_every_comment_are_checked() {
        for comment in ["/// CHECK: three", "//// CHECK: three", "%a // CHECK: three", "%a # CHECK: three"] {
            assert_eq!(unmet(comment), Some(1), "{comment}");
        }
    }

    #[test]
    fn patterns_are_patterns() {
        let is_pattern_fault = |text: &str| match fault(text) {
            Some((1, DirectiveFault::Pattern(error))) => Some(error),
            _ => None,
        };
        assert_eq!(is_pattern_fault("// CHECK: [[X]]"), Some(PatternError::Undefined { name: "X".into() }));
        assert!(matches!(is_pattern_fault("// CHECK: {{(}}"), Some(PatternError::Regex { .. })));
        assert!(matches!(is_pattern_fault("// CHECK: {{a"), Some(PatternError::Open { .. })));
        assert!(matches!(is_pattern_fault("// CHECK: [[X:a"), Some(PatternError::Open { .. })));
        assert_eq!(fault("// CHECK: axes: [[0],[1]]"), None);
        assert_eq!(fault("// CHECK: axes: [[0]]"), None);
        assert_eq!(is_pattern_fault("// CHECK: [[_X]]"), Some(PatternError::Undefined { name: "_X".into() }));
    }
}
