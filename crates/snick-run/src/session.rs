//! Running a plan.

use std::ops::ControlFlow;
use std::sync::Arc;

use snick_ir::{Graph, Located, NodeId, Op, OpError};
use snick_tensor::{Pool, Tensor};

use crate::bodies::Bodies;
use crate::custom;
use crate::facts::{SymbolBindings, with_inputs};
use crate::fused_elementwise::{self, Check, FusedLayer};
use crate::half_precision::HalfPrecision;
use crate::optimize::optimize;
use crate::plan::{Operand, Plan, Step, StepKind};
use crate::run::{Options, Outputs, Progress};
use crate::threads::Threads;
use crate::variables::Variables;

/// A graph made ready to run any number of times, also from several threads at once.
///
/// Creating a session computes what does not depend on the inputs. The memory of values is reused by the next run, and
/// so is that of outputs once they are dropped.
pub struct Session {
    graph: Arc<Graph>,
    pub(crate) plan: Plan,
    half_precision: HalfPrecision,
    bodies: Bodies,
    pool: Arc<Pool>,
    threads: Threads,
    thread_count: usize,
}

/// The value of a slot during a run.
#[derive(Clone)]
enum Slot {
    /// Not computed yet, or not needed any more.
    Empty,
    /// Lost: a layer before failed.
    Lost,
    Full(Tensor),
}

/// Is called after each layer and may stop the run.
pub(crate) type Observer<'a> = dyn FnMut(Progress) -> ControlFlow<()> + Send + 'a;

impl Session {
    /// Plans an inferred graph and its bodies, and computes what is the same in every run.
    ///
    /// # Errors
    /// A graph with a cycle has no order.
    pub fn new(graph: impl Into<Arc<Graph>>) -> Result<Self, Located> {
        Self::planned(graph.into(), true)
    }

    /// A session that computes every layer in every run, so that inner values can be watched.
    ///
    /// # Errors
    /// As [`Session::new`].
    pub fn without_folding(graph: impl Into<Arc<Graph>>) -> Result<Self, Located> {
        Self::planned(graph.into(), false)
    }

    fn planned(graph: Arc<Graph>, folds: bool) -> Result<Self, Located> {
        let bodies = Bodies::new(&graph, |body| Self::planned(body.into(), folds))?;
        let mut plan = Plan::new(&graph)?;
        let half_precision = HalfPrecision::of(&graph, &plan);
        if folds {
            optimize(&mut plan, &graph, &half_precision);
        }
        Ok(Self {
            graph,
            half_precision,
            plan,
            bodies,
            pool: Arc::default(),
            threads: Threads::default(),
            thread_count: 1,
        })
    }

    /// The graph that it runs.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Runs on `count` threads, at most as many as the machine has, instead of the caller's. The outputs are the same,
    /// bit by bit.
    ///
    /// # Errors
    /// The system may refuse to start threads.
    pub fn with_threads(self, count: usize) -> Result<Self, OpError> {
        self.threads.pool(count)?;
        Ok(Self { thread_count: count, ..self })
    }

    /// Runs the graph on one tensor for each Parameter, in their order, with fresh variables.
    pub fn run(&self, inputs: &[Tensor], options: Options) -> Outputs {
        self.run_with(inputs, options, &mut Variables::default())
    }

    /// As [`Session::run`], with the variables of earlier runs; afterwards they hold what this run assigned. A run that
    /// fails assigns nothing.
    pub fn run_with(&self, inputs: &[Tensor], options: Options, variables: &mut Variables) -> Outputs {
        self.watch(inputs, options, variables, |_| ControlFlow::Continue(()))
    }

    /// As [`Session::run_with`]; `watch` is called after each layer and may stop the run, which is reported as an error
    /// of the next layer.
    pub fn watch(
        &self,
        inputs: &[Tensor],
        options: Options,
        variables: &mut Variables,
        mut watch: impl FnMut(Progress) -> ControlFlow<()> + Send,
    ) -> Outputs {
        let memory = if options.memory == 0 { usize::MAX } else { options.memory };
        let mut run =
            || self.pool.scope_within(memory, || self.run_inside(inputs, options, variables, &mut watch));
        let count = if options.threads == 0 { self.thread_count } else { options.threads };
        let outputs = match self.threads.pool(count) {
            Ok(Some(threads)) => threads.install(run),
            Ok(None) => run(),
            Err(error) => Outputs { errors: vec![self.error(error)], ..Outputs::default() },
        };
        variables.finish(outputs.errors.is_empty() || options.keep_going);
        outputs
    }

