//! Serialised nGraph functions: a JSON array, of which the last function is the model.
//!
//! `node.rs` reads what every node says, in all forms the format has had; `value_type.rs` its types and shapes,
//! `constant.rs` its values; `build.rs` makes the graph; `table.rs` has the ops that OpenVINO has as well, `ops.rs` the
//! others, and the files beside it how those are made, of layers in `layers.rs` where several need them; `function.rs`
//! knows what the other functions compute. An op that is not known stays an opaque layer.

mod build;
mod constant;
mod dot;
mod dynamic;
mod function;
mod gradient;
mod layers;
mod node;
mod normalize;
mod ops;
mod reduce_window;
mod slice;
mod table;
mod value_type;
mod window;

use std::collections::HashMap;

use self::build::FunctionBuilder;
use self::function::Functions;
use self::node::{Node, list};
use crate::json::Json;
use crate::{Read, ReadError};

/// Reads the last function of the array.
pub(crate) fn read(root: Json, source: &str) -> Result<Read, ReadError> {
    let functions = root.array()?;
    let Some(entry) = functions.last() else {
        return Err(root.error("an empty array, expected nGraph functions"));
    };
    let function = entry.object()?;
    let name = function.require("name")?.text()?;
    let nodes = list(&function, "ops")?.into_iter().map(Node::read).collect::<Result<Vec<_>, _>>()?;
    let mut by_name = HashMap::with_capacity(nodes.len());
    for node in &nodes {
        if by_name.insert(node.name.as_str(), node).is_some() {
            return Err(node.object.json().error(format!("node `{}` comes twice", node.name)));
        }
    }
    let others = functions.get(..functions.len() - 1).unwrap_or_default();
    let functions = Functions::read(others)?;
    let mut builder = FunctionBuilder::new(name, source, nodes.len(), &functions);
    // The order of parameters and results is the function's, not that of its nodes.
    for parameter in list(&function, "parameters")? {
        let name = parameter.text()?;
        let node = by_name.get(name.as_str()).filter(|node| node.op == "Parameter");
        let node = node.ok_or_else(|| parameter.error(format!("there is no Parameter `{name}`")))?;
        if builder.knows(&name) {
            return Err(parameter.error(format!("parameter `{name}` comes twice")));
        }
        builder.node(node)?;
    }
    for node in nodes.iter().filter(|node| node.op != "Result") {
        if !builder.knows(&node.name) {
            builder.node(node)?;
        }
    }
    for result in list(&function, "result")? {
        let name = result.text()?;
        match by_name.remove(name.as_str()) {
            Some(node) if node.op == "Result" => builder.result(node)?,
            _ => builder.return_value(&name, result)?,
        }
    }
    // Results that the function does not list are outputs, too.
    for node in nodes.iter().filter(|node| node.op == "Result" && by_name.contains_key(node.name.as_str())) {
        builder.result(node)?;
    }
    Ok(builder.finish())
}
