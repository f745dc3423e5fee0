//! Runs tests: the commands in their comments, on their graph.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use snick_ir::text::{PrintOptions, parse, print};
use snick_ir::{Graph, infer};
use snick_pass::{PASSES, Pass, Report, RewriteOptions, apply, canonicalise};

use crate::{CheckError, Directives};

/// A test suite, with the passes that commands may name besides those of snick.
///
/// ```
/// use snick_testing::Suite;
///
/// let test = r#"
/// // RUN: snick canon --passes merge-slices --verify
/// // CHECK: slice(%x) {axes: [0], start: [3]
/// // CHECK-NOT: slice(
/// // CHECK-TRACE: merge-slices slice b
/// snick 1
/// graph "g" {
///   %x = Parameter-1 {element_type: f32, shape: "10"}
///   %a = slice(%x) {axes: [0], start: [1], len: [8], step: [1]}
///   %b = slice(%a) {axes: [0], start: [2], len: [4], step: [1]}
///   %y = Result-1(%b)
/// }
/// "#;
/// Suite::default().check_text(test)?;
/// # Ok::<(), snick_testing::CheckError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Suite {
    passes: Vec<Pass>,
}

/// A parsed command of a test.
struct Command {
    /// Whether the graph is rewritten after inference.
    rewrites: bool,
    passes: Vec<Pass>,
    stop_after: Option<usize>,
    verify: bool,
}

/// The output of a command.
struct Output {
    /// The graph in text form.
    graph: String,
    /// A line for each rewrite: rule, operation type, layer.
    trace: String,
}

impl Suite {
    /// A suite whose commands may also name these passes: a list of passes, or of references to them.
    pub fn new(passes: impl IntoIterator<Item: Borrow<Pass>>) -> Self {
        Self { passes: passes.into_iter().map(|pass| pass.borrow().clone()).collect() }
    }

    /// Checks every `.snick` file of a folder; returns their number. [`check_files!`](crate::check_files) makes a test of
    /// each instead.
    ///
    /// # Errors
    /// All files that fail, by name; or a folder without files.
    pub fn check_folder(&self, folder: &Path) -> Result<usize, CheckError> {
        let located = |error: CheckError| error.of(&folder.to_string_lossy());
        let files = files(folder).map_err(|error| located(error.into()))?;
        if files.is_empty() {
            return Err(located(CheckError::NoFiles));
        }
        self.check_paths(&files).map(|()| files.len())
    }

    /// Checks the `.snick` files of a folder that are not in the list.
    pub(crate) fn check_others(&self, folder: &Path, listed: &[&str]) -> Result<(), CheckError> {
        let listed: BTreeSet<_> = listed.iter().filter_map(|file| Path::new(file).file_name()).collect();
        // The tests may run where the sources are not.
        let mut files = files(folder).unwrap_or_default();
        files.retain(|path| path.file_name().is_some_and(|name| !listed.contains(name)));
        self.check_paths(&files)
    }

    fn check_paths(&self, files: &[PathBuf]) -> Result<(), CheckError> {
        let check = |path: &PathBuf| {
            let text = std::fs::read_to_string(path);
            let checked = text.map_err(CheckError::from).and_then(|text| self.check_text(&text));
            checked.err().map(|error| error.of(&path.to_string_lossy()))
        };
        let failures: Vec<CheckError> = files.iter().filter_map(check).collect();
        if failures.is_empty() { Ok(()) } else { Err(CheckError::Several(failures)) }
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
            let Output { graph, trace } = self.output(text, command)?;
            directives
                .check(&graph, &trace)
                .map_err(|unmet| CheckError::Unmet { unmet, output: graph + &commented(&trace) })?;
        }
        Ok(())
    }

    fn output(&self, text: &str, command: &str) -> Result<Output, CheckError> {
        let failed = |why: String| CheckError::Command { command: command.to_string(), why };
        let command = self.parse(command).map_err(failed)?;
        let mut graph = parse(text, None)?;
        let errors: Vec<String> = infer(&mut graph).iter().map(ToString::to_string).collect();
        if !errors.is_empty() {
            return Err(CheckError::Infer(errors.join("\n")));
        }
        let report = if command.rewrites { rewrite(&mut graph, &command) } else { Report::default() };
        if let Some(failure) = report.check_failures.first() {
            return Err(failed(failure.report.clone()));
        }
        if let Some(error) = report.errors.first() {
            return Err(failed(error.to_string()));
        }
        let applied = report.applied.iter().map(|a| format!("{} {} {}\n", a.rule, a.op, a.layer));
        Ok(Output { graph: print(&graph, PrintOptions::default()), trace: applied.collect() })
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
                        parsed.passes.push(self.pass(name)?);
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

    /// The pass of this name, of the suite or of snick.
    fn pass(&self, name: &str) -> Result<Pass, String> {
        let own = self.passes.iter().find(|pass| pass.name() == name).cloned();
        own.or_else(|| Pass::by_name(name).ok()).ok_or_else(|| {
            let names: Vec<&str> = self.passes.iter().chain(PASSES).map(Pass::name).collect();
            format!("no pass named `{name}`; the passes are {}", names.join(", "))
        })
    }
}

