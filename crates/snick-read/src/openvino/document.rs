//! Networks and bodies: their layers and the edges between them.

use snick_ir::ops::source::constant::Constant;
use snick_ir::ops::{self, Opaque};
use snick_ir::{
    Dialect, Graph, IR_VERSIONS, Info, Located, Node, Op, OpError, Output, PortIds, RawNode, Value,
};
use snick_tensor::SmallVector;

use super::layer::{Layer, port_ids, read_layer};
use super::layer_ids::{LayerId, LayerIds};
use super::net::{BrokenEnd, Context, Net};
use super::port_set::PortSet;
use super::weights::Beyond;
use super::xml::{Cursor, Step};
use crate::ReadError;

/// Reads a document, which consists of a single `<net>`.
pub(super) fn read_document(cursor: &mut Cursor, context: &mut Context) -> Result<Graph, ReadError> {
    loop {
        match cursor.step()? {
            Step::Open("net") => break,
            Step::Open(name) => return Err(cursor.error(format!("element <{name}>, expected <net>"))),
            Step::Text(_) | Step::Close => {}
            Step::End => return Err(cursor.error("no <net> element: this is not an OpenVINO IR")),
        }
    }
    let version = cursor.require("version")?;
    let ir_version = match version.trim_ascii().parse::<u32>() {
        Ok(number) if IR_VERSIONS.contains(&number) => number,
        _ => {
            let (source_name, version) = (context.source.to_string(), version.trim_ascii().to_string());
            return Err(ReadError::IrVersion { source_name, version });
        }
    };
    let name = cursor.attr("name").map(|name| name.to_string()).unwrap_or_default();
    let attrs = cursor.take_attrs().filter(|(name, _)| !["name", "version"].contains(name));
    let attrs: Vec<_> = attrs.map(|(name, value)| (name.to_string(), value.into_owned())).collect();
    let mut graph = read_net(cursor, context)?.graph;
    (graph.name, graph.ir_version) = (name, Some(ir_version));
    if !attrs.is_empty() {
        graph.info.insert(0, Info { name: "net".into(), attrs, ..Info::default() });
    }
    Ok(graph)
}

/// Reads the contents of `<net>`, `<body>`, `<then_body>` or `<else_body>`.
fn read_net(cursor: &mut Cursor, context: &mut Context) -> Result<Net, ReadError> {
    let mut net = Net { graph: Graph::new(""), layers: LayerIds::default() };
    net.graph.source = context.source.into();
    // The attributes of bodies, such as `name`, are not needed.
    loop {
        match cursor.step()? {
            Step::Open("layers") => read_layers(cursor, context, &mut net)?,
            Step::Open("edges") => read_edges(cursor, context, &mut net)?,
            Step::Open(name) => net.graph.info.push(cursor.info(name)?),
            Step::Text(_) => {}
            Step::Close | Step::End => return Ok(net),
        }
    }
}

fn read_layers(cursor: &mut Cursor, context: &mut Context, net: &mut Net) -> Result<(), ReadError> {
    loop {
        match cursor.step()? {
            Step::Open("layer") => {
                let layer = read_layer(cursor, context, read_net)?;
                let loc = layer.loc;
                let id = add_layer(layer, context, &mut net.graph);
                if !context.goes_on(net.graph.node(id.node).name()) {
                    return Err(cursor.error_at(loc, "reading was stopped"));
                }
                net.layers.0.push(id);
            }
            Step::Open(name) => drop(cursor.info(name)?),
            Step::Text(_) => {}
            Step::Close | Step::End => break,
        }
    }
    let layers = &mut net.layers.0;
    layers.sort_by_key(|layer| layer.id);
    if let Some(pair) = layers.windows(2).find(|pair| pair[0].id == pair[1].id) {
        let first = net.graph.node(pair[0].node).name().to_string();
        let error = OpError::DuplicateId { id: pair[1].id, first };
        return Err(ReadError::Graph(Box::new(net.graph.located(pair[1].node, error))));
    }
    Ok(())
}

