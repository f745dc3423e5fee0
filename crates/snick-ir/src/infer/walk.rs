//! The inference walk: for each node, collects the facts of its inputs, calls the op, folds constants and
//! stores the facts of its outputs.
//!
//! If an op fails, its outputs stay unknown; if it only reports an error, it still returns facts. Either way
//! the walk continues, so that it finds all independent errors. An op with bodies infers them itself, from
//! the facts of its inputs.

use std::sync::Arc;

use snick_shape::{SymExpr, Symbols};
use snick_tensor::{ElementType, SmallVector, Tensor};

use super::condition::elements_as_symbols;
use super::shared_sizes::SharedSizes;
use super::{Assumed, Conditions, Demands, EmptyAxes, Infer, input_symbols, saturating_product, variables};
use crate::float_bounds::FloatBounds;
use crate::{
    Fact, Facts, Graph, Known, Loc, Located, Monitor, Node, NodeId, NodeRef, Op, OpError, OpTraits, Output,
};

/// Maximum number of elements, in inputs and outputs together, of an op that inference evaluates on
/// constants.
const MAX_FOLDED: usize = 4096;

/// Infers the whole graph from scratch, including bodies: element types, shapes, known values and symbols.
/// Returns all errors with locations. The outputs of a layer with an error are unknown, unless its op can
/// infer them anyway.
pub fn infer(graph: &mut Graph) -> Vec<Located> {
    infer_with(graph, &mut Monitor::default())
}

/// Like [`infer`], with a monitor. If the monitor stops inference, the outputs of the remaining layers are
/// unknown.
pub fn infer_with(graph: &mut Graph, monitor: &mut Monitor) -> Vec<Located> {
    infer_rounds(graph, monitor, None).0
}

/// Infers the graph from scratch and records the conditions that its layers impose on runs. The elements of
/// small integer inputs become symbols that are 0 or more, and variables have their initial values. The facts
/// therefore do not hold in every run: use a copy of the graph.
///
/// ```
/// use snick_ir::{Condition, EmptyAxes};
///
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,3\"}\n  \
/// #             %y = Parameter-1 {element_type: f32, shape: \"M,3\"}\n  %z = Concat-1(%x, %y) {axis: 1}\n}\n";
/// let mut graph = snick::text::parse(text, None)?;
/// let found = snick_ir::conditions(&mut graph, EmptyAxes::Ignored);
/// assert!(matches!(found.conditions[..], [Condition::Equal(..)]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn conditions(graph: &mut Graph, empty_axes: EmptyAxes) -> Conditions {
    let recorded = Conditions { empty_axes, ..Conditions::default() };
    infer_rounds(graph, &mut Monitor::default(), Some(recorded)).1.unwrap_or_default()
}

/// Implements [`infer_with`]. If `conditions` are given, the elements of small integer inputs become symbols,
/// and the conditions that layers impose in the last round are recorded.
fn infer_rounds(
    graph: &mut Graph,
    monitor: &mut Monitor,
    conditions: Option<Conditions>,
) -> (Vec<Located>, Option<Conditions>) {
    let layers = graph.layers();
    monitor.check_graph(graph);
    number_bodies(graph, &mut 0);
    let mut assumed = Some(Assumed::default());
    let mut shared = input_symbols::are_shared(graph).then(SharedSizes::default);
    let mut rounds = 0;
    loop {
        rounds += 1;
        graph.symbols.reset(0);
        input_symbols::declare(graph);
        let given = if conditions.is_some() { elements_as_symbols(graph) } else { Vec::new() };
        let conditions = conditions.clone();
        let mut session = InferSession { assumed, conditions, shared, ..InferSession::new(monitor, layers) };
        graph.infer_body(&given, &mut session);
        let InferSession { mut errors, has_variables, assumed: old, conditions, shared: equal, .. } = session;
        if !has_variables || monitor.is_stopped() {
            return (errors, conditions);
        }
        let next = old.as_ref().and_then(|old| old.next(graph));
        // The last round does not assume that any sizes are equal.
        let apart = equal.as_ref().filter(|_| rounds >= MAX_ROUNDS).map(SharedSizes::apart);
        let (refined, is_finer) = equal.map(|equal| equal.refined(graph)).unzip();
        let is_finer = is_finer.unwrap_or(false);
        if next.is_none() && !is_finer {
            errors.extend(variables::check(graph));
            return (errors, conditions);
        }
        assumed = match next {
            Some(next) => Some(next).filter(|_| rounds < MAX_ROUNDS),
            None => old,
        };
        shared = apart.or(refined);
    }
}

