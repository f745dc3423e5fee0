//! The time of a run by layer and by operation type.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};
use snick_ir::text::Escaped;
use snick_ir::{Graph, NodeId};

/// The time of each layer. The time of a body counts for the layer that contains it, and the time of fused
/// layers for the last of them.
pub(super) struct Profile {
    layers: Vec<LayerTime>,
    /// The index of each layer in `layers`.
    places: HashMap<NodeId, usize>,
    /// When the previous layer ended.
    since: Instant,
}

/// A layer.
#[derive(Serialize)]
struct LayerTime {
    /// The name of the layer.
    name: String,
    /// Its operation type.
    op: String,
    /// Its place in the file; `0:0` if unknown.
    loc: String,
    /// In milliseconds.
    #[serde(rename = "ms", serialize_with = "ms")]
    time: Duration,
}

/// The number of layers of an operation type, and their time.
#[derive(Serialize)]
struct OpTime<'p> {
    /// The operation type.
    op: &'p str,
    /// The number of layers.
    layers: usize,
    /// In milliseconds.
    #[serde(rename = "ms", serialize_with = "ms")]
    time: Duration,
}

impl Profile {
    /// Starts an empty profile.
    pub fn new() -> Self {
        Self { layers: Vec::new(), places: HashMap::new(), since: Instant::now() }
    }

    /// Starts the clock for the next layer.
    pub fn resume(&mut self) {
        self.since = Instant::now();
    }

    /// Adds the time since the previous layer to this layer. The times of several steps accumulate.
    pub fn took(&mut self, graph: &Graph, id: NodeId) {
        let time = self.since.elapsed();
        let place = *self.places.entry(id).or_insert_with(|| {
            let node = graph.node(id);
            let [name, op] = [node.name(), node.op().type_name()].map(str::to_string);
            self.layers.push(LayerTime { name, op, loc: node.loc().to_string(), time: Duration::ZERO });
            self.layers.len() - 1
        });
        self.layers[place].time += time;
    }

    fn total(&self) -> Duration {
        self.layers.iter().map(|layer| layer.time).sum()
    }

    /// Operation types, slowest first.
    fn by_op(&self) -> Vec<OpTime<'_>> {
        let mut ops: Vec<OpTime> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for layer in &self.layers {
            let place = *places.entry(&layer.op).or_insert_with(|| {
                ops.push(OpTime { op: &layer.op, layers: 0, time: Duration::ZERO });
                ops.len() - 1
            });
            ops[place].layers += 1;
            ops[place].time += layer.time;
        }
        ops.sort_by_key(|op| std::cmp::Reverse(op.time));
        ops
    }

    /// Two tables as text, slowest first.
    pub fn as_text(&self) -> String {
        let total = self.total().as_secs_f64().max(f64::MIN_POSITIVE);
        let columns = |time: Duration| {
            let seconds = time.as_secs_f64();
            format!("{:>10.3}  {:>5.1} %", seconds * 1e3, seconds / total * 100.0)
        };
        let ops = self.by_op();
        let mut layers: Vec<&LayerTime> = self.layers.iter().collect();
        layers.sort_by_key(|layer| std::cmp::Reverse(layer.time));
        let width = ops.iter().map(|op| op.op.chars().count()).max().unwrap_or(0).max("operation".len());
        let mut text = format!("{:<width$}  layers          ms    share\n", "operation");
        for OpTime { op, layers, time } in ops {
            let _ = writeln!(text, "{op:<width$}  {layers:>6}  {}", columns(time));
        }
        let _ = writeln!(text, "{:<width$}  {:>6}  {}", "total", layers.len(), columns(self.total()));
        let _ = writeln!(text, "\n{:<width$}          ms    share  layer", "operation");
        for LayerTime { name, op, time, .. } in layers {
            let _ = writeln!(text, "{op:<width$}  {}  {}", columns(*time), Escaped(name));
        }
        text
    }
}

/// Serialises the layers in execution order, and the operation types.
impl Serialize for Profile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Answer<'p> {
            /// The total.
            #[serde(serialize_with = "ms")]
            ms: Duration,
            layers: &'p [LayerTime],
            ops: Vec<OpTime<'p>>,
        }
        Answer { ms: self.total(), layers: &self.layers, ops: self.by_op() }.serialize(serializer)
    }
}

fn ms<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_nanos() as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_of_an_operation_count_together_over_all_steps() {
        let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n  %a = ReLU-1(%x)\n  \
                    %b = ReLU-1(%a)\n  %y = Result-1(%b)\n}\n";
        let graph = snick_ir::text::parse(text, None).unwrap();
        let mut profile = Profile::new();
        for _ in 0..2 {
            graph.ids().for_each(|id| profile.took(&graph, id));
        }
        let counts: Vec<usize> = profile.by_op().iter().map(|op| op.layers).collect();
        assert_eq!((profile.layers.len(), counts.iter().sum::<usize>(), counts.len()), (4, 4, 3));
        let json = crate::cli::json::line(&profile);
        assert!(json.contains(r#"{"op":"ReLU","layers":2,"ms":"#), "{json}");
    }
}
