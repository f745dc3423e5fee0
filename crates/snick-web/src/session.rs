//! The models that a page shows.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::Serialize;
use snick::{Error, Format, InferOptions, Located, Model, PictureOptions, ReportOptions, SaveOptions};
use snick_cli::documents::{self, Document, Run, RunInputs};

use crate::files::{self, File, ModelFiles};
use crate::limits;
use crate::problem::Problem;

/// A model with the chosen input shapes, and its canonical form if this was requested.
struct Shown {
    /// The file of the model, including its folders.
    path: String,
    /// The weights files that the model lacks.
    missing: Vec<String>,
    /// The model with the input shapes of its file.
    file: Model,
    read: Inferred,
    canonical: Option<(Inferred, Document)>,
}

/// A model and its inference errors.
#[derive(Clone)]
struct Inferred {
    model: Model,
    errors: Vec<Located>,
}

impl Inferred {
    fn infer(&mut self) -> Result<(), Error> {
        let options = InferOptions::new().limits(limits::of_model());
        self.errors = self.model.infer_with(&options)?.into_located();
        Ok(())
    }
}

impl Shown {
    fn open(files: ModelFiles) -> Result<Self, Problem> {
        let (path, weights) = (files.path().to_string(), files.weights_name());
        let file = files.load()?;
        let name = |missing: &PathBuf| weights.clone().unwrap_or_else(|| missing.display().to_string());
        let missing = file.missing_weights().iter().map(name).collect();
        let mut read = Inferred { model: file.clone(), errors: Vec::new() };
        read.infer()?;
        Ok(Self { path, missing, file, read, canonical: None })
    }

    /// The model of the file with these input shapes. Fails if the model has no errors with the shapes of the
    /// file, but would have errors with these shapes.
    fn with_shapes(&self, spec: &str) -> Result<Inferred, Problem> {
        let mut read = Inferred { model: self.file.clone(), errors: Vec::new() };
        read.model.reshape(spec)?;
        read.infer()?;
        match read.errors.first() {
            Some(error) if self.read.errors.is_empty() => Err(Error::from(error.clone()).into()),
            _ => Ok(read),
        }
    }

    fn reshaped(&self, spec: &str) -> Result<Self, Problem> {
        let read = self.with_shapes(spec)?;
        let (path, missing) = (self.path.clone(), self.missing.clone());
        Ok(Self { path, missing, file: self.file.clone(), read, canonical: None })
    }

    /// The shapes of inputs in the syntax of `--shape`. `shapes` are the dims of each input, such as
    /// `[1,3,?]`; an empty text means the shape of the file.
    fn spec(&self, shapes: &[String]) -> Result<Vec<(usize, String)>, Problem> {
        let graph = self.file.graph();
        let names: Vec<&str> = graph.parameters().map(|id| graph.node(id).name()).collect();
        if shapes.len() > names.len() {
            return Err(Problem::new(&format!("the model has {} inputs", names.len()), ""));
        }
        let given = shapes.iter().zip(names).enumerate().filter(|(_, (shape, _))| !shape.is_empty());
        Ok(given.map(|(at, (shape, name))| (at, format!("{name}{shape}"))).collect())
    }

    /// Adds the error of each input to a problem with these shapes.
    fn by_input(&self, spec: &[(usize, String)], mut problem: Problem) -> Problem {
        let mut model = self.file.clone();
        let graph = self.file.graph();
        let names: Vec<&str> = graph.parameters().map(|id| graph.node(id).name()).collect();
        problem.inputs = vec![String::new(); names.len()];
        let mut valid = String::new();
        for (at, item) in spec {
            // A shape may refer to symbols of the shapes before it.
            let with_item = format!("{valid}{}{item}", if valid.is_empty() { "" } else { "," });
            match (model.reshape(&with_item), problem.inputs.get_mut(*at)) {
                (Ok(()), _) => valid = with_item,
                (Err(error), Some(input)) => *input = Problem::from(error).message,
                (Err(_), None) => {}
            }
        }
        problem
    }

