//! Models from what readers and builders return.

use std::path::PathBuf;

use snick_ir::Graph;
use snick_read::Read;

use super::Model;

impl From<Read> for Model {
    fn from(Read { graph, errors, mut notes, missing, files, optional_inputs }: Read) -> Self {
        let not_found =
            |path: &PathBuf| format!("{}: not found; shapes are inferred without weights", path.display());
        let new: Vec<String> = missing.iter().map(not_found).filter(|note| !notes.contains(note)).collect();
        notes.splice(..0, new);
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