    /// Runs the graph as a part of another run, which keeps its assignments back until it ends.
    pub(crate) fn run_inside(
        &self,
        inputs: &[Tensor],
        options: Options,
        variables: &mut Variables,
        watch: &mut Observer,
    ) -> Outputs {
        let mut slots = vec![Slot::Empty; self.plan.slots];
        let mut given = inputs.iter();
        let mut bindings = SymbolBindings::default();
        let mut outputs = Outputs::default();
        let mut operands = Vec::new();
        let layers = self.plan.steps.len();
        let mut goes_on = ControlFlow::Continue(());
        for (i, step) in self.plan.steps.iter().enumerate() {
            if goes_on.is_break() {
                let (what, why) = ("this layer".into(), "the run was stopped".into());
                outputs.errors.push(self.located(step, OpError::NoValue { what, why }));
                break;
            }
            let node = step.node;
            let op = self.graph.node(node).op();
            let mut values = match op {
                Op::Parameter(_) => self.input(step, given.next(), &mut bindings).map(Some),
                _ => self.gather(step, &mut slots, &mut operands).and_then(|complete| {
                    let mut inside = |_: Progress| watch(Progress { done: i, layers, node, values: &[] });
                    let compute =
                        || self.evaluate(step, &mut operands, options, variables, &bindings, &mut inside);
                    complete.then(compute).transpose()
                }),
            };
            operands.clear();
            if let (true, Ok(Some(outputs))) = (options.check_facts, &values)
                && let Err(error) = self.check(&bindings, node, step.first, outputs)
            {
                values = Err(error);
            }
            let values = values.unwrap_or_else(|error| {
                outputs.errors.push(error);
                None
            });
            let shown = values.as_deref().unwrap_or_default();
            goes_on = watch(Progress { done: i + 1, layers, node, values: shown });
            if !outputs.errors.is_empty() && !options.keep_going {
                break;
            }
            if matches!(op, Op::Result(_)) {
                let value = values.and_then(|values| values.into_iter().next());
                outputs.values.push(value.map(|v| if options.pack_outputs { v.contiguous() } else { v }));
            } else {
                self.store(step, values, &mut slots);
            }
        }
        outputs.values.resize(self.graph.results().count(), None);
        if given.next().is_some() {
            outputs.errors.push(self.too_many(inputs.len()));
        }
        outputs
    }

    fn input(
        &self,
        step: &Step,
        given: Option<&Tensor>,
        bindings: &mut SymbolBindings,
    ) -> Result<Vec<Tensor>, Located> {
        let node = self.graph.node(step.node);
        let checked = match given {
            Some(given) => {
                let bound = node.outs().first().map(|out| bindings.bind(&self.graph, &out.fact, given));
                bound.unwrap_or(Ok(())).map(|()| vec![given.clone()])
            }
            None => Err(OpError::InputNotProvided),
        };
        checked.map_err(|error| self.located(step, error))
    }

    /// Takes the inputs of a step out of the slots. `false` if one is lost.
    fn gather(&self, step: &Step, slots: &mut [Slot], inputs: &mut Vec<Tensor>) -> Result<bool, Located> {
        let mut complete = true;
        let op = step.op(&self.graph);
        for (port, operand) in step.operands.iter().enumerate() {
            match *operand {
                Operand::Missing => return Err(self.located(step, OpError::NotConnected { port })),
                Operand::Constant(number) => inputs.push(self.plan.constants[number].clone()),
                Operand::Slot { slot, last } => {
                    // A Tensor is large: moves of it cost time.
                    let value = &mut slots[slot];
                    let Slot::Full(tensor) = value else {
                        complete = false;
                        continue;
                    };
                    let converted = self.half_precision.converted(op, slot, tensor);
                    if let Some(converted) = converted.map_err(|error| self.located(step, error))? {
                        inputs.push(converted);
                        if last {
                            *value = Slot::Empty;
                        }
                    } else if !last {
                        inputs.push(tensor.clone());
                    } else if let Slot::Full(tensor) = std::mem::replace(value, Slot::Empty) {
                        inputs.push(tensor);
                    }
                }
            }
        }
        Ok(complete)
    }

