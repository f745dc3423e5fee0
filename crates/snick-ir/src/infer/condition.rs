//! Conditions on the inputs of a model that every successful run meets.
//!
//! Inference must be sound for failing runs too, so it does not conclude that two dims are equal just because
//! a layer requires it. Such conditions are recorded here, for callers that choose the sizes and integer
//! inputs of a run. The arithmetic of dims (`infer/dims.rs`) records most conditions, so an op only adds
//! conditions specific to it.

use snick_shape::{DimSpec, Interval, Origin, Shape, ShapeSpec, SymExpr, Symbols};

use super::{Infer, saturating_product};
use crate::{Fact, Graph, NodeId, Op};

/// A condition that every successful run meets.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Condition {
    /// The two expressions are equal.
    Equal(SymExpr, SymExpr),
    /// The two expressions are equal, or one of them is 1.
    Broadcast(SymExpr, SymExpr),
    /// The first expression is a multiple of the second.
    Multiple(SymExpr, SymExpr),
    /// The expression is at least this number.
    AtLeast(SymExpr, i64),
}

/// The role of the elements of an integer input in a layer.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum IntegerRole {
    /// Positions on an axis of this size.
    Index(SymExpr),
    /// Axes of a tensor of this rank, without duplicates.
    Axes(usize),
    /// Positive numbers: steps, repetitions, sizes of new axes.
    Positive,
    /// A number of elements on an axis of this size.
    Count(SymExpr),
    /// Lengths of the parts that an axis is split into.
    Lengths,
    /// A shape that must have as many elements as the data.
    Shape,
}

/// The conditions and roles of a graph, excluding its bodies, in the order of its layers.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Conditions {
    /// The runs that the conditions apply to.
    pub empty_axes: EmptyAxes,
    /// Conditions on sizes and known elements.
    pub conditions: Vec<Condition>,
    /// The layer that imposes each condition.
    pub layers: Vec<NodeId>,
    /// The role of the elements at an input port of a layer.
    pub roles: Vec<(NodeId, u32, IntegerRole)>,
}

/// The runs that conditions apply to. Only first runs count, in which variables have their initial values.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum EmptyAxes {
    /// Runs in which no input axis is empty, except axes that are always empty.
    #[default]
    Ignored,
    /// All first runs.
    Allowed,
}

/// The conditions that one layer imposes.
#[derive(Default)]
pub(crate) struct Demands {
    pub(crate) empty_axes: EmptyAxes,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) roles: Vec<(u32, IntegerRole)>,
}

impl Conditions {
    /// Adds the conditions of a layer that may fail. Ignores those without symbols, because if they fail,
    /// inference reports an error.
    pub(super) fn add(&mut self, node: NodeId, demands: Demands, symbols: &Symbols) {
        let is_open = |condition: &Condition| !condition.is_settled() && !condition.always_holds(symbols);
        let open = demands.conditions.into_iter().filter(is_open);
        self.conditions.extend(open);
        self.layers.resize(self.conditions.len(), node);
        self.roles.extend(demands.roles.into_iter().map(|(port, role)| (node, port, role)));
    }
}

impl Condition {
    /// The expressions in the condition.
    pub fn exprs(&self) -> impl Iterator<Item = &SymExpr> {
        let (first, second) = match self {
            Self::Equal(a, b) | Self::Broadcast(a, b) | Self::Multiple(a, b) => (a, Some(b)),
            Self::AtLeast(a, _) => (a, None),
        };
        std::iter::once(first).chain(second)
    }

    /// Whether the condition holds for these values; `None` if a value is missing.
    pub fn holds(&self, value: impl Fn(&SymExpr) -> Option<i64>) -> Option<bool> {
        Some(match self {
            Self::Equal(a, b) => value(a)? == value(b)?,
            Self::Broadcast(a, b) => {
                let (a, b) = (value(a)?, value(b)?);
                a == b || a == 1 || b == 1
            }
            // 0 is the only multiple of 0.
            Self::Multiple(a, b) => match (value(a)?, value(b)?) {
                (a, 0) => a == 0,
                (a, b) => a.checked_rem(b) == Some(0),
            },
            Self::AtLeast(a, least) => value(a)? >= *least,
        })
    }

    /// Whether the condition provably holds for all values of the symbols.
    fn always_holds(&self, symbols: &Symbols) -> bool {
        let is_one = |expr: &SymExpr| expr.as_const() == Some(1);
        match self {
            Self::Equal(a, b) => symbols.always_eq(a, b),
            Self::Broadcast(a, b) => is_one(a) || is_one(b) || symbols.always_eq(a, b),
            Self::Multiple(a, b) => symbols.modulo(a, b).is_some_and(|rest| rest.as_const() == Some(0)),
            Self::AtLeast(a, least) => symbols.interval(a).lo() >= *least,
        }
    }

