//! The steps of our GitHub workflows are scripts, so that they also run elsewhere.

use std::fs;

use crate::files::{self, root};

/// `dist generate` writes this one.
const GENERATED: &str = "release";

#[test]
fn steps_of_workflows_run_scripts() {
    let folder = root().join(".github/workflows");
    let workflows = files::entries(&folder).into_iter().filter(|path| path.is_file());
    for workflow in workflows.filter(|path| files::name(path) != GENERATED) {
        let text = fs::read_to_string(&workflow).unwrap();
        let steps = text.lines().filter_map(|line| line.trim_start().strip_prefix("- run: "));
        for step in steps {
            let words = step.split(' ').filter(|word| !word.starts_with("--") && *word != "sudo");
            let program = words.clone().next().unwrap_or_default();
            let is_script = root().join(program).is_file();
            assert!(is_script || program == "npm", "{}: `{step}` runs no script", workflow.display());
        }
        assert!(!text.contains("run: |"), "{} has a script of its own", workflow.display());
    }
}
