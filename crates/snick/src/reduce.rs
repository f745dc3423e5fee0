//! Reduces a graph while a test still fails on it.
//!
//! These changes are tried until none succeeds: remove Results; replace layers by Parameters of their inferred shape;
//! bypass layers that have an input of the type and shape of their output; shrink the sizes of Parameters.

use std::collections::{BTreeMap, BTreeSet};

use snick_ir::ops::source::parameter::Parameter;
use snick_ir::text::INLINE;
use snick_ir::{Graph, Node, NodeId, Op, Value, infer};
use snick_shape::{DimSpec, Interval, ShapeSpec};
use snick_tensor::ElementType;

/// The maximum number of rounds through all kinds of changes.
const MAX_ROUNDS: usize = 8;

/// The smallest graph found for which `fails` is true, as it is for `graph`, which is inferred. `fails` is called at
/// most `limit` times.
pub fn reduce(graph: &Graph, limit: usize, fails: &mut dyn FnMut(&Graph) -> bool) -> Graph {
    let mut reducer = Reducer {
        graph,
        current: Subgraph { results: graph.results().collect(), ..Subgraph::default() },
        fails,
        calls_left: limit,
    };
    for _ in 0..MAX_ROUNDS {
        let before = reducer.current.clone();
        reducer.drop_results();
        reducer.replace_layers();
        reducer.bypass_layers();
        reducer.shrink_sizes();
        if reducer.current == before {
            break;
        }
    }
    reducer.current.build(graph).unwrap_or_else(|| graph.clone())
}

/// A part of a graph.
#[derive(Clone, PartialEq, Debug, Default)]
struct Subgraph {
    /// The Results kept.
    results: Vec<NodeId>,
    /// Layers replaced by Parameters.
    replaced: BTreeSet<NodeId>,
    /// Bypassed values, and the values read instead.
    bypassed: BTreeMap<Value, Value>,
    /// New sizes of Parameters, by the original ones.
    sizes: BTreeMap<i64, i64>,
}

impl Subgraph {
    /// The value read instead of another. It comes before that, so this ends.
    fn resolve(&self, mut value: Value) -> Value {
        while let Some(&other) = self.bypassed.get(&value) {
            value = other;
        }
        value
    }

    /// The layers that the Results depend on, in order.
    fn needed(&self, graph: &Graph) -> Option<Vec<NodeId>> {
        let mut needed = BTreeSet::new();
        let mut todo = self.results.clone();
        while let Some(id) = todo.pop() {
            if needed.insert(id) && !self.replaced.contains(&id) {
                for input in graph.inputs(id) {
                    todo.push(self.resolve(input?).node);
                }
            }
        }
        let order = graph.order().ok()?;
        Some(order.into_iter().filter(|id| needed.contains(id)).collect())
    }

    /// Builds the graph; `None` if a layer cannot be replaced, its type or shape being unknown.
    fn build(&self, graph: &Graph) -> Option<Graph> {
        let mut small = Graph::new(graph.name.clone());
        let mut values: BTreeMap<Value, Value> = BTreeMap::new();
        let needed = self.needed(graph)?;
        let whole = needed.iter().filter(|id| !self.replaced.contains(id));
        let read: BTreeSet<Value> =
            whole.flat_map(|&id| graph.inputs(id)).flatten().map(|input| self.resolve(input)).collect();
        for id in needed {
            let node = graph.node(id);
            if self.replaced.contains(&id) {
                for port in (0..).take(node.outs().len()) {
                    let old = Value { node: id, port };
                    if !read.contains(&old) {
                        continue;
                    }
                    let Some(parameter) = self.parameter_for(graph, old) else { continue };
                    let name = if node.outs().len() > 1 {
                        format!("{}.{port}", node.name())
                    } else {
                        node.name().to_string()
                    };
                    let new = small.add(Node::new(name, Op::from(parameter)));
                    values.insert(old, Value { node: new, port: 0 });
                }
                continue;
            }
            let mut copy = node.to_node();
            if let Op::Parameter(parameter) = &mut copy.op {
                parameter.shape = self.resized(&parameter.shape);
                copy.outs.iter_mut().for_each(|out| out.declared = None);
            }
            let mut inputs = Vec::new();
            for input in graph.inputs(id) {
                inputs.push(*values.get(&self.resolve(input?))?);
            }
            let new = small.add_wired(copy, &inputs);
            for port in (0..).take(node.outs().len()) {
                values.insert(Value { node: id, port }, Value { node: new, port });
            }
        }
        // The failure may be that inference reports an error.
        infer(&mut small);
        Some(small)
    }

    /// A Parameter of the type and shape of a value.
    fn parameter_for(&self, graph: &Graph, value: Value) -> Option<Parameter> {
        let fact = graph.fact(value)?;
        let text = fact.shape.display_intervals(graph.symbols()).to_string();
        let shape = self.resized(&text.parse().ok()?);
        (fact.element_type != ElementType::Dynamic)
            .then_some(Parameter { element_type: fact.element_type, shape })
    }

    fn resized(&self, shape: &ShapeSpec) -> ShapeSpec {
        let ShapeSpec::Dims(dims) = shape else { return ShapeSpec::Unranked };
        let resized = |dim: &DimSpec| match dim {
            DimSpec::Interval(interval) => {
                let size = interval.is_exact().and_then(|size| self.sizes.get(&size));
                size.map_or(dim.clone(), |&size| DimSpec::Interval(Interval::exact(size)))
            }
            _ => dim.clone(),
        };
        ShapeSpec::Dims(dims.iter().map(resized).collect())
    }
}