fn rewrite(graph: &mut Graph, command: &Command) -> Report {
    let options = RewriteOptions::new().check(command.verify);
    let options = command.stop_after.iter().fold(options, |options, &most| options.stop_after(most));
    match command.passes.is_empty() {
        true => canonicalise(graph, &options),
        false => apply(graph, &command.passes, &options),
    }
}

fn commented(trace: &str) -> String {
    trace.lines().map(|line| format!("// {line}\n")).collect()
}

/// The `.snick` files of a folder, by name.
fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        files.push(entry?.path());
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "snick"));
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use snick_ir::rewrite::{RewriteResult, Rule};

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
            outcome(&format!("// RUN: snick canon\n{merged}\n// CHECK-TRACE: merge-slices slice b")),
            Ok(())
        );
        assert_eq!(outcome("// RUN: snick infer\n// CHECK: %b = slice(%a)"), Ok(()));
        let untouched =
            outcome(&format!("// RUN: snick canon --passes merge-slices --stop-after 0\n{merged}"));
        assert!(untouched.unwrap_err().starts_with("line 2:"));
    }

    /// The rule's name in the trace is not the op in the graph.
    #[test]
    fn excluded_text_is_looked_for_in_the_graph_alone() {
        let run = "// RUN: snick canon --passes merge-slices";
        assert_eq!(outcome(&format!("{run}\n// CHECK-NOT: merge-slices")), Ok(()));
        let error = outcome(&format!("{run}\n// CHECK: merge-slices")).unwrap_err();
        assert!(
            error.starts_with("line 2: `merge-slices` not found in the graph; use CHECK-TRACE"),
            "{error}"
        );
        let error = outcome(&format!("{run}\n// CHECK-TRACE-NOT: merge-slices")).unwrap_err();
        assert!(error.starts_with("line 2: `merge-slices` found in line 1 of the trace"), "{error}");
        let error = outcome(&format!("{run}\n// CHECK-TRACE: fold")).unwrap_err();
        assert!(error.starts_with("line 2: `fold` not found in the trace"), "{error}");
    }

    #[test]
    fn every_failing_file_of_a_folder_is_reported() {
        let folder = std::env::temp_dir().join(format!("snick-testing-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (name, check) in [("a", "no-such"), ("b", "slice"), ("c", "neither")] {
            let test = format!("// RUN: snick infer\n// CHECK: {check}\n{GRAPH}");
            std::fs::write(folder.join(name).with_extension("snick"), test).unwrap();
        }
        let error = Suite::default().check_folder(&folder).unwrap_err().to_string();
        let others = Suite::default().check_others(&folder, &["rewrites/a.snick", "rewrites/b.snick"]);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(error.contains("a.snick: line 2: `no-such` not found"), "{error}");
        assert!(
            error.contains("c.snick: line 2: `neither` not found") && !error.contains("b.snick"),
            "{error}"
        );
        let others = others.unwrap_err().to_string();
        assert!(others.contains("c.snick") && !others.contains("a.snick"), "{others}");
    }

    /// It fails as long as the rule is wrong, and passes with the right one.
    #[test]
    fn the_report_of_a_refuted_rewrite_has_a_test_that_runs() {
        let suite = |rule: Rule| Suite::new([Pass::new("drop-relu", [rule])]);
        let wrong = suite(Rule::new("drop-relu", |patch| match patch.node().op().type_name() {
            "ReLU" => Ok(RewriteResult::one(patch.input(0)?)),
            _ => Ok(RewriteResult::NoMatch),
        }));
        let test = "// RUN: snick canon --passes drop-relu --verify\n// CHECK: Result\nsnick 1\ngraph \"g\" {\n  \
                    %x = Parameter-1 {element_type: f32, shape: \"3\"}\n  %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
        let report = wrong.check_text(test).unwrap_err().to_string();
        let (_, reported) = report.split_once("// RUN:").unwrap();
        let reported = format!("// RUN:{reported}");
        let again = wrong.check_text(&reported).unwrap_err().to_string();
        assert!(again.contains("drop-relu at `a`"), "{again}");
        suite(Rule::new("drop-relu", |_| Ok(RewriteResult::NoMatch))).check_text(&reported).unwrap();
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
