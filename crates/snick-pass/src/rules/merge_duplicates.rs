//! merge-duplicates: merges layers with equal ops and inputs.

use std::collections::HashMap;
use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hash, Hasher};

use snick_ir::ops::source::constant::Constant;
use snick_ir::rewrite::{Applied, Trace};
use snick_ir::{Graph, NodeId, Op, OpTraits, Value};

/// The name of the pass.
pub(crate) const NAME: &str = "merge-duplicates";

/// Maximum size in bytes of constants to compare.
const MAX_BYTES: usize = 4096;

/// Merges equal layers in topological order, at most `stop_after` of them. The caller removes dead nodes.
pub(crate) fn merge_duplicates(graph: &mut Graph, stop_after: Option<usize>) -> Trace {
    let mut trace = Trace::default();
    let Ok(order) = graph.order() else { return trace };
    // The map is never iterated, so its order does not matter.
    let mut seen: HashMap<u64, Vec<NodeId>> = HashMap::with_capacity(order.len());
    for id in order {
        let Some(key) = key(graph, id) else { continue };
        let alike = seen.entry(key).or_default();
        let same = alike.iter().copied().find(|&other| is_same(graph, id, other));
        let Some(first) = same else {
            alike.push(id);
            continue;
        };
        if stop_after.is_some_and(|most| trace.applied.len() >= most) {
            return trace;
        }
        let node = graph.node(id);
        let (layer, op) = (node.shared_name(), node.op().type_name().to_string());
        trace.applied.push(Applied { rule: NAME.into(), layer, op, exact: true });
        let values: Vec<_> =
            (0..).take(node.outs().len()).map(|port| Some(Value { node: first, port })).collect();
        graph.replace_outputs(id, &values);
    }
    trace
}

/// A hash of a layer; `None` for layers that must not be merged.
fn key(graph: &Graph, id: NodeId) -> Option<u64> {
    let op = graph.node(id).op();
    if op.has(OpTraits::ROOT) || !op.has(OpTraits::PURE) {
        return None;
    }
    hash_of(op, &graph.inputs(id))
}

/// A hash of an op with these inputs; `None` for large or absent constants.
pub(crate) fn hash_of(op: &Op, inputs: &[Option<Value>]) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    op.type_name().hash(&mut hasher);
    inputs.hash(&mut hasher);
    match op {
        Op::Const(Constant::Here(tensor)) => {
            let bytes = tensor.to_bytes();
            if bytes.len() > MAX_BYTES {
                return None;
            }
            (tensor.element_type().name(), tensor.dims(), bytes).hash(&mut hasher);
        }
        Op::Const(Constant::Absent(_)) => return None,
        Op::Slice(slice) => slice.hash(&mut hasher),
        op if op.has(OpTraits::HAS_BODIES) => {}
        // Includes attributes in the hash. Otherwise, layers that differ only in attributes would be compared
        // pairwise.
        op => drop(write!(Hashed(&mut hasher), "{:?}", op.attrs())),
    }
    Some(hasher.finish())
}

/// Hashes text as it is written.
struct Hashed<'h>(&'h mut DefaultHasher);

impl Write for Hashed<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.hash(self.0);
        Ok(())
    }
}

fn is_same(graph: &Graph, a: NodeId, b: NodeId) -> bool {
    let (first, second) = (graph.node(a), graph.node(b));
    first.op() == second.op()
        && graph.inputs(a) == graph.inputs(b)
        && first.outs().len() == second.outs().len()
}

#[cfg(test)]
mod tests {
    use crate::testing::{fires, silent};

    #[test]
    fn chains_of_duplicates_are_merged() {
        let text = fires(
            "merge-duplicates",
            "%x = Parameter-1 {element_type: f32, shape: \"8\"}
             %one = Const-1 f32[] <1.0>
             %uno = Const-1 f32[] <1.0>
             %a = Add-1(%x, %one)
             %b = Add-1(%x, %uno)
             %c = ReLU-1(%a)
             %d = ReLU-1(%b)
             %y = Result-1(%c)
             %z = Result-1(%d)",
        );
        assert!(text.contains("%z = Result-1(%c)"), "{text}");
    }

    #[test]
    fn different_layers_are_kept() {
        silent(
            "merge-duplicates",
            "%x = Parameter-1 {element_type: f32, shape: \"8\"}
             %w = Parameter-1 {element_type: f32, shape: \"8\"}
             %zero = Const-1 f32[] <0.0>
             %minus = Const-1 f32[] <-0.0>
             %a = Divide-1(%x, %zero)
             %b = Divide-1(%x, %minus)
             %c = slice(%x) {axes: [0], start: [0], len: [2], step: [1]}
             %d = slice(%x) {axes: [0], start: [0], len: [2], step: [2]}
             %e = Subtract-1(%x, %w)
             %f = Subtract-1(%w, %x)
             %r0 = Result-1(%a)
             %r1 = Result-1(%b)
             %r2 = Result-1(%c)
             %r3 = Result-1(%d)
             %r4 = Result-1(%e)
             %r5 = Result-1(%f)",
        );
    }

    #[test]
    fn large_constants_are_not_compared() {
        let twice = |len: usize| {
            let elements = vec!["1"; len].join(", ");
            format!(
                "%a = Const-1 i64[{len}] <{elements}>
                 %b = Const-1 i64[{len}] <{elements}>
                 %y = Result-1(%a)
                 %z = Result-1(%b)"
            )
        };
        let text = fires("merge-duplicates", &twice(512));
        assert!(text.contains("%z = Result-1(%a)"), "{text}");
        silent("merge-duplicates", &twice(513));
    }
}