    /// The outputs of a step.
    fn evaluate(
        &self,
        step: &Step,
        inputs: &mut Vec<Tensor>,
        options: Options,
        variables: &mut Variables,
        bindings: &SymbolBindings,
        watch: &mut Observer,
    ) -> Result<Vec<Tensor>, Located> {
        let node = self.graph.node(step.node);
        let values = match (step.op(&self.graph), &step.kind) {
            (_, StepKind::Fused(layers)) => {
                let check = |layer: &FusedLayer, value: &Tensor| {
                    self.check(bindings, layer.node, layer.slot, std::slice::from_ref(value))
                };
                let check = options.check_facts.then_some(&check as &Check);
                return Ok(vec![fused_elementwise::evaluate(&self.graph, step.node, layers, inputs, check)?]);
            }
            (Op::Slice(slice), StepKind::Slice(numbers)) => {
                numbers.select(slice, inputs).map(|selected| vec![selected])
            }
            (op, StepKind::Packed(weights)) => match (op, &inputs[..]) {
                (Op::Gather(_), [indices]) => {
                    weights.gather(indices).map(|rows| vec![rows]).map_err(Into::into)
                }
                (_, [x]) => weights.multiply(x).map(|product| vec![product]).map_err(Into::into),
                (_, others) => Err(OpError::mismatch("the number of operands", others.len(), 1)),
            },
            (Op::SubGraph(op), _) => self.bodies.execute(step.node, op, inputs, options, variables, watch),
            (Op::ReadValue(op), _) => variables.read(op, node, self.graph.symbols(), inputs),
            (Op::Assign(op), _) => Ok(variables.assign(op, inputs)),
            (Op::Custom(op), _) => custom::evaluate(op, inputs, &self.graph, step.node),
            (op, _) => self.half_precision.evaluate(step, op, inputs),
        };
        let values = values.and_then(|values| match values.len() {
            n if n >= step.outs => Ok(values),
            n => Err(OpError::mismatch("the number of values computed", n, step.outs)),
        });
        values.map_err(|error| self.located(step, with_inputs(error, inputs.iter())))
    }

    /// Checks outputs of a node, in the slots from `first` on, against its facts.
    fn check(
        &self,
        bindings: &SymbolBindings,
        node: NodeId,
        first: usize,
        values: &[Tensor],
    ) -> Result<(), Located> {
        let rounded = self.half_precision.rounded(first, values);
        let checked = rounded.and_then(|values| bindings.check(&self.graph, node, &values));
        checked.map_err(|error| self.graph.located(node, error))
    }

    /// Stores the outputs that are read.
    fn store(&self, step: &Step, values: Option<Vec<Tensor>>, slots: &mut [Slot]) {
        let outs = step.first..step.first + step.outs;
        let mut values = values.into_iter().flatten();
        for (slot, &is_read) in slots[outs.clone()].iter_mut().zip(&self.plan.is_read[outs]) {
            let value = values.next();
            if is_read {
                *slot = value.map_or(Slot::Lost, Slot::Full);
            }
        }
    }

    fn located(&self, step: &Step, error: OpError) -> Located {
        self.graph.located(step.node, error)
    }

    fn too_many(&self, got: usize) -> Located {
        self.error(OpError::Arity { expected: self.graph.parameters().count().to_string(), got })
    }

    /// An error of the model as a whole.
    fn error(&self, error: OpError) -> Located {
        Located::of_model(self.graph.source.clone(), self.graph.name.clone(), error)
    }
}

#[cfg(test)]
mod tests {
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
        assert!(
            fails(&[Tensor::zeros(snick_tensor::ElementType::I32, &[1, 2]).unwrap()]).contains("i32[1,2]")
        );
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

    /// Passes its input on; its inference claims 3 rows of N if `lies`.
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
}
