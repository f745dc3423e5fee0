//! Sessions: graphs that are planned once and can be run many times.

use std::ops::ControlFlow;
use std::sync::Arc;

use snick_ir::{Graph, Located, NodeId, Op, OpError};
use snick_tensor::{Pool, Tensor};

use crate::bodies::Bodies;
use crate::custom;
use crate::facts::{SymbolBindings, with_inputs};
use crate::fuel::Fuel;
use crate::fused_elementwise::{self, Check};
use crate::half_precision::HalfPrecision;
use crate::optimize::optimize;
use crate::plan::{Operand, Plan, Step, StepKind};
use crate::run::{Options, Outputs, Progress};
use crate::threads::Threads;
use crate::variables::Variables;

/// A graph prepared for any number of runs, also from several threads at once.
///
/// Creating a session computes everything that does not depend on the inputs. Each run reuses memory of
/// earlier runs, including the memory of outputs that were dropped.
pub struct Session {
    pub(crate) graph: Arc<Graph>,
    pub(crate) plan: Plan,
    pub(crate) half_precision: HalfPrecision,
    pub(crate) bodies: Bodies<Self>,
    pool: Arc<Pool>,
    threads: Threads,
    thread_count: usize,
}

/// The value of a slot during a run.
#[derive(Clone)]
enum Slot {
    /// Not computed yet, or no longer needed.
    Empty,
    /// Not computed because an earlier layer failed.
    Lost,
    Full(Tensor),
}

/// State that a run shares with the runs of bodies.
pub(crate) struct Shared<'v> {
    variables: &'v mut Variables,
    fuel: Fuel,
}

/// Called after each layer; may stop the run.
pub(crate) type Observer<'a> = dyn FnMut(Progress) -> ControlFlow<()> + Send + 'a;

impl Session {
    /// Plans an inferred graph and its bodies, and computes everything that is the same in every run.
    ///
    /// # Errors
    /// The graph has a cycle.
    pub fn new(graph: impl Into<Arc<Graph>>) -> Result<Self, Located> {
        Self::planned(graph.into(), true)
    }

    /// Creates a session that computes every layer in every run, so that the values of inner layers can be
    /// observed.
    ///
    /// # Errors
    /// Same as [`Session::new`].
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

    /// The graph that the session runs.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Runs on up to `count` threads, but no more than the machine has, instead of on the caller's thread.
    /// The outputs do not depend on the number of threads.
    ///
    /// # Errors
    /// The system refuses to start threads.
    pub fn with_threads(self, count: usize) -> Result<Self, OpError> {
        self.threads.team(count)?;
        Ok(Self { thread_count: count, ..self })
    }

    /// Runs the graph on one tensor per Parameter, in order, with fresh variables.
    pub fn run(&self, inputs: &[Tensor], options: Options) -> Outputs {
        self.run_with(inputs, options, &mut Variables::default())
    }

    /// Like [`Session::run`], but starts with the values that earlier runs left in `variables`, and stores
    /// the values that this run assigns. A run that fails assigns nothing, unless [`Options::keep_going`] is
    /// set.
    pub fn run_with(&self, inputs: &[Tensor], options: Options, variables: &mut Variables) -> Outputs {
        self.watch(inputs, options, variables, |_| ControlFlow::Continue(()))
    }

    /// Like [`Session::run_with`], but calls `watch` after each layer, including layers inside bodies. If
    /// `watch` stops the run, this is reported as an error of the next layer.
    pub fn watch(
        &self,
        inputs: &[Tensor],
        options: Options,
        variables: &mut Variables,
        mut watch: impl FnMut(Progress) -> ControlFlow<()> + Send,
    ) -> Outputs {
        let memory = if options.memory == 0 { usize::MAX } else { options.memory };
        let mut run = || {
            self.pool.scope_within(memory, || {
                let mut shared = Shared { variables: &mut *variables, fuel: Fuel::new(options.fuel) };
                self.run_inside(inputs, options, &mut shared, &mut watch)
            })
        };
        let count = if options.threads == 0 { self.thread_count } else { options.threads };
        let outputs = match self.threads.team(count) {
            Ok(Some(team)) => team.run(run),
            Ok(None) => run(),
            Err(error) => Outputs { errors: vec![self.error(error)], ..Outputs::default() },
        };
        variables.finish(outputs.errors.is_empty() || options.keep_going);
        outputs
    }

