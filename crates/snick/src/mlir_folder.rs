//! Writes a model as a StableHLO or linalg folder: a module, its manifest and folded constants. Weights stay in the
//! files of the model.

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use snick_emit::linalg;
use snick_emit::stablehlo::{self, ArgumentData, FOLDED};
use snick_emit::{Mesh, Precision, ShardRules};
use snick_ir::Graph;
use snick_pass::states::State;

use crate::Error;
use crate::files::{OutputFiles, WrittenFile};

/// Options of a StableHLO folder.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct StableHloOptions {
    /// The precision of computations.
    pub precision: Precision,
    /// Devices to shard the arguments over.
    pub mesh: Option<Mesh>,
    /// The rules that say which dims of arguments to shard. They need a mesh.
    pub shard: ShardRules,
    /// Variables that were converted to inputs and outputs. The manifest lists them.
    pub states: Vec<State>,
}

impl StableHloOptions {
    /// The highest precision, no mesh, no states.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the precision of computations.
    #[must_use]
    pub fn precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// Shards arguments over a mesh.
    #[must_use]
    pub fn mesh(self, mesh: Mesh, shard: ShardRules) -> Self {
        Self { mesh: Some(mesh), shard, ..self }
    }

    /// Sets the states that [`Model::make_stateless`](crate::Model::make_stateless) returned.
    #[must_use]
    pub fn states(self, states: Vec<State>) -> Self {
        Self { states, ..self }
    }
}

/// Options of a linalg folder.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct LinalgOptions {
    /// The precision of computations.
    pub precision: Precision,
    /// Variables that were converted to inputs and outputs. The manifest lists them.
    pub states: Vec<State>,
}

impl LinalgOptions {
    /// The highest precision, no states.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the precision of computations.
    #[must_use]
    pub fn precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// Sets the states that [`Model::make_stateless`](crate::Model::make_stateless) returned.
    #[must_use]
    pub fn states(self, states: Vec<State>) -> Self {
        Self { states, ..self }
    }
}

/// The names of all files of a folder.
pub const FILES: [&str; 3] = ["model.mlir", "manifest.json", FOLDED];

/// Writes either all files of the folder or none, and returns them. Creates the folder if it does not exist.
pub(crate) fn save(
    graph: &Graph,
    folder: &Path,
    options: &StableHloOptions,
) -> Result<Vec<WrittenFile>, Error> {
    let mut module = stablehlo::module(graph, options.precision)?;
    if let Some(mesh) = &options.mesh {
        module.shard(mesh.clone(), &options.shard)?;
    }
    mark_states(&mut module, &options.states);
    write(&module, &module, folder)
}

/// Writes a linalg folder like [`save`].
pub(crate) fn save_linalg(
    graph: &Graph,
    folder: &Path,
    options: &LinalgOptions,
) -> Result<Vec<WrittenFile>, Error> {
    let mut module = linalg::module(graph, options.precision)?;
    mark_states(&mut module.main, &options.states);
    write(&module.main, &module, folder)
}

fn mark_states(module: &mut stablehlo::Module, states: &[State]) {
    for state in states {
        if let State::Passed { variable_id, input, output, .. } = state {
            module.mark_state(input, output, variable_id);
        }
    }
}

/// Writes the text and the other files of a module.
fn write(module: &stablehlo::Module, text: &dyn Display, folder: &Path) -> Result<Vec<WrittenFile>, Error> {
    let is_new = !folder.exists();
    fs::create_dir_all(folder).map_err(|error| Error::io(folder, error))?;
    let saved = fill(module, text, folder);
    if saved.is_err() && is_new {
        // If the folder cannot be removed, only the first error is reported.
        let _ = fs::remove_dir(folder);
    }
    saved
}

fn fill(module: &stablehlo::Module, text: &dyn Display, folder: &Path) -> Result<Vec<WrittenFile>, Error> {
    let here = fs::canonicalize(folder).map_err(|error| Error::io(folder, error))?;
    let manifest = module.manifest(|path| relative(&here, path).map_err(|error| Error::io(path, error)))?;
    let [text_file, manifest_file, folded_file] = FILES.map(|name| folder.join(name));
    refuse_weights_at(module, &folded_file)?;
    let mut files = OutputFiles::new();
    // Writes the module last, so that a concurrent reader of the module finds the other files.
    if module.folded().next().is_some() {
        files.add(&folded_file, |file| {
            let mut end = 0;
            for (offset, tensor) in module.folded() {
                file.write_all(&vec![0; offset - end])?;
                let bytes = tensor.to_bytes();
                file.write_all(&bytes)?;
                end = offset + bytes.len();
            }
            Ok(())
        })?;
    }
    files.add(&manifest_file, |file| file.write_all(manifest.as_bytes()))?;
    files.add(&text_file, |file| write!(file, "{text}"))?;
    files.commit_listed()
}

/// Fails if `folded.bin` would overwrite weights that the manifest points to.
fn refuse_weights_at(module: &stablehlo::Module, folded: &Path) -> Result<(), Error> {
    let Ok(folded_file) = fs::canonicalize(folded) else { return Ok(()) };
    let is_there = |argument: &stablehlo::Argument| match &argument.data {
        ArgumentData::File { path, .. } => fs::canonicalize(path).is_ok_and(|path| path == folded_file),
        _ => false,
    };
    match module.folded().next().is_some() && module.arguments.iter().any(is_there) {
        true => {
            let message = "it contains the weights, which stay there; write another folder";
            Err(Error::io(folded, io::Error::new(io::ErrorKind::InvalidInput, message)))
        }
        false => Ok(()),
    }
}

/// The path of a file relative to a folder, with `/` as separator.
fn relative(folder: &Path, file: &Path) -> io::Result<String> {
    let file = fs::canonicalize(file)?;
    let path = relative_path(folder, &file);
    let refused = |message: &str| io::Error::new(io::ErrorKind::InvalidInput, message);
    let path = path.ok_or_else(|| refused("the folder is on another drive than the weights"))?;
    let parts: Option<Vec<&str>> = path.components().map(|part| part.as_os_str().to_str()).collect();
    let parts = parts.ok_or_else(|| refused("the path of the weights is not Unicode, which JSON needs"))?;
    Ok(parts.join("/"))
}

/// The path from a folder to a file; `None` if they share no root. Both must be absolute paths without links.
fn relative_path(folder: &Path, file: &Path) -> Option<PathBuf> {
    let (folder, file): (Vec<Component>, Vec<Component>) =
        (folder.components().collect(), file.components().collect());
    let shared = folder.iter().zip(&file).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n(Component::ParentDir, folder.len() - shared);
    (shared > 0).then(|| up.chain(file[shared..].iter().copied()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_go_up_and_down() {
        for (folder, file, expected) in [
            ("/a/b", "/a/m.bin", "../m.bin"),
            ("/a/b", "/a/b/m.bin", "m.bin"),
            ("/a/b/c", "/d/m.bin", "../../../d/m.bin"),
        ] {
            assert_eq!(relative_path(Path::new(folder), Path::new(file)).unwrap(), Path::new(expected));
        }
    }
}
