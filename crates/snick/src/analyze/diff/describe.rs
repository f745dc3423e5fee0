//! Describes the differences in words.

use super::{EndChange, LayerChange, ModelDiff};
use crate::analyze::counted;

/// A difference between a layer of the first model and the corresponding layer of the second one.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ChangeDetail {
    /// A property with a different value.
    Value {
        /// The name of an attribute, `input` with a port number, `type` or `shape`.
        name: String,
        /// The values in both models; `None` if absent.
        values: [Option<String>; 2],
    },
    /// How the elements of a constant differ.
    Elements(String),
}

impl ModelDiff {
    /// The numbers of layers that differ and that are the same: `2 layers removed, 1 added; 43 layers the
    /// same`.
    pub fn verdict(&self) -> String {
        let layers = counted(self.same + self.renamed, "layer");
        let renamed = match self.renamed {
            0 => String::new(),
            renamed => format!(", {renamed} renamed"),
        };
        if !self.is_equal() {
            return format!("{}; {layers} the same{renamed}", self.differences().join(", "));
        }
        let uncompared = match self.uncompared {
            0 => String::new(),
            number => format!("; {} without weights were not compared", counted(number, "constant")),
        };
        format!("{layers}{renamed}{uncompared}")
    }

    /// The numbers of layers, weights, inputs and outputs that differ.
    fn differences(&self) -> Vec<String> {
        let weights = self.changed.iter().filter(|change| change.a.op == "Const").count();
        let changed = self.changed.len() - weights;
        let layers = [(self.removed.len(), "removed"), (self.added.len(), "added"), (changed, "changed")];
        let ends = |ends: &[EndChange], noun: &str| {
            let count = |is_so: fn(&EndChange) -> bool| ends.iter().filter(|end| is_so(end)).count();
            let kinds =
                [(count(|end| end.is_moved), "moved"), (count(|end| end.is_exchanged), "swapped names")];
            tally(noun, kinds)
        };
        let all = [
            tally("layer", layers),
            tally("weight", [(weights, "changed")]),
            ends(&self.inputs, "input"),
            ends(&self.outputs, "output"),
        ];
        all.concat()
    }
}

impl LayerChange {
    /// The differences of the layer, one per line of a display.
    ///
    /// ```
    /// use snick::{ChangeDetail, DiffOptions};
    ///
    /// # let text = |axis: &str| format!("snick 1\ngraph \"g\" {{\n  \
    /// #     %x = Parameter-1 {{element_type: f32, shape: \"1,4\"}}\n  \
    /// #     %norm = Softmax-8(%x) {{axis: {axis}}}\n  %y = Result-1(%norm)\n}}\n");
    /// let mut models = [snick::parse(&text("0"))?, snick::parse(&text("1"))?];
    /// for model in &mut models {
    ///     model.infer().into_result()?;
    /// }
    /// let [a, b] = &models;
    /// let diff = snick::diff(a, b, &DiffOptions::new())?;
    /// let values = [Some("0".into()), Some("1".into())];
    /// assert_eq!(diff.changed[0].details(), [ChangeDetail::Value { name: "axis".into(), values }]);
    /// # Ok::<(), snick::Error>(())
    /// ```
    pub fn details(&self) -> Vec<ChangeDetail> {
        let value = |name: &str, values| ChangeDetail::Value { name: name.to_string(), values };
        let mut details: Vec<ChangeDetail> =
            self.attrs.iter().map(|attr| value(&attr.name, attr.values.clone())).collect();
        details.extend(
            self.inputs
                .iter()
                .map(|input| value(&format!("input {}", input.port), [input.a.clone(), input.b.clone()])),
        );
        details.extend(self.types.map(|types| value("type", types.map(|of| Some(of.name().to_string())))));
        details.extend(self.shapes.clone().map(|shapes| value("shape", shapes.map(Some))));
        let elements = match self.weights {
            Some(weights) if weights.max_abs.is_nan() => {
                Some(format!("{} of the elements differ", percent(weights.differ)))
            }
            Some(weights) => {
                let (differ, most) = (percent(weights.differ), weights.max_abs);
                Some(format!("{differ} of the elements differ, by {most:.3e} at most"))
            }
            None => self
                .lacks_elements
                .then(|| "elements differ, or are missing from one of the models".to_string()),
        };
        details.extend(elements.map(ChangeDetail::Elements));
        details
    }
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

/// A fraction as a percentage. Small fractions are shown in scientific notation, never as 0.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent >= 1.0 { format!("{percent:.1} %") } else { format!("{percent:.2e} %") }
}
