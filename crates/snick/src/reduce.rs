//! Shrinking a graph while something stays wrong with it.
//!
//! What is tried, again and again until nothing more can go: fewer Results; layers cut off, so that a Parameter of the
//! known shape stands in their place; layers passed by, where an input has the type and shape of the output; smaller
//! sizes of the Parameters. A trial counts if the caller's test says that what was wrong still is.

use std::collections::{BTreeMap, BTreeSet};

use snick_ir::ops::source::parameter::Parameter;
use snick_ir::text::INLINE;
use snick_ir::{Graph, Node, NodeId, Op, Value, infer};
use snick_shape::{DimSpec, Interval, ShapeSpec};
use snick_tensor::ElementType;

/// Rounds through all kinds of trials.
const MAX_ROUNDS: usize = 8;

/// The smallest graph found for which `still_wrong` says yes. The graph is inferred, and wrong as it is; `still_wrong`
/// is asked at most `most` times.
pub fn reduce(graph: &Graph, most: usize, still_wrong: &mut dyn FnMut(&Graph) -> bool) -> Graph {
    let mut reducer = Reducer {
        graph,
        plan: Cut { results: graph.results().collect(), ..Cut::default() },
        still_wrong,
        left: most,
    };
    for _ in 0..MAX_ROUNDS {
        let before = reducer.plan.clone();
        reducer.drop_results();
        reducer.cut_layers();
        reducer.pass_layers_by();
        reducer.shrink_sizes();
        if reducer.plan == before {
            break;
        }
    }
    reducer.plan.build(graph).unwrap_or_else(|| graph.clone())
}

/// What is left of a graph.
#[derive(Clone, PartialEq, Debug, Default)]
struct Cut {
    /// Results that stay.
    results: Vec<NodeId>,
    /// Layers that became Parameters.
    cuts: BTreeSet<NodeId>,
    /// Values that another stands in for.
    passed: BTreeMap<Value, Value>,
    /// Sizes of Parameters, by what they were.
    sizes: BTreeMap<i64, i64>,
}

impl Cut {
    /// The value that stands for another. What stands in for something comes before it, so this ends.
    fn resolve(&self, mut value: Value) -> Value {
        while let Some(&other) = self.passed.get(&value) {
            value = other;
        }
        value
    }

    /// The layers that lead to the Results, in order.
    fn needed(&self, graph: &Graph) -> Option<Vec<NodeId>> {
        let mut needed = BTreeSet::new();
        let mut todo = self.results.clone();
        while let Some(id) = todo.pop() {
            if needed.insert(id) && !self.cuts.contains(&id) {
                for input in graph.inputs(id) {
                    todo.push(self.resolve(input?).node);
                }
            }
        }
        let order = graph.order().ok()?;
        Some(order.into_iter().filter(|id| needed.contains(id)).collect())
    }

    /// The graph that is left; `None` where a layer cannot be cut off, its type or shape being unknown.
    fn build(&self, graph: &Graph) -> Option<Graph> {
        let mut small = Graph::new(graph.name.clone());
        let mut values: BTreeMap<Value, Value> = BTreeMap::new();
        let needed = self.needed(graph)?;
        let whole = needed.iter().filter(|id| !self.cuts.contains(id));
        let read: BTreeSet<Value> =
            whole.flat_map(|&id| graph.inputs(id)).flatten().map(|input| self.resolve(input)).collect();
        for id in needed {
            let node = graph.node(id);
            if self.cuts.contains(&id) {
                for port in (0..).take(node.outs.len()) {
                    let old = Value { node: id, port };
                    if !read.contains(&old) {
                        continue;
                    }
                    let Some(parameter) = self.parameter_for(graph, old) else { continue };
                    let name = if node.outs.len() > 1 {
                        format!("{}.{port}", node.name)
                    } else {
                        node.name.to_string()
                    };
                    let new = small.add(Node::new(name, Op::from(parameter)));
                    values.insert(old, Value { node: new, port: 0 });
                }
                continue;
            }
            let mut copy = node.clone();
            if let Op::Parameter(parameter) = &mut copy.op {
                parameter.shape = self.resized(&parameter.shape);
                copy.outs.iter_mut().for_each(|out| out.declared = None);
            }
            let mut inputs = Vec::new();
            for input in graph.inputs(id) {
                inputs.push(*values.get(&self.resolve(input?))?);
            }
            let new = small.add_wired(copy, &inputs);
            for port in (0..).take(node.outs.len()) {
                values.insert(Value { node: id, port }, Value { node: new, port });
            }
        }
        // What is wrong may be just that it cannot be inferred.
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
            DimSpec::Symbol { .. } => dim.clone(),
        };
        ShapeSpec::Dims(dims.iter().map(resized).collect())
    }
}

struct Reducer<'g, 't> {
    graph: &'g Graph,
    plan: Cut,
    still_wrong: &'t mut dyn FnMut(&Graph) -> bool,
    /// How many more times the test may be asked.
    left: usize,
}

