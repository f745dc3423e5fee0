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
    pub fn reshape(&mut self, spec: &str) -> Result<(), Problem> {
        Ok(self.0.reshape(spec)?)
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
    pub fn run(&self) -> Result<String, Problem> {
        Ok(self.0.run()?)
    }

    /// See [`session::Session::save`].
    pub fn save(&self, extension: &str) -> Result<Files, Problem> {
        Ok(Files(self.0.save(extension)?))
    }
}