    fn canonicalise(&mut self) -> Result<(), Problem> {
        if self.canonical.is_none() {
            let mut form = self.read.clone();
            let errors = form.errors.clone();
            let document =
                documents::canonicalise(&mut form.model, errors, false, limits::of_model(), |_| {
                    ControlFlow::Continue(())
                })?;
            self.canonical = Some((form, document));
        }
        Ok(())
    }

    fn form(&self, is_canonical: bool) -> &Inferred {
        match &self.canonical {
            Some((form, _)) if is_canonical => form,
            _ => &self.read,
        }
    }
}

/// One model, or two models to compare. They are shown as they were read, or in canonical form.
pub struct Session {
    first: Shown,
    second: Option<Shown>,
    is_canonical: bool,
    /// The last run.
    run: Option<Run>,
}

/// The inputs of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GivenInputs {
    /// The seed of random inputs.
    pub seed: u64,
    /// The dims of each input, such as `[1,3,224,224]`; an empty text means the shape that is shown.
    pub shapes: Vec<String>,
    /// Files of arrays.
    pub files: Vec<File>,
    /// The inputs that are arrays of these files.
    pub arrays: Vec<GivenArray>,
}

/// An input that is an array of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GivenArray {
    /// The index of the input.
    pub input: usize,
    /// The index of the file.
    pub file: usize,
    /// The name of the array in an `.npz` file; empty for an `.npy` file.
    pub array: String,
}

impl Session {
    /// Opens the models among the given files.
    ///
    /// # Errors
    /// There is no model or more than two, a model cannot be read, or a limit of the page is reached.
    pub fn open(given: Vec<File>) -> Result<Self, Problem> {
        let mut models = files::models(given)?.into_iter();
        let Some(first) = models.next() else { return Err(Problem::new("no file was given", "")) };
        let second = models.next().map(Shown::open).transpose()?;
        Ok(Self { first: Shown::open(first)?, second, is_canonical: false, run: None })
    }

