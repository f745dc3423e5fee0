//! Serialised nGraph functions: a JSON array of functions. The last function is the model.
//!
//! - `node.rs` reads nodes in every version of the format, `value_type.rs` types and shapes, `constant.rs`
//!   values, and `function.rs` auxiliary functions.
//! - `build.rs` builds the graph, with a `Site` (`site.rs`) for each node.
//! - `table.rs` maps ops that OpenVINO has, too. `ops.rs` and the remaining files replace all other ops by
//!   several layers, with helpers from `layers.rs`. An unknown op becomes an opaque layer.

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
mod site;
mod slice;
mod table;
mod value_type;
mod window;

use std::collections::HashMap;

use snick_ir::Monitor;

use self::build::FunctionBuilder;
use self::function::Functions;
use self::node::{Node, list};
use crate::json::Json;
use crate::{Read, ReadError};

/// Reads the last function of the array. The monitor may stop the reader.
pub(crate) fn read(root: Json, source: &str, monitor: &mut Monitor) -> Result<Read, ReadError> {
    let functions = root.array()?;
    let Some(entry) = functions.last() else {
        return Err(root.error("empty array, expected nGraph functions"));
    };
    let function = entry.object()?;
    let name = function.require("name")?.text()?;
    let nodes = list(&function, "ops")?.into_iter().map(Node::read).collect::<Result<Vec<_>, _>>()?;
    let mut by_name = HashMap::with_capacity(nodes.len());
    for node in &nodes {
        if by_name.insert(node.name.as_str(), node).is_some() {
            return Err(node.object.json().error(format!("duplicate node `{}`", node.name)));
        }
    }
    let others = functions.get(..functions.len() - 1).unwrap_or_default();
    let functions = Functions::read(others)?;
    let mut builder = FunctionBuilder::new(name, source, nodes.len(), &functions);
    // Parameters and Results are added in the order of the function, which can differ from the order of the
    // nodes.
    for parameter in list(&function, "parameters")? {
        let name = parameter.text()?;
        let node = by_name.get(name.as_str()).filter(|node| node.op == "Parameter");
        let node = node.ok_or_else(|| parameter.error(format!("no Parameter named `{name}`")))?;
        if builder.knows(&name) {
            return Err(parameter.error(format!("duplicate parameter `{name}`")));
        }
        builder.node(node)?;
    }
    for (done, node) in nodes.iter().enumerate() {
        if node.op != "Result" && !builder.knows(&node.name) {
            builder.node(node)?;
        }
        monitor.report(done + 1, nodes.len(), &node.name);
        if monitor.is_stopped() {
            return Err(node.object.json().error("reading was stopped"));
        }
    }
    for result in list(&function, "result")? {
        let name = result.text()?;
        match by_name.remove(name.as_str()) {
            Some(node) if node.op == "Result" => builder.result(node)?,
            _ => builder.return_value(&name, result)?,
        }
    }
    // Result nodes that the function does not list are outputs, too.
    for node in nodes.iter().filter(|node| node.op == "Result" && by_name.contains_key(node.name.as_str())) {
        builder.result(node)?;
    }
    Ok(builder.finish())
}
