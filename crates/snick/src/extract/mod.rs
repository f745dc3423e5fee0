//! Cuts a part out of a model.

mod input_shapes;
mod needed;

use std::collections::{HashMap, HashSet};

use snick_ir::ops::source::parameter::Parameter;
use snick_ir::text::Escaped;
use snick_ir::{Fact, Graph, Node, NodeId, Op, Output, Value, did_you_mean};
use snick_tensor::ElementType;

use self::input_shapes::shape_specs;
use self::needed::Needed;
use crate::edit::{LayerNames, find_values, name_values, result_of};
use crate::{Error, Model};

impl Model {
    /// The part of the model between two sets of values, as a new, inferred model. Values are given as
    /// `LAYER`, `LAYER:PORT` (ports count from 0), or by tensor name.
    ///
    /// The values in `from` become the first inputs, with their inferred types and shapes and with the names
    /// given here. Inputs of the model that the part still needs follow. The values in `to` become the
    /// outputs; if `to` is empty, the part has the outputs of the model. Symbols keep their names, and
    /// variables that the part reads are still assigned.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
    /// #             %hidden = ReLU-1(%x)\n  %sum = Add-1(%hidden, %hidden) {auto_broadcast: \"numpy\"}\n  \
    /// #             %y = Softmax-8(%sum) {axis: 1} : _ \"logits\"\n  %z = Result-1(%y)\n}\n";
    /// let model = snick::parse(text)?;
    /// let part = model.extract(&["hidden"], &["logits"])?;
    /// let input = part.graph().node(part.graph().parameters().next().expect("an input"));
    /// let shape = input.outputs().next().expect("an output").shape();
    /// assert_eq!((input.name(), shape.display(part.graph().symbols()).to_string()), ("hidden", "[N,4]".into()));
    /// assert_eq!(part.graph().len(), 4);
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoOutput`] for a name that no value has, and for a value in `from` that no output depends on;
    /// both with a suggestion. [`Error::Invalid`] if a layer of the part does not infer.
    pub fn extract(&self, from: &[&str], to: &[&str]) -> Result<Self, Error> {
        let graph = self.graph();
        let cuts = find_values(graph, from)?;
        let outputs = outputs(graph, to)?;
        let roots: Vec<Value> = outputs.iter().map(|output| output.value).collect();
        let values: HashSet<Value> = cuts.iter().map(|&(_, value)| value).collect();
        let whole = Needed::with_cuts(graph, &roots, &values);
        if let Some((name, _)) = cuts.iter().find(|(_, value)| !whole.cuts.contains(value)) {
            return Err(not_needed(graph, name, &whole));
        }
        let needed = Needed::up_to(graph, &roots, &values);
        let inputs = inputs(graph, &cuts, &needed);
        let mut part = PartBuilder::new(graph);
        let mut taken = LayerNames::of(graph, needed.layers(graph));
        for (name, value, parameter) in inputs {
            part.add_input(name, value, parameter, &mut taken);
        }
        part.add_layers(&needed);
        part.add_outputs(outputs);
        let mut model = self.with_graph(part.graph);
        let errors = snick_ir::infer(model.graph_mut());
        match errors.is_empty() {
            true => Ok(model),
            false => Err(Error::Invalid { diagnostics: errors.into_iter().map(Into::into).collect() }),
        }
    }
}

/// An output of a part.
struct PartOutput<'n> {
    /// The layer to add for it.
    result: Node,
    /// The value of the whole graph.
    value: Value,
    /// The name by which the output should be known, unless it already is an output of the model.
    name: Option<&'n str>,
}

/// The values of `to`, or the outputs of the model if there are none.
fn outputs<'n>(graph: &Graph, to: &[&'n str]) -> Result<Vec<PartOutput<'n>>, Error> {
    if to.is_empty() {
        let output = |id| {
            let (result, value) = (graph.node(id).to_node(), graph.node(id).input(0)?);
            Some(PartOutput { result, value, name: None })
        };
        return Ok(graph.results().filter_map(output).collect());
    }
    let mut taken = LayerNames::of(graph, graph.ids());
    let output = |(name, value)| {
        let result = result_of(graph, name, value, &mut taken);
        PartOutput { result, value, name: Some(name) }
    };
    Ok(find_values(graph, to)?.into_iter().map(output).collect())
}

fn not_needed(graph: &Graph, name: &str, whole: &Needed) -> Error {
    let layers = whole.layers(graph).map(|id| graph.node(id).name()).filter(|other| *other != name);
    let nearest = did_you_mean(name, layers);
    Error::NoOutput { message: format!("no output of the part depends on `{}`{nearest}", Escaped(name)) }
}

/// The inputs of a part with their names and declarations: the values where it is cut off, then the inputs of
/// the model that it still needs. Their types and shapes are inferred from the layers before them.
fn inputs<'a>(
    graph: &'a Graph,
    cuts: &[(&'a str, Value)],
    needed: &Needed,
) -> Vec<(&'a str, Value, Parameter)> {
    let kept = graph.parameters().map(|id| (graph.node(id).name(), Value { node: id, port: 0 }));
    let kept = kept.filter(|&(_, value)| needed.has(value.node));
    let inputs: Vec<(&str, Value)> = cuts.iter().copied().chain(kept).collect();
    let values: Vec<Value> = inputs.iter().map(|&(_, value)| value).collect();
    let mut before = PartBuilder::new(graph);
    before.add_layers(&Needed::by(graph, &values));
    // An error there leaves a value unknown, which is sound.
    snick_ir::infer(&mut before.graph);
    let values: Vec<Value> = values.into_iter().filter_map(|value| before.value(value)).collect();
    let specs = shape_specs(&before.graph, &values);
    let types =
        values.iter().map(|&value| before.graph.fact(value).map_or(ElementType::Dynamic, Fact::element_type));
    let declared = types.zip(specs).map(|(element_type, shape)| Parameter { element_type, shape });
    inputs.into_iter().zip(declared).map(|((name, value), parameter)| (name, value, parameter)).collect()
}

/// A part under construction.
struct PartBuilder<'g> {
    whole: &'g Graph,
    graph: Graph,
    /// The values of the whole graph that are inputs of the part.
    inputs: HashMap<Value, Value>,
    /// The layers of the part, by the index of the layer in the whole graph.
    layers: Vec<Option<NodeId>>,
    /// Additional names of inputs.
    names: Vec<(&'g str, Value)>,
}

impl<'g> PartBuilder<'g> {
    fn new(whole: &'g Graph) -> Self {
        let mut graph = Graph::new(whole.name.clone());
        (graph.source, graph.ir_version, graph.info) =
            (whole.source.clone(), whole.ir_version, whole.info.clone());
        Self { whole, graph, inputs: HashMap::new(), layers: vec![None; whole.bound()], names: Vec::new() }
    }

    /// Adds an input for a value of the whole graph.
    fn add_input(&mut self, name: &'g str, value: Value, parameter: Parameter, taken: &mut LayerNames) {
        let producer = self.whole.node(value.node);
        let id = match producer.op() {
            Op::Parameter(_) => {
                let id = self.graph.add(producer.to_node());
                self.graph.set_op(id, Op::from(parameter));
                id
            }
            _ => {
                let names = self.whole.output(value).map(|out| out.names().to_vec()).unwrap_or_default();
                let wanted = match taken.contains(name) {
                    true => format!("{name}:{}", value.port),
                    false => name.to_string(),
                };
                let mut node = Node::new(taken.unique(&wanted), Op::from(parameter));
                node.outs.push(Output { names, ..Output::unknown() });
                node.loc = producer.loc();
                self.graph.add(node)
            }
        };
        let input = Value { node: id, port: 0 };
        self.inputs.insert(value, input);
        if self.graph.node(id).name() != name {
            self.names.push((name, input));
        }
    }

    /// Adds the layers of the part that are not inputs yet, and connects them.
    fn add_layers(&mut self, needed: &Needed) {
        let is_input = |id: NodeId| {
            matches!(self.whole.node(id).op(), Op::Parameter(_))
                && self.inputs.contains_key(&Value { node: id, port: 0 })
        };
        let layers: Vec<NodeId> = needed.layers(self.whole).filter(|&id| !is_input(id)).collect();
        for &id in &layers {
            self.layers[id.index()] = Some(self.graph.add(self.whole.node(id).to_node()));
        }
        for id in layers {
            let Some(new) = self.layers[id.index()] else { continue };
            for (port, input) in (0..).zip(self.whole.inputs(id)) {
                if let Some(input) = input.and_then(|input| self.value(input)) {
                    // Cannot fail: the connection exists in the whole graph.
                    let _ = self.graph.connect_new(input, new, port);
                }
            }
        }
        // The types and shapes that the file declares need not hold for other inputs.
        self.graph.forget_declared();
    }

    /// The value of the part that corresponds to a value of the whole graph.
    fn value(&self, value: Value) -> Option<Value> {
        let computed = || Some(Value { node: self.layers[value.node.index()]?, port: value.port });
        self.inputs.get(&value).copied().or_else(computed)
    }

    fn add_outputs(&mut self, outputs: Vec<PartOutput<'g>>) {
        let mut names = std::mem::take(&mut self.names);
        let mut results: Vec<(Node, Value)> = Vec::new();
        for PartOutput { result, value, name } in outputs {
            // Cannot be absent: the values of outputs are needed.
            let Some(value) = self.value(value) else { continue };
            names.extend(name.map(|name| (name, value)));
            results.push((result, value));
        }
        self.graph.set_results(results);
        name_values(&mut self.graph, &names);
    }
}
