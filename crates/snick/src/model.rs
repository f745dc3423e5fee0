//! A model, and the operations on it.

mod conversion;
#[cfg(feature = "emit")]
mod output;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use snick_ir::text::{PrintOptions, print};
use snick_ir::{Graph, Located};
use snick_pass::states::State;
use snick_pass::{Pass, Report, RewriteOptions};

use crate::{Error, InferOptions, Inference, inputs};

/// A model and the errors that occurred when it was read. Clones share the graph until one of them is
/// changed.
///
/// ```
/// use snick::{ElementType, GraphBuilder, Model};
///
/// let b = GraphBuilder::new("double");
/// let x = b.parameter("x", ElementType::F32, "N,3")?;
/// let sum = b.add(x, x)?;
/// b.result("out", sum)?;
/// let model = Model::from(b.finish()?);
/// let out = model.graph().find("out").expect("layer");
/// let fact = model.graph().node(out).outputs().next().expect("an output");
/// assert_eq!(fact.shape().display(model.graph().symbols()).to_string(), "[N,3]");
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    graph: Arc<Graph>,
    errors: Vec<Located>,
    notes: Vec<String>,
    missing: Vec<PathBuf>,
    files: Vec<PathBuf>,
    optional_inputs: Vec<String>,
}

impl AsRef<Graph> for Model {
    fn as_ref(&self) -> &Graph {
        &self.graph
    }
}

/// Compares the graphs only; see [`Graph`].
impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        self.graph == other.graph
    }
}

impl Model {
    /// The graph. Facts (types, shapes and known elements) are only available after [`Model::infer`].
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The graph, for editing. If a session or another model shares the graph, copies it first. Call
    /// [`Model::infer`] again after a change.
    pub fn graph_mut(&mut self) -> &mut Graph {
        Arc::make_mut(&mut self.graph)
    }

    /// The graph, shared with this model.
    pub fn share_graph(&self) -> Arc<Graph> {
        self.graph.clone()
    }

    /// Returns the graph without the rest of the model.
    pub fn into_graph(self) -> Graph {
        Arc::unwrap_or_clone(self.graph)
    }

    /// The errors of layers that could not be read. Such layers are opaque in the graph.
    pub fn read_errors(&self) -> &[Located] {
        &self.errors
    }

    /// Notes for the user, for example that the weights were not found.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Files of weights or external data that do not exist. Their constants have no values.
    pub fn missing_weights(&self) -> &[PathBuf] {
        &self.missing
    }

    /// The files that the model was read from: the model itself, its weights and external data.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The inputs of an ONNX model that have a default value, that is, an initializer of the same name. In
    /// the graph they are constants, unless
    /// [`LoadOptions::optional_inputs`](crate::LoadOptions::optional_inputs) names them.
    pub fn optional_inputs(&self) -> &[String] {
        &self.optional_inputs
    }

    /// A model with a part of this model's graph, and with what was read about its layers.
    pub(crate) fn with_graph(&self, graph: Graph) -> Self {
        let mut part = Self { graph: graph.into(), ..self.clone() };
        if !part.errors.is_empty() || !part.optional_inputs.is_empty() {
            let graph = part.graph.clone();
            let layers: HashSet<&str> = graph.ids().map(|id| graph.node(id).name()).collect();
            part.errors.retain(|error| layers.contains(error.layer.as_str()));
            part.optional_inputs.retain(|name| layers.contains(name.as_str()));
        }
        part
    }

    /// Renames an input that has a default value.
    pub(crate) fn rename_optional_input(&mut self, old: &str, new: &str) {
        for name in self.optional_inputs.iter_mut().filter(|name| *name == old) {
            *name = new.to_string();
        }
    }

