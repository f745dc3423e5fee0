//! Legalizes a graph for a release of OpenVINO, and refuses what cannot be expressed.

use snick_ir::rewrite::{self, DriverOptions};
use snick_ir::{
    Graph, IrFeature, Located, Need, NeedCause, NodeId, NodeRef, Op, Release, TypeUse, Value, Version,
    empty_need, feature_support, needs, op_support, type_support,
};
use snick_pass::legalize::{Target, for_target};
use snick_tensor::ElementType;

use super::empty_outputs;
use crate::decompression;
use crate::older_target::{Lack, OlderTarget};
use crate::unique_names::UniqueNames;

/// The number of bytes in which older releases look for `<net`; they fail if a file has fewer.
const MIN_LENGTH: usize = 512;

/// Maximum number of layers between a constant and the decompressed weights.
const MAX_STEPS: usize = 6;

/// Rewrites `graph` until the release reads and, if possible, runs all layers. `original` is the graph that
/// the user knows.
///
/// # Errors
/// [`OpError::NeedsRelease`] for a layer of `original` with the oldest release that has it.
pub(super) fn legalize(graph: &mut Graph, original: &Graph, release: Release) -> Result<(), Box<Located>> {
    let is_known = |since: Option<Release>| since.is_some_and(|since| since <= release);
    let has_type = |element_type| {
        is_known(type_support(element_type, TypeUse::Port))
            && is_known(type_support(element_type, TypeUse::Constant))
    };
    let can_write =
        |graph: &Graph, id: NodeId| lacking(graph, id, release).is_none() && runs(graph.node(id), release);
    let target = Target {
        can_write: &can_write,
        computes_in: &|_, _| None,
        has_type: &has_type,
        reads_definitions: true,
    };
    let is_rounding = !is_known(feature_support(IrFeature::HalfDecompression));
    let is_rounded = |element_type: ElementType| {
        let is_compressed = element_type.bit_width().is_some_and(|bits| bits <= 8);
        !has_type(element_type) || is_rounding && is_compressed
    };
    decompress_in_wide_type(graph, &is_rounded);
    let missed = for_target(graph, &target);
    let lacks = |graph: &Graph, id: NodeId| lacking(graph, id, release).map(lack);
    let target = format!("OpenVINO {release}");
    let refusals = OlderTarget { original, target, missed: &missed, lacks: &lacks };
    refusals.check(graph)?;
    if !is_known(feature_support(IrFeature::Empty)) {
        let lacking = graph.ids().find_map(|id| Some((id, empty_need(graph, id)?)));
        if let Some((id, need)) = lacking
            && (!is_known(feature_support(IrFeature::EmptyAtRunTime)) || !empty_outputs::hide(graph)?)
        {
            return Err(refusals.refusal(graph, id, lack(need)));
        }
    }
    if !is_known(feature_support(IrFeature::EqualNames)) {
        rename_equal(graph);
    }
    Ok(())
}

fn lack(need: Need) -> Lack {
    Lack { what: need.cause.to_string(), since: need.since.map(|since| format!("OpenVINO {since}")) }
}

/// Computes the decompression of constants of these types in f32. A release that folds them, because it lacks their
/// type or folds all half floats, would round each step; newer releases compute the steps in f32.
fn decompress_in_wide_type(graph: &mut Graph, is_rounded: &dyn Fn(ElementType) -> bool) {
    let only = |graph: &Graph, id: NodeId| {
        let node = graph.node(id);
        matches!(node.op(), Op::Convert(_))
            && node.input(0).is_some_and(|input| is_weight_of(graph, input, is_rounded, MAX_STEPS))
    };
    let options = DriverOptions { only: Some(&only), ..DriverOptions::default() };
    rewrite::apply(graph, &[decompression::RULE], options);
    graph.for_each_body(|body| decompress_in_wide_type(body, is_rounded));
}

/// Whether a half float is computed from a constant whose type `is_of` accepts, in at most `steps` layers.
fn is_weight_of(graph: &Graph, value: Value, is_of: &dyn Fn(ElementType) -> bool, steps: usize) -> bool {
    let Some(fact) = graph.fact(value) else { return false };
    let node = graph.node(value.node);
    match node.op() {
        Op::Const(_) => is_of(fact.element_type()),
        Op::Convert(_) | Op::Arithmetic(_) | Op::Reshape(_) | Op::Transpose(_) | Op::Unsqueeze(_) => {
            steps > 0 && node.inputs().any(|input| is_weight_of(graph, input, is_of, steps - 1))
        }
        _ => false,
    }
}

