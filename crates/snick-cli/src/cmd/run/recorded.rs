//! Compares outputs and intermediate values with recorded arrays.

use std::collections::HashSet;
use std::path::Path;

use snick::output_names;
use snick_ir::Graph;
use snick_tensor::Tensor;

use super::Options;
use super::report::{RunReport, step_key};
use crate::cli::compare::compare;
use crate::cli::console::Failure;
use crate::cli::inner_values::{InnerValues, has_value};
use crate::npz;

/// Reads the arrays of a file that are outputs or intermediate values of the model. Adds the keys of all
/// other arrays to `unknown`.
pub(super) fn read_recorded(
    graph: &Graph,
    path: &Path,
    outputs: &HashSet<&str>,
    memory: usize,
    unknown: &mut Vec<String>,
) -> Result<Vec<(String, Tensor)>, Failure> {
    let is_value = |key: &str| {
        let of_step = key.strip_prefix('s').and_then(|rest| rest.split_once('_'));
        let is_output = outputs.contains(key) || of_step.is_some_and(|(_, name)| outputs.contains(name));
        let is_known = is_output || has_value(graph, key);
        if !is_known {
            unknown.push(key.to_string());
        }
        Ok(is_known)
    };
    npz::read(path, memory, is_value, |_, _| Ok(()))
}

/// Compares all recorded arrays with the values of the same name: first the intermediate values in execution
/// order, then the outputs. An output without a recorded array is reported as missing.
pub(super) fn compare_recorded(
    graph: &Graph,
    recorded: &[(String, Tensor)],
    inner: &InnerValues,
    options: &Options,
    report: &mut RunReport,
) {
    for (key, got) in &inner.taken {
        let Some((_, want)) = recorded.iter().find(|(name, _)| name == key) else { continue };
        let comparison = compare(got, want, options.tolerance);
        if !comparison.is_within() && report.first_difference.is_none() {
            report.first_difference = Some(key.clone());
        }
        report.compared.push((key.clone(), comparison));
    }
    let find = |key: &str| recorded.iter().find(|(name, _)| name == key);
    for step in 0..report.steps {
        for result in graph.results() {
            let names = output_names(graph, result);
            let is_wanted =
                options.only.is_empty() || names.iter().any(|name| options.only.iter().any(|o| o == name));
            if is_wanted && names.iter().all(|name| find(&step_key(step, name)).is_none()) {
                report.missing.push(step_key(step, names[0]));
            }
        }
    }
    let only: HashSet<String> = (0..report.steps)
        .flat_map(|step| options.only.iter().map(move |name| step_key(step, name)))
        .collect();
    for output in report.outputs.iter().filter(|output| only.is_empty() || only.contains(&output.key)) {
        if let Some((key, want)) = find(&output.key) {
            report.compared.push((key.clone(), compare(&output.value, want, options.tolerance)));
        }
    }
}