    /// Sets input shapes: `x[1,3,H=32..512],mask[1,2*H]`, or `[1,3]` for a single input. Call
    /// [`Model::infer`] afterwards.
    ///
    /// A symbol gets bounds where it is a dim on its own (`H=32..512`). The bounds also apply to expressions
    /// that contain the symbol, and to other inputs. A symbol without bounds may be any size, including 0.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %past = Parameter-1 {element_type: f32, shape: \"?,?\"}\n  \
    /// #             %new = Parameter-1 {element_type: f32, shape: \"?,?\"}\n  \
    /// #             %mask = Parameter-1 {element_type: f32, shape: \"?,?\"}\n  \
    /// #             %keys = Concat-1(%past, %new) {axis: 1}\n  %masked = Multiply-1(%keys, %mask)\n}\n";
    /// let mut model = snick::parse(text)?;
    /// model.reshape("past[B,P=..2048],new[B,T],mask[B,P+T]")?;
    /// model.infer().into_result()?;
    /// let masked = model.graph().find("masked").expect("layer");
    /// let fact = model.graph().node(masked).outputs().next().expect("an output");
    /// assert_eq!(fact.shape().display(model.graph().symbols()).to_string(), "[B,P+T]");
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoInput`]; [`Error::Shape`], also for an input given twice. In that case no shape changes.
    pub fn reshape(&mut self, spec: &str) -> Result<(), Error> {
        inputs::reshape(self.graph_mut(), spec)
    }

    /// Infers element types, shapes and known values of all outputs. The result contains all errors,
    /// including the errors that occurred when the model was read.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"?\"}\n  \
    /// #             %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
    /// let mut model = snick::parse(text)?;
    /// model.reshape("x[W]")?;
    /// model.infer().into_result()?;
    /// let graph = model.graph();
    /// for id in graph.order()? {
    ///     let node = graph.node(id);
    ///     for (port, fact) in node.outputs().enumerate() {
    ///         println!("{} {port} {}", node.name(), fact.shape().display(graph.symbols())); // x 0 [W]
    ///     }
    /// }
    /// # Ok::<(), snick::Error>(())
    /// ```
    pub fn infer(&mut self) -> Inference {
        let mut errors = self.errors.clone();
        errors.extend(snick_ir::infer(self.graph_mut()));
        errors.into()
    }

    /// Turns variables into inputs and outputs for formats without variables, and infers the model. Returns
    /// the new input and output of each variable; see [`State`].
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n  \
    /// #             %old = ReadValue-6(%x) {variable_id: \"v\", variable_type: f32, variable_shape: \"2\"}\n  \
    /// #             %new = Add-1(%old, %x) {auto_broadcast: \"numpy\"}\n  \
    /// #             %put = Assign-6(%new) {variable_id: \"v\"}\n  %y = Result-1(%old)\n}\n";
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// for state in model.make_stateless()? {
    ///     println!("{state}"); // v: input past.v, output present.v; first f32[2]
    /// }
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if a body reads or assigns a variable. In that case the model is unchanged.
    pub fn make_stateless(&mut self) -> Result<Vec<State>, Error> {
        Ok(snick_pass::states::make_stateless(self.graph_mut()).map_err(|error| *error)?)
    }

    /// The inverse of [`Model::make_stateless`]. An input named like a past state (`past_key_values.0.key`,
    /// `past.v`) becomes a variable if the model has an output named like the matching present state
    /// (`present.0.key`, `present.v`). Also infers the model.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a state has an unknown rank, or an element type without a zero to start from.
    pub fn make_stateful(&mut self) -> Result<Vec<State>, Error> {
        Ok(snick_pass::states::make_stateful(self.graph_mut()).map_err(|error| *error)?)
    }

    /// [`Model::infer`] with limits or progress reports. If inference stops early, the remaining layers have
    /// no facts.
    ///
    /// # Errors
    /// [`Error::Cancelled`], [`Error::Limit`].
    pub fn infer_with(&mut self, options: &InferOptions) -> Result<Inference, Error> {
        let mut errors = self.errors.clone();
        let mut monitor = options.monitor();
        errors.extend(snick_ir::infer_with(self.graph_mut(), &mut monitor));
        match monitor.into_stopped() {
            Some(stopped) => Err(stopped.into()),
            None => Ok(errors.into()),
        }
    }

