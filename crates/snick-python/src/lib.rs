//! The Rust part of the Python package `snick`, which wraps the crate `snick`.
//!
//! Users import `python/snick`, which has classes with documentation and types. This module, `snick._snick`,
//! holds models and converts arrays. It returns numbers, strings and tuples (`_snick.pyi`).
#![allow(missing_docs, reason = "what Python sees is documented in Python")]

mod arrays;
mod certify;
mod diff;
mod edit;
mod element_types;
mod errors;
mod facts;
mod findings;
mod listing;
mod load;
mod model;
mod pickle;
mod session;
mod state;
mod watch;

use pyo3::prelude::*;

#[pymodule]
mod _snick {
    use std::ffi::OsString;

    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::certify::{certify, check_certificate, check_certificate_json};
    #[pymodule_export]
    use crate::diff::diff;
    #[pymodule_export]
    use crate::edit::Editor;
    #[pymodule_export]
    use crate::load::{load_bytes, load_path, unpickled};
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::session::Session;

    /// Runs the command line and returns its exit code.
    #[pyfunction]
    fn run_command(py: Python<'_>, args: Vec<OsString>) -> u8 {
        py.detach(|| snick_cli::run(args))
    }

    /// `; did you mean ...?` for the end of a message about an unknown name; empty if no known name is similar.
    #[pyfunction]
    fn did_you_mean(name: &str, known: Vec<String>) -> String {
        snick_ir::did_you_mean(name, known.iter().map(String::as_str))
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
