//! Writes a layer: attributes, ports, metadata and bodies.

use std::collections::HashSet;
use std::fmt::Write as _;

use snick_ir::ops::control::port_map::{PortLink, PortMap};
use snick_ir::ops::source::constant::Constant;
use snick_ir::ops::{Gather, Opaque};
use snick_ir::{
    AttrValue, Attrs, Dialect, Graph, Info, Located, NodeId, NodeRef, Op, OpDef, OpError, Output, Value,
    Version, ops,
};
use snick_shape::{DimSpec, Interval, ShapeSpec};
use snick_tensor::ElementType;

use super::{LayerIds, Writer};
use crate::legalized::NO_OPERATOR;

/// Metadata with these names extends an element of the layer, so it is not written as an element of its own.
const PARTS: [&str; 4] = ["layer", "data", "input", "output"];

impl Writer {
    pub(super) fn layer(&mut self, graph: &Graph, id: NodeId, number: usize) -> Result<(), Box<Located>> {
        let node = graph.node(id);
        if node.op().dialect() == Dialect::Snick {
            let error = OpError::unsupported(format!("`{}` in an OpenVINO IR", node.op().type_name()));
            return Err(graph.located(id, error).into());
        }
        let infos = node.details().as_ref().map(|details| details.info.as_slice()).unwrap_or_default();
        self.xml.open("layer");
        self.xml.attr("id", number);
        self.xml.attr("name", node.name());
        self.xml.attr("type", node.op().type_name());
        let version = node.version().to_string();
        if !version.is_empty() {
            self.xml.attr("version", version);
        }
        let more = part(infos, "layer").flat_map(|info| &info.attrs);
        let more = more.map(|(name, value)| (name.as_str(), value));
        self.xml.model_attrs(&["id", "name", "type", "version"], more);
        self.data(graph, node, infos).map_err(|error| graph.located(id, error))?;
        self.inputs(graph, id, infos);
        self.outputs(graph, id, infos);
        self.infos(infos.iter().filter(|info| !PARTS.contains(&info.name.as_str())));
        if let Op::SubGraph(op) = node.op() {
            let prefixes = op.roles().iter().map(|role| role.strip_suffix("body").unwrap_or(role));
            for ((role, body), (prefix, map)) in node.op().bodies().zip(prefixes.zip(&op.maps)) {
                self.xml.open(role);
                let ids = self.net(body)?;
                self.xml.close(role);
                self.port_map(graph, id, prefix, map, &Ends::of(body, &ids));
            }
        }
        self.xml.close("layer");
        match self.xml.take_fault() {
            Some(what) => Err(graph.located(id, super::cannot_write(what)).into()),
            None => Ok(()),
        }
    }

    fn data(&mut self, graph: &Graph, node: NodeRef, infos: &[Info]) -> Result<(), OpError> {
        let attrs = match node.op() {
            Op::Const(constant) => self.constant(constant)?,
            // Port maps are written as separate elements.
            Op::SubGraph(_) => Attrs::new(),
            Op::Parameter(parameter) => {
                let mut parameter = parameter.clone();
                drop_names(graph, node.id(), &mut parameter.shape);
                parameter.attrs()
            }
            Op::ReadValue(variable) => {
                let mut variable = variable.clone();
                variable.variable_shape.iter_mut().for_each(|shape| drop_names(graph, node.id(), shape));
                variable.attrs()
            }
            Op::Gather(gather) => Gather { checks_indices: false, ..gather.clone() }.attrs().into_owned(),
            op if op.is_opaque() => self.opaque(node)?,
            op => op.attrs(),
        };
        let extra = node.details().as_ref().map(|details| &details.extra);
        // OpenVINO IR cannot store default values of inputs.
        let extra = extra.iter().flat_map(|extra| extra.iter());
        let extra = extra.filter(|(_, value)| !matches!(value, AttrValue::Tensor(_)));
        // XML allows each attribute name only once.
        let mut names = HashSet::new();
        let all: Vec<_> = attrs.iter().chain(extra).filter(|(name, _)| names.insert(*name)).collect();
        let mut inside = part(infos, "data").flat_map(|info| &info.children).peekable();
        if all.is_empty() && inside.peek().is_none() {
            return Ok(());
        }
        self.xml.open("data");
        self.xml.model_attrs(&[], all.into_iter().map(|(name, value)| (name, attr_text(value))));
        self.infos(inside);
        self.xml.close("data");
        Ok(())
    }

