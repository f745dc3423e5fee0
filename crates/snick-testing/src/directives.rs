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
    /// The line of the output that contains excluded text, from 1.
    pub found: Option<usize>,
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.check, self.found) {
            (Directive::Not(text), Some(at)) => {
                write!(f, "line {}: `{text}` found in output line {at}", self.line)
            }
            (Directive::Next(text), _) => {
                write!(f, "line {}: `{text}` not found in the next line", self.line)
            }
            (Directive::Run(text) | Directive::Check(text) | Directive::Not(text), _) => {
                write!(f, "line {}: `{text}` not found", self.line)
            }
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

    /// Checks an output, in order. Runs of blanks count as one blank; `{{.*}}` matches anything within a line.
    ///
    /// # Errors
    /// The first failed check.
    pub fn check(&self, output: &str) -> Result<(), Unmet> {
        let lines: Vec<&str> = output.lines().collect();
        let mut at = 0;
        let mut absent: Vec<(usize, &Directive, &str)> = Vec::new();
        for (line, directive) in &self.0 {
            let unmet = |found| Unmet { line: *line, check: directive.clone(), found };
            let found = match directive {
                Directive::Run(_) => continue,
                Directive::Not(text) => {
                    absent.push((*line, directive, text));
                    continue;
                }
                Directive::Check(text) => (at..lines.len()).find(|&i| has(lines[i], text)),
                Directive::Next(text) => Some(at).filter(|&i| i < lines.len() && has(lines[i], text)),
            };
            let found = found.ok_or_else(|| unmet(None))?;
            none_of(&mut absent, &lines, at..found)?;
            at = found + 1;
        }
        none_of(&mut absent, &lines, at..lines.len())
    }
}

/// Checks that none of these texts is in the range of lines.
fn none_of(
    absent: &mut Vec<(usize, &Directive, &str)>,
    lines: &[&str],
    range: std::ops::Range<usize>,
) -> Result<(), Unmet> {
    for (line, directive, text) in absent.drain(..) {
        if let Some(at) = range.clone().find(|&i| has(lines[i], text)) {
            return Err(Unmet { line, check: directive.clone(), found: Some(at + 1) });
        }
    }
    Ok(())
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
        Directives::parse(checks).check("a  = one\nb = two\nc = one\n").err().map(|unmet| unmet.line)
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
}