    /// Runs the graph with state that it shares with other graphs. Assigned variables keep their old values
    /// until the outermost run ends.
    pub(crate) fn run_inside(
        &self,
        inputs: &[Tensor],
        options: Options,
        shared: &mut Shared,
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
                        || self.evaluate(step, &mut operands, options, shared, &bindings, &mut inside);
                    complete.then(compute).transpose()
                }),
            };
            operands.clear();
            let is_checked = (options.check_facts || step.is_checked) && step.has_outputs_of_node();
            if let (true, Ok(Some(outputs))) = (is_checked, &values)
                && let Err(error) = self.check(&bindings, node, step.first, outputs)
            {
                values = Err(error);
            }
            let values = values.unwrap_or_else(|error| {
                outputs.errors.push(error);
                None
            });
            let shown = values.as_deref().filter(|_| step.has_outputs_of_node()).unwrap_or_default();
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

    /// Collects the inputs of a step, and empties each slot after its last use. Returns `false` if an input
    /// was not computed.
    fn gather(&self, step: &Step, slots: &mut [Slot], inputs: &mut Vec<Tensor>) -> Result<bool, Located> {
        let mut complete = true;
        let op = step.op(&self.graph);
        for (port, operand) in step.operands.iter().enumerate() {
            match *operand {
                Operand::Missing => return Err(self.located(step, OpError::NotConnected { port })),
                Operand::Constant(number) => inputs.push(self.plan.constants[number].clone()),
                Operand::Slot { slot, last } => {
                    // Matches on a reference, because moving every `Tensor` out of its slot would be slow.
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

    /// Evaluates a single step on the given input values. Outputs that were computed in f32 are not rounded
    /// to f16 or bf16.
    pub(crate) fn evaluate_alone(&self, step: &Step, values: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let op = step.op(&self.graph);
        let mut operands = Vec::with_capacity(values.len());
        for (operand, value) in step.operands.iter().zip(values) {
            let slot = match *operand {
                Operand::Slot { slot, .. } => Some(slot),
                Operand::Constant(number) => self.plan.folded.get(number).copied(),
                Operand::Missing => None,
            };
            let converted = slot.map_or(Ok(None), |slot| self.half_precision.converted(op, slot, value))?;
            operands.push(converted.unwrap_or_else(|| value.clone()));
        }
        let mut variables = Variables::default();
        let mut shared = Shared { variables: &mut variables, fuel: Fuel::new(None) };
        let (options, bindings) = (Options::default(), SymbolBindings::default());
        let mut watch = |_: Progress| ControlFlow::Continue(());
        let values = self.evaluate(step, &mut operands, options, &mut shared, &bindings, &mut watch);
        values.map_err(|error| OpError::Inside(Box::new(error)))
    }

    /// Evaluates a step and returns its outputs.
    fn evaluate(
        &self,
        step: &Step,
        inputs: &mut Vec<Tensor>,
        options: Options,
        shared: &mut Shared,
        bindings: &SymbolBindings,
        watch: &mut Observer,
    ) -> Result<Vec<Tensor>, Located> {
        let node = self.graph.node(step.node);
        let afforded = shared.fuel.check(&self.graph, step.node, bindings);
        afforded.map_err(|error| self.located(step, error))?;
        let values = match (step.op(&self.graph), &step.kind) {
            (_, StepKind::Fused(layers)) => {
                let check = |node: NodeId, slot: usize, value: &Tensor| {
                    self.check(bindings, node, slot, std::slice::from_ref(value))
                };
                let check = options.check_facts.then_some(&check as &Check);
                let value = fused_elementwise::evaluate(&self.graph, step.node, layers, inputs, check)?;
                let values = vec![value];
                shared.fuel.burn(&values).map_err(|error| self.located(step, error))?;
                return Ok(values);
            }
            (Op::Slice(slice), StepKind::Slice(numbers)) => {
                numbers.select(slice, inputs).map(|selected| vec![selected])
            }
            (op, StepKind::Packed(weights)) => match (op, &inputs[..]) {
                (Op::Gather(op), [indices]) => {
                    weights.gather(indices, !op.checks_indices).map(|rows| vec![rows]).map_err(Into::into)
                }
                (_, [x]) => weights.multiply(x).map(|product| vec![product]).map_err(Into::into),
                (_, others) => Err(OpError::mismatch("the number of operands", others.len(), 1)),
            },
            (_, StepKind::Quantized(quantized)) => quantized.evaluate(inputs),
            (Op::SubGraph(op), _) => {
                let options = Options { keep_going: false, ..options };
                self.bodies.execute(step.node, op, inputs, |body, arguments| {
                    body.run_inside(arguments, options, shared, watch).complete()
                })
            }
            (Op::ReadValue(op), _) => shared.variables.read(op, node, self.graph.symbols(), inputs),
            (Op::Assign(op), _) => Ok(shared.variables.assign(op, inputs)),
            (Op::Custom(op), _) => custom::evaluate(op, inputs, &self.graph, step.node, |graph, inputs| {
                Self::without_folding(graph)?.run(inputs, Options::default()).complete()
            }),
            (op, _) => self.half_precision.evaluate(step, op, inputs),
        };
        let values = values.and_then(|values| match values.len() {
            n if n >= step.outs => shared.fuel.burn(&values).map(|()| values),
            n => Err(OpError::contradicts_fact("the number of values computed", n, step.outs)),
        });
        values.map_err(|error| self.located(step, with_inputs(error, inputs.iter())))
    }

    /// Checks the outputs of a node against its facts. `first` is the slot of the first output.
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

    /// Stores the outputs that other steps read.
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

    /// An error of the whole model.
    fn error(&self, error: OpError) -> Located {
        Located::of_model(self.graph.source.clone(), self.graph.name.clone(), error)
    }
}

#[cfg(test)]
mod tests;
