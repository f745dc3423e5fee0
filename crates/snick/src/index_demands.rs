//! Conditions on computed indices: an axis must be longer than the largest index into it. For example, if a
//! model looks up positions from a Range in a mask, the mask must cover all positions of the Range.

use std::collections::HashMap;

use snick_ir::{Condition, Graph, IntegerRole, NodeId, Op, OpTraits, Value};
use snick_shape::SymExpr;
use snick_tensor::kernels::BinaryOp;

/// Maximum number of layers to look through between an index and the sizes that it depends on.
const MAX_LAYERS: usize = 32;

/// For each computed index, the condition that the axis is longer than the largest index. Skips indices with
/// known elements.
pub(crate) fn index_demands(graph: &Graph, roles: &[(NodeId, u32, IntegerRole)]) -> Vec<Condition> {
    let mut largest = LargestIntegers { graph, known: HashMap::new() };
    let demand = |(node, port, role): &(NodeId, u32, IntegerRole)| {
        let IntegerRole::Index(size) = role else { return None };
        let indices = graph.node(*node).input(usize::try_from(*port).ok()?)?;
        if graph.fact(indices)?.elements().is_some() {
            return None;
        }
        let room = graph.symbols().sub(size, &largest.of(indices, 0)?)?;
        room.as_const().is_none().then_some(Condition::AtLeast(room, 1))
    };
    roles.iter().filter_map(demand).collect()
}

/// The largest element of each nonnegative integer value, if it can be expressed in terms of sizes.
struct LargestIntegers<'g> {
    graph: &'g Graph,
    known: HashMap<Value, Option<SymExpr>>,
}

impl LargestIntegers<'_> {
    fn of(&mut self, value: Value, layers: usize) -> Option<SymExpr> {
        if let Some(known) = self.known.get(&value) {
            return known.clone();
        }
        let found = if layers < MAX_LAYERS { self.find(value, layers + 1) } else { None };
        self.known.insert(value, found.clone());
        found
    }

    fn find(&mut self, value: Value, layers: usize) -> Option<SymExpr> {
        let (graph, symbols) = (self.graph, self.graph.symbols());
        let fact = graph.fact(value)?;
        if let Some(elements) = fact.elements() {
            let is_index = elements.iter().all(|element| symbols.interval(element).lo() >= 0);
            let mut elements = elements.into_iter().filter(|_| is_index);
            let first = elements.next()?;
            return elements.try_fold(first, |most, element| symbols.max(&most, &element));
        }
        if !fact.element_type().is_integer() {
            return None;
        }
        let node = graph.node(value.node);
        let number = |port: usize| match graph.fact(node.input(port)?)?.elements()?.as_slice() {
            [number] => Some(number.clone()),
            _ => None,
        };
        match node.op() {
            Op::Range(_) => {
                let (start, step) = (number(0)?, number(2)?.as_const()?);
                let is_upwards = step > 0 && symbols.interval(&start).lo() >= 0;
                is_upwards.then_some(())?;
                symbols.sub(&number(1)?, &1.into())
            }
            Op::Arithmetic(op) => {
                let [a, b] = [0, 1].map(|port| self.of(node.input(port)?, layers));
                match op.function {
                    BinaryOp::Add => symbols.add(&a?, &b?),
                    BinaryOp::Mul => symbols.mul(&a?, &b?),
                    _ => None,
                }
            }
            Op::Concat(_) => {
                let mut parts = graph.inputs(value.node).into_iter().map(|part| self.of(part?, layers));
                let first = parts.next()??;
                parts.try_fold(first, |most, part| symbols.max(&most, &part?))
            }
            op if op.has(OpTraits::MOVES_ELEMENTS) || matches!(op, Op::Convert(_) | Op::Identity(_)) => {
                self.of(node.input(0)?, layers)
            }
            _ => None,
        }
    }
}
