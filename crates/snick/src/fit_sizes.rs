//! Chooses the sizes of dynamic dims, and the elements of small integer inputs, so that what the layers demand of them
//! holds: the smallest values, but no empty axis where another does as well.

use std::collections::{HashMap, HashSet};

use snick_ir::{Condition, Conditions, EmptyAxes, Graph, IntegerRole, NodeId, conditions};
use snick_shape::{Interval, SymExpr, SymbolId};
use snick_tensor::Tensor;

/// Values that exceed the smallest allowed by more than this are not tried.
const MAX_EXCESS: i64 = 1 << 14;

/// The most changes of values. A change mends at least one condition.
const MAX_MOVES: usize = 256;

/// The most evaluations of conditions. Searching a value that mends one evaluates it for each candidate.
const MAX_EVALUATIONS: usize = 1 << 20;

/// Of the values that mend a condition, so many are compared by what they do to others.
const MAX_COMPARED: usize = 64;

/// What the layers of a graph demand of sizes and integers, in a copy that has its own symbols.
pub(crate) struct Demands {
    graph: Graph,
    found: Conditions,
    /// Symbols of the inputs, in order, with the values that they may have.
    symbols: Vec<(SymbolId, Interval)>,
    /// Symbols of the first of several axes, which hold as many examples as one likes: others are changed rather.
    outermost: HashSet<SymbolId>,
}

/// Which sizes exceed the smallest that they could be, where that is possible.
#[derive(Copy, Clone)]
pub(crate) enum Larger {
    /// All, by this number.
    All(i64),
    /// One, by 1: of the symbols in order, those of outermost axes last.
    One(usize),
}

/// Values of symbols that meet what is demanded, as far as possible.
pub(crate) struct FittedSizes<'d> {
    demands: &'d Demands,
    values: HashMap<SymbolId, i64>,
    /// Values given from outside.
    fixed: HashSet<SymbolId>,
    larger: Larger,
    evaluations: usize,
}

impl Demands {
    /// Infers a copy of the graph.
    pub(crate) fn of(graph: &Graph, empty_axes: EmptyAxes) -> Self {
        let mut graph = graph.clone();
        let mut found = conditions(&mut graph, empty_axes);
        let mut symbols: Vec<(SymbolId, Interval)> = Vec::new();
        for id in graph.parameters() {
            for expr in dims(&graph, id).into_iter().chain(elements(&graph, id)) {
                symbols.extend(
                    expr.symbols()
                        .into_iter()
                        .map(|symbol| (symbol, graph.symbols().interval(&symbol.into()))),
                );
            }
        }
        let mut seen = HashSet::new();
        symbols.retain(|(symbol, _)| seen.insert(*symbol));
        let firsts = graph.parameters().map(|id| dims(&graph, id)).filter(|dims| dims.len() > 1);
        let outermost = firsts.filter_map(|dims| dims[0].as_symbol()).collect();
        let mut unique = HashSet::new();
        found.conditions.retain(|condition| {
            condition.exprs().flat_map(SymExpr::symbols).all(|symbol| seen.contains(&symbol))
                && unique.insert(condition.clone())
        });
        Self { graph, found, symbols, outermost }
    }

    /// The symbol at a place of all, those of outermost axes last.
    fn symbol_at(&self, place: usize) -> Option<SymbolId> {
        let all = || self.symbols.iter().map(|(symbol, _)| *symbol);
        let inner = all().filter(|symbol| !self.outermost.contains(symbol));
        inner.chain(all().filter(|symbol| self.outermost.contains(symbol))).nth(place)
    }

