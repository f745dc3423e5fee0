//! Sizes that several variables share in every run, such as the length of the caches of a language model.
//!
//! The first round of inference assumes that sizes with the same initial value stay equal, and gives them one
//! symbol. If different sizes are assigned to them, the next round uses different symbols. The equalities
//! that remain hold by induction over the runs of a model, provided its variables are reset, read and set
//! together. All of this is skipped unless inputs share symbols: otherwise a second round would take time and
//! find no equal sizes.

use std::collections::{BTreeMap, HashMap};

use snick_shape::{Interval, Shape, SymExpr, SymbolId, Symbols};

use crate::{Fact, Graph, NodeId, Op, Value};

/// An axis of the value of a ReadValue.
type Size = (NodeId, usize);

/// The properties that sizes must share to get the same symbol.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Beginning {
    /// The equivalence class from the previous round; 0 if there was none.
    class: usize,
    interval: Interval,
    /// The initial size. `None` if the variable has no initial value; it then starts with the smallest
    /// possible size.
    initial: Option<SymExpr>,
}

/// The sizes that are assumed to be equal in a round.
#[derive(Default, Debug)]
pub(crate) struct SharedSizes {
    /// The equivalence class of each size; 0 if missing.
    classes: HashMap<Size, usize>,
    /// The symbols of this round.
    symbols: HashMap<Beginning, SymExpr>,
    /// The sizes of this round, in order, each with the properties that determine its symbol.
    sizes: Vec<(Size, Beginning)>,
}

impl SharedSizes {
    /// Replaces new symbols in the sizes of a ReadValue with shared symbols. Unnamed symbols from index
    /// `first_new` on are new.
    pub(super) fn share(
        &mut self,
        node: NodeId,
        fact: &mut Fact,
        initial: Option<&Fact>,
        first_new: usize,
        symbols: &Symbols,
    ) {
        let Some(mut dims) = fact.shape.dims().map(<[SymExpr]>::to_vec) else { return };
        let initial = initial.and_then(|initial| initial.shape.dims());
        for (axis, dim) in dims.iter_mut().enumerate() {
            let is_new = |id: SymbolId| id.index() >= first_new && symbols.name(id).is_none();
            if !dim.as_symbol().is_some_and(is_new) {
                continue;
            }
            let size = (node, axis);
            let beginning = Beginning {
                class: self.classes.get(&size).copied().unwrap_or_default(),
                interval: symbols.interval(dim),
                initial: initial.and_then(|initial| initial.get(axis)).cloned(),
            };
            self.sizes.push((size, beginning.clone()));
            *dim = self.symbols.entry(beginning).or_insert_with(|| dim.clone()).clone();
        }
        fact.shape = Shape::ranked(dims);
    }

    /// The classes of the next round, and whether any class was split because different sizes are assigned to
    /// its members.
    pub(super) fn refined(self, graph: &Graph) -> (Self, bool) {
        let assigned = Assigned::of(graph);
        let mut classes: HashMap<(&Beginning, Option<SymExpr>), usize> = HashMap::new();
        let mut next: HashMap<Size, usize> = HashMap::new();
        let mut alone = self.sizes.len();
        for (size, beginning) in &self.sizes {
            // If the assigned size is unknown, the size gets a class of its own.
            let value = assigned.size(*size);
            let count = classes.len();
            let class = match value {
                Some(_) => *classes.entry((beginning, value)).or_insert(count),
                None => {
                    alone += 1;
                    alone
                }
            };
            next.insert(*size, class);
        }
        let parts = classes.len() + (alone - self.sizes.len());
        let is_finer = parts > self.symbols.len();
        (Self { classes: next, ..Self::default() }, is_finer)
    }

    /// Puts each size in a class of its own.
    pub(super) fn apart(&self) -> Self {
        let classes = self.sizes.iter().enumerate().map(|(at, (size, _))| (*size, at)).collect();
        Self { classes, ..Self::default() }
    }
}

/// The value assigned to each variable that exactly one layer reads and exactly one layer assigns.
struct Assigned<'g> {
    graph: &'g Graph,
    values: BTreeMap<NodeId, Value>,
}