/// Numbers the symbol tables of all bodies from 1, which makes the label of each symbol unique.
fn number_bodies(graph: &mut Graph, last: &mut u32) {
    for node in graph.nodes.node_weights_mut() {
        for body in node.op.bodies_mut() {
            *last = last.saturating_add(1);
            body.forget_all(*last);
            number_bodies(body, last);
        }
    }
}

/// Limit on rounds of inference with assumptions about variables. Each round drops the bounds of the
/// sizes that changed in the previous round, so a few rounds suffice.
const MAX_ROUNDS: usize = 6;

/// State shared by the inference of a model and its bodies.
pub(crate) struct InferSession<'m> {
    /// The errors found so far.
    pub(crate) errors: Vec<Located>,
    /// The conditions that layers impose, if they are recorded. Not recorded for bodies, because a body might
    /// not run.
    conditions: Option<Conditions>,
    /// How many more nodes may be visited in further rounds over bodies.
    visits: usize,
    /// Whether a node that reads or assigns a variable was visited.
    has_variables: bool,
    /// Assumptions about the values of variables; `None` when inferring a single node.
    assumed: Option<Assumed>,
    /// Sizes that variables are assumed to share; `None` in bodies and when inferring a single node.
    shared: Option<SharedSizes>,
    /// Reports progress, and can stop inference early.
    monitor: &'m mut Monitor,
    /// The number of layers visited so far; layers of bodies count once in each round.
    visited: usize,
    /// The number of layers of the model, including bodies.
    layers: usize,
}

/// Limit on visits of nodes in further rounds over bodies, because the rounds of nested bodies multiply.
const MAX_VISITS: usize = 1 << 17;

impl<'m> InferSession<'m> {
    fn new(monitor: &'m mut Monitor, layers: usize) -> Self {
        Self {
            errors: Vec::new(),
            conditions: None,
            visits: MAX_VISITS,
            has_variables: false,
            assumed: None,
            shared: None,
            monitor,
            visited: 0,
            layers,
        }
    }

    /// Reports progress: a node, in the model or in a body, has been inferred.
    fn report(&mut self, node: NodeRef) {
        self.visited += 1;
        self.monitor.report(self.visited.min(self.layers), self.layers, node.name());
    }

    /// Stops inference at a value whose rank exceeds the limit.
    fn check_ranks(&mut self, node: NodeRef) {
        if self.monitor.limits().rank.is_some() {
            let ranks = node.outs().iter().filter_map(|out| out.fact.shape.rank());
            self.monitor.check_rank(ranks.max().unwrap_or(0), node.name());
        }
    }

    /// Whether the body may be inferred in this round. Later rounds use up visits; the first round does not,
    /// but is refused once no visits are left.
    pub(crate) fn affords(&mut self, round: usize, body: &Graph) -> bool {
        if round == 0 {
            return self.visits > 0;
        }
        let left = self.visits.checked_sub(body.len());
        self.visits = left.unwrap_or(0);
        left.is_some()
    }
}