    /// Values that meet what is demanded; `larger` ones where nothing speaks against it. The dims of inputs that are `given`
    /// are known.
    pub(crate) fn fit(&self, given: &[Option<Tensor>], larger: Larger) -> FittedSizes<'_> {
        let mut fitted = FittedSizes {
            demands: self,
            values: HashMap::new(),
            fixed: HashSet::new(),
            larger,
            evaluations: 0,
        };
        let equations = fitted.bind(given);
        for &(symbol, interval) in &self.symbols {
            let floor = fitted.floor(&[symbol], interval);
            fitted.values.entry(symbol).or_insert(floor);
        }
        let mut conditions: Vec<&Condition> = equations.iter().chain(&self.found.conditions).collect();
        fitted.mend(&conditions);
        let stretched: Vec<Condition> = self.found.conditions.iter().filter_map(unstretched).collect();
        conditions.retain(|condition| fitted.holds(condition) != Some(false));
        fitted.even_out(&stretched, &conditions);
        fitted
    }
}

/// The dims of a Parameter.
fn dims(graph: &Graph, id: NodeId) -> Vec<SymExpr> {
    let fact = graph.node(id).outs().first().map(|out| &out.fact);
    fact.and_then(|fact| fact.shape.dims()).unwrap_or_default().to_vec()
}

/// The elements of a Parameter, where they are expressions.
fn elements(graph: &Graph, id: NodeId) -> Vec<SymExpr> {
    let fact = graph.node(id).outs().first().map(|out| &out.fact);
    fact.and_then(|fact| fact.elements()).unwrap_or_default()
}

/// Dims that broadcast are rather equal: a mask covers what it masks. Not with a number, which is 1 or demands itself.
fn unstretched(condition: &Condition) -> Option<Condition> {
    match condition {
        Condition::Broadcast(a, b) if a.as_const().is_none() && b.as_const().is_none() => {
            Some(Condition::Equal(a.clone(), b.clone()))
        }
        _ => None,
    }
}