impl<'g> Assigned<'g> {
    fn of(graph: &'g Graph) -> Self {
        let mut reads: HashMap<&str, Vec<NodeId>> = HashMap::new();
        let mut assigns: HashMap<&str, Vec<NodeId>> = HashMap::new();
        for id in graph.ids() {
            match graph.node(id).op() {
                Op::ReadValue(op) => reads.entry(&op.variable_id).or_default().push(id),
                Op::Assign(op) => assigns.entry(&op.variable_id).or_default().push(id),
                _ => {}
            }
        }
        let values = reads.into_iter().filter_map(|(variable, reads)| {
            let ([read], [assign]) = (reads.as_slice(), assigns.get(variable)?.as_slice()) else {
                return None;
            };
            Some((*read, graph.node(*assign).input(0)?))
        });
        Self { graph, values: values.collect() }
    }

    fn size(&self, (node, axis): Size) -> Option<SymExpr> {
        self.graph.fact(*self.values.get(&node)?)?.shape.dims()?.get(axis).cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use snick_shape::Interval;

    use super::{Beginning, SharedSizes};
    use crate::{infer, text};

    /// The shapes read from variables `a` and `b` after these values are assigned.
    fn read(initial: [&str; 2], assigned: [&str; 2]) -> [String; 2] {
        let variable = |name: &str, initial: &str| {
            format!(
                "%i{name} = Parameter-1 {{element_type: f32, shape: \"{initial}\"}}\n%{name} = ReadValue-6(%i{name}) \
                 {{variable_id: \"{name}\", variable_type: f32, variable_shape: \"?,?,4\"}}\n"
            )
        };
        let assign = |name: &str, value: &str| {
            format!(
                "%n{name} = {value} {{axis: 1}}\n%p{name} = Assign-6(%n{name}) {{variable_id: \"{name}\"}}\n"
            )
        };
        let text = [
            "%new = Parameter-1 {element_type: f32, shape: \"B,T,4\"}\n".to_owned(),
            "%one = Parameter-1 {element_type: f32, shape: \"B,1,4\"}\n".to_owned(),
            variable("a", initial[0]),
            variable("b", initial[1]),
            assign("a", assigned[0]),
            assign("b", assigned[1]),
        ];
        let mut graph =
            text::parse(&format!("snick 1\ngraph \"g\" {{\n{}}}\n", text.concat()), None).unwrap();
        assert_eq!(infer(&mut graph), []);
        ["a", "b"].map(|name| {
            let id = graph.ids().find(|&id| graph.node(id).name() == name).unwrap();
            graph.node(id).outs()[0].fact.shape.display_labels(graph.symbols()).to_string()
        })
    }

    #[test]
    fn caches_that_grow_alike_share_their_length() {
        let [a, b] = read(["B,0,4", "B,0,4"], ["Concat-1(%a, %new)", "Concat-1(%b, %new)"]);
        assert_eq!(a, b);
    }

    #[test]
    fn caches_that_begin_or_grow_otherwise_do_not() {
        for (initial, assigned) in [
            (["B,0,4", "B,0,4"], ["Concat-1(%a, %new)", "Concat-1(%b, %one)"]),
            (["B,0,4", "B,2,4"], ["Concat-1(%a, %new)", "Concat-1(%b, %new)"]),
            (["B,0,4", "B,0,4"], ["Concat-1(%a, %new)", "Concat-1(%b, %a)"]),
        ] {
            let [a, b] = read(initial, assigned).map(|shape| shape.split(',').nth(1).unwrap().to_owned());
            assert_ne!(a, b, "{initial:?} {assigned:?}");
        }
    }

    #[test]
    fn sizes_without_an_assumption_share_nothing() {
        let graph = text::parse("snick 1\ngraph \"g\" {\n%x = Const-1 i64[] <1>\n}\n", None).unwrap();
        let node = graph.ids().next().unwrap();
        let beginning = Beginning { class: 0, interval: Interval::DIM, initial: None };
        let sizes = [0, 1, 2].map(|axis| ((node, axis), beginning.clone())).to_vec();
        let apart = SharedSizes { sizes, ..SharedSizes::default() }.apart();
        let classes = [0, 1, 2].map(|axis| apart.classes.get(&(node, axis)).copied().unwrap_or_default());
        assert_eq!(HashSet::from(classes).len(), 3);
    }
}