    /// The weights files that the models lack, as JSON: a list of objects with `model`, the path of a model,
    /// and `files`.
    pub fn missing_json(&self) -> String {
        #[derive(Serialize)]
        struct Missing<'m> {
            model: &'m str,
            files: &'m [String],
        }
        let models = [Some(&self.first), self.second.as_ref()].into_iter().flatten();
        let missing = models.filter(|shown| !shown.missing.is_empty());
        let missing = missing.map(|shown| Missing { model: &shown.path, files: &shown.missing });
        serde_json::to_string(&missing.collect::<Vec<_>>()).unwrap_or_default()
    }

    /// Opens a second model, to compare the first one with it.
    ///
    /// # Errors
    /// Same as [`Session::open`], or two models are given. On error, the session is unchanged.
    pub fn compare(&mut self, given: Vec<File>) -> Result<(), Problem> {
        let mut models = files::models(given)?;
        let Some(second) = models.pop().filter(|_| models.is_empty()) else {
            return Err(Problem::new(
                "two models to compare with",
                "Choose one; or open two models at once.",
            ));
        };
        let mut second = Shown::open(second)?;
        if self.is_canonical {
            second.canonicalise()?;
        }
        self.second = Some(second);
        Ok(())
    }

    /// Sets the input shapes of all models. `shapes` are the dims of each input of the first model, such as
    /// `[N,3,224..448,?]`; an empty text means the shape of the file.
    ///
    /// # Errors
    /// A model does not have the input or rejects the shape, a layer rejects the resulting shapes, or a limit
    /// of the page is reached. In that case the session is unchanged.
    pub fn reshape(&mut self, shapes: &[String]) -> Result<(), Problem> {
        let items = self.first.spec(shapes)?;
        let spec = joined(&items);
        let reshaped = |shown: &Shown| shown.reshaped(&spec);
        let first = reshaped(&self.first).map_err(|problem| self.first.by_input(&items, problem))?;
        let second = self.second.as_ref().map(reshaped).transpose()?;
        let mut session = Self { first, second, is_canonical: false, run: None };
        session.show(self.is_canonical)?;
        *self = session;
        Ok(())
    }

    /// Shows the canonical form, or the models as they were read.
    ///
    /// # Errors
    /// A limit of the page is reached.
    pub fn show(&mut self, is_canonical: bool) -> Result<(), Problem> {
        if is_canonical {
            self.first.canonicalise()?;
            self.second.as_mut().map(Shown::canonicalise).transpose()?;
        }
        self.is_canonical = is_canonical;
        Ok(())
    }

    fn shown(&self) -> &Inferred {
        self.first.form(self.is_canonical)
    }

    fn report_options(&self) -> ReportOptions<'_> {
        let other = self.second.as_ref().map(|second| &second.form(self.is_canonical).model);
        other.map_or_else(ReportOptions::new, |other| ReportOptions::new().diff(other))
    }

    /// The data for the viewer, as JSON of the schema `snick.view/1`.
    ///
    /// # Errors
    /// Two models are compared, and one of them has a cycle.
    pub fn data(&self) -> Result<String, Problem> {
        Ok(self.shown().model.report_data(&self.report_options())?)
    }

    /// A description of how the slices of the first model were rewritten; empty if its canonical form has not
    /// been requested yet.
    pub fn rewrites(&self) -> &str {
        self.first.canonical.as_ref().map_or("", |(_, document)| &document.text)
    }

    /// The output of `snick canon --format json` for the first model.
    ///
    /// # Errors
    /// A limit of the page is reached.
    pub fn canon_json(&mut self) -> Result<String, Problem> {
        self.first.canonicalise()?;
        Ok(self.first.canonical.as_ref().map(|(_, document)| document.json.clone()).unwrap_or_default())
    }

    /// The output of `snick infer --format json` for the first model.
    pub fn infer_json(&self) -> String {
        documents::infer_json(&self.first.read.model, &self.first.read.errors)
    }

    /// The output of `snick why` for a layer, an output or a size, given as `LAYER:OUTPUT:AXIS`. If `target`
    /// is empty, explains all unknown sizes.
    ///
    /// # Errors
    /// The model has no layer or tensor with this name.
    pub fn why(&self, target: &str) -> Result<String, Problem> {
        let model = &self.shown().model;
        match target {
            "" => Ok(documents::why_unknown(model).text),
            target => Ok(documents::why(model, target)?.text),
        }
    }

    /// The arrays in an `.npz` or `.npy` file, and the inputs for which they can be given; see
    /// [`documents::arrays_json`].
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn arrays_json(&self, file: &File) -> Result<String, Problem> {
        Ok(documents::arrays_json(&self.first.read.model, &file.name, &file.bytes)?)
    }

    /// Runs the first model as it was read, and returns its inputs and outputs as JSON; see [`Run::json`].
    ///
    /// # Errors
    /// An array or a shape does not fit, a layer fails, or a limit of the page is reached.
    pub fn run(&mut self, given: &GivenInputs) -> Result<String, Problem> {
        self.run = None;
        let items = self.first.spec(&given.shapes)?;
        let Inferred { model, errors } = match items.is_empty() {
            true => self.first.read.clone(),
            false => {
                let inferred = self.first.with_shapes(&joined(&items));
                inferred.map_err(|problem| self.first.by_input(&items, problem))?
            }
        };
        if let Some(error) = errors.first() {
            return Err(Error::from(error.clone()).into());
        }
        let mut inputs = RunInputs::new(given.seed);
        for GivenArray { input, file, array } in &given.arrays {
            let Some(file) = given.files.get(*file) else {
                return Err(Problem::new("a file is missing", ""));
            };
            inputs.give(&model, *input, (&file.name, &file.bytes), array, limits::RUN_BYTES)?;
        }
        let run = Run::new(&model, &inputs, limits::of_run())?;
        Ok(self.run.insert(run).json())
    }

    /// The outputs of the last run: one of them as an `.npy` file, or all as an `.npz` file.
    ///
    /// # Errors
    /// There was no run, or it does not have this output.
    pub fn output(&self, at: Option<usize>) -> Result<Vec<u8>, Problem> {
        let Some(run) = &self.run else {
            return Err(Problem::new("there are no outputs", "Run the model again."));
        };
        match at {
            None => Ok(run.npz()?),
            Some(at) => run.npy(at).ok_or_else(|| Problem::new("the run does not have this output", "")),
        }
    }

    /// The shown model as files in the format with this file extension, or a report for `html`.
    ///
    /// # Errors
    /// The format cannot express the model.
    pub fn save(&self, extension: &str) -> Result<Vec<File>, Problem> {
        let Inferred { model, errors } = self.shown();
        let name = Path::new(&self.first.path).file_name().map(Path::new).unwrap_or(Path::new("model"));
        let path = name.with_extension(extension);
        let name = path.to_string_lossy().into_owned();
        let single = |text: String| vec![File { name: name.clone(), bytes: text.into_bytes() }];
        if extension == "html" {
            return Ok(single(model.report(&self.report_options())?));
        }
        if Format::to_write(&path) == Some(Format::Svg) {
            let failed: Vec<String> = errors.iter().map(|error| error.layer.clone()).collect();
            return Ok(single(model.picture(&PictureOptions::new().failed(failed))));
        }
        let files = model.to_files(&path, SaveOptions::new())?;
        let named =
            |(path, bytes): (PathBuf, Vec<u8>)| File { name: path.to_string_lossy().into_owned(), bytes };
        Ok(files.into_iter().map(named).collect())
    }
}

