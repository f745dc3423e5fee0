//! Facts about layers and values, as tuples for Python.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use snick::{AttrValue, Fact, Graph, NodeId, Op, SymExpr, output_names, public_name};

use crate::listing::Listing;

/// A dim: its text, and its smallest and largest size. A dim that is a number has no text.
type Dim = (Option<String>, i64, Option<i64>);

/// A symbol: its name, and its smallest and largest size.
type Symbol = (String, i64, Option<i64>);

/// Element type, dims (`None` for a dynamic rank), the shape as text with intervals, the shape as text with
/// expressions, and symbols.
type FactTuple = (&'static str, Option<Vec<Dim>>, String, String, Vec<Symbol>);

/// Name, public name, tensor names, and fact.
pub type PortTuple = (String, String, Vec<String>, FactTuple);

/// The layer and output number that an input reads, and the index of the layer.
type InputTuple = Option<(String, u32, usize)>;

/// Name, type, version, location, attributes, inputs, outputs with their numbers, whether the layer is opaque, and
/// the roles of its bodies.
pub type LayerTuple<'py> = (
    String,
    String,
    String,
    Option<String>,
    Bound<'py, PyDict>,
    Vec<InputTuple>,
    Vec<(u32, Vec<String>, FactTuple)>,
    bool,
    Vec<&'static str>,
);

fn bounds(graph: &Graph, dim: &SymExpr) -> (i64, Option<i64>) {
    let interval = graph.symbols().interval(dim);
    (interval.lo(), interval.has_upper().then(|| interval.hi()))
}

fn fact(graph: &Graph, fact: &Fact) -> FactTuple {
    let (shape, symbols) = (fact.shape(), graph.symbols());
    let dims = shape.dims().map(|dims| {
        let of = |dim: &SymExpr| match dim.as_const() {
            Some(size) => (None, size, Some(size)),
            None => {
                let (least, greatest) = bounds(graph, dim);
                (Some(symbols.display(dim).to_string()), least, greatest)
            }
        };
        dims.iter().map(of).collect()
    });
    let mut found: Vec<Symbol> = Vec::new();
    for id in shape.dims().unwrap_or_default().iter().flat_map(SymExpr::symbols) {
        let name = symbols.label(id).into_owned();
        if found.iter().all(|(known, ..)| *known != name) {
            let (least, greatest) = bounds(graph, &id.into());
            found.push((name, least, greatest));
        }
    }
    let intervals = shape.display_intervals(symbols).to_string();
    let labels = shape.display_labels(symbols).to_string();
    (fact.element_type().name(), dims, intervals, labels, found)
}

/// An input or an output of a model.
pub fn port(graph: &Graph, id: NodeId) -> PortTuple {
    let node = graph.node(id);
    let names = match node.op() {
        Op::Result(_) => output_names(graph, id).into_iter().skip(1).map(str::to_string).collect(),
        _ => node.outs().first().map(|out| out.names().to_vec()).unwrap_or_default(),
    };
    let known = node.outputs().next().map(|own| fact(graph, own));
    let known = known.unwrap_or_else(|| fact(graph, &Fact::unknown()));
    (node.name().to_string(), public_name(graph, id).to_string(), names, known)
}

/// A layer.
pub fn layer<'py>(
    py: Python<'py>,
    graph: &Graph,
    listing: &Listing,
    id: NodeId,
) -> PyResult<LayerTuple<'py>> {
    let node = graph.node(id);
    let wired = graph.inputs(id);
    let count = wired.len();
    let inputs = wired.into_iter().map(|value| {
        let value = value?;
        let source = graph.node(value.node);
        let number = source.output_id(value.port as usize, graph.inputs(value.node).len());
        Some((source.name().to_string(), number, listing.index(value.node)))
    });
    let outputs = node.outs().iter().enumerate();
    let outputs =
        outputs.map(|(i, out)| (node.output_id(i, count), out.names().to_vec(), fact(graph, &out.fact)));
    Ok((
        node.name().to_string(),
        node.op().type_name().to_string(),
        node.version().to_string(),
        node.loc().text(),
        attributes(py, node.op())?,
        inputs.collect(),
        outputs.collect(),
        node.op().is_opaque(),
        node.op().bodies().map(|(role, _)| role).collect(),
    ))
}

/// The attributes, excluding tensors: elements of constants are available as values of outputs.
fn attributes<'py>(py: Python<'py>, op: &Op) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in op.attrs().iter() {
        match value {
            AttrValue::Text(text) => dict.set_item(name, text.as_ref())?,
            AttrValue::Int(number) => dict.set_item(name, number)?,
            AttrValue::Float(number) => dict.set_item(name, number)?,
            AttrValue::Bool(truth) => dict.set_item(name, truth)?,
            AttrValue::Ints(numbers) => dict.set_item(name, numbers.to_vec())?,
            AttrValue::Floats(numbers) => dict.set_item(name, numbers)?,
            AttrValue::Texts(texts) => dict.set_item(name, texts)?,
            AttrValue::Tensor(_) => {}
        }
    }
    Ok(dict)
}