impl Graph {
    /// Infers all nodes. Parameters get the `given` facts in order, or the declared ones. Returns the facts
    /// of the Results.
    pub(crate) fn infer_body(&mut self, given: &[Option<Fact>], session: &mut InferSession) -> Facts {
        let order = match self.order() {
            Ok(order) => order,
            Err(cycle) => {
                session.errors.push(cycle);
                return Facts::new();
            }
        };
        let mut given = given.iter().peekable();
        let mut results = Facts::new();
        for &id in &order {
            let is_parameter = matches!(self.node(id).op(), Op::Parameter(_));
            match given.next_if(|_| is_parameter).and_then(Option::as_ref) {
                _ if session.monitor.is_stopped() => self.forget(id),
                Some(fact) => self.set_facts(id, Facts::from(fact.clone())),
                None => self.visit(id, session),
            }
            let node = self.node(id);
            session.report(node);
            session.check_ranks(node);
            match node.op() {
                Op::Result(_) => {
                    results.push(node.outs().first().map_or_else(Fact::unknown, |out| out.fact.clone()));
                }
                Op::ReadValue(_) | Op::Assign(_) => session.has_variables = true,
                _ => {}
            }
        }
        results
    }

    /// Infers one node from the facts of its inputs.
    ///
    /// # Errors
    /// The first error of the node; [`OpError::ForeignValue`] if the graph does not have it.
    pub fn infer_node(&mut self, id: NodeId) -> Result<(), Located> {
        if !self.contains(id) {
            return Err(self.located(id, OpError::ForeignValue));
        }
        let mut monitor = Monitor::default();
        let mut session = InferSession::new(&mut monitor, 1);
        self.visit(id, &mut session);
        session.errors.into_iter().next().map_or(Ok(()), Err)
    }

    fn visit(&mut self, id: NodeId, session: &mut InferSession) {
        let place = self.place(id);
        let mut bodies = self.nodes[place].op.take_bodies();
        let mut errors = Vec::new();
        let facts = self.facts_of(id, &mut bodies, &mut errors, session);
        self.nodes[place].op.put_bodies(bodies);
        match facts {
            Ok(facts) => self.set_facts(id, facts),
            Err(error) => {
                errors.push(error);
                self.forget(id);
            }
        }
        for error in errors {
            let error = self.with_origins(self.inputs(id).into_iter().flatten(), error);
            session.errors.push(self.located(id, error));
        }
    }

    /// Makes the outputs of a node unknown.
    fn forget(&mut self, id: NodeId) {
        let place = self.place(id);
        for out in &mut self.nodes[place].outs {
            out.fact = Fact::unknown();
        }
    }

    /// Resets the symbol table of this body, gives it this number, and makes all values of the body unknown,
    /// because old facts would refer to symbols that no longer exist.
    pub(crate) fn forget_all(&mut self, number: u32) {
        self.symbols.reset(number);
        for out in self.nodes.node_weights_mut().flat_map(|node| &mut node.outs) {
            out.fact = Fact::unknown();
        }
    }

    fn set_facts(&mut self, id: NodeId, facts: Facts) {
        let place = self.place(id);
        set_facts(&mut self.nodes[place], facts);
    }

    fn facts_of(
        &mut self,
        id: NodeId,
        bodies: &mut [Graph],
        errors: &mut Vec<OpError>,
        session: &mut InferSession,
    ) -> Result<Facts, OpError> {
        let values = self.inputs(id);
        let mut inputs: SmallVector<&Fact, 5> = SmallVector::new();
        for (port, value) in values.iter().enumerate() {
            let fact = value.and_then(|value| self.nodes[value.node.index].outs.get(value.port as usize));
            inputs.push(&fact.ok_or(OpError::NotConnected { port })?.fact);
        }
        let node = &self.nodes[id.index];
        let facts = facts_of(node, id, &inputs, &mut self.symbols, bodies, errors, session)?;
        self.expect_outputs(id, facts.len())?;
        Ok(facts)
    }

