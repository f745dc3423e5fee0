//! The outputs of a model by name.

use std::collections::HashSet;
use std::ops::Index;

use snick_ir::{Graph, NodeId, Op};
use snick_tensor::Tensor;

/// The outputs of a run, one per Result, in file order. An output can be found by the name of its Result
/// layer or by a tensor name of its value; layer names take precedence.
///
/// ```
/// let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: i64, shape: \"N\"}\n  \
///             %a = Negative-1(%x) : _ \"logits\"\n  %y = Result-1(%a)\n}\n";
/// let mut model = snick::parse(text)?;
/// model.infer().into_result()?;
/// let outputs = model.run([("x", snick::Tensor::from_slice(&[1i64, 2], &[2])?)])?;
/// assert_eq!(outputs["logits"].as_slice::<i64>()?, [-1, -2]);
/// assert_eq!(outputs["y"], outputs["logits"]);
/// for (name, tensor) in &outputs {
///     assert_eq!((name, tensor.dims()), ("y", [2].as_slice()));
/// }
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outputs(Vec<Output>);

/// An output with its value and its names. The name of the layer comes first.
#[derive(Clone, PartialEq, Debug)]
struct Output {
    names: Vec<String>,
    value: Tensor,
}

impl Outputs {
    /// Names the values of all Results.
    #[cfg(feature = "run")]
    pub(crate) fn new(graph: &Graph, values: Vec<Tensor>) -> Self {
        let names = |id| output_names(graph, id).into_iter().map(str::to_string).collect();
        Self(graph.results().zip(values).map(|(id, value)| Output { names: names(id), value }).collect())
    }

    /// The output with this name.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        let by_layer = self.0.iter().find(|output| output.names.first().is_some_and(|n| n == name));
        let by_tensor = || self.0.iter().find(|output| output.names.iter().any(|n| n == name));
        by_layer.or_else(by_tensor).map(|output| &output.value)
    }

    /// The outputs with the names of their layers, in file order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Tensor)> {
        self.0.iter().map(|output| (output.names.first().map_or("", String::as_str), &output.value))
    }

    /// Number of outputs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the model has no outputs.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// # Panics
/// If no output has this name; [`Outputs::get`] returns `None` instead.
impl Index<&str> for Outputs {
    type Output = Tensor;

    #[allow(clippy::panic, reason = "so do maps, and the message lists the names")]
    fn index(&self, name: &str) -> &Tensor {
        self.get(name).unwrap_or_else(|| {
            let names: Vec<&str> = self.iter().map(|(name, _)| name).collect();
            panic!("no output named `{name}`; the model has {names:?}")
        })
    }
}

impl IntoIterator for Outputs {
    type Item = (String, Tensor);
    type IntoIter = std::vec::IntoIter<(String, Tensor)>;

    fn into_iter(self) -> Self::IntoIter {
        let named = |output: Output| (output.names.into_iter().next().unwrap_or_default(), output.value);
        self.0.into_iter().map(named).collect::<Vec<_>>().into_iter()
    }
}

impl<'a> IntoIterator for &'a Outputs {
    type Item = (&'a str, &'a Tensor);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter().collect::<Vec<_>>().into_iter()
    }
}

/// The names of an output: the name of its Result layer, then the tensor names of the value that it returns.
pub fn output_names(graph: &Graph, result: NodeId) -> Vec<&str> {
    let mut names = vec![graph.node(result).name()];
    let value = graph.inputs(result).first().copied().flatten();
    let tensor_names = value.and_then(|value| graph.output(value)).map(|out| out.names()).unwrap_or_default();
    names.extend(tensor_names.iter().map(String::as_str));
    names
}

/// The name by which users know an input or output. This is its first tensor name. However, if it has no
/// tensor names, or if one of them equals the layer name, this is the layer name.
///
/// ```
/// let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: i64, shape: \"N\"}\n  \
///             %a = Negative-1(%x) : _ \"logits\"\n  %Result_7 = Result-1(%a)\n}\n";
/// let model = snick::parse(text)?;
/// let result = model.graph().results().next().expect("an output");
/// assert_eq!(snick::public_name(model.graph(), result), "logits");
/// # Ok::<(), snick::Error>(())
/// ```
pub fn public_name(graph: &Graph, id: NodeId) -> &str {
    let node = graph.node(id);
    let value = if matches!(node.op(), Op::Result(_)) { node.input(0) } else { node.output(0) };
    let names = value.and_then(|value| graph.output(value)).map(|out| out.names()).unwrap_or_default();
    match names.first() {
        Some(first) if names.iter().all(|name| name != node.name()) => first,
        _ => node.name(),
    }
}

/// All names of the outputs with their values. If several outputs share a name, the name refers to the first
/// of them; layer names take precedence over tensor names.
pub fn named_outputs<'a, T>(graph: &'a Graph, values: &'a [T]) -> Vec<(&'a str, &'a T)> {
    let outputs = || graph.results().zip(values).map(|(id, value)| (output_names(graph, id), value));
    let layers = outputs().filter_map(|(names, value)| names.first().map(|&name| (name, value)));
    let tensors =
        outputs().flat_map(|(names, value)| names.into_iter().skip(1).map(move |name| (name, value)));
    let mut seen = HashSet::new();
    layers.chain(tensors).filter(|(name, _)| seen.insert(*name)).collect()
}
