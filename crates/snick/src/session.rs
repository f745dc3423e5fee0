//! Runs a model any number of times.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use snick_ir::{Graph, Limits, Located, OpTraits, Progress, Watch};
use snick_run::Variables;
use snick_tensor::Tensor;

use crate::outputs::Outputs;
use crate::{Error, Model, edit, inputs};

/// Options for a run.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::time::Duration;
/// use snick::{Limits, RunOptions};
///
/// let options = RunOptions::new()
///     .threads(4)
///     .limits(Limits::new().time(Duration::from_secs(10)))
///     .progress(|p| if p.done < 1000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) });
/// # let _ = options;
/// ```
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct RunOptions {
    threads: usize,
    check_facts: bool,
    layers: Vec<String>,
    watch: Watch,
}

impl RunOptions {
    /// The defaults: runs on the caller's thread, without limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs on up to `count` threads, but on no more than the machine provides. The outputs do not depend on
    /// the number of threads.
    #[must_use]
    pub fn threads(self, count: usize) -> Self {
        Self { threads: count, ..self }
    }

    /// Checks every computed value against its inferred fact.
    #[must_use]
    pub fn check_facts(self, check_facts: bool) -> Self {
        Self { check_facts, ..self }
    }

    /// Also returns these inner values, under the given names, after the outputs of the model. Values are
    /// given as `LAYER`, `LAYER:PORT` (ports count from 0), or by tensor name. The session makes a new plan when
    /// these names change, because it fuses layers unless their values are requested.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
    /// #             %relu = ReLU-1(%x)\n  %n = Negative-1(%relu)\n  %y = Result-1(%n)\n}\n";
    /// use snick::{RunOptions, Tensor};
    ///
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// let x = Tensor::from_slice(&[-1f32, 2.], &[2])?;
    /// let outputs = model.run_with([("x", x)], &RunOptions::new().layers(["relu"]))?;
    /// assert_eq!(outputs["relu"].as_slice::<f32>()?, [0., 2.]);
    /// assert_eq!(outputs["y"].as_slice::<f32>()?, [0., -2.]);
    /// # Ok::<(), snick::Error>(())
    /// ```
    #[must_use]
    pub fn layers<N: Into<String>>(self, layers: impl IntoIterator<Item = N>) -> Self {
        Self { layers: layers.into_iter().map(Into::into).collect(), ..self }
    }

    /// Stops with [`Error::Limit`] when one of these limits is reached.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { watch: self.watch.limits(limits), ..self }
    }

    /// Calls `progress` after each layer. If it returns `Break`, the run stops with [`Error::Cancelled`].
    #[must_use]
    pub fn progress(self, progress: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self { watch: self.watch.progress(progress), ..self }
    }
}

/// A model prepared for any number of runs. The session plans the execution once, keeps the variables of the
/// model between runs, and owns its data. Several threads may use it at the same time, but runs of a model
/// with variables are serialised.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
/// #             %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
/// use std::sync::Arc;
/// use snick::Tensor;
///
/// let mut model = snick::parse(text)?;
/// model.infer().into_result()?;
/// let session = Arc::new(model.session()?);
/// let worker = std::thread::spawn({
///     let session = session.clone();
///     move || session.run([("x", Tensor::from_slice(&[-1f32, 2.], &[2])?)])
/// });
/// let outputs = worker.join().unwrap()?;
/// assert_eq!(outputs["y"].as_slice::<f32>()?, [0., 2.]);
/// # Ok::<(), snick::Error>(())
/// ```
pub struct Session {
    inner: snick_run::Session,
    /// The inner values that the last run requested, and the session that returns them.
    observed: Mutex<Option<(Vec<String>, Arc<snick_run::Session>)>>,
    /// Number of layers, including layers of bodies.
    layers: usize,
    /// `None` for a model without variables.
    variables: Option<Mutex<Variables>>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("graph", &self.graph().name).finish_non_exhaustive()
    }
}

impl Session {
    /// Creates a session of an inferred model.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a graph with a cycle.
    pub fn new(model: &Model) -> Result<Self, Error> {
        let inner = snick_run::Session::new(model.share_graph())?;
        let variables = has_variables(inner.graph()).then(Mutex::default);
        Ok(Self { layers: inner.graph().layers(), inner, observed: Mutex::default(), variables })
    }

    /// The graph that the session runs.
    pub fn graph(&self) -> &Graph {
        self.inner.graph()
    }

    /// Whether the model has variables, which keep their values between runs.
    pub fn has_variables(&self) -> bool {
        self.variables.is_some()
    }

    /// Runs on inputs given by layer name, tensor name or index.
    ///
    /// # Errors
    /// [`Error::NoInput`]; [`Error::Invalid`] for a layer that failed, or for an input that is missing or has
    /// a wrong type or shape.
    pub fn run<N: AsRef<str>>(
        &self,
        inputs: impl IntoIterator<Item = (N, Tensor)>,
    ) -> Result<Outputs, Error> {
        self.run_with(inputs, &RunOptions::new())
    }

    /// Like [`Session::run`], with options.
    ///
    /// # Errors
    /// Same as [`Session::run`]; [`Error::NoOutput`] for an unknown name in [`RunOptions::layers`];
    /// [`Error::Cancelled`], [`Error::Limit`].
    pub fn run_with<N: AsRef<str>>(
        &self,
        inputs: impl IntoIterator<Item = (N, Tensor)>,
        options: &RunOptions,
    ) -> Result<Outputs, Error> {
        let inputs = inputs::complete(self.graph(), inputs)?;
        let observed = self.observed(&options.layers)?;
        let session = observed.as_deref().unwrap_or(&self.inner);
        match &self.variables {
            None => self.execute(session, &inputs, options, &mut Variables::default()),
            Some(variables) => {
                let mut variables = variables.lock().unwrap_or_else(PoisonError::into_inner);
                self.execute(session, &inputs, options, &mut variables)
            }
        }
    }

