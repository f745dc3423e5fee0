//! Where test inputs lie.

use std::path::{Path, PathBuf};

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// `model.xml` of every folder of `models/`, by name.
pub fn models() -> Vec<PathBuf> {
    in_folder(&root().join("models"))
}

/// The models of the corpus that `SNICK_CORPUS` names: `model.xml` of the folders in its `models/`, or else the `.json`
/// files in it; `None` where it is not set.
pub fn corpus() -> Option<Vec<PathBuf>> {
    let folder = PathBuf::from(std::env::var_os("SNICK_CORPUS")?);
    let models = match folder.join("models") {
        models if models.is_dir() => in_folder(&models),
        _ => json_files(&folder),
    };
    assert!(!models.is_empty(), "SNICK_CORPUS names {folder:?}, which holds no models");
    Some(models)
}

fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let models = entries(folder).map(|entry| entry.join("model.xml"));
    let mut models: Vec<_> = models.filter(|path| path.exists()).collect();
    models.sort();
    models
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        entries(folder).filter(|path| path.extension() == Some("json".as_ref())).collect();
    files.sort();
    files
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    entries.map(|entry| entry.unwrap().path())
}
