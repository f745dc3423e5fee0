//! Exports graphs to the form that certificates speak about.

mod constants;
mod sizes;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use snick_certificate as certificate;
use snick_certificate::Attribute;
use snick_ir::{AttrValue, Fact, Graph, Known, NodeId, Op, OpTraits, Value, oldest_definition};
use snick_shape::Symbols;
use snick_tensor::Tensor;

use crate::legalize::decompose::bitwise::as_logical;

use self::constants::{Constants, integers};
use self::sizes::Sizes;

/// Exports graphs as parts of one graph.
#[derive(Default)]
pub(super) struct Exporter<'g> {
    pub(super) graph: certificate::Graph,
    constants: Constants,
    /// Ops with the same type and attributes that differ nevertheless.
    variants: HashMap<String, Vec<Cow<'g, Op>>>,
    pub(super) bodies: Vec<&'g Graph>,
    /// The value of each variable before a run.
    variables: HashMap<&'g str, certificate::Value>,
}

/// Where the values of a graph are in the exported one.
#[derive(Default)]
pub(super) struct Exported {
    pub(super) values: HashMap<Value, certificate::Value>,
    sizes: Sizes,
    /// The tensors of values that do not depend on inputs.
    constants: HashMap<Value, Tensor>,
}

impl<'g> Exporter<'g> {
    /// Exports a node whose inputs are exported already. Nothing is known about the values of a node that is
    /// `unknown`, except their facts.
    pub(super) fn add(&mut self, graph: &'g Graph, id: NodeId, exported: &mut Exported, is_unknown: bool) {
        let node = graph.node(id);
        let op = node.op();
        let exported_op = exported_op(graph, id);
        let mut new = certificate::Node {
            op: exported_op.type_name().to_string(),
            is_unique: is_unknown || matches!(op, Op::Parameter(_)),
            ..certificate::Node::default()
        };
        let mut tensors = Vec::new();
        if !is_unknown {
            let inputs = graph.inputs(id);
            tensors = self.constants.evaluate(node, &inputs, &exported.constants);
            new.inputs = inputs.iter().map(|input| exported.values.get(&(*input)?).copied()).collect();
            new.attributes = self.attributes(exported_op);
            new.bodies = op.bodies().map(|(_, body)| self.body(body)).collect();
            if let Op::ReadValue(read) = op {
                // The value depends on the variable, and on the input if the variable is not set.
                new.inputs.push(Some(self.variable(&read.variable_id)));
            } else if !op.traits().intersects(OpTraits::PURE | OpTraits::HAS_BODIES) {
                // Layers of the same name draw the same random numbers.
                new.attributes.insert("layer".into(), node.name().into());
            }
        }
        for fact in node.outputs() {
            exported.sizes.declare_symbols(fact, graph.symbols(), &mut self.graph);
        }
        let number = self.graph.nodes.len();
        for (port, fact) in node.outputs().enumerate() {
            let mut value = certificate::Value { node: number, port };
            let mut output = output(fact, graph.symbols(), value, &mut exported.sizes);
            if let Some(tensor) = tensors.get(port) {
                output.integers = integers(tensor);
                let list = self.constants.first_of_list(tensor, value);
                if matches!(op, Op::Const(_)) && list != value {
                    new.op = "Reshape".to_string();
                    new.inputs = vec![Some(list)];
                    // Reshapes of the same elements differ in this attribute.
                    new.attributes = [("shape".to_string(), Attribute::from(tensor.dims()))].into();
                }
                value = self.constants.first(tensor, value);
            }
            new.outputs.push(output);
            exported.values.insert(Value { node: id, port: port as u32 }, value);
        }
        let tensors = (0..).zip(tensors).map(|(port, tensor)| (Value { node: id, port }, tensor));
        exported.constants.extend(tensors);
        self.graph.nodes.push(new);
    }

