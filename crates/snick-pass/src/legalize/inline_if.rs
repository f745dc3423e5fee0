//! inline-if: if the condition of an If is known, replaces the If with the layers of the branch that runs.
//!
//! Exporters write patterns like `If(Equal(Shape(x)[1], 1), Squeeze(x), x)`. The condition is known as soon
//! as the sizes are known.

use std::collections::HashMap;

use snick_ir::ops::control::subgraph::SubGraph;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Fact, Graph, NodeId, Op, OpError, OpTraits, Value};

/// Replaces an If with one of its branches. Keeps the known facts of the outputs: inferring them again would
/// create new symbols for data-dependent sizes.
pub const RULE: Rule = Rule::for_target("inline-if", |patch| apply(patch, false));

/// The same rule for an If with inputs or outputs of f16 or bf16. A session computes such values in f32, and
/// rounds them when they enter or leave a body.
pub const HALVES: Rule =
    Rule::exact("inline-if-of-halves", |patch| apply(patch, true)).may_round_within(1e-5, 0.0);

fn reads_or_gives_halves(patch: &Patch) -> bool {
    let node = patch.node();
    let inputs = node.inputs().filter_map(|value| patch.graph().fact(value));
    inputs.chain(node.outputs()).any(|fact| fact.element_type.is_half())
}

/// Inlines an If with a known condition. If `halves`, only matches an If with inputs or outputs of f16 or
/// bf16; otherwise, only an If without any.
fn apply(patch: &mut Patch, halves: bool) -> Result<RewriteResult, OpError> {
    let Op::SubGraph(op) = patch.node().op() else { return Ok(RewriteResult::NoMatch) };
    if reads_or_gives_halves(patch) != halves {
        return Ok(RewriteResult::NoMatch);
    }
    let taken = op.taken(patch.fact(patch.input(0)?)?);
    // An If with stateful layers is not inlined.
    let taken = taken.filter(|_| !patch.node().op().has(OpTraits::STATEFUL));
    let Some(taken) = taken else { return Ok(RewriteResult::NoMatch) };
    let op = op.clone();
    let inlined = Inlining { patch, op: &op, taken, values: HashMap::new() }.run();
    Ok(inlined.unwrap_or_else(|error| RewriteResult::declined(error.to_string())))
}

/// Inlines a branch into the enclosing graph.
struct Inlining<'i, 'g> {
    patch: &'i mut Patch<'g>,
    op: &'i SubGraph,
    /// The index of the branch.
    taken: usize,
    /// For each value of the branch, the corresponding value of the enclosing graph.
    values: HashMap<Value, Value>,
}

impl Inlining<'_, '_> {
    fn run(mut self) -> Result<RewriteResult, OpError> {
        let op = self.op;
        let (Some(body), Some(map)) = (op.bodies.get(self.taken), op.maps.get(self.taken)) else {
            return Ok(RewriteResult::NoMatch);
        };
        for (number, id) in body.parameters().enumerate() {
            let link = map.inputs.iter().find(|link| link.internal == number);
            let outside = link.and_then(|link| self.patch.try_input(link.external?));
            if let Some(outside) = outside {
                self.values.insert(Value { node: id, port: 0 }, outside);
            }
        }
        let order = body.order().map_err(|cycle| OpError::Inside(Box::new(cycle)))?;
        for id in order {
            if !matches!(body.node(id).op(), Op::Parameter(_) | Op::Result(_)) {
                self.layer(body, id)?;
            }
        }
        let results: Vec<NodeId> = body.results().collect();
        let mut replaced = vec![None; op.outputs()];
        for link in &map.outputs {
            let result = results.get(link.internal).and_then(|&id| body.node(id).input(0));
            if let Some(slot) = link.external.and_then(|port| replaced.get_mut(port)) {
                *slot = Some(self.outside(result, 0)?);
            }
        }
        Ok(RewriteResult::Replaced(replaced))
    }

    /// Adds a layer of the branch. Prefixes its name with the name of the If, and drops tensor names, because
    /// they could clash with names in the enclosing graph.
    fn layer(&mut self, body: &Graph, id: NodeId) -> Result<(), OpError> {
        let inputs = body.inputs(id).into_iter().enumerate();
        let inputs = inputs.map(|(port, value)| self.outside(value, port)).collect::<Result<Vec<_>, _>>()?;
        let mut node = body.node(id).to_node();
        let scope = format!("{}/", self.patch.node().name());
        if !node.name.starts_with(&scope) {
            node.name = format!("{scope}{}", node.name).into();
        }
        for out in &mut node.outs {
            out.fact = Fact::unknown();
            out.names.clear();
        }
        let outputs = body.used_outputs(id).len();
        let added = self.patch.add_node(node, &inputs, outputs)?;
        for port in (0..).take(outputs) {
            self.values.insert(Value { node: id, port }, Value { node: added, port });
        }
        Ok(())
    }

