//! Graphs for Google's Model Explorer: a collection with a graph for the model, and one for each body.

use snick_ir::json::Json;
use snick_ir::text::Escaped;
use snick_ir::{Graph, NodeId, Op, Value};

/// The graph, with its bodies, as JSON that Model Explorer opens. Scopes of names become its layers, which it folds.
pub fn model_explorer(graph: &Graph) -> String {
    let mut json = Json::default();
    json.array(|json| {
        json.object(|json| {
            json.key("label").escaped(&graph.name);
            json.key("graphs").array(|json| {
                let mut waiting = vec![("main".to_string(), graph)];
                let mut at = 0;
                while let Some((id, graph)) = waiting.get(at).cloned() {
                    at += 1;
                    json.line().object(|json| {
                        json.key("id").string(&id);
                        json.key("nodes").array(|json| nodes(json, &id, graph, &mut waiting));
                    });
                }
            });
        });
    });
    json.finish()
}

/// The layers; graphs inside them are added to those that wait.
fn nodes<'g>(json: &mut Json, name: &str, graph: &'g Graph, waiting: &mut Vec<(String, &'g Graph)>) {
    let order = graph.order().unwrap_or_else(|_| graph.ids().collect());
    let mut numbers = vec![0; graph.bound()];
    order.iter().enumerate().for_each(|(number, id)| numbers[id.index()] = number);
    for &id in &order {
        let node = graph.node(id);
        json.line().object(|json| {
            json.key("id").string(&numbers[id.index()].to_string());
            json.key("label").escaped(node.op().type_name());
            json.key("namespace").string(&namespace(node.name()));
            json.key("attrs").array(|json| attributes(json, graph, id));
            json.key("incomingEdges").array(|json| {
                for (port, value) in graph.inputs(id).into_iter().enumerate() {
                    let Some(value) = value else { continue };
                    json.object(|json| {
                        json.key("sourceNodeId").string(&numbers[value.node.index()].to_string());
                        json.key("sourceNodeOutputId").string(&value.port.to_string());
                        json.key("targetNodeInputId").string(&port.to_string());
                    });
                }
            });
            json.key("outputsMetadata").array(|json| outputs(json, graph, id));
            let bodies: Vec<_> = node.op().bodies().collect();
            if !bodies.is_empty() {
                json.key("subgraphIds").array(|json| {
                    for (role, body) in bodies {
                        let inner = format!("{name}/{}/{role}", numbers[id.index()]);
                        json.string(&inner);
                        waiting.push((inner, body));
                    }
                });
            }
        });
    }
}

/// The scopes of a name, which end with `/` or `.`.
fn namespace(name: &str) -> String {
    let scopes = name.rfind(['/', '.']).map_or("", |end| &name[..end]);
    Escaped(scopes).to_string().replace('.', "/")
}

fn attributes(json: &mut Json, graph: &Graph, id: NodeId) {
    let node = graph.node(id);
    let mut add = |key: &str, value: &str| {
        json.object(|json| {
            json.key("key").escaped(key);
            json.key("value").escaped(value);
        });
    };
    add("name", node.name());
    if node.loc().line > 0 {
        add("place", &node.loc().to_string());
    }
    if !matches!(node.op(), Op::Const(_)) {
        node.op().attrs().iter().for_each(|(name, value)| add(name, &value.abbreviated()));
    }
}

fn outputs(json: &mut Json, graph: &Graph, id: NodeId) {
    for (port, out) in graph.node(id).outs().iter().enumerate() {
        let Ok(port) = u32::try_from(port) else { continue };
        let Some(fact) = graph.fact(Value { node: id, port }) else { continue };
        json.object(|json| {
            json.key("id").string(&port.to_string());
            json.key("attrs").array(|json| {
                let shape = fact.shape().display_labels(graph.symbols());
                json.object(|json| {
                    json.key("key").string("tensor_shape");
                    json.key("value").escaped(&format!("{}{shape}", fact.element_type()));
                });
                for name in out.names() {
                    json.object(|json| {
                        json.key("key").string("tensor_name");
                        json.key("value").escaped(name);
                    });
                }
            });
        });
    }
}