impl<'d> FittedSizes<'d> {
    /// The inferred copy of the graph.
    pub(crate) fn graph(&self) -> &'d Graph {
        &self.demands.graph
    }

    /// What the layers use integers for.
    pub(crate) fn roles(&self) -> impl Iterator<Item = &'d (NodeId, u32, IntegerRole)> + use<'d> {
        self.demands.found.roles.iter()
    }

    /// The value of an expression.
    pub(crate) fn value(&self, expr: &SymExpr) -> Option<i64> {
        self.demands.graph.symbols().eval(expr, &|symbol| self.values.get(&symbol).copied())
    }

    /// How many conditions fail.
    pub(crate) fn unmet(&self) -> usize {
        self.failing(&self.demands.found.conditions.iter().collect::<Vec<_>>())
    }

    /// The dims of a Parameter; `None` if its rank is unknown.
    pub(crate) fn dims(&self, id: NodeId) -> Option<Vec<usize>> {
        let graph = &self.demands.graph;
        graph.node(id).outs().first()?.fact.shape.dims()?;
        let size = |dim: &SymExpr| {
            let size = self.value(dim).unwrap_or_else(|| graph.symbols().interval(dim).lo());
            usize::try_from(size).unwrap_or(0)
        };
        Some(dims(graph, id).iter().map(size).collect())
    }

    /// The elements of a Parameter, if something is demanded of them.
    pub(crate) fn elements(&self, id: NodeId) -> Option<Vec<i64>> {
        let elements = elements(&self.demands.graph, id);
        let is_demanded = |symbol: SymbolId| {
            let mut exprs = self.demands.found.conditions.iter().flat_map(Condition::exprs);
            exprs.any(|expr| expr.symbols().into_iter().any(|other| other == symbol))
        };
        elements.iter().flat_map(SymExpr::symbols).any(is_demanded).then_some(())?;
        elements.iter().map(|element| self.value(element)).collect()
    }

    /// Takes over the dims of given inputs; those of expressions are returned as conditions.
    fn bind(&mut self, given: &[Option<Tensor>]) -> Vec<Condition> {
        let graph = &self.demands.graph;
        let mut equations = Vec::new();
        for (id, tensor) in graph.parameters().zip(given) {
            let Some(tensor) = tensor else { continue };
            let sizes = tensor.dims().iter().map(|&size| i64::try_from(size).unwrap_or(i64::MAX));
            let elements_of = elements(graph, id);
            let numbers = if elements_of.is_empty() { None } else { tensor.to_i64_vec().ok() };
            let known = dims(graph, id).into_iter().zip(sizes);
            for (expr, number) in known.chain(elements_of.into_iter().zip(numbers.into_iter().flatten())) {
                match expr {
                    SymExpr::Const(_) => {}
                    SymExpr::Symbol(symbol) => {
                        self.values.insert(symbol, number);
                        self.fixed.insert(symbol);
                    }
                    SymExpr::Linear(_) => equations.push(Condition::Equal(expr, number.into())),
                }
            }
        }
        equations
    }

    /// The first value to try.
    fn floor(&self, group: &[SymbolId], interval: Interval) -> i64 {
        let above = match self.larger {
            Larger::All(above) => above,
            Larger::One(place) => {
                i64::from(self.demands.symbol_at(place).is_some_and(|one| group.contains(&one)))
            }
        };
        interval.lo().max(1).saturating_add(above).min(interval.hi())
    }

    fn holds(&self, condition: &Condition) -> Option<bool> {
        condition.holds(|expr| self.value(expr))
    }

    /// Changes values until no condition fails that a change could mend.
    fn mend(&mut self, conditions: &[&Condition]) {
        let mut hopeless = HashSet::new();
        let mut seen = HashSet::new();
        for _ in 0..MAX_MOVES {
            seen.insert(self.state());
            let failing = |at: &usize| !hopeless.contains(at) && self.holds(conditions[*at]) == Some(false);
            let Some(first) = (0..conditions.len()).find(failing) else { return };
            let best = self.best_move(conditions[first], conditions, &seen);
            match best {
                Some(values) => self.values.extend(values),
                None => drop(hopeless.insert(first)),
            }
        }
    }

    /// Makes dims equal that broadcast as they are, where that costs no condition.
    fn even_out(&mut self, wanted: &[Condition], conditions: &[&Condition]) {
        let largest = self.values.values().copied().max().unwrap_or(1);
        for _ in 0..MAX_MOVES {
            let before = self.values.clone();
            let all: Vec<&Condition> = conditions.iter().copied().chain(wanted).collect();
            let failing = self.failing(&all);
            let worse = |wanted: &&Condition| self.holds(wanted) == Some(false);
            let moves: Vec<Vec<(SymbolId, i64)>> = wanted
                .iter()
                .filter(worse)
                .filter_map(|condition| self.clone_state().best_move(condition, &all, &HashSet::new()))
                .collect();
            let mended = moves.into_iter().any(|values| {
                let is_small = values.iter().all(|&(_, value)| (1..=2 * largest.max(1)).contains(&value));
                self.values.extend(values);
                let fits =
                    is_small && conditions.iter().all(|condition| self.holds(condition) != Some(false));
                let fits = fits && self.failing(&all) < failing;
                if !fits {
                    self.values.clone_from(&before);
                }
                fits
            });
            if !mended {
                return;
            }
        }
    }

    fn clone_state(&self) -> Self {
        let (values, fixed) = (self.values.clone(), self.fixed.clone());
        Self { demands: self.demands, values, fixed, larger: self.larger, evaluations: self.evaluations }
    }

    /// The values of all symbols of the inputs, in order.
    fn state(&self) -> Vec<i64> {
        self.demands.symbols.iter().map(|(symbol, _)| self.values[symbol]).collect()
    }

    fn failing(&self, conditions: &[&Condition]) -> usize {
        conditions.iter().filter(|condition| self.holds(condition) == Some(false)).count()
    }

    /// The values that mend a condition at the least cost to others: of one of its symbols, or the same value for several
    /// of them, as an image is as high as it is wide. `None` if there are none that lead to a state not `seen`.
    fn best_move(
        &mut self,
        condition: &Condition,
        conditions: &[&Condition],
        seen: &HashSet<Vec<i64>>,
    ) -> Option<Vec<(SymbolId, i64)>> {
        let mut symbols: Vec<SymbolId> = condition.exprs().flat_map(SymExpr::symbols).collect();
        symbols.sort_unstable();
        symbols.dedup();
        symbols.retain(|symbol| !self.fixed.contains(symbol));
        let mut groups: Vec<Vec<SymbolId>> = symbols.iter().map(|&symbol| vec![symbol]).collect();
        let inner =
            symbols.iter().copied().filter(|symbol| !self.demands.outermost.contains(symbol)).collect();
        groups.extend([inner, symbols].into_iter().filter(|group| group.len() > 1));
        groups.dedup();
        let mut best: Option<((usize, bool, bool, i64), Vec<(SymbolId, i64)>)> = None;
        for group in groups {
            let is_about = |other: &&&Condition| {
                other.exprs().flat_map(SymExpr::symbols).any(|symbol| group.contains(&symbol))
            };
            let related: Vec<&Condition> = conditions.iter().filter(is_about).copied().collect();
            let before = self.failing(&related);
            let Some((failing, value)) = self.best_value(&group, condition, &related, seen) else { continue };
            // More failures than before are compared as such, whatever group has them.
            let is_outermost = group.iter().any(|symbol| self.demands.outermost.contains(symbol));
            let cost = (failing + conditions.len() - before, value == 0, is_outermost, value);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, group.iter().map(|&symbol| (symbol, value)).collect()));
            }
        }
        best.map(|(_, values)| values)
    }

    /// The first value of all symbols of a group that mends a condition and breaks the fewest others, and how many fail.
    fn best_value(
        &mut self,
        group: &[SymbolId],
        condition: &Condition,
        related: &[&Condition],
        seen: &HashSet<Vec<i64>>,
    ) -> Option<(usize, i64)> {
        let intervals = self.demands.symbols.iter().filter(|(symbol, _)| group.contains(symbol));
        let within = intervals.map(|(_, interval)| *interval).reduce(|a, b| a.meet(b).unwrap_or(a))?;
        let floor = self.floor(group, within);
        let end = within.hi().min(floor.saturating_add(MAX_EXCESS));
        let before: Vec<(SymbolId, i64)> =
            group.iter().map(|&symbol| (symbol, self.values[&symbol])).collect();
        let mut best: Option<(usize, i64)> = None;
        let mut compared = 0;
        // An empty axis is the last resort.
        let least = within.lo().max(1).min(floor);
        for value in
            (floor..=end).chain((least..floor).rev()).chain((within.lo() <= 0 && floor > 0).then_some(0))
        {
            self.evaluations += 1;
            if self.evaluations > MAX_EVALUATIONS || compared >= MAX_COMPARED {
                break;
            }
            self.values.extend(group.iter().map(|&symbol| (symbol, value)));
            if self.holds(condition) != Some(true) || seen.contains(&self.state()) {
                continue;
            }
            compared += 1;
            let failing = self.failing(related);
            self.evaluations += related.len();
            if best.is_none_or(|(least, _)| failing < least) {
                best = Some((failing, value));
            }
            if failing == 0 {
                break;
            }
        }
        self.values.extend(before);
        best
    }
}

