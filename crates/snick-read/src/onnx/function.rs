//! Functions of the model, which are inlined where they are called.

use snick_ir::Value;
use snick_onnx as onnx;

use super::attribute::resolved;
use super::network::{CallSite, Network, Scope};
use super::opsets::opsets;

/// Maximum depth of function calls. ONNX does not allow recursion.
const MAX_DEPTH: usize = 32;

/// Maximum number of inlined nodes. With nested calls, the number can grow exponentially.
const MAX_NODES: usize = 1 << 18;

impl<'m> Network<'m> {
    /// Inlines `function` for the node `call`, and returns the outputs.
    pub(super) fn call(
        &mut self,
        function: &'m onnx::Function,
        call: &'m onnx::Node,
        name: &str,
        inputs: Vec<Option<Value>>,
        place: &CallSite,
    ) -> Result<Vec<Option<Value>>, String> {
        let op = &call.op_type;
        if place.depth >= MAX_DEPTH {
            return Err(format!("node `{name}` ({op}): calls are nested deeper than {MAX_DEPTH}"));
        }
        self.inlined = self.inlined.saturating_add(function.node.len().saturating_add(1));
        if self.inlined > MAX_NODES {
            return Err(format!("node `{name}` ({op}): calls give more than {MAX_NODES} nodes"));
        }
        if inputs.len() > function.input.len() {
            let (got, takes) = (inputs.len(), function.input.len());
            return Err(format!("node `{name}` ({op}): {got} inputs, the function takes {takes}"));
        }
        let inputs = inputs.into_iter().chain(std::iter::repeat(None));
        let mut scope: Scope = function.input.iter().cloned().zip(inputs).collect();
        let mut given: Vec<onnx::Attribute> = resolved(&call.attribute, place.given)
            .map(|(name, attribute)| onnx::Attribute { name: name.to_string(), ..attribute.clone() })
            .collect();
        let defaults = function.attribute_proto.iter();
        let defaults: Vec<_> =
            defaults.filter(|d| !given.iter().any(|g| g.name == d.name)).cloned().collect();
        given.extend(defaults);
        let own = opsets(&function.opset_import).map_err(|e| format!("function `{}`: {e}", function.name))?;
        let opsets = if own.is_empty() { place.opsets } else { &own };
        let prefix = format!("{name}/");
        let inside = CallSite { opsets, given: &given, prefix: &prefix, depth: place.depth + 1 };
        self.nodes(&function.node, &mut scope, &inside)?;
        let outputs = function.output.iter().map(|output| match scope.get(output) {
            Some(&value) => Ok(value),
            None => Err(format!("function `{}`: no node computes its output `{output}`", function.name)),
        });
        outputs.collect()
    }
}
