//! JavaScript bindings of [`Session`]. Errors are thrown as [`Problem`]. Any other exception is a bug or a
//! failed allocation, after which the worker must be terminated.

use wasm_bindgen::prelude::wasm_bindgen;

use crate::files::File;
use crate::{limits, problem, session};

/// Turns panics into exceptions with a message.
#[wasm_bindgen(start)]
fn start() {
    std::panic::set_hook(Box::new(|info| wasm_bindgen::throw_str(&info.to_string())));
}

/// An error and its remedy.
#[wasm_bindgen]
pub struct Problem(problem::Problem);

#[wasm_bindgen]
impl Problem {
    /// The error.
    #[wasm_bindgen(getter)]
    pub fn message(&self) -> String {
        self.0.message.clone()
    }

    /// The remedy.
    #[wasm_bindgen(getter)]
    pub fn help(&self) -> String {
        self.0.help.clone()
    }

    /// The error of each input, if the problem is about the shapes of inputs.
    #[wasm_bindgen(getter)]
    pub fn inputs(&self) -> Vec<String> {
        self.0.inputs.clone()
    }
}

impl From<problem::Problem> for Problem {
    fn from(problem: problem::Problem) -> Self {
        Self(problem)
    }
}

/// Files in memory.
#[wasm_bindgen]
#[derive(Default)]
pub struct Files(Vec<File>);

#[wasm_bindgen]
impl Files {
    /// Creates an empty list for files of `bytes` bytes in total.
    #[wasm_bindgen(constructor)]
    pub fn new(bytes: f64) -> Result<Files, Problem> {
        if bytes > limits::FILE_BYTES as f64 {
            let [given, most] = [bytes, limits::FILE_BYTES as f64].map(|bytes| (bytes / 1e6).round());
            let message = format!("the files have {given} MB, and this page reads {most} MB");
            return Err(problem::Problem::limit(&message).into());
        }
        Ok(Self::default())
    }

    /// Adds a file.
    pub fn add(&mut self, name: String, bytes: Vec<u8>) {
        self.0.push(File { name, bytes });
    }

    /// Starts a file of `bytes` bytes, whose content is added in parts. The whole content is therefore in memory
    /// only once.
    pub fn start(&mut self, name: String, bytes: f64) -> Result<(), Problem> {
        let mut content = Vec::new();
        if content.try_reserve_exact(bytes as usize).is_err() {
            let message = format!("{name}: the browser has no memory for {} MB", (bytes / 1e6).round());
            return Err(problem::Problem::limit(&message).into());
        }
        self.0.push(File { name, bytes: content });
        Ok(())
    }

    /// Adds the next part of the last file.
    pub fn append(&mut self, part: &[u8]) {
        if let Some(file) = self.0.last_mut() {
            file.bytes.extend_from_slice(part);
        }
    }

    /// The number of files.
    #[wasm_bindgen(getter)]
    pub fn length(&self) -> usize {
        self.0.len()
    }

    /// The name of a file.
    pub fn name(&self, at: usize) -> Option<String> {
        self.0.get(at).map(|file| file.name.clone())
    }

    /// Takes the bytes of a file out of the list.
    pub fn take(&mut self, at: usize) -> Option<Vec<u8>> {
        self.0.get_mut(at).map(|file| std::mem::take(&mut file.bytes))
    }
}

/// See [`session::GivenInputs`].
#[wasm_bindgen]
pub struct GivenInputs(session::GivenInputs);

#[wasm_bindgen]
impl GivenInputs {
    /// Random inputs of the shapes that are shown.
    #[wasm_bindgen(constructor)]
    pub fn new(seed: u64) -> GivenInputs {
        Self(session::GivenInputs { seed, ..session::GivenInputs::default() })
    }

    /// Sets the shape of each input; see [`session::GivenInputs::shapes`].
    pub fn reshape(&mut self, shapes: Vec<String>) {
        self.0.shapes = shapes;
    }

    /// Adds files of arrays.
    pub fn add(&mut self, files: Files) {
        self.0.files.extend(files.0);
    }

    /// Gives an array of a file as an input.
    pub fn give(&mut self, input: usize, file: usize, array: String) {
        self.0.arrays.push(session::GivenArray { input, file, array });
    }
}

/// See [`session::Session`].
#[wasm_bindgen]
pub struct Session(session::Session);

#[wasm_bindgen]
impl Session {
    /// See [`session::Session::open`].
    #[wasm_bindgen(constructor)]
    pub fn open(files: Files) -> Result<Session, Problem> {
        Ok(Self(session::Session::open(files.0)?))
    }

    /// See [`session::Session::compare`].
    pub fn compare(&mut self, files: Files) -> Result<(), Problem> {
        Ok(self.0.compare(files.0)?)
    }

    /// See [`session::Session::reshape`].
    pub fn reshape(&mut self, shapes: Vec<String>) -> Result<(), Problem> {
        Ok(self.0.reshape(&shapes)?)
    }

    /// See [`session::Session::missing_json`].
    pub fn missing_json(&self) -> String {
        self.0.missing_json()
    }

    /// See [`session::Session::show`].
    pub fn show(&mut self, is_canonical: bool) -> Result<(), Problem> {
        Ok(self.0.show(is_canonical)?)
    }

    /// See [`session::Session::data`].
    pub fn data(&self) -> Result<String, Problem> {
        Ok(self.0.data()?)
    }

    /// See [`session::Session::rewrites`].
    pub fn rewrites(&self) -> String {
        self.0.rewrites().to_string()
    }

    /// See [`session::Session::canon_json`].
    pub fn canon_json(&mut self) -> Result<String, Problem> {
        Ok(self.0.canon_json()?)
    }

    /// See [`session::Session::infer_json`].
    pub fn infer_json(&self) -> String {
        self.0.infer_json()
    }

    /// See [`session::Session::why`].
    pub fn why(&self, target: &str) -> Result<String, Problem> {
        Ok(self.0.why(target)?)
    }

    /// See [`session::Session::run`].
    pub fn run(&mut self, inputs: &GivenInputs) -> Result<String, Problem> {
        Ok(self.0.run(&inputs.0)?)
    }

    /// See [`session::Session::output`].
    pub fn output(&self, at: Option<usize>) -> Result<Vec<u8>, Problem> {
        Ok(self.0.output(at)?)
    }

    /// See [`session::Session::arrays_json`].
    pub fn arrays_json(&self, files: &Files, at: usize) -> Result<String, Problem> {
        Ok(self.0.arrays_json(files.0.get(at).unwrap_or(&File::default()))?)
    }

    /// See [`session::Session::save`].
    pub fn save(&self, extension: &str) -> Result<Files, Problem> {
        Ok(Files(self.0.save(extension)?))
    }
}
