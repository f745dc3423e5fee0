//! Shows the effect of passes as text for a snapshot.

use snick_ir::text::{PrintOptions, print, print_like};
use snick_ir::{Graph, infer};
use snick_pass::{Pass, RewriteOptions, apply};

use crate::{CheckError, Context, diff};

/// Returns the effect of passes on a graph or model as text for a snapshot: a diff of the text form with
/// context lines, and the rules that were applied. A replaced layer stays at its place. Infers the graph first, and checks every application of a
/// rule.
///
/// ```
/// use snick::{Pass, RewriteResult, Rule};
/// use snick_testing::{Context, before_after};
///
/// let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
///             %a = ReLU-1(%x)\n  %b = ReLU-1(%a)\n  %y = Result-1(%b)\n}\n";
/// let model = snick::parse(text)?;
/// let rule = Rule::new("relu-once", |patch| match patch.input(0) {
///     Ok(data) if patch.node().op().type_name() == "ReLU" && patch.op_of(data).type_name() == "ReLU" => {
///         Ok(RewriteResult::one(data))
///     }
///     _ => Ok(RewriteResult::NoMatch),
/// });
/// let changed = before_after(&model, &[Pass::new("mine", [rule])], Context::Lines(1))?;
/// assert_eq!(
///     changed,
///     "\
/// @@ -4,4 +4,3 @@
///    %a = ReLU-1(%x) : f32[?]
/// -  %b = ReLU-1(%a) : f32[?]
/// -  %y = Result-1(%b) : f32[?]
/// +  %y = Result-1(%a) : f32[?]
///  }
/// relu-once at b (ReLU)
/// "
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The report of the first failed check, an error of a rule, or the errors of the graph.
pub fn before_after(
    graph: &(impl AsRef<Graph> + ?Sized),
    passes: &[Pass],
    context: Context,
) -> Result<String, CheckError> {
    let mut before = graph.as_ref().clone();
    let errors: Vec<String> = infer(&mut before).iter().map(ToString::to_string).collect();
    if !errors.is_empty() {
        return Err(CheckError::Infer(errors.join("\n")));
    }
    let mut after = before.clone();
    let report = apply(&mut after, passes, &RewriteOptions::new().check(true));
    if let Some(failure) = report.check_failures.first() {
        return Err(CheckError::Rewrite(failure.report.clone()));
    }
    if let Some(error) = report.errors.first() {
        return Err(CheckError::Rewrite(error.to_string()));
    }
    let old = print(&before, PrintOptions::default());
    let new = print_like(&after, &before, PrintOptions::default());
    let mut text = diff(&old, &new, context);
    for applied in &report.applied {
        text.push_str(&format!("{} at {} ({})\n", applied.rule, applied.layer, applied.op));
    }
    if report.applied.is_empty() {
        text.push_str("no rule applies\n");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use snick_ir::rewrite::{RewriteResult, Rule};
    use snick_ir::text::parse;

    use super::*;

    /// New nodes get the last numbers, but the snapshot shows them at the place of the replaced layer.
    #[test]
    fn a_replaced_layer_does_not_move() {
        let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4\"}\n  \
                    %a = ReLU-1(%x)\n  %b = Exp-1(%x)\n  %c = Sin-1(%x)\n  %s = Add-1(%a, %b)\n  \
                    %y = Result-1(%s)\n  %z = Result-1(%c)\n}\n";
        let graph = parse(text, None).unwrap();
        let rule = Rule::new("as-maximum", |patch| {
            let x = patch.input(0)?;
            patch.maximum(patch.maximum(x, x)?, 0).map(RewriteResult::one)
        });
        let passes = [Pass::new("mine", [rule.roots(["ReLU"])])];
        let changed = before_after(&graph, &passes, Context::All).unwrap();
        let places: Vec<&str> = changed.lines().map(|line| line.split(" = ").next().unwrap()).collect();
        let expected = [
            " snick 1",
            " graph \"g\" {",
            "   %x",
            "-  %a",
            "+  %a/Maximum",
            "+  %a/Const",
            "+  %a",
            "   %b",
            "   %c",
            "   %s",
            "   %y",
            "   %z",
            " }",
            "as-maximum at a (ReLU)",
        ];
        assert_eq!(places, expected);
    }
}