#[cfg(test)]
mod tests {
    use snick_ir::{infer, text};

    use crate::{DimPolicy, Prediction, draw_inputs};

    /// The sizes that are drawn of the inputs of these layers, and the integers of those that have integers.
    fn drawn(layers: &str, dims: DimPolicy) -> Vec<(Vec<usize>, Vec<i64>)> {
        let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
        assert_eq!(infer(&mut graph), []);
        let inputs = draw_inputs(&graph, Vec::new(), 7, dims).unwrap();
        assert_eq!(Prediction::of(&graph, &inputs).errors, [], "{inputs:?}");
        let integers = |tensor: &snick_tensor::Tensor| match tensor.element_type().is_integer() {
            true => tensor.to_i64_vec().unwrap(),
            false => Vec::new(),
        };
        inputs.iter().map(|tensor| (tensor.dims().to_vec(), integers(tensor))).collect()
    }

    fn sizes(layers: &str, dims: DimPolicy) -> Vec<Vec<usize>> {
        drawn(layers, dims).into_iter().map(|(sizes, _)| sizes).collect()
    }

    fn f32s(name: &str, shape: &str) -> String {
        format!("%{name} = Parameter-1 {{element_type: f32, shape: \"{shape}\"}}\n")
    }

    fn i64s(name: &str, shape: &str) -> String {
        format!("%{name} = Parameter-1 {{element_type: i64, shape: \"{shape}\"}}\n")
    }

