//! The results of a run, as text and as JSON.

use std::fmt::Write as _;

use snick_ir::Located;
use snick_ir::text::Escaped;
use snick_run::Variables;
use snick_tensor::Tensor;

use super::profile::Profile;
use crate::cli::compare::Comparison;
use crate::cli::json::Json;
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
    /// Outputs that were to be compared, but are not in the file.
    pub(super) missing: Vec<String>,
    /// The first layer, in the order of execution, that differs.
    pub(super) first_difference: Option<String>,
    /// The time of each layer, if it is asked for.
    pub(super) profile: Option<Profile>,
    /// Whether integers are listed: what a tokenizer makes of texts.
    pub(super) lists_elements: bool,
}

/// An output of a step, under one of its names.
pub(super) struct RunOutput {
    /// The name, with the prefix of the step from the second step on.
    pub(super) key: String,
    /// The name that is shown, once for each output.
    pub(super) shown: Option<String>,
    pub(super) value: Tensor,
}

/// The key of an output of a step.
pub(super) fn step_key(step: usize, name: &str) -> String {
    if step == 0 { name.to_string() } else { format!("s{step}_{name}") }
}

impl RunReport {
    pub(super) fn differs(&self) -> bool {
        self.compared.iter().any(|(_, comparison)| !comparison.is_within())
    }

    fn summary<'t>(&self, value: &'t Tensor) -> Summary<'t> {
        let summary = Summary::of(value);
        if self.lists_elements { summary.with_elements() } else { summary }
    }

    pub fn as_text(&self) -> String {
        let mut text = String::new();
        if self.compared.is_empty() {
            for RunOutput { shown, value, .. } in &self.outputs {
                let Some(name) = shown else { continue };
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
        let mut json = Json::default();
        json.object(|json| {
            json.key("schema").string("snick.run/1");
            json.key("steps").plain(self.steps);
            json.line().key("outputs").array(|json| {
                for RunOutput { key, value, .. } in &self.outputs {
                    json.line().object(|json| {
                        json.key("name").string(key);
                        json.key("element_type").string(value.element_type().name());
                        json.key("shape").array(|json| value.dims().iter().for_each(|dim| json.plain(dim)));
                        self.summary(value).write(json);
                    });
                }
            });
            json.line().key("compared").array(|json| {
                for (key, comparison) in &self.compared {
                    json.line().object(|json| {
                        json.key("name").string(key);
                        json.key("ok").plain(comparison.is_within());
                        json.key("max_abs").float(comparison.max_abs);
                        json.key("max_rel").float(comparison.max_rel);
                        json.key("outside").plain(comparison.outside);
                        if let Some(why) = &comparison.incomparable {
                            json.key("message").string(why);
                        }
                    });
                }
            });
            json.line().key("missing").array(|json| {
                for name in &self.missing {
                    json.string(name);
                }
            });
            if let Some(layer) = &self.first_difference {
                json.line().key("first_difference").string(layer);
            }
            if let Some(profile) = &self.profile {
                json.line().key("profile");
                profile.write(json);
            }
            json.line().key("errors").array(|json| self.errors.iter().for_each(|error| json.located(error)));
        });
        json.finish()
    }
}