    /// Files may declare extra outputs of an op, but nothing may read them.
    fn expect_outputs(&self, id: NodeId, count: usize) -> Result<(), OpError> {
        if self.node(id).outs().len() <= count {
            return Ok(());
        }
        let used = self.used_outputs(id);
        match (count..used.len()).find(|&port| used[port]) {
            Some(port) => {
                let expected = format!("below {count}");
                Err(OpError::mismatch("the port of an output that is read", port, expected))
            }
            None => Ok(()),
        }
    }

    /// Adds the location of a node to an error; the location is empty if the graph does not have the node.
    pub fn located(&self, id: NodeId, error: OpError) -> Located {
        let node = self.get(id);
        Located {
            source: self.source.clone(),
            loc: node.map_or_else(Loc::default, NodeRef::loc),
            layer: node.map_or("", NodeRef::name).to_string(),
            op: node.map_or("", |node| node.op().type_name()).to_string(),
            error,
        }
    }
}

/// Infers a node that is not part of a graph yet, from the facts of its inputs.
///
/// # Errors
/// The first error of the node.
pub(crate) fn infer_new(
    node: &mut Node,
    id: NodeId,
    inputs: &[&Fact],
    symbols: &mut Symbols,
) -> Result<(), OpError> {
    let mut monitor = Monitor::default();
    let mut session = InferSession::new(&mut monitor, 1);
    let mut bodies = node.op.take_bodies();
    let mut errors = Vec::new();
    let facts = facts_of(node, id, inputs, symbols, &mut bodies, &mut errors, &mut session);
    node.op.put_bodies(bodies);
    let in_bodies = session.errors.into_iter().map(|located| located.error);
    match in_bodies.chain(errors).next() {
        Some(error) => Err(error),
        None => facts.map(|facts| set_facts(node, facts)),
    }
}

fn set_facts(node: &mut Node, facts: Facts) {
    if node.outs.len() < facts.len() {
        node.outs.resize_with(facts.len(), Output::unknown);
    }
    for (out, fact) in node.outs.iter_mut().zip(facts) {
        out.fact = fact;
    }
}

/// The facts of the outputs of a node, from the facts of its inputs.
fn facts_of(
    node: &Node,
    id: NodeId,
    inputs: &[&Fact],
    symbols: &mut Symbols,
    bodies: &mut [Graph],
    errors: &mut Vec<OpError>,
    session: &mut InferSession,
) -> Result<Facts, OpError> {
    node.op.arity().check(inputs.len())?;
    let mut recorded = session.conditions.take();
    let empty_axes = recorded.as_ref().map(|found| found.empty_axes).unwrap_or_default();
    let mut demands = Demands { empty_axes, ..Demands::default() };
    let mut cx = Infer {
        inputs,
        outs: &node.outs,
        symbols,
        errors,
        demands: recorded.is_some().then_some(&mut demands),
        node: u32::try_from(id.index()).unwrap_or(u32::MAX),
        fresh: 0,
    };
    let facts = match &node.op {
        Op::SubGraph(op) => {
            let shared = session.shared.take();
            let facts = op.infer_bodies(&mut cx, bodies, session);
            session.shared = shared;
            facts
        }
        Op::ReadValue(op) => {
            let known = cx.known_symbols().len();
            let mut facts = op.infer_values(&mut cx, session.assumed.as_ref());
            if let (Some(shared), Ok(Some(fact))) =
                (&mut session.shared, facts.as_mut().map(|f| f.first_mut()))
            {
                shared.share(id, fact, inputs.first().copied(), known, symbols);
            }
            facts
        }
        op => op.infer(&mut cx),
    };
    if let Some(recorded) = &mut recorded {
        recorded.add(id, demands, symbols);
    }
    session.conditions = recorded;
    let mut facts = facts?;
    fold(&node.op, inputs, &mut facts, session.monitor);
    Ok(facts)
}

