//! The verdict: whether the models are equal, and how many layers differ.

use snick::{EndChange, ModelDiff};

use super::Answer;
use super::groups::is_constant;
use super::run::RunDiff;
use crate::cli::many::counted;

/// The verdict on the models: `different: 2 layers removed, 1 added; 43 layers the same`.
pub(super) fn of_models(answer: &Answer) -> String {
    let diff = &answer.diff;
    let layers = counted(diff.same + diff.renamed, "layer");
    let renamed = match diff.renamed {
        0 => String::new(),
        renamed => format!(", {renamed} renamed"),
    };
    if !diff.is_equal() {
        return format!("different: {}; {layers} the same{renamed}", differences(diff).join(", "));
    }
    let equal = match &answer.run {
        Some(run) if run.differs() => "equal, but the results differ",
        Some(run) if !run.is_equal() => "equal, but not all outputs were computed",
        _ => "equal",
    };
    let uncompared = match diff.uncompared {
        0 => String::new(),
        number => format!("; {} without weights were not compared", counted(number, "constant")),
    };
    format!("{equal}: {layers}{renamed}{uncompared}")
}

/// The numbers of layers, weights, inputs and outputs that differ.
fn differences(diff: &ModelDiff) -> Vec<String> {
    let weights = diff.changed.iter().filter(|change| is_constant(change)).count();
    let changed = diff.changed.len() - weights;
    let layers = [(diff.removed.len(), "removed"), (diff.added.len(), "added"), (changed, "changed")];
    let ends = |ends: &[EndChange], noun: &str| {
        let count = |is_so: fn(&EndChange) -> bool| ends.iter().filter(|end| is_so(end)).count();
        let kinds = [(count(|end| end.is_moved), "moved"), (count(|end| end.is_exchanged), "swapped names")];
        tally(noun, kinds)
    };
    let all = [
        tally("layer", layers),
        tally("weight", [(weights, "changed")]),
        ends(&diff.inputs, "input"),
        ends(&diff.outputs, "output"),
    ];
    all.concat()
}

/// The verdict on the results of both models: `1 output differs, 2 agree`.
pub(super) fn of_run(run: &RunDiff) -> String {
    let missing = run.outputs.iter().filter(|output| !output.is_computed()).count();
    let agree = run.outputs.iter().filter(|output| output.comparison.is_within()).count();
    let differ = run.outputs.len() - missing - agree;
    let differs = if differ == 1 { "differs" } else { "differ" };
    let agrees = if agree == 1 { "agrees" } else { "agree" };
    tally("output", [(differ, differs), (missing, "not computed"), (agree, agrees)]).join(", ")
}

/// The nonzero counts as text. Only the first names the noun: `1 layer removed`, `2 added`.
fn tally<const N: usize>(noun: &str, counts: [(usize, &str); N]) -> Vec<String> {
    let counts = counts.into_iter().filter(|(count, _)| *count > 0).enumerate();
    let part = |(at, (count, how)): (usize, (usize, &str))| match at {
        0 => format!("{} {how}", counted(count, noun)),
        _ => format!("{count} {how}"),
    };
    counts.map(part).collect()
}