/// Lengthens a file that is too short for the release, with white space before its end.
pub(super) fn lengthen(xml: &mut String, release: Release) {
    if feature_support(IrFeature::Short).is_none_or(|since| release < since)
        && let Some(end) = xml.rfind("</net>")
    {
        xml.insert_str(end, &"\n".repeat(MIN_LENGTH.saturating_sub(end)));
    }
}

/// Why the release cannot read a layer; the newest need if there are several. No release reads a layer without
/// an operation set.
fn lacking(graph: &Graph, id: NodeId, release: Release) -> Option<Need> {
    let node = graph.node(id);
    if *node.version() == Version::Unversioned {
        let (op_type, version) = (node.op().type_name().into(), Version::Unversioned);
        return Some(Need { since: None, cause: NeedCause::Op { op_type, version } });
    }
    let is_lacking = |need: &Need| need.since.is_none_or(|since| since > release);
    let newest = |need: &Need| (need.since.is_none(), need.since);
    needs(graph, id).into_iter().filter(is_lacking).max_by_key(newest)
}

/// Whether the release runs a layer, or no known release does.
fn runs(node: NodeRef, release: Release) -> bool {
    let support = op_support(node.op().type_name(), node.version());
    support.and_then(|support| support.runs).is_none_or(|since| since <= release)
}

/// Gives different names to layers that share a name. Results may share the name of another layer.
fn rename_equal(graph: &mut Graph) {
    let mut names = UniqueNames::default();
    let is_result = |id: &NodeId| matches!(graph.node(*id).op(), Op::Result(_));
    let is_input = |id: &NodeId| matches!(graph.node(*id).op(), Op::Parameter(_));
    let layers = graph.ids().filter(|id| !is_result(id));
    let (inputs, others): (Vec<_>, Vec<_>) = layers.partition(is_input);
    for id in inputs.into_iter().chain(others) {
        let old = graph.node(id).name().to_string();
        let new = names.give(old.clone(), '_', 0);
        if new != old {
            graph.rename(id, new);
        }
    }
    graph.for_each_body(rename_equal);
}

#[cfg(test)]
mod tests {
    use snick_ir::{OpError, infer, text};
    use snick_pass::legalize::from_slice::SliceAs;

    use super::*;
    use crate::openvino::for_release;

    const OLD: Release = Release::new(2023, 0);

    fn written(layers: &str, release: Release) -> Result<String, Box<Located>> {
        let text = format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n");
        let mut graph = text::parse(&text, None).unwrap();
        assert_eq!(infer(&mut graph), []);
        for_release(&graph, SliceAs::default(), release).map(|files| files.xml)
    }

    #[test]
    fn newer_operations_are_rewritten_only_for_older_releases() {
        let layers = "%x = Parameter-1 {element_type: boolean, shape: \"N\"}\n\
                        %y = BitwiseNot-13(%x)\n\
                        %r = Result-1(%y)";
        assert!(written(layers, OLD).unwrap().contains("type=\"LogicalNot\""));
        assert!(written(layers, Release::new(2024, 0)).unwrap().contains("type=\"BitwiseNot\""));
    }

    #[test]
    fn a_refusal_names_the_layer_of_the_model() {
        let layers = "%x = Parameter-1 {element_type: i32, shape: \"4\"}\n\
                        %y = BitwiseAnd-13(%x, %x) {auto_broadcast: numpy}\n\
                        %r = Result-1(%y)";
        let error = written(layers, OLD).unwrap_err();
        assert_eq!((error.layer.as_str(), error.op.as_str()), ("y", "BitwiseAnd"));
        assert!(matches!(&error.error, OpError::NeedsRelease { since: Some(_), .. }), "{error}");
        // The decomposition of these bags declines.
        let bags = "%t = Parameter-1 {element_type: f32, shape: \"5,2\"}\n%i = Parameter-1 {element_type: i32, shape: \"4\"}\n\
                    %o = Parameter-1 {element_type: i32, shape: \"2\"}\n\
                    %y = EmbeddingBagOffsets-15(%t, %i, %o) {reduction: mean}\n%r = Result-1(%y)";
        let error = written(bags, OLD).unwrap_err();
        assert_eq!((error.layer.as_str(), error.op.as_str()), ("y", "EmbeddingBagOffsets"));
    }