    #[test]
    fn an_image_fills_the_table_of_positions() {
        let zeros = |count: usize| vec!["0"; count].join(", ");
        let layers = f32s("image", "?,?,?,?")
            + &format!(
                "%w = Const-1 f32[2,3,8,8] <{}>\n%p = Const-1 f32[1,16,2] <{}>\n",
                zeros(384),
                zeros(32)
            )
            + "%c = Convolution-1(%image, %w) {strides: [8, 8], pads_begin: [0, 0], pads_end: [0, 0], \
               dilations: [1, 1], auto_pad: explicit}\n%flat = Const-1 i64[3] <0, 2, -1>\n\
               %r = Reshape-1(%c, %flat) {special_zero: true}\n%order = Const-1 i64[3] <0, 2, 1>\n\
               %t = Transpose-1(%r, %order)\n%s = Add-1(%t, %p) {auto_broadcast: numpy}\n%y = Result-1(%s)";
        // One window broadcasts with the table.
        assert_eq!(sizes(&layers, DimPolicy::Fitting(0)), [[1, 3, 8, 8]]);
        let with_class = "%class = Const-1 f32[1,1,2] <0, 0>\n%all = Concat-1(%class, %t) {axis: 1}\n\
                          %p17 = Const-1 f32[1,17,2] <0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
                          0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>\n%s = Add-1(%all, %p17)";
        let layers = layers.replace("%s = Add-1(%t, %p)", with_class);
        assert_eq!(sizes(&layers, DimPolicy::Fitting(0)), [[1, 3, 32, 32]]);
    }

    /// Rows in groups of four, which are put in another order, and masks of rows: the vision part of a language model.
    fn groups() -> String {
        f32s("rows", "?,6")
            + &f32s("mask", "1,?,?")
            + &i64s("order", "?")
            + &f32s("angles", "?,?")
            + "%0 = Const-1 i64[] <0>\n%four = Const-1 i64[] <4>\n%first = Const-1 i64[1] <0>\n\
               %shape = ShapeOf-3(%rows) {output_type: i64}\n%n = Gather-8(%shape, %0, %0) {batch_dims: 0}\n\
               %groups = Divide-1(%n, %four) {auto_broadcast: numpy, m_pythondiv: true}\n\
               %g1 = Unsqueeze-1(%groups, %0)\n%four1 = Const-1 i64[1] <4>\n%rest = Const-1 i64[1] <-1>\n\
               %split = Concat-1(%g1, %four1, %rest) {axis: 0}\n\
               %in = Reshape-1(%rows, %split) {special_zero: false}\n\
               %moved = Gather-8(%in, %order, %0) {batch_dims: 0}\n%n1 = Unsqueeze-1(%n, %0)\n\
               %join = Concat-1(%n1, %rest) {axis: 0}\n%back = Reshape-1(%moved, %join) {special_zero: false}\n\
               %ain = Reshape-1(%angles, %split) {special_zero: false}\n\
               %amoved = Gather-8(%ain, %order, %0) {batch_dims: 0}\n\
               %aback = Reshape-1(%amoved, %join) {special_zero: false}\n\
               %both = Concat-1(%aback, %aback) {axis: 1}\n%turned = Multiply-1(%back, %both)\n\
               %scores = MatMul-1(%turned, %turned) {transpose_a: false, transpose_b: true}\n\
               %masked = Add-1(%scores, %mask)\n%y = Result-1(%masked)"
    }

