//! Files beside a model, which hold bytes of its constants.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use snick_ir::OpError;
use snick_tensor::Storage;

use crate::file::map;

/// The external data of a model: files in its folder, or in memory.
#[derive(Debug, Default)]
pub(crate) struct ExternalFiles {
    /// `None` for a model in memory.
    folder: Option<PathBuf>,
    /// What was mapped or given, by location; the path of a mapped file.
    opened: RefCell<BTreeMap<String, (Option<PathBuf>, Storage)>>,
}

impl ExternalFiles {
    /// Those beside a model file.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self { folder: Some(folder.to_path_buf()), ..Self::default() }
    }

    /// Those that come with a model in memory, by location.
    pub(crate) fn in_memory(files: &BTreeMap<String, Storage>) -> Self {
        let given = files.iter().map(|(location, bytes)| (location.clone(), (None, bytes.clone())));
        Self { folder: None, opened: RefCell::new(given.collect()) }
    }

    /// The files that were mapped.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.opened.borrow().values().filter_map(|(path, _)| path.clone()).collect()
    }

    /// Opens a file; refuses anything outside the folder of the model.
    pub(super) fn open(&self, location: &str) -> Result<Storage, OpError> {
        let outside = || OpError::UnsafePath { location: location.to_string() };
        let inside =
            Path::new(location).components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
        if !inside || location.is_empty() {
            return Err(outside());
        }
        let missing = |why: &dyn std::fmt::Display| OpError::WeightsMissing {
            why: format!("its file `{location}`: {why}"),
        };
        if let Some((_, storage)) = self.opened.borrow().get(location) {
            return Ok(storage.clone());
        }
        let folder = self.folder.as_ref().ok_or_else(|| missing(&"not given with the model"))?;
        let failed = |error: std::io::Error| missing(&error);
        // A symbolic link may still lead out of the folder.
        let path = folder.join(location).canonicalize().map_err(failed)?;
        if !path.starts_with(folder.canonicalize().map_err(failed)?) {
            return Err(outside());
        }
        let storage = map(&path).map_err(failed)?;
        self.opened.borrow_mut().insert(location.to_string(), (Some(path), storage.clone()));
        Ok(storage)
    }
}
