//! If a target cannot express a layer, replaces the layer with other layers that the target can express.

use snick_ir::rewrite::{DriverOptions, MissedRewrite, Rule, Trace, apply};
use snick_ir::{Graph, NodeId, Op, OpTraits};
use snick_tensor::ElementType;

use super::{constants, decompose, widen};

/// More rounds than any layer needs. For example, GroupNormalization becomes MVN, which becomes reductions,
/// which may then have to be computed in another element type.
const MAX_ROUNDS: usize = 16;

/// The operators of a format, device or release, from its table.
#[derive(Copy, Clone)]
pub struct Target<'t> {
    /// Whether the target can write a layer unchanged.
    pub can_write: &'t dyn Fn(&Graph, NodeId) -> bool,
    /// The wider element type in which to compute a layer. `None` unless the target has the operator, but not
    /// for the element type of the layer.
    pub computes_in: &'t dyn Fn(&Graph, NodeId) -> Option<ElementType>,
    /// Whether the target supports values of an element type.
    pub has_type: &'t dyn Fn(ElementType) -> bool,
    /// Whether the target reads OpenVINO's operations, so that an older definition of an operation helps.
    pub reads_definitions: bool,
}

/// Whether a layer applies a float formula to integers. Runtimes round such results in ways that no other
/// formula reproduces.
pub fn is_rounded_formula(graph: &Graph, id: NodeId) -> bool {
    let data = graph.inputs(id).first().copied().flatten().and_then(|value| graph.fact(value));
    graph.node(id).op().has(OpTraits::FLOAT_FORMULA)
        && data.is_some_and(|fact| fact.element_type.is_integer())
}

/// Rewrites an inferred graph and its bodies until the target can write all layers, or no rule applies to the
/// remaining ones. Returns, with reasons, the layers that a rule matched but declined, and the custom ops
/// whose decomposition failed.
pub fn for_target(graph: &mut Graph, target: &Target) -> Vec<MissedRewrite> {
    let mut missed = Vec::new();
    rewrite(graph, &[constants::RULE], &|graph, id| constants::is_of_other_type(graph, id, target.has_type));
    let definitions = if target.reads_definitions { decompose::DEFINITIONS } else { &[] };
    let rules = [definitions, decompose::RULES].concat();
    for _ in 0..MAX_ROUNDS {
        for (wide, rule) in widen::RULES {
            rewrite(graph, std::slice::from_ref(rule), &|graph, id| {
                (target.computes_in)(graph, id) == Some(*wide)
            });
        }
        let only = |graph: &Graph, id| {
            !(target.can_write)(graph, id)
                && (target.computes_in)(graph, id).is_none()
                && !is_rounded_formula(graph, id)
        };
        let trace = rewrite(graph, &rules, &only);
        // Layers that decompositions added may also have an element type that the target lacks.
        missed = trace.missed;
        let is_custom =
            |layer: &str| graph.find(layer).is_some_and(|id| matches!(graph.node(id).op(), Op::Custom(_)));
        let failed = trace.errors.into_iter().filter(|located| is_custom(&located.layer));
        missed.extend(failed.map(|located| MissedRewrite {
            rule: "custom-ops".into(),
            layer: located.layer.into(),
            op: located.op,
            reason: located.error.to_string(),
        }));
        if trace.applied.is_empty() {
            break;
        }
    }
    graph.for_each_body(|body| missed.extend(for_target(body, target)));
    missed
}

fn rewrite(graph: &mut Graph, rules: &[Rule], only: &dyn Fn(&Graph, NodeId) -> bool) -> Trace {
    apply(graph, rules, DriverOptions { only: Some(only), ..DriverOptions::default() })
}

#[cfg(test)]
mod tests {
    use snick_ir::infer;
    use snick_ir::text::{PrintOptions, print};

    use super::*;