    /// The session that also returns these inner values; `None` if there are none.
    fn observed(&self, values: &[String]) -> Result<Option<Arc<snick_run::Session>>, Error> {
        if values.is_empty() {
            return Ok(None);
        }
        let mut last = self.observed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, session)) = last.as_ref().filter(|(known, _)| known == values) {
            return Ok(Some(session.clone()));
        }
        let mut graph = self.graph().clone();
        edit::add_outputs(&mut graph, values)?;
        let session = Arc::new(snick_run::Session::new(graph)?);
        *last = Some((values.to_vec(), session.clone()));
        Ok(Some(session))
    }

    /// The values of the variables by variable id; empty before the first run.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n  \
    /// #             %old = ReadValue-6(%x) {variable_id: \"sum\", variable_type: f32, variable_shape: \"2\"}\n  \
    /// #             %new = Add-1(%old, %x) {auto_broadcast: \"numpy\"}\n  \
    /// #             %put = Assign-6(%new) {variable_id: \"sum\"}\n  %y = Result-1(%new)\n}\n";
    /// # use snick::Tensor;
    /// # let mut model = snick::parse(text)?;
    /// # model.infer().into_result()?;
    /// let session = model.session()?;
    /// let one = Tensor::from_slice(&[1f32, 1.], &[2])?;
    /// session.run([("x", one.clone())])?;
    /// let kept = session.state();
    /// assert_eq!(kept["sum"].as_slice::<f32>()?, [2., 2.]);
    /// session.reset();
    /// session.set_state(kept)?;
    /// assert_eq!(session.run([("x", one)])?["y"].as_slice::<f32>()?, [3., 3.]);
    /// # Ok::<(), snick::Error>(())
    /// ```
    pub fn state(&self) -> BTreeMap<String, Tensor> {
        let Some(variables) = &self.variables else { return BTreeMap::new() };
        let variables = variables.lock().unwrap_or_else(PoisonError::into_inner);
        variables.iter().map(|(variable_id, value)| (variable_id.to_string(), value.clone())).collect()
    }

    /// Sets the values of these variables, as if a previous run had assigned them. Other variables keep their
    /// values.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the model has no such variable, or if the value does not fit the variable. In
    /// that case no value changes.
    pub fn set_state<N: AsRef<str>>(
        &self,
        state: impl IntoIterator<Item = (N, Tensor)>,
    ) -> Result<(), Error> {
        let mut own = self.variables.as_ref().map(|all| all.lock().unwrap_or_else(PoisonError::into_inner));
        let mut variables = own.as_deref().cloned().unwrap_or_default();
        for (variable_id, value) in state {
            let set = variables.set_checked(self.graph(), variable_id.as_ref(), value);
            set.map_err(|error| Located::of_model(&*self.graph().source, &*self.graph().name, error))?;
        }
        if let Some(own) = &mut own {
            **own = variables;
        }
        Ok(())
    }

    /// Resets all variables, so the next run is like the first.
    pub fn reset(&self) {
        if let Some(variables) = &self.variables {
            *variables.lock().unwrap_or_else(PoisonError::into_inner) = Variables::default();
        }
    }

    fn execute(
        &self,
        session: &snick_run::Session,
        inputs: &[Tensor],
        options: &RunOptions,
        variables: &mut Variables,
    ) -> Result<Outputs, Error> {
        let graph = session.graph();
        let mut monitor = options.watch.start();
        let how = snick_run::Options {
            check_facts: options.check_facts,
            pack_outputs: true,
            threads: options.threads,
            memory: monitor.limits().memory.unwrap_or_default(),
            fuel: monitor.limits().fuel,
            ..snick_run::Options::default()
        };
        monitor.count_layers(self.layers, "");
        if let Some(stopped) = monitor.stopped() {
            return Err(stopped.clone().into());
        }
        let outputs = session.watch(inputs, how, variables, |progress| {
            monitor.report(progress.done, progress.layers, graph.node(progress.node).name());
            match monitor.stopped() {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        });
        // A run that was stopped after its last layer still has all outputs, so it succeeds.
        match monitor.into_stopped().filter(|_| !outputs.errors.is_empty()) {
            Some(stopped) => Err(stopped.into()),
            None => Ok(Outputs::new(graph, outputs.complete().map_err(refused)?)),
        }
    }
}

/// Converts the error of a layer. The result is [`Error::Limit`] if a value is too large or the fuel (the
/// limit on computed elements) is used up.
fn refused(error: Located) -> Error {
    match error.error.is_limit() {
        true if error.error.is_out_of_fuel() => {
            Error::Limit { limit: format!("fuel: {}", error.error), layer: error.layer }
        }
        true => Error::Limit { limit: format!("memory: {}", error.error), layer: error.layer },
        false => error.into(),
    }
}

/// Whether the graph or one of its bodies has a variable.
fn has_variables(graph: &Graph) -> bool {
    graph
        .ids()
        .map(|id| graph.node(id).op())
        .any(|op| op.has(OpTraits::STATEFUL) || op.bodies().any(|(_, body)| has_variables(body)))
}
