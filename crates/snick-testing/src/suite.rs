//! Runs the commands in the comments of a test on its graph.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use snick::Model;
use snick_ir::text::{PrintOptions, parse_with, print};
use snick_ir::{Graph, Registry, infer};
use snick_pass::{PASSES, Pass, Report, RewriteOptions, apply, canonicalise};

use crate::command::Command;
use crate::{CheckError, Directives};

/// A test suite, with passes that commands may use in addition to the passes of snick.
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
///
/// A command is `snick infer` or `snick canon`, with any of these options:
///
/// | option | effect |
/// |---|---|
/// | `--passes A,B` | runs these passes instead of the canonical form |
/// | `--verify` | checks every rewrite by executing it |
/// | `--stop-after N` | stops after `N` rewrites |
/// | `--shape "x[N,3]"` | sets input shapes, like [`Model::reshape`](snick::Model::reshape); may be repeated |
/// | `--ops FILE` | adds custom ops, like [`snick::load_ops`]; `cargo test` looks in the folder of the package |
/// | `--symbolic` | prints dims as expressions, like [`Suite::symbolic`] |
///
/// ```
/// use snick_testing::Suite;
///
/// let test = r#"
/// // RUN: snick infer --shape "x[N,3]" --symbolic
/// // CHECK: %y = Result-1(%a) : f32[2*N,3]
/// snick 1
/// graph "g" {
///   %x = Parameter-1 {element_type: f32, shape: "?,?"}
///   %a = Concat-1(%x, %x) {axis: 0}
///   %y = Result-1(%a)
/// }
/// "#;
/// Suite::default().check_text(test)?;
/// # Ok::<(), snick_testing::CheckError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Suite {
    passes: Vec<Pass>,
    registry: Option<Registry>,
    is_symbolic: bool,
}

/// Anything that [`check_files!`](crate::check_files) takes as its last argument: a suite or a list of passes.
#[doc(hidden)]
pub trait IntoSuite {
    /// The suite.
    fn into_suite(self) -> Suite;
}

impl IntoSuite for Suite {
    fn into_suite(self) -> Suite {
        self
    }
}

impl<P: IntoIterator<Item: Borrow<Pass>>> IntoSuite for P {
    fn into_suite(self) -> Suite {
        Suite::new(self)
    }
}

/// The output of a command.
struct Output {
    /// The graph in text form.
    graph: String,
    /// One line per rewrite: rule, operation type, layer.
    trace: String,
}

impl Suite {
    /// Creates a suite whose commands may also use these passes, given as a list of passes or of references.
    pub fn new(passes: impl IntoIterator<Item: Borrow<Pass>>) -> Self {
        Self { passes: passes.into_iter().map(|pass| pass.borrow().clone()).collect(), ..Self::default() }
    }

    /// Sets the custom ops that graphs may contain.
    #[must_use]
    pub fn registry(self, registry: &Registry) -> Self {
        Self { registry: Some(registry.clone()), ..self }
    }

    /// Sets whether the checks see dims as expressions, such as `2*N`. By default, dims are intervals, such
    /// as `?`. A single command can do the same with `--symbolic`.
    ///
    /// ```
    /// use snick_testing::Suite;
    ///
    /// let test = "// RUN: snick infer\n// CHECK: %b = ReLU-1(%a) : f32[2*N]\nsnick 1\ngraph \"g\" {\n  \
    ///             %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
    ///             %a = Concat-1(%x, %x) {axis: 0}\n  %b = ReLU-1(%a)\n  %y = Result-1(%b)\n}\n";
    /// Suite::default().symbolic(true).check_text(test)?;
    /// assert!(Suite::default().check_text(test).is_err());
    /// # Ok::<(), snick_testing::CheckError>(())
    /// ```
    #[must_use]
    pub fn symbolic(self, symbolic: bool) -> Self {
        Self { is_symbolic: symbolic, ..self }
    }

    /// Checks every `.snick` file in a folder, and returns the number of files.
    /// [`check_files!`](crate::check_files) makes each file a test of its own.
    ///
    /// # Errors
    /// The errors of all files that failed, sorted by file name, or an error if the folder contains no files.
    pub fn check_folder(&self, folder: &Path) -> Result<usize, CheckError> {
        let located = |error: CheckError| error.of(&folder.to_string_lossy());
        let files = files(folder).map_err(|error| located(error.into()))?;
        if files.is_empty() {
            return Err(located(CheckError::NoFiles));
        }
        self.check_paths(&files).map(|()| files.len())
    }

