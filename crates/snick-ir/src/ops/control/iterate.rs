//! Inference of TensorIterator and Loop: facts that hold in every iteration, and the iteration count.

use snick_shape::{Birth, Interval, Origin, Shape, SymExpr};
use snick_tensor::ElementType;

use super::kind::SubGraphKind;
use super::no_trips::{input_sizes, with_no_trips};
use super::port_map::{Cut, PortMap, Purpose};
use super::states::State;
use super::symbol_map::SymbolMap;
use crate::infer::{InferSession, normalize_axis};
use crate::{Fact, Facts, Graph, Infer, Op, OpError};

/// The error for inputs sliced into different numbers of parts.
pub(super) const ITERATIONS_DIFFER: &str = "sliced inputs give {} and {} iterations";

/// Number of rounds that drop only the contradicted assumptions about states; after that, all assumptions are
/// dropped.
const MAX_ROUNDS: usize = 8;

/// Infers the outputs of a TensorIterator or Loop, and the facts inside the body.
pub(super) fn infer(
    kind: SubGraphKind,
    map: &PortMap,
    body: &mut Graph,
    cx: &mut Infer,
    session: &mut InferSession,
) -> Result<Facts, OpError> {
    let ports =
        map.inputs.iter().filter_map(|link| link.external).max().map_or(0, |port| port.saturating_add(1));
    let ports = if kind == SubGraphKind::Loop { ports.max(2) } else { ports };
    if cx.len() > ports {
        return Err(OpError::Arity { expected: format!("{ports}, as in the port map"), got: cx.len() });
    }
    body.forget_all(body.symbols.body());
    let mut symbol_map = SymbolMap::default();
    let parts = match kind {
        SubGraphKind::Loop => None,
        _ => Some(parts(map, cx)?),
    };
    let most = match &parts {
        Some(count) => cx.interval(count).hi(),
        None => most_iterations(cx)?,
    };
    // The iteration number needs an interval of at least two values to become a symbol; the symbol is
    // replaced once the iteration count is known.
    let last = if most == i64::MAX { most } else { most.saturating_sub(1).max(1) };
    let within = Interval::new(0, last).unwrap_or(Interval::DIM);
    let birth = || Birth::Data(Some("the number of the iteration".into()));
    let iteration = body.symbols.fresh_born(within, Origin::default(), birth);
    let mut given = vec![None; body.parameters().count()];
    for link in &map.inputs {
        let Some(slot) = given.get_mut(link.internal) else { continue };
        *slot = match (link.external, link.purpose) {
            (Some(port), _) => Some(entering(port, link.cut, body, cx, &mut symbol_map)?),
            (None, Some(Purpose::CurrentIteration)) => Some(counter(body, link.internal, &iteration)?),
            (None, _) => None,
        };
    }
    let mut states = Vec::new();
    for &(result, parameter) in &map.back_edges {
        let Some(Some(initial)) = given.get(parameter) else {
            let what = format!("Parameter {parameter} of a back edge");
            return Err(OpError::mismatch(what, "not connected", "connected to an initial value"));
        };
        states.push(State::new(kind, parameter, result, initial.clone()));
    }
    let mark = session.errors.len();
    let results = fixpoint(&mut states, &mut given, &iteration, &symbol_map, body, session);
    let trips = match parts {
        Some(parts) => parts,
        None => iterations(map, &results, cx)?,
    };
    if kind == SubGraphKind::Loop && trips.as_const() == Some(0) {
        // The body never runs.
        session.errors.truncate(mark);
    }
    if let Some(iteration) = iteration.as_symbol() {
        let last = cx.sub(&trips, &SymExpr::from(1));
        symbol_map.means(iteration, last);
    }
    let outcome = Outcome { kind, map, states: &states, results: &results, trips: &trips, body };
    outcome.outputs(&mut symbol_map, cx)
}