/// Replaces facts with constants where possible: if all elements are known numbers, or by evaluating small
/// ops on constants while fuel lasts.
fn fold(op: &Op, inputs: &[&Fact], facts: &mut Facts, monitor: &mut Monitor) {
    for fact in facts.iter_mut() {
        if let Some(Known::Elements(elements)) = &fact.known
            && let Some(numbers) = elements.iter().map(SymExpr::as_const).collect::<Option<Vec<i64>>>()
            && let Some(dims) = fact.shape.as_static()
        {
            let tensor = Tensor::from_vec(&dims, numbers).and_then(|t| t.cast(fact.element_type));
            fact.known = tensor.ok().map(|t| Known::Tensor(Arc::new(t)));
        }
    }
    if inputs.is_empty() || facts.iter().any(|f| f.known.is_some()) || !op.traits().is_foldable() {
        return;
    }
    let sizes = facts.iter().map(|f| f.shape.as_static().map(|d| saturating_product(&d)));
    let outputs = { sizes }.try_fold(0usize, |sum, n| sum.checked_add(n?));
    let mut size = match outputs {
        Some(size) if size <= MAX_FOLDED => size,
        _ => return,
    };
    let mut tensors = Vec::with_capacity(inputs.len());
    for input in inputs {
        let Some(tensor) = input.as_tensor() else { return };
        size = size.saturating_add(tensor.len());
        if size > MAX_FOLDED {
            return;
        }
        tensors.push(Tensor::clone(tensor));
    }
    if !monitor.take_fuel(size) {
        return;
    }
    let computes_half = !op.has(OpTraits::MOVES_ELEMENTS) && !matches!(op, Op::Convert(_));
    let wide = if computes_half { widened(&tensors) } else { None };
    // Evaluates the specialized op, as a run does. Otherwise inference and run could choose different
    // elements among equal ones, for example in TopK.
    let specialized = op.specialize(inputs);
    let op = specialized.as_ref().unwrap_or(op);
    // If evaluation fails, the value stays unknown; running the graph reports why.
    let Ok(values) = op.eval_constants(wide.as_deref().unwrap_or(&tensors)) else { return };
    for (fact, value) in facts.iter_mut().zip(values) {
        if fact.shape.as_static().is_none_or(|dims| dims.as_slice() != value.dims()) {
            continue;
        }
        if fact.element_type == value.element_type() {
            fact.known = Some(Known::Tensor(Arc::new(value)));
        } else if wide.is_some() && fact.element_type.is_half() {
            fact.known = known_half(&value, fact.element_type);
        }
    }
}

/// The tensors with f16 and bf16 converted to f32, as in a run; `None` if there are no such tensors.
fn widened(tensors: &[Tensor]) -> Option<Vec<Tensor>> {
    let wide = |tensor: &Tensor| match tensor.element_type().is_half() {
        true => tensor.cast(ElementType::F32),
        false => Ok(tensor.clone()),
    };
    let any = tensors.iter().any(|tensor| tensor.element_type().is_half());
    any.then(|| tensors.iter().map(wide).collect::<Result<_, _>>().ok())?
}

/// The known value of f16 or bf16 elements that were computed in f32: the elements if they need no rounding,
/// otherwise bounds from the rounded and unrounded values.
fn known_half(value: &Tensor, half: ElementType) -> Option<Known> {
    let rounded = value.cast(half).ok()?;
    let (exact, near) = (value.to_f64_vec().ok()?, rounded.to_f64_vec().ok()?);
    if exact == near {
        return Some(Known::Tensor(Arc::new(rounded)));
    }
    let between = |(a, b): (&f64, &f64)| FloatBounds { lo: a.min(*b), hi: a.max(*b), ratio: None };
    let is_bounded = exact.iter().chain(&near).all(|number| number.is_finite());
    is_bounded.then(|| Known::Reals(exact.iter().zip(&near).map(between).collect()))
}

#[cfg(test)]
mod tests {
    use crate::{Graph, Limits, Watch, infer, infer_with, text};