    fn attributes(&mut self, op: Cow<'g, Op>) -> BTreeMap<String, Attribute> {
        let mut attributes: BTreeMap<String, Attribute> =
            op.attrs().iter().map(|(name, value)| (name.to_string(), attribute(value))).collect();
        if let Op::SubGraph(op) = &*op {
            attributes.insert("kind".into(), format!("{:?}", op.kind).into());
            attributes.insert("maps".into(), format!("{:?}", op.maps).into());
            return attributes;
        }
        // Versions of an op may differ in meaning although their attributes are equal.
        let alike = self.variants.entry(format!("{} {attributes:?}", op.type_name())).or_default();
        let variant = alike.iter().position(|other| *other == op).unwrap_or_else(|| {
            alike.push(op);
            alike.len() - 1
        });
        if variant > 0 {
            attributes.insert("variant".into(), variant.into());
        }
        attributes
    }

    fn variable(&mut self, name: &'g str) -> certificate::Value {
        *self.variables.entry(name).or_insert_with(|| {
            let value = certificate::Value { node: self.graph.nodes.len(), port: 0 };
            let outputs = vec![certificate::Output::default()];
            self.graph.nodes.push(certificate::Node { is_unique: true, outputs, ..Default::default() });
            value
        })
    }

    fn body(&mut self, body: &'g Graph) -> usize {
        let known = self.bodies.iter().position(|other| *other == body);
        known.unwrap_or_else(|| {
            self.bodies.push(body);
            self.bodies.len() - 1
        })
    }
}

impl Exported {
    /// Makes an input of one graph the same value as an input of another graph, which is exported already.
    ///
    /// # Errors
    /// If the input is required to accept the same elements and sizes, and does not.
    pub(super) fn share_input(
        &mut self,
        (a, old): (&Graph, Value),
        (b, new): (&Graph, Value),
        others: &Self,
        must_accept: bool,
    ) -> Result<(), String> {
        let name = b.node(new.node).name();
        let (Some(shared), Some(ours), Some(theirs)) = (others.values.get(&old), a.fact(old), b.fact(new))
        else {
            return Err(format!("the input `{name}` is not known"));
        };
        self.values.insert(new, *shared);
        let accepts = self.sizes.share((ours, a.symbols()), (theirs, b.symbols()), *shared);
        if ours.element_type() != theirs.element_type() || must_accept && !accepts {
            return Err(format!("the input `{name}` accepts other types or sizes"));
        }
        Ok(())
    }
}

/// The op in its oldest definition, and of bitwise functions of booleans the logical ones, so that equal layers are
/// equal.
fn exported_op(graph: &Graph, id: NodeId) -> Cow<'_, Op> {
    let node = graph.node(id);
    let first = graph.inputs(id).first().copied().flatten().and_then(|input| graph.fact(input));
    let logical = first.and_then(|fact| as_logical(node.op(), fact.element_type()));
    let other = logical.or_else(|| match node.op() {
        // The older definition has no negative indices.
        Op::ScatterElementsUpdate(_) => None,
        _ => oldest_definition(node),
    });
    other.map_or(Cow::Borrowed(node.op()), Cow::Owned)
}

fn output(fact: &Fact, symbols: &Symbols, own: certificate::Value, sizes: &mut Sizes) -> certificate::Output {
    let dims = fact.shape().dims();
    let output = certificate::Output {
        element_type: fact.element_type().name().to_string(),
        dims: dims
            .map(|dims| (0..).zip(dims).map(|(axis, dim)| sizes.of_axis(dim, symbols, own, axis)).collect()),
        integers: None,
    };
    if let (Some(Known::Elements(elements)), Some([] | [_])) = (fact.known(), dims) {
        sizes.name_elements(elements, own);
    }
    output
}

fn attribute(value: &AttrValue) -> Attribute {
    match value {
        AttrValue::Int(int) => Attribute::from(*int),
        AttrValue::Ints(ints) => Attribute::from(ints.to_vec()),
        AttrValue::Text(text) => Attribute::from(&**text),
        AttrValue::Texts(texts) => Attribute::from(texts.clone()),
        AttrValue::Bool(bool) => Attribute::from(*bool),
        other => Attribute::from(format!("{other:?}")),
    }
}