/// Adds a node for a layer. If the layer cannot be read as an op, it becomes opaque and its error is
/// recorded.
fn add_layer(layer: Layer, context: &mut Context, graph: &mut Graph) -> LayerId {
    let inputs = PortIds::new(&layer.input_ids);
    let outputs = PortIds::new(&layer.output_ids);
    let first_output = u32::try_from(layer.input_ids.len()).unwrap_or(u32::MAX);
    let mut wrong: SmallVector<OpError, 1> = SmallVector::new();
    let mut raw = RawNode::openvino(&layer.op_type, layer.version.clone(), layer.attrs, layer.outs.len());
    let mut truncated = None;
    let is_recorded = Opaque::is_recorded(&layer.version, &raw.attrs);
    context.recorded += usize::from(is_recorded);
    if !is_recorded && matches!(&*layer.op_type, "Const" | "Constant") {
        match context.weights.attach(&mut raw.attrs) {
            Ok(beyond) => truncated = beyond,
            Err(error) => wrong.push(error),
        }
    }
    if let Some(body) = layer.body {
        wrong.extend(body.attach(&mut raw, &inputs, &outputs, layer.input_ids.len()).err());
    }
    let parsed = match is_recorded {
        true => Ok(Op::opaque(&layer.op_type, std::mem::take(&mut raw.attrs).into_owned())),
        false => context.ops.parse(&mut raw),
    };
    let (mut op, extra) = match parsed {
        Ok(op) => {
            let known = raw.attrs.all_read() || op.is_opaque();
            (op, (!known).then(|| raw.attrs.unread()))
        }
        Err(error) => {
            wrong.push(error);
            (Op::opaque(&layer.op_type, raw.attrs.into_owned()), None)
        }
    };
    if let Op::Const(Constant::Absent(absent)) = &mut op {
        absent.is_truncated = truncated.is_some();
    }
    let mut node = Node::new(&*layer.name, op);
    node.version = layer.version;
    node.outs = layer.outs;
    node.loc = layer.loc;
    if node.outs.is_empty() && matches!(node.op, Op::Result(_)) {
        node.outs.push(Output::unknown());
    }
    let input_ids = port_ids(&layer.input_ids, 0);
    let output_ids = port_ids(&layer.output_ids, first_output).filter(|_| !layer.output_ids.is_empty());
    if let Some(extra) = extra.filter(|e| !e.is_empty()) {
        if let Some(entry) = ops::find(Dialect::OpenVino, &layer.op_type) {
            context.count_undeclared(entry, &extra, layer.loc);
        }
        node.details_mut().extra = extra;
    }
    if !layer.info.is_empty() {
        node.details_mut().info = layer.info;
    }
    if input_ids.is_some() || output_ids.is_some() {
        let details = node.details_mut();
        (details.input_ids, details.output_ids) = (input_ids, output_ids);
    }
    let node = graph.add(node);
    if let Some(Beyond { end, error }) = truncated {
        context.truncated.count(end, || graph.located(node, error));
    }
    context.errors.extend(wrong.into_iter().map(|error| graph.located(node, error)));
    let input_count = match layer.input_ids.len() {
        // Some files omit input ports. In this case the number of inputs of the op is used.
        0 => graph.node(node).op().arity().max.min(MAX_INPUTS),
        count => count,
    };
    let connected = PortSet::default();
    LayerId { id: layer.id, node, inputs, input_count, outputs, connected, is_doubled: false }
}

fn read_edges(cursor: &mut Cursor, context: &mut Context, net: &mut Net) -> Result<(), ReadError> {
    loop {
        match cursor.step()? {
            Step::Open("edge") => {
                context.errors.extend(read_edge(cursor, net)?);
                while !matches!(cursor.step()?, Step::Close | Step::End) {}
            }
            Step::Open(name) => drop(cursor.info(name)?),
            Step::Text(_) => {}
            Step::Close | Step::End => return Ok(()),
        }
    }
}