/// The fact of a Parameter: a whole input or one slice of it.
fn entering(
    port: usize,
    cut: Option<Cut>,
    body: &mut Graph,
    cx: &Infer,
    symbol_map: &mut SymbolMap,
) -> Result<Fact, OpError> {
    let outer = cx.optional(port).ok_or(OpError::NotConnected { port })?;
    let fact = symbol_map.enter(outer, cx.known_symbols(), &mut body.symbols);
    let Some(cut) = cut else { return Ok(fact) };
    let Some(dims) = fact.shape.dims() else { return Ok(Fact::new(fact.element_type, Shape::unranked())) };
    let axis = normalize_axis(cut.axis, dims.len())?;
    let part = |(i, dim): (usize, &SymExpr)| if i == axis { cut.part_size.into() } else { dim.clone() };
    Ok(Fact::new(fact.element_type, Shape::ranked(dims.iter().enumerate().map(part).collect::<Vec<_>>())))
}

/// The iteration number, with the type and shape that its Parameter declares.
fn counter(body: &mut Graph, parameter: usize, iteration: &SymExpr) -> Result<Fact, OpError> {
    let declared = body.parameters().nth(parameter).map(|id| body.node(id).op());
    let Some(Op::Parameter(declared)) = declared else {
        return Err(OpError::mismatch("the iteration number", "not a Parameter", "a Parameter"));
    };
    let (element_type, shape) = (declared.element_type, declared.shape.clone());
    let shape = shape.instantiate(&mut body.symbols, Origin::default())?;
    match shape.rank() {
        None | Some(0 | 1) => {}
        Some(rank) => return Err(OpError::rank("the iteration number", rank, "0 or 1")),
    }
    // A counter that is a vector has one element, regardless of the declared size.
    let shape = match shape.rank() {
        Some(1) => Shape::from([1]),
        _ => shape,
    };
    let is_integer = element_type.is_integer();
    Ok(Fact::new(element_type, shape).with_elements(is_integer.then(|| vec![iteration.clone()])))
}

/// Infers the body repeatedly until the assumptions about the states hold; returns the facts of its Results.
fn fixpoint(
    states: &mut [State],
    given: &mut [Option<Fact>],
    iteration: &SymExpr,
    symbol_map: &SymbolMap,
    body: &mut Graph,
    session: &mut InferSession,
) -> Facts {
    let mark = session.errors.len();
    let pass =
        |states: &[State], given: &mut [Option<Fact>], body: &mut Graph, session: &mut InferSession| {
            for state in states {
                given[state.parameter] = Some(state.fact());
            }
            session.errors.truncate(mark);
            body.infer_body(given, session)
        };
    let unknown = Fact::unknown();
    let (mut changed, mut round) = (false, 0);
    loop {
        if !states.is_empty() && !session.affords(round, body) {
            states.iter_mut().for_each(State::forget);
            return pass(states, given, body, session);
        }
        let results = pass(states, given, body, session);
        // Round 0 uses the initial values of the states, so an error means that the first iteration of every
        // run fails.
        if round == 0 && session.errors.len() > mark {
            return Facts::new();
        }
        let mut fails = false;
        for state in states.iter_mut() {
            let assumed = given[state.parameter].as_ref().unwrap_or(&unknown);
            let next = results.get(state.result).unwrap_or(&unknown);
            fails |= state.drop_contradicted(assumed, next, &mut body.symbols);
        }
        changed |= fails;
        if !fails && !changed {
            return results;
        }
        if !fails {
            for state in states.iter_mut() {
                let next = results.get(state.result).unwrap_or(&unknown);
                state.solve(next, iteration, symbol_map, &mut body.symbols);
            }
            return pass(states, given, body, session);
        }
        if round >= MAX_ROUNDS {
            states.iter_mut().for_each(State::forget);
        }
        round += 1;
    }
}

/// Resolves a start or end of a sliced range: 0 is before the first element, -1 after the last.
fn border(at: i64, size: &SymExpr, cx: &mut Infer) -> SymExpr {
    let at = SymExpr::from(at);
    match at.as_const() {
        Some(0..) => at,
        _ => {
            let behind = cx.add(size, &SymExpr::from(1));
            cx.add(&behind, &at)
        }
    }
}