    /// [`Model::reshape`] and [`Model::infer_with`] in one step. The model stays unchanged if a shape cannot
    /// be set, if a layer rejects the resulting shapes, or if inference stops early.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,2\"}\n  \
    /// #             %w = Const-1 f32[2,2] <1, 2, 3, 4>\n  \
    /// #             %y = MatMul-1(%x, %w) {transpose_a: false, transpose_b: false}\n  %z = Result-1(%y)\n}\n";
    /// use snick::InferOptions;
    ///
    /// let mut model = snick::parse(text)?;
    /// model.reshape_with("x[8,2]", &InferOptions::new())?;
    /// assert!(model.reshape_with("x[8,3]", &InferOptions::new()).is_err());
    /// let input = model.graph().find("x").expect("layer");
    /// let shape = model.graph().node(input).outputs().next().expect("an output").shape();
    /// assert_eq!(shape.display(model.graph().symbols()).to_string(), "[8,2]");
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`Model::reshape`] and [`Model::infer_with`]; [`Error::Invalid`] with the errors of layers.
    pub fn reshape_with(&mut self, spec: &str, options: &InferOptions) -> Result<(), Error> {
        let mut changed = self.clone();
        changed.reshape(spec)?;
        changed.infer_with(options)?.into_result()?;
        *self = changed;
        Ok(())
    }

    /// Brings the inferred graph into canonical form: every slice-like layer becomes `slice`. The report
    /// lists the exceptions with reasons.
    ///
    /// ```
    /// let text = r#"snick 1
    /// graph "crop" {
    ///   %x = Parameter-1 {element_type: f32, shape: "N"}
    ///   %start = Const-1 i64[1] <1>
    ///   %stop = Const-1 i64[1] <-1>
    ///   %step = Const-1 i64[1] <1>
    ///   %slice = Slice-8(%x, %start, %stop, %step)
    ///   %y = Result-1(%slice)
    /// }
    /// "#;
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// let report = model.canonicalise();
    /// assert_eq!((report.slice_like_before, report.slice_after), (1, 1));
    /// # Ok::<(), snick::Error>(())
    /// ```
    pub fn canonicalise(&mut self) -> Report {
        self.canonicalise_with(&RewriteOptions::new())
    }

    /// [`Model::canonicalise`] with options, such as a limit on rewrites or a check of each rewrite.
    pub fn canonicalise_with(&mut self, options: &RewriteOptions) -> Report {
        snick_pass::canonicalise(self.graph_mut(), options)
    }

    /// Lowers every slice-like layer of the inferred graph to `slice`, without any other rewrite.
    pub fn lower_slices(&mut self) -> Report {
        snick_pass::lower_slices(self.graph_mut())
    }

    /// Applies passes in order, once each, to the inferred graph and its bodies.
    ///
    /// ```
    /// use snick::{Pass, RewriteOptions, RewriteResult, Rule};
    ///
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
    /// #             %a = ReLU-1(%x)\n  %b = ReLU-1(%a)\n  %y = Result-1(%b)\n}\n";
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// let op = "ReLU".to_string();
    /// let twice = Rule::new("once-is-enough", move |patch| {
    ///     let input = patch.input(0);
    ///     match input {
    ///         Ok(x) if patch.node().op().type_name() == op && patch.op_of(x).type_name() == op => {
    ///             Ok(RewriteResult::one(x))
    ///         }
    ///         _ => Ok(RewriteResult::NoMatch),
    ///     }
    /// });
    /// let report = model.apply(&[Pass::new("mine", [twice])], &RewriteOptions::new().check(true))?;
    /// assert_eq!((report.applied.len(), report.checked, model.graph().len()), (1, 1, 3));
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] for a graph with a cycle. With [`Error::Cancelled`] and [`Error::Limit`], the model
    /// is valid, but only partly rewritten. Failures of rules are in the report.
    pub fn apply(&mut self, passes: &[Pass], options: &RewriteOptions) -> Result<Report, Error> {
        self.graph.order()?;
        let report = snick_pass::apply(self.graph_mut(), passes, options);
        match report.stopped {
            Some(stopped) => Err(stopped.into()),
            None => Ok(report),
        }
    }

    /// Returns the text form, which is suitable for snapshots and human readers. Large constants are printed
    /// as digests.
    pub fn to_text(&self) -> String {
        print(&self.graph, PrintOptions::default())
    }
}

#[cfg(feature = "run")]
impl Model {
    /// Runs the inferred graph; inputs are given by name.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
    /// #             %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
    /// use snick::Tensor;
    ///
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// let outputs = model.run([("x", Tensor::from_slice(&[-1f32, 2., 3.], &[3])?)])?;
    /// let y: &[f32] = outputs["y"].as_slice()?;
    /// assert_eq!(y, [0., 2., 3.]);
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`Session::run`](crate::Session::run).
    pub fn run<N: AsRef<str>>(
        &self,
        inputs: impl IntoIterator<Item = (N, snick_tensor::Tensor)>,
    ) -> Result<crate::Outputs, Error> {
        self.session()?.run(inputs)
    }

    /// Like [`Model::run`], with options.
    ///
    /// # Errors
    /// Same as [`Session::run_with`](crate::Session::run_with).
    pub fn run_with<N: AsRef<str>>(
        &self,
        inputs: impl IntoIterator<Item = (N, snick_tensor::Tensor)>,
        options: &crate::RunOptions,
    ) -> Result<crate::Outputs, Error> {
        self.session()?.run_with(inputs, options)
    }

    /// Prepares the inferred model for any number of runs.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a graph with a cycle.
    pub fn session(&self) -> Result<crate::Session, Error> {
        crate::Session::new(self)
    }
}
