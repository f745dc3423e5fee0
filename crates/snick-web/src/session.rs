//! The models that a page shows.

use std::path::Path;

use snick::{Error, Format, InferOptions, Located, Model, PictureOptions, ReportOptions, SaveOptions};
use snick_cli::documents::{self, Document};

use crate::files::{self, File, ModelFiles};
use crate::limits;
use crate::problem::Problem;

/// A model as it was read, with the chosen input shapes, and its canonical form if this was requested.
struct Shown {
    name: String,
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
        let name = files.name().to_string_lossy().into_owned();
        let mut read = Inferred { model: files.load()?, errors: Vec::new() };
        read.infer()?;
        Ok(Self { name, read, canonical: None })
    }

    /// The same model with other input shapes. Fails if the model has no errors now, but would have errors
    /// with these shapes.
    fn reshaped(&self, spec: &str) -> Result<Self, Problem> {
        let mut read = self.read.clone();
        read.model.reshape(spec)?;
        read.infer()?;
        match read.errors.first() {
            Some(error) if self.read.errors.is_empty() => Err(Error::from(error.clone()).into()),
            _ => Ok(Self { name: self.name.clone(), read, canonical: None }),
        }
    }

    fn canonicalise(&mut self) -> Result<(), Problem> {
        if self.canonical.is_none() {
            let mut form = self.read.clone();
            let errors = form.errors.clone();
            let document = documents::canonicalise(&mut form.model, errors, false, limits::of_model())?;
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
        Ok(Self { first: Shown::open(first)?, second, is_canonical: false })
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

    /// Sets the input shapes of all models. If the text is empty, shapes stay unchanged.
    ///
    /// # Errors
    /// A model does not have the input or rejects the shape, a layer rejects the resulting shapes, or a limit
    /// of the page is reached. In that case the session is unchanged.
    pub fn reshape(&mut self, spec: &str) -> Result<(), Problem> {
        let mut reshaped = Self {
            first: self.first.reshaped(spec)?,
            second: self.second.as_ref().map(|second| second.reshaped(spec)).transpose()?,
            is_canonical: false,
        };
        reshaped.show(self.is_canonical)?;
        *self = reshaped;
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

    /// Runs the first model on random inputs, and returns a description of the outputs.
    ///
    /// # Errors
    /// A layer fails, or a limit of the page is reached.
    pub fn run(&self) -> Result<String, Problem> {
        let Inferred { model, errors } = self.shown();
        if let Some(error) = errors.first() {
            return Err(Error::from(error.clone()).into());
        }
        Ok(documents::run(model, limits::of_run())?.text)
    }

    /// The shown model as files in the format with this file extension, or a report for `html`.
    ///
    /// # Errors
    /// The format cannot express the model.
    pub fn save(&self, extension: &str) -> Result<Vec<File>, Problem> {
        let Inferred { model, errors } = self.shown();
        let path = Path::new(&self.first.name).with_extension(extension);
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
        let named = |(path, bytes): (std::path::PathBuf, Vec<u8>)| File {
            name: path.to_string_lossy().into_owned(),
            bytes,
        };
        Ok(files.into_iter().map(named).collect())
    }
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
        let run = session.run().unwrap();
        assert!(run.starts_with("input x is random: f32[1,4]") && run.contains("y: f32[1, 2]"), "{run}");
        assert!(session.why("nowhere").unwrap_err().message.contains("nowhere"));
    }

    #[test]
    fn what_is_shown_has_a_form_and_shapes() {
        let mut session = opened();
        assert!(session.data().unwrap().contains(r#""op":"Slice""#));
        session.show(true).unwrap();
        assert!(session.data().unwrap().contains(r#""op":"slice""#));
        assert!(session.rewrites().contains("1 slice-like layer lowered to 1 slice"));
        session.reshape("x[7,4]").unwrap();
        let data = session.data().unwrap();
        assert!(data.contains(r#""op":"slice""#) && data.contains(r#""dims":[7,2]"#), "{data}");
        // The model slices the second axis, which a vector does not have.
        assert!(session.reshape("x[7]").is_err());
        let refused = session.reshape("z[1]").unwrap_err();
        assert!(refused.message.contains("no input named `z`") && !refused.help.is_empty());
        assert!(session.data().unwrap().contains(r#""dims":[7,2]"#));
        session.show(false).unwrap();
        assert!(session.data().unwrap().contains(r#""op":"Slice""#));
    }

    #[test]
    fn a_second_model_is_compared() {
        let mut session = opened();
        let two = session.compare(vec![model("b.snick", 1), model("c.snick", 1)]).unwrap_err();
        assert_eq!(two.message, "two models to compare with");
        session.compare(vec![model("b.snick", 1)]).unwrap();
        assert!(session.data().unwrap().contains(r#""diff":{"equal":false"#));
        let both = Session::open(vec![model("a.snick", 2), model("b.snick", 2)]).unwrap();
        assert!(both.data().unwrap().contains(r#""diff":{"equal":true"#));
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
