//! Runs tests: the commands in their comments, on their graph.

use std::path::Path;

use snick_ir::rewrite::{RewriteOptions, Trace};
use snick_ir::text::{PrintOptions, parse, print};
use snick_ir::{Graph, infer};
use snick_pass::{Checker, Options, PASSES, Pass, canonicalise, run};

use crate::{Directives, Unmet, diff};

/// A test suite, with the passes that commands may name besides those of snick.
#[derive(Clone, Debug, Default)]
pub struct Suite {
    passes: Vec<Pass>,
}

/// Why a test fails.
#[derive(thiserror::Error, Debug)]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum CheckError {
    #[error("{path}: {error}")]
    In { path: String, error: Box<CheckError> },
    #[error("{0}")]
    File(#[from] std::io::Error),
    #[error("contains no .snick files")]
    NoFiles,
    #[error("no `// RUN:` line, or no check")]
    NoDirectives,
    #[error("{0}")]
    Text(#[from] snick_ir::text::ParseError),
    #[error("{0}")]
    Infer(String),
    #[error("`{command}`: {why}")]
    Command { command: String, why: String },
    #[error("{unmet}; the output is\n{output}")]
    Unmet { unmet: Unmet, output: String },
}

/// A parsed command of a test.
struct Command {
    /// Whether the graph is rewritten after inference.
    rewrites: bool,
    passes: Vec<Pass>,
    stop_after: Option<usize>,
    verify: bool,
}

impl Suite {
    /// A suite whose commands may also name these passes.
    pub fn new(passes: &[Pass]) -> Self {
        Self { passes: passes.to_vec() }
    }

    /// Checks every `.snick` file of a folder; returns their number.
    ///
    /// # Errors
    /// The first file, by name, that fails; or a folder without files.
    pub fn check_folder(&self, folder: &Path) -> Result<usize, CheckError> {
        let located = |path: &Path, error: CheckError| CheckError::In {
            path: path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
            error: error.into(),
        };
        let entries = std::fs::read_dir(folder).map_err(|error| located(folder, error.into()))?;
        let mut files = Vec::new();
        for entry in entries {
            files.push(entry.map_err(|error| located(folder, error.into()))?.path());
        }
        files.retain(|path| path.extension().is_some_and(|extension| extension == "snick"));
        files.sort();
        if files.is_empty() {
            return Err(located(folder, CheckError::NoFiles));
        }
        for path in &files {
            let text = std::fs::read_to_string(path).map_err(|error| located(path, error.into()))?;
            self.check_text(&text).map_err(|error| located(path, error))?;
        }
        Ok(files.len())
    }

    /// Runs the commands of a graph in text form, and checks their outputs.
    ///
    /// # Errors
    /// The first command that fails, or the first check that fails on its output.
    pub fn check_text(&self, text: &str) -> Result<(), CheckError> {
        let directives = Directives::parse(text);
        let commands: Vec<&str> = directives.commands().collect();
        if commands.is_empty() || directives.checks() == 0 {
            return Err(CheckError::NoDirectives);
        }
        for command in commands {
            let output = self.output(text, command)?;
            directives.check(&output).map_err(|unmet| CheckError::Unmet { unmet, output })?;
        }
        Ok(())
    }

    /// The output of a command: the graph in text form, and a line for each rewrite.
    fn output(&self, text: &str, command: &str) -> Result<String, CheckError> {
        let failed = |why: String| CheckError::Command { command: command.to_string(), why };
        let command = self.parse(command).map_err(failed)?;
        let mut graph = parse(text, None)?;
        let errors: Vec<String> = infer(&mut graph).iter().map(ToString::to_string).collect();
        if !errors.is_empty() {
            return Err(CheckError::Infer(errors.join("\n")));
        }
        let trace =
            if command.rewrites { rewrite(&mut graph, &command).map_err(failed)? } else { Trace::default() };
        if let Some(failure) = trace.check_failures.first() {
            return Err(failed(failure.report.clone()));
        }
        if let Some(error) = trace.errors.first() {
            return Err(failed(error.to_string()));
        }
        let applied = trace.applied.iter().map(|a| format!("// {} {} {}\n", a.rule, a.op, a.layer));
        Ok(print(&graph, PrintOptions::default()) + &applied.collect::<String>())
    }

    /// Parses `snick infer` or `snick canon [--passes A,B] [--stop-after N] [--verify]`.
    fn parse(&self, command: &str) -> Result<Command, String> {
        let mut words = command.split_whitespace();
        let rewrites = match (words.next(), words.next()) {
            (Some("snick"), Some("canon")) => true,
            (Some("snick"), Some("infer")) => false,
            _ => return Err("tests run `snick canon` or `snick infer`".into()),
        };
        let mut parsed = Command { rewrites, passes: Vec::new(), stop_after: None, verify: false };
        while let Some(word) = words.next() {
            match word {
                "--passes" => {
                    for name in words.next().ok_or("`--passes` needs names")?.split(',') {
                        let pass = self.passes.iter().chain(PASSES).find(|pass| pass.name == name);
                        parsed.passes.push(*pass.ok_or_else(|| format!("no pass named `{name}`"))?);
                    }
                }
                "--stop-after" => {
                    let count = words.next().and_then(|count| count.parse().ok());
                    parsed.stop_after = Some(count.ok_or("`--stop-after` takes a number")?);
                }
                "--verify" => parsed.verify = true,
                // The graph of the test itself.
                "-" | "%s" => {}
                other => return Err(format!("unknown option `{other}`")),
            }
        }
        Ok(parsed)
    }
}

fn rewrite(graph: &mut Graph, command: &Command) -> Result<Trace, String> {
    if command.passes.is_empty() {
        let check = command.verify.then_some(0);
        let options = Options { stop_after: command.stop_after, check, ..Options::default() };
        let report = canonicalise(graph, &options).map_err(|error| error.to_string())?;
        let (applied, errors, check_failures) = (report.applied, report.errors, report.check_failures);
        return Ok(Trace { applied, errors, check_failures, missed: report.missed });
    }
    let mut checker = command.verify.then(|| Checker::new(0));
    let check = checker.as_mut().map(|checker| checker as _);
    Ok(run(graph, &command.passes, RewriteOptions { stop_after: command.stop_after, check, only: None }))
}

/// The effect of passes on an inferred graph, as a text for a snapshot: the difference in text form, and the applied
/// rules. Every application of a rule is checked.
///
/// # Errors
/// The report of the first wrong application, or a rule that fails.
pub fn before_after(graph: &Graph, passes: &[Pass]) -> Result<String, String> {
    let mut after = graph.clone();
    let mut checker = Checker::new(0);
    let trace =
        run(&mut after, passes, RewriteOptions { check: Some(&mut checker), ..RewriteOptions::default() });
    if let Some(failure) = trace.check_failures.first() {
        return Err(failure.report.clone());
    }
    if let Some(error) = trace.errors.first() {
        return Err(error.to_string());
    }
    let mut text = diff(&print(graph, PrintOptions::default()), &print(&after, PrintOptions::default()));
    for applied in &trace.applied {
        text.push_str(&format!("{} at {} ({})\n", applied.rule, applied.layer, applied.op));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAPH: &str = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"10\"}\n  \
                         %a = slice(%x) {axes: [0], start: [1], len: [8], step: [1]}\n  \
                         %b = slice(%a) {axes: [0], start: [2], len: [3], step: [1]}\n  %y = Result-1(%b)\n}\n";

    fn outcome(directives: &str) -> Result<(), String> {
        Suite::default().check_text(&format!("{directives}\n{GRAPH}")).map_err(|error| error.to_string())
    }

    #[test]
    fn commands_run_and_outputs_are_checked() {
        let merged = "// CHECK: slice(%x) {axes: [0], start: [3], len: [3]\n// CHECK-NOT: slice(";
        assert_eq!(outcome(&format!("# RUN: snick canon --passes merge-slices --verify\n{merged}")), Ok(()));
        assert_eq!(
            outcome(&format!("// RUN: snick canon\n{merged}\n// CHECK: merge-slices slice b")),
            Ok(())
        );
        assert_eq!(outcome("// RUN: snick infer\n// CHECK: %b = slice(%a)"), Ok(()));
        let untouched =
            outcome(&format!("// RUN: snick canon --passes merge-slices --stop-after 0\n{merged}"));
        assert!(untouched.unwrap_err().starts_with("line 2:"));
    }

    #[test]
    fn mistakes_are_reported() {
        for (directives, message) in [
            ("// CHECK: x", "no `// RUN:` line"),
            ("// RUN: snick canon", "no check"),
            ("// RUN: snick canon --passes no-such\n// CHECK: x", "no pass named `no-such`"),
            ("// RUN: rm -r\n// CHECK: x", "tests run `snick canon`"),
        ] {
            let error = outcome(directives).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