    fn constant(&mut self, constant: &Constant) -> Result<Attrs<'static>, OpError> {
        let tensor = match constant {
            Constant::Here(tensor) => tensor,
            Constant::Absent(absent) => return Err(absent.error()),
        };
        let place = self.weights.place(tensor);
        let attrs = Attrs::new().with("element_type", tensor.element_type()).with("shape", tensor.dims());
        Ok(attrs.with("offset", place.start as i64).with("size", place.len() as i64))
    }

    /// The attributes of an opaque layer. A tensor attribute `value`, from a constant of an unknown operation
    /// set, goes to the weights file.
    ///
    /// # Errors
    /// No runtime knows the operation. Only a layer that was read from an IR and has an operation set may
    /// belong to an OpenVINO extension. A layer without an operation set comes from an execution graph or
    /// could not be read.
    fn opaque(&mut self, node: NodeRef) -> Result<Attrs<'static>, OpError> {
        let old = node.op().attrs().into_owned();
        let version = node.version();
        let is_known = || ops::find(Dialect::OpenVino, node.op().type_name()).is_some();
        let is_missing = version.is_known_set() && !is_known();
        let is_unversioned = *version == Version::Unversioned && !Opaque::is_recorded(version, &old);
        if !self.is_of_ir || is_missing || is_unversioned {
            return Err(super::cannot_write(NO_OPERATOR.into()));
        }
        let Some(AttrValue::Tensor(value)) = old.get("value") else { return Ok(old) };
        let mut attrs = self.constant(&Constant::new(value.clone()))?;
        for (name, value) in old.iter().filter(|(name, _)| *name != "value") {
            if !attrs.contains(name) {
                attrs.push(name.to_string().into(), value.clone());
            }
        }
        Ok(attrs)
    }

    fn inputs(&mut self, graph: &Graph, id: NodeId, infos: &[Info]) {
        let inputs = graph.inputs(id);
        if inputs.is_empty() {
            return;
        }
        self.xml.open("input");
        for (i, value) in inputs.into_iter().enumerate() {
            let Some(value) = value else { continue };
            let number = input_id(graph.node(id), i);
            self.xml.open("port");
            self.xml.attr("id", number);
            if let Some(out) = graph.output(value) {
                self.port(out, &[], graph.node(value.node).op().is_opaque());
            }
            self.infos(port_part(infos, "input", number));
            self.xml.close("port");
        }
        self.xml.close("input");
    }

    fn outputs(&mut self, graph: &Graph, id: NodeId, infos: &[Info]) {
        let node = graph.node(id);
        // A Result has no output port, unless a layer reads its output.
        let is_end = matches!(node.op(), Op::Result(_)) && graph.used_outputs(id).is_empty();
        if node.outs().is_empty() || is_end {
            return;
        }
        let inputs = graph.inputs(id).len();
        self.xml.open("output");
        for (i, out) in node.outs().iter().enumerate() {
            let number = node.output_id(i, inputs);
            self.xml.open("port");
            self.xml.attr("id", number);
            self.port(out, out.names(), node.op().is_opaque());
            self.infos(port_part(infos, "output", number));
            self.xml.close("port");
        }
        self.xml.close("output");
    }

    /// Precision, names and dims of the current port. Unknown dims are -1.
    fn port(&mut self, out: &Output, names: &[String], is_opaque: bool) {
        let declared = out.declared.as_ref();
        let known =
            out.fact.shape.dims().map(|dims| dims.iter().map(|d| d.as_const().unwrap_or(-1)).collect());
        let dims: Option<Vec<i64>> = known.or_else(|| Some(declared?.dims.as_ref()?.to_vec()));
        let element_type = match (out.fact.element_type, declared) {
            // Without dims, a type would declare a scalar.
            _ if is_opaque && dims.is_none() => ElementType::Dynamic,
            (ElementType::Dynamic, Some(declared)) => declared.element_type,
            (element_type, _) => element_type,
        };
        self.xml.attr("precision", element_type.ir_precision());
        let names: Vec<String> = names.iter().map(|n| n.replace(',', "\\,")).collect();
        if !names.is_empty() {
            self.xml.attr("names", names.join(","));
        }
        for dim in dims.unwrap_or_default() {
            self.xml.open("dim");
            self.xml.text(&dim.to_string());
            self.xml.close("dim");
        }
    }

    /// Writes the `port_map` and `back_edges` of a body.
    fn port_map(&mut self, graph: &Graph, id: NodeId, prefix: &str, map: &PortMap, body: &Ends) {
        let node = graph.node(id);
        let inputs = graph.inputs(id).len();
        let name = format!("{prefix}port_map");
        self.xml.open(&name);
        for link in &map.inputs {
            let external = link.external.map(|port| input_id(node, port));
            self.link("input", link, external, &body.parameters);
        }
        for link in &map.outputs {
            let external = link.external.map(|port| node.output_id(port, inputs));
            self.link("output", link, external, &body.results);
        }
        self.xml.close(&name);
        if !map.back_edges.is_empty() {
            self.xml.open("back_edges");
            for &(from, to) in &map.back_edges {
                self.xml.open("edge");
                self.xml.attr("from-layer", body.results.get(from).copied().unwrap_or_default());
                self.xml.attr("to-layer", body.parameters.get(to).copied().unwrap_or_default());
                self.xml.close("edge");
            }
            self.xml.close("back_edges");
        }
    }

    fn link(&mut self, side: &str, link: &PortLink, external: Option<u32>, layers: &[usize]) {
        self.xml.open(side);
        match external {
            Some(port) => self.xml.attr("external_port_id", port),
            None => self.xml.attr("external_port_id", -1),
        }
        self.xml.attr("internal_layer_id", layers.get(link.internal).copied().unwrap_or_default());
        link.notes().for_each(|(name, value)| self.xml.attr(name, value));
        self.xml.close(side);
    }
}

