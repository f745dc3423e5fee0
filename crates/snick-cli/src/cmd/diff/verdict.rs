//! The verdict: whether the models are equal, and how many layers differ.

use super::Answer;
use super::run::RunDiff;
use crate::cli::many::counted;

/// The verdict on the models: `different: 2 layers removed, 1 added; 43 layers the same`.
pub(super) fn of_models(answer: &Answer) -> String {
    let verdict = match &answer.run {
        _ if !answer.diff.is_equal() => "different",
        Some(run) if run.differs() => "equal, but the results differ",
        Some(run) if !run.is_equal() => "equal, but not all outputs were computed",
        _ => "equal",
    };
    format!("{verdict}: {}", answer.diff.verdict())
}

/// The verdict on the results of both models: `1 output differs, 2 agree`.
pub(super) fn of_run(run: &RunDiff) -> String {
    let missing = run.outputs.iter().filter(|output| !output.is_computed()).count();
    let agree = run.outputs.iter().filter(|output| output.comparison.is_within()).count();
    let differ = run.outputs.len() - missing - agree;
    let differs = if differ == 1 { "differs" } else { "differ" };
    let agrees = if agree == 1 { "agrees" } else { "agree" };
    let counts = [(differ, differs), (missing, "not computed"), (agree, agrees)];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0).enumerate();
    // Only the first count names the noun.
    let part = |(at, (count, how)): (usize, (usize, &str))| match at {
        0 => format!("{} {how}", counted(count, "output")),
        _ => format!("{count} {how}"),
    };
    counts.map(part).collect::<Vec<_>>().join(", ")
}
