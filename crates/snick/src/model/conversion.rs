//! Models from what readers and builders return.

use std::path::PathBuf;

use snick_ir::Graph;
use snick_read::Read;

use super::Model;

impl Model {
    pub(crate) fn from_read(read: Read) -> Self {
        let Read { graph, errors, notes, missing, files, optional_inputs } = read;
        let not_found =
            |path: &PathBuf| format!("{}: not found; shapes are inferred without weights", path.display());
        let notes = missing.iter().map(not_found).chain(notes).collect();
        Self { graph: graph.into(), errors, notes, missing, files, optional_inputs }
    }
}

impl From<Graph> for Model {
    fn from(graph: Graph) -> Self {
        Self {
            graph: graph.into(),
            errors: Vec::new(),
            notes: Vec::new(),
            missing: Vec::new(),
            files: Vec::new(),
            optional_inputs: Vec::new(),
        }
    }
}
