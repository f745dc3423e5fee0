//! Sessions on small graphs.

use snick_ir::{Arity, CustomOp, Fact, Facts, Infer, Registry, infer, text};
use snick_shape::Shape;

use super::*;

fn graph(text: &str) -> Graph {
    let mut graph = text::parse(text, None).unwrap();
    assert!(infer(&mut graph).is_empty());
    graph
}

const TWO: &str = "snick 1\ngraph \"two\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,2..3\"}\n  \
                   %bad = Nonsense-1(%x) : f32[?]\n  %c = Convert-1(%x) {destination_type: i32}\n  \
                   %y = Result-1(%bad)\n  %z = Result-1(%c)\n}\n";

#[test]
fn a_failure_costs_only_dependents() {
    let graph = graph(TWO);
    let session = Session::new(&graph).unwrap();
    let x = Tensor::from_vec(&[1, 2], vec![1.5f32, -2.5]).unwrap();
    let first = session.run(std::slice::from_ref(&x), Options::default());
    assert!(first.errors[0].to_string().contains("inputs: f32[1,2]"), "{}", first.errors[0]);
    assert_eq!(first.values, [None, None]);
    let all = session.run(&[x], Options { keep_going: true, check_facts: true, ..Options::default() });
    assert_eq!(all.errors.len(), 1);
    assert_eq!(all.values[1].as_ref().unwrap().to_i64_vec().unwrap(), [1, -2]);
}

#[test]
fn inputs_are_checked() {
    let graph = graph(TWO);
    let session = Session::new(&graph).unwrap();
    let fails = |inputs: &[Tensor]| session.run(inputs, Options::default()).errors[0].to_string();
    assert!(fails(&[]).contains("not provided"));
    assert!(
        fails(&[Tensor::zeros(snick_tensor::ElementType::F32, &[1, 4]).unwrap()]).contains("f32[?,2..3]")
    );
    assert!(fails(&[Tensor::zeros(snick_tensor::ElementType::I32, &[1, 2]).unwrap()]).contains("i32[1,2]"));
}

const FOLDS: &str = "snick 1\ngraph \"folds\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2,3\"}\n  \
                     %s = ShapeOf-3(%x) {output_type: i64}\n  %w = Const-1 f32[3] <1, 2, 3>\n  \
                     %n = Negative-1(%w)\n  %b = Broadcast-3(%n, %s) {mode: numpy}\n  \
                     %y = Add-1(%x, %b) {auto_broadcast: numpy}\n  %r = Result-1(%y)\n}\n";

fn ones() -> Tensor {
    Tensor::full(&[2, 3], 1.0f32).unwrap()
}

#[test]
fn constant_layers_are_folded() {
    let graph = graph(FOLDS);
    let (folded, whole) = (Session::new(&graph).unwrap(), Session::without_folding(&graph).unwrap());
    assert_eq!((folded.plan.steps.len(), whole.plan.steps.len()), (3, 7));
    let checked = Options { check_facts: true, ..Options::default() };
    let expected = whole.run(&[ones()], checked).complete().unwrap();
    for _ in 0..2 {
        assert_eq!(folded.run(&[ones()], checked).complete().unwrap(), expected);
    }
    assert_eq!(expected[0].to_i64_vec().unwrap(), [0, -1, -2, 0, -1, -2]);
}

/// Each layer repeats its input eight times. Without a limit on the total size of the folded values, the plan
/// would take 4.6 GB.
#[test]
fn a_chain_of_repetitions_is_not_folded() {
    let mut text =
        String::from("snick 1\ngraph \"g\" {\n  %t0 = Const-1 f32[1] <1>\n  %times = Const-1 i64[1] <8>\n");
    for i in 1..=10 {
        text += &format!("  %t{i} = Tile-1(%t{}, %times)\n", i - 1);
    }
    text += "  %y = Result-1(%t10)\n}\n";
    let session = Session::new(graph(&text)).unwrap();
    let folded: usize = session.plan.constants.iter().map(Tensor::size_in_bytes).sum();
    assert!(folded <= 1 << 28, "{folded}");
    let outputs = session.run(&[], Options { fuel: Some(1 << 20), ..Options::default() });
    assert!(outputs.errors[0].error.is_out_of_fuel(), "{}", outputs.errors[0]);
}