    /// Whether the condition contains only constants.
    fn is_settled(&self) -> bool {
        self.exprs().all(|expr| expr.as_const().is_some())
    }
}

/// Integer inputs of at most this many elements get a symbol for each element.
const MAX_INPUT_ELEMENTS: usize = 8;

/// The facts of all Parameters, with symbols for the elements of small integer inputs.
pub(super) fn elements_as_symbols(graph: &mut Graph) -> Vec<Option<Fact>> {
    let parameters: Vec<NodeId> = graph.parameters().collect();
    parameters.into_iter().map(|id| with_symbols(graph, id)).collect()
}

/// The fact of a small integer Parameter of static shape, with a symbol for each element.
fn with_symbols(graph: &mut Graph, id: NodeId) -> Option<Fact> {
    let Op::Parameter(parameter) = graph.node(id).op() else { return None };
    let element_type = parameter.element_type;
    let within = element_type.integer_range().and_then(|(_, highest)| Interval::new(0, highest))?;
    let dims = static_dims(&parameter.shape)?;
    let count = saturating_product(&dims);
    if !element_type.is_integer() || count == 0 || count > MAX_INPUT_ELEMENTS {
        return None;
    }
    let node = u32::try_from(id.index()).unwrap_or(u32::MAX);
    let fresh = |axis| graph.symbols.fresh(within, Origin { node, port: 0, axis });
    let elements: Vec<SymExpr> = (0..).take(count).map(fresh).collect();
    let shape: Shape = dims.into_iter().map(|size| SymExpr::from(size as i64)).collect();
    Some(Fact::new(element_type, shape).with_elements(Some(elements)))
}

/// The sizes of a declared shape if all are static.
fn static_dims(shape: &ShapeSpec) -> Option<Vec<usize>> {
    let ShapeSpec::Dims(dims) = shape else { return None };
    let size = |dim: &DimSpec| match dim {
        DimSpec::Interval(interval) => usize::try_from(interval.is_exact()?).ok(),
        _ => None,
    };
    dims.iter().map(size).collect()
}

impl Infer<'_> {
    /// Records a condition that holds in every run that gets past this layer.
    fn demand(&mut self, condition: impl FnOnce() -> Condition) {
        if let Some(demands) = &mut self.demands {
            demands.conditions.push(condition());
        }
    }

    /// Whether only runs without empty axes matter. Ops may then infer facts that hold only in such runs.
    pub(crate) fn ignores_empty(&self) -> bool {
        self.demands.as_ref().is_some_and(|demands| demands.empty_axes == EmptyAxes::Ignored)
    }

    /// Whether only first runs matter, in which variables have their initial values.
    pub(crate) fn is_of_first_run(&self) -> bool {
        self.demands.is_some()
    }

    /// Requires that two dims are equal.
    pub(crate) fn demand_equal(&mut self, a: &SymExpr, b: &SymExpr) {
        if a != b {
            self.demand(|| Condition::Equal(a.clone(), b.clone()));
        }
    }

    /// Requires that two dims are equal or one of them is 1.
    pub(super) fn demand_broadcast(&mut self, a: &SymExpr, b: &SymExpr) {
        self.demand(|| Condition::Broadcast(a.clone(), b.clone()));
    }

    /// Requires that `a` is a multiple of `b`.
    pub(crate) fn demand_multiple(&mut self, a: &SymExpr, b: &SymExpr) {
        self.demand(|| Condition::Multiple(a.clone(), b.clone()));
    }

    /// Requires that an expression is at least `least`.
    pub(crate) fn demand_at_least(&mut self, expr: &SymExpr, least: i64) {
        if self.demands.is_some() && self.interval(expr).lo() < least {
            self.demand(|| Condition::AtLeast(expr.clone(), least));
        }
    }

    /// Requires that the elements of input `i` are positions on an axis of this size, possibly negative.
    pub(crate) fn demand_index(&mut self, i: usize, size: &SymExpr) {
        if self.demands.is_none() {
            return;
        }
        for element in self.inputs[i].elements().into_iter().flatten() {
            let room = match self.interval(&element).hi() < 0 {
                true => self.add(size, &element),
                false => {
                    let after = self.sub(size, &element);
                    self.sub(&after, &1.into())
                }
            };
            self.demand_at_least(&room, 0);
        }
        self.demand_role(i, || IntegerRole::Index(size.clone()));
    }

    /// Requires each row of input `i` to be an index tuple, with one index per axis of these sizes.
    pub(crate) fn demand_tuples(&mut self, i: usize, sizes: &[SymExpr]) {
        if self.demands.is_some() {
            // An index that is valid for the smallest of the axes is valid for all of them.
            let smallest = sizes.iter().cloned().reduce(|a, b| self.min(&a, &b));
            smallest.iter().for_each(|size| self.demand_role(i, || IntegerRole::Index(size.clone())));
        }
    }

    /// Requires that the elements of input `i` are axes of input 0.
    pub(crate) fn demand_axes(&mut self, i: usize) {
        if let Some(rank) = self.optional(0).and_then(|fact| fact.shape.rank()) {
            self.demand_role(i, || IntegerRole::Axes(rank));
        }
    }

    /// Requires that `number` is at most `most`.
    pub(crate) fn demand_at_most(&mut self, number: &SymExpr, most: &SymExpr) {
        if self.demands.is_some() {
            let room = self.sub(most, number);
            self.demand_at_least(&room, 0);
        }
    }

    /// Records the role of the elements of input `i`.
    pub(crate) fn demand_role(&mut self, i: usize, role: impl FnOnce() -> IntegerRole) {
        if let (Some(demands), Ok(port)) = (&mut self.demands, u32::try_from(i)) {
            demands.roles.push((port, role()));
        }
    }
}

