//! Auxiliary functions of a file. Nodes refer to them to say how two elements are combined.

use std::collections::HashMap;

use snick_ir::OpError;

use super::node::{Node, list};
use crate::ReadError;
use crate::json::Json;

/// A function that consists of a single op on the two parameters of the function.
#[derive(Clone)]
pub(super) struct Binary {
    /// The type of the op.
    pub(super) op: String,
    /// Whether the inputs of the op are the parameters of the function in the same order.
    pub(super) in_order: bool,
}

/// The functions by name. `None` for a function that is not a [`Binary`].
pub(super) struct Functions(HashMap<String, Option<Binary>>);

impl Functions {
    pub(super) fn read(functions: &[Json]) -> Result<Self, ReadError> {
        let mut known = HashMap::with_capacity(functions.len());
        for &json in functions {
            let function = json.object()?;
            let name = function.require("name")?;
            let parameters = texts(list(&function, "parameters")?)?;
            let nodes = list(&function, "ops")?.into_iter().map(Node::read).collect::<Result<Vec<_>, _>>()?;
            let results = texts(list(&function, "result")?)?;
            if known.insert(name.text()?, binary(&parameters, &nodes, &results)).is_some() {
                return Err(name.error(format!("duplicate function `{}`", name.text()?)));
            }
        }
        Ok(Self(known))
    }

    /// The function of this name.
    pub(super) fn binary(&self, name: &str) -> Result<&Binary, OpError> {
        match self.0.get(name) {
            Some(Some(binary)) => Ok(binary),
            Some(None) => Err(OpError::unsupported(format!("function `{name}`, which is not one op of two"))),
            None => {
                Err(OpError::mismatch("the function", format!("`{name}`"), "one before this in the file"))
            }
        }
    }
}

fn texts(list: Vec<Json>) -> Result<Vec<String>, ReadError> {
    list.into_iter().map(Json::text).collect()
}

fn binary(parameters: &[String], nodes: &[Node], results: &[String]) -> Option<Binary> {
    let find = |name: &str| nodes.iter().find(|node| node.name == name);
    let ([first, second], [result]) = (parameters, results) else { return None };
    let mut node = find(result)?;
    if node.op == "Result" {
        node = find(&node.inputs.first()?.name)?;
    }
    let [a, b] = node.inputs.as_slice() else { return None };
    let in_order = (&a.name, &b.name) == (first, second);
    let swapped = (&a.name, &b.name) == (second, first);
    (in_order || swapped).then(|| Binary { op: node.op.clone(), in_order })
}
