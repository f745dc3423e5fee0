//! Inference of If: the branch that a known condition selects determines the outputs; if the condition is
//! unknown, the outputs are the union of both branches.

use snick_tensor::{ElementType, SmallVector};

use super::iterate::{is_single, truth};
use super::kind::SubGraphKind;
use super::port_map::PortMap;
use super::symbol_map::{SymbolMap, join};
use crate::infer::InferSession;
use crate::{Fact, Facts, Graph, Infer, Located, Op, OpError};

/// Infers the outputs of an If, and the facts inside both bodies. Ignores errors in a branch that is never
/// taken. If either branch may be taken but one of them always fails, successful runs take the other, which
/// then determines the outputs.
pub(super) fn infer(
    maps: [&PortMap; 2],
    bodies: [&mut Graph; 2],
    cx: &mut Infer,
    session: &mut InferSession,
) -> Result<Facts, OpError> {
    let condition = cx.optional(0).ok_or(OpError::NotConnected { port: 0 })?;
    is_single("the condition", condition)?;
    let taken = taken(condition);
    let mut given = SmallVector::<Facts, 2>::new();
    let mut errors = SmallVector::<Vec<Located>, 2>::new();
    let mut fails = [false; 2];
    for (i, (map, body)) in maps.into_iter().zip(bodies).enumerate() {
        let mark = session.errors.len();
        given.push(branch(map, body, cx, session)?);
        errors.push(session.errors.split_off(mark));
        fails[i] = errors[i].iter().any(|error| fails_in_every_run(&error.error)) && !may_skip(body);
    }
    let taken = taken.or(match fails {
        [false, true] => Some(0),
        [true, false] => Some(1),
        _ => None,
    });
    if let Some(taken) = taken {
        session.errors.append(&mut errors[taken]);
        return Ok(given.swap_remove(taken));
    }
    session.errors.extend(errors.into_iter().flatten());
    let both = given[0].iter().zip(&given[1]).enumerate();
    both.map(|(port, (a, b))| {
        let (x, y) = (a.element_type, b.element_type);
        if x != y && ![x, y].contains(&ElementType::Dynamic) {
            let what = format!("output {port} of else_body");
            return Err(OpError::element_type(what, y, format!("{x} as in then_body")));
        }
        Ok(join(a, b, cx))
    })
    .collect()
}

/// The index of the branch that a known condition selects.
pub(super) fn taken(condition: &Fact) -> Option<usize> {
    truth(condition).map(|holds| usize::from(!holds))
}

/// Whether an inference error means that every run fails, rather than that inference does not support the op.
fn fails_in_every_run(error: &OpError) -> bool {
    match error {
        OpError::WithInputs { error, .. } => fails_in_every_run(error),
        OpError::Inside(inside) | OpError::InDecomposition(inside) => fails_in_every_run(&inside.error),
        OpError::Unsupported { .. } | OpError::UnknownOp { .. } | OpError::NoImplementation { .. } => false,
        _ => true,
    }
}

/// Whether a run of the body may skip some of its layers, as a Loop with no iterations does.
fn may_skip(body: &Graph) -> bool {
    body.ids().any(|id| {
        let op = body.node(id).op();
        let is_loop = matches!(op, Op::SubGraph(op) if op.kind == SubGraphKind::Loop);
        is_loop || op.bodies().any(|(_, body)| may_skip(body))
    })
}

/// Infers the outputs of one body.
fn branch(
    map: &PortMap,
    body: &mut Graph,
    cx: &mut Infer,
    session: &mut InferSession,
) -> Result<Facts, OpError> {
    body.forget_all(body.symbols.body());
    let mut symbol_map = SymbolMap::default();
    let mut given = vec![None; body.parameters().count()];
    for link in &map.inputs {
        let (Some(port), Some(slot)) = (link.external, given.get_mut(link.internal)) else { continue };
        let outer = cx.optional(port).ok_or(OpError::NotConnected { port })?;
        *slot = Some(symbol_map.enter(outer, cx.known_symbols(), &mut body.symbols));
    }
    let results = body.infer_body(&given, session);
    let ports = map.outputs.iter().filter_map(|link| link.external);
    let mut facts: Facts = (0..ports.max().map_or(0, |port| port + 1)).map(|_| Fact::unknown()).collect();
    for link in &map.outputs {
        let out = link.external.and_then(|port| facts.get_mut(port));
        if let (Some(out), Some(result)) = (out, results.get(link.internal)) {
            *out = symbol_map.leave(result, &body.symbols, cx);
        }
    }
    Ok(facts)
}

