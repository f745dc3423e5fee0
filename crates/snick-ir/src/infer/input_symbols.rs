//! Symbols that inputs declare.

use snick_shape::{DimSpec, Origin, ShapeSpec};

use crate::{Graph, Op};

/// If the dim of an input is an expression, declares the symbols of all inputs before inference, so that the
/// bounds of a symbol apply in that expression even if a later input declares them. Contradictory bounds are
/// an error of the later Parameter.
pub(super) fn declare(graph: &mut Graph) {
    let mut declared = graph.symbols.clone();
    let mut has_expr = false;
    for id in graph.parameters() {
        let Op::Parameter(parameter) = graph.node(id).op() else { continue };
        let ShapeSpec::Dims(dims) = &parameter.shape else { continue };
        let node = u32::try_from(id.index()).unwrap_or(u32::MAX);
        for (dim, axis) in dims.iter().zip(0..) {
            if let DimSpec::Symbol { name, interval } = dim {
                let _ = declared.named(name, *interval, Origin { node, port: 0, axis });
            }
            has_expr |= matches!(dim, DimSpec::Expr(_));
        }
    }
    if has_expr {
        graph.symbols = declared;
    }
}

/// Whether two inputs share a symbol.
pub(super) fn are_shared(graph: &Graph) -> bool {
    let mut seen: Vec<(&str, u32)> = Vec::new();
    for (id, input) in graph.parameters().zip(0..) {
        let Op::Parameter(parameter) = graph.node(id).op() else { continue };
        let ShapeSpec::Dims(dims) = &parameter.shape else { continue };
        for dim in dims {
            let DimSpec::Symbol { name, .. } = dim else { continue };
            match seen.iter().find(|(known, _)| known == name) {
                Some((_, other)) if *other != input => return true,
                Some(_) => {}
                None if seen.len() >= MOST_NAMES => return false,
                None => seen.push((name, input)),
            }
        }
    }
    false
}

/// The maximum number of symbol names to compare, because the search takes quadratic time.
const MOST_NAMES: usize = 64;

#[cfg(test)]
mod tests {
    use crate::{infer, text};

    /// The shapes of the inputs as expressions and intervals, or the errors.
    fn inferred(shapes: &[&str]) -> Result<Vec<String>, Vec<String>> {
        let parameter =
            |(i, shape)| format!("%x{i} = Parameter-1 {{element_type: f32, shape: \"{shape}\"}}\n");
        let parameters: String = shapes.iter().enumerate().map(parameter).collect();
        let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{parameters}}}\n"), None).unwrap();
        let errors = infer(&mut graph);
        if !errors.is_empty() {
            return Err(errors
                .into_iter()
                .map(|error| format!("{}: {}", error.layer, error.error))
                .collect());
        }
        let symbols = graph.symbols();
        let facts = graph.parameters().map(|id| &graph.node(id).outs()[0].fact.shape);
        Ok(facts
            .map(|shape| format!("{} {}", shape.display(symbols), shape.display_intervals(symbols)))
            .collect())
    }

    #[test]
    fn bounds_hold_wherever_they_are_written() {
        let shapes = ["B,P+T", "B=2,P=1..8,P-1", "B,T=..4"];
        let expected = ["[2,P+T] [2,1..12]", "[2,P,P-1] [2,1..8,..7]", "[2,T] [2,..4]"];
        assert_eq!(inferred(&shapes), Ok(expected.map(str::to_owned).to_vec()));
        let backwards = [shapes[2], shapes[1], shapes[0]];
        // Terms are printed in the order of declaration.
        let expected = [expected[2], expected[1], "[2,T+P] [2,1..12]"];
        assert_eq!(inferred(&backwards), Ok(expected.map(str::to_owned).to_vec()));
        assert_eq!(inferred(&["2*N"]), Ok(vec!["[2*N] [?]".to_owned()]), "a symbol of expressions alone");
    }

    #[test]
    fn errors_have_a_place() {
        let fault = inferred(&["N-1", "N"]).unwrap_err();
        assert_eq!(fault.len(), 1);
        assert!(fault[0].starts_with("x0: dimension `N-1` may be negative"), "{fault:?}");
        let fault = inferred(&["N+1", "N=1..2", "N=3.."]).unwrap_err();
        assert_eq!(fault, ["x2: symbol `N` is declared as `1..2` and as `3..`, which exclude each other"]);
    }

    #[test]
    fn inputs_share_the_symbols_that_both_declare() {
        let shared = |shapes: [&str; 2]| {
            let [a, b] = shapes.map(|shape| format!("Parameter-1 {{element_type: f32, shape: \"{shape}\"}}"));
            let text = format!("snick 1\ngraph \"g\" {{\n%a = {a}\n%b = {b}\n}}\n");
            super::are_shared(&text::parse(&text, None).unwrap())
        };
        assert!(shared(["B,N", "3,B"]));
        assert!(!shared(["N,N", "M,3"]));
    }
}
