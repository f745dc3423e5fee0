//! Computed values must agree with inferred facts.

use snick_ir::Located;
use snick_run::Outputs;

/// The first value of a run that contradicts its inferred facts.
pub fn contradiction(outputs: &Outputs) -> Option<&Located> {
    outputs.errors.iter().find(|error| error.error.is_contradiction())
}

/// Fails if a value of a run contradicts its inferred facts. The run must have checked facts.
#[track_caller]
pub fn assert_sound(outputs: &Outputs, context: &dyn Fn() -> String) {
    if let Some(error) = contradiction(outputs) {
        panic!("{error}\n{}", context());
    }
}

mod tests {
    use std::sync::Arc;

    use snick_ir::{Arity, CustomOp, Fact, Facts, Graph, Infer, OpError, Registry, infer, text};
    use snick_run::{Options, Session};
    use snick_shape::Shape;
    use snick_tensor::{ElementType, Tensor};

    use super::*;

    /// The false claim of a faulty inference about the output, which equals the input.
    #[derive(Copy, Clone, Debug)]
    enum Lie {
        Nothing,
        ElementType,
        Rank,
        Symbol,
        Interval,
        Outputs,
        Elements,
    }

    impl CustomOp for Lie {
        fn arity(&self) -> Arity {
            Arity::exactly(1)
        }

        fn infer(&self, cx: &mut Infer<'_>) -> Result<Facts, OpError> {
            let mut fact = cx.input(0).clone();
            let dims = cx.shape(0).dims().unwrap_or_default().to_vec();
            match self {
                Self::Nothing => {}
                Self::ElementType => fact.element_type = ElementType::F64,
                Self::Rank => fact.shape = Shape::ranked(dims[..1].to_vec()),
                Self::Symbol => fact.shape = Shape::ranked(vec![dims[0].clone(), dims[0].clone()]),
                Self::Interval => fact.shape = Shape::ranked(vec![dims[0].clone(), 7.into()]),
                Self::Outputs => return Ok(vec![fact.clone(), fact].into()),
                Self::Elements => {
                    let zeros = Tensor::zeros(ElementType::F32, &[3, 2])?;
                    fact = Fact::constant(Arc::new(zeros));
                }
            }
            Ok(fact.into())
        }

        fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
            Ok(inputs.to_vec())
        }
    }

    fn planted(lie: Lie, layers: &str) -> Graph {
        let mut registry = Registry::builtin();
        registry.register("test", "Planted", move |_| Ok(Arc::new(lie)));
        let text = format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n");
        let mut graph = text::parse_with(&text, None, &registry).unwrap();
        assert_eq!(infer(&mut graph), []);
        graph
    }

    const DIRECT: &str = "%x = Parameter-1 {element_type: f32, shape: \"N,2\"}
                          %p = Planted-test(%x)
                          %y = Result-1(%p)";

    fn is_found(graph: &Graph) -> bool {
        let inputs = [Tensor::full(&[3, 2], 1f32).unwrap()];
        let checked = Options { keep_going: true, check_facts: true, ..Options::default() };
        let outputs = Session::without_folding(graph).unwrap().run(&inputs, checked);
        contradiction(&outputs).is_some()
    }

    #[test]
    fn planted_unsound_inference_is_found() {
        assert!(!is_found(&planted(Lie::Nothing, DIRECT)));
        for lie in [Lie::ElementType, Lie::Rank, Lie::Symbol, Lie::Interval, Lie::Outputs, Lie::Elements] {
            assert!(is_found(&planted(lie, DIRECT)), "{lie:?}");
        }
    }

    #[test]
    #[should_panic = "layer `p` (Planted)"]
    fn the_law_of_ops_fails_for_a_planted_inference() {
        crate::op_laws::run(&planted(Lie::Symbol, DIRECT), 1, snick::DimPolicy::Drawn);
    }

    #[test]
    #[should_panic = "layer `p` (Planted)"]
    fn the_law_of_random_graphs_fails_for_a_planted_inference() {
        let (right, wrong) = (planted(Lie::Nothing, DIRECT), planted(Lie::Symbol, DIRECT));
        crate::canonical::random_graphs::compare(&right, &wrong, false, &String::new);
    }

    #[test]
    #[should_panic = "layer `p` (Planted)"]
    fn the_law_of_slices_fails_for_a_planted_inference() {
        let _ =
            crate::slices::model::run(&planted(Lie::Symbol, DIRECT), &[Tensor::full(&[3, 2], 1f32).unwrap()]);
    }
}
