//! The results of a run, as text and as JSON.

use std::fmt::Write as _;

use serde::Serialize;
use snick_ir::Located;
use snick_ir::text::Escaped;
use snick_run::Variables;
use snick_tensor::Tensor;

use super::profile::Profile;
use crate::cli::compare::Comparison;
use crate::cli::json::{Answer, LayerError};
use crate::cli::summary::Summary;

/// The results of all steps.
#[derive(Default)]
pub struct RunReport {
    pub(super) steps: usize,
    pub(super) outputs: Vec<RunOutput>,
    pub errors: Vec<Located>,
    /// The variables after the last step.
    pub(super) variables: Variables,
    pub(super) compared: Vec<(String, Comparison)>,
    /// Outputs that should be compared, but are missing from the file.
    pub(super) missing: Vec<String>,
    /// The first layer, in execution order, whose values differ.
    pub(super) first_difference: Option<String>,
    /// The time of each layer, if requested.
    pub(super) profile: Option<Profile>,
    /// Whether to list integers. Set if texts are given, because the outputs of a tokenizer are token ids.
    pub(super) lists_elements: bool,
}

/// An output of a step, under one of its names.
pub(super) struct RunOutput {
    /// The name, prefixed with the step except in the first step.
    pub(super) key: String,
    /// The name to show; `None` if the output is already shown under another name.
    pub(super) shown: Option<String>,
    pub(super) value: Tensor,
}

/// The key for an output of a step.
pub(super) fn step_key(step: usize, name: &str) -> String {
    if step == 0 { name.to_string() } else { format!("s{step}_{name}") }
}

impl RunReport {
    pub(super) fn differs(&self) -> bool {
        self.compared.iter().any(|(_, comparison)| !comparison.is_within())
    }

    /// The outputs of all steps, each under the name to show.
    pub fn shown(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.outputs.iter().filter_map(|output| Some((output.shown.as_deref()?, &output.value)))
    }

    /// The outputs of all steps, once for each of their names.
    pub fn arrays(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.outputs.iter().map(|output| (output.key.as_str(), &output.value))
    }

    fn summary<'t>(&self, value: &'t Tensor) -> Summary<'t> {
        let summary = Summary::of(value);
        if self.lists_elements { summary.with_elements() } else { summary }
    }

    pub fn as_text(&self) -> String {
        let mut text = String::new();
        if self.compared.is_empty() {
            for (name, value) in self.shown() {
                let _ = writeln!(text, "{}: {}", Escaped(name), self.summary(value));
            }
        }
        for (key, comparison) in &self.compared {
            let key = Escaped(key);
            let verdict = if comparison.is_within() { "ok" } else { "differs" };
            let _ = match &comparison.incomparable {
                Some(why) => writeln!(text, "{key}: {verdict}: {why}"),
                None => writeln!(
                    text,
                    "{key}: {verdict}: max abs {:.3e}, max rel {:.3e}, {} outside tolerance",
                    comparison.max_abs, comparison.max_rel, comparison.outside
                ),
            };
        }
        if let Some(layer) = &self.first_difference {
            let _ = writeln!(text, "first layer that differs: {}", Escaped(layer));
        }
        if let Some(profile) = &self.profile {
            let _ = write!(text, "\n{}", profile.as_text());
        }
        text
    }

    pub fn as_json(&self) -> String {
        let outputs = self.outputs.iter().map(|RunOutput { key, value, .. }| Output {
            name: key,
            element_type: value.element_type().name(),
            shape: value.dims(),
            summary: self.summary(value),
        });
        let compared = self.compared.iter().map(|(name, comparison)| Compared {
            name,
            ok: comparison.is_within(),
            comparison,
            outside: comparison.outside,
        });
        let content = Content {
            steps: self.steps,
            outputs: outputs.collect(),
            compared: compared.collect(),
            missing: &self.missing,
            first_difference: self.first_difference.as_deref(),
            profile: self.profile.as_ref(),
            errors: self.errors.iter().map(LayerError::of).collect(),
        };
        Answer::new("snick.run/1", content).text()
    }
}

/// The answer.
#[derive(Serialize)]
struct Content<'r> {
    /// The number of steps.
    steps: usize,
    /// The outputs of all steps, once for each of their names.
    outputs: Vec<Output<'r>>,
    /// The outputs and inner values that were compared.
    compared: Vec<Compared<'r>>,
    /// Outputs to compare for which the file has no array.
    missing: &'r [String],
    /// The first layer, in execution order, that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_difference: Option<&'r str>,
    /// The times, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<&'r Profile>,
    /// Errors of inference and of the run.
    errors: Vec<LayerError>,
}

/// An output of a step.
#[derive(Serialize)]
struct Output<'r> {
    /// The name, prefixed with the step except in the first step.
    name: &'r str,
    /// The element type.
    element_type: &'r str,
    /// The dims.
    shape: &'r [usize],
    /// The range of the elements, or the elements.
    #[serde(flatten)]
    summary: Summary<'r>,
}

/// A comparison with a recorded array.
#[derive(Serialize)]
struct Compared<'r> {
    /// The name of the output or layer.
    name: &'r str,
    /// Whether all elements are within the tolerance.
    ok: bool,
    /// The largest differences.
    #[serde(flatten)]
    comparison: &'r Comparison,
    /// The number of elements outside the tolerance.
    outside: usize,
}