struct Reducer<'g, 't> {
    graph: &'g Graph,
    current: Subgraph,
    fails: &'t mut dyn FnMut(&Graph) -> bool,
    calls_left: usize,
}

impl Reducer<'_, '_> {
    /// Accepts a smaller graph if the test still fails on it.
    fn accept(&mut self, smaller: Subgraph) -> bool {
        let Some(small) = smaller.build(self.graph).filter(|_| self.calls_left > 0) else { return false };
        self.calls_left -= 1;
        let fails = (self.fails)(&small);
        if fails {
            self.current = smaller;
        }
        fails
    }

    /// Removes items, many at once first, then fewer. `without` makes a smaller graph without some items, if possible.
    fn remove_items<T: Clone>(
        &mut self,
        mut items: Vec<T>,
        without: impl Fn(&Subgraph, &[T]) -> Option<Subgraph>,
    ) {
        let mut many = items.len();
        while many > 0 {
            let mut at = 0;
            while at < items.len() {
                let end = (at + many).min(items.len());
                let smaller = without(&self.current, &items[at..end]);
                if smaller.is_some_and(|smaller| self.accept(smaller)) {
                    items.drain(at..end);
                } else {
                    at = end;
                }
            }
            many /= 2;
        }
    }

    fn drop_results(&mut self) {
        self.remove_items(self.current.results.clone(), |smaller, removed| {
            let results: Vec<NodeId> =
                smaller.results.iter().copied().filter(|id| !removed.contains(id)).collect();
            // One must be left to show the failure.
            (!results.is_empty()).then(|| Subgraph { results, ..smaller.clone() })
        });
    }

    /// Replaces layers, in order, and constants too large to be printed.
    fn replace_layers(&mut self) {
        let Some(needed) = self.current.needed(self.graph) else { return };
        let is_replaceable = |id: &NodeId| match self.graph.node(*id).op() {
            Op::Parameter(_) | Op::Result(_) | Op::Assign(_) => false,
            Op::Const(constant) => constant.dims().iter().product::<usize>() > INLINE,
            _ => true,
        };
        let layers = needed
            .into_iter()
            .filter(|id| !self.current.replaced.contains(id))
            .filter(is_replaceable)
            .collect();
        self.remove_items(layers, |smaller, removed| {
            let mut smaller = smaller.clone();
            smaller.replaced.extend(removed);
            Some(smaller)
        });
    }

    fn bypass_layers(&mut self) {
        let Some(needed) = self.current.needed(self.graph) else { return };
        for id in needed {
            if self.current.replaced.contains(&id) {
                continue;
            }
            let out = Value { node: id, port: 0 };
            let same = self.graph.inputs(id).into_iter().flatten().find(|&input| {
                let (Some(a), Some(b)) = (self.graph.fact(input), self.graph.fact(out)) else { return false };
                a.element_type == b.element_type && a.shape == b.shape && a.shape.dims().is_some()
            });
            if let Some(input) = same {
                let mut smaller = self.current.clone();
                smaller.bypassed.insert(out, smaller.resolve(input));
                self.accept(smaller);
            }
        }
    }

    fn shrink_sizes(&mut self) {
        let Some(small) = self.current.build(self.graph) else { return };
        let mut sizes = BTreeSet::new();
        for id in small.parameters() {
            let dims = small.node(id).outs().first().and_then(|out| out.fact.shape.as_static());
            sizes.extend(dims.iter().flatten().map(|&size| size as i64));
        }
        for size in sizes.into_iter().rev().filter(|&size| size > 1) {
            for target in [1, 2, 3, size / 2] {
                let mut smaller = self.current.clone();
                // A size that was shrunk before is shrunk further.
                let was: Vec<i64> =
                    smaller.sizes.iter().filter(|(_, now)| **now == size).map(|(was, _)| *was).collect();
                smaller.sizes.extend(was.into_iter().chain([size]).map(|was| (was, target)));
                if target < size && self.accept(smaller) {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn irrelevant_layers_are_removed() {
        let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4,64\"}\n  \
                    %w = Parameter-1 {element_type: f32, shape: \"4,64\"}\n  %a = ReLU-1(%x)\n  %b = Add-1(%a, %w)\n  \
                    %c = Abs-1(%b)\n  %d = Floor-1(%c)\n  %e = Sqrt-1(%d)\n  %y = Result-1(%e)\n  %z = Result-1(%a)\n}\n";
        let mut graph = snick_ir::text::parse(text, None).unwrap();
        assert!(infer(&mut graph).is_empty());
        let has = |graph: &Graph, name: &str| graph.ids().any(|id| graph.node(id).op().type_name() == name);
        let mut calls = 0;
        let small = reduce(&graph, 1000, &mut |graph| {
            calls += 1;
            has(graph, "Floor") && has(graph, "Abs")
        });
        assert_eq!(small.len(), 4, "a Parameter, Abs, Floor and a Result");
        let parameter = small.parameters().next().unwrap();
        assert_eq!(small.node(parameter).outs()[0].fact.shape.as_static().unwrap().as_slice(), [1, 1]);
        assert!(calls < 100, "{calls}");
        assert_eq!(
            reduce(&graph, 0, &mut |_| true),
            Subgraph { results: graph.results().collect(), ..Subgraph::default() }.build(&graph).unwrap()
        );
    }
}
