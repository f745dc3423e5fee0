//! What a run is watched for: progress on a terminal, inner values, the first layer that differs.

use std::collections::HashMap;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use snick::npz;
use snick_ir::{Graph, Located, Value};
use snick_run::{Options, Progress, Session, Variables};
use snick_tensor::Tensor;

use super::compare::{Tolerance, compare};
use super::console::{Console, Failure};

/// A bar on a terminal's standard error, for what takes longer than a second; gone when it is dropped.
pub struct ProgressBar {
    is_wanted: bool,
    started: Instant,
    drawn: Option<Instant>,
}

impl ProgressBar {
    /// How long nothing is shown.
    const PATIENCE: Duration = Duration::from_secs(1);
    const REDRAWN_AFTER: Duration = Duration::from_millis(100);
    const WIDTH: usize = 40;

    /// A bar that is not shown yet.
    pub fn new(console: &Console) -> Self {
        Self { is_wanted: console.is_watched(), started: Instant::now(), drawn: None }
    }

    /// Shows that a layer is done.
    pub fn advance(&mut self, progress: &Progress) {
        if !self.is_wanted || self.started.elapsed() < Self::PATIENCE {
            return;
        }
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < Self::REDRAWN_AFTER) {
            return;
        }
        self.drawn = Some(Instant::now());
        let Progress { done, layers, .. } = *progress;
        let filled = (done * Self::WIDTH).checked_div(layers).unwrap_or(0);
        let bar: String = (0..Self::WIDTH).map(|i| if i < filled { '#' } else { ' ' }).collect();
        let _ = write!(std::io::stderr(), "\r[{bar}] {done}/{layers} layers");
    }
}

impl Drop for ProgressBar {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}

/// Finds a value by the name of its layer, with `:PORT` behind it for an output that is not the first, or by the name
/// of its tensor.
fn find_value(graph: &Graph, name: &str) -> Option<Value> {
    let of_layer = |name: &str, port: u32| {
        let node = graph.ids().find(|&id| &*graph.node(id).name == name)?;
        let value = Value { node, port };
        graph.output(value).is_some().then_some(value)
    };
    let of_tensor = || {
        let values = graph.ids().flat_map(|node| {
            (0..graph.node(node).outs.len()).map(move |port| Value { node, port: port as u32 })
        });
        let mut values = values;
        values.find(|&value| graph.output(value).is_some_and(|out| out.names().iter().any(|n| n == name)))
    };
    let with_port = || {
        let (layer, port) = name.rsplit_once(':')?;
        of_layer(layer, port.parse().ok()?)
    };
    of_layer(name, 0).or_else(with_port).or_else(of_tensor)
}

/// Inner values that are looked for in a run, and what was found of them, in the order of the run.
#[derive(Default)]
pub struct Inner {
    wanted: Vec<(String, Value)>,
    /// What was found.
    pub found: Vec<(String, Tensor)>,
}

impl Inner {
    /// Also looks for the value of this name, if there is one.
    pub fn want(&mut self, graph: &Graph, name: &str) -> bool {
        let value = find_value(graph, name);
        self.wanted.extend(value.map(|value| (name.to_string(), value)));
        value.is_some()
    }

    /// Whether nothing is looked for.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Takes what is wanted of a layer, in its declared type: a run holds halves as f32.
    pub fn take(&mut self, graph: &Graph, progress: &Progress) {
        for (name, value) in self.wanted.iter().filter(|(_, value)| value.node == progress.node) {
            if let Some(tensor) = progress.values.get(value.port as usize) {
                let declared = graph.output(*value).map(|out| out.fact.element_type);
                let rounded = declared.filter(|et| et.is_half()).map(|et| tensor.cast(et));
                let tensor = rounded.and_then(Result::ok).unwrap_or_else(|| tensor.clone());
                self.found.push((name.clone(), tensor));
            }
        }
    }
}

/// Writes a value to a file in the current folder that is named like it.
pub fn dump(name: &str, tensor: &Tensor) -> Result<(), Failure> {
    let plain = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let file: String = name.chars().map(plain).chain(".npy".chars()).collect();
    Ok(npz::write_npy(file.as_ref(), tensor)?)
}

/// The first layer of `after`, in the order of its run, whose outputs differ from those of the layer of the same name
/// in `before`.
pub fn first_difference(
    before: &Graph,
    after: &Graph,
    inputs: &[Tensor],
    tolerance: Tolerance,
) -> Result<Option<String>, Located> {
    let mut known: HashMap<String, Vec<Tensor>> = HashMap::new();
    let how = Options { keep_going: true, ..Options::default() };
    Session::without_folding(before)?.watch(inputs, how, &mut Variables::default(), |progress| {
        known.insert(before.node(progress.node).name.to_string(), progress.values.to_vec());
        ControlFlow::Continue(())
    });
    let mut first = None;
    Session::without_folding(after)?.watch(inputs, how, &mut Variables::default(), |progress| {
        let name = &*after.node(progress.node).name;
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
