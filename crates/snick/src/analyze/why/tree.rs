//! Traces a size or an element back to the layers where its symbols originate.

use std::collections::HashSet;

use snick_ir::{Dependencies, Fact, Graph, NodeId, Op, Part, Value, ValuePart};
use snick_shape::{SymExpr, SymbolId};

use super::super::BirthKind;
use super::super::symbols::Births;
use super::{Place, Role, Why, WhyNode, is_known};

/// Maximum depth of a tree. At this depth, a node lists the origins of its symbols directly as leaves.
const MAX_DEPTH: usize = 100;

/// Maximum number of inner nodes of a tree.
const MAX_COMPUTED: usize = 500;

/// The reason of leaves whose number the layer determines independently of its inputs.
const SET_BY_LAYER: &str = "the layer itself sets it";

/// Builds the trees that explain the sizes and elements of one graph.
pub(crate) struct Tracer<'g> {
    graph: &'g Graph,
    births: Births<'g>,
    dependencies: Dependencies<'g>,
    computed: usize,
}

impl<'g> Tracer<'g> {
    pub(crate) fn new(graph: &'g Graph) -> Self {
        let (births, dependencies) = (Births::new(graph), Dependencies::new(graph));
        Self { graph, births, dependencies, computed: 0 }
    }

    /// Explains a part. The value must have this part.
    pub(super) fn why(&mut self, of: ValuePart) -> Why {
        let tree = self.tree(of);
        let expr = self.expr(of.value, of.part);
        let target = Place::of(self.graph, of);
        Why { tree, target, known: is_known(self.graph, &expr, &self.births), suggestions: Vec::new() }
    }

    /// The inputs of the same layer, with their parts, that a part of an output comes from. This is one part
    /// if the layer passes it on, otherwise all parts that it is computed from. The list is empty for
    /// declared parts, constants and new symbols.
    #[cfg(feature = "view")]
    pub(crate) fn hop(&mut self, of: ValuePart) -> Vec<ValuePart> {
        let (value, part) = (of.value, of.part);
        let expr = self.expr(value, part);
        if self.leaf(value, part, &expr).is_some() {
            return Vec::new();
        }
        let sources = match self.same_symbols(value, part, &expr) {
            Some(same) => vec![same],
            None => self.sources(value, part, &expr),
        };
        sources.into_iter().map(|(value, part)| ValuePart::new(value, part)).collect()
    }

    /// The tree that explains a part of a value.
    pub(super) fn tree(&mut self, of: ValuePart) -> WhyNode {
        self.computed = 0;
        self.node(of.value, of.part, 1)
    }

    /// The input parts that cause the error of a layer, if they can be determined.
    pub(super) fn clash(&mut self, node: NodeId) -> Vec<(usize, Part)> {
        self.dependencies.of_error(node)
    }

