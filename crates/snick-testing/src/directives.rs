//! The comments of a test: commands to run and checks of their output.

use std::fmt;

/// A directive of a test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Directive {
    /// `RUN:` the command.
    Run(String),
    /// `CHECK:` a line after the last match contains this text.
    Check(String),
    /// `CHECK-NEXT:` the line right after the last match contains this text.
    Next(String),
    /// `CHECK-NOT:` no line between the last match and the next one contains this text.
    Not(String),
    /// `CHECK-TRACE:` a line of the trace of rewrites, after the last match there, contains this text.
    Trace(String),
    /// `CHECK-TRACE-NOT:` no line of the trace between the last match there and the next one contains this text.
    TraceNot(String),
}

/// The directives of a test, with line numbers from 1.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Directives(Vec<(usize, Directive)>);

/// A failed check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unmet {
    /// The line of the test.
    pub line: usize,
    /// The check.
    pub check: Directive,
    /// The line of the graph or the trace that contains excluded text, from 1.
    pub found: Option<usize>,
    /// Whether the trace contains what is missing in the graph.
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
    /// Parses the comments, `//` or `#`, of a test.
    pub fn parse(text: &str) -> Self {
        let mut all = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            let Some(comment) = line.strip_prefix("//").or_else(|| line.strip_prefix('#')) else { continue };
            let Some((word, rest)) = comment.trim_start().split_once(':') else { continue };
            let make: fn(String) -> Directive = match word {
                "RUN" => Directive::Run,
                "CHECK" => Directive::Check,
                "CHECK-NEXT" => Directive::Next,
                "CHECK-NOT" => Directive::Not,
                "CHECK-TRACE" => Directive::Trace,
                "CHECK-TRACE-NOT" => Directive::TraceNot,
                _ => continue,
            };
            all.push((number, make(rest.trim().to_string())));
        }
        Self(all)
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

    /// Checks the graph in text form and the trace of rewrites, each in order. Runs of blanks count as one blank;
    /// `{{.*}}` matches anything within a line.
    ///
    /// # Errors
    /// The first failed check.
    pub fn check(&self, graph: &str, trace: &str) -> Result<(), Unmet> {
        let (mut graph, mut trace) = (Cursor::new(graph), Cursor::new(trace));
        for (line, directive) in &self.0 {
            let checked = match directive {
                Directive::Run(_) => Ok(()),
                Directive::Check(text) => graph.find(text),
                Directive::Next(text) => graph.next(text),
                Directive::Not(text) => graph.exclude(*line, directive, text),
                Directive::Trace(text) => trace.find(text),
                Directive::TraceNot(text) => trace.exclude(*line, directive, text),
            };
            checked.map_err(|unmet: Option<Unmet>| {
                unmet.unwrap_or_else(|| {
                    let is_in_trace = matches!(directive, Directive::Check(text) if trace.contains(text));
                    Unmet { line: *line, check: directive.clone(), found: None, is_in_trace }
                })
            })?;
        }
        [graph, trace].iter_mut().try_for_each(Cursor::finish)
    }
}

/// The lines of an output, and how far they are checked.
struct Cursor<'a> {
    lines: Vec<&'a str>,
    at: usize,
    /// What must not be found before the next match.
    excluded: Vec<(usize, &'a Directive, &'a str)>,
}

/// A failed check: of excluded text, or of the directive at hand.
type Checked = Result<(), Option<Unmet>>;

impl<'a> Cursor<'a> {
    fn new(output: &'a str) -> Self {
        Self { lines: output.lines().collect(), at: 0, excluded: Vec::new() }
    }

    fn find(&mut self, text: &str) -> Checked {
        let found = (self.at..self.lines.len()).find(|&i| has(self.lines[i], text));
        self.advance(found)
    }

    fn next(&mut self, text: &str) -> Checked {
        let found = Some(self.at).filter(|&i| i < self.lines.len() && has(self.lines[i], text));
        self.advance(found)
    }

    fn exclude(&mut self, line: usize, directive: &'a Directive, text: &'a str) -> Checked {
        self.excluded.push((line, directive, text));
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

    /// Checks that no excluded text is in the lines up to `end`.
    fn none_excluded(&mut self, end: usize) -> Result<(), Unmet> {
        for (line, directive, text) in self.excluded.drain(..) {
            if let Some(at) = (self.at..end).find(|&i| has(self.lines[i], text)) {
                let check = directive.clone();
                return Err(Unmet { line, check, found: Some(at + 1), is_in_trace: false });
            }
        }
        Ok(())
    }

    fn contains(&self, text: &str) -> bool {
        self.lines.iter().any(|line| has(line, text))
    }
}

/// Whether a line contains the pieces of a pattern, in order.
fn has(line: &str, pattern: &str) -> bool {
    let line = one_blank(line);
    let mut rest = line.as_str();
    one_blank(pattern).split("{{.*}}").all(|piece| match rest.find(piece) {
        Some(at) => {
            rest = &rest[at + piece.len()..];
            true
        }
        None => false,
    })
}

fn one_blank(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unmet(checks: &str) -> Option<usize> {
        Directives::parse(checks)
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
}