#[cfg(test)]
mod tests {
    use crate::{infer, text};

    fn outcome(condition: &str, then: &str, otherwise: &str) -> String {
        let text = format!(
            "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"N,3\"}}\n  \
             %p = Parameter-1 {{element_type: boolean, shape: \"\"}}\n  %t = Const-1 boolean[] <1>\n  \
             %f = Const-1 f32[] <0.1>\n  \
             %if = If-8(%{condition}, %x) {{inputs: [\"1 -> 0\"], outputs: [\"0 -> 0\"], back_edges: [], \
             else_inputs: [\"1 -> 0\"], else_outputs: [\"0 -> 0\"], else_back_edges: []}}\n    \
             then_body graph \"\" {{\n %x = Parameter-1 {{element_type: f32, shape: \"?,?\"}}\n {then}\n \
             %r = Result-1(%y)\n }}\n    \
             else_body graph \"\" {{\n %x = Parameter-1 {{element_type: f32, shape: \"?,?\"}}\n {otherwise}\n \
             %r = Result-1(%y)\n }}\n  %y = Result-1(%if)\n}}\n"
        );
        let mut graph = text::parse(&text, None).unwrap_or_else(|e| panic!("{e}"));
        if let Some(error) = infer(&mut graph).first() {
            return error.to_string();
        }
        let id = graph.results().next().unwrap();
        graph.node(id).outs()[0].fact.shape.display(graph.symbols()).to_string()
    }

    const SAME: &str = "%y = ReLU-1(%x)";
    const WIDER: &str = "%y = Concat-1(%x, %x) {axis: 1}";
    const BAD: &str = "%w = Const-1 f32[2] <1, 2>\n %y = Add-1(%x, %w)";

    #[test]
    fn outputs_cover_both_branches_or_are_those_of_the_known_one() {
        assert_eq!(outcome("p", SAME, WIDER), "[N,3..6]");
        assert_eq!(outcome("t", SAME, WIDER), "[N,3]");
        let scalar = "%a = Const-1 i64[2] <0, 1>\n %y = ReduceSum-1(%x, %a) {keep_dims: false}";
        assert_eq!(outcome("p", SAME, scalar), "[...]");
    }

    #[test]
    fn a_run_that_does_not_fail_takes_the_branch_that_does_not() {
        assert_eq!(outcome("p", SAME, BAD), "[N,3]");
        assert_eq!(outcome("p", BAD, WIDER), "[N,6]");
        assert!(outcome("p", BAD, BAD).contains("layer `y` (Add)"));
    }

    #[test]
    fn an_error_in_a_loop_of_a_branch_may_not_occur() {
        let body = |layers: &str| {
            format!(
                "%n = Const-1 i64[] <-1>\n %g = Const-1 boolean[] <1>\n %y = Loop-5(%n, %g, %x) {{inputs: [\"2 -> 0\"], \
                 outputs: [\"_ -> 0 purpose=execution_condition\", \"0 -> 1\"], back_edges: [1,0]}}\n body graph \"\" {{\n \
                 %x = Parameter-1 {{element_type: f32, shape: \"?,?\"}}\n %go = Const-1 boolean[] <1>\n {layers}\n \
                 %r0 = Result-1(%go)\n %r1 = Result-1(%y)\n }}"
            )
        };
        assert!(outcome("p", SAME, &body(BAD)).contains("layer `y` (Add)"));
    }

    #[test]
    fn conditions_are_not_floats() {
        let error = outcome("f", SAME, SAME);
        assert!(
            error.contains("the condition has element type f32, expected boolean or an integer type"),
            "{error}"
        );
    }

    #[test]
    fn errors_in_a_branch_that_is_never_taken_are_dropped() {
        assert_eq!(outcome("t", SAME, BAD), "[N,3]");
        assert!(outcome("t", BAD, SAME).contains("layer `y` (Add)"));
        let integer = "%y = Convert-1(%x) {destination_type: i32}";
        assert!(outcome("p", SAME, integer).contains("f32 as in then_body"));
    }
}