    #[test]
    fn a_refusal_says_how_to_avoid_variables() {
        let layers = "%x = Parameter-1 {element_type: f32, shape: \"N\"}
             %s = ReadValue-6(%x) {variable_id: \"s\", variable_type: f32, variable_shape: \"?\"}
             %a = Assign-6(%s) {variable_id: \"s\"}
             %y = Result-1(%s)";
        let error = written(layers, OLD).unwrap_err().error;
        assert!(matches!(&error, OpError::NeedsRelease { reason: Some(_), .. }), "{error}");
        let other = "%x = Parameter-1 {element_type: f8e5m2, shape: \"N\"}\n%y = Result-1(%x)";
        let error = written(other, OLD).unwrap_err().error;
        assert!(matches!(&error, OpError::NeedsRelease { reason: None, .. }), "{error}");
    }

    /// Layers that a release reads, but computes wrongly; the first release that computes them; and an operation that
    /// they become before.
    #[test]
    fn layers_that_a_plug_in_computes_wrongly_are_rewritten() {
        let slice =
            "%b = Const-1 i64[2] <0, 1>\n%s = Const-1 i64[2] <-1, -1>\n%y = StridedSlice-1(%x, %b, %b, %s)";
        let new_axis = "{begin_mask: [0,0], end_mask: [0,1], new_axis_mask: [1,0]}";
        let backward = "{begin_mask: [1,0], end_mask: [1,0]}";
        let split = "%a = Const-1 i64[] <0>\n%n = ShapeOf-3(%x) {output_type: i64}\n\
                     %p = Split-1(%n, %a) {num_splits: 2} : (_, _)\n%c = Convert-1(%x) {destination_type: i64}\n\
                     %y = Add-1(%c, %p:1) {auto_broadcast: numpy}";
        let fake = "%s = Const-1 f32[] <1>\n%y = FakeConvert-13(%x, %s) {destination_type: f8e4m3}";
        let weights = "%w = Const-1 u8[2] <201, 7>\n%h = Convert-1(%w) {destination_type: f16}\n\
                       %s = Const-1 f16[1] <1.3>\n%m = Multiply-1(%h, %s) {auto_broadcast: numpy}\n\
                       %f = Convert-1(%m) {destination_type: f32}\n%y = Add-1(%x, %f) {auto_broadcast: numpy}";
        for (layers, before, since, form) in [
            (format!("{slice} {new_axis}"), (2024, 6), (2025, 0), "type=\"Unsqueeze\""),
            (format!("{slice} {backward}"), (2023, 1), (2023, 2), "begin_mask=\"0,0\""),
            (split.into(), (2022, 3), (2023, 0), "type=\"Slice\""),
            (fake.into(), (2025, 0), (2025, 1), "type=\"Bucketize\""),
            (weights.into(), (2024, 0), (2024, 1), "name=\"f/Convert"),
        ] {
            let layers = format!(
                "%x = Parameter-1 {{element_type: f32, shape: \"?,2\"}}\n{layers}\n%r = Result-1(%y)"
            );
            let is_rewritten =
                |(year, number)| written(&layers, Release::new(year, number)).unwrap().contains(form);
            assert!(is_rewritten(before) && !is_rewritten(since), "{layers}");
        }
    }

    #[test]
    fn equal_names_and_short_files_are_for_newer_releases() {
        let layers = "%x = Parameter-1 {element_type: f32, shape: \"2\"}\n\
                        %a = ReLU-1(%x)\n\
                        %b = Abs-1(%a)\n\
                        %r = Result-1(%b)";
        let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
        assert_eq!(infer(&mut graph), []);
        let b = graph.find("b").unwrap();
        graph.rename(b, "a");
        let count = |release| {
            let xml = for_release(&graph, SliceAs::default(), release).unwrap().xml;
            xml.matches("name=\"a\"").count()
        };
        assert_eq!((count(OLD), count(Release::new(2024, 1))), (1, 2));
        let input = "%x = Parameter-1 {element_type: f32, shape: \"\"}";
        let ends = |release| written(input, release).unwrap().find("</net>").unwrap();
        assert!(ends(OLD) >= MIN_LENGTH && ends(Release::new(2024, 5)) < MIN_LENGTH);
    }
}