#[cfg(test)]
mod tests {
    use snick_shape::SymExpr;

    use super::{Condition, Conditions, EmptyAxes, IntegerRole};
    use crate::{Graph, conditions, text};

    #[test]
    fn conditions_hold_for_the_values_that_they_name() {
        let holds = |condition: &Condition| condition.holds(SymExpr::as_const);
        let [of_0, of_1, of_2, of_3, of_4] = [0, 1, 2, 3, 4].map(SymExpr::from);
        for (condition, expected) in [
            (Condition::Equal(of_2.clone(), of_2.clone()), true),
            (Condition::Equal(of_2.clone(), of_3.clone()), false),
            (Condition::Broadcast(of_2.clone(), of_2.clone()), true),
            (Condition::Broadcast(of_1.clone(), of_3.clone()), true),
            (Condition::Broadcast(of_3.clone(), of_1.clone()), true),
            (Condition::Broadcast(of_2.clone(), of_3.clone()), false),
            (Condition::Multiple(of_4.clone(), of_2.clone()), true),
            (Condition::Multiple(of_3.clone(), of_2.clone()), false),
            (Condition::Multiple(of_0.clone(), of_0.clone()), true),
            (Condition::Multiple(of_1.clone(), of_0.clone()), false),
            (Condition::AtLeast(of_2.clone(), 2), true),
            (Condition::AtLeast(of_3.clone(), 2), true),
            (Condition::AtLeast(of_1.clone(), 2), false),
        ] {
            assert_eq!(holds(&condition), Some(expected), "{condition:?}");
            assert_eq!(condition.holds(|_| None), None, "{condition:?}");
        }
    }

    /// A graph with a Gather on an axis of `N` elements, and its conditions.
    fn gathered(indices: &str) -> (Graph, Conditions) {
        let layers = format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"N,3\"}}\n%at = {indices}\n\
             %axis = Const-1 i64[] <0>\n%y = Gather-8(%x, %at, %axis) {{batch_dims: 0}}"
        );
        let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
        let found = conditions(&mut graph, EmptyAxes::Ignored);
        (graph, found)
    }

    #[test]
    fn indices_lie_on_their_axis() {
        // Index 3 and index -4 are both valid only on an axis of 4 or more elements.
        for indices in ["Const-1 i64[1] <3>", "Const-1 i64[1] <-4>"] {
            let (graph, found) = gathered(indices);
            let holds = |size: i64| {
                let value = |expr: &SymExpr| graph.symbols().eval(expr, &|_| Some(size));
                found.conditions.iter().all(|condition| condition.holds(value) == Some(true))
            };
            assert_eq!([3, 4, 5].map(holds), [false, true, true], "{indices}");
            assert_eq!((found.layers.len(), found.conditions.len()), (1, 1), "{indices}");
        }
        let (graph, found) = gathered("Parameter-1 {element_type: i64, shape: \"1\"}");
        let size = graph.symbols().find("N").unwrap();
        let last = graph.ids().last().unwrap();
        assert!(found.roles.contains(&(last, 1, IntegerRole::Index(size.into()))));
        let [Condition::AtLeast(room, 0)] = &found.conditions[..] else { panic!("{:?}", found.conditions) };
        let eval = |n: i64, at: i64| graph.symbols().eval(room, &|id| Some(if id == size { n } else { at }));
        assert_eq!([eval(4, 3), eval(4, 4)], [Some(0), Some(-1)]);
    }
}