    #[test]
    fn groups_are_whole_and_masks_cover_them() {
        let all = drawn(&groups(), DimPolicy::Fitting(0));
        assert_eq!(all[0].0, [4, 6]);
        assert_eq!(all[1].0, [1, 4, 4]);
        assert_eq!(all[2], (vec![1], vec![0]));
        assert_eq!(all[3].0, [4, 3]);
        // The next size that fits has two groups, whose indices are 0 and 1.
        let all = drawn(&groups(), DimPolicy::Fitting(1));
        assert_eq!((all[0].0[0] % 4, all[2].0[0]), (0, all[0].0[0] / 4));
        assert!(all[2].1.iter().all(|&index| index < all[2].0[0] as i64));
    }

    #[test]
    fn a_mask_covers_past_and_present() {
        let layers = f32s("past", "B,?,8")
            + &f32s("new", "C,?,8")
            + &f32s("mask", "?,1,?")
            + "%keys = Concat-1(%past, %new) {axis: 1}\n\
               %scores = MatMul-1(%new, %keys) {transpose_a: false, transpose_b: true}\n\
               %masked = Add-1(%scores, %mask)\n%y = Result-1(%masked)";
        assert_eq!(sizes(&layers, DimPolicy::Fitting(0)), [[1, 1, 8], [1, 1, 8], [1, 1, 2]]);
    }

    #[test]
    fn indices_lie_in_the_axis_whatever_is_added_to_them() {
        let layers = i64s("beams", "?")
            + &i64s("positions", "30")
            + &f32s("cache", "?,3")
            + "%0 = Const-1 i64[] <0>\n%two = Const-1 i64[] <2>\n\
               %table = Const-1 f32[4,1] <1, 2, 3, 4>\n%c = Convert-1(%positions) {destination_type: i32}\n\
               %two32 = Const-1 i32[] <2>\n%shifted = Add-1(%c, %two32)\n\
               %a = Gather-8(%table, %shifted, %0) {batch_dims: 0}\n\
               %b = Gather-8(%cache, %beams, %0) {batch_dims: 0}\n%y = Result-1(%a)\n%z = Result-1(%b)";
        let all = drawn(&layers, DimPolicy::Fitting(0));
        assert_eq!(all[0].1, [0]);
        assert!(all[1].1.iter().all(|index| (0..2).contains(index)) && all[1].1.contains(&1));
    }

    #[test]
    fn integers_that_are_a_shape_hold_the_elements() {
        let layers = f32s("data", "?,6")
            + &i64s("to", "2")
            + &i64s("k", "")
            + "%r = Reshape-1(%data, %to) {special_zero: false}\n\
               %t:2 = TopK-11(%r, %k) {axis: 1, mode: max, sort: value, index_element_type: i32}\n\
               %last = Const-1 f32[3] <1, 2, 3>\n%s = Add-1(%r, %last)\n%y = Result-1(%s)\n%z = Result-1(%t:0)";
        let all = drawn(&layers, DimPolicy::Fitting(0));
        let (rows, to, k) = (all[0].0[0] as i64, &all[1].1, all[2].1[0]);
        assert_eq!(to.iter().product::<i64>(), rows * 6);
        assert!((to[1] == 3 || to[1] == 1) && (1..=to[1]).contains(&k), "{to:?} {k}");
    }

    #[test]
    fn the_search_for_sizes_ends() {
        // No size meets these: each change breaks what another mends.
        let cut = |i: usize| format!("%s{i}:2 = Split-1(%c{i}, %0) {{num_splits: 2}}\n");
        let join = |i: usize| format!("%c{i} = Concat-1(%x{i}, %x{}, %one) {{axis: 0}}\n", (i + 1) % 40);
        let layers: String = (0..40).map(|i| f32s(&format!("x{i}"), "?,1")).collect::<String>()
            + "%0 = Const-1 i64[] <0>\n%one = Const-1 f32[1,1] <1>\n"
            + &(0..40).map(|i| join(i) + &cut(i)).collect::<String>()
            + "%y = Add-1(%x0, %x39) {auto_broadcast: none}";
        let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
        assert_eq!(infer(&mut graph), []);
        let inputs = draw_inputs(&graph, Vec::new(), 7, DimPolicy::Fitting(0)).unwrap();
        assert!(inputs.iter().all(|tensor| tensor.dims()[0] < 100));
    }
}