    /// Checks the `.snick` files in a folder that are not in `listed`.
    pub(crate) fn check_others(&self, folder: &Path, listed: &[&str]) -> Result<(), CheckError> {
        let listed: BTreeSet<_> = listed.iter().filter_map(|file| Path::new(file).file_name()).collect();
        // If the tests run on a machine without the sources, there are no files to check.
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

    /// Runs the commands of a test in text form, and checks their output.
    ///
    /// # Errors
    /// The first failed command, or the first failed check on its output.
    pub fn check_text(&self, text: &str) -> Result<(), CheckError> {
        let directives = Directives::parse(text)?;
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
        let words = command;
        let command = Command::parse(words).map_err(failed)?;
        let passes: Result<Vec<Pass>, _> = command.passes.iter().map(|name| self.pass(name)).collect();
        let passes = passes.map_err(failed)?;
        let registry = match (&command.ops, &self.registry) {
            (Some(_), Some(_)) => {
                return Err(failed("the suite has a registry already; remove `--ops`".into()));
            }
            (Some(file), None) => snick::load_ops(file).map_err(|error| failed(error.to_string()))?,
            (None, Some(registry)) => registry.clone(),
            (None, None) => Registry::builtin(),
        };
        let mut model = Model::from(parse_with(text, None, &registry)?);
        let reshaped = command.shapes.iter().try_for_each(|spec| model.reshape(spec));
        reshaped.map_err(|error| failed(error.to_string()))?;
        let mut graph = model.into_graph();
        let errors: Vec<String> = infer(&mut graph).iter().map(ToString::to_string).collect();
        if !errors.is_empty() {
            return Err(CheckError::Infer(errors.join("\n")));
        }
        let report =
            if command.rewrites { rewrite(&mut graph, &command, &passes) } else { Report::default() };
        if let Some(failure) = report.check_failures.first() {
            return Err(failed(failure.report.clone()));
        }
        if let Some(error) = report.errors.first() {
            return Err(failed(error.to_string()));
        }
        let (checked, unchecked) = (report.checked, report.unchecked);
        if unchecked > 0 {
            return Err(CheckError::Unchecked { command: words.to_string(), checked, unchecked });
        }
        let applied = report.applied.iter().map(|a| format!("{} {} {}\n", a.rule, a.op, a.layer));
        let printed = print(&graph, PrintOptions::new().symbolic(self.is_symbolic || command.symbolic));
        Ok(Output { graph: printed, trace: applied.collect() })
    }

    /// The pass with this name, from the suite or from snick.
    fn pass(&self, name: &str) -> Result<Pass, String> {
        let own = self.passes.iter().find(|pass| pass.name() == name).cloned();
        own.or_else(|| Pass::by_name(name).ok()).ok_or_else(|| {
            let names: Vec<&str> = self.passes.iter().chain(PASSES).map(Pass::name).collect();
            format!("no pass named `{name}`; the passes are {}", names.join(", "))
        })
    }
}

fn rewrite(graph: &mut Graph, command: &Command, passes: &[Pass]) -> Report {
    let options = RewriteOptions::new().check(command.verify);
    let options = command.stop_after.iter().fold(options, |options, &most| options.stop_after(most));
    match passes.is_empty() {
        true => canonicalise(graph, &options),
        false => apply(graph, passes, &options),
    }
}

fn commented(trace: &str) -> String {
    trace.lines().map(|line| format!("// {line}\n")).collect()
}

/// The `.snick` files in a folder, sorted by name.
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
    use snick_pass::PassContext;

    use super::*;
    use crate::{Directive, Unmet};

    const GRAPH: &str = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"10\"}\n  \
                         %a = slice(%x) {axes: [0], start: [1], len: [8], step: [1]}\n  \
                         %b = slice(%a) {axes: [0], start: [2], len: [3], step: [1]}\n  %y = Result-1(%b)\n}\n";

    fn outcome(directives: &str) -> Result<(), CheckError> {
        Suite::default().check_text(&format!("{directives}\n{GRAPH}"))
    }