    const PLAIN: Target<'static> = Target {
        can_write: &|graph, id| {
            !matches!(graph.node(id).op(), Op::GroupNormalization(_) | Op::Mvn(_) | Op::Pad(_))
        },
        computes_in: &|graph, id| {
            let is_bf16 = graph.node(id).outs().first()?.fact.element_type == ElementType::BF16;
            (is_bf16 && matches!(graph.node(id).op(), Op::Unary(_))).then_some(ElementType::F32)
        },
        has_type: &|element_type| element_type != ElementType::U3,
        reads_definitions: false,
    };

    fn legalized(layers: &str) -> (String, Vec<MissedRewrite>) {
        let text = format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n");
        let mut graph = snick_ir::text::parse(&text, None).unwrap();
        assert_eq!(infer(&mut graph), []);
        let missed = for_target(&mut graph, &PLAIN);
        (print(&graph, PrintOptions::default()), missed)
    }

    #[test]
    fn decompositions_are_decomposed_in_turn() {
        let (text, missed) = legalized(
            "%x = Parameter-1 {element_type: f32, shape: \"N,4,5\"}
             %s = Parameter-1 {element_type: f32, shape: \"4\"}
             %y = GroupNormalization-12(%x, %s, %s) {num_groups: 2, epsilon: 0.001}
             %r = Result-1(%y)",
        );
        assert_eq!(missed, []);
        assert!(
            text.contains("ReduceMean") && !text.contains("MVN-") && !text.contains("GroupNormalization-"),
            "{text}"
        );
    }

    #[test]
    fn layers_are_computed_in_a_wider_type() {
        let x = "%x = Parameter-1 {element_type: bf16, shape: \"2\"}\n";
        let (text, _) = legalized(&format!("{x}%y = Cos-1(%x)\n%z = Sin-1(%y)\n%r = Result-1(%z)"));
        assert_eq!(text.matches("Convert-1").count(), 4, "{text}");
    }

    #[test]
    fn converted_constants_of_types_that_the_target_lacks_are_constants() {
        let (text, _) = legalized(
            "%w = Const-1 u3[4] <1, 2, 7, 0>
             %y = Convert-1(%w) {destination_type: f16}
             %u = Const-1 u4[4] <1, 2, 3, 15>
             %z = Convert-1(%u) {destination_type: f16}
             %r = Result-1(%y)
             %s = Result-1(%z)",
        );
        assert!(text.contains("f16[4] <1.0, 2.0, 7.0, 0.0>") && !text.contains("u3"), "{text}");
        assert!(text.contains("Const-1 u4[4]"), "{text}");
    }

    #[test]
    fn comparisons_are_computed_in_a_wider_type_of_their_inputs() {
        let target = Target {
            computes_in: &|graph, id| {
                let is_bf16 = |value| graph.fact(value).is_some_and(|f| f.element_type == ElementType::BF16);
                let compares = matches!(graph.node(id).op(), Op::Compare(_));
                let input = graph.inputs(id).into_iter().flatten().next();
                (compares && input.is_some_and(is_bf16)).then_some(ElementType::F32)
            },
            ..PLAIN
        };
        let mut graph = snick_ir::text::parse(
            "snick 1\ngraph \"g\" {\n%x = Parameter-1 {element_type: bf16, shape: \"2\"}
             %y = Less-1(%x, %x) {auto_broadcast: numpy}\n%r = Result-1(%y)\n}\n",
            None,
        )
        .unwrap();
        assert_eq!(infer(&mut graph), []);
        for_target(&mut graph, &target);
        let text = print(&graph, PrintOptions::default());
        assert!(
            text.contains("Convert-1(%x) {destination_type: f32}") && text.contains(": boolean[2]"),
            "{text}"
        );
    }

    #[test]
    fn declined_rules_are_reported() {
        let (_, missed) = legalized(
            "%x = Parameter-1 {element_type: f32, shape: \"4\"}
             %p = Parameter-1 {element_type: i64, shape: \"1\"}
             %y = Pad-12(%x, %p, %p) {pad_mode: edge}
             %r = Result-1(%y)",
        );
        assert_eq!(missed[0].reason, "the pads known only at run time");
    }
}