#[test]
fn f16_constants_are_computed_in_f32_and_converted_ones_rounded() {
    let graph = graph(
        "snick 1\ngraph \"half_precision\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n  \
         %a = Const-1 f16[2] <300, 1.1>\n  %m = Multiply-1(%a, %a)\n  \
         %w = Const-1 f32[2] <1, 0.1>\n  %h = Convert-1(%w) {destination_type: f16}\n  \
         %p = Multiply-1(%m, %h)\n  %c = Convert-1(%p) {destination_type: f32}\n  \
         %y = Add-1(%x, %c)\n  %r = Result-1(%y)\n  %q = Result-1(%m)\n}\n",
    );
    let zeros = Tensor::zeros(snick_tensor::ElementType::F32, &[2]).unwrap();
    let half = |number: f32| Tensor::scalar(number).cast(snick_tensor::ElementType::F16).unwrap();
    let [tenth, other] = [0.1, 1.1].map(|number| half(number).to_f64_vec().unwrap()[0] as f32);
    let expected = Tensor::from_vec(&[2], vec![90000.0, other * other * tenth]).unwrap();
    for session in [Session::new(&graph).unwrap(), Session::without_folding(&graph).unwrap()] {
        let outputs = session.run(std::slice::from_ref(&zeros), Options::default()).complete().unwrap();
        assert_eq!(outputs[0], expected);
        assert_eq!(outputs[1].to_f64_vec().unwrap(), [f64::INFINITY, 1.208984375]);
    }
}

#[test]
fn zeros_are_equal_whatever_their_sign() {
    let graph = graph(
        "snick 1\ngraph \"zeros\" {\n  %x = Parameter-1 {element_type: f32, shape: \"1..2\"}\n  \
         %s = ShapeOf-3(%x) {output_type: i64}\n  %c = Convert-1(%s) {destination_type: f32}\n  \
         %q = Const-1 f32[1] <-0.25>\n  %m = Multiply-1(%c, %q)\n  %z = Ceiling-1(%m)\n  \
         %r = Result-1(%z)\n}\n",
    );
    let x = Tensor::zeros(snick_tensor::ElementType::F32, &[2]).unwrap();
    let checked = Options { check_facts: true, ..Options::default() };
    let outputs = Session::new(&graph).unwrap().run(&[x], checked).complete().unwrap();
    assert_eq!(outputs[0], Tensor::from_vec(&[1], vec![-0.0f32]).unwrap());
}

#[test]
fn a_watched_run_shows_every_layer_and_can_be_stopped() {
    let graph = graph(FOLDS);
    let session = Session::without_folding(&graph).unwrap();
    let mut seen = Vec::new();
    let outputs = session.watch(&[ones()], Options::default(), &mut Variables::default(), |progress| {
        assert_eq!(progress.layers, 7);
        seen.push((progress.done, graph.node(progress.node).name().to_string()));
        if progress.done == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(seen.last().unwrap().0, 4);
    assert!(outputs.errors[0].to_string().contains("the run was stopped"), "{}", outputs.errors[0]);
    assert_eq!(outputs.values, [None]);
}

#[test]
fn one_session_serves_several_threads() {
    let graph = graph(FOLDS);
    let session = Session::new(&graph).unwrap().with_threads(2).unwrap();
    let run = || session.run(&[ones()], Options::default()).complete().unwrap();
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        others.into_iter().for_each(|other| assert_eq!(other.join().unwrap(), run()));
    });
}