/// The layer ids of a body's Parameters and Results.
struct Ends {
    parameters: Vec<usize>,
    results: Vec<usize>,
}

impl Ends {
    fn of(body: &Graph, ids: &LayerIds) -> Self {
        let number = |id: NodeId| ids.get(id.index()).copied().unwrap_or_default();
        Self {
            parameters: body.parameters().map(number).collect(),
            results: body.results().map(number).collect(),
        }
    }
}

/// Replaces symbols and expressions in dims, which the IR cannot store, with intervals. A symbol of a
/// Parameter is replaced with its declared interval, any other dim with its inferred interval.
fn drop_names(graph: &Graph, id: NodeId, shape: &mut ShapeSpec) {
    let is_parameter = matches!(graph.node(id).op(), Op::Parameter(_));
    let inferred = graph.fact(Value { node: id, port: 0 }).and_then(|fact| fact.shape.dims());
    let ShapeSpec::Dims(dims) = shape else { return };
    for (axis, dim) in dims.iter_mut().enumerate() {
        let interval = match dim {
            DimSpec::Interval(_) => continue,
            DimSpec::Symbol { interval, .. } if is_parameter => *interval,
            _ => {
                let expr = inferred.and_then(|dims| dims.get(axis));
                expr.map_or(Interval::DIM, |expr| graph.symbols().interval(expr))
            }
        };
        *dim = DimSpec::Interval(interval);
    }
}

/// The id of an input port.
pub(super) fn input_id(node: NodeRef, port: usize) -> u32 {
    let ids = node.details().as_ref().and_then(|details| details.input_ids.as_ref());
    ids.map_or(u32::try_from(port).unwrap_or(u32::MAX), |ids| ids.id(port))
}

/// The metadata for one part of a layer.
fn part<'i>(infos: &'i [Info], name: &'static str) -> impl Iterator<Item = &'i Info> {
    infos.iter().filter(move |info| info.name == name)
}

/// The metadata of a port.
fn port_part<'i>(infos: &'i [Info], side: &'static str, number: u32) -> impl Iterator<Item = &'i Info> {
    let number = number.to_string();
    let of_port =
        move |info: &&Info| info.attrs.iter().any(|(name, value)| name == "port" && *value == number);
    part(infos, side).filter(of_port).flat_map(|info| &info.children)
}

/// An attribute value in IR syntax: lists are separated by commas.
fn attr_text(value: &AttrValue) -> String {
    fn list(items: impl Iterator<Item = String>) -> String {
        items.fold(String::new(), |mut text, item| {
            let comma = if text.is_empty() { "" } else { "," };
            let _ = write!(text, "{comma}{item}");
            text
        })
    }
    match value {
        AttrValue::Text(text) => text.to_string(),
        AttrValue::Int(v) => v.to_string(),
        AttrValue::Float(v) => float_text(*v),
        AttrValue::Bool(v) => v.to_string(),
        AttrValue::Ints(v) => list(v.iter().map(i64::to_string)),
        AttrValue::Floats(v) => list(v.iter().map(|&v| float_text(v))),
        AttrValue::Texts(v) => list(v.iter().cloned()),
        // Only constants have a tensor, and it is in the weights file.
        AttrValue::Tensor(_) => String::new(),
    }
}

/// The shortest decimal that reads back as the same number. Very large and very small numbers have an
/// exponent.
fn float_text(v: f64) -> String {
    if v == 0.0 || (1e-5..1e16).contains(&v.abs()) { v.to_string() } else { format!("{v:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let text = |value: AttrValue| attr_text(&value);
        assert_eq!(text(AttrValue::from(&[1i64, -2][..])), "1,-2");
        assert_eq!(text(AttrValue::Floats(vec![1.0, 0.5, 1e-7])), "1,0.5,1e-7");
        assert_eq!(text(AttrValue::Bool(true)), "true");
    }
}
