//! Running a plan.

use snick_ir::{Graph, Located, Op, OpError};
use snick_tensor::Tensor;

use crate::bodies::Bodies;
use crate::facts::{Witness, describe};
use crate::plan::{Operand, Plan, Step};
use crate::variables::Variables;

/// How to run.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// A layer that fails loses only what depends on it; otherwise the first failure ends the run.
    pub keep_going: bool,
    /// Everything computed is held against what inference said of it: element types, shapes, known elements.
    pub check_facts: bool,
}

/// What a run gave.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// By Result, in their order; `None` where a failure lies before it.
    pub values: Vec<Option<Tensor>>,
    /// What failed. Layers that only miss the output of a failed one are not told.
    pub errors: Vec<Located>,
}

impl Outputs {
    /// The values, if nothing failed.
    ///
    /// # Errors
    /// The first failure.
    pub fn complete(self) -> Result<Vec<Tensor>, Located> {
        match self.errors.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(self.values.into_iter().flatten().collect()),
        }
    }
}

/// A graph made ready to run any number of times.
pub struct Session<'g> {
    graph: &'g Graph,
    plan: Plan,
    bodies: Bodies<'g>,
}

/// A value on its way.
#[derive(Clone)]
enum Slot {
    /// Not computed yet, or not needed any more.
    Empty,
    /// Not to be had: a layer before failed.
    Lost,
    Full(Tensor),
}

impl<'g> Session<'g> {
    /// Plans an inferred graph, and the bodies in it.
    ///
    /// # Errors
    /// A graph with a cycle has no order.
    pub fn new(graph: &'g Graph) -> Result<Self, Located> {
        Ok(Self { graph, plan: Plan::new(graph)?, bodies: Bodies::new(graph)? })
    }

    /// Runs the graph on one tensor a Parameter, in their order; its variables are as before a first run.
    pub fn run(&self, inputs: &[Tensor], options: Options) -> Outputs {
        self.run_with(inputs, options, &mut Variables::default())
    }

    /// As [`Session::run`], with variables that were assigned in runs before; afterwards they hold what was assigned
    /// in this one. A run that fails assigns nothing.
    pub fn run_with(&self, inputs: &[Tensor], options: Options, variables: &mut Variables) -> Outputs {
        let outputs = self.run_inside(inputs, options, variables);
        variables.finish(outputs.errors.is_empty() || options.keep_going);
        outputs
    }