/// The number of iterations of a TensorIterator. All sliced inputs must have the same number of parts;
/// without sliced inputs, an output determines it.
fn parts(map: &PortMap, cx: &mut Infer) -> Result<SymExpr, OpError> {
    let mut count: Option<SymExpr> = None;
    let mut is_cut = false;
    for link in &map.inputs {
        let (Some(port), Some(cut)) = (link.external, link.cut) else { continue };
        is_cut = true;
        let outer = cx.optional(port).ok_or(OpError::NotConnected { port })?;
        let Some(dims) = outer.shape.dims() else { continue };
        let axis = normalize_axis(cut.axis, dims.len())?;
        let (start, end) = (border(cut.start, &dims[axis], cx), border(cut.end, &dims[axis], cx));
        let (first, last) = if cut.stride < 0 { (end, start) } else { (start, end) };
        let length = cx.sub(&last, &first);
        let step = SymExpr::from(i64::try_from(cut.stride.unsigned_abs()).unwrap_or(i64::MAX));
        let whole = cx.floor_div(&length, &step);
        let found = cx.as_dim(&whole).unwrap_or(SymExpr::from(0));
        count = match count {
            None => Some(found),
            Some(known) => Some(cx.merge(&known, &found).ok_or_else(|| {
                let symbols = cx.known_symbols();
                OpError::conflict(ITERATIONS_DIFFER, symbols.display(&known), symbols.display(&found))
            })?),
        };
    }
    if let Some(count) = count {
        return Ok(count);
    }
    if is_cut {
        return Ok(cx.unknown(Interval::DIM));
    }
    let made = map.outputs.iter().find_map(|link| link.cut);
    Ok(SymExpr::from(made.map_or(1, |cut| output_parts(&cut))))
}

/// The number of parts of a concatenated output; this is the iteration count of an op without sliced inputs.
pub(super) fn output_parts(cut: &Cut) -> i64 {
    let length = i64::try_from(cut.end.abs_diff(cut.start)).unwrap_or(i64::MAX);
    length / cut.part_size.max(1)
}

/// The iteration limit that input 0 of a Loop sets.
fn most_iterations(cx: &Infer) -> Result<i64, OpError> {
    for (port, what) in [(0, "the number of iterations"), (1, "the condition")] {
        let fact = cx.optional(port).ok_or(OpError::NotConnected { port })?;
        is_single(what, fact)?;
    }
    let count = cx.input(0).elements().and_then(|elements| Some(cx.interval(elements.first()?)));
    Ok(match count {
        Some(count) if count.lo() >= 0 => count.hi(),
        _ => i64::MAX,
    })
}

/// Requires a boolean or an integer, as a scalar or a vector; a known vector must have one element. Floats
/// are rejected because the OpenVINO runtime would read only their first byte.
pub(super) fn is_single(what: &str, fact: &Fact) -> Result<(), OpError> {
    is_whole(what, fact.element_type)?;
    match fact.shape.dims() {
        Some([size]) if fact.known.is_some() && size.as_const().is_some_and(|size| size != 1) => {
            Err(OpError::mismatch(format!("the size of {what}"), fact.elements().map_or(0, |e| e.len()), 1))
        }
        None | Some([] | [_]) => Ok(()),
        Some(dims) => Err(OpError::rank(what, dims.len(), "0 or 1")),
    }
}

/// Requires a boolean or integer type, if the type is known.
pub(super) fn is_whole(what: &str, given: ElementType) -> Result<(), OpError> {
    match given {
        ElementType::Boolean | ElementType::Dynamic => Ok(()),
        _ if given.is_integer() => Ok(()),
        _ => Err(OpError::element_type(what, given, "boolean or an integer type")),
    }
}

/// The value of a condition, if known.
pub(super) fn truth(fact: &Fact) -> Option<bool> {
    fact.ints()?.first().map(|&value| value != 0)
}

/// The number of iterations of a Loop.
fn iterations(map: &PortMap, results: &Facts, cx: &mut Infer) -> Result<SymExpr, OpError> {
    let starts = truth(cx.input(1));
    let goes_on = match map.with_purpose(Purpose::ExecutionCondition) {
        Some(link) => {
            let fact = results.get(link.internal);
            if let Some(fact) = fact {
                is_single("the condition of the body", fact)?;
            }
            fact.and_then(truth)
        }
        None => Some(true),
    };
    let limit = cx.input(0).elements().and_then(|elements| elements.first().cloned());
    let interval = limit.as_ref().map_or(Interval::ANY, |limit| cx.interval(limit));
    let least = i64::from(starts == Some(true) && !interval.contains(0));
    let most = if interval.lo() >= 0 { interval.hi() } else { i64::MAX };
    Ok(match (starts, goes_on, limit) {
        (Some(false), _, _) => SymExpr::from(0),
        // A negative limit means no limit, and such a loop would never end.
        (Some(true), Some(true), Some(limit)) if interval.hi() >= 0 => {
            cx.as_dim(&limit).unwrap_or(SymExpr::from(0))
        }
        (_, Some(false), _) => cx.unknown(Interval::new(least, most.min(1)).unwrap_or(Interval::DIM)),
        _ => cx.unknown(Interval::new(least, most).unwrap_or(Interval::DIM)),
    })
}