/// Connects an edge. Returns an error if the target layer does not exist (the runtime ignores such an edge),
/// or if the input already has a producer. The latter error is reported only once per layer.
fn read_edge(cursor: &mut Cursor, net: &mut Net) -> Result<Option<Located>, ReadError> {
    let (from, from_port): (u64, u32) = (cursor.number("from-layer")?, cursor.number("from-port")?);
    let (to, to_port): (u64, u32) = (cursor.number("to-layer")?, cursor.number("to-port")?);
    let (node, error) = if net.layers.index(to).is_none() && !net.layers.0.is_empty() {
        let source = net.layers.index(from).map(|source| net.layers.0[source].node);
        (source, OpError::DanglingEdge { from, port: from_port, to })
    } else {
        let ends = net.ends((from, from_port), (to, to_port));
        let (value, target, input) = ends.map_err(|BrokenEnd { at, fault }| {
            ReadError::Graph(Box::new(net.located(at, OpError::BrokenEdge { fault }, cursor.loc())))
        })?;
        let LayerId { node, connected, is_doubled, .. } = &mut net.layers.0[target];
        if connected.insert(input) {
            let connected = net.graph.connect_new(value, *node, input as u32);
            return connected.map(|()| None).map_err(|error| cursor.error(error.to_string()));
        }
        if std::mem::replace(is_doubled, true) {
            return Ok(None);
        }
        let first = net.graph.inputs(*node).get(input).copied().flatten();
        let name = |value: Value| net.graph.node(value.node).name().to_string();
        let (first, second) = (first.map(name).unwrap_or_default(), name(value));
        (Some(*node), OpError::SecondProducer { port: input, first, second })
    };
    Ok(Some(net.located(node, error, cursor.loc())))
}

/// Maximum number of input ports of a layer.
const MAX_INPUTS: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::openvino::{Weights, read};
    use crate::{Read, ReadError};

    fn with_edge(edge: &str) -> Result<Read, ReadError> {
        let layers = r#"<layer id="0" name="x" type="Parameter" version="opset1"><data shape="2" element_type="f32"/>
            <output><port id="0"/></output></layer>
            <layer id="1" name="y" type="Result" version="opset1"><input><port id="0"/></input></layer>"#;
        let whole = r#"<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>"#;
        let text = format!(
            r#"<net name="n" version="11"><layers>{layers}</layers><edges>{whole}{edge}</edges></net>"#
        );
        read(&text, &Weights::open(Path::new("absent.bin"), false)?, "n.xml")
    }

    #[test]
    fn edges_to_nowhere_and_second_producers_are_errors_with_places() {
        let errors = |edge: &str| {
            let read = with_edge(edge).unwrap();
            assert_eq!(read.graph.results().count(), 1);
            read.errors.iter().map(|error| (error.error.code(), error.to_string())).collect::<Vec<_>>()
        };
        let leads_nowhere = errors("\n<edge from-layer=\"0\" from-port=\"0\" to-layer=\"4\" to-port=\"1\"/>");
        let message = "n.xml:4:1: layer `x` (Parameter): an edge leads from output port 0 of layer 0 to layer 4, \
                       which is not there";
        assert_eq!(leads_nowhere, [("S010", message.to_string())]);
        let from_nowhere = errors("<edge from-layer=\"3\" from-port=\"0\" to-layer=\"4\" to-port=\"1\"/>");
        assert!(from_nowhere[0].1.contains("of layer 3 to layer 4"), "{from_nowhere:?}");
        let second = errors("\n<edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>");
        let message =
            "n.xml:4:1: layer `y` (Result): input 0 is connected to `x` and to `x`, expected one of them";
        assert_eq!(second, [("S017", message.to_string())]);
    }

    #[test]
    fn errors_of_edges_name_both_layers() {
        for (edge, message) in [
            (r#"from-layer="3" from-port="0" to-layer="1" to-port="0""#, "layer `y`: no layer has the id 3"),
            (
                r#"from-layer="0" from-port="5" to-layer="1" to-port="0""#,
                "edge to layer `y`: layer `x` has no output port 5",
            ),
            (
                r#"from-layer="0" from-port="0" to-layer="1" to-port="9""#,
                "edge from layer `x`: layer `y` has no input port 9",
            ),
        ] {
            let error = with_edge(&format!("<edge {edge}/>")).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