    /// A run of the graph as a part of another run: nothing assigned is seen yet.
    pub(crate) fn run_inside(
        &self,
        inputs: &[Tensor],
        options: Options,
        variables: &mut Variables,
    ) -> Outputs {
        let mut slots = vec![Slot::Empty; self.plan.slots];
        let mut given = inputs.iter();
        let mut witness = Witness::default();
        let mut outputs = Outputs::default();
        for step in &self.plan.steps {
            let values = match &self.graph.node(step.node).op {
                Op::Parameter(_) => self.input(step, given.next(), &mut witness).map(Some),
                _ => self.evaluate(step, &mut slots, options, variables),
            };
            let checked = values.and_then(|values| match &values {
                Some(values) if options.check_facts => {
                    witness
                        .check(self.graph, step.node, values)
                        .map_err(|error| self.located(step, error))?;
                    Ok(Some(values.clone()))
                }
                _ => Ok(values),
            });
            let values = checked.unwrap_or_else(|error| {
                outputs.errors.push(error);
                None
            });
            if !outputs.errors.is_empty() && !options.keep_going {
                break;
            }
            if matches!(self.graph.node(step.node).op, Op::Result(_)) {
                outputs.values.push(values.and_then(|values| values.into_iter().next()));
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
        witness: &mut Witness,
    ) -> Result<Vec<Tensor>, Located> {
        let node = self.graph.node(step.node);
        let checked = match given {
            Some(given) => {
                let learned = node.outs.first().map(|out| witness.learn(self.graph, &out.fact, given));
                learned.unwrap_or(Ok(())).map(|()| vec![given.clone()])
            }
            None => Err(OpError::NoValue { what: "the input".into(), why: "it was not given".into() }),
        };
        checked.map_err(|error| self.located(step, error))
    }

    /// The outputs of a node; `None` where an input is lost.
    fn evaluate(
        &self,
        step: &Step,
        slots: &mut [Slot],
        options: Options,
        variables: &mut Variables,
    ) -> Result<Option<Vec<Tensor>>, Located> {
        let mut inputs = Vec::with_capacity(step.operands.len());
        let mut lost = false;
        for (port, operand) in step.operands.iter().enumerate() {
            let Operand::Slot { slot, last } = *operand else {
                return Err(self.located(step, OpError::NotConnected { port }));
            };
            let value =
                if last { std::mem::replace(&mut slots[slot], Slot::Empty) } else { slots[slot].clone() };
            match value {
                Slot::Full(tensor) => inputs.push(tensor),
                Slot::Empty | Slot::Lost => lost = true,
            }
        }
        if lost {
            return Ok(None);
        }
        let node = self.graph.node(step.node);
        let values = match &node.op {
            Op::SubGraph(op) => self.bodies.execute(step.node, op, &inputs, options, variables),
            Op::ReadValue(op) => variables.read(op, node, self.graph.symbols(), &inputs),
            Op::Assign(op) => Ok(variables.assign(op, &inputs)),
            op => op.eval(&inputs),
        };
        let values = values.and_then(|values| match values.len() {
            n if n >= step.outs => Ok(values),
            n => Err(OpError::mismatch("the number of values computed", n, step.outs)),
        });
        values.map(Some).map_err(|error| {
            let inputs: Vec<String> = inputs.iter().map(describe).collect();
            let given = OpError::Given { error: Box::new(error), inputs: inputs.join(", ") };
            self.located(step, given)
        })
    }

    /// Keeps what somebody will read.
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
        let expected = self.graph.parameters().count().to_string();
        Located {
            source: self.graph.source.clone(),
            loc: snick_ir::Loc::default(),
            layer: self.graph.name.clone(),
            op: "model".into(),
            error: OpError::Arity { expected, got },
        }
    }
}

#[cfg(test)]
mod tests {
    use snick_ir::{infer, text};

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
    fn a_failure_loses_only_what_depends_on_it() {
        let graph = graph(TWO);
        let session = Session::new(&graph).unwrap();
        let x = Tensor::from_vec(&[1, 2], vec![1.5f32, -2.5]).unwrap();
        let first = session.run(std::slice::from_ref(&x), Options::default());
        assert!(first.errors[0].to_string().contains("inputs: f32[1,2]"), "{}", first.errors[0]);
        assert_eq!(first.values, [None, None]);
        let all = session.run(&[x], Options { keep_going: true, check_facts: true });
        assert_eq!(all.errors.len(), 1);
        assert_eq!(all.values[1].as_ref().unwrap().to_i64_vec().unwrap(), [1, -2]);
    }

    #[test]
    fn inputs_are_checked() {
        let graph = graph(TWO);
        let session = Session::new(&graph).unwrap();
        let fails = |inputs: &[Tensor]| session.run(inputs, Options::default()).errors[0].to_string();
        assert!(fails(&[]).contains("not given"));
        assert!(
            fails(&[Tensor::zeros(snick_tensor::ElementType::F32, &[1, 4]).unwrap()]).contains("f32[?,2..3]")
        );
        assert!(
            fails(&[Tensor::zeros(snick_tensor::ElementType::I32, &[1, 2]).unwrap()]).contains("i32[1,2]")
        );
    }

    #[test]
    fn what_contradicts_inference_is_an_error() {
        let mut graph = graph(
            "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,2\"}\n  \
             %c = Convert-1(%x) {destination_type: i32}\n  %y = Result-1(%c)\n}\n",
        );
        let x = Tensor::zeros(snick_tensor::ElementType::F32, &[3, 2]).unwrap();
        let checked = Options { check_facts: true, ..Options::default() };
        let errors =
            |graph: &Graph| Session::new(graph).unwrap().run(std::slice::from_ref(&x), checked).errors;
        assert_eq!(errors(&graph), []);
        let (param, convert) = (graph.ids().next().unwrap(), graph.ids().nth(1).unwrap());
        let n = graph.node(param).outs[0].fact.shape.dims().unwrap()[0].clone();
        let shape = snick_shape::Shape::ranked([snick_shape::SymExpr::from(3), n]);
        graph.node_mut(convert).outs[0].fact.shape = shape;
        assert!(errors(&graph)[0].to_string().contains("is 2, expected N = 3"), "{:?}", errors(&graph));
    }
}
