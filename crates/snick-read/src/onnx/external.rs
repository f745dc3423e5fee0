//! External data: files next to a model that contain the bytes of its constants.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use snick_ir::OpError;
use snick_tensor::Storage;

use crate::file::map;

/// The external data of a model. The files are in the folder of the model or in memory.
#[derive(Debug, Default)]
pub(crate) struct ExternalFiles {
    /// The folder of the model. If the model is a symbolic link, also the folder of the target of the link.
    /// Empty for a model in memory.
    folders: Vec<PathBuf>,
    /// The opened files by location, each with its path; the path is `None` for data in memory.
    opened: RefCell<BTreeMap<String, (Option<PathBuf>, Storage)>>,
    /// Files that do not exist.
    missing: RefCell<BTreeSet<PathBuf>>,
}

impl ExternalFiles {
    /// The files next to a model, or next to the target if the model is a symbolic link: model hubs cache
    /// files in one folder, named by hashes, and create links to them in other folders.
    pub(crate) fn beside(model: &Path) -> Self {
        let target = model.canonicalize().ok();
        let paths = std::iter::once(model).chain(target.as_deref());
        Self { folders: paths.filter_map(Path::parent).map(named).collect(), ..Self::default() }
    }

    /// The files in a folder.
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self { folders: vec![named(folder)], ..Self::default() }
    }

    /// Files in memory that are given with a model, by location.
    pub(crate) fn in_memory(files: &BTreeMap<String, Storage>) -> Self {
        let given = files.iter().map(|(location, bytes)| (location.clone(), (None, bytes.clone())));
        Self { opened: RefCell::new(given.collect()), ..Self::default() }
    }

    /// The files that were mapped.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.opened.borrow().values().filter_map(|(path, _)| path.clone()).collect()
    }

    /// The files that do not exist.
    pub(super) fn missing(&self) -> Vec<PathBuf> {
        self.missing.borrow().iter().cloned().collect()
    }

    /// Opens a file. Rejects files outside of `folders`.
    pub(super) fn open(&self, location: &str) -> Result<Storage, OpError> {
        let outside = || OpError::UnsafePath { location: location.to_string() };
        let inside =
            Path::new(location).components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
        if !inside || location.is_empty() {
            return Err(outside());
        }
        if let Some((_, storage)) = self.opened.borrow().get(location) {
            return Ok(storage.clone());
        }
        let missing = || {
            let folder = self.folders.first().filter(|folder| folder.as_path() != Path::new("."));
            let path = folder.map(|folder| folder.join(location));
            self.missing.borrow_mut().insert(path.unwrap_or_else(|| location.into()));
            OpError::WeightsMissing { why: format!("its file `{location}` was not found") }
        };
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => missing(),
            _ => OpError::NoValue {
                what: "the constant".into(),
                why: format!("its file `{location}`: {error}"),
            },
        };
        let path = self.find(location).ok_or_else(missing)?.map_err(failed)?;
        // A symbolic link inside a folder may lead to a file outside.
        let is_within = |folder: &PathBuf| folder.canonicalize().is_ok_and(|folder| path.starts_with(folder));
        if !self.folders.iter().any(is_within) {
            return Err(outside());
        }
        let storage = map(&path).map_err(failed)?;
        self.opened.borrow_mut().insert(location.to_string(), (Some(path), storage.clone()));
        Ok(storage)
    }

    /// Finds the first folder that contains a file at this location, and resolves symbolic links. If no
    /// folder contains it, returns the error for the first folder; if there are no folders, returns `None`.
    fn find(&self, location: &str) -> Option<std::io::Result<PathBuf>> {
        let mut found = self.folders.iter().map(|folder| folder.join(location).canonicalize());
        let first = found.next()?;
        match first {
            Err(_) => Some(found.find(std::io::Result::is_ok).unwrap_or(first)),
            found => Some(found),
        }
    }
}

/// A folder path that is not empty. The parent of a bare file name is the empty path, which stands for the
/// current folder.
fn named(folder: &Path) -> PathBuf {
    match folder.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => folder.to_path_buf(),
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "helpers of tests are tests")]
mod tests {
    use std::fs::{create_dir_all, write};
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder with the layout of a model hub: files in `blobs/`, links in `rev/onnx/`.
    struct Hub(PathBuf);

    impl Hub {
        fn new(name: &str) -> Self {
            let hub = std::env::temp_dir().join(format!("snick-hub-{}-{name}", std::process::id()));
            create_dir_all(hub.join("blobs")).unwrap();
            create_dir_all(hub.join("rev/onnx")).unwrap();
            for file in ["blobs/1f0c", "blobs/9ab2", "other"] {
                write(hub.join(file), file).unwrap();
            }
            symlink("../../blobs/1f0c", hub.join("rev/onnx/model.onnx")).unwrap();
            Self(hub)
        }

        /// The bytes that a model reads from `location`, which is a link to `target`.
        fn opened(&self, model: &str, location: &str, target: &str) -> Result<Vec<u8>, OpError> {
            let link = self.0.join(model).with_file_name(location);
            symlink(target, &link).unwrap();
            let opened = ExternalFiles::beside(&self.0.join(model)).open(location);
            std::fs::remove_file(link).unwrap();
            opened.map(|storage| storage.bytes().to_vec())
        }
    }

    impl Drop for Hub {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn links_to_the_folder_of_the_linked_model_are_followed() {
        let hub = Hub::new("links");
        let blob = || Ok(b"blobs/9ab2".to_vec());
        let model = "rev/onnx/model.onnx";
        assert_eq!(hub.opened(model, "data", "../../blobs/9ab2"), blob());
        assert_eq!(hub.opened(model, "data", hub.0.join("blobs/9ab2").to_str().unwrap()), blob());
        symlink("../../blobs/9ab2", hub.0.join("rev/onnx/step")).unwrap();
        assert_eq!(hub.opened(model, "data", "step"), blob());
        symlink("onnx/model.onnx", hub.0.join("rev/again.onnx")).unwrap();
        assert_eq!(hub.opened("rev/again.onnx", "data", "../blobs/9ab2"), blob());
        symlink("rev/onnx", hub.0.join("folder")).unwrap();
        assert_eq!(hub.opened("folder/model.onnx", "data", "../../blobs/9ab2"), blob());
        // This file is next to the target of the link.
        let beside = ExternalFiles::beside(&hub.0.join(model)).open("9ab2").unwrap();
        assert_eq!(beside.bytes(), b"blobs/9ab2");
    }

    #[test]
    fn links_that_leave_both_folders_are_refused() {
        let hub = Hub::new("out");
        let model = "rev/onnx/model.onnx";
        for target in ["/etc/passwd", "../../other", "../../../../../../../etc/passwd"] {
            let opened = hub.opened(model, "data", target);
            assert!(
                matches!(opened, Err(OpError::UnsafePath { .. } | OpError::WeightsMissing { .. })),
                "{opened:?}"
            );
        }
        assert!(matches!(hub.opened(model, "data", "../../other"), Err(OpError::UnsafePath { .. })));
        // A model that is not a link only has one folder.
        write(hub.0.join("rev/onnx/file.onnx"), "").unwrap();
        let opened = hub.opened("rev/onnx/file.onnx", "data", "../../blobs/9ab2");
        assert!(matches!(opened, Err(OpError::UnsafePath { .. })), "{opened:?}");
        for location in ["../blobs/9ab2", "/etc/passwd", ""] {
            let opened = ExternalFiles::beside(&hub.0.join(model)).open(location);
            assert!(matches!(opened, Err(OpError::UnsafePath { .. })), "{location}");
        }
    }
}