    fn outside(&self, value: Option<Value>, port: usize) -> Result<Value, OpError> {
        value.and_then(|value| self.values.get(&value)).copied().ok_or(OpError::NotConnected { port })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{fires, silent};

    /// An If with two inputs and two branches, which both define `%y`.
    fn layers(condition: &str, then: &str, otherwise: &str) -> String {
        format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"N,1,3\"}}
             %z = Parameter-1 {{element_type: f32, shape: \"N,3\"}}
             %p = Parameter-1 {{element_type: boolean, shape: \"\"}}
             {condition}
             %if = If-8(%c, %x, %z) {{inputs: [\"1 -> 0\", \"2 -> 1\"], outputs: [\"0 -> 0\"], back_edges: [],
             else_inputs: [\"1 -> 0\", \"2 -> 1\"], else_outputs: [\"0 -> 0\"], else_back_edges: []}} : f32[?,3] \"named\"
             then_body graph \"\" {{
             %x = Parameter-1 {{element_type: f32, shape: \"...\"}}
             %z = Parameter-1 {{element_type: f32, shape: \"...\"}}
             {then}
             %r = Result-1(%y)
             }}
             else_body graph \"\" {{
             %x = Parameter-1 {{element_type: f32, shape: \"...\"}}
             %z = Parameter-1 {{element_type: f32, shape: \"...\"}}
             {otherwise}
             %r = Result-1(%y)
             }}
             %out = ReLU-1(%if)
             %r = Result-1(%out)"
        )
    }

    const SQUEEZE: &str = "%one = Const-1 i64[1] <1>\n%y = Squeeze-1(%x, %one)";
    const SUM: &str = "%s = Add-1(%z, %z)\n%y = Multiply-1(%s, %z)";
    const IS_ONE: &str = "%shape = ShapeOf-3(%x) {output_type: i64}\n%at = Const-1 i64[] <1>\n\
                          %zero = Const-1 i64[] <0>\n%dim = Gather-8(%shape, %at, %zero)\n\
                          %one = Const-1 i64[] <1>\n%c = Equal-1(%dim, %one)";
    const NEVER: &str = "%c = Const-1 boolean[] <0>";

    #[test]
    fn the_branch_of_a_known_condition_replaces_the_if() {
        let text = fires("inline-if", &layers(IS_ONE, SQUEEZE, SUM));
        assert!(!text.contains("If-8") && !text.contains("Multiply"), "{text}");
        assert!(text.contains("%if = Squeeze-1(%x, %if/one)") && text.contains("\"named\""), "{text}");
        let text = fires("inline-if", &layers(NEVER, SQUEEZE, SUM));
        assert!(
            text.contains("%if/s = Add-1(%z, %z)") && text.contains("%if = Multiply-1(%if/s, %z)"),
            "{text}"
        );
    }

    #[test]
    fn an_output_may_be_captured_or_constant() {
        let text = fires("inline-if", &layers(NEVER, SQUEEZE, "%y = Convert-1(%z) {destination_type: f32}"));
        assert!(text.contains("%if = Convert-1(%z)"), "{text}");
        let captured = layers(NEVER, SQUEEZE, "").replace(
            "Result-1(%y)\n             }\n             %out",
            "Result-1(%z)\n             }\n             %out",
        );
        let text = fires("inline-if", &captured);
        assert!(text.contains("%out = ReLU-1(%z)"), "{text}");
        let text = fires("inline-if", &layers(NEVER, SQUEEZE, "%y = Const-1 f32[2] <1.5, -2.0>"));
        assert!(text.contains("%if = Const-1 f32[2] <1.5, -2.0>"), "{text}");
    }

    #[test]
    fn nested_ifs_are_inlined() {
        let inner = "%t = Const-1 boolean[] <1>
             %y = If-8(%t, %z) {inputs: [\"1 -> 0\"], outputs: [\"0 -> 0\"], back_edges: [],
             else_inputs: [\"1 -> 0\"], else_outputs: [\"0 -> 0\"], else_back_edges: []}
             then_body graph \"\" {
             %z = Parameter-1 {element_type: f32, shape: \"...\"}
             %y = Negative-1(%z)
             %r = Result-1(%y)
             }
             else_body graph \"\" {
             %z = Parameter-1 {element_type: f32, shape: \"...\"}
             %y = Exp-1(%z)
             %r = Result-1(%y)
             }";
        let text = fires("inline-if", &layers(NEVER, SQUEEZE, inner));
        assert!(text.contains("%if = Negative-1(%z)"), "{text}");
    }

    #[test]
    fn halves_are_rounded_at_the_ends_of_a_branch() {
        let halves = layers(NEVER, SQUEEZE, SUM).replace("f32", "f16");
        silent("inline-if", &halves);
        let text = fires("inline-if-of-halves", &halves);
        assert!(text.contains("%if = Multiply-1(%if/s, %z)"), "{text}");
    }

    #[test]
    fn an_if_of_an_unknown_condition_stays() {
        silent("inline-if", &layers("%c = Convert-1(%p) {destination_type: boolean}", SQUEEZE, SUM));
    }
}
