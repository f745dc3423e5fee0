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

/// `model.xml` of every model of the corpus that `SNICK_CORPUS` names; `None` where it is not set.
pub fn corpus() -> Option<Vec<PathBuf>> {
    let folder = std::env::var_os("SNICK_CORPUS")?;
    let models = in_folder(&Path::new(&folder).join("models"));
    assert!(!models.is_empty(), "SNICK_CORPUS names {folder:?}, which holds no models");
    Some(models)
}

fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let models = entries.map(|entry| entry.unwrap().path().join("model.xml"));
    let mut models: Vec<_> = models.filter(|path| path.exists()).collect();
    models.sort();
    models
}