impl Reducer<'_, '_> {
    /// Takes the plan if what was wrong still is.
    fn take(&mut self, plan: Cut) -> bool {
        let Some(small) = plan.build(self.graph).filter(|_| self.left > 0) else { return false };
        self.left -= 1;
        let is_wrong = (self.still_wrong)(&small);
        if is_wrong {
            self.plan = plan;
        }
        is_wrong
    }

    /// Takes items away, many at once first, then fewer. `change` makes of the plan one without them, if there is one.
    fn take_away<T: Clone>(&mut self, mut items: Vec<T>, change: impl Fn(&Cut, &[T]) -> Option<Cut>) {
        let mut many = items.len();
        while many > 0 {
            let mut at = 0;
            while at < items.len() {
                let end = (at + many).min(items.len());
                let plan = change(&self.plan, &items[at..end]);
                if plan.is_some_and(|plan| self.take(plan)) {
                    items.drain(at..end);
                } else {
                    at = end;
                }
            }
            many /= 2;
        }
    }

    fn drop_results(&mut self) {
        self.take_away(self.plan.results.clone(), |plan, gone| {
            let results: Vec<NodeId> = plan.results.iter().copied().filter(|id| !gone.contains(id)).collect();
            // One of them has to show what is wrong.
            (!results.is_empty()).then(|| Cut { results, ..plan.clone() })
        });
    }

    /// Layers, first those before the others; and constants too large to be written out.
    fn cut_layers(&mut self) {
        let Some(needed) = self.plan.needed(self.graph) else { return };
        let can_cut = |id: &NodeId| match &self.graph.node(*id).op {
            Op::Parameter(_) | Op::Result(_) | Op::Assign(_) => false,
            Op::Const(constant) => constant.dims().iter().product::<usize>() > INLINE,
            _ => true,
        };
        let layers = needed.into_iter().filter(|id| !self.plan.cuts.contains(id)).filter(can_cut).collect();
        self.take_away(layers, |plan, gone| {
            let mut plan = plan.clone();
            plan.cuts.extend(gone);
            Some(plan)
        });
    }

    fn pass_layers_by(&mut self) {
        let Some(needed) = self.plan.needed(self.graph) else { return };
        for id in needed {
            if self.plan.cuts.contains(&id) {
                continue;
            }
            let out = Value { node: id, port: 0 };
            let same = self.graph.inputs(id).into_iter().flatten().find(|&input| {
                let (Some(a), Some(b)) = (self.graph.fact(input), self.graph.fact(out)) else { return false };
                a.element_type == b.element_type && a.shape == b.shape && a.shape.dims().is_some()
            });
            if let Some(input) = same {
                let mut plan = self.plan.clone();
                plan.passed.insert(out, plan.resolve(input));
                self.take(plan);
            }
        }
    }

    fn shrink_sizes(&mut self) {
        let Some(small) = self.plan.build(self.graph) else { return };
        let mut sizes = BTreeSet::new();
        for id in small.parameters() {
            let dims = small.node(id).outs.first().and_then(|out| out.fact.shape.as_static());
            sizes.extend(dims.into_iter().flatten().map(|size| size as i64));
        }
        for size in sizes.into_iter().rev().filter(|&size| size > 1) {
            for smaller in [1, 2, 3, size / 2] {
                let mut plan = self.plan.clone();
                // Sizes that were shrunk before are shrunk further.
                let was: Vec<i64> =
                    plan.sizes.iter().filter(|(_, now)| **now == size).map(|(was, _)| *was).collect();
                plan.sizes.extend(was.into_iter().chain([size]).map(|was| (was, smaller)));
                if smaller < size && self.take(plan) {
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
    fn what_does_not_matter_goes() {
        let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4,64\"}\n  \
                    %w = Parameter-1 {element_type: f32, shape: \"4,64\"}\n  %a = ReLU-1(%x)\n  %b = Add-1(%a, %w)\n  \
                    %c = Abs-1(%b)\n  %d = Floor-1(%c)\n  %e = Sqrt-1(%d)\n  %y = Result-1(%e)\n  %z = Result-1(%a)\n}\n";
        let mut graph = snick_ir::text::parse(text, None).unwrap();
        assert!(infer(&mut graph).is_empty());
        let has = |graph: &Graph, name: &str| graph.ids().any(|id| graph.node(id).op.type_name() == name);
        let mut asked = 0;
        let small = reduce(&graph, 1000, &mut |graph| {
            asked += 1;
            has(graph, "Floor") && has(graph, "Abs")
        });
        assert_eq!(small.len(), 4, "a Parameter, Abs, Floor and a Result");
        let parameter = small.parameters().next().unwrap();
        assert_eq!(small.node(parameter).outs[0].fact.shape.as_static().unwrap().as_slice(), [1, 1]);
        assert!(asked < 100, "{asked}");
        assert_eq!(
            reduce(&graph, 0, &mut |_| true),
            Cut { results: graph.results().collect(), ..Cut::default() }.build(&graph).unwrap()
        );
    }
}