    /// The inferred graph with these layers, and its errors.
    fn inferred(layers: &str) -> (Graph, Vec<String>) {
        let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
        let errors = infer(&mut graph).iter().map(|error| error.error.to_string()).collect();
        (graph, errors)
    }

    #[test]
    fn folding_ends_when_its_fuel_does() {
        let graph = |fuel: usize| {
            let layers = "%a = Const-1 f32[4] <4, 5, 6, 7>\n%b = Exp-1(%a)\n%c = Exp-1(%b)\n\
                          %d = Exp-1(%c)\n%y = Result-1(%d)";
            let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
            let mut monitor = Watch::new().limits(Limits::new().fuel(fuel)).start();
            assert_eq!(infer_with(&mut graph, &mut monitor), []);
            assert!(!monitor.is_stopped());
            graph
        };
        let known = |fuel| {
            let graph = graph(fuel);
            graph.ids().filter(|&id| graph.node(id).outs()[0].fact.as_tensor().is_some()).count()
        };
        assert_eq!([usize::MAX, 0].map(known), [5, 1]);
        let graph = graph(0);
        let last = graph.results().next().unwrap();
        assert_eq!(graph.node(last).outs()[0].fact.shape.as_static().unwrap().as_slice(), [4]);
    }

    #[test]
    fn folding_chooses_the_same_of_equal_elements_as_a_run() {
        let (graph, errors) = inferred(
            "%x = Const-1 i32[5] <7, 7, 7, 7, 7>\n%k = Const-1 i64[] <3>\n\
             %t:2 = TopK-11(%x, %k) {axis: 0, mode: max, sort: value, index_element_type: i32}\n\
             %y = Result-1(%t:1)",
        );
        assert_eq!(errors, [""; 0]);
        let result = graph.results().next().unwrap();
        assert_eq!(graph.node(result).outs()[0].fact.ints().unwrap().to_vec(), [0, 1, 2]);
    }

    #[test]
    fn shapes_are_known_after_a_reported_error() {
        let (x, y) = (r#"shape: "N,2,3""#, r#"shape: "5,4""#);
        let parameters = format!(
            "%x = Parameter-1 {{element_type: f32, {x}}}\n%y = Parameter-1 {{element_type: f32, {y}}}\n"
        );
        let constants =
            "%to = Const-1 i64[2] <6, 5>\n%axis = Const-1 i64[] <1>\n%parts = Const-1 i64[2] <3, -1>\n";
        for (layer, expected) in [
            ("%e = MatMul-1(%x, %y) {transpose_a: false, transpose_b: true}", "[N,2,5]"),
            ("%e = Add-1(%x, %y) {auto_broadcast: \"numpy\"}", "[N,2..5,3..4]"),
            ("%e = Reshape-1(%y, %to) {special_zero: false}", "[6,5]"),
            ("%e = VariadicSplit-1(%x, %axis, %parts)", "[N,3,3]"),
        ] {
            let (graph, errors) = inferred(&format!("{parameters}{constants}{layer}\n%last = Relu-1(%e)"));
            assert_eq!(errors.len(), 1, "{layer}: {errors:?}");
            let last = graph.ids().last().unwrap();
            let shape = graph.node(last).outs()[0].fact.shape.display(graph.symbols()).to_string();
            assert_eq!(shape, expected, "{layer}");
        }
    }

    #[test]
    fn what_is_known_already_takes_no_fuel_to_fold() {
        let layers = "%a = Const-1 i64[2] <4, 5>\n%axis = Const-1 i64[1] <0>\n%b = Unsqueeze-1(%a, %axis)\n\
                      %c = Const-1 f32[4] <4, 5, 6, 7>\n%d = Exp-1(%c)";
        let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
        // Fuel for one of the two layers.
        let mut monitor = Watch::new().limits(Limits::new().fuel(8)).start();
        assert_eq!(infer_with(&mut graph, &mut monitor), []);
        assert!(graph.ids().all(|id| graph.node(id).outs()[0].fact.as_tensor().is_some()));
    }
}
