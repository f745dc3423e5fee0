//! Intermediate values of a run, to write them to files, to compare them, or to find the first layer that
//! differs.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

use snick_ir::{Graph, Located, Value};
use snick_run::{Options, Progress, Session, Variables};
use snick_tensor::Tensor;

use super::compare::{Tolerance, compare};
use super::console::Console;

/// The names of the layers of a graph.
pub fn layer_names(graph: &Graph) -> impl Iterator<Item = &str> {
    graph.ids().map(|id| graph.node(id).name())
}

/// Whether a graph has a value with this name.
pub fn has_value(graph: &Graph, name: &str) -> bool {
    graph.find_value(name).is_some()
}

/// The requested intermediate values of a run, and the values that were recorded so far.
#[derive(Default)]
pub struct InnerValues {
    requested: Vec<(String, Value)>,
    /// The recorded values with their requested names, in execution order.
    pub taken: Vec<(String, Tensor)>,
}

impl InnerValues {
    /// Requests a value by name. Returns `false` if the graph has no such value.
    pub fn request(&mut self, graph: &Graph, name: &str) -> bool {
        let value = graph.find_value(name);
        self.requested.extend(value.map(|value| (name.to_string(), value)));
        value.is_some()
    }

    /// Requests the same values as `other`.
    pub fn request_as(&mut self, other: &Self) {
        self.requested.clone_from(&other.requested);
    }

    /// Whether no value is requested.
    pub fn is_empty(&self) -> bool {
        self.requested.is_empty()
    }

    /// Records the requested outputs of the layer that was just computed. A run computes f16 and bf16 in f32,
    /// so these outputs are converted back to their declared types.
    pub fn take(&mut self, graph: &Graph, progress: &Progress) {
        for (name, value) in self.requested.iter().filter(|(_, value)| value.node == progress.node) {
            if let Some(tensor) = progress.values.get(value.port as usize) {
                let declared = graph.output(*value).map(|out| out.fact.element_type);
                let rounded = declared.filter(|et| et.is_half()).map(|et| tensor.cast(et));
                let tensor = rounded.and_then(Result::ok).unwrap_or_else(|| tensor.clone());
                self.taken.push((name.clone(), tensor));
            }
        }
    }
}

/// The file in the current folder to which a value with this name is written.
pub fn dump_file(name: &str) -> PathBuf {
    let plain = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' };
    name.chars().map(plain).chain(".npy".chars()).collect::<String>().into()
}

/// The first layer of `after`, in execution order, whose outputs differ from the outputs of the layer with
/// the same name in `before`.
pub fn first_difference(
    before: &Graph,
    after: &Graph,
    inputs: &[Tensor],
    tolerance: Tolerance,
    console: &Console,
) -> Result<Option<String>, Located> {
    let mut known: HashMap<String, Vec<Tensor>> = HashMap::new();
    let how = Options { keep_going: true, ..console.run_options() };
    Session::without_folding(before)?.watch(inputs, how, &mut Variables::default(), |progress| {
        known.insert(before.node(progress.node).name().to_string(), progress.values.to_vec());
        ControlFlow::Continue(())
    });
    let mut first = None;
    Session::without_folding(after)?.watch(inputs, how, &mut Variables::default(), |progress| {
        let name = after.node(progress.node).name();
        let values = known.get(name).filter(|values| values.len() == progress.values.len());
        let mut pairs = values.into_iter().flatten().zip(progress.values);
        if pairs.any(|(want, got)| !compare(got, want, tolerance).is_within()) {
            first = Some(name.to_string());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    Ok(first)
}