/// Items of a specification of shapes as one text.
fn joined(items: &[(usize, String)]) -> String {
    items.iter().map(|(_, item)| item.as_str()).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A model that selects every `step`-th element of its input.
    fn model(name: &str, step: i64) -> File {
        let text = format!(
            "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"N,4\"}}\n  \
             %start = Const-1 i64[1] <0>\n  %stop = Const-1 i64[1] <4>\n  %step = Const-1 i64[1] <{step}>\n  \
             %axes = Const-1 i64[1] <1>\n  %s = Slice-8(%x, %start, %stop, %step, %axes)\n  \
             %y = Result-1(%s)\n}}\n"
        );
        File { name: name.to_string(), bytes: text.into_bytes() }
    }

    fn opened() -> Session {
        Session::open(vec![model("a.snick", 2)]).unwrap()
    }

    #[test]
    fn answers_are_those_of_the_command_line() {
        let mut session = opened();
        assert!(session.infer_json().starts_with(r#"{"schema":"snick.infer/1""#));
        assert!(session.canon_json().unwrap().contains(r#""slice_after":1"#));
        assert!(session.why("s:0:0").unwrap().starts_with("s axis 0 = N"));
        assert!(session.why("").unwrap().contains("Parameter x"));
        assert!(session.why("nowhere").unwrap_err().message.contains("nowhere"));
    }

    #[test]
    fn what_is_shown_has_a_form_and_shapes() {
        let mut session = opened();
        assert!(session.data().unwrap().contains(r#""op":"Slice""#));
        session.show(true).unwrap();
        assert!(session.data().unwrap().contains(r#""op":"slice""#));
        assert!(session.rewrites().contains("1 slice-like layer lowered to 1 slice"));
        session.reshape(&["[7,4]".into()]).unwrap();
        let data = session.data().unwrap();
        assert!(data.contains(r#""op":"slice""#) && data.contains(r#""dims":[7,2]"#), "{data}");
        // The model slices the second axis, which a vector does not have.
        assert!(session.reshape(&["[7]".into()]).is_err());
        let refused = session.reshape(&["[3..1,4]".into()]).unwrap_err();
        assert!(!refused.inputs[0].is_empty() && !refused.help.is_empty(), "{refused:?}");
        assert!(session.reshape(&["".into(), "[1]".into()]).is_err());
        assert!(session.data().unwrap().contains(r#""dims":[7,2]"#));
        session.show(false).unwrap();
        assert!(session.data().unwrap().contains(r#""op":"Slice""#));
        session.reshape(&[]).unwrap();
        assert!(session.data().unwrap().contains(r#""dims":["N",2]"#));
    }

    #[test]
    fn a_run_has_the_given_sizes_and_arrays() {
        let mut session = opened();
        assert!(session.output(None).is_err());
        let run = session.run(&GivenInputs { seed: 3, ..GivenInputs::default() }).unwrap();
        assert!(run.contains(r#""shape":[1,4],"is_random":true"#), "{run}");
        let shapes = vec!["[5,4]".to_string()];
        let run = session.run(&GivenInputs { shapes, ..GivenInputs::default() }).unwrap();
        assert!(run.contains(r#""name":"y","element_type":"f32","shape":[5,2]"#), "{run}");
        // The sizes of a run do not change what is shown.
        assert!(session.data().unwrap().contains(r#""dims":["N",2]"#));
        let refused = session.run(&GivenInputs { shapes: vec!["[5".into()], ..GivenInputs::default() });
        assert!(!refused.unwrap_err().inputs[0].is_empty());
        session
            .run(&GivenInputs { seed: 1, shapes: vec!["[5,4]".into()], ..GivenInputs::default() })
            .unwrap();
        let bytes = session.output(Some(0)).unwrap();
        assert!(session.output(Some(1)).is_err() && session.output(None).unwrap().starts_with(b"PK"));
        let file = File { name: "y.npy".into(), bytes };
        let listed = session.arrays_json(&file).unwrap();
        assert!(listed.contains(r#""shape":[5,2],"named":null,"fits":[]"#), "{listed}");
        let arrays = vec![GivenArray { input: 0, file: 0, array: String::new() }];
        let given = GivenInputs { files: vec![file], arrays, ..GivenInputs::default() };
        assert!(session.run(&given).unwrap_err().message.contains("[5,2]"));
    }

    #[test]
    fn weights_that_are_missing_are_named() {
        let ir = r#"<net name="n" version="11"><layers>
            <layer id="0" name="w" type="Const" version="opset1"><data element_type="f32" shape="2" offset="0" size="8"/>
            <output><port id="0" precision="FP32"><dim>2</dim></port></output></layer>
            <layer id="1" name="y" type="Result" version="opset1"><input><port id="0"><dim>2</dim></port></input></layer>
            </layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges></net>"#;
        let xml = File { name: "m/net.xml".into(), bytes: ir.into() };
        let session = Session::open(vec![xml.clone()]).unwrap();
        assert_eq!(session.missing_json(), r#"[{"model":"m/net.xml","files":["net.bin"]}]"#);
        let bin = File { name: "m/net.bin".into(), bytes: vec![0; 8] };
        assert_eq!(Session::open(vec![xml, bin]).unwrap().missing_json(), "[]");
    }

    #[test]
    fn a_second_model_is_compared() {
        let mut session = opened();
        let two = session.compare(vec![model("b.snick", 1), model("c.snick", 1)]).unwrap_err();
        assert_eq!(two.message, "two models to compare with");
        session.compare(vec![model("b.snick", 1)]).unwrap();
        assert!(session.data().unwrap().contains(r#""equal":false"#));
        let both = Session::open(vec![model("a.snick", 2), model("b.snick", 2)]).unwrap();
        assert!(both.data().unwrap().contains(r#""equal":true"#));
    }

    #[test]
    fn files_are_saved_in_every_format_of_the_page() {
        let session = opened();
        let names = |extension| -> Vec<String> {
            session.save(extension).unwrap().into_iter().map(|file| file.name).collect()
        };
        assert_eq!(names("html"), ["a.html"]);
        assert_eq!(names("svg"), ["a.svg"]);
        assert_eq!(names("snick"), ["a.snick"]);
        assert_eq!(names("xml"), ["a.bin", "a.xml"]);
        assert_eq!(names("onnx"), ["a.onnx"]);
        assert_eq!(names("mlir"), ["a.mlir"]);
        assert!(session.save("png").is_err());
    }

    #[test]
    fn a_broken_model_is_a_problem_with_help() {
        let broken = File { name: "a.xml".to_string(), bytes: b"<net".to_vec() };
        let Err(problem) = Session::open(vec![broken]) else { panic!("the model is broken") };
        assert!(problem.message.starts_with("a.xml:1:") && problem.help.contains("damaged"), "{problem:?}");
        let long = File { name: "a.xml".to_string(), bytes: vec![b' '; limits::TEXT_BYTES + 1] };
        let Err(problem) = Session::open(vec![long]) else { panic!("the model is too long") };
        assert!(problem.message.contains("limit") && problem.help.contains("command line"), "{problem:?}");
    }
}