/// The result of inferring the body, from which the facts of the op's outputs follow.
struct Outcome<'a> {
    kind: SubGraphKind,
    map: &'a PortMap,
    states: &'a [State],
    /// The facts of the Results in the last iteration.
    results: &'a Facts,
    /// The iteration count.
    trips: &'a SymExpr,
    body: &'a Graph,
}

impl Outcome<'_> {
    /// The facts of the op's outputs.
    fn outputs(&self, symbol_map: &mut SymbolMap, cx: &mut Infer) -> Result<Facts, OpError> {
        let unknown = Fact::unknown();
        let ports = self.map.outputs.iter().filter_map(|link| link.external);
        let mut facts: Facts = (0..ports.max().map_or(0, |port| port + 1)).map(|_| Fact::unknown()).collect();
        for link in &self.map.outputs {
            let Some(out) = link.external.and_then(|port| facts.get_mut(port)) else { continue };
            let last = self.results.get(link.internal).unwrap_or(&unknown);
            *out = match link.cut {
                Some(cut) => self.assembled(cut, last, symbol_map, cx)?,
                None => self.last(link.internal, last, symbol_map, cx),
            };
        }
        Ok(facts)
    }

    /// An output that takes its value from the last iteration, or the initial value if there are no
    /// iterations.
    fn last(&self, result: usize, last: &Fact, symbol_map: &mut SymbolMap, cx: &mut Infer) -> Fact {
        let Some(state) = self.states.iter().find(|state| state.result == result) else {
            return symbol_map.leave(last, &self.body.symbols, cx);
        };
        if self.kind == SubGraphKind::Loop && self.trips.as_const() == Some(0) {
            return symbol_map.leave(state.initial(), &self.body.symbols, cx);
        }
        let after = symbol_map.leave(&state.after(last), &self.body.symbols, cx);
        // A TensorIterator without iterations fails at run time.
        if self.kind == SubGraphKind::TensorIterator || !cx.interval(self.trips).contains(0) {
            return after;
        }
        let initial = symbol_map.leave(state.initial(), &self.body.symbols, cx);
        state.or_initial(&after, &initial, cx)
    }

    /// An output concatenated from one part per iteration.
    fn assembled(
        &self,
        cut: Cut,
        part: &Fact,
        symbol_map: &mut SymbolMap,
        cx: &mut Infer,
    ) -> Result<Fact, OpError> {
        let made = |shape| Ok(Fact::new(part.element_type, shape));
        let Some(inside) = part.shape.dims() else { return made(Shape::unranked()) };
        if inside.is_empty() {
            return match cut.axis {
                0 => made(Shape::ranked([self.trips.clone()])),
                axis => Err(OpError::out_of_range("the axis of concatenated scalars", axis, "0")),
            };
        }
        let axis = normalize_axis(cut.axis, inside.len())?;
        // Each part has the size of the stride; otherwise execution fails.
        let step = i64::try_from(cut.stride.unsigned_abs()).unwrap_or(i64::MAX);
        let size = SymExpr::from(inside[axis].as_const().unwrap_or(step));
        let outside =
            symbol_map.leave(&Fact::new(part.element_type, part.shape.clone()), &self.body.symbols, cx);
        let whole = cx.mul(self.trips, &size);
        let dims = outside.shape.dims().unwrap_or_default().iter().enumerate();
        let dims = dims.map(|(i, dim)| if i == axis { whole.clone() } else { dim.clone() });
        let mut dims: Vec<SymExpr> = dims.collect();
        // A TensorIterator without iterations fails at run time.
        if self.kind == SubGraphKind::Loop && cx.interval(self.trips).contains(0) {
            let sizes = input_sizes(self.body, self.map);
            for (_, (dim, inside)) in dims.iter_mut().zip(inside).enumerate().filter(|(i, _)| *i != axis) {
                *dim = with_no_trips(inside, dim.clone(), &sizes, symbol_map, self.trips, cx);
            }
        }
        made(Shape::ranked(dims))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Graph, infer, text};

    /// A Loop with the state `s` and the iteration number `i`.
    fn looped(trips: &str, x: &str, body: &str) -> Graph {
        text::parse(&loop_text(trips, x, body), None).unwrap_or_else(|e| panic!("{e}"))
    }

    fn loop_text(trips: &str, x: &str, body: &str) -> String {
        format!(
            "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"{x}\"}}\n  \
             %n = Parameter-1 {{element_type: i64, shape: \"\"}}\n  %trips = Const-1 i64[] <{trips}>\n  \
             %starts = Const-1 boolean[] <1>\n  \
             %loop = Loop-5(%trips, %starts, %x) {{inputs: [\"_ -> 0 purpose=current_iteration\", \"2 -> 1\"], \
             outputs: [\"_ -> 0 purpose=execution_condition\", \"0 -> 1\"], back_edges: [1,1]}}\n    \
             body graph \"\" {{\n      %i = Parameter-1 {{element_type: i64, shape: \"\"}}\n      \
             %s = Parameter-1 {{element_type: f32, shape: \"...\"}}\n      %true = Const-1 boolean[] <1>\n      \
             {body}\n      %r0 = Result-1(%true)\n      %r1 = Result-1(%next)\n    }}\n  %y = Result-1(%loop)\n}}\n"
        )
    }

    fn shape(graph: &mut Graph) -> String {
        let errors = infer(graph);
        assert!(errors.is_empty(), "{}", errors[0]);
        let id = graph.results().next().unwrap();
        graph.node(id).outs()[0].fact.shape.display(graph.symbols()).to_string()
    }

    fn ranges(graph: &mut Graph) -> String {
        shape(graph);
        let id = graph.results().next().unwrap();
        graph.node(id).outs()[0].fact.shape.display_intervals(graph.symbols()).to_string()
    }

    #[test]
    fn states_that_grow_by_a_constant_have_exact_sizes() {
        let grow = "%next = Concat-1(%s, %s, %one) {axis: 0}\n".replace("%s, %s", "%s");
        let body = format!("%one = Const-1 f32[2] <1, 2>\n      {grow}");
        assert_eq!(shape(&mut looped("5", "N", &body)), "[N+10]");
        assert_eq!(shape(&mut looped("0", "N", &body)), "[N]");
        assert_eq!(shape(&mut looped("1000000", "3..4", &body)), "[s0+2000000]");
    }

    #[test]
    fn states_that_grow_otherwise_have_bounds() {
        let body = "%next = Concat-1(%s, %s) {axis: 0}";
        assert_eq!(ranges(&mut looped("5", "3..4,N", body)), "[6..,?]");
        let body = "%zero = Const-1 i64[] <0>\n      %next = Unsqueeze-1(%s, %zero)";
        assert_eq!(shape(&mut looped("5", "3", body)), "[...]");
        // The state stays within its interval, because the slice takes at most 3 elements.
        let body = "%a = Const-1 i64[1] <0>\n      %b = Const-1 i64[1] <3>\n      %c = Const-1 i64[1] <1>\n      \
                    %next = Slice-8(%s, %a, %b, %c, %a)";
        assert_eq!(ranges(&mut looped("5", "2..9", body)), "[2..3]");
    }

    #[test]
    fn a_loop_of_no_trips_may_give_empty_parts() {
        let grow = "%z = Const-1 i64[] <0>\n %one = Const-1 f32[2] <1, 2>\n %next = Concat-1(%s, %one) {axis: 0}\n \
                    %part = Unsqueeze-1(%s, %z)";
        let keep = "%z = Const-1 i64[] <0>\n %next = ReLU-1(%s)\n %part = Unsqueeze-1(%s, %z)";
        let count = "%z = Const-1 i64[] <0>\n %next = ReLU-1(%s)\n %one = Const-1 i64[] <1>\n \
                     %more = Add-1(%i, %one)\n %range = Range-4(%z, %more, %one) {output_type: i64}\n \
                     %part = Unsqueeze-1(%range, %z)";
        let parts = |trips: &str, body: &str| {
            let text = loop_text("7", "4..9", body);
            let text =
                text.replace("%trips = Const-1 i64[] <7>", trips).replace("%loop = Loop", "%loop:2 = Loop");
            let text = text.replace("%r1 = Result-1(%next)", "%r1 = Result-1(%next)\n %r2 = Result-1(%part)");
            let text = text.replace("\"0 -> 1\"]", "\"0 -> 1\", \"1 -> 2 axis=0 stride=1 part_size=1\"]");
            let mut graph = text::parse(&text.replace("(%loop)", "(%loop:1)"), None).unwrap();
            ranges(&mut graph)
        };
        assert_eq!(parts("%trips = Const-1 i64[] <0>", grow), "[0,0]");
        assert_eq!(parts("%trips = Const-1 i64[] <0>", keep), "[0,4..9]");
        assert_eq!(parts("%trips = Const-1 i64[] <0>", count), "[0,0]");
        assert_eq!(parts("%trips = Const-1 i64[] <1>", grow), "[1,4..9]");
        let any = "%trips = Parameter-1 {element_type: i64, shape: \"\"}";
        assert_eq!(parts(any, keep), "[?,4..9]");
        assert_eq!(parts(any, grow), "[?,?]");
        assert_eq!(parts(any, count), "[?,?]");
    }

    #[test]
    fn rounds_over_nested_bodies_are_bounded() {
        let mut body = "%next = Concat-1(%s, %s) {axis: 0}".to_string();
        for _ in 0..40 {
            body = format!(
                "%t = Const-1 i64[] <3>\n %in = Loop-5(%t, %true, %s) {{inputs: [\"2 -> 0\"], \
                 outputs: [\"_ -> 0 purpose=execution_condition\", \"0 -> 1\"], back_edges: [1,0]}}\n body graph \"\" {{\n \
                 %s = Parameter-1 {{element_type: f32, shape: \"?\"}}\n %true = Const-1 boolean[] <1>\n {body}\n \
                 %r0 = Result-1(%true)\n %r1 = Result-1(%next)\n }}\n %next = Concat-1(%in, %s) {{axis: 0}}"
            );
        }
        let mut graph = looped("3", "1", &body);
        assert!(infer(&mut graph).is_empty());
    }

    #[test]
    fn an_error_inside_is_reported_once_with_its_layer() {
        let body = "%w = Const-1 f32[3] <1, 2, 3>\n      %bad = Add-1(%s, %w)\n      \
                    %next = Concat-1(%bad, %w) {axis: 0}";
        let errors = infer(&mut looped("5", "2", body));
        assert_eq!(errors.iter().map(|e| e.layer.as_str()).collect::<Vec<_>>(), ["bad"]);
    }

    #[test]
    fn a_body_that_never_runs_has_no_errors() {
        let body = "%w = Const-1 f32[3] <1, 2, 3>\n      %bad = Add-1(%s, %w)\n      \
                    %next = Concat-1(%bad, %w) {axis: 0}";
        assert_eq!(infer(&mut looped("0", "2", body)), []);
        assert_eq!(infer(&mut looped("1", "2", body)).len(), 1);
    }

    #[test]
    fn maps_to_missing_ports_are_errors() {
        let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n  \
                    %t = TensorIterator-1(%x) {inputs: [MAP], outputs: [\"0 -> 0\"], back_edges: [EDGE]}\n    \
                    body graph \"\" {\n      %p = Parameter-1 {element_type: f32, shape: \"?\"}\n      \
                    %r = Result-1(%p)\n    }\n  %y = Result-1(%t)\n}\n";
        let parse =
            |map: &str, edge: &str| text::parse(&text.replace("MAP", map).replace("EDGE", edge), None);
        assert!(parse("\"0 -> 0 axis=0\"", "0,0").is_ok());
        for (map, edge) in [
            ("\"0 -> 1\"", ""),
            ("\"0 -> 0\"", "1,0"),
            ("\"0 -> 0\"", "0,1"),
            ("\"0 -> 0 axis=0 stride=0\"", ""),
            ("\"0 -> 0 axis=0 part_size=0\"", ""),
            ("\"0 -> 0 purpose=current_iteration\"", ""),
        ] {
            assert!(parse(map, edge).is_err(), "{map} {edge}");
        }
        let mut graph = parse("\"7 -> 0\"", "").unwrap();
        assert!(infer(&mut graph)[0].to_string().contains("input 7 is not connected"));
    }
}