    fn fact(&self, value: Value) -> Option<&'g Fact> {
        self.graph.fact(value)
    }

    fn expr(&self, value: Value, part: Part) -> SymExpr {
        self.fact(value).and_then(|fact| part.of(fact)).unwrap_or_else(|| SymExpr::from(0))
    }

    /// The tree for a part. Its root is the layer that creates the part.
    fn node(&mut self, value: Value, part: Part, depth: usize) -> WhyNode {
        let (value, part, inputs) = self.maker(value, part);
        let expr = self.expr(value, part);
        if let Some(leaf) = self.leaf(value, part, &expr) {
            return leaf;
        }
        let mut from: Vec<WhyNode> = Vec::new();
        let born: Vec<SymbolId> = expr
            .symbols()
            .into_iter()
            .filter(|&symbol| self.births.node(symbol) == Some(value.node))
            .collect();
        self.computed += 1;
        if depth < MAX_DEPTH && self.computed <= MAX_COMPUTED {
            for (value, part) in inputs {
                from.push(self.node(value, part, depth + 1));
            }
            from.extend(born.iter().map(|&symbol| self.birth(symbol)));
        }
        let explained = |symbol: SymbolId| {
            let label = self.graph.symbols().label(symbol);
            from.iter().any(|node| mentions(&node.expr, &label))
        };
        let missing: Vec<_> = expr.symbols().into_iter().filter(|&symbol| !explained(symbol)).collect();
        from.extend(missing.into_iter().map(|symbol| self.birth(symbol)));
        match from.is_empty() {
            true => self.leaf_of(value, part, Role::Constant, Some(SET_BY_LAYER.into())),
            false => WhyNode { from, ..self.leaf_of(value, part, Role::Computed, None) },
        }
    }

    /// Finds the layer that creates a part: moves upstream as long as a layer only passes on a part of one of
    /// its inputs. Also returns the input parts that the creating layer computes the part from.
    fn maker(&mut self, mut value: Value, mut part: Part) -> (Value, Part, Vec<(Value, Part)>) {
        let mut seen = HashSet::new();
        loop {
            let expr = self.expr(value, part);
            if !seen.insert((value, part)) || self.is_birth(value.node, &expr) {
                return (value, part, Vec::new());
            }
            if let Some(same) = self.same_symbols(value, part, &expr) {
                (value, part) = same;
                continue;
            }
            let sources = self.sources(value, part, &expr);
            match sources.as_slice() {
                &[(input, of)] if self.expr(input, of) == expr => (value, part) = (input, of),
                _ => return (value, part, sources),
            }
        }
    }

    fn is_birth(&self, node: NodeId, expr: &SymExpr) -> bool {
        expr.as_symbol().is_some_and(|symbol| self.births.node(symbol) == Some(node))
    }

    /// The input part with the same symbolic expression. Prefers the same axis of an input of the same rank.
    fn same_symbols(&self, value: Value, part: Part, expr: &SymExpr) -> Option<(Value, Part)> {
        if expr.as_const().is_some() {
            return None;
        }
        let rank = self.fact(value)?.shape().rank();
        let mut found = None;
        for input in self.inputs(value.node) {
            let Some(fact) = self.fact(input) else { continue };
            for of in Part::all(fact).filter(|of| of.of(fact).as_ref() == Some(expr)) {
                if of == part && fact.shape().rank() == rank {
                    return Some((input, of));
                }
                found = found.or(Some((input, of)));
            }
        }
        found
    }

    /// The values at the connected inputs of a layer.
    fn inputs(&self, node: NodeId) -> Vec<Value> {
        self.graph.inputs(node).into_iter().flatten().collect()
    }

    /// The input parts of a layer that a part of its output is computed from.
    fn sources(&mut self, value: Value, part: Part, expr: &SymExpr) -> Vec<(Value, Part)> {
        let inputs = self.graph.inputs(value.node);
        let depends = self.dependencies.of(ValuePart::new(value, part));
        let depends: Vec<(Value, Part)> =
            depends.into_iter().filter_map(|(i, part)| Some((inputs.get(i).copied()??, part))).collect();
        if expr.as_const().is_some() {
            return match depends.is_empty() {
                true => self.equal_sizes(value, part, expr),
                false => depends,
            };
        }
        let wanted = expr.symbols();
        let mut sources: Vec<(Value, Part)> = Vec::new();
        let mut missing: Vec<SymbolId> =
            wanted.into_iter().filter(|&symbol| self.births.node(symbol) != Some(value.node)).collect();
        // Known dependencies come first, then all other input parts. A part is listed only if it contains a
        // symbol that no earlier part contains.
        let others = self.inputs(value.node).into_iter().filter_map(|input| Some((input, self.fact(input)?)));
        let others: Vec<_> =
            others.flat_map(|(input, fact)| Part::all(fact).map(move |part| (input, part))).collect();
        for (input, of) in depends.into_iter().chain(others) {
            let mentioned = self.expr(input, of).symbols();
            let before = missing.len();
            missing.retain(|symbol| !mentioned.contains(symbol));
            if missing.len() < before {
                sources.push((input, of));
            }
        }
        sources
    }

    /// The input sizes that an output size comes from if its dependencies are unknown: the sizes on the same
    /// axis, counted from the last, that have the same number. Returns none for layers with bodies.
    fn equal_sizes(&self, value: Value, part: Part, expr: &SymExpr) -> Vec<(Value, Part)> {
        let (Part::Dim(axis), Some(fact)) = (part, self.fact(value)) else { return Vec::new() };
        let Some(from_end) = fact.shape().rank().and_then(|rank| rank.checked_sub(axis)) else {
            return Vec::new();
        };
        if self.graph.node(value.node).op().bodies().next().is_none() {
            let at = |input: Value| {
                let axis = self.fact(input)?.shape().rank()?.checked_sub(from_end)?;
                let of = Part::Dim(axis);
                (self.expr(input, of) == *expr).then_some((input, of))
            };
            return self.inputs(value.node).into_iter().filter_map(at).collect();
        }
        Vec::new()
    }

    /// The leaf for a part that no input of its layer explains, such as a declared one; `None` for other
    /// parts.
    fn leaf(&self, value: Value, part: Part, expr: &SymExpr) -> Option<WhyNode> {
        if self.is_birth(value.node, expr) {
            return expr.as_symbol().map(|symbol| WhyNode {
                place: Place::of(self.graph, ValuePart::new(value, part)),
                ..self.birth(symbol)
            });
        }
        match self.graph.node(value.node).op() {
            Op::Parameter(_) => Some(self.leaf_of(value, part, Role::Input, None)),
            Op::Const(_) => Some(self.leaf_of(value, part, Role::Constant, None)),
            Op::ReadValue(_) if expr.as_const().is_some() => {
                let reason = "the variable declares it".to_string();
                Some(self.leaf_of(value, part, Role::Input, Some(reason)))
            }
            _ => None,
        }
    }

    fn leaf_of(&self, value: Value, part: Part, role: Role, reason: Option<String>) -> WhyNode {
        let expr = self.expr(value, part);
        let symbols = self.graph.symbols();
        WhyNode {
            expr: symbols.display(&expr).to_string(),
            interval: symbols.interval(&expr),
            place: Place::of(self.graph, ValuePart::new(value, part)),
            role,
            reason,
            from: Vec::new(),
        }
    }

    /// The leaf for a symbol, located at the layer where it originates.
    fn birth(&self, symbol: SymbolId) -> WhyNode {
        let born = self.births.describe(symbol);
        let role = match born.kind {
            BirthKind::Input => Role::Input,
            BirthKind::Data => Role::Data,
            BirthKind::Merged => Role::Merged,
            BirthKind::GivenUp => Role::GivenUp,
        };
        let place = Place {
            layer: born.layer,
            op: born.op,
            loc: born.loc,
            port: born.port.unwrap_or_default(),
            axis: born.axis,
            element: None,
        };
        WhyNode {
            expr: born.name,
            interval: born.interval,
            place,
            role,
            reason: born.reason,
            from: Vec::new(),
        }
    }
}

/// Whether an expression contains a word as a whole, such as the name of a symbol.
fn mentions(expr: &str, word: &str) -> bool {
    expr.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|part| part == word.trim_matches('`'))
}