    /// The check that failed; panics on any other result.
    fn unmet(directives: &str) -> Unmet {
        match outcome(directives) {
            Err(CheckError::Unmet { unmet, .. }) => unmet,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn commands_run_and_outputs_are_checked() {
        let merged = "// CHECK: slice(%x) {axes: [0], start: [3], len: [3]\n// CHECK-NOT: slice(";
        outcome(&format!("# RUN: snick canon --passes merge-slices --verify\n{merged}")).unwrap();
        outcome(&format!("// RUN: snick canon\n{merged}\n// CHECK-TRACE: merge-slices slice b")).unwrap();
        outcome("// RUN: snick infer\n// CHECK: %b = slice(%a)").unwrap();
        let untouched = unmet(&format!("// RUN: snick canon --passes merge-slices --stop-after 0\n{merged}"));
        assert_eq!((untouched.line, untouched.found), (2, None));
    }

    /// The name of the rule occurs in the trace, but not in the graph.
    #[test]
    fn excluded_text_is_looked_for_in_the_graph_alone() {
        let run = "// RUN: snick canon --passes merge-slices";
        outcome(&format!("{run}\n// CHECK-NOT: merge-slices")).unwrap();
        let missing = unmet(&format!("{run}\n// CHECK: merge-slices"));
        assert_eq!((missing.line, missing.found, missing.is_in_trace), (2, None, true));
        let excluded = unmet(&format!("{run}\n// CHECK-TRACE-NOT: merge-slices"));
        assert_eq!((excluded.line, excluded.found), (2, Some(1)));
        let missing = unmet(&format!("{run}\n// CHECK-TRACE: fold"));
        assert_eq!((missing.check, missing.is_in_trace), (Directive::Trace("fold".into()), false));
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

    /// The test in the report must fail with the wrong rule and pass with the correct one.
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
        assert!(matches!(outcome("// CHECK: x"), Err(CheckError::NoDirectives)));
        assert!(matches!(outcome("// RUN: snick canon"), Err(CheckError::NoDirectives)));
        for command in
            ["snick canon --passes no-such", "rm -r", "snick canon --stop-after x", "snick canon --no"]
        {
            let failed = outcome(&format!("// RUN: {command}\n// CHECK: x"));
            let Err(CheckError::Command { command: reported, .. }) = failed else { panic!("{failed:?}") };
            assert_eq!(reported, command);
        }
        let unknown = outcome("// RUN: snick canon\n// CHECK: x\n// CHECK-NOTT: x");
        let Err(CheckError::Directive(error)) = unknown else { panic!("{unknown:?}") };
        assert_eq!(error.line, 3);
    }

    const DROPS_RELU: &str = "// RUN: snick canon --passes drop-relu --verify\n// CHECK: Result\nsnick 1\ngraph \"g\" {\n  \
                              %x = Parameter-1 {element_type: f32, shape: \"3\"}\n  %a = ReLU-1(%x)\n  \
                              %y = Result-1(%a)\n}\n";

    #[test]
    fn passes_over_the_graph_are_verified() {
        let drop_relu = Pass::graph("drop-relu", |graph: &mut Graph, _: &mut PassContext| {
            let relu: Vec<_> = graph.ids().filter(|&id| graph.node(id).op().type_name() == "ReLU").collect();
            for id in relu {
                let input = graph.node(id).input(0);
                graph.replace_outputs(id, &[input]);
            }
        });
        let wrong = Suite::new([drop_relu]).check_text(DROPS_RELU);
        let Err(CheckError::Command { .. }) = wrong else { panic!("{wrong:?}") };
        Suite::new([Pass::graph("drop-relu", |_: &mut Graph, _: &mut PassContext| {})])
            .check_text(DROPS_RELU)
            .unwrap();
    }

    #[test]
    fn rewrites_that_cannot_be_executed_are_not_verified() {
        let rule = Rule::new("lower", |patch| match patch.node().op().is_opaque() {
            true => Ok(RewriteResult::one(patch.input(0)?)),
            false => Ok(RewriteResult::NoMatch),
        });
        let suite = Suite::new([Pass::new("lower", [rule])]);
        let test = |command: &str| {
            format!(
                "// RUN: snick canon --passes lower{command}\n// CHECK: Result\nsnick 1\ngraph \"g\" {{\n  \
                 %x = Parameter-1 {{element_type: f32, shape: \"3\"}}\n  %a = Fancy-x(%x) : f32[3]\n  \
                 %y = Result-1(%a)\n}}\n"
            )
        };
        suite.check_text(&test("")).unwrap();
        let unchecked = suite.check_text(&test(" --verify"));
        assert!(
            matches!(unchecked, Err(CheckError::Unchecked { checked: 0, unchecked: 1, .. })),
            "{unchecked:?}"
        );
    }
}