/// The name, the dims and the axis of directions of each input.
const LSTM_INPUTS: [(&str, &[usize], Option<usize>); 5] = [
    ("x", &[3, 7, 40], None),
    ("h", &[3, 2, 20], Some(1)),
    ("w", &[2, 80, 40], Some(0)),
    ("r", &[2, 80, 20], Some(0)),
    ("b", &[2, 80], Some(0)),
];

/// Runs an LSTM whose sequences have different lengths.
fn lstm(direction: &str, inputs: &[Tensor], threads: usize) -> Vec<Tensor> {
    let parameters = LSTM_INPUTS.iter().zip(inputs).map(|((name, ..), input)| {
        let shape = input.dims().iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        format!("  %{name} = Parameter-1 {{element_type: f32, shape: \"{shape}\"}}\n")
    });
    let graph = graph(&format!(
        "snick 1\ngraph \"g\" {{\n{}  %lengths = Const-1 i64[3] <7, 4, 5>\n  \
         %y = LSTMSequence-5(%x, %h, %h, %lengths, %w, %r, %b) {{hidden_size: 20, direction: {direction}}}\n  \
         %all = Result-1(%y)\n  %last = Result-1(%y:1)\n  %cell = Result-1(%y:2)\n}}\n",
        parameters.collect::<String>()
    ));
    let options = Options { threads, ..Options::default() };
    Session::new(&graph).unwrap().run(inputs, options).complete().unwrap()
}

#[test]
fn directions_on_several_threads_are_as_if_alone() {
    let numbers = |dims: &[usize]| {
        let number = |i: usize| (i * 7919 % 1013) as f32 / 900.0 - 0.5;
        Tensor::from_vec(dims, (0..dims.iter().product()).map(number).collect()).unwrap()
    };
    let inputs = LSTM_INPUTS.map(|(_, dims, _)| numbers(dims));
    let both = lstm("bidirectional", &inputs, 1);
    assert_eq!(lstm("bidirectional", &inputs, 2), both);
    for (i, direction) in ["forward", "reverse"].into_iter().enumerate() {
        let own = inputs.iter().zip(LSTM_INPUTS).map(|(input, (.., axis))| match axis {
            Some(axis) => input.slice(axis, i, 1, 1).unwrap(),
            None => input.clone(),
        });
        let alone = lstm(direction, &own.collect::<Vec<_>>(), 1);
        let part: Vec<_> = both.iter().map(|both| both.slice(1, i, 1, 1).unwrap()).collect();
        assert_eq!(part, alone, "{direction}");
    }
}

/// Returns its input. If `lies` is set, it infers 3 rows instead of N.
#[derive(Debug)]
struct Pass {
    lies: bool,
}

impl CustomOp for Pass {
    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<Facts, OpError> {
        let mut dims = cx.shape(0).dims().unwrap_or_default().to_vec();
        if self.lies {
            dims = vec![3.into(), dims[0].clone()];
        }
        Ok(Fact::new(cx.element_type(0), Shape::ranked(dims)).into())
    }

    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Ok(inputs.to_vec())
    }
}

#[test]
fn a_value_that_contradicts_inference_is_an_error() {
    let errors = |lies| {
        let mut registry = Registry::builtin();
        registry.register("test", "Pass", move |_| Ok(Arc::new(Pass { lies })));
        let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,2\"}\n  \
                    %p = Pass-test(%x)\n  %y = Result-1(%p)\n}\n";
        let mut graph = text::parse_with(text, None, &registry).unwrap();
        assert!(infer(&mut graph).is_empty());
        let x = Tensor::zeros(snick_tensor::ElementType::F32, &[3, 2]).unwrap();
        let checked = Options { check_facts: true, ..Options::default() };
        Session::new(&graph).unwrap().run(&[x], checked).errors
    };
    assert_eq!(errors(false), []);
    let wrong = errors(true);
    assert!(wrong[0].to_string().contains("is 2, expected N = 3"), "{wrong:?}");
}
